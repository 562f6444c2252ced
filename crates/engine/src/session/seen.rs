//! The snapshots that a session holds.

use extentdb_base::XactId;
use extentdb_base::sync::Arc;
use extentdb_rowset::version::{Snapshot, Versioning, Versions};
use extentdb_txn::versions::{DatabaseSnapshot, TakenSnapshot};

use crate::database::row_versions::Counted;
use crate::session::isolation::Isolation;
use crate::versions::DatabaseVersions;

/// The snapshots of a session.
#[derive(Debug, Default)]
pub(super) struct SessionSnapshots {
    /// The level that the open transaction began under.
    pub(super) began_under: Isolation,
    pub(super) transaction: Option<Arc<TakenSnapshot>>,
    pub(super) statement: Option<Arc<TakenSnapshot>>,
}

/// The same in one database.
#[derive(Debug, Default)]
pub(super) struct BranchSnapshots {
    pub(super) transaction: Option<Arc<SeenHere>>,
    pub(super) statement: Option<Arc<SeenHere>>,
    /// The database allows SNAPSHOT until the transaction has ended.
    pub(super) reading: Option<Counted>,
}

/// A snapshot in one database, as rowset asks it.
#[derive(Debug)]
pub(crate) struct SeenHere(pub(super) DatabaseSnapshot);

impl Snapshot for SeenHere {
    fn sees(&self, writer: XactId) -> bool {
        self.0.sees(writer)
    }
}

impl SessionSnapshots {
    pub(super) fn begin_transaction(&mut self, isolation: Isolation) {
        self.began_under = isolation;
    }

    pub(super) fn end_transaction(&mut self) {
        *self = SessionSnapshots::default();
    }
}

/// What a reading sees, and where older versions are.
#[derive(Clone, Debug)]
pub(crate) struct SeenVersions {
    pub(super) store: Arc<DatabaseVersions>,
    pub(super) snapshot: Arc<SeenHere>,
}

impl SeenVersions {
    pub(crate) fn versions(&self) -> Versions<'_> {
        Versions { store: &*self.store, snapshot: &*self.snapshot }
    }
}

/// What changes of rows need in a database with row versions.
pub(crate) struct RowWriter {
    pub(super) store: Arc<DatabaseVersions>,
    pub(super) writer: XactId,
    pub(super) snapshot: Option<Arc<dyn Snapshot>>,
}

impl RowWriter {
    pub(crate) fn versioning(&self) -> Versioning<'_> {
        let snapshot = self.snapshot.as_deref();
        Versioning { store: &*self.store, writer: self.writer, snapshot }
    }
}
