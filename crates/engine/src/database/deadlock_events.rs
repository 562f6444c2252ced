//! Deadlocks become events, with the names of what was locked: the lines that trace flags 1204 and
//! 1222 print.

use std::fmt;

use extentdb_base::sync::{Arc, RwLock, Weak, read};
use extentdb_base::{HobtId, ObjectId};
use extentdb_telemetry::{Event, EventSink};
use extentdb_txn::lock::Resource;
use extentdb_txn::lock::report::{DeadlockObserver, DeadlockReport, LockNames};

use crate::catalog::table::Table;
use crate::catalog::tables::Tables;
use crate::database::Database;

/// Tells of deadlocks.
pub(crate) struct Deadlocks {
    database: String,
    events: Arc<dyn EventSink>,
    /// Those of the catalog: the lock manager must not own the tables.
    tables: Weak<RwLock<Tables>>,
}

impl Database {
    /// From now on deadlocks are events.
    pub(crate) fn observe_deadlocks(&self) {
        let database = self.name.clone();
        let events = self.options.events.clone();
        let tables = Arc::downgrade(&self.catalog.tables);
        // The manager is this database's own, and has no observer yet.
        self.locks.observe(Arc::new(Deadlocks { database, events, tables }));
    }
}

impl Deadlocks {
    fn find<T>(&self, which: impl Fn(&Table) -> Option<T>) -> Option<T> {
        let tables = self.tables.upgrade()?;
        read(&tables).all().find_map(|table| which(table))
    }
}

impl DeadlockObserver for Deadlocks {
    fn deadlock(&self, report: &DeadlockReport) {
        let graph = report.graph(self);
        let list = report.list(self);
        self.events.event(&Event::Deadlock { victim: report.victim, graph, list });
    }
}

impl LockNames for Deadlocks {
    fn table(&self, id: ObjectId) -> Option<String> {
        let name = |table: &Table| format!("{}.{}.{}", self.database, table.schema(), table.name());
        self.find(|table| (table.id() == id).then(|| name(table)))
    }

    fn index(&self, rowset: HobtId) -> Option<String> {
        self.find(|table| {
            let storage = table.storage();
            let index = storage.all_indexes().find(|index| index.hobt() == rowset);
            index.map(|index| index.name().to_owned())
        })
    }

    fn rowset(&self, resource: Resource) -> Option<HobtId> {
        match resource {
            Resource::Key(rowset, _) | Resource::Hobt(rowset) => Some(rowset),
            _ => None,
        }
    }
}

impl fmt::Debug for Deadlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deadlocks({})", self.database)
    }
}
