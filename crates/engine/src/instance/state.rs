//! ALTER DATABASE … SET: in and out of service, read-only, who may use it.

use std::time::Duration;

use extentdb_base::cancel::Cancellation;
use extentdb_base::sync::{Arc, lock};
use extentdb_base::{DatabaseId, SessionId};

use super::registry::{self, UserAccess};
use super::start::out_of_service;
use super::{Instance, Service};
use crate::database::Database;
use crate::database::row_versions::Transition;
use crate::database::spec::Paths;
use crate::error::Error;

/// How often a change looks whether the sessions have left.
const POLL: Duration = Duration::from_millis(5);

/// What becomes of sessions that are in the way of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Termination {
    /// The change waits for them.
    #[default]
    Wait,
    /// The change fails: WITH NO_WAIT.
    NoWait,
    /// They are killed, which rolls their transactions back: WITH ROLLBACK AFTER n SECONDS, or
    /// ROLLBACK IMMEDIATE for none.
    RollbackAfter(Duration),
}

/// A change of a database's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatabaseChange {
    /// Into service: ONLINE.
    Online,
    /// Out of service: OFFLINE.
    Offline,
    /// READ_ONLY, or READ_WRITE.
    ReadOnly(bool),
    /// MULTI_USER, SINGLE_USER or RESTRICTED_USER.
    Access(UserAccess),
    /// ALLOW_SNAPSHOT_ISOLATION ON or OFF: waits for transactions that are open, and is at once
    /// visible as a transition. `Termination::NoWait` fails instead; others wait.
    AllowSnapshotIsolation(bool),
    /// READ_COMMITTED_SNAPSHOT ON or OFF: needs the database for itself.
    ReadCommittedSnapshot(bool),
}

/// A change and who asks for it.
#[derive(Clone, Copy)]
struct Request<'r> {
    termination: Termination,
    by: Option<&'r crate::session::Session>,
}

impl Instance {
    /// Changes the state of a database. The session that asks for it may use the database itself,
    /// but for OFFLINE and ONLINE.
    ///
    /// # Errors
    /// [`Error::SystemDatabase`]; sessions use it: see [`Termination`]; [`Error::Cancelled`].
    pub fn change_database(
        &self,
        name: &str,
        change: DatabaseChange,
        termination: Termination,
        by: Option<&crate::session::Session>,
    ) -> Result<(), Error> {
        let _admin = lock(&self.admin);
        let id = self.id_of(name)?;
        verify_changeable(id, name, change)?;
        if self.is_mounted(id) {
            return Err(Error::ReadOnly { database: name.to_owned() });
        }
        match change {
            DatabaseChange::Offline => self.take_offline(id, name, termination, by),
            DatabaseChange::Online => self.bring_online(id),
            DatabaseChange::ReadOnly(is_read_only) => {
                let db = self.database_by_id(id)?;
                self.wait_until_alone(&db, Request { termination, by })?;
                db.set_read_only(is_read_only)?;
                self.store(id, |own| own.set_read_only(is_read_only))
            }
            DatabaseChange::AllowSnapshotIsolation(is_on) => {
                self.change_snapshot_isolation(id, is_on, Request { termination, by })
            }
            DatabaseChange::ReadCommittedSnapshot(is_on) => {
                let db = self.database_by_id(id)?;
                if by.is_some_and(|session| session.is_in_transaction()) {
                    return Err(Error::OpenTransaction);
                }
                if db.is_read_committed_snapshot() == is_on {
                    return Ok(());
                }
                self.wait_until_alone(&db, Request { termination, by })?;
                db.set_read_committed_snapshot(is_on)?;
                self.store(id, |own| own.set_read_committed_snapshot(is_on))
            }
            DatabaseChange::Access(access) => {
                let db = self.database_by_id(id)?;
                // First: no further session enters.
                self.store(id, |own| own.set_access(access))?;
                if access == UserAccess::Single {
                    self.wait_until_alone(&db, Request { termination, by })?;
                }
                Ok(())
            }
        }
    }

