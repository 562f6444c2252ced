//! Moves the rows of a table: from a heap into a clustered index, back, or into a new one of the
//! same kind.
//!
//! ```text
//! rows        read from the old base, inserted into the new one in key order
//! indexes     built again with new rowsets: their row locator was a RID and is a key, or the
//!             reverse
//! catalog     rows of all old rowsets are deleted, those of the new ones inserted, in one
//!             transaction
//! old units   freed when the transaction has committed
//! ```

use std::borrow::Cow;

use extentdb_base::IndexId;
use extentdb_base::sync::{Arc, lock};
use extentdb_catalog::layout::Cell;
use extentdb_catalog::model::AllocUnitKind;
use extentdb_catalog::table::describe::Child;
use extentdb_catalog::table::{IndexDefinition, TableDefinition};
use extentdb_rowset::btree::Fill;
use extentdb_space::Freed;

use crate::catalog::storage::definition_of;
use crate::catalog::system_table::{int, owned};
use crate::catalog::{Base, Index, Storage, Table, TableRef};
use crate::ddl::index::IndexSpec;
use crate::ddl::table::{heap_definition, update_pfs, verify_row_bytes, with_nullable_key};
use crate::dml::entries::duplicate;
use crate::dml::placing::Placing;
use crate::dml::rows::FoundRow;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

impl Session {
    /// Enables an index that is disabled; rewrites any other without the gaps that splits and
    /// deletes have left, the clustered one with all that lead to it.
    ///
    /// # Errors
    /// The table has no such index.
    pub fn rebuild_index(&mut self, table: &Arc<Table>, name: &str) -> Result<(), Error> {
        self.statement("ALTER INDEX", |context| {
            let old = context.lock_for_ddl(table)?;
            if let Some(disabled) = old.disabled(name) {
                return context.enable_index(table, &old, disabled);
            }
            let index = old.index(name).ok_or_else(|| table.no_index(name))?.clone();
            if old.is_base(&index) {
                let base = index.definition().clone();
                return context.rebase_alone(table, &old, base, index.fill());
            }
            let ddl = lock(&context.db().ddl);
            context.begin_drop_index(table, &old, &index);
            let freed = context.db().space.free_unit(context.tx()?, index.tree().unit())?;
            let unit = index.tree().unit();
            let unit = context.replace_unit(unit, AllocUnitKind::InRow, unit.hobt())?;
            let fresh = Arc::new(index.over(context.db().space.clone(), unit));
            context.free_at_commit(freed);
            let mut new = Storage::clone(&old);
            new.indexes
                .iter_mut()
                .filter(|own| own.id() == fresh.id())
                .for_each(|own| *own = fresh.clone());
            let storage = context.store(table, new);
            drop(ddl);
            context.fill(table.with(&storage), &fresh, fresh.fill())
        })
    }
}

impl Session {
    /// Rewrites the rows of a table, with all that lead to them: ALTER TABLE … REBUILD.
    ///
    /// # Errors
    /// The table is only read here.
    pub fn rebuild_table(&mut self, table: &Arc<Table>) -> Result<(), Error> {
        self.statement("ALTER TABLE", |context| {
            let old = context.lock_for_ddl(table)?;
            match old.base.clustered() {
                Some(index) => {
                    let base = index.definition().clone();
                    let fill = index.fill();
                    context.rebase_alone(table, &old, base, fill)
                }
                None => context.rebase_alone(table, &old, heap_definition(), Fill::default()),
            }
        })
    }
}

