//! Foreign keys: rows of a child table reference rows of a parent table by a unique index.
//!
//! ```text
//! child: INSERT, UPDATE    the referenced row must exist
//! parent: DELETE, UPDATE   NO ACTION     no row references the old key at the end of the statement
//!                          CASCADE       referencing rows are deleted, or get the new key
//!                          SET NULL      their columns become NULL
//!                          SET DEFAULT   their columns get their defaults, which must exist
//! ```
//!
//! Cascades run first; checks of NO ACTION are deferred to the end of the statement, and in a
//! statement of several rows those of references, too
//! ([`reference_checks`](super::reference_checks)). All read row by row under READ COMMITTED or
//! higher, after the change: of two transactions that insert a child
//! and delete its parent at the same time, each waits for the row of the other, and one is refused
//! or becomes a deadlock victim. Cascaded rows are locked and changed like any other, with the
//! foreign keys that reference them in turn. Cycles and multiple cascade paths are refused when a
//! foreign key is added.

use std::ops::ControlFlow;

use extentdb_base::sync::Arc;
use extentdb_catalog::layout::Cell;
use extentdb_catalog::model::ReferentialAction;
use extentdb_rowset::btree::KeyRange;
use extentdb_txn::lock::LockMode;

use crate::catalog::system_table::{is_null, owned};
use crate::catalog::{Address, ForeignKey, Index, Storage, Table, TableColumn, TableRef};
use crate::dml::placing::OldRow;
use crate::dml::read::{EachRow, Reading};
use crate::dml::row_ref::RowRef;
use crate::error::Error;
use crate::scan::hints::ReadHints;
use crate::session::reference_checks::GoneKey;
use crate::session::{Isolation, StatementContext};

impl ForeignKey {
    /// The cells of a row of the child in the order of the key of the parent's index; `None` when
    /// one of them is NULL.
    fn referenced_values<'c>(
        &self,
        child: &Storage,
        index: &Index,
        parent: &Storage,
        row: &[Cell<'c>],
    ) -> Option<Vec<Cell<'c>>> {
        let of = |id: i32| {
            let from = self.columns.iter().find(|(_, to)| *to == id)?.0;
            let at = child.columns.iter().find(|column| column.id == from)?.at;
            row.get(at).filter(|cell| !is_null(cell)).cloned()
        };
        index.declared(&parent.columns).map(|column| of(column.id)).collect()
    }

    /// Values of the referenced columns, in the order of the foreign key, in that of the parent's
    /// index.
    fn referenced_key<'c>(
        &self,
        index: &Index,
        parent: &Storage,
        values: &[Cell<'c>],
    ) -> Result<Vec<Cell<'c>>, Error> {
        let of = |id: i32| {
            let at = self.columns.iter().position(|(_, to)| *to == id)?;
            values.get(at).cloned()
        };
        let key: Option<Vec<Cell<'c>>> =
            index.declared(&parent.columns).map(|column| of(column.id)).collect();
        key.ok_or_else(|| self.missing_index())
    }

    /// An index of the child whose key begins with the referencing columns, and the range of
    /// these values.
    fn through_index<'s>(
        &self,
        child: &'s Storage,
        named: &[Cell<'_>],
    ) -> Result<Option<IndexRange<'s>>, Error> {
        let count = self.columns.len();
        // A filtered index has not all of them.
        for index in child.all_indexes().filter(|index| index.filter().is_none()) {
            let first: Vec<&TableColumn> = index.declared(&child.columns).take(count).collect();
            let cell = |column: &&TableColumn| {
                let at = self.columns.iter().position(|(from, _)| *from == column.id)?;
                named.get(at).cloned()
            };
            let cells: Option<Vec<Cell<'_>>> = first.iter().map(cell).collect();
            if let Some(cells) = cells.filter(|cells| cells.len() == count) {
                return Ok(Some(IndexRange { index, keys: index.keys_of(&cells)? }));
            }
        }
        Ok(None)
    }

    /// Does the referenced key of a parent row stay equal? Letters of another case may be equal
    /// under its collation.
    fn stays(
        &self,
        parent: &Storage,
        before: &[Cell<'_>],
        after: Option<&[Cell<'_>]>,
    ) -> Result<bool, Error> {
        let Some(after) = after else { return Ok(false) };
        let index = self.index_of(parent)?;
        let declared: Vec<i32> = index.declared(&parent.columns).map(|column| column.id).collect();
        let [before, after] = [before, after].map(|row| parent.cells_by_id(&declared, row));
        index.is_same(&before, &after)
    }

    /// The unique index of the parent.
    pub(crate) fn index_of<'s>(&self, parent: &'s Storage) -> Result<&'s Arc<Index>, Error> {
        let is_it = |index: &&Arc<Index>| index.id() == self.index && index.is_unique();
        parent.all_indexes().find(is_it).ok_or_else(|| self.missing_index())
    }

    pub(crate) fn refused(&self, table: &Table) -> Error {
        Error::Constraint {
            table: table.name().to_owned(),
            name: self.name.clone(),
            kind: "FOREIGN KEY",
        }
    }

    pub(crate) fn missing_index(&self) -> Error {
        Error::catalog(format!("foreign key {} references no unique index", self.name))
    }
}

