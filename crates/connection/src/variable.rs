//! Variables of batches and procedures.

use extentdb_base::sync::Arc;
use extentdb_types::SqlType;

/// A declared variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// With its `@`.
    pub name: Arc<str>,
    /// Its type.
    pub ty: SqlType,
}

/// Variables by name. Names do not look at the case of ASCII letters.
pub fn variable_named(variables: &[Variable], name: &str) -> Option<usize> {
    variables.iter().position(|variable| variable.name.eq_ignore_ascii_case(name))
}
