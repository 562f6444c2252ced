//! Columns come to a table that has rows.
//!
//! ```text
//! takes NULL       rows stay as they are: they end before the column, which reads as NULL
//! takes no NULL    every row is written anew with the column's default, in the same transaction
//! ```
//!
//! The new column lies behind all others: behind the fixed part of rows, or as their last variable column. Its place goes into the
//! catalogue before its name, so that a restart that is cut off between the two reads a table as it was.

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, lock};
use extentdb_catalog::layout::Cell;
use extentdb_catalog::table::describe::{Child, ChildKind, SystemRows, add_column, add_physical_column};
use extentdb_catalog::table::{IndexDefinition, RowsetLayout, Source, TableDefinition};
use extentdb_rowset::RowShape;
use extentdb_rowset::heap::Heap;

use crate::column::TableColumn;
use crate::ddl::{ColumnSpec, column_definition, heap_definition, object, verify_name, verify_row_bytes};
use crate::error::Error;
use crate::index::{Index, definition_of};
use crate::rebase::verify_no_gaps;
use crate::rows::Found;
use crate::session::Session;
use crate::storage::{Base, Storage, heap_shape};
use crate::system_table::{bigint, int};
use crate::table::Table;

/// Columns of `sysrowsets`.
mod rowset {
    pub(super) const MAX_NULL_BIT: usize = 10;
    pub(super) const MAX_LEAF: usize = 11;
    pub(super) const MIN_LEAF: usize = 13;
}

