//! A temporary table as its session knows it, and on its way to a procedure.

use extentdb_base::ObjectId;
use extentdb_engine::Table;

/// A temporary table, table variable or temporary procedure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemporaryTable {
    /// As statements write it.
    pub(crate) name: String,
    /// As tempdb has it.
    pub(crate) stored: String,
    pub(crate) id: ObjectId,
    /// Nesting of what has created it: 0 for a batch.
    pub(crate) nesting: u32,
    /// What has created it has ended, and the table could not be dropped.
    pub(crate) is_hidden: bool,
    /// It is that of a caller, and not dropped here.
    pub(crate) is_borrowed: bool,
    /// It is a parameter.
    pub(crate) is_read_only: bool,
    /// The table behind its table type.
    pub(crate) of_type: Option<ObjectId>,
    /// It is a procedure.
    pub(crate) is_procedure: bool,
}

impl TemporaryTable {
    pub(crate) fn new(name: &str, table: &Table, nesting: u32) -> TemporaryTable {
        TemporaryTable {
            name: name.to_owned(),
            stored: table.name().to_owned(),
            id: table.id(),
            nesting,
            is_hidden: false,
            is_borrowed: false,
            is_read_only: false,
            of_type: None,
            is_procedure: false,
        }
    }

    /// Is it the one of this name that a scope has created?
    pub(crate) fn is_at(&self, name: &str, nesting: u32) -> bool {
        !self.is_hidden && self.nesting == nesting && self.name.eq_ignore_ascii_case(name)
    }
}

/// A table variable on its way to a procedure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedTable(pub(crate) TemporaryTable);

impl HandedTable {
    /// The table behind its type; `None` when it was declared by its columns.
    pub fn of_type(&self) -> Option<ObjectId> {
        self.0.of_type
    }
}
