//! The sessions of a server: their ids, and what other threads may ask of them.
//!
//! ```text
//! Session ── owns ──▶ SessionEntry ── in ──▶ Sessions ◀── list, kill: any thread
//!                       SessionHandle, task
//! ```
//!
//! Ids begin at 51, as in SQL Server, where lower ones belong to the system; the smallest free one
//! is given. A killed session accepts no more statements: the one that runs is cancelled, and who
//! owns the session drops it, which rolls its transaction back.

use std::collections::BTreeMap;

use extentdb_base::cancel::Cancellation;
use extentdb_base::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_base::{DatabaseId, SessionId};
use extentdb_telemetry::{TaskEntry, TaskId, Tasks};

use crate::error::Error;

/// The first id of a user's session.
const FIRST_ID: u16 = 51;
/// Sessions of a server at most: as many connections as SQL Server takes.
const SESSIONS_MAX: usize = 32_767;

/// The open sessions of a server.
#[derive(Default, Debug)]
pub(crate) struct Sessions {
    open: Mutex<BTreeMap<SessionId, Arc<SessionHandle>>>,
    /// Sessions begun so far.
    begun: AtomicUsize,
    pub(crate) tasks: Arc<Tasks>,
}

/// An open session as other threads see it.
#[derive(Debug)]
pub struct SessionHandle {
    id: SessionId,
    database: AtomicU16,
    is_killed: AtomicBool,
    cancellation: Arc<Cancellation>,
}

/// A session in the registry, until this is dropped.
#[derive(Debug)]
pub(crate) struct SessionEntry {
    /// Sessions that were begun before it.
    pub(crate) number: usize,
    pub(crate) handle: Arc<SessionHandle>,
    pub(crate) task: TaskEntry,
    /// Dropped last: the id is free when nothing has it any more.
    _registration: Registration,
}

/// An id in use, until this is dropped.
#[derive(Debug)]
struct Registration {
    sessions: Arc<Sessions>,
    id: SessionId,
}

impl Sessions {
    /// Enters a session.
    ///
    /// # Errors
    /// [`Error::TooManySessions`].
    pub(crate) fn enter(self: &Arc<Self>, database: DatabaseId) -> Result<SessionEntry, Error> {
        let mut open = lock(&self.open);
        if open.len() >= SESSIONS_MAX {
            return Err(Error::TooManySessions { most: SESSIONS_MAX });
        }
        // Mostly the one after the last: the search ends at the first gap.
        let is_dense = open
            .last_key_value()
            .is_none_or(|(last, _)| usize::from(last.0) + 1 == usize::from(FIRST_ID) + open.len());
        let id = if is_dense {
            FIRST_ID + open.len() as u16
        } else {
            (FIRST_ID..)
                .zip(open.keys())
                .find(|(free, key)| *free != key.0)
                .map_or(FIRST_ID + open.len() as u16, |(free, _)| free)
        };
        let handle = Arc::new(SessionHandle {
            id: SessionId(id),
            database: AtomicU16::new(database.0),
            is_killed: AtomicBool::new(false),
            cancellation: Arc::default(),
        });
        open.insert(handle.id, handle.clone());
        let task = self.tasks.enter(TaskId { session: handle.id, context: 0 });
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let _registration = Registration { sessions: self.clone(), id: handle.id };
        Ok(SessionEntry { number, handle, task, _registration })
    }

    /// The open sessions, by id.
    pub(crate) fn list(&self) -> Vec<Arc<SessionHandle>> {
        lock(&self.open).values().cloned().collect()
    }

    /// Those whose current database this is.
    pub(crate) fn in_database(&self, id: DatabaseId) -> Vec<Arc<SessionHandle>> {
        self.list().into_iter().filter(|session| session.database() == id).collect()
    }
}

impl SessionHandle {
    /// Id of the session, `@@SPID`.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The database that its statements work in; 0 for one without a server.
    pub fn database(&self) -> DatabaseId {
        DatabaseId(self.database.load(Ordering::Relaxed))
    }

    /// What cancels its statement.
    pub fn cancellation(&self) -> &Arc<Cancellation> {
        &self.cancellation
    }

    /// Ends the session, as KILL does: its statement is cancelled, and it accepts no more.
    pub fn kill(&self) {
        // Before the cancel: a statement that begins after it finds the flag.
        self.is_killed.store(true, Ordering::SeqCst);
        self.cancellation.cancel();
    }

    /// Was it killed?
    pub fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::SeqCst)
    }

    pub(crate) fn set_database(&self, id: DatabaseId) {
        self.database.store(id.0, Ordering::Relaxed);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        lock(&self.sessions.open).remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_free_id_is_given() {
        let sessions = Arc::new(Sessions::default());
        let enter = || sessions.enter(DatabaseId(5)).unwrap();
        let mut entries: Vec<_> = (0..4).map(|_| Some(enter())).collect();
        let ids: Vec<_> = sessions.list().iter().map(|session| session.id().0).collect();
        assert_eq!(ids, [51, 52, 53, 54]);
        entries[1] = None;
        let again = enter();
        assert_eq!(again.handle.id(), SessionId(52));
        entries[3] = None;
        assert_eq!(enter().handle.id(), SessionId(54));
    }

    #[test]
    fn a_killed_session_is_cancelled_for_good() {
        let sessions = Arc::new(Sessions::default());
        let entry = sessions.enter(DatabaseId(5)).unwrap();
        let [session] = &sessions.in_database(DatabaseId(5))[..] else { panic!("one session") };
        session.kill();
        assert!(entry.handle.is_killed() && entry.handle.cancellation().is_cancelled());
        assert!(sessions.in_database(DatabaseId(6)).is_empty());
    }
}
