//! How expressions are read: with the caution that stored ones need, or as a session's statements.
//!
//! ```text
//! Stored     computed columns, filters, checks: what depends on the session, on tables of Windows
//!            or on anything unpublished does not compile, or leaves its row undecided
//! Statement  what a session runs: everything has the value that is documented
//! ```

use extentdb_kernel::options::StatementOptions;

/// How an expression is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Settings {
    /// As the catalog stores it.
    Stored,
    /// As a statement of a session has it.
    Statement(StatementOptions),
}

impl Settings {
    /// For expressions that the catalog stores.
    #[must_use]
    pub const fn stored() -> Settings {
        Settings::Stored
    }

    /// For expressions of statements.
    #[must_use]
    pub const fn statement(options: StatementOptions) -> Settings {
        Settings::Statement(options)
    }

    pub(crate) fn is_statement(self) -> bool {
        matches!(self, Settings::Statement(_))
    }

    /// The options of the session; those of a new one for stored expressions, which do not ask.
    pub(crate) fn options(self) -> StatementOptions {
        match self {
            Settings::Stored => StatementOptions::default(),
            Settings::Statement(options) => options,
        }
    }
}
