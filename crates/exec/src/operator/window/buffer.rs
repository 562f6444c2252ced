//! The rows that a window looks at: some whole partitions at a time.
//!
//! Where they do not fit into memory, as a partition of all rows may not, only the columns that
//! functions look at are kept; whole rows go to a work file and are read again when their results
//! are known.

use extentdb_base::sync::Arc;
use extentdb_engine::Vector;
use extentdb_types::SqlType;

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::Context;
use crate::error::Error;
use crate::key::KeyEncoder;
use crate::memory::Reservation;
use crate::operator::{Operator, Rows, append, poll};
use crate::spill::{RunReader, RunWriter};

/// Rows after which a chunk ends with the partition.
const CHUNK_ROWS: usize = 64 * BATCH_ROWS;

/// The input in chunks.
pub(super) struct Buffer {
    types: Arc<[SqlType]>,
    /// Which columns are looked at.
    is_used: Vec<bool>,
    partition: Vec<usize>,
    encoder: KeyEncoder,
    /// Rows of the next chunk.
    carry: Option<Batch>,
}

/// Rows of whole partitions.
pub(super) struct Chunk {
    /// The rows; columns that are not looked at have no values where whole rows are in a file.
    pub(super) rows: Batch,
    filed: Option<RunWriter>,
    memory: Reservation,
}

/// Rows with their results.
pub(super) enum Given {
    Rows(Rows),
    Filed { rows: RunReader, results: Batch, at: usize, _memory: Reservation },
}

impl Buffer {
    /// Rows of these types; `used` are the columns that functions look at, beside those of the
    /// partition.
    pub(super) fn new(types: Arc<[SqlType]>, partition: &[usize], used: &[usize]) -> Buffer {
        let is_used = |column: usize| used.contains(&column) || partition.contains(&column);
        Buffer {
            is_used: (0..types.len()).map(is_used).collect(),
            types,
            partition: partition.to_vec(),
            encoder: KeyEncoder::of_columns(partition),
            carry: None,
        }
    }

    /// Begins again.
    pub(super) fn clear(&mut self) {
        self.carry = None;
    }

    /// The next chunk, at least one row.
    pub(super) fn next(
        &mut self,
        input: &mut dyn Operator,
        context: &mut Context<'_>,
    ) -> Result<Option<Chunk>, Error> {
        let first = match self.carry.take() {
            Some(carry) => Some(carry),
            None => input.next(context)?,
        };
        let Some(rows) = first else { return Ok(None) };
        let mut chunk = Chunk { rows, filed: None, memory: context.memory.reservation() };
        loop {
            poll(context)?;
            self.account(&mut chunk, context)?;
            let Some(batch) = input.next(context)? else { break };
            let is_large = chunk.filed.is_some() || chunk.rows.rows >= CHUNK_ROWS;
            match self.last_begin(&chunk.rows, &batch).filter(|_| is_large) {
                None => self.append(&mut chunk, &batch)?,
                Some(begin) => {
                    self.append(&mut chunk, &batch.slice(0, begin))?;
                    self.carry = Some(batch.slice(begin, batch.rows));
                    break;
                }
            }
        }
        Ok(Some(chunk))
    }

    /// Where the last partition of a batch begins, if it begins there.
    fn last_begin(&mut self, before: &Batch, batch: &Batch) -> Option<usize> {
        if self.partition.is_empty() {
            return None;
        }
        let mut key = |rows: &Batch, row: usize| {
            let mut key = Vec::new();
            self.encoder.push(rows, row, &mut key);
            key
        };
        let last = key(batch, batch.rows.checked_sub(1)?);
        if key(before, before.rows.checked_sub(1)?) == last {
            return None;
        }
        let mut from = 0;
        let mut to = batch.rows - 1;
        while from < to {
            let middle = from.midpoint(to);
            if key(batch, middle) == last { to = middle } else { from = middle + 1 }
        }
        Some(from)
    }

    /// Notes what a chunk takes; where there is no room, whole rows go to a file.
    fn account(&self, chunk: &mut Chunk, context: &Context<'_>) -> Result<(), Error> {
        let used = |chunk: &Chunk| 2 * chunk.rows.memory();
        if chunk.filed.is_none()
            && !chunk.memory.resize(used(chunk))
            && let Some(area) = context.memory.area()
        {
            let mut writer = RunWriter::new(&area.create()?, &self.types);
            writer.push(&chunk.rows)?;
            chunk.filed = Some(writer);
            chunk.rows = self.used(&chunk.rows);
        }
        chunk.memory.set(used(chunk));
        Ok(())
    }

    fn append(&self, chunk: &mut Chunk, batch: &Batch) -> Result<(), Error> {
        match &mut chunk.filed {
            None => append(&mut chunk.rows, batch),
            Some(writer) => {
                writer.push(batch)?;
                append(&mut chunk.rows, &self.used(batch))
            }
        }
    }

    /// The same rows without values in the columns that are not looked at.
    fn used(&self, batch: &Batch) -> Batch {
        let column = |(column, is_used): (&Vector, &bool)| match is_used {
            true => column.clone(),
            false => Vector::computed(column.ty),
        };
        let columns = batch.columns.iter().zip(&self.is_used).map(column).collect();
        Batch { rows: batch.rows, columns }
    }
}

impl Chunk {
    /// The rows with their results.
    pub(super) fn with(mut self, results: Vec<Vector>) -> Result<Given, Error> {
        let Some(writer) = self.filed else {
            self.rows.columns.extend(results);
            let mut rows = Rows::new(self.rows);
            self.memory.set(rows.memory());
            rows.hold(self.memory);
            return Ok(Given::Rows(rows));
        };
        let results = Batch { rows: self.rows.rows, columns: results };
        self.memory.set(results.memory());
        let rows = RunReader::new(writer.finish()?);
        Ok(Given::Filed { rows, results, at: 0, _memory: self.memory })
    }
}

impl Given {
    /// The next rows.
    pub(super) fn next(&mut self) -> Result<Option<Batch>, Error> {
        match self {
            Given::Rows(rows) => Ok(rows.next()),
            Given::Filed { rows, results, at, .. } => {
                let Some(mut batch) = rows.read()? else { return Ok(None) };
                batch.columns.extend(results.slice(*at, batch.rows).columns);
                *at += batch.rows;
                Ok(Some(batch))
            }
        }
    }
}
