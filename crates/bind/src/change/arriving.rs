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
        let to = arriving(ty);
        // Clients send long texts as the old types, for columns of either kind.
        let value = &match (value.ty(), to) {
            (SqlType::NText { collation }, SqlType::VarChar { .. }) => {
                value.assigned(SqlType::NVarChar { len: None, collation }, &self.environment)
            }
            (SqlType::Text { collation }, SqlType::NVarChar { .. }) => {
                value.assigned(SqlType::VarChar { len: None, collation }, &self.environment)
            }
            _ => Ok(value.clone()),
        }
        .map_err(|cause| Cause::Expression(cause).at(span))?;
        let converted = match ty {
            // Of the old types, whatever becomes one of them by itself.
            SqlType::Text { .. } | SqlType::NText { .. } | SqlType::Image if value.ty() != to => {
                let as_column = value.assigned(ty, &self.environment);
                as_column.and_then(|value| value.assigned(to, &self.environment))
            }
            _ => value.assigned(to, &self.environment),
        };
        converted.map_err(|cause| Cause::Expression(cause).at(span))
    }
}
