//! Why there is no plan.

use extentdb_expr::CompileError;

/// Why a query has no plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// An expression cannot be compiled.
    #[error(transparent)]
    Expression(#[from] CompileError),
}

/// Result of planning.
pub type Result<T> = std::result::Result<T, Error>;
