//! Which objects DDL has changed since the catalog model read them.
//!
//! ```text
//! row of a system table about an object ── inserted, replaced, deleted ─▶ stale, version + 1
//! undo of a transaction or statement                                   ─▶ stale again
//! ```
//!
//! Invariants
//! - The version grows after the rows have changed: who reads rows of a version reads it first.
//! - An undo does not pass through here row by row: what a transaction has noted is noted again.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Mutex, lock};
use extentdb_base::{ObjectId, OwnerId};

/// What is stale.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Described {
    /// An object: its own rows, or those that say more of it.
    Object(ObjectId),
    /// Schemas, types, principals: they are few, and read again as a whole.
    Names,
}

/// What is stale, and for whom.
#[derive(Default, Debug)]
pub(crate) struct ModelChanges {
    version: AtomicU64,
    state: Mutex<Changed>,
}

#[derive(Default, Debug)]
struct Changed {
    stale: BTreeSet<Described>,
    by_owner: BTreeMap<OwnerId, BTreeSet<Described>>,
}

impl ModelChanges {
    /// Grows with every change of a definition.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// A transaction has changed rows about this.
    pub(crate) fn note(&self, owner: OwnerId, what: Described) {
        let mut state = lock(&self.state);
        state.stale.insert(what);
        state.by_owner.entry(owner).or_default().insert(what);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The transaction's changes, or some of them, have been undone.
    pub(crate) fn note_undo(&self, owner: OwnerId) {
        let mut state = lock(&self.state);
        if let Some(own) = state.by_owner.get(&owner).cloned() {
            state.stale.extend(own);
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    /// The transaction has ended.
    pub(crate) fn forget(&self, owner: OwnerId) {
        lock(&self.state).by_owner.remove(&owner);
    }

    /// What is stale, for one who reads it now.
    pub(crate) fn take(&self) -> BTreeSet<Described> {
        std::mem::take(&mut lock(&self.state).stale)
    }

    /// It was not read after all.
    pub(crate) fn put_back(&self, stale: BTreeSet<Described>) {
        lock(&self.state).stale.extend(stale);
    }
}
