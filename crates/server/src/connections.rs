//! The open connections: those that have not logged in, oldest first, and those of sessions.

use std::collections::{BTreeMap, HashMap};

use extentdb_base::SessionId;
use extentdb_base::sync::{Arc, Mutex, lock};
use tokio::sync::Notify;

/// What is open.
#[derive(Default)]
pub(crate) struct Connections {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    last: u64,
    pending: BTreeMap<u64, Arc<Notify>>,
    sessions: HashMap<SessionId, Arc<Notify>>,
}

/// A connection that has not logged in, until this is dropped.
pub(crate) struct Pending {
    connections: Arc<Connections>,
    number: u64,
    /// Told when the connection is to be closed.
    pub(crate) close: Arc<Notify>,
}

/// A connection with a session, until this is dropped.
pub(crate) struct Registered {
    connections: Arc<Connections>,
    id: SessionId,
    /// Told when the session is killed.
    pub(crate) close: Arc<Notify>,
}

impl Connections {
    /// A new connection. When there are too many that have not logged in, the oldest is closed: who
    /// means it has logged in within milliseconds.
    pub(crate) fn begin(self: &Arc<Self>, most: usize) -> Pending {
        let mut open = lock(&self.open);
        while open.pending.len() >= most.max(1) {
            if let Some((_, close)) = open.pending.pop_first() {
                close.notify_one();
            }
        }
        open.last += 1;
        let number = open.last;
        let close = Arc::new(Notify::new());
        open.pending.insert(number, close.clone());
        Pending { connections: self.clone(), number, close }
    }

    /// It has logged in.
    pub(crate) fn register(self: &Arc<Self>, id: SessionId) -> Registered {
        let close = Arc::new(Notify::new());
        lock(&self.open).sessions.insert(id, close.clone());
        Registered { connections: self.clone(), id, close }
    }

    /// Sessions that are open.
    pub(crate) fn sessions(&self) -> usize {
        lock(&self.open).sessions.len()
    }

    /// Closes the connection of a session.
    pub(crate) fn close(&self, id: SessionId) {
        if let Some(close) = lock(&self.open).sessions.get(&id) {
            close.notify_one();
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        lock(&self.connections.open).pending.remove(&self.number);
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // The id may be another session's by now.
        let mut open = lock(&self.connections.open);
        if open.sessions.get(&self.id).is_some_and(|close| Arc::ptr_eq(close, &self.close)) {
            open.sessions.remove(&self.id);
        }
    }
}