impl Session<'_> {
    /// Adds a column behind all others.
    ///
    /// # Errors
    /// The name is taken; the column takes no NULL and has no default for the rows there are; its values lie off the row or are an
    /// identity: [`Error::NotSupported`].
    pub fn add_column(&mut self, table: &Arc<Table>, spec: &ColumnSpec) -> Result<(), Error> {
        self.statement("ALTER TABLE", |session| {
            let old = session.lock_for_ddl(table)?;
            spec.verify_new(&old)?;
            verify_no_gaps(table, &old.columns)?;
            let has_rows = old.base.unit().counts().0.rows > 0;
            if has_rows && !spec.nullable && spec.default.is_none() {
                let what = format!(
                    "column {}, which takes no NULL and has no default for the rows there are",
                    spec.name
                );
                return Err(Error::NotSupported { what });
            }
            let new = {
                let _ddl = lock(&session.db.ddl);
                session.describe_column(table, &old, spec)?
            };
            let storage = session.store(table, new);
            match has_rows && !spec.nullable {
                true => session.give_default(table, &storage),
                false => Ok(()),
            }
        })
    }

    /// The rows of the catalogue, and the table with the column.
    fn describe_column(&mut self, table: &Table, old: &Storage, spec: &ColumnSpec) -> Result<Storage, Error> {
        let column = TableColumn {
            id: old.columns.len() as i32 + 1,
            name: spec.name.clone(),
            ty: spec.ty,
            nullable: spec.nullable,
            default: spec.default.as_ref().map(|(_, text)| text.clone()),
            at: 0,
        };
        let mut columns = old.columns.clone();
        columns.push(column.clone());
        let index = base_definition(old);
        let wider = Storage { columns, ..old.clone() };
        let definition = definition_of(table.id(), table.name(), &wider);
        let layout = definition.layout(&index);
        verify_same_places(old, &layout)?;
        verify_row_bytes(&layout)?;
        self.insert_column((table, old), &column, spec, &layout)?;
        if let Base::Heap(heap) = &old.base {
            heap.settle()?;
        }
        self.widened((wider, &definition), index, &layout)
    }

    fn insert_column(
        &mut self,
        (table, old): (&Table, &Storage),
        column: &TableColumn,
        spec: &ColumnSpec,
        layout: &RowsetLayout,
    ) -> Result<(), Error> {
        let hobt = old.base.hobt();
        let numbers = [
            (rowset::MAX_NULL_BIT, Cell::Bytes((layout.max_null_bit as i16).to_le_bytes().to_vec().into())),
            (rowset::MAX_LEAF, int(layout.max_leaf as i32)),
            (rowset::MIN_LEAF, Cell::Bytes((layout.min_leaf as i16).to_le_bytes().to_vec().into())),
        ];
        self.change_system_row("sysrowsets", &[bigint(hobt.0)], &numbers)?;
        let place = layout.sources.iter().position(|source| *source == Source::Column(column.id));
        let place = place.and_then(|at| layout.row.columns.get(at));
        let place = place.ok_or_else(|| Error::catalogue("the new column has no place"))?;
        let mut rows = SystemRows::new();
        add_physical_column(hobt, place, &mut rows);
        self.insert_system_rows(&rows)?;
        let mut default_object = ObjectId(0);
        if let Some((name, text)) = &spec.default {
            let (id, schema_id) = self.new_object(table, name)?;
            default_object = id;
            let kind = ChildKind::Default(column.id, text.clone());
            self.insert_child(&Child { id, name: name.clone(), kind, table: table.id(), schema_id })?;
        }
        let mut rows = SystemRows::new();
        add_column(table.id(), column.id, &column_definition(spec, default_object), &mut rows);
        self.insert_system_rows(&rows)?;
        self.change_system_row("sysschobjs", &[int(table.id().0)], &[(object::COUNT, int(column.id))])
    }

    /// Puts other values into a row of a system table, in columns that no index has.
    fn change_system_row(
        &mut self,
        name: &str,
        key: &[Cell<'_>],
        changes: &[(usize, Cell<'static>)],
    ) -> Result<(), Error> {
        let table = self.db.catalogue.system(name)?;
        let missing = || Error::catalogue(format!("{name} lacks a row"));
        let mut row = table.rows(key)?.into_iter().next().ok_or_else(missing)?;
        for (at, cell) in changes {
            *row.get_mut(*at).ok_or_else(missing)? = cell.clone();
        }
        table.replace(self.tx()?, &row)
    }

    /// The same pages under a layout with one column more.
    fn widened(
        &self,
        (storage, definition): (Storage, &TableDefinition),
        index: IndexDefinition,
        layout: &RowsetLayout,
    ) -> Result<Storage, Error> {
        let shape = RowShape::of_layout(layout, true)?.with_declared_keys(index.keys.len());
        let place = |id: i32| layout.sources.iter().position(|source| *source == Source::Column(id));
        let of = |column: &TableColumn| TableColumn { at: place(column.id).unwrap_or(0), ..column.clone() };
        let columns: Vec<TableColumn> = storage.columns.iter().map(of).collect();
        debug_assert_eq!(definition.columns.len(), columns.len());
        let (space, unit) = (self.db.space.clone(), storage.base.unit().clone());
        let base = match &storage.base {
            Base::Heap(_) => {
                let form = heap_shape(&layout.row, &shape);
                Base::Heap(Arc::new(Heap::new(space, unit, form, self.db.options.placement)))
            }
            Base::Clustered(_) => {
                let index = Index::clustered(index, &columns, shape.clone(), (space, unit));
                Base::Clustered(Arc::new(index.with_order_unknown(&columns)))
            }
        };
        Ok(Storage { columns, shape, base, ..storage })
    }

    /// Gives all rows the default of the last column.
    fn give_default(&mut self, table: &Table, storage: &Storage) -> Result<(), Error> {
        let Some(column) = storage.columns.last() else { return Ok(()) };
        let value = self.missing((table, storage), column)?;
        for Found { at, record } in self.rows_for_ddl(storage)? {
            let mut values = storage.values(&record)?;
            if let Some(last) = values.last_mut() {
                last.clone_from(&value);
            }
            let mut cells = storage.cells_of(&values)?;
            storage.constraints.verify_checks(table, storage, &cells)?;
            self.change_row((table, storage), &at, &mut cells)?;
        }
        Ok(())
    }
}

impl ColumnSpec {
    fn verify_new(&self, storage: &Storage) -> Result<(), Error> {
        verify_name(&self.name)?;
        if storage.columns.iter().any(|column| column.name.eq_ignore_ascii_case(&self.name)) {
            return Err(Error::Exists { name: self.name.clone() });
        }
        if self.identity.is_some() || self.ty.is_max() || self.ty.is_lob() {
            let what = format!("to add column {}: an identity, or values off the row", self.name);
            return Err(Error::NotSupported { what });
        }
        Ok(())
    }
}

/// The heap or clustered index as the catalogue has it.
fn base_definition(storage: &Storage) -> IndexDefinition {
    match &storage.base {
        Base::Clustered(index) => index.definition().clone(),
        Base::Heap(heap) => IndexDefinition { rowset: heap.unit().hobt(), ..heap_definition() },
    }
}

/// Rows stay as they are only when what they have stays where it is.
fn verify_same_places(old: &Storage, layout: &RowsetLayout) -> Result<(), Error> {
    let (was, is) = (&old.shape.layout().columns, &layout.row.columns);
    let is_same = was.iter().zip(is).all(|(was, is)| (was.column_id, was.leaf) == (is.column_id, is.leaf));
    match is_same && was.len() + 1 == is.len() {
        true => Ok(()),
        false => Err(Error::NotSupported { what: "a further column in rows of this layout".to_owned() }),
    }
}
