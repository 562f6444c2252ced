//! DELETE.

use extentdb_tsql::syntax::Delete;

use super::output::{BoundOutput, OutputRows};
use super::target::TargetRows;
use crate::access;
use crate::binder::Binder;
use crate::error::Result;
use crate::logical::{Column, Relation, ValueId};
use crate::scope::Scope;
use crate::surroundings::StoredTable;

/// A bound DELETE.
#[derive(Clone)]
pub struct BoundDelete {
    /// The table.
    pub stored: StoredTable,
    /// Rows with their places; a row may be there twice.
    pub relation: Relation,
    /// The value that says where a row is.
    pub locator: ValueId,
    /// The row before, where OUTPUT names it.
    pub deleted: Vec<Column>,
    /// OUTPUT.
    pub outputs: Vec<BoundOutput>,
}

impl Binder<'_> {
    /// A DELETE.
    ///
    /// # Errors
    /// A name means nothing.
    pub fn delete(&mut self, delete: &Delete) -> Result<BoundDelete> {
        if let Some(with) = &delete.with {
            self.add_common_tables(with)?;
        }
        let rows = self.target_rows(&delete.target, &delete.from)?;
        self.scopes.push(Scope { sources: rows.sources.clone(), grouped: None });
        let bound = self.delete_rows(delete, rows);
        self.scopes.pop();
        bound
    }

    fn delete_rows(&mut self, delete: &Delete, rows: TargetRows) -> Result<BoundDelete> {
        let TargetRows { stored, relation, sources, locator, names, .. } = rows;
        let mut relation = self.dml_filtered(relation, delete.filter.as_ref())?;
        if let Some(top) = &delete.top {
            relation = self.top(relation, top, None)?;
        }
        access::verify_delete(&stored, delete.target.span)?;
        if !delete.outputs.is_empty() {
            access::verify_output(&stored, delete.target.span)?;
        }
        let deleted = self.row_columns(&stored);
        let rows = OutputRows {
            inserted: None,
            deleted: Some(&names.named(&deleted)),
            sources: if delete.from.is_empty() { &[] } else { &sources },
            action: None,
        };
        let outputs = self.outputs(&delete.outputs, &rows)?;
        let deleted = deleted.into_iter().map(|(_, column)| column).collect();
        Ok(BoundDelete { stored, relation, locator, deleted, outputs })
    }
}
