//! Deadlock reports: the wait-for cycle that was found, and the texts that SQL Server prints of it.
//!
//! ```text
//! node 1   A waits for a lock ── that B holds, or waits for ahead of A
//! node 2   B waits for a lock ── that C …
//! node n   Z waits for a lock ── that A …                                  victim: one of A … Z
//! ```
//!
//! A report has the facts that the lock manager knows; names and sessions come from [`LockNames`].
//! The texts leave out addresses and counters that only SQL Server has. Where it prints the address
//! of a structure to identify a transaction across lines, the id of the transaction is printed.

mod graph;
mod list;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use extentdb_base::{HobtId, ObjectId, XactId};

use super::{LockMode, LockRequest, LockStatus, Resource};

/// A cycle of owners that waited for each other, and the victim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockReport {
    /// What each member of the cycle waited for. The blocker of a node is who waits in the next
    /// one, that of the last node who waits in the first: the owner whose wait closed the cycle.
    pub nodes: Vec<DeadlockNode>,
    /// Transaction that has to roll back.
    pub victim: XactId,
}

/// A wait that is part of a deadlock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeadlockNode {
    /// The request: owner, resource, mode, timeout, priority and cost.
    pub request: LockRequest,
    /// [`LockStatus::Convert`] when its owner holds the resource in a weaker mode, else
    /// [`LockStatus::Wait`].
    pub status: LockStatus,
    /// How long it had waited.
    pub wait_time: Duration,
    /// All modes in which the resource is held, taken together.
    pub granted: LockMode,
    /// The lock or request of the next member that blocks it.
    pub blocker: Blocker,
}

/// A lock that keeps a request waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocker {
    /// Whose it is.
    pub owner: XactId,
    /// The mode held, or asked for ahead of the request.
    pub mode: LockMode,
    /// Held, or asked for ahead of the request.
    pub status: LockStatus,
}

/// Hears of deadlocks.
pub trait DeadlockObserver: Send + Sync + fmt::Debug {
    /// Called for each deadlock, after its victim was chosen, on the thread whose wait closed the
    /// cycle. No shard is locked. The call delays that thread and must not acquire locks.
    fn deadlock(&self, report: &DeadlockReport);
}

/// Names of owners and resources, which the lock manager does not know.
pub trait LockNames {
    /// The id of the database.
    fn database(&self) -> Option<u16> {
        None
    }

    /// The session of a transaction.
    fn session(&self, _owner: XactId) -> Option<u16> {
        None
    }

    /// The name that a transaction was begun with.
    fn transaction(&self, _owner: XactId) -> Option<String> {
        None
    }

    /// `database.schema.name` of a table.
    fn table(&self, _table: ObjectId) -> Option<String> {
        None
    }

    /// The name of an index, by its rowset.
    fn index(&self, _rowset: HobtId) -> Option<String> {
        None
    }

    /// The rowset of a row of a heap, or of a page.
    fn rowset(&self, _resource: Resource) -> Option<HobtId> {
        None
    }
}

/// No names: reports show numbers only.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoNames;

impl LockNames for NoNames {}

impl DeadlockReport {
    /// What trace flag 1204 writes to the error log, line by line: the cycle node by node.
    pub fn graph(&self, names: &dyn LockNames) -> Vec<String> {
        graph::lines(self, names)
    }

    /// What trace flag 1222 writes to the error log, line by line: processes, then resources.
    pub fn list(&self, names: &dyn LockNames) -> Vec<String> {
        list::lines(self, names)
    }

    /// The nodes whose resource is held by the next member.
    pub fn held_by(&self, owner: XactId) -> impl Iterator<Item = &DeadlockNode> {
        self.nodes.iter().filter(move |node| node.blocker.owner == owner)
    }
}

/// The id of a transaction as one number.
fn number(owner: XactId) -> u64 {
    u64::from(owner.high) << 32 | u64::from(owner.low)
}

/// A resource as `wait_resource` of a request shows it: kind, database, and what it is there.
fn resource_text(resource: Resource, database: Option<u16>) -> String {
    let database = database.map(|id| id.to_string());
    let location = match resource {
        Resource::Database => None,
        Resource::Metadata { class, id } => Some(format!("{class}:{id}")),
        // The zero is the lock partition.
        Resource::Object(id) => Some(format!("{id}:0")),
        Resource::Hobt(id) => Some(id.to_string()),
        Resource::AllocUnit(id) => Some(id.to_string()),
        Resource::Extent(extent) => Some(page_text(extent.first_page())),
        Resource::Page(page) => Some(page_text(page)),
        Resource::Rid(rid) => Some(format!("{}:{}", page_text(rid.page), rid.slot)),
        Resource::Key(index, hash) => Some(format!("{index} ({:012x})", hash & 0xffff_ffff_ffff)),
    };
    let parts: Vec<String> = database.into_iter().chain(location).collect();
    format!("{}: {}", resource.type_name(), parts.join(":"))
}

fn page_text(page: extentdb_base::PageId) -> String {
    format!("{}:{}", page.file, page.page)
}

/// A line that grows by what is known.
struct Line(String);

impl Line {
    fn new(begin: impl Into<String>) -> Line {
        Line(begin.into())
    }

    /// Adds a blank, the label and the value.
    fn with(mut self, label: &str, value: impl fmt::Display) -> Line {
        self.0 += &format!(" {label}{value}");
        self
    }

    /// The same, when there is a value.
    fn with_some(self, label: &str, value: Option<impl fmt::Display>) -> Line {
        match value {
            Some(value) => self.with(label, value),
            None => self,
        }
    }
}
