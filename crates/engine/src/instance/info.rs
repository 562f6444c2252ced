//! What a server tells of its databases: the facts behind `sys.databases` and `sys.master_files`.

use extentdb_base::DatabaseId;
use extentdb_base::sync::lock;

use super::registry::{RegisteredFile, UserAccess};
use super::{Instance, Service};
use crate::database::row_versions::SnapshotIsolationState;
use crate::error::DatabaseState;
use crate::versions::info::VersionsInfo;

/// A database of a server.
#[derive(Clone, Debug)]
pub struct DatabaseInfo {
    /// Its id.
    pub id: DatabaseId,
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: DatabaseState,
    /// No changes are accepted.
    pub is_read_only: bool,
    /// Who may use it.
    pub access: UserAccess,
    /// Is the SNAPSHOT isolation level allowed? Of a database out of service: when it comes back.
    pub snapshot_isolation: SnapshotIsolationState,
    /// Does READ COMMITTED read versions?
    pub is_read_committed_snapshot: bool,
    /// When it was created or attached: days since 1900-01-01, and 1/300 s since midnight, UTC.
    pub created: (i32, u32),
    /// Its files, by id.
    pub files: Vec<RegisteredFile>,
}

impl Service {
    pub(super) fn state(&self) -> DatabaseState {
        match self {
            Service::Online(db) => match db.offline_cause() {
                Some(cause) => DatabaseState::Suspect(cause),
                None => DatabaseState::Online,
            },
            Service::Offline => DatabaseState::Offline,
            Service::Transition => DatabaseState::Transition,
            Service::RecoveryPending(cause) => DatabaseState::RecoveryPending(cause.clone()),
            Service::Suspect(cause) => DatabaseState::Suspect(cause.clone()),
        }
    }
}

impl super::Entry {
    fn snapshot_isolation(&self) -> SnapshotIsolationState {
        match &self.service {
            Service::Online(db) => db.snapshot_isolation(),
            _ if self.registered.allows_snapshots() => SnapshotIsolationState::On,
            _ => SnapshotIsolationState::Off,
        }
    }
}

impl Instance {
    /// Row versions now: the version store, snapshots in use, counters.
    pub fn versions(&self) -> VersionsInfo {
        self.services.versions.info(self.options.database.clock.monotonic())
    }

    /// All databases, by id.
    pub fn databases(&self) -> Vec<DatabaseInfo> {
        let entries = lock(&self.entries);
        let info = |(id, entry): (&DatabaseId, &super::Entry)| {
            let registered = &entry.registered;
            DatabaseInfo {
                id: *id,
                name: registered.name.clone(),
                state: entry.service.state(),
                is_read_only: registered.is_read_only(),
                access: registered.access(),
                snapshot_isolation: entry.snapshot_isolation(),
                is_read_committed_snapshot: registered.is_read_committed_snapshot(),
                created: registered.created,
                files: registered.files.clone(),
            }
        };
        entries.iter().map(info).collect()
    }
}
