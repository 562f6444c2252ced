//! Deadlocks become events, with the names of what was locked: the lines that trace flags 1204 and
//! 1222 print.

use std::collections::BTreeMap;
use std::fmt;

use extentdb_base::sync::{Arc, Mutex, RwLock, Weak, lock, read};
use extentdb_base::{DatabaseId, HobtId, ObjectId};
use extentdb_telemetry::{Event, EventSink};
use extentdb_txn::lock::Resource;
use extentdb_txn::lock::report::{DeadlockObserver, DeadlockReport, LockNames};

use crate::catalog::{Table, Tables};

/// Reports the deadlocks of a server as events.
pub(crate) struct Deadlocks {
    events: Arc<dyn EventSink>,
    databases: Mutex<BTreeMap<DatabaseId, NamedTables>>,
}

/// A database by whose names the reports are written.
struct NamedTables {
    name: String,
    /// The tables of the catalog; weak, because the lock manager must not keep them alive.
    tables: Weak<RwLock<Tables>>,
}

impl Deadlocks {
    pub(crate) fn new(events: Arc<dyn EventSink>) -> Deadlocks {
        Deadlocks { events, databases: Mutex::default() }
    }

    /// From now on reports have the names of a database.
    pub(crate) fn name_objects(&self, id: DatabaseId, name: &str, tables: &Arc<RwLock<Tables>>) {
        let named = NamedTables { name: name.to_owned(), tables: Arc::downgrade(tables) };
        lock(&self.databases).insert(id, named);
    }

    /// The first that `which` returns of a table, with the name of the database.
    fn find<T>(&self, id: DatabaseId, which: impl Fn(&str, &Table) -> Option<T>) -> Option<T> {
        let databases = lock(&self.databases);
        let NamedTables { name, tables } = databases.get(&id)?;
        let tables = tables.upgrade()?;
        read(&tables).all().find_map(|table| which(name, table))
    }
}

impl DeadlockObserver for Deadlocks {
    fn deadlock(&self, report: &DeadlockReport) {
        let graph = report.graph(self);
        let list = report.list(self);
        let victim = report.victim;
        self.events.event(&Event::Deadlock { owner: victim.id, victim: victim.xact, graph, list });
    }
}

impl LockNames for Deadlocks {
    fn table(&self, database: DatabaseId, id: ObjectId) -> Option<String> {
        self.find(database, |name, table| {
            (table.id() == id).then(|| format!("{name}.{}.{}", table.schema(), table.name()))
        })
    }

    fn index(&self, database: DatabaseId, rowset: HobtId) -> Option<String> {
        self.find(database, |_, table| {
            let storage = table.storage();
            let index = storage.all_indexes().find(|index| index.hobt() == rowset);
            index.map(|index| index.name().to_owned())
        })
    }

    fn rowset(&self, _: DatabaseId, resource: Resource) -> Option<HobtId> {
        match resource {
            Resource::Key(rowset, _) | Resource::Hobt(rowset) => Some(rowset),
            _ => None,
        }
    }
}

impl fmt::Debug for Deadlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deadlocks({} databases)", lock(&self.databases).len())
    }
}
