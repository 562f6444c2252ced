//! What joins share: candidates, pairs of a left and a right row that may belong together, become
//! rows of the result.
//!
//! ```text
//! left batch ─┐
//!             ├─▶ Candidates: pairs, in the order of left rows; an end for each left row
//! right rows ─┘      │ condition, over many pairs at once
//!                    ▼
//!               Chosen: pairs of the result, with marks ─▶ batch
//! ```
//!
//! Invariants
//! - All candidates of a left row follow each other, maybe through several calls; the end of a row
//!   follows its last one.
//! - The result has the left rows in their order.

#[cfg(test)]
pub(crate) mod model;

use extentdb_bind::logical::JoinKind;
use extentdb_engine::Vector;
use extentdb_plan::physical::{Expression, Input};
use extentdb_types::SqlType;

use crate::batch::Batch;
use crate::context::OuterValues;
use crate::error::Error;
use crate::evaluate::Evaluator;

/// Number of a right row that is none: its columns are NULL.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// Pairs of rows, and ends of left rows.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    lefts: Vec<u32>,
    /// [`NO_ROW`] at the end of a left row.
    rights: Vec<u32>,
    /// Where the pairs are of which it is unknown whether their keys are equal.
    unknown: Vec<usize>,
}

/// What an entry of [`Candidates`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Candidate {
    /// The keys are equal.
    Equal,
    /// Whether the keys are equal is unknown.
    Unknown,
    /// The end of the candidates of this left row.
    End,
}

/// Rows of the result: pairs of rows, [`NO_ROW`] for none.
#[derive(Debug, Default)]
struct Chosen {
    lefts: Vec<u32>,
    rights: Vec<u32>,
    marks: Vec<Option<bool>>,
}

/// Rows whose pairs are looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sides<'b> {
    /// Rows that look for partners.
    pub(crate) left: &'b Batch,
    /// Rows that are found.
    pub(crate) right: &'b Batch,
}

/// Makes rows of candidates.
pub(crate) struct Joiner {
    kind: JoinKind,
    condition: Option<Condition>,
    right: Vec<SqlType>,
    /// Has the left row at hand a partner, and is it unknown whether it has one?
    is_matched: bool,
    is_unknown: bool,
}

/// A condition over pairs.
struct Condition {
    evaluator: Evaluator,
    /// Which columns it uses.
    used: Vec<usize>,
}

impl Candidates {
    pub(crate) fn clear(&mut self) {
        self.lefts.clear();
        self.rights.clear();
        self.unknown.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.rights.len()
    }

    /// A pair whose keys are equal.
    pub(crate) fn push(&mut self, left: u32, right: u32) {
        self.lefts.push(left);
        self.rights.push(right);
    }

    /// A pair of which it is unknown whether its keys are equal.
    pub(crate) fn push_unknown(&mut self, left: u32, right: u32) {
        self.unknown.push(self.rights.len());
        self.push(left, right);
    }

    /// Pairs of one left row.
    pub(crate) fn push_all(&mut self, left: u32, rights: impl Iterator<Item = u32>) {
        self.rights.extend(rights);
        self.lefts.resize(self.rights.len(), left);
    }

    /// The left row has no more candidates.
    pub(crate) fn push_end(&mut self, left: u32) {
        self.push(left, NO_ROW);
    }

    fn entries(&self) -> impl Iterator<Item = (Candidate, u32, u32)> {
        let mut unknown = self.unknown.iter().copied().peekable();
        self.lefts.iter().zip(&self.rights).enumerate().map(move |(at, (left, right))| {
            let kind = if *right == NO_ROW {
                Candidate::End
            } else if unknown.next_if_eq(&at).is_some() {
                Candidate::Unknown
            } else {
                Candidate::Equal
            };
            (kind, *left, *right)
        })
    }
}

impl Joiner {
    pub(crate) fn new(kind: JoinKind, condition: Option<&Expression>, right: &[SqlType]) -> Joiner {
        Joiner {
            kind,
            condition: condition.map(Condition::new),
            right: right.to_vec(),
            is_matched: false,
            is_unknown: false,
        }
    }

    /// Begins with another left row than before.
    pub(crate) fn reset(&mut self) {
        self.is_matched = false;
        self.is_unknown = false;
    }

    /// Is nothing changed by further candidates of the left row at hand?
    pub(crate) fn is_settled(&self) -> bool {
        self.is_matched && self.needs_one()
    }

