//! Hash join: the right input is read into a hash table, the left one looks for partners in it.
//!
//! Invariants
//! - NULL is equal to nothing. Only a [mark](JoinKind::Mark) tells it from a difference: it is NULL
//!   when no partner was found, and some right row would be one if NULL were what it is compared
//!   with.
//! - Rows come in the order of the left input; rows of the right one that have no partner (FULL)
//!   follow. This holds for each part of a join whose right input does not fit into memory.
//!
//! Known algorithm: grace hash join: when the right input does not fit, both are parted by the
//! hashes of their keys, and the parts are joined one after the other. Marks are not: what a NULL
//! is compared with is in all parts.

mod build_side;

use std::collections::VecDeque;

use extentdb_base::sync::Arc;
use extentdb_bind::logical::JoinKind;
use extentdb_engine::Vector;
use extentdb_plan::physical;
use extentdb_types::SqlType;

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::Context;
use crate::error::Error;
use crate::group_table::NO_GROUP;
use crate::hash_key::HashKeys;
use crate::memory::Reservation;
use crate::operator::hash_join::build_side::{BuildSide, Read};
use crate::operator::join::{Candidates, Joiner, Sides};
use crate::operator::{Operator, poll};
use crate::spill::{DEPTH_MAX, Partitions, Run, RunReader, Scatter};

/// A join by equal keys.
pub(crate) struct HashJoin {
    spec: Arc<Spec>,
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    /// How often the inputs were parted.
    depth: u32,
    joiner: Joiner,
    candidates: Candidates,
    state: State,
}

/// What is joined.
pub(super) struct Spec {
    pub(super) kind: JoinKind,
    pub(super) keys: Vec<(usize, usize)>,
    left_keys: HashKeys,
    pub(super) right_keys: HashKeys,
    left_types: Arc<[SqlType]>,
    pub(super) right_types: Arc<[SqlType]>,
    condition: Option<physical::Expression>,
}

enum State {
    /// The right input is to be read.
    Opened,
    /// Left rows look for partners.
    Probing(Box<BuildSide>),
    /// Right rows without partners follow.
    Rest {
        right: Batch,
        rows: Vec<u32>,
        at: usize,
        _memory: Reservation,
    },
    /// Parts that are joined, the first one being open.
    Parts(VecDeque<HashJoin>),
    Ended,
}

/// A batch of left rows that look for partners.
pub(super) struct Probe {
    batch: Batch,
    /// The group of each row's key.
    groups: Vec<u32>,
    /// The row at hand, and how many of its candidates have been given.
    row: usize,
    at: usize,
}

impl HashJoin {
    /// # Errors
    /// Keys of types that are not compared by their hash keys.
    pub(crate) fn new(
        join: &physical::HashJoin,
        left: Box<dyn Operator>,
        right: Box<dyn Operator>,
    ) -> Result<HashJoin, Error> {
        let mut types = Vec::with_capacity(join.keys.len());
        for (left, right) in &join.keys {
            let left = join.left.columns.get(*left).map(|column| column.ty);
            let right = join.right.columns.get(*right).map(|column| column.ty);
            types.push(common_type(left, right)?);
        }
        let left_columns: Vec<usize> = join.keys.iter().map(|(left, _)| *left).collect();
        let right_columns: Vec<usize> = join.keys.iter().map(|(_, right)| *right).collect();
        let spec = Spec {
            kind: join.kind,
            keys: join.keys.clone(),
            left_keys: HashKeys::new(&left_columns, &types),
            right_keys: HashKeys::new(&right_columns, &types),
            left_types: join.left.columns.iter().map(|column| column.ty).collect(),
            right_types: join.right.columns.iter().map(|column| column.ty).collect(),
            condition: join.condition.clone(),
        };
        Ok(HashJoin::of(Arc::new(spec), left, right, 0))
    }

    fn of(
        spec: Arc<Spec>,
        left: Box<dyn Operator>,
        right: Box<dyn Operator>,
        depth: u32,
    ) -> HashJoin {
        let joiner = Joiner::new(spec.kind, spec.condition.as_ref(), &spec.right_types);
        HashJoin {
            spec,
            left,
            right,
            depth,
            joiner,
            candidates: Candidates::default(),
            state: State::Opened,
        }
    }

    fn build(&mut self, context: &mut Context<'_>) -> Result<State, Error> {
        self.right.open(context)?;
        let kind = self.spec.kind;
        let may_part = self.depth < DEPTH_MAX && !matches!(kind, JoinKind::Mark(_));
        let depth = may_part.then_some(self.depth);
        match BuildSide::read(&mut *self.right, &self.spec, depth, context)? {
            Read::Parted(right) => self.part(right, context),
            Read::Whole(side) => {
                if side.rows.rows == 0 && matches!(kind, JoinKind::Inner | JoinKind::Semi) {
                    return Ok(State::Ended);
                }
                self.left.open(context)?;
                self.joiner.reset();
                Ok(State::Probing(side))
            }
        }
    }

