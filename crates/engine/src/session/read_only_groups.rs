//! READ_ONLY filegroups: no row and no index entry in them changes, and nothing is created or
//! dropped there.
//!
//! The state is one of the catalog, not of files: what a rollback, the ghost cleanup or a
//! checkpoint still has to do with their pages is done.

use extentdb_base::sync::Arc;
use extentdb_space::Unit;

use crate::catalog::index::Index;
use crate::catalog::{Storage, Table};
use crate::error::{Error, ReadOnlyFilegroup};
use crate::session::StatementContext;

impl StatementContext<'_> {
    /// Refuses an index in a READ_ONLY filegroup, and one that is out of order.
    pub(crate) fn verify_index_writable(&self, table: &Table, index: &Index) -> Result<(), Error> {
        self.verify_unit_writable(table, index.name(), index.tree().unit())?;
        index.verify_writable(table.name())
    }

    /// Refuses a table whose rows, or values off them, are in a READ_ONLY filegroup.
    pub(crate) fn verify_rows_writable(
        &self,
        table: &Table,
        storage: &Storage,
    ) -> Result<(), Error> {
        if !self.db().catalog.has_read_only_groups() {
            return Ok(());
        }
        let name = storage.base.clustered().map_or("", |index| index.name());
        let units = std::iter::once(storage.base.unit()).chain(storage.off_row.units());
        units.into_iter().try_for_each(|unit| self.verify_unit_writable(table, name, unit))
    }

    /// Refuses a table of which any part is in a READ_ONLY filegroup.
    pub(crate) fn verify_all_writable(
        &self,
        table: &Table,
        storage: &Storage,
    ) -> Result<(), Error> {
        self.verify_rows_writable(table, storage)?;
        storage.indexes.iter().try_for_each(|index| {
            self.verify_unit_writable(table, index.name(), index.tree().unit())
        })
    }

    /// Refuses to create something in a READ_ONLY filegroup.
    pub(crate) fn verify_group_writable(&self, group: i16) -> Result<(), Error> {
        match self.db().catalog.read_only_group(group) {
            None => Ok(()),
            Some(group) => Err(ReadOnlyFilegroup::Create { group }.into()),
        }
    }

    fn verify_unit_writable(
        &self,
        table: &Table,
        index: &str,
        unit: &Arc<Unit>,
    ) -> Result<(), Error> {
        match self.db().catalog.read_only_group(unit.group()) {
            None => Ok(()),
            Some(group) => Err(ReadOnlyFilegroup::Change {
                index: index.to_owned(),
                table: format!("{}.{}", table.schema(), table.name()),
                rowset: unit.hobt(),
                group,
            }
            .into()),
        }
    }
}