    /// Is one partner as good as many?
    pub(crate) fn needs_one(&self) -> bool {
        matches!(self.kind, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_))
    }

    /// Is one candidate enough, because every one is a partner?
    pub(crate) fn takes_first(&self) -> bool {
        self.condition.is_none() && self.needs_one()
    }

    /// Must the ends of left rows be known?
    pub(crate) fn needs_ends(&self) -> bool {
        self.kind != JoinKind::Inner
    }

    pub(crate) fn has_condition(&self) -> bool {
        self.condition.is_some()
    }

    /// Types of the right columns.
    pub(crate) fn right(&self) -> &[SqlType] {
        &self.right
    }

    /// The rows of the result that candidates give; `matched` learns which right rows have
    /// partners.
    ///
    /// # Errors
    /// The condition of a pair has no value; [`Error::SubqueryRows`].
    pub(crate) fn join(
        &mut self,
        candidates: &Candidates,
        sides: Sides<'_>,
        outer: &OuterValues,
        matched: &mut [bool],
    ) -> Result<Batch, Error> {
        let truths = match &mut self.condition {
            None => None,
            Some(condition) => Some(condition.truths(candidates, sides, outer)?),
        };
        if truths.is_none() && self.kind == JoinKind::Inner {
            return Ok(self.batch(sides, &candidates.lefts, &candidates.rights, &[]));
        }
        let chosen = self.choose(candidates, truths, matched)?;
        Ok(self.batch(sides, &chosen.lefts, &chosen.rights, &chosen.marks))
    }

    fn choose(
        &mut self,
        candidates: &Candidates,
        truths: Option<Vec<Option<bool>>>,
        matched: &mut [bool],
    ) -> Result<Chosen, Error> {
        let mut truths = truths.map(Vec::into_iter);
        let mut chosen = Chosen::default();
        for (kind, left, right) in candidates.entries() {
            if kind == Candidate::End {
                self.end(left, &mut chosen);
                continue;
            }
            let truth = match &mut truths {
                None => Some(true),
                // One for each pair.
                Some(truths) => truths.next().flatten(),
            };
            match (kind, truth) {
                (_, Some(false)) => {}
                (Candidate::Equal, Some(true)) => {
                    self.found(left, right, &mut chosen)?;
                    if let Some(matched) = matched.get_mut(right as usize) {
                        *matched = true;
                    }
                }
                _ => self.is_unknown = true,
            }
        }
        Ok(chosen)
    }

    /// A partner of the left row.
    fn found(&mut self, left: u32, right: u32, chosen: &mut Chosen) -> Result<(), Error> {
        let is_second = std::mem::replace(&mut self.is_matched, true);
        match self.kind {
            JoinKind::Single if is_second => return Err(Error::SubqueryRows),
            JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) => {}
            JoinKind::Inner | JoinKind::Left | JoinKind::Full | JoinKind::Single => {
                chosen.lefts.push(left);
                chosen.rights.push(right);
            }
        }
        Ok(())
    }

    /// All candidates of the left row have been seen.
    fn end(&mut self, left: u32, chosen: &mut Chosen) {
        let is_given = match self.kind {
            JoinKind::Inner => false,
            JoinKind::Semi => self.is_matched,
            JoinKind::Left | JoinKind::Full | JoinKind::Single | JoinKind::Anti => !self.is_matched,
            JoinKind::Mark(_) => {
                let is_known = self.is_matched || !self.is_unknown;
                chosen.marks.push(is_known.then_some(self.is_matched));
                true
            }
        };
        if is_given {
            chosen.lefts.push(left);
            chosen.rights.push(NO_ROW);
        }
        self.reset();
    }

    fn batch(
        &self,
        sides: Sides<'_>,
        lefts: &[u32],
        rights: &[u32],
        marks: &[Option<bool>],
    ) -> Batch {
        let mut batch = sides.left.take(lefts);
        match self.kind {
            JoinKind::Semi | JoinKind::Anti => {}
            JoinKind::Mark(_) => {
                let bits: Vec<i64> =
                    marks.iter().map(|mark| i64::from(*mark == Some(true))).collect();
                let mut vector = Vector::computed(SqlType::Bit);
                vector.extend_integers(&bits, &|row| marks.get(row).is_some_and(Option::is_some));
                batch.columns.push(vector);
            }
            _ if sides.right.columns.is_empty() => {
                let nulls = self.right.iter().map(|ty| Vector::nulls(*ty, rights.len()));
                batch.columns.extend(nulls);
            }
            _ => {
                let right = sides.right.columns.iter().map(|column| column.take_or_null(rights));
                batch.columns.extend(right);
            }
        }
        batch
    }
}

impl Condition {
    fn new(expression: &Expression) -> Condition {
        let used = expression.inputs.iter().filter_map(|input| match input {
            Input::Column(column) => Some(*column),
            Input::Outer(_) => None,
        });
        Condition { evaluator: Evaluator::new(expression), used: used.collect() }
    }

    /// The truth for each pair, ends left out.
    fn truths(
        &mut self,
        candidates: &Candidates,
        sides: Sides<'_>,
        outer: &OuterValues,
    ) -> Result<Vec<Option<bool>>, Error> {
        let pairs = candidates.entries().filter(|(kind, ..)| *kind != Candidate::End);
        let (lefts, rights): (Vec<u32>, Vec<u32>) =
            pairs.map(|(_, left, right)| (left, right)).unzip();
        let taken = |(at, (column, rows)): (usize, (&Vector, &Vec<u32>))| {
            let is_used = self.used.contains(&at);
            if is_used { column.take(rows) } else { Vector::computed(SqlType::Bit) }
        };
        let left = sides.left.columns.iter().map(|column| (column, &lefts));
        let right = sides.right.columns.iter().map(|column| (column, &rights));
        let columns = left.chain(right).enumerate().map(taken).collect();
        let pairs = Batch { rows: lefts.len(), columns };
        self.evaluator.truths(&pairs, outer)
    }
}
