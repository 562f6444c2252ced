//! Statements that change rows: INSERT, UPDATE, DELETE, MERGE.
//!
//! ```text
//! target   a stored table; in UPDATE and DELETE with FROM, one of its sources
//! rows     a relation: the place of each row of the target that is changed, and the new values
//! OUTPUT   values over the row before (deleted), the row after (inserted), and the relation's own
//! ```
//!
//! A text for a column is converted to the longest type of its kind: what does not fit the column
//! is an error, and not cut.

mod delete;
mod insert;
mod merge;
mod output;
mod query_target;
mod target;
mod update;

pub use delete::BoundDelete;
pub use insert::{BoundInsert, ColumnSource};
pub use merge::{BoundAction, BoundMerge, BoundMergeClause};
pub use output::{BoundOutput, OutputInto};
pub use update::{BoundUpdate, SetColumn};

use extentdb_expr::Scalar;
use extentdb_tsql::Span;
use extentdb_types::SqlType;

use crate::binder::Binder;
use crate::error::{Cause, Result};

/// The type in which a value comes to a column of this type.
pub(crate) fn arriving(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Char { collation, .. }
        | SqlType::VarChar { collation, .. }
        | SqlType::Text { collation } => SqlType::VarChar { len: None, collation },
        SqlType::NChar { collation, .. }
        | SqlType::NVarChar { collation, .. }
        | SqlType::NText { collation } => SqlType::NVarChar { len: None, collation },
        SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Image => {
            SqlType::VarBinary { len: None }
        }
        other => other,
    }
}

impl Binder<'_> {
    /// The value as it comes to a column of this type.
    pub(crate) fn arriving(&self, value: &Scalar, ty: SqlType, span: Span) -> Result<Scalar> {
        if value.ty() == ty && !value.is_null_literal() {
            return Ok(value.clone());
        }
        let converted = value.assigned(arriving(ty), &self.environment);
        converted.map_err(|cause| Cause::Expression(cause).at(span))
    }
}
