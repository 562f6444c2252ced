//! Nested loops: for each row of the left input, the rows of the right one.
//!
//! A right input that uses values of the left row is evaluated again for each of them, its rows
//! being collected until there are enough for a batch; one that does not is read once, when there
//! is a left row at all, and kept.
//!
//! Invariant: rows come in the order of the left input.

use extentdb_bind::logical::{JoinKind, ValueId};
use extentdb_engine::Vector;
use extentdb_plan::physical;
use extentdb_types::SqlType;

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::Context;
use crate::error::Error;
use crate::operator::join::{Candidates, Joiner, Sides};
use crate::operator::{Operator, append, drain, poll};

/// A join by a loop.
pub(crate) struct LoopJoin {
    kind: JoinKind,
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    bindings: Vec<(ValueId, usize)>,
    left_types: Vec<SqlType>,
    joiner: Joiner,
    candidates: Candidates,
    /// The right rows, when they are the same for all left ones and have been read.
    kept: Option<Kept>,
    probe: Option<Probe>,
    is_left_ended: bool,
}

/// Right rows that are the same for all left ones.
struct Kept {
    rows: Batch,
    /// For each row whether it has a partner; empty where nobody asks.
    matched: Vec<bool>,
    /// Rows without partners that have been given, at the end.
    given: usize,
}

/// A batch of left rows.
struct Probe {
    batch: Batch,
    /// The row at hand.
    row: usize,
    /// How many of the kept right rows it has seen; or whether the right input is open for it.
    at: usize,
    is_open: bool,
}

impl LoopJoin {
    /// # Errors
    /// A full join whose right input depends on the left row.
    pub(crate) fn new(
        join: &physical::LoopJoin,
        left: Box<dyn Operator>,
        right: Box<dyn Operator>,
    ) -> Result<LoopJoin, Error> {
        if join.kind == JoinKind::Full && !join.bindings.is_empty() {
            return Err(Error::NotSupported("a full join with a dependent input".to_owned()));
        }
        let right_types: Vec<SqlType> = join.right.columns.iter().map(|column| column.ty).collect();
        Ok(LoopJoin {
            kind: join.kind,
            left,
            right,
            bindings: join.bindings.clone(),
            left_types: join.left.columns.iter().map(|column| column.ty).collect(),
            joiner: Joiner::new(join.kind, join.condition.as_ref(), &right_types),
            candidates: Candidates::default(),
            kept: None,
            probe: None,
            is_left_ended: false,
        })
    }

    fn probe(&mut self, context: &mut Context<'_>) -> Result<Option<Probe>, Error> {
        if let Some(probe) = self.probe.take() {
            return Ok(Some(probe));
        }
        let batch = self.left.next(context)?;
        Ok(batch.map(|batch| Probe { batch, row: 0, at: 0, is_open: false }))
    }

    /// Reads the right input once.
    fn keep(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        if self.kept.is_none() {
            self.right.open(context)?;
            let rows = drain(&mut *self.right, context)?.unwrap_or_default();
            let matched =
                if self.kind == JoinKind::Full { vec![false; rows.rows] } else { Vec::new() };
            self.kept = Some(Kept { rows, matched, given: 0 });
        }
        Ok(())
    }

    /// Pairs of left rows with the kept rows.
    fn pair_kept(&mut self, probe: &mut Probe, context: &mut Context<'_>) -> Result<Batch, Error> {
        self.keep(context)?;
        let Some(kept) = &mut self.kept else { return Ok(Batch::default()) };
        let most = if self.joiner.takes_first() { 1 } else { kept.rows.rows };
        while probe.row < probe.batch.rows && self.candidates.len() < BATCH_ROWS {
            let to = most.min(probe.at.saturating_add(BATCH_ROWS)).min(kept.rows.rows);
            let from = probe.at.min(to);
            self.candidates.push_all(probe.row as u32, from as u32..to as u32);
            probe.at = to;
            if to >= most.min(kept.rows.rows) {
                if self.joiner.needs_ends() {
                    self.candidates.push_end(probe.row as u32);
                }
                probe.row += 1;
                probe.at = 0;
            }
        }
        let sides = Sides { left: &probe.batch, right: &kept.rows };
        self.joiner.join(&self.candidates, sides, &context.outer, &mut kept.matched)
    }

