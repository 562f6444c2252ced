//! Which names an expression may use: the tables of FROM, those of the queries around it.

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_expr::Parameter;

use crate::access::Access;
use crate::logical::{Column, ValueId};

/// A table source, by the name that it is exposed under.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Alias or name.
    pub(crate) name: String,
    /// The schema of a table without alias.
    pub(crate) schema: Option<String>,
    /// The database of a table without alias.
    pub(crate) database: Option<String>,
    /// The table that it is, under any name.
    pub(crate) table: Option<ObjectId>,
    /// The database of that.
    pub(crate) in_database: Option<String>,
    pub(crate) columns: Vec<NamedColumn>,
}

/// A column with its name.
#[derive(Clone, Debug)]
pub(crate) struct NamedColumn {
    pub(crate) name: String,
    pub(crate) column: Column,
    pub(crate) is_identity: bool,
    pub(crate) is_row_guid: bool,
    /// Of a column that may not be read: what says so.
    pub(crate) denied: Option<Arc<Access>>,
    /// Of a column of `nodes()`: the document that its numbers are of.
    pub(crate) node: Option<Parameter>,
}

/// The tables of one query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) sources: Vec<Source>,
    /// Values that a grouped query still has: its keys. `None` before it is grouped.
    pub(crate) grouped: Option<Vec<ValueId>>,
}

impl NamedColumn {
    pub(crate) fn new(name: impl Into<String>, column: Column) -> NamedColumn {
        NamedColumn {
            name: name.into(),
            column,
            is_identity: false,
            is_row_guid: false,
            denied: None,
            node: None,
        }
    }
}

impl Source {
    /// A derived table.
    pub(crate) fn derived(name: impl Into<String>, columns: Vec<NamedColumn>) -> Source {
        Source {
            name: name.into(),
            schema: None,
            database: None,
            table: None,
            in_database: None,
            columns,
        }
    }

    /// All values with NULLs, as an outer join gives them.
    pub(crate) fn make_nullable(&mut self) {
        self.columns.iter_mut().for_each(|column| column.column.is_nullable = true);
    }
}
