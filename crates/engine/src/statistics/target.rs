//! What statistics are about: an index, or columns that the catalog names.
//!
//! ```text
//! index            its key columns, then those of the clustered key that are not among them
//! statistics       sysidxstats (type 0, an id above 0), sysiscols (their columns)
//! ```

use extentdb_base::sync::Arc;
use extentdb_catalog::layout::Cell;

use super::key::has_order;
use crate::catalog::system_table::{int, number, text};
use crate::catalog::{Index, Storage, Table};
use crate::error::Error;
use crate::session::StatementContext;

/// How much is read for statistics.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub enum StatisticsScan {
    /// All pages up to 8 MB, from there on a part of them that gets smaller.
    #[default]
    Automatic,
    /// FULLSCAN: all rows.
    Full,
    /// SAMPLE n PERCENT of the pages.
    Percent(f64),
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) id: i32,
    pub(crate) name: String,
    /// Numbers of the columns in the table.
    pub(crate) columns: Vec<usize>,
    /// The index that it is about.
    pub(crate) index: Option<Arc<Index>>,
}

/// Columns of `sysidxstats` and `sysiscols`.
const IDXSTATS_ID: usize = 1;
const IDXSTATS_NAME: usize = 2;
const IDXSTATS_TYPE: usize = 6;
const ISCOLS_COLUMN: usize = 4;

impl Target {
    fn of_index(index: &Arc<Index>, storage: &Storage) -> Option<Target> {
        let mut columns = key_columns(index, storage)?;
        if let Some(base) = storage.base.clustered() {
            for column in key_columns(base, storage)? {
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
        }
        let target = Target {
            id: index.id().0,
            name: index.name().to_owned(),
            columns,
            index: Some(index.clone()),
        };
        target.has_order(storage).then_some(target)
    }

    /// Do all its columns have types that can be compared?
    pub(crate) fn has_order(&self, storage: &Storage) -> bool {
        let is_ordered =
            |at: &usize| storage.columns.get(*at).is_some_and(|column| has_order(&column.ty));
        !self.columns.is_empty() && self.columns.iter().all(is_ordered)
    }

    /// Is it about all rows, and first of all about this column?
    pub(crate) fn leads_with(&self, column: usize) -> bool {
        self.columns.first() == Some(&column)
            && self.index.as_ref().is_none_or(|index| index.filter().is_none())
    }
}

/// Numbers of the key columns of an index.
pub(super) fn key_columns(index: &Index, storage: &Storage) -> Option<Vec<usize>> {
    let number = |id: i32| storage.columns.iter().position(|column| column.id == id);
    index.definition().keys.iter().map(|key| number(key.column_id)).collect()
}

impl StatementContext<'_> {
    /// All that a table has statistics about, by the catalog.
    pub(crate) fn statistics_targets(
        &self,
        table: &Table,
        storage: &Storage,
    ) -> Result<Vec<Target>, Error> {
        let of_indexes = storage.all_indexes().filter_map(|index| Target::of_index(index, storage));
        let mut targets: Vec<Target> = of_indexes.collect();
        for row in self.db().catalog.system("sysidxstats")?.rows(&[int(table.id().0)])? {
            targets.extend(self.described_target(table, storage, &row)?);
        }
        Ok(targets)
    }

    /// What a row of `sysidxstats` describes, when it is statistics of their own.
    fn described_target(
        &self,
        table: &Table,
        storage: &Storage,
        row: &[Cell<'_>],
    ) -> Result<Option<Target>, Error> {
        let of = |at: usize| row.get(at).and_then(number);
        let id = of(IDXSTATS_ID).unwrap_or(0) as i32;
        if of(IDXSTATS_TYPE) != Some(0) || id <= 0 {
            return Ok(None);
        }
        let listed = self.db().catalog.system("sysiscols")?.rows(&[int(table.id().0), int(id)])?;
        let number = |row: &Vec<Cell<'static>>| {
            let id = number(row.get(ISCOLS_COLUMN)?)?;
            storage.columns.iter().position(|column| i64::from(column.id) == id)
        };
        let Some(columns) = listed.iter().map(number).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let target = Target { id, name: text(row.get(IDXSTATS_NAME)), columns, index: None };
        Ok(Some(target).filter(|target| target.has_order(storage)))
    }
}
