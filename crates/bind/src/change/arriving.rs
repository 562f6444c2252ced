//! Values on their way to a column: a text is converted to the longest type of its kind, so that
//! what does not fit the column is an error there, and not cut here.

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
