//! Checks of foreign keys that wait for the end of their statement.
//!
//! ```text
//! INSERT, UPDATE of a child    what the rows reference ──┐
//!                                                        ├─▶ one entry for equal keys
//! DELETE, UPDATE of a parent   the keys that are gone ───┘
//! ```
//!
//! The list is open while a statement of several rows runs ([`Session::begin_scope`],
//! [`Session::insert_set`]), and while the cascades of one row do. Otherwise checks are made at
//! once.
//!
//! Invariant: a part of the statement that is undone takes its entries with it
//! ([`ReferenceChecks::return_to`]).
//!
//! [`Session::begin_scope`]: crate::Session::begin_scope
//! [`Session::insert_set`]: crate::Session::insert_set

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_catalog::layout::Cell;
use extentdb_rowset::btree::KeyRange;

use crate::catalog::ForeignKey;

/// Checks that wait for the end of a statement.
#[derive(Default)]
pub(crate) struct ReferenceChecks {
    /// By foreign key, side and key, so that each is made once.
    checks: BTreeMap<(ObjectId, Side, KeyRange), WaitingCheck>,
    /// Checks that have been added, equal ones too.
    count: usize,
}

/// What is to be checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// A row of the parent must have the key.
    Referenced,
    /// No row of the parent has the key any more: no row of the child may reference it.
    Gone,
}

struct WaitingCheck {
    key: Arc<ForeignKey>,
    /// The values of the referenced columns, in the order of the foreign key; of a key that is
    /// gone.
    values: Vec<Cell<'static>>,
    /// How many checks had been added before.
    order: usize,
}

/// How many checks there were at the start of a part of the statement; `None`: no list was open.
pub(crate) type ChecksMark = Option<usize>;

impl ReferenceChecks {
    /// How many there are.
    pub(crate) fn mark(&self) -> usize {
        self.count
    }

    /// Forgets those that have been added since.
    pub(crate) fn return_to(&mut self, mark: usize) {
        if self.count > mark {
            self.checks.retain(|_, check| check.order < mark);
            self.count = mark;
        }
    }

    /// A row of the child references these keys of the parent's index.
    pub(crate) fn add_referenced(&mut self, key: &Arc<ForeignKey>, keys: KeyRange) {
        self.add(key, Side::Referenced, keys, Vec::new);
    }

    /// A row of the parent with these keys of its index is gone.
    pub(crate) fn add_gone(
        &mut self,
        key: &Arc<ForeignKey>,
        keys: KeyRange,
        values: impl FnOnce() -> Vec<Cell<'static>>,
    ) {
        self.add(key, Side::Gone, keys, values);
    }

    fn add(
        &mut self,
        key: &Arc<ForeignKey>,
        side: Side,
        keys: KeyRange,
        values: impl FnOnce() -> Vec<Cell<'static>>,
    ) {
        let order = self.count;
        self.count += 1;
        if let Entry::Vacant(entry) = self.checks.entry((key.id, side, keys)) {
            entry.insert(WaitingCheck { key: key.clone(), values: values(), order });
        }
    }

    /// All of them, by foreign key and side.
    pub(crate) fn by_key(self) -> Vec<CheckSet> {
        let mut sets: Vec<CheckSet> = Vec::new();
        for ((id, side, keys), WaitingCheck { key, values, .. }) in self.checks {
            match sets.last_mut().filter(|set| set.key.id == id && set.side == side) {
                Some(set) => set.keys.push((keys, values)),
                None => sets.push(CheckSet { key, side, keys: vec![(keys, values)] }),
            }
        }
        sets
    }
}

/// Keys of the parent's index, and the values of the referenced columns in the order of the foreign
/// key when they are gone.
pub(crate) type GoneKey = (KeyRange, Vec<Cell<'static>>);

/// The checks of one side of a foreign key, in the order of the parent's index.
pub(crate) struct CheckSet {
    pub(crate) key: Arc<ForeignKey>,
    pub(crate) side: Side,
    pub(crate) keys: Vec<GoneKey>,
}
