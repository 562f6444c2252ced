//! Disables nonclustered indexes and enables them again.
//!
//! ```text
//! disabled   the catalog keeps the definition, marked; the rowset and its pages are dropped. The
//!            index is not maintained, a unique one is not enforced, and a check reports it (2546)
//! enabled    by a rebuild: a new rowset, with entries for all rows
//! ```
//!
//! The mark is from public texts of `sys.indexes`; that the rowset is dropped with the data is
//! inferred from indexes without one.

use extentdb_base::HobtId;
use extentdb_base::sync::{Arc, lock};
use extentdb_catalog::table::IndexDefinition;
use extentdb_catalog::table::definition::index_status;

use crate::catalog::storage::definition_of;
use crate::catalog::system_table::{bigint, int};
use crate::catalog::{Constraint, Index, Storage, Table};
use crate::ddl::index::verify_unreferenced;
use crate::ddl::table::with_nullable_key;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

/// Columns of `sysidxstats`.
const STATUS: usize = 3;
const ROWSET: usize = 10;

impl Session {
    /// Disables a nonclustered index: its entries are freed, its description stays.
    /// [`Session::rebuild_index`] enables it again.
    ///
    /// # Errors
    /// The table has no such index, a foreign key leads to it, or it is the clustered one:
    /// [`Error::NotSupported`].
    pub fn disable_index(&mut self, table: &Arc<Table>, name: &str) -> Result<(), Error> {
        self.statement("ALTER INDEX", |context| {
            let old = context.lock_for_ddl(table)?;
            let _ddl = lock(&context.db().ddl);
            if old.disabled(name).is_some() {
                return Ok(());
            }
            let index = old.index(name).ok_or_else(|| table.no_index(name))?.clone();
            if old.is_base(&index) {
                return Err(Unsupported::DisableClustered { index: name.to_owned() }.into());
            }
            verify_unreferenced(&old, "disable", name, index.id())?;
            let status =
                (index.definition().status | index_status::DISABLED) & !index_status::HAS_ROWSET;
            let definition = IndexDefinition { status, ..index.definition().clone() };
            context.begin_drop_index(table, &old, &index);
            context.delete_unit_rows(index.tree().unit())?;
            context.mark_index(table, &definition, HobtId(0))?;
            let freed = context.db().space.free_unit(context.tx()?, index.tree().unit())?;
            context.free_at_commit(freed);
            let mut new = Storage::clone(&old);
            new.indexes.retain(|other| other.id() != index.id());
            new.disabled.push(Arc::new(definition));
            context.store(table, new);
            Ok(())
        })
    }
}

impl StatementContext<'_> {
    /// Builds an index again that was disabled, in a table that is locked for it.
    pub(crate) fn enable_index(
        &mut self,
        table: &Arc<Table>,
        old: &Storage,
        disabled: &IndexDefinition,
    ) -> Result<(), Error> {
        let ddl = lock(&self.db().ddl);
        let status = (disabled.status | index_status::HAS_ROWSET) & !index_status::DISABLED;
        let definition = IndexDefinition { status, ..disabled.clone() };
        let group = i16::try_from(definition.data_space).unwrap_or(old.base.unit().group());
        let of_table = definition_of(table.id(), table.name(), old);
        let index = with_nullable_key(&of_table, self.index_with_rowset(definition, group)?);
        let layout = of_table.layout(&index);
        self.insert_rowset_rows(&of_table, &index)?;
        self.mark_index(table, &index, index.rowset)?;
        self.tx()?.keep_reserves();
        let unit = self.new_unit(&index);
        let fill = index.fill_factor;
        let space = self.db().space.clone();
        let index = Arc::new(Index::new(index, &layout, old, space, unit)?);
        let mut new = old.clone();
        new.disabled.retain(|other| other.id != index.id());
        new.indexes.push(index.clone());
        new.indexes.sort_by_key(|index| index.id());
        let storage = self.store(table, new);
        drop(ddl);
        let fill = extentdb_rowset::btree::Fill { percent: fill, pads: false };
        self.fill(table.with(&storage), &index, fill)
    }

    /// Drops an index that is disabled, in a table that is locked for it.
    pub(crate) fn drop_disabled(
        &mut self,
        table: &Arc<Table>,
        old: &Storage,
        disabled: &IndexDefinition,
    ) -> Result<(), Error> {
        if Constraint::of_status(disabled.status) != Constraint::None {
            self.delete_constraint(table, disabled.name.as_deref().unwrap_or_default())?;
        }
        self.delete_index_rows(table, disabled.id)?;
        let mut new = old.clone();
        new.disabled.retain(|other| other.id != disabled.id);
        self.store(table, new);
        Ok(())
    }

    fn mark_index(
        &mut self,
        table: &Table,
        index: &IndexDefinition,
        rowset: HobtId,
    ) -> Result<(), Error> {
        let changes = [(STATUS, int(index.status as i32)), (ROWSET, bigint(rowset.0))];
        self.change_system_row("sysidxstats", &[int(table.id().0), int(index.id.0)], &changes)
    }
}
