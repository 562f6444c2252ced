//! The side of a hash join that is kept in memory: its rows, grouped by their keys.

use extentdb_bind::logical::JoinKind;
use extentdb_engine::Vector;

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::Context;
use crate::error::Error;
use crate::group_table::{GroupTable, NO_GROUP, Nulls};
use crate::hash_key::HashKeys;
use crate::key::push_value;
use crate::memory::Reservation;
use crate::operator::hash_join::{Probe, Spec};
use crate::operator::join::{Candidates, Joiner};
use crate::operator::{Operator, append, poll};
use crate::spill::{Partitions, Scatter};

/// Rows that are kept.
pub(super) struct BuildSide {
    pub(super) rows: Batch,
    /// For each row whether it has a partner; empty where nobody asks.
    pub(super) matched: Vec<bool>,
    /// The left rows at hand.
    pub(super) probe: Option<Probe>,
    keys: Vec<(usize, usize)>,
    table: GroupTable,
    /// Where the rows of each group begin in `members`, and where those of the last one end.
    starts: Vec<u32>,
    members: Vec<u32>,
    /// Rows with a NULL among their keys; only where marks ask for them.
    unknown: Vec<u32>,
    has_marks: bool,
    pub(super) memory: Reservation,
}

/// How an input was read.
pub(super) enum Read {
    /// Into memory.
    Whole(Box<BuildSide>),
    /// Into parts, because there was no room.
    Parted(Partitions),
}

/// Bytes of the numbers that are kept for each row.
const ROW_BYTES: usize = 3 * size_of::<u32>();

impl BuildSide {
    /// Reads all rows of an input, which is open. `depth`: how often it was parted, when it may be
    /// parted again.
    ///
    /// # Errors
    /// Those of the input; cancelled; too many rows.
    pub(super) fn read(
        input: &mut dyn Operator,
        spec: &Spec,
        depth: Option<u32>,
        context: &mut Context<'_>,
    ) -> Result<Read, Error> {
        let mut table = GroupTable::new(spec.right_keys.clone(), Nulls::HaveNoGroup);
        let mut memory = context.memory.reservation();
        let mut rows: Option<Batch> = None;
        let mut groups = Vec::new();
        let mut part = Vec::new();
        let mut new = Vec::new();
        while let Some(batch) = input.next(context)? {
            poll(context)?;
            table.assign(&batch, &mut part, &mut new);
            new.clear();
            groups.extend_from_slice(&part);
            match &mut rows {
                Some(rows) => append(rows, &batch)?,
                None => rows = Some(batch),
            }
            let rows_bytes = rows.as_ref().map_or(0, Batch::memory);
            let used = rows_bytes + table.memory() + groups.len() * ROW_BYTES;
            if memory.resize(used) {
                continue;
            }
            if let (Some(depth), Some(area)) = (depth, context.memory.area()) {
                let scatter = Scatter::new(&spec.right_keys.columns(), depth);
                let mut parts = Partitions::new(&area.create()?, &spec.right_types, scatter);
                drop(table);
                parts.push(&rows.unwrap_or_default())?;
                return BuildSide::part(input, parts, context);
            }
            memory.set(used);
        }
        let rows = rows.unwrap_or_default();
        let side = BuildSide::new(rows, &groups, table, (&spec.keys, spec.kind), memory);
        Ok(Read::Whole(Box::new(side)))
    }

    /// Parts the rest of an input.
    fn part(
        input: &mut dyn Operator,
        mut parts: Partitions,
        context: &mut Context<'_>,
    ) -> Result<Read, Error> {
        while let Some(batch) = input.next(context)? {
            poll(context)?;
            parts.push(&batch)?;
        }
        Ok(Read::Parted(parts))
    }

    fn new(
        rows: Batch,
        groups: &[u32],
        table: GroupTable,
        (keys, kind): (&[(usize, usize)], JoinKind),
        memory: Reservation,
    ) -> BuildSide {
        let (starts, members) = members(groups, table.len());
        let has_marks = matches!(kind, JoinKind::Mark(_));
        let without_group = groups.iter().enumerate().filter(|(_, group)| **group == NO_GROUP);
        let unknown = without_group.map(|(row, _)| row as u32).filter(|_| has_marks).collect();
        let matched = if kind == JoinKind::Full { vec![false; rows.rows] } else { Vec::new() };
        BuildSide {
            rows,
            matched,
            probe: None,
            keys: keys.to_vec(),
            table,
            starts,
            members,
            unknown,
            has_marks,
            memory,
        }
    }

    /// Left rows, with the groups of their keys.
    pub(super) fn probe(&mut self, batch: Batch, keys: &HashKeys) -> Probe {
        let mut groups = Vec::new();
        self.table.find(keys, &batch, &mut groups);
        Probe { batch, groups, row: 0, at: 0 }
    }