    fn change_snapshot_isolation(
        &self,
        id: DatabaseId,
        is_on: bool,
        request: Request<'_>,
    ) -> Result<(), Error> {
        let db = self.database_by_id(id)?;
        if request.by.is_some_and(|session| session.is_in_transaction()) {
            return Err(Error::OpenTransaction);
        }
        let wait = |what| self.wait_for_transition(&db, what, request);
        if is_on {
            db.allow_snapshots(wait)?;
            return self.store(id, |own| own.set_allows_snapshots(true));
        }
        // First what is stored: a crash in the transition leaves the database without snapshots.
        self.store(id, |own| own.set_allows_snapshots(false))?;
        db.forbid_snapshots(wait)
            .or_else(|error| self.store(id, |own| own.set_allows_snapshots(true)).and(Err(error)))
    }

    fn wait_for_transition(
        &self,
        db: &Database,
        what: Transition,
        request: Request<'_>,
    ) -> Result<(), Error> {
        let nobody = Arc::new(Cancellation::new());
        let cancellation = request.by.map_or(&nobody, |session| session.handle().cancellation());
        while !db.row_versions.has_ended(what) {
            if request.termination == Termination::NoWait {
                return Err(Error::TransactionsOpen { database: db.name.clone() });
            }
            cancellation.sleep(POLL).map_err(|_| Error::Cancelled)?;
        }
        Ok(())
    }

    fn take_offline(
        &self,
        id: DatabaseId,
        name: &str,
        termination: Termination,
        by: Option<&crate::session::Session>,
    ) -> Result<(), Error> {
        if !self.is_offline(name)? {
            self.close_online(id, termination, by)?;
        }
        self.store(id, |own| own.set_offline(true))?;
        self.set_service(id, Service::Offline);
        Ok(())
    }

    fn bring_online(&self, id: DatabaseId) -> Result<(), Error> {
        if self.database_by_id(id).is_ok_and(|db| db.offline_cause().is_none()) {
            return Ok(());
        }
        // One that went offline by an error is opened again.
        self.forget_service(id);
        let registered = lock(&self.entries).get(&id).map(|entry| entry.registered.clone());
        let Some(registered) = registered else {
            return Err(Error::NoDatabase { name: id.to_string() });
        };
        let opened = self.begin_open(&registered).and_then(|opened| {
            self.decisions.add(&opened);
            self.finish_open(id, opened)
        });
        match opened {
            Ok(service) => {
                self.set_service(id, service);
                self.store(id, |own| own.set_offline(false))?;
                self.release_decisions();
                Ok(())
            }
            Err(error) => {
                self.set_service(id, out_of_service(&error));
                Err(error)
            }
        }
    }

    /// Closes a database for good; returns its id and files. It stays in transition.
    pub(super) fn leave_service(
        &self,
        name: &str,
        termination: Termination,
        by: Option<&crate::session::Session>,
    ) -> Result<(DatabaseId, Paths), Error> {
        let id = self.id_of(name)?;
        if id <= DatabaseId::MSDB {
            return Err(Error::SystemDatabase { name: name.to_owned() });
        }
        if !self.is_offline(name)? {
            self.close_online(id, termination, by)?;
        }
        let entries = lock(&self.entries);
        let paths = entries.get(&id).map(|entry| entry.registered.paths());
        paths.map(|paths| (id, paths)).ok_or_else(|| Error::NoDatabase { name: name.to_owned() })
    }

    /// Closes a database that is online. Its files are released when this returns.
    pub(super) fn close_online(
        &self,
        id: DatabaseId,
        termination: Termination,
        by: Option<&crate::session::Session>,
    ) -> Result<(), Error> {
        let Ok(db) = self.database_by_id(id) else {
            self.forget_service(id);
            return Ok(());
        };
        self.wait_for_sessions(&db, 0, Request { termination, by })?;
        if db.offline_cause().is_none() {
            db.begin_close()?;
        }
        self.forget_service(id);
        if db.offline_cause().is_some() || db.is_ephemeral() {
            return Ok(());
        }
        // When the last write fails, the next opening recovers.
        db.close()
    }

