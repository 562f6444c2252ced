//! What a result says of its columns before its rows.

use extentdb_catalog::Column;
use extentdb_types::SqlType;

/// A column of a result: of a table, or of a query.
#[derive(Clone, Debug)]
pub(crate) struct ColumnHead {
    /// Its name.
    pub(crate) name: String,
    /// Its type; `None` when the catalog's description is not understood.
    pub(crate) ty: Option<SqlType>,
    /// The type as stored, for messages.
    pub(super) xtype: u8,
    /// A server computes its values by itself.
    pub(super) is_computed: bool,
    /// A server numbers its rows by itself.
    pub(super) has_identity: bool,
}

impl ColumnHead {
    /// A column of a table.
    pub(super) fn of(column: &Column) -> ColumnHead {
        ColumnHead {
            name: column.name.clone(),
            ty: column.ty,
            xtype: column.xtype,
            is_computed: column.computed.is_some(),
            has_identity: column.identity.is_some(),
        }
    }

    /// A column of a query.
    pub(crate) fn of_query(name: String, ty: SqlType) -> ColumnHead {
        ColumnHead {
            name,
            ty: Some(ty),
            xtype: 0,
            is_computed: false,
            has_identity: false,
        }
    }
}