impl StatementContext<'_> {
    /// Puts the rows of a heap into a new clustered index.
    pub(crate) fn make_clustered(
        &mut self,
        table: &Arc<Table>,
        old: &Arc<Storage>,
        spec: &IndexSpec,
    ) -> Result<(), Error> {
        let rows = self.rows_for_ddl(old)?;
        let ddl = lock(&self.db().ddl);
        if self.filegroup_id(spec.filegroup.as_deref())? != old.base.unit().group()
            && spec.filegroup.is_some()
        {
            return Err(Unsupported::MoveTable { table: table.name().to_owned() }.into());
        }
        let schema = self.schema_id(table.schema())?;
        let constraint = self.constraint_of(table.id(), schema, spec)?;
        let base = spec.base_definition(&old.columns)?;
        let storage = self.rebase(table, old, base, constraint)?;
        drop(ddl);
        self.refill_from(table.with(&storage), old, &rows, spec.fill())
    }

    /// Gives a table that is locked for it another base, with all its rows. The catalog is locked
    /// for its own rows alone: checkpoints need it, and do not wait until rows are read and
    /// written.
    pub(crate) fn rebase_alone(
        &mut self,
        table: &Arc<Table>,
        old: &Arc<Storage>,
        base: IndexDefinition,
        fill: Fill,
    ) -> Result<(), Error> {
        let rows = self.rows_for_ddl(old)?;
        let ddl = lock(&self.db().ddl);
        let storage = self.rebase(table, old, base, None)?;
        drop(ddl);
        self.refill_from(table.with(&storage), old, &rows, fill)
    }

    /// Gives a table that is locked for it another base, empty. The catalog is locked.
    fn rebase(
        &mut self,
        table: &Arc<Table>,
        old: &Arc<Storage>,
        base: IndexDefinition,
        constraint: Option<Child>,
    ) -> Result<Arc<Storage>, Error> {
        let bare = TableDefinition {
            indexes: Vec::new(),
            ..definition_of(table.id(), table.name(), old)
        };
        let layout = bare.layout(&base);
        verify_row_bytes(layout.min_leaf, layout.max_null_bit)?;
        self.begin_drop(table, old);
        if let Some(lob) = &old.off_row.lob {
            // It stays, and checkpoints go on with its free space.
            self.db().catalog.keep_unit(lob.unit().id());
        }
        update_pfs(old)?;
        let base = self.describe_rowset(&bare, old, base)?;
        let mut freed = Freed::default();
        let kept = old.off_row.lob.as_ref().map(|lob| lob.unit().id());
        for unit in old.units().filter(|unit| Some(unit.id()) != kept) {
            freed.extend(self.db().space.free_unit(self.tx()?, unit)?);
        }
        let trees = old.indexes.iter().map(|index| index.tree().unit());
        for unit in std::iter::once(old.base.unit()).chain(trees) {
            self.delete_unit_rows(unit)?;
        }
        let old_id = old.base.clustered().map_or(0, |index| index.id().0);
        for id in old.indexes.iter().map(|index| index.id().0).chain([old_id]) {
            self.delete_index_rows(table, IndexId(id))?;
        }
        let new = self.describe_base(table, old, base, constraint)?;
        self.free_at_commit(freed);
        Ok(self.store(table, new))
    }

    /// Puts the rows that the table had into its new base and the indexes that lead to it.
    fn refill_from(
        &mut self,
        of: TableRef<'_>,
        old: &Storage,
        rows: &[FoundRow],
        fill: Fill,
    ) -> Result<(), Error> {
        let mut adopted = Vec::with_capacity(rows.len());
        for FoundRow { record, .. } in rows {
            let row = old.cells_to_move(record)?;
            self.free_dropped_values(old, &row)?;
            adopted.push(of.storage.adopt(old, row)?);
        }
        self.refill(of, adopted, fill)
    }

    /// The rowset of another base, with its units: that of LOB values moves to it.
    fn describe_rowset(
        &mut self,
        bare: &TableDefinition,
        old: &Storage,
        base: IndexDefinition,
    ) -> Result<IndexDefinition, Error> {
        let index = self.index_with_rowset(base, old.base.unit().group())?;
        let layout = bare.layout(&index);
        let mut index = self.with_off_row_units(index, &layout.row, layout.max_leaf)?;
        if old.off_row.lob.is_some() {
            index.units.retain(|unit| unit.kind != AllocUnitKind::Lob);
        }
        let index = with_nullable_key(bare, index);
        self.insert_rowset_rows(bare, &index)?;
        if let Some(lob) = &old.off_row.lob {
            self.move_unit(lob.unit(), index.rowset)?;
        }
        Ok(index)
    }

    /// The rows of the catalog for another base and the indexes that lead to it, all of them
    /// empty.
    fn describe_base(
        &mut self,
        table: &Table,
        old: &Storage,
        base: IndexDefinition,
        constraint: Option<Child>,
    ) -> Result<Storage, Error> {
        let index = base;
        let bare = TableDefinition {
            indexes: Vec::new(),
            ..definition_of(table.id(), table.name(), old)
        };
        let definition = TableDefinition { indexes: vec![index.clone()], ..bare };
        self.insert_index_names(&definition, &index, constraint)?;
        self.store_text_in_row(table.id(), index.id, old.off_row_options)?;
        self.tx()?.keep_reserves();
        let (columns, shape, base) = self.open_base(&definition, &old.columns)?;
        let mut off_row = self.open_off_row(&index);
        if let Some(lob) = &old.off_row.lob {
            off_row.lob = Some(lob.clone());
        }
        let mut new = Storage {
            columns,
            shape,
            base,
            off_row,
            indexes: Vec::new(),
            ..old.clone()
        };
        let of_base = definition_of(table.id(), table.name(), &new);
        for index in &old.indexes {
            let index = self.describe_entries(&of_base, &new, index)?;
            new.indexes.push(Arc::new(index));
        }
        Ok(new)
    }

    /// An empty nonclustered index that leads to another base than the one that exists.
    fn describe_entries(
        &mut self,
        of_base: &TableDefinition,
        new: &Storage,
        index: &Index,
    ) -> Result<Index, Error> {
        let group = index.tree().unit().group();
        let definition = self.index_with_rowset(index.definition().clone(), group)?;
        let definition = with_nullable_key(of_base, definition);
        let layout = of_base.layout(&definition);
        self.insert_index_rows(of_base, &definition, None)?;
        let unit = self.new_unit(&definition);
        Index::new(definition, &layout, new, self.db().space.clone(), unit)
    }

    /// Puts rows into an empty table whose indexes are empty, too.
    fn refill(
        &mut self,
        of: TableRef<'_>,
        cells: Vec<Vec<Cell<'static>>>,
        fill: Fill,
    ) -> Result<(), Error> {
        match &of.storage.base {
            Base::Clustered(index) => {
                let rows = self.placed_rows(of.storage, index, cells)?;
                self.build_clustered(of, index, rows, fill)?;
            }
            Base::Heap(_) => {
                let bare = Storage { indexes: Vec::new(), ..of.storage.clone() };
                for mut row in cells {
                    self.insert_row(TableRef { storage: &bare, ..of }, &mut row)?;
                }
            }
        }
        of.storage.indexes.iter().try_for_each(|index| self.fill(of, index, index.fill()))
    }

    /// Rows as their records are to have them, but for uniquifiers.
    fn placed_rows(
        &mut self,
        storage: &Storage,
        index: &Index,
        mut rows: Vec<Vec<Cell<'static>>>,
    ) -> Result<Vec<Vec<Cell<'static>>>, Error> {
        if storage.off_row.is_empty() {
            return Ok(rows);
        }
        for row in &mut rows {
            let uniquifier = index.uniquifier();
            // As long as one can be.
            let kept = uniquifier.map(|at| std::mem::replace(&mut row[at], int(0)));
            let placed = self.place(Placing::of(storage), storage.stored(row), None)?;
            let mut placed: Vec<Cell<'static>> = placed.into_iter().map(owned).collect();
            if let (Some(at), Some(kept)) = (uniquifier, kept) {
                placed[at] = kept;
            }
            *row = placed;
        }
        Ok(rows)
    }

    /// Puts rows into an empty clustered index: in the order of their keys. Those with one key are
    /// uniquifiers as they were, or, when they were in a heap, from 0 on.
    fn build_clustered(
        &mut self,
        of: TableRef<'_>,
        index: &Index,
        rows: Vec<Vec<Cell<'static>>>,
        fill: Fill,
    ) -> Result<(), Error> {
        let is_told =
            |at: usize| rows.iter().all(|row| row.get(at).is_some_and(|cell| *cell != Cell::Null));
        if index.uniquifier().is_none_or(is_told) {
            return self.build_unique(of, index, &rows, fill);
        }
        let mut keyed = Vec::with_capacity(rows.len());
        for row in rows {
            self.verify_new_key(of.table, index, of.storage.stored(&row))?;
            keyed.push((of.storage.shape.key_of_cells(of.storage.stored(&row))?, row));
        }
        keyed.sort_by(|a, b| a.0.cmp(&b.0));
        let mut before: Option<Vec<u8>> = None;
        let mut same: i32 = 0;
        let rows = keyed.into_iter().map(|(key, mut row)| {
            same = if before.as_ref() == Some(&key) { same + 1 } else { 0 };
            before = Some(key);
            match index.uniquifier() {
                Some(at) if same > 0 => row[at] = int(same),
                Some(at) => row[at] = Cell::Bytes(Cow::Borrowed(&[])),
                None => {}
            }
            row.truncate(of.storage.shape.layout().columns.len());
            Ok::<_, Error>(row)
        });
        index.tree().build(self.tx()?, fill, rows)?;
        Ok(())
    }

    /// The same with keys that need no uniquifier.
    fn build_unique(
        &mut self,
        of: TableRef<'_>,
        index: &Index,
        rows: &[Vec<Cell<'static>>],
        fill: Fill,
    ) -> Result<(), Error> {
        let mut sorter = self.sorter(index.tree().shape());
        for row in rows {
            self.verify_new_key(of.table, index, of.storage.stored(row))?;
            sorter.add(of.storage.stored(row))?;
        }
        let sorted = sorter.sort()?;
        if let Some(row) = sorted.duplicate()? {
            return Err(duplicate(of.table, of.storage, index, &of.storage.cells(&row)?));
        }
        index.tree().build_sorted(self.tx()?, fill, &sorted)?;
        Ok(())
    }
}