    /// Pairs of left rows with the rows that the right input has for them.
    fn pair_bound(&mut self, probe: &mut Probe, context: &mut Context<'_>) -> Result<Batch, Error> {
        let columns = self.joiner.right().iter().map(|ty| Vector::computed(*ty)).collect();
        let mut rows = Batch { rows: 0, columns };
        if self.joiner.is_settled() && probe.is_open {
            self.candidates.push_end(probe.row as u32);
            probe.row += 1;
            probe.is_open = false;
        }
        while probe.row < probe.batch.rows && self.candidates.len() < BATCH_ROWS {
            if !probe.is_open {
                poll(context)?;
                self.bind(probe, context);
                self.right.open(context)?;
                probe.is_open = true;
            }
            let batch = self.right.next(context)?;
            let is_last = batch.is_none() || self.joiner.takes_first();
            if let Some(batch) = batch {
                let from = rows.rows as u32;
                append(&mut rows, &batch)?;
                self.candidates.push_all(probe.row as u32, from..rows.rows as u32);
            }
            if is_last {
                if self.joiner.needs_ends() {
                    self.candidates.push_end(probe.row as u32);
                }
                probe.row += 1;
                probe.is_open = false;
            }
        }
        let sides = Sides { left: &probe.batch, right: &rows };
        self.joiner.join(&self.candidates, sides, &context.outer, &mut [])
    }

    /// Sets the values of the left row that the right input uses.
    fn bind(&self, probe: &Probe, context: &mut Context<'_>) {
        let mut stored = Vec::new();
        for (id, column) in &self.bindings {
            let vector = probe.batch.columns.get(*column);
            let vector = vector.filter(|vector| !vector.is_null(probe.row));
            stored.clear();
            if let Some(vector) = vector {
                vector.stored_bytes(probe.row, &mut stored);
            }
            context.outer.set(*id, vector.map(|_| stored.as_slice()));
        }
    }

    /// Right rows without partners, with NULLs before them.
    fn rest(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        if self.kind != JoinKind::Full {
            return Ok(None);
        }
        self.keep(context)?;
        let Some(kept) = &mut self.kept else { return Ok(None) };
        let is_left = |row: &usize| kept.matched.get(*row) == Some(&false);
        let rows: Vec<u32> = (kept.given..kept.rows.rows)
            .filter(is_left)
            .take(BATCH_ROWS)
            .map(|row| row as u32)
            .collect();
        kept.given = rows.last().map_or(kept.rows.rows, |last| *last as usize + 1);
        if rows.is_empty() {
            return Ok(None);
        }
        let mut columns: Vec<Vector> =
            self.left_types.iter().map(|ty| Vector::nulls(*ty, rows.len())).collect();
        columns.extend(kept.rows.take(&rows).columns);
        Ok(Some(Batch { rows: rows.len(), columns }))
    }
}

impl Operator for LoopJoin {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.kept = None;
        self.probe = None;
        self.is_left_ended = false;
        self.joiner.reset();
        self.left.open(context)
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        while !self.is_left_ended {
            poll(context)?;
            let Some(mut probe) = self.probe(context)? else {
                self.is_left_ended = true;
                break;
            };
            self.candidates.clear();
            let batch = if self.bindings.is_empty() {
                self.pair_kept(&mut probe, context)?
            } else {
                self.pair_bound(&mut probe, context)?
            };
            if self.joiner.is_settled() {
                probe.skip_rest(self.kept.as_ref());
            }
            if probe.row < probe.batch.rows {
                self.probe = Some(probe);
            }
            if batch.rows > 0 {
                return Ok(Some(batch));
            }
        }
        self.rest(context)
    }
}

impl Probe {
    /// The row at hand needs no more candidates.
    fn skip_rest(&mut self, kept: Option<&Kept>) {
        if let Some(kept) = kept {
            self.at = kept.rows.rows;
        }
    }
}

#[cfg(test)]
mod tests;
