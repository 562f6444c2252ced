//! The engine's session of a connection, which is lent to the executor while a query runs.

use std::ops::{Deref, DerefMut};

use extentdb_base::sync::Arc;
use extentdb_engine::{Database, Session, SessionHandle};

/// A session that may be lent. While it is, only its handle and its database are here.
pub struct EngineSession {
    session: Option<Session>,
    handle: Arc<SessionHandle>,
    database: Arc<Database>,
}

impl EngineSession {
    /// One that holds a session.
    pub fn new(session: Session) -> EngineSession {
        EngineSession {
            handle: session.handle().clone(),
            database: session.database().clone(),
            session: Some(session),
        }
    }

    /// The session as other threads see it.
    pub fn handle(&self) -> &Arc<SessionHandle> {
        &self.handle
    }

    /// The current database.
    pub fn database(&self) -> &Arc<Database> {
        self.session.as_ref().map_or(&self.database, |session| session.database())
    }

    /// Takes the session, to be given back.
    pub fn lend(&mut self) -> Option<Session> {
        let session = self.session.take()?;
        self.database = session.database().clone();
        Some(session)
    }

    /// The session comes back from a thread that it was lent to.
    pub fn give_back(&mut self, session: Session) {
        self.session = Some(session);
    }
}

impl Deref for EngineSession {
    type Target = Session;

    #[expect(clippy::expect_used, reason = "the caller that has lent it works with what was lent")]
    fn deref(&self) -> &Session {
        self.session.as_ref().expect("a session that is not lent")
    }
}

impl DerefMut for EngineSession {
    #[expect(clippy::expect_used, reason = "the caller that has lent it works with what was lent")]
    fn deref_mut(&mut self) -> &mut Session {
        self.session.as_mut().expect("a session that is not lent")
    }
}
