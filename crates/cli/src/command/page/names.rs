//! Whose a page is, by the catalog, and what the columns of its records are called.

use extentdb_base::AllocUnitId;
use extentdb_catalog::layout::{PhysicalColumn, column_status};
use extentdb_catalog::model::{AllocUnit, AllocUnitKind};
use extentdb_catalog::{Catalog, Index, Rowset, Table};
use extentdb_format::page::PageHeader;

/// The owner of a page.
pub(super) struct Owner<'c> {
    /// The catalog that says so.
    pub(super) catalog: &'c Catalog,
    /// The allocation unit.
    pub(super) unit: &'c AllocUnit,
    pub(super) rowset: &'c Rowset,
    /// The table, when it is listed.
    pub(super) table: Option<&'c Table>,
    /// The index of the table.
    pub(super) index: Option<&'c Index>,
}

impl<'c> Owner<'c> {
    /// The owner that a page header names. Leaf pages of clustered indexes that come from SQL
    /// Server 2000 name it without the index id.
    pub(super) fn of(catalog: &'c Catalog, header: &PageHeader) -> Option<Owner<'c>> {
        let named = header.alloc_unit();
        let candidates = [named, AllocUnitId(named.0 | 1 << 48)];
        let belonging = candidates.into_iter().filter(|unit| header.belongs_to(*unit));
        let (unit, rowset) = belonging.filter_map(|unit| catalog.owner_of(unit)).next()?;
        let table = catalog.tables.get(&rowset.object);
        let index =
            table.and_then(|table| table.indexes.iter().find(|index| index.id == rowset.index));
        Some(Owner { catalog, unit, rowset, table, index })
    }

    /// True when the records on the unit's pages are rows or index entries, not LOB fragments.
    pub(super) fn has_rows(&self) -> bool {
        self.unit.kind == AllocUnitKind::InRow
    }

    /// What a column of the rowset is called.
    pub(super) fn column_name(&self, column: &PhysicalColumn) -> String {
        if column.is_uniquifier() {
            return "UNIQUIFIER".to_owned();
        }
        if column.is_dropped() {
            return "DROPPED".to_owned();
        }
        let name = match self.rowset.index.0 {
            ..=1 => self.table_column(column.column_id),
            _ => self.index_column(column),
        };
        name.unwrap_or_else(|| format!("column {}", column.column_id))
    }

    fn table_column(&self, id: i32) -> Option<String> {
        self.table?.column(id).map(|column| column.name.clone())
    }

    /// The columns of a nonclustered index are its own, by their place in it, then what leads to
    /// the row: the RID, or those columns of the clustering key that the index does not have.
    fn index_column(&self, column: &PhysicalColumn) -> Option<String> {
        let own = &self.index?.columns;
        let index = usize::try_from(column.column_id).ok()?.checked_sub(1)?;
        if let Some(own) = own.get(index) {
            return self.table_column(own.column_id);
        }
        let base = self.table?.base()?;
        if base.id.0 == 0 {
            return Some("HEAP RID".to_owned());
        }
        let missing = base.columns.iter().filter(|key| key.key_ordinal > 0);
        let mut missing =
            missing.filter(|key| !own.iter().any(|own| own.column_id == key.column_id));
        match missing.nth(index - own.len()) {
            Some(key) => self.table_column(key.column_id),
            // After the key of a clustered index that is not unique comes what makes it so.
            None if !base.unique => Some("UNIQUIFIER".to_owned()),
            None => None,
        }
    }

    /// Is the column the RID in an index of a heap?
    pub(super) fn is_heap_rid(&self, column: &PhysicalColumn) -> bool {
        self.rowset.index.0 > 1
            && column.status & column_status::UNIQUIFIER == 0
            && self.column_name(column) == "HEAP RID"
    }
}
