//! Statements that a client has prepared, by handle.

use std::collections::BTreeMap;

use extentdb_base::sync::Arc;

/// A prepared statement.
#[derive(Debug, PartialEq, Eq)]
pub struct Statement {
    /// Declarations of its parameters; may be empty.
    pub declarations: String,
    /// Its text.
    pub text: String,
    /// The text is the name of a procedure, and values are its arguments.
    pub is_call: bool,
}

/// The prepared statements of a connection.
#[derive(Debug, Default)]
pub struct Prepared {
    statements: BTreeMap<i32, Arc<Statement>>,
    last: i32,
}

impl Prepared {
    /// Keeps a statement; its handle, never 0.
    pub fn add(&mut self, statement: Statement) -> i32 {
        self.last = self.last.wrapping_add(1).max(1);
        self.statements.insert(self.last, Arc::new(statement));
        self.last
    }

    /// The statement of a handle.
    pub fn named(&self, handle: i64) -> Option<Arc<Statement>> {
        self.statements.get(&i32::try_from(handle).ok()?).cloned()
    }

    /// Forgets a statement; false when there is none.
    pub fn remove(&mut self, handle: i64) -> bool {
        i32::try_from(handle).is_ok_and(|handle| self.statements.remove(&handle).is_some())
    }
}
