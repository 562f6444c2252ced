//! A heap with the rows of a data file in a database of its own, and the nonclustered indexes of
//! that file over it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use extentdb_catalog::model::IndexKind;
use extentdb_engine::{ColumnSpec, IndexSpec, Table, TableSpec};
use extentdb_io::DurabilityMode;

use super::{DatabaseForm, Lab};
use crate::peers::rows::Rows;
use crate::report::timed;

/// Data files never grow meanwhile.
const FILE_BYTES: u64 = 1 << 30;
/// Rows that are loaded by one transaction.
const LOADED_PER_COMMIT: u64 = 1000;

/// A heap that has its rows and no index.
pub struct SalesLab {
    lab: Lab,
    table: Arc<Table>,
    indexes: Vec<IndexSpec>,
}

impl SalesLab {
    /// Loads the rows of a table. Commits write the log and flush nothing.
    ///
    /// # Errors
    /// The table cannot be created, or no room is left.
    pub fn create(
        parent: &Path,
        rows: &Rows<'_>,
        table: &extentdb_catalog::Table,
    ) -> Result<SalesLab> {
        let form = DatabaseForm {
            durability: DurabilityMode::DirectOnly,
            ..DatabaseForm::of([FILE_BYTES])
        };
        let lab = Lab::create(parent, &form)?;
        let columns = table.columns.iter().map(|column| {
            let ty = column.ty.with_context(|| format!("column {} has no type", column.name))?;
            let spec = ColumnSpec::new(&column.name, ty);
            Ok(if column.nullable { spec } else { spec.not_null() })
        });
        let spec = TableSpec::heap(&table.name, columns.collect::<Result<_>>()?);
        let made = lab.db.session().create_table(&spec)?;
        let mut session = lab.db.session();
        let mut loaded = 0;
        rows.for_each(table, |values| {
            if loaded % LOADED_PER_COMMIT == 0 {
                session.commit()?;
                session.begin();
            }
            loaded += 1;
            session.insert(&made, values)?;
            Ok(())
        })?;
        session.commit()?;
        drop(session);
        Ok(SalesLab { lab, table: made, indexes: nonclustered(table)? })
    }

    /// Time to build all indexes, one after the other; afterwards they are dropped.
    ///
    /// # Errors
    /// The engine refuses one.
    pub fn build(&self) -> Result<Duration> {
        self.lab.db.checkpoint()?;
        let mut session = self.lab.db.session();
        let (time, done) = timed(|| {
            self.indexes.iter().try_for_each(|index| session.create_index(&self.table, index))
        });
        done?;
        for index in &self.indexes {
            session.drop_index(&self.table, &index.name)?;
        }
        Ok(time)
    }
}

/// The indexes other than the one with the rows.
fn nonclustered(table: &extentdb_catalog::Table) -> Result<Vec<IndexSpec>> {
    let indexes = table.indexes.iter().filter(|index| index.kind == IndexKind::Nonclustered);
    let specs = indexes.map(|index| {
        let name =
            |id| table.column(id).map(|column| column.name.clone()).context("a column of an index");
        let mut columns: Vec<_> = index.columns.iter().collect();
        columns.sort_by_key(|column| column.key_ordinal);
        let keys = columns.iter().filter(|column| column.key_ordinal > 0);
        let included = columns.iter().filter(|column| column.is_included());
        Ok(IndexSpec {
            unique: index.unique,
            keys: keys
                .map(|column| Ok((name(column.column_id)?, column.descending)))
                .collect::<Result<_>>()?,
            included: included.map(|column| name(column.column_id)).collect::<Result<_>>()?,
            ..IndexSpec::new(index.name.as_deref().unwrap_or_default(), &[])
        })
    });
    specs.collect()
}
