//! What connections note of themselves, for those who ask from other threads.
//!
//! Locked: the notes of one connection, for the time of a copy.

use std::collections::BTreeMap;
use std::time::Duration;

use extentdb_base::SessionId;
use extentdb_base::sync::{Arc, Mutex, lock};

use crate::login::ClientInfo;
use crate::options::SetOptions;

/// The notes of all connections of a server, by session.
#[derive(Debug, Default)]
pub struct Sessions {
    all: Mutex<BTreeMap<SessionId, Arc<Mutex<Notes>>>>,
}

/// What a connection notes of itself. Times are since 1970, UTC.
#[derive(Debug, Clone)]
pub struct Notes {
    /// Who it is.
    pub client: ClientInfo,
    /// Options as they were when its last request began.
    pub options: SetOptions,
    /// When it logged in, since 1970.
    pub connected: Duration,
    /// Does a request run?
    pub is_running: bool,
    /// The statement that runs, or ran last: `SELECT`, `INSERT`, `WAITFOR` …
    pub command: &'static str,
    /// Its nesting: 0 in the batch itself.
    pub nesting: u32,
    /// When its last request began, since 1970.
    pub began: Duration,
    /// When its last request ended.
    pub ended: Option<Duration>,
    /// `@@ROWCOUNT`
    pub rowcount: i64,
    /// `@@ERROR`
    pub error: i32,
    /// `@@TRANCOUNT`
    pub transactions: u32,
    /// `CONTEXT_INFO()`
    pub context_info: Option<Vec<u8>>,
}

impl Sessions {
    /// A connection is there: its notes.
    pub fn enter(
        &self,
        id: SessionId,
        client: &ClientInfo,
        options: &SetOptions,
        now: Duration,
    ) -> Arc<Mutex<Notes>> {
        let notes = Arc::new(Mutex::new(Notes {
            client: client.clone(),
            options: options.clone(),
            connected: now,
            is_running: false,
            command: "",
            nesting: 0,
            began: now,
            ended: None,
            rowcount: 0,
            error: 0,
            transactions: 0,
            context_info: None,
        }));
        lock(&self.all).insert(id, notes.clone());
        notes
    }

    /// A connection has ended.
    pub fn leave(&self, id: SessionId) {
        lock(&self.all).remove(&id);
    }

    /// The notes of a connection as they are now.
    pub fn notes(&self, id: SessionId) -> Option<Notes> {
        let notes = lock(&self.all).get(&id).cloned()?;
        let notes = lock(&notes).clone();
        Some(notes)
    }
}