    /// Nobody finds the database any more, and no background thread holds it.
    fn forget_service(&self, id: DatabaseId) {
        if let Some(entry) = lock(&self.entries).get_mut(&id) {
            entry.service = Service::Transition;
        }
        self.workers.remove(id);
    }

    /// Waits until nobody but the session that asks uses the database.
    fn wait_until_alone(&self, db: &Database, request: Request<'_>) -> Result<(), Error> {
        let own = request.by.map_or(0, |session| session.uses_of(db));
        self.wait_for_sessions(db, own, request)
    }

    fn wait_for_sessions(
        &self,
        db: &Database,
        own: usize,
        request: Request<'_>,
    ) -> Result<(), Error> {
        let nobody = Arc::new(Cancellation::new());
        let cancellation = request.by.map_or(&nobody, |session| session.handle().cancellation());
        let by = request.by.map(|session| session.handle().id());
        let mut waited = Duration::ZERO;
        while db.open_sessions() > own {
            match request.termination {
                Termination::NoWait => {
                    return Err(Error::SessionsOpen { sessions: db.open_sessions() - own });
                }
                Termination::RollbackAfter(after) if waited >= after => self.kill_in(db, by),
                _ => {}
            }
            cancellation.sleep(POLL).map_err(|_| Error::Cancelled)?;
            waited += POLL;
        }
        Ok(())
    }

    fn kill_in(&self, db: &Database, by: Option<SessionId>) {
        let in_database = self.services.sessions.in_database(db.locks.database());
        for session in in_database.iter().filter(|session| Some(session.id()) != by) {
            session.kill();
        }
    }

    /// May a session use the database?
    pub(super) fn verify_access(&self, db: &Database, by: Option<SessionId>) -> Result<(), Error> {
        let id = db.locks.database();
        let entries = lock(&self.entries);
        let access = entries.get(&id).map(|entry| entry.registered.access());
        drop(entries);
        let others = || {
            let sessions = self.services.sessions.in_database(id);
            sessions.iter().any(|session| Some(session.id()) != by)
        };
        match access {
            Some(UserAccess::Single) if others() => {
                Err(Error::SingleUser { database: db.name.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Changes what master knows of a database.
    fn store(
        &self,
        id: DatabaseId,
        change: impl FnOnce(&mut registry::Registered),
    ) -> Result<(), Error> {
        let registered = lock(&self.entries).get(&id).map(|entry| entry.registered.clone());
        let Some(mut registered) = registered else {
            return Err(Error::NoDatabase { name: id.to_string() });
        };
        change(&mut registered);
        registry::update(&self.master()?, &registered)?;
        if let Some(entry) = lock(&self.entries).get_mut(&id) {
            entry.registered = registered;
        }
        Ok(())
    }

    pub(super) fn id_of(&self, name: &str) -> Result<DatabaseId, Error> {
        let entries = lock(&self.entries);
        let found = entries.iter().find(|(_, entry)| entry.registered.has_name(name));
        found.map(|(id, _)| *id).ok_or_else(|| Error::NoDatabase { name: name.to_owned() })
    }

    pub(super) fn is_offline(&self, name: &str) -> Result<bool, Error> {
        let id = self.id_of(name)?;
        let entries = lock(&self.entries);
        Ok(!entries.get(&id).is_some_and(|entry| matches!(entry.service, Service::Online(_))))
    }
}

/// The system databases stay in service and writable; access to model and msdb may be limited.
fn verify_changeable(id: DatabaseId, name: &str, change: DatabaseChange) -> Result<(), Error> {
    let is_fixed = match change {
        DatabaseChange::Access(_) => [DatabaseId::MASTER, DatabaseId::TEMPDB].contains(&id),
        _ => [DatabaseId::MASTER, DatabaseId::TEMPDB, DatabaseId::MODEL].contains(&id),
    };
    if is_fixed { Err(Error::SystemDatabase { name: name.to_owned() }) } else { Ok(()) }
}
