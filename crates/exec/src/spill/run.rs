//! Runs: batches of rows in a work file.

use extentdb_base::sync::Arc;
use extentdb_engine::Vector;
use extentdb_types::SqlType;

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::Context;
use crate::error::Error;
use crate::operator::{Operator, poll};
use crate::spill::WorkFile;

/// Bytes of a block, about: what a reader of a run has in memory.
const BLOCK_BYTES: usize = 32 * 1024;

/// Rows that were written.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    file: Arc<WorkFile>,
    types: Arc<[SqlType]>,
    blocks: Vec<Block>,
    rows: usize,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    offset: u64,
    bytes: usize,
    rows: usize,
}

/// Rows that are being written.
#[derive(Debug)]
pub(crate) struct RunWriter {
    run: Run,
    pending: Batch,
}

impl RunWriter {
    /// A run of rows of these types.
    pub(crate) fn new(file: &Arc<WorkFile>, types: &Arc<[SqlType]>) -> RunWriter {
        let run = Run {
            file: file.clone(),
            types: types.clone(),
            blocks: Vec::new(),
            rows: 0,
        };
        RunWriter { pending: run.empty(), run }
    }

    /// Appends some rows of a batch.
    pub(crate) fn push_rows(&mut self, batch: &Batch, rows: &[u32]) -> Result<(), Error> {
        // Rows may be long: not too many of them at once.
        let each = (BLOCK_BYTES * batch.rows / batch.memory().max(1)).clamp(1, BATCH_ROWS);
        for part in rows.chunks(each) {
            self.pending.append_rows(batch, part);
            if self.pending.rows >= BATCH_ROWS || self.pending.memory() >= BLOCK_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Appends all rows of a batch.
    pub(crate) fn push(&mut self, batch: &Batch) -> Result<(), Error> {
        let rows: Vec<u32> = (0..batch.rows as u32).collect();
        self.push_rows(batch, &rows)
    }

    /// The run; `None` when it has no rows.
    pub(crate) fn finish(mut self) -> Result<Option<Run>, Error> {
        self.flush()?;
        Ok((self.run.rows > 0).then_some(self.run))
    }

    /// Bytes in memory, about.
    pub(crate) fn memory(&self) -> usize {
        self.pending.memory()
    }

    fn flush(&mut self) -> Result<(), Error> {
        let rows = self.pending.rows;
        if rows == 0 {
            return Ok(());
        }
        let pending = std::mem::replace(&mut self.pending, self.run.empty());
        let mut bytes = Vec::with_capacity(pending.memory() + pending.columns.len());
        pending.columns.iter().for_each(|column| column.write_image(&mut bytes));
        let offset = self.run.file.append(&bytes)?;
        self.run.blocks.push(Block { offset, bytes: bytes.len(), rows });
        self.run.rows += rows;
        Ok(())
    }
}

impl Run {
    fn empty(&self) -> Batch {
        Batch {
            rows: 0,
            columns: self.types.iter().map(|ty| Vector::computed(*ty)).collect(),
        }
    }

    /// A batch by its number.
    fn batch(&self, number: usize) -> Result<Option<Batch>, Error> {
        let Some(block) = self.blocks.get(number) else { return Ok(None) };
        let mut bytes = vec![0; block.bytes];
        self.file.read(block.offset, &mut bytes)?;
        let mut rest = bytes.as_slice();
        let columns: Option<Vec<Vector>> =
            self.types.iter().map(|ty| Vector::read_image(*ty, block.rows, &mut rest)).collect();
        let columns = columns.ok_or(Error::WorkFileChanged)?;
        Ok(Some(Batch { rows: block.rows, columns }))
    }
}

/// The rows of a run, as an operator gives them. Of a run that is not there: none.
#[derive(Debug)]
pub(crate) struct RunReader {
    run: Option<Run>,
    at: usize,
}

impl RunReader {
    pub(crate) fn new(run: Option<Run>) -> RunReader {
        RunReader { run, at: 0 }
    }

    /// The next rows, at least one.
    pub(crate) fn read(&mut self) -> Result<Option<Batch>, Error> {
        let batch = self.run.as_ref().map(|run| run.batch(self.at)).transpose()?.flatten();
        self.at += 1;
        Ok(batch)
    }
}

impl Operator for RunReader {
    fn open(&mut self, _: &mut Context<'_>) -> Result<(), Error> {
        self.at = 0;
        Ok(())
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        poll(context)?;
        self.read()
    }
}
