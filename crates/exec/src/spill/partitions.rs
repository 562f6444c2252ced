//! Rows parted by the hashes of their keys, as grace hash joins and aggregates do it: rows with
//! equal keys are in the same part, so that each part can be treated for itself.
//!
//! A part that does not fit into memory either is parted again, by other bits of the hashes; after
//! [`DEPTH_MAX`] times its rows have equal keys most likely, and it is treated in memory whatever
//! it takes.

use std::hash::Hasher;

use extentdb_base::sync::Arc;
use extentdb_types::SqlType;
use rustc_hash::FxHasher;

use crate::batch::Batch;
use crate::error::Error;
use crate::key::KeyEncoder;
use crate::spill::{Run, RunWriter, WorkFile};

/// Parts of one partitioning.
pub(crate) const PARTITIONS: usize = 16;
/// How often rows are parted.
pub(crate) const DEPTH_MAX: u32 = 6;

/// The rows of one input, by part.
#[derive(Debug)]
pub(crate) struct Partitions {
    file: Arc<WorkFile>,
    scatter: Scatter,
    writers: Vec<RunWriter>,
}

/// Which rows belong to which part.
#[derive(Debug)]
pub(crate) struct Scatter {
    encoder: KeyEncoder,
    depth: u32,
    key: Vec<u8>,
    rows: Vec<Vec<u32>>,
}

impl Scatter {
    /// By the values of columns, the hashes salted with the depth.
    pub(crate) fn new(columns: &[usize], depth: u32) -> Scatter {
        Scatter {
            encoder: KeyEncoder::of_columns(columns),
            depth,
            key: Vec::new(),
            rows: vec![Vec::new(); PARTITIONS],
        }
    }

    /// The rows of each part, among some rows of a batch.
    fn scattered(&mut self, batch: &Batch, rows: impl Iterator<Item = u32>) -> &[Vec<u32>] {
        self.rows.iter_mut().for_each(Vec::clear);
        for row in rows {
            self.key.clear();
            self.encoder.push_equality(batch, row as usize, &mut self.key);
            let part = part(&self.key, self.depth);
            if let Some(rows) = self.rows.get_mut(part) {
                rows.push(row);
            }
        }
        &self.rows
    }
}

/// The part of a key.
fn part(key: &[u8], depth: u32) -> usize {
    let mut hasher = FxHasher::default();
    hasher.write_u32(depth.wrapping_mul(0x9E37_79B9));
    hasher.write(key);
    // The multiplication of the hash leaves its upper bits mixed best.
    (hasher.finish().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60) as usize % PARTITIONS
}

impl Partitions {
    /// No rows yet, of rows of these types.
    pub(crate) fn new(
        file: &Arc<WorkFile>,
        types: &Arc<[SqlType]>,
        scatter: Scatter,
    ) -> Partitions {
        let writers = (0..PARTITIONS).map(|_| RunWriter::new(file, types)).collect();
        Partitions { file: file.clone(), scatter, writers }
    }

    /// The file that they are in.
    pub(crate) fn file(&self) -> &Arc<WorkFile> {
        &self.file
    }

    /// Adds some rows of a batch.
    pub(crate) fn push_rows(
        &mut self,
        batch: &Batch,
        rows: impl Iterator<Item = u32>,
    ) -> Result<(), Error> {
        let parts = self.scatter.scattered(batch, rows);
        for (rows, writer) in parts.iter().zip(&mut self.writers) {
            if !rows.is_empty() {
                writer.push_rows(batch, rows)?;
            }
        }
        Ok(())
    }

    /// Adds all rows of a batch.
    pub(crate) fn push(&mut self, batch: &Batch) -> Result<(), Error> {
        self.push_rows(batch, 0..batch.rows as u32)
    }

    /// The parts; `None` where there are no rows.
    pub(crate) fn finish(self) -> Result<Vec<Option<Run>>, Error> {
        self.writers.into_iter().map(RunWriter::finish).collect()
    }

    /// Bytes in memory, about.
    pub(crate) fn memory(&self) -> usize {
        self.writers.iter().map(RunWriter::memory).sum()
    }
}
