//! Hash join: the right input is read into a hash table, the left one looks for partners in it.
//!
//! Invariants
//! - NULL is equal to nothing. Only a [mark](JoinKind::Mark) tells it from a difference: it is NULL
//!   when no partner was found, and some right row would be one if NULL were what it is compared
//!   with.
//! - Rows come in the order of the left input; rows of the right one that have no partner (FULL)
//!   follow.

mod build_side;

use extentdb_bind::logical::JoinKind;
use extentdb_engine::Vector;
use extentdb_plan::physical;
use extentdb_types::SqlType;

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::Context;
use crate::error::Error;
use crate::group_table::NO_GROUP;
use crate::hash_key::HashKeys;
use crate::operator::hash_join::build_side::BuildSide;
use crate::operator::join::{Candidates, Joiner, Sides};
use crate::operator::{Operator, poll};

/// A join by equal keys.
pub(crate) struct HashJoin {
    kind: JoinKind,
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    keys: Vec<(usize, usize)>,
    left_keys: HashKeys,
    right_keys: HashKeys,
    left_types: Vec<SqlType>,
    joiner: Joiner,
    candidates: Candidates,
    state: State,
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
    },
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
        Ok(HashJoin {
            kind: join.kind,
            left,
            right,
            keys: join.keys.clone(),
            left_keys: HashKeys::new(&left_columns, &types),
            right_keys: HashKeys::new(&right_columns, &types),
            left_types: join.left.columns.iter().map(|column| column.ty).collect(),
            joiner: Joiner::new(join.kind, join.condition.as_ref(), &join.right.columns),
            candidates: Candidates::default(),
            state: State::Opened,
        })
    }

    fn build(&mut self, context: &mut Context<'_>) -> Result<State, Error> {
        self.right.open(context)?;
        let keys = self.right_keys.clone();
        let right = &mut *self.right;
        let side = BuildSide::read(right, &self.keys, keys, self.kind, context)?;
        if side.rows.rows == 0 && matches!(self.kind, JoinKind::Inner | JoinKind::Semi) {
            return Ok(State::Ended);
        }
        self.left.open(context)?;
        self.joiner.reset();
        Ok(State::Probing(Box::new(side)))
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
                    side.probe(batch, &self.left_keys)
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
        let State::Rest { right, rows, at } = &mut self.state else { return None };
        let part: Vec<u32> = rows.iter().skip(*at).take(BATCH_ROWS).copied().collect();
        *at += part.len();
        if part.is_empty() {
            self.state = State::Ended;
            return None;
        }
        let mut columns: Vec<Vector> =
            self.left_types.iter().map(|ty| Vector::nulls(*ty, part.len())).collect();
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
                State::Probing(side) if self.kind == JoinKind::Full => {
                    let rows = side.unmatched();
                    State::Rest { right: side.rows, rows, at: 0 }
                }
                _ => State::Ended,
            };
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
