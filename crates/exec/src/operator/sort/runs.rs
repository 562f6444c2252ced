//! Sorted runs: in memory while there is room, then in a work file.

use extentdb_base::sync::Arc;
use extentdb_types::SqlType;

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::Context;
use crate::error::Error;
use crate::key::{KeyEncoder, KeyRows};
use crate::memory::{Memory, Reservation};
use crate::operator::poll;
use crate::operator::sort::merge::Merge;
use crate::spill::{Run, RunReader, RunWriter, WorkFile};

/// Runs of a work file that are merged at once: as many blocks are in memory.
const FAN_IN: usize = 64;

/// Rows in memory, with their order.
pub(super) struct SortedRows {
    pub(super) rows: Batch,
    pub(super) keys: KeyRows,
    /// The rows that are kept, first one first.
    pub(super) order: Vec<u32>,
}

/// A run, which gives its rows in order.
pub(super) enum SortedRun {
    Memory(SortedRows),
    File(RunReader),
}

/// Runs in the order of the input.
pub(super) struct Runs {
    memory: Memory,
    reservation: Reservation,
    types: Arc<[SqlType]>,
    file: Option<Arc<WorkFile>>,
    /// Runs in the file; all of them precede those in memory.
    filed: Vec<Run>,
    kept: Vec<SortedRows>,
}

impl Runs {
    pub(super) fn new(memory: &Memory, types: &Arc<[SqlType]>) -> Runs {
        Runs {
            memory: memory.clone(),
            reservation: memory.reservation(),
            types: types.clone(),
            file: None,
            filed: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Is there room for `bytes` beside the runs that are in memory?
    pub(super) fn has_room(&mut self, bytes: usize) -> bool {
        let kept: usize = self.kept.iter().map(SortedRows::memory).sum();
        self.reservation.resize(kept + bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.filed.is_empty() && self.kept.is_empty()
    }

    /// What is reserved.
    pub(super) fn into_memory(self) -> Reservation {
        self.reservation
    }

    /// Adds a run that stays in memory.
    pub(super) fn keep(&mut self, rows: Option<SortedRows>) {
        self.kept.extend(rows);
    }

    /// Adds a run, and writes all that are in memory.
    pub(super) fn spill(
        &mut self,
        rows: Option<SortedRows>,
        context: &Context<'_>,
    ) -> Result<(), Error> {
        self.keep(rows);
        for rows in std::mem::take(&mut self.kept) {
            let mut writer = self.writer()?;
            for part in rows.order.chunks(BATCH_ROWS) {
                poll(context)?;
                writer.push_rows(&rows.rows, part)?;
            }
            self.filed.extend(writer.finish()?);
        }
        self.reservation.set(0);
        Ok(())
    }

    /// Adds the last run; afterwards there are few enough to be merged.
    pub(super) fn end(
        &mut self,
        rows: Option<SortedRows>,
        encoder: &mut KeyEncoder,
        context: &Context<'_>,
    ) -> Result<(), Error> {
        if self.filed.is_empty() {
            self.keep(rows);
            return Ok(());
        }
        self.spill(rows, context)?;
        while self.filed.len() > FAN_IN {
            // Runs that follow each other, so that equal rows stay in order.
            let runs = std::mem::take(&mut self.filed);
            for part in runs.chunks(FAN_IN) {
                let sources = part.iter().cloned().map(SortedRun::of).collect();
                let mut merge = Merge::of(sources, &self.types, encoder)?;
                let mut writer = self.writer()?;
                while let Some(batch) = merge.next(encoder)? {
                    poll(context)?;
                    writer.push(&batch)?;
                }
                self.filed.extend(writer.finish()?);
            }
        }
        Ok(())
    }

    /// All runs, the types of their rows, and what is reserved for them.
    pub(super) fn into_parts(self) -> (Vec<SortedRun>, Arc<[SqlType]>, Reservation) {
        let filed = self.filed.into_iter().map(SortedRun::of);
        let runs = filed.chain(self.kept.into_iter().map(SortedRun::Memory)).collect();
        (runs, self.types, self.reservation)
    }

    fn writer(&mut self) -> Result<RunWriter, Error> {
        let file = match (&self.file, self.memory.area()) {
            (Some(file), _) => file.clone(),
            (None, Some(area)) => area.create()?,
            // Nothing is refused where there is no area.
            (None, None) => return Err(Error::NotSupported("a work file".to_owned())),
        };
        self.file = Some(file.clone());
        Ok(RunWriter::new(&file, &self.types))
    }
}

impl SortedRun {
    fn of(run: Run) -> SortedRun {
        SortedRun::File(RunReader::new(Some(run)))
    }
}

impl SortedRows {
    fn memory(&self) -> usize {
        self.rows.memory() + self.keys.memory()
    }
}
