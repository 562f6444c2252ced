//! The open connections: those that have not logged in, oldest first, and those of sessions.

use std::collections::{BTreeMap, HashMap};

use extentdb_base::SessionId;
use extentdb_base::sync::{Arc, Mutex, lock};
use tokio::sync::Notify;

use crate::channel::Channel;

/// What is open.
#[derive(Default)]
pub(crate) struct Connections {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    last: u64,
    pending: BTreeMap<u64, Arc<Notify>>,
    sessions: HashMap<SessionId, Arc<Channel>>,
    /// The server ends.
    is_ending: bool,
    /// Connections that were let in.
    admitted: usize,
    /// Of them those of each login, by its name in lower case.
    by_login: HashMap<String, usize>,
}

/// A connection that has not logged in, until this is dropped.
pub(crate) struct Pending {
    connections: Arc<Connections>,
    number: u64,
    /// Told when the connection is to be closed.
    pub(crate) close: Arc<Notify>,
}

/// A connection that was let in, until this is dropped.
pub(crate) struct Admission {
    connections: Arc<Connections>,
    login: String,
}

/// How many connections may be let in.
#[derive(Clone, Copy)]
pub(crate) struct AdmissionLimits {
    pub(crate) all: usize,
    pub(crate) of_login: usize,
}

/// Which limit is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Full {
    All,
    Login,
}

/// A connection with a session, until this is dropped.
pub(crate) struct Registered {
    admission: Admission,
    id: SessionId,
    channel: Arc<Channel>,
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

    /// Lets a connection of a login in, while there are fewer than there may be.
    pub(crate) fn admit(
        self: &Arc<Self>,
        login: &str,
        limits: AdmissionLimits,
    ) -> Result<Admission, Full> {
        let login = login.to_lowercase();
        let mut open = lock(&self.open);
        if open.admitted >= limits.all {
            return Err(Full::All);
        }
        let of_login = open.by_login.get(&login).copied().unwrap_or(0);
        if of_login >= limits.of_login {
            return Err(Full::Login);
        }
        open.admitted += 1;
        open.by_login.insert(login.clone(), of_login + 1);
        Ok(Admission { connections: self.clone(), login })
    }

    /// Sessions that are open.
    pub(crate) fn sessions(&self) -> usize {
        lock(&self.open).sessions.len()
    }

    /// Closes the connection of a session.
    pub(crate) fn close(&self, id: SessionId) {
        if let Some(channel) = lock(&self.open).sessions.get(&id) {
            channel.end();
        }
    }

    /// Closes the connections of all sessions, also of those to come.
    pub(crate) fn close_all(&self) {
        let mut open = lock(&self.open);
        open.is_ending = true;
        open.sessions.values().for_each(Channel::end);
    }
}

impl Admission {
    /// It has a session, whose connection this is.
    pub(crate) fn register(self, id: SessionId, channel: Arc<Channel>) -> Registered {
        {
            let mut open = lock(&self.connections.open);
            open.sessions.insert(id, channel.clone());
            if open.is_ending {
                channel.end();
            }
        }
        Registered { admission: self, id, channel }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let mut open = lock(&self.connections.open);
        open.admitted -= 1;
        if let Some(count) = open.by_login.get_mut(&self.login) {
            *count -= 1;
            if *count == 0 {
                open.by_login.remove(&self.login);
            }
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
        let mut open = lock(&self.admission.connections.open);
        if open.sessions.get(&self.id).is_some_and(|channel| Arc::ptr_eq(channel, &self.channel)) {
            open.sessions.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_by_login_until_they_end() {
        let connections = Arc::new(Connections::default());
        let limits = AdmissionLimits { all: 3, of_login: 2 };
        let one = connections.admit("sa", limits).ok().unwrap();
        let two = connections.admit("SA", limits).ok().unwrap();
        assert_eq!(connections.admit("Sa", limits).err(), Some(Full::Login));
        let other = connections.admit("other", limits).ok().unwrap();
        assert_eq!(connections.admit("third", limits).err(), Some(Full::All));
        drop(other);
        drop(one);
        assert!(connections.admit("sa", limits).is_ok());
        drop(two);
        assert!(lock(&connections.open).by_login.is_empty());
    }
}