/// A referenced row: before its change or deletion, and after the change.
#[derive(Clone, Copy)]
struct Referenced<'r> {
    before: &'r [Cell<'r>],
    after: Option<&'r [Cell<'r>]>,
}

/// New values of referencing columns: those of the parent row, or what the action says.
#[derive(Clone, Copy)]
struct ReferenceChange<'r> {
    parent: &'r Storage,
    after: Option<&'r [Cell<'r>]>,
    action: ReferentialAction,
}

/// An index and the prefix of its keys that rows have.
struct IndexRange<'s> {
    index: &'s Index,
    keys: KeyRange,
}

impl StatementContext<'_> {
    /// Verifies that the rows exist that a row, inserted or changed from `before`, references.
    pub(crate) fn verify_references(
        &mut self,
        of: TableRef<'_>,
        before: Option<&[Cell<'_>]>,
        row: &[Cell<'_>],
    ) -> Result<(), Error> {
        for key in of.storage.constraints.foreign_keys.iter().filter(|key| key.is_enabled) {
            self.verify_reference(key, of, before, row)?;
        }
        Ok(())
    }

    /// Verifies that the row exists which one foreign key of a row references.
    pub(crate) fn verify_reference(
        &mut self,
        key: &Arc<ForeignKey>,
        of: TableRef<'_>,
        before: Option<&[Cell<'_>]>,
        row: &[Cell<'_>],
    ) -> Result<(), Error> {
        let parent =
            self.db().catalog.table_by_id(key.parent).ok_or_else(|| key.missing_index())?;
        // Only from here on it is certain what it is.
        self.lock_table(&parent, LockMode::Is)?;
        let of_parent = parent.storage();
        let index = key.index_of(&of_parent)?;
        let Some(named) = key.referenced_values(of.storage, index, &of_parent, row) else {
            return Ok(());
        };
        if before
            .and_then(|before| key.referenced_values(of.storage, index, &of_parent, before))
            .as_ref()
            == Some(&named)
        {
            return Ok(());
        }
        let keys = index.keys_of(&named)?;
        if let Some(checks) = self.open_checks() {
            checks.add_referenced(key, keys);
            return Ok(());
        }
        if self.has_row(parent.with(&of_parent), index, keys)? {
            Ok(())
        } else {
            Err(key.refused(of.table))
        }
    }

    /// Verifies that no row references one that was deleted or changed to `after`; cascades first.
    pub(crate) fn verify_unreferenced_row(
        &mut self,
        of: TableRef<'_>,
        before: &[Cell<'_>],
        after: Option<&[Cell<'_>]>,
    ) -> Result<(), Error> {
        self.with_checks_at_end(|context| context.cascade_all(of, before, after))
    }

    /// Runs the cascades of a deleted or changed row, and defers the checks of NO ACTION.
    fn cascade_all(
        &mut self,
        of: TableRef<'_>,
        before: &[Cell<'_>],
        after: Option<&[Cell<'_>]>,
    ) -> Result<(), Error> {
        for key in of.storage.constraints.referencing_keys.iter().filter(|key| key.is_enabled) {
            let named: Vec<i32> = key.columns.iter().map(|(_, to)| *to).collect();
            let gone = of.storage.cells_by_id(&named, before);
            if gone.iter().any(is_null) || key.stays(of.storage, before, after)? {
                continue;
            }
            let actions = key.actions;
            let action = if after.is_some() { actions.on_update } else { actions.on_delete };
            match action {
                ReferentialAction::NoAction => {
                    let index = key.index_of(of.storage)?;
                    let keys = index.keys_of(&key.referenced_key(index, of.storage, &gone)?)?;
                    let checks = self.open_checks().ok_or_else(|| key.missing_index())?;
                    checks.add_gone(key, keys, || gone.into_iter().map(owned).collect());
                }
                action => self.cascade(key, of, Referenced { before: &gone, after }, action)?,
            }
        }
        Ok(())
    }

    /// Applies an action to the rows that reference a deleted or changed row.
    fn cascade(
        &mut self,
        key: &Arc<ForeignKey>,
        parent: TableRef<'_>,
        row: Referenced<'_>,
        action: ReferentialAction,
    ) -> Result<(), Error> {
        let child = self.db().catalog.table_by_id(key.child).ok_or_else(|| key.missing_index())?;
        self.lock_table(&child, LockMode::Ix)?;
        let mut found = Vec::new();
        self.each_referencing(key, parent, row.before, ReadHints::for_update(), &mut |row| {
            found.push(row.address()?);
            Ok(ControlFlow::Continue(()))
        })?;
        for at in found {
            let storage = self.lock_row(&child, &at)?;
            let is_cascade = action == ReferentialAction::Cascade;
            match row.after {
                None if is_cascade => self.delete_at(child.with(&storage), &at)?,
                after => {
                    let after = after.filter(|_| is_cascade);
                    let change = ReferenceChange { parent: parent.storage, after, action };
                    self.set_reference(key, child.with(&storage), &at, change)?;
                }
            }
        }
        Ok(())
    }

    /// Updates the referencing columns of a row.
    fn set_reference(
        &mut self,
        key: &Arc<ForeignKey>,
        of: TableRef<'_>,
        at: &Address,
        change: ReferenceChange<'_>,
    ) -> Result<(), Error> {
        let ReferenceChange { parent, after, action } = change;
        let record = of.storage.row_at(at)?.ok_or_else(|| Error::NoRow(at.clone()))?;
        let old = OldRow::of(of.storage, &record)?;
        let mut row: Vec<Cell<'static>> = old.cells.iter().cloned().map(owned).collect();
        for (from, to) in &key.columns {
            let column = of
                .storage
                .columns
                .iter()
                .find(|column| column.id == *from)
                .ok_or_else(|| key.missing_index())?;
            row[column.at] = match after {
                Some(after) => parent.cells_by_id(&[*to], after).pop().map_or(Cell::Null, owned),
                None => self.cleared_value(of, column, action)?,
            };
            column.verify_cell(&row[column.at])?;
        }
        self.stamp(of.storage, &mut row)?;
        of.storage.compute(&mut row)?;
        self.update_at(of, at, old, &mut row)?;
        // Also where the columns keep their values: the referenced row was just deleted.
        self.verify_reference(key, of, None, &row)
    }

    /// The value of a referencing column after SET NULL or SET DEFAULT.
    fn cleared_value(
        &mut self,
        of: TableRef<'_>,
        column: &TableColumn,
        action: ReferentialAction,
    ) -> Result<Cell<'static>, Error> {
        match action {
            ReferentialAction::SetDefault => column.cell(&self.missing(of, column)?),
            _ => Ok(Cell::Null),
        }
    }

    /// Does a row of the child reference one of these keys of the parent? They come with the values
    /// of the referenced columns.
    pub(crate) fn is_any_referenced(
        &mut self,
        key: &ForeignKey,
        parent: TableRef<'_>,
        gone: &[GoneKey],
    ) -> Result<bool, Error> {
        let mut is_referenced = false;
        let found = &mut |_: &RowRef<'_>| {
            is_referenced = true;
            Ok(ControlFlow::Break(()))
        };
        match gone {
            [] => {}
            [(_, values)] => {
                self.each_referencing(key, parent, values, ReadHints::current(), found)?;
            }
            many => self.each_referencing_of(key, parent, many, found)?,
        }
        Ok(is_referenced)
    }

    /// Calls `each` with the rows of the child that reference these values.
    fn each_referencing(
        &mut self,
        key: &ForeignKey,
        of: TableRef<'_>,
        gone: &[Cell<'_>],
        hints: ReadHints,
        each: EachRow<'_>,
    ) -> Result<(), Error> {
        self.in_child(key, of, hints, |context, child| {
            if let Some(IndexRange { index, keys }) = key.through_index(child.storage, gone)? {
                return context.read_committed_range(child, index, keys, each);
            }
            let index = key.index_of(of.storage)?;
            let sought = index.keys_of(&key.referenced_key(index, of.storage, gone)?)?;
            context.scan_referencing(key, of, child, &|keys| *keys == sought, each)
        })
    }

    /// The same for many keys of the parent, which are sorted. `each` stops at its first row.
    fn each_referencing_of(
        &mut self,
        key: &ForeignKey,
        of: TableRef<'_>,
        gone: &[GoneKey],
        each: EachRow<'_>,
    ) -> Result<(), Error> {
        self.in_child(key, of, ReadHints::current(), |context, child| {
            for (_, values) in gone {
                let Some(IndexRange { index, keys }) = key.through_index(child.storage, values)?
                else {
                    let is_gone =
                        |keys: &KeyRange| gone.binary_search_by(|(own, _)| own.cmp(keys)).is_ok();
                    return context.scan_referencing(key, of, child, &is_gone, each);
                };
                context.read_committed_range(child, index, keys, each)?;
            }
            Ok(())
        })
    }

    /// Reads the child of a foreign key.
    fn in_child<T>(
        &mut self,
        key: &ForeignKey,
        of: TableRef<'_>,
        hints: ReadHints,
        read: impl FnOnce(&mut Self, Reading<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let child = self.db().catalog.table_by_id(key.child).ok_or_else(|| key.missing_index())?;
        self.lock_table(&child, LockMode::Is)?;
        let of_child = if child.id() == of.table.id() {
            Arc::new(of.storage.clone())
        } else {
            child.storage()
        };
        // A column that is not read must not look like NULL.
        let is_read = |id: i32| of_child.columns.iter().any(|own| own.id == id);
        if !key.columns.iter().all(|(from, _)| is_read(*from)) {
            return Err(key.missing_index());
        }
        // Rows of a clustered table may move past the scan; rows of a heap keep their RIDs.
        let isolation = if of_child.base.clustered().is_some() {
            Isolation::Serializable
        } else {
            self.isolation()
        };
        let reading = Reading { table: &child, storage: &of_child, hints, versions: None };
        self.with_isolation(isolation, |context| read(context, reading))
    }

    /// Looks at every row of a child without an index over the referencing columns.
    fn scan_referencing(
        &mut self,
        key: &ForeignKey,
        parent: TableRef<'_>,
        child: Reading<'_>,
        is_sought: &dyn Fn(&KeyRange) -> bool,
        each: EachRow<'_>,
    ) -> Result<(), Error> {
        debug_assert_eq!(key.parent, parent.table.id());
        let index = key.index_of(parent.storage)?;
        let referencing = &mut |row: &RowRef<'_>| {
            let row_cells = row.cells()?;
            let named = key.referenced_values(child.storage, index, parent.storage, &row_cells);
            match named.map(|named| index.keys_of(&named)).transpose()? {
                Some(keys) if is_sought(&keys) => each(row),
                _ => Ok(ControlFlow::Continue(())),
            }
        };
        self.at_least_committed(|context| context.scan_rows(child, referencing))
    }

    /// Is there a row in a range of an index?
    pub(crate) fn has_row(
        &mut self,
        of: TableRef<'_>,
        index: &Index,
        keys: KeyRange,
    ) -> Result<bool, Error> {
        self.lock_table(of.table, LockMode::Is)?;
        let mut is_there = false;
        let hints = ReadHints::current();
        let reading = Reading { table: of.table, storage: of.storage, hints, versions: None };
        self.read_committed_range(reading, index, keys, &mut |_| {
            is_there = true;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(is_there)
    }

    fn read_committed_range(
        &mut self,
        of: Reading<'_>,
        index: &Index,
        keys: KeyRange,
        each: EachRow<'_>,
    ) -> Result<(), Error> {
        self.at_least_committed(|context| context.read_range(of, index, keys, false, each))
    }

    /// Reads that must not see what may be rolled back.
    fn at_least_committed<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let isolation = match self.isolation() {
            Isolation::ReadUncommitted | Isolation::Snapshot => Isolation::ReadCommitted,
            isolation => isolation,
        };
        self.with_isolation(isolation, read)
    }
}
