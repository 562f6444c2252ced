//! Lock escalation: what each owner holds, and when its fine locks on a table are replaced by one
//! table lock.
//!
//! ```text
//! owner ──▶ database ──▶ resources  resource → table it belongs to
//!                  └───▶ tables     table → fine locks held, next attempt at (5000, then every
//!                                           1250), what it escalated to
//! ```
//!
//! Escalation asks for the table in S when all fine locks are S or RangeS-S, else in X, without
//! waiting. When it is granted, the fine locks are released, and later requests that it covers
//! acquire nothing. When it is not, the owner keeps its fine locks.
//!
//! A row, key or page lock that the table lock does not cover is still counted. So are requests for
//! it that the table lock would cover: otherwise their release would release the stronger lock.

use std::collections::HashMap;

use extentdb_base::{DatabaseId, ObjectId};
use smallvec::SmallVec;

use super::LockMode;
use super::key::{FastHash, LockKey};

/// Fine locks on a table that lead to the first attempt.
pub(crate) const FIRST_ATTEMPT: u64 = 5000;
/// Further fine locks that lead to another attempt.
pub(crate) const NEXT_ATTEMPT: u64 = 1250;

/// All that one owner holds, by database. Nearly always one database.
#[derive(Default, Debug)]
pub(crate) struct OwnerLocks(SmallVec<[InDatabase; 1]>);

/// What an owner holds in one database.
#[derive(Debug)]
struct InDatabase {
    database: DatabaseId,
    held: Held,
}

/// All that one owner holds in one database.
#[derive(Default, Debug)]
pub(crate) struct Held {
    pub(crate) resources: HashMap<LockKey, Option<ObjectId>, FastHash>,
    tables: HashMap<ObjectId, FineLocks, FastHash>,
}

/// Fine locks of one owner on one table.
#[derive(Clone, Copy, Debug)]
struct FineLocks {
    count: u64,
    next_attempt: u64,
    /// Some lock is stronger than S and RangeS-S.
    changes: bool,
    escalated: Option<LockMode>,
}

impl OwnerLocks {
    pub(crate) fn of_database(&self, database: DatabaseId) -> Option<&Held> {
        self.0.iter().find(|one| one.database == database).map(|one| &one.held)
    }

    pub(crate) fn of_database_mut(&mut self, database: DatabaseId) -> Option<&mut Held> {
        self.0.iter_mut().find(|one| one.database == database).map(|one| &mut one.held)
    }

    pub(crate) fn entry(&mut self, database: DatabaseId) -> &mut Held {
        let at = self.0.iter().position(|one| one.database == database).unwrap_or_else(|| {
            self.0.push(InDatabase { database, held: Held::default() });
            self.0.len() - 1
        });
        &mut self.0[at].held
    }

    /// Removes what is held in a database.
    pub(crate) fn take(&mut self, database: DatabaseId) -> Option<Held> {
        let at = self.0.iter().position(|one| one.database == database)?;
        Some(self.0.swap_remove(at).held)
    }

    /// What is held, database by database; the owner holds nothing after that.
    pub(crate) fn into_databases(self) -> impl Iterator<Item = Held> {
        self.0.into_iter().map(|one| one.held)
    }

    /// Does it hold nothing?
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|one| one.held.resources.is_empty())
    }
}

impl Held {
    /// Does a lock on the table already give what is asked for on a part of it?
    pub(crate) fn is_covered(
        &self,
        table: Option<ObjectId>,
        key: &LockKey,
        asked: LockMode,
    ) -> bool {
        let escalated =
            table.and_then(|table| self.tables.get(&table)).and_then(|fine| fine.escalated);
        key.is_fine()
            && escalated.is_some_and(|mode| mode.covers(asked.on_table()))
            && !self.resources.contains_key(key)
    }

    /// A lock was granted. Returns the table when it is time to escalate.
    pub(crate) fn add(
        &mut self,
        key: LockKey,
        table: Option<ObjectId>,
        mode: LockMode,
        is_new: bool,
    ) -> Option<ObjectId> {
        let table = table.filter(|_| key.is_fine());
        if is_new {
            self.resources.insert(key, table);
        }
        let table = table?;
        let fresh = FineLocks {
            count: 0,
            next_attempt: FIRST_ATTEMPT,
            changes: false,
            escalated: None,
        };
        let fine = self.tables.entry(table).or_insert(fresh);
        fine.count += u64::from(is_new);
        fine.changes |= !LockMode::S.covers(mode.on_table());
        if !is_new || fine.count < fine.next_attempt {
            return None;
        }
        fine.next_attempt = fine.count + NEXT_ATTEMPT;
        Some(table)
    }

    /// A lock was released.
    pub(crate) fn remove(&mut self, key: &LockKey) {
        if let Some(Some(table)) = self.resources.remove(key)
            && let Some(fine) = self.tables.get_mut(&table)
        {
            fine.count -= 1;
        }
    }

    /// The mode that stands for all fine locks on the table.
    pub(crate) fn escalated_mode(&self, table: ObjectId) -> LockMode {
        match self.tables.get(&table) {
            Some(fine) if fine.changes => LockMode::X,
            _ => LockMode::S,
        }
    }

    /// The table is locked in `mode`; returns the fine locks that are to be released.
    pub(crate) fn escalate(&mut self, table: ObjectId, mode: LockMode) -> Vec<LockKey> {
        let of_table = |other: &Option<ObjectId>| *other == Some(table);
        let fine: Vec<LockKey> = self
            .resources
            .iter()
            .filter(|(_, other)| of_table(other))
            .map(|(key, _)| *key)
            .collect();
        self.resources.retain(|_, other| !of_table(other));
        if let Some(locks) = self.tables.get_mut(&table) {
            locks.count = 0;
            locks.escalated = Some(mode);
        }
        fine
    }

    /// Fine locks held on a table.
    pub(crate) fn fine_locks(&self, table: ObjectId) -> u64 {
        self.tables.get(&table).map_or(0, |fine| fine.count)
    }

    /// The lock on a table was released: it covers nothing any more.
    pub(crate) fn forget_escalation(&mut self, table: ObjectId) {
        if let Some(fine) = self.tables.get_mut(&table) {
            fine.escalated = None;
            fine.next_attempt = FIRST_ATTEMPT;
        }
    }
}
