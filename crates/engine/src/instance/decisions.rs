//! The decisions on transactions over several databases, collected when the databases are opened.
//!
//! A coordinator keeps its log while somebody may ask: a database that could not be opened may hold
//! transactions in doubt. Presumed abort: a coordinator that is open and has no decision has
//! aborted.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::sync::{Mutex, lock};
use extentdb_txn::Preparation;

use crate::database::checkpoint::LogPin;
use crate::database::opening::SystemUndone;
use crate::recovery::in_doubt::{Decisions, Outcome};

/// What is known of decisions.
#[derive(Default)]
pub(super) struct DecisionTable(Mutex<Known>);

#[derive(Default)]
struct Known {
    committed: BTreeMap<Preparation, LogPin>,
    /// Binding ids of the databases whose logs were read.
    read: BTreeSet<[u8; 16]>,
}

impl DecisionTable {
    /// Adds what the log of a database says; the log is kept.
    pub(super) fn add(&self, opened: &SystemUndone) {
        let mut known = lock(&self.0);
        known.read.insert(opened.binding().0);
        for (decision, begin) in opened.decisions() {
            known.committed.insert(*decision, opened.pin(*begin));
        }
    }

    /// Nobody can ask any more: all databases are open.
    pub(super) fn release_logs(&self) {
        lock(&self.0).committed.clear();
    }
}

impl Decisions for DecisionTable {
    fn outcome(&self, of: &Preparation) -> Outcome {
        let known = lock(&self.0);
        if known.committed.contains_key(of) {
            Outcome::Committed
        } else if known.read.contains(&of.binding) {
            Outcome::Aborted
        } else {
            Outcome::Unknown
        }
    }
}
