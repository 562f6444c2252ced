//! What is committed, and what transactions see and have changed.

use std::collections::{BTreeMap, BTreeSet};

use super::Values;

/// Rows of all tables by table and id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct View(BTreeMap<(usize, i32), Stamped>);

/// A row and the commit that wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamped {
    commit: u64,
    /// `None`: deleted.
    row: Option<Values>,
}

/// Changes of a transaction; `None` deletes the row.
pub(super) type Changes = BTreeMap<(usize, i32), Option<Values>>;

/// An open transaction.
#[derive(Clone, Debug, Default)]
pub(super) struct TransactionModel {
    /// What it sees under SNAPSHOT, from its first access on.
    pub(super) snapshot: Option<View>,
    pub(super) changes: Changes,
    /// Rows that it has tried to change: a statement that fails keeps its locks.
    pub(super) tried: BTreeSet<(usize, i32)>,
}

/// What is committed.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    commits: u64,
    now: View,
}

impl View {
    /// With the changes of the reader.
    pub(super) fn with(&self, changes: &Changes) -> View {
        let mut seen = self.clone();
        for (key, row) in changes {
            seen.0.insert(*key, Stamped { commit: u64::MAX, row: row.clone() });
        }
        seen
    }

    /// Rows of a table, or of one group of it, by id.
    pub(super) fn rows(&self, table: usize, group: Option<i32>) -> Vec<Values> {
        let own = self.0.iter().filter(|((of, _), _)| *of == table);
        let rows = own.filter_map(|(_, stamped)| stamped.row.clone());
        rows.filter(|row| group.is_none_or(|group| row.1 == group)).collect()
    }

    /// Who wrote a row last, and what it is.
    fn stamped(&self, table: usize, id: i32) -> Option<&Stamped> {
        self.0.get(&(table, id))
    }

    /// A row that is there.
    pub(super) fn row(&self, table: usize, id: i32) -> Option<&Values> {
        self.stamped(table, id)?.row.as_ref()
    }

    /// Has it been written since by a commit that this view does not see?
    pub(super) fn differs(&self, other: &View, table: usize, id: i32) -> bool {
        let commit = |view: &View| view.stamped(table, id).map(|stamped| stamped.commit);
        commit(self) != commit(other)
    }
}

impl TransactionModel {
    pub(super) fn set(&mut self, table: usize, id: i32, row: Option<Values>) {
        self.changes.insert((table, id), row);
    }

    /// Has it changed this row, or any of the table?
    pub(super) fn has_changed(&self, table: usize, id: Option<i32>) -> bool {
        let mut own = self.changes.keys().filter(|(of, _)| *of == table);
        own.any(|(_, changed)| id.is_none_or(|id| id == *changed))
    }
}

impl TransactionModel {
    /// May it have locked this row, or any of the table?
    pub(super) fn may_lock(&self, table: usize, id: Option<i32>) -> bool {
        let mut own = self.tried.iter().filter(|(of, _)| *of == table);
        own.any(|(_, tried)| id.is_none_or(|id| id == *tried))
    }
}

impl Model {
    pub(super) fn commit(&mut self, transaction: TransactionModel) {
        self.commits += 1;
        for (key, row) in transaction.changes {
            self.now.0.insert(key, Stamped { commit: self.commits, row });
        }
    }

    pub(super) fn view(&self) -> View {
        self.now.clone()
    }
}