    /// Rows that no left row belongs to.
    pub(super) fn unmatched(&self) -> Vec<u32> {
        let rows = self.matched.iter().enumerate().filter(|(_, is_matched)| !**is_matched);
        rows.map(|(row, _)| row as u32).collect()
    }

    /// The pairs of the rows from the one at hand on, until there are enough; not for joins that
    /// must know where those of a row end.
    pub(super) fn push_pairs(&self, probe: &mut Probe, candidates: &mut Candidates) {
        let rows = probe.groups.iter().enumerate().skip(probe.row);
        for (row, group) in rows.filter(|(_, group)| **group != NO_GROUP) {
            let partners = self.members_of(*group);
            if candidates.len() + partners.len() > BATCH_ROWS {
                probe.row = row;
                return;
            }
            match partners {
                [one] => candidates.push(row as u32, *one),
                many => candidates.push_all(row as u32, many.iter().copied()),
            }
        }
        probe.row = probe.groups.len();
    }

    /// The next candidates of the row at hand, at most about a batch of them, and its end.
    pub(super) fn push_candidates(
        &self,
        probe: &mut Probe,
        joiner: &Joiner,
        candidates: &mut Candidates,
    ) {
        let row = probe.row as u32;
        let partners = probe.group().map(|group| self.members_of(group)).unwrap_or_default();
        if joiner.takes_first()
            && let Some(first) = partners.first()
        {
            candidates.push(row, *first);
            candidates.push_end(row);
            return probe.advance();
        }
        let left = partners.get(probe.at..).unwrap_or_default();
        let part = left.get(..BATCH_ROWS).unwrap_or(left);
        candidates.push_all(row, part.iter().copied());
        probe.at = probe.at.saturating_add(part.len());
        if part.len() < left.len() {
            return;
        }
        if self.has_marks && !self.push_unknown(probe, partners.len(), joiner, candidates) {
            return;
        }
        if joiner.needs_ends() {
            candidates.push_end(row);
        }
        probe.advance();
    }

    fn members_of(&self, group: u32) -> &[u32] {
        let group = group as usize;
        match self.starts.get(group..group + 2) {
            Some([from, to]) => self.members.get(*from as usize..*to as usize).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Candidates that would be partners if NULL were another value, after so many that are; false:
    /// there may be more of them.
    fn push_unknown(
        &self,
        probe: &mut Probe,
        partners: usize,
        joiner: &Joiner,
        candidates: &mut Candidates,
    ) -> bool {
        let has_null = self.key_vectors(&probe.batch).any(|(left, _)| left.is_null(probe.row));
        let count = if has_null { self.rows.rows } else { self.unknown.len() };
        let from = probe.at.saturating_sub(partners);
        for at in from..count {
            if at - from == BATCH_ROWS {
                probe.at = probe.at.saturating_add(BATCH_ROWS);
                return false;
            }
            let right = if has_null { Some(at as u32) } else { self.unknown.get(at).copied() };
            let Some(right) = right.filter(|right| self.may_be_equal(probe, *right)) else {
                continue;
            };
            candidates.push_unknown(probe.row as u32, right);
            if !joiner.has_condition() {
                break;
            }
        }
        true
    }

    fn key_vectors<'b>(
        &'b self,
        left: &'b Batch,
    ) -> impl Iterator<Item = (&'b Vector, &'b Vector)> {
        self.keys.iter().filter_map(|(own, other)| {
            Some((left.columns.get(*own)?, self.rows.columns.get(*other)?))
        })
    }

    /// Is no key of the rows different from the other one?
    fn may_be_equal(&self, probe: &Probe, right: u32) -> bool {
        let right = right as usize;
        self.key_vectors(&probe.batch).all(|(left, other)| {
            left.is_null(probe.row)
                || other.is_null(right)
                || sort_key(left, probe.row) == sort_key(other, right)
        })
    }
}

fn sort_key(vector: &Vector, row: usize) -> Vec<u8> {
    let mut key = Vec::new();
    push_value(vector, row, false, &mut Vec::new(), &mut key);
    key
}

/// Rows by their groups: a counting sort. Rows without a group are left out.
fn members(groups: &[u32], count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; count + 1];
    for group in groups {
        if let Some(next) = starts.get_mut((*group as usize).saturating_add(1)) {
            *next += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut next = starts.clone();
    let mut members = vec![0; sum as usize];
    for (row, group) in groups.iter().enumerate() {
        let Some(at) = next.get_mut(*group as usize).filter(|_| *group != NO_GROUP) else {
            continue;
        };
        if let Some(member) = members.get_mut(*at as usize) {
            *member = row as u32;
        }
        *at += 1;
    }
    (starts, members)
}