    /// Parts the left input as the right one has been.
    fn part(&mut self, right: Partitions, context: &mut Context<'_>) -> Result<State, Error> {
        let scatter = Scatter::new(&self.spec.left_keys.columns(), self.depth);
        let mut left = Partitions::new(right.file(), &self.spec.left_types, scatter);
        self.left.open(context)?;
        while let Some(batch) = self.left.next(context)? {
            poll(context)?;
            left.push(&batch)?;
        }
        let mut parts = VecDeque::new();
        for (left, right) in left.finish()?.into_iter().zip(right.finish()?) {
            let has_rows = match self.spec.kind {
                JoinKind::Inner | JoinKind::Semi => left.is_some() && right.is_some(),
                JoinKind::Full => left.is_some() || right.is_some(),
                _ => left.is_some(),
            };
            if has_rows {
                let reader = |run: Option<Run>| Box::new(RunReader::new(run));
                let spec = self.spec.clone();
                parts.push_back(HashJoin::of(spec, reader(left), reader(right), self.depth + 1));
            }
        }
        Ok(State::Parts(parts))
    }

    /// The next rows of the parts.
    fn parts(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        let State::Parts(parts) = &mut self.state else { return Ok(None) };
        while let Some(part) = parts.front_mut() {
            if let Some(batch) = part.next(context)? {
                return Ok(Some(batch));
            }
            parts.pop_front();
        }
        self.state = State::Ended;
        Ok(None)
    }

    /// The next rows that left rows give; `None` when the left input has ended.
    fn probe(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        let State::Probing(side) = &mut self.state else { return Ok(None) };
        loop {
            poll(context)?;
            let mut probe = match side.probe.take() {
                Some(probe) => probe,
                None => {
                    let Some(batch) = self.left.next(context)? else { return Ok(None) };
                    side.probe(batch, &self.spec.left_keys)
                }
            };
            self.candidates.clear();
            if !self.joiner.needs_ends() && probe.at == 0 {
                side.push_pairs(&mut probe, &mut self.candidates);
            }
            // The same for other joins, and for a row with many partners.
            while probe.row < probe.batch.rows && self.candidates.len() < BATCH_ROWS {
                side.push_candidates(&mut probe, &self.joiner, &mut self.candidates);
            }
            let sides = Sides { left: &probe.batch, right: &side.rows };
            let matched = &mut side.matched;
            let batch = self.joiner.join(&self.candidates, sides, &context.outer, matched)?;
            if self.joiner.is_settled() {
                probe.at = usize::MAX;
            }
            if probe.row < probe.batch.rows {
                side.probe = Some(probe);
            }
            if batch.rows > 0 {
                return Ok(Some(batch));
            }
        }
    }

    /// Right rows without partners, with NULLs before them.
    fn rest(&mut self) -> Option<Batch> {
        let State::Rest { right, rows, at, .. } = &mut self.state else { return None };
        let part: Vec<u32> = rows.iter().skip(*at).take(BATCH_ROWS).copied().collect();
        *at += part.len();
        if part.is_empty() {
            self.state = State::Ended;
            return None;
        }
        let mut columns: Vec<Vector> =
            self.spec.left_types.iter().map(|ty| Vector::nulls(*ty, part.len())).collect();
        columns.extend(right.take(&part).columns);
        Some(Batch { rows: part.len(), columns })
    }
}

impl Operator for HashJoin {
    fn open(&mut self, _: &mut Context<'_>) -> Result<(), Error> {
        self.state = State::Opened;
        Ok(())
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        if matches!(self.state, State::Opened) {
            self.state = self.build(context)?;
        }
        if matches!(self.state, State::Probing(_)) {
            if let Some(batch) = self.probe(context)? {
                return Ok(Some(batch));
            }
            self.state = match std::mem::replace(&mut self.state, State::Ended) {
                State::Probing(side) if self.spec.kind == JoinKind::Full => {
                    let rows = side.unmatched();
                    State::Rest { right: side.rows, rows, at: 0, _memory: side.memory }
                }
                _ => State::Ended,
            };
        }
        if let State::Parts(_) = self.state {
            return self.parts(context);
        }
        Ok(self.rest())
    }
}

/// The type whose hash keys both columns have.
fn common_type(left: Option<SqlType>, right: Option<SqlType>) -> Result<SqlType, Error> {
    use SqlType::{Char, Decimal, NChar, NVarChar, Numeric, VarChar};
    let refused = || Error::NotSupported("a hash join of columns that are not there".to_owned());
    let left = left.ok_or_else(refused)?;
    let right = right.ok_or_else(refused)?;
    match (left, right) {
        _ if left == right => Ok(left),
        (Char { collation, .. } | VarChar { collation, .. }, Char { .. } | VarChar { .. })
            if right.collation() == Some(collation) =>
        {
            Ok(VarChar { len: None, collation })
        }
        (NChar { collation, .. } | NVarChar { collation, .. }, NChar { .. } | NVarChar { .. })
            if right.collation() == Some(collation) =>
        {
            Ok(NVarChar { len: None, collation })
        }
        (
            Decimal { precision, scale } | Numeric { precision, scale },
            Decimal { precision: other, scale: digits }
            | Numeric { precision: other, scale: digits },
        ) if (precision, scale) == (other, digits) => Ok(left),
        _ => Err(Error::NotSupported(format!("a hash join of {left} and {right}"))),
    }
}

impl Probe {
    fn group(&self) -> Option<u32> {
        self.groups.get(self.row).copied().filter(|group| *group != NO_GROUP)
    }

    /// Goes to the next row.
    fn advance(&mut self) {
        self.row += 1;
        self.at = 0;
    }
}

#[cfg(test)]
mod tests;
