//! What rows must obey: CHECK constraints, and foreign keys in both directions.
//!
//! ```text
//! row comes or changes   every CHECK of the table, before it is put there: false is refused, NULL passes
//!                        every foreign key of the table, after that: without a NULL in it, the row it names must be there
//! row goes or changes    every foreign key that leads to the table, after that: no row may be left that names it
//! ```
//!
//! Foreign keys are looked at when the row has come or gone, under READ COMMITTED at least: of two who do the one and the other at
//! the same time, each waits for the other's row, and none passes. A CHECK that cannot be evaluated with certainty makes its table
//! read only; one that leaves a row open refuses the row.
//!
//! Source of the bit for disabled constraints: public texts of system views. What happens to rows that name a row which goes
//! (CASCADE …) is kept in bits that are not known here: nothing happens to them, the statement is refused.

use std::ops::ControlFlow;

use extentdb_base::sync::Arc;
use extentdb_base::{IndexId, ObjectId};
use extentdb_catalog::layout::Cell;
use extentdb_catalog::model::{self, AllocUnitKind, Catalog};
use extentdb_catalog::table::DEFAULT_COLLATION;
use extentdb_expr::{Batch, Environment, Predicate};
use extentdb_rowset::btree::KeyRange;
use extentdb_txn::lock::LockMode;
use extentdb_types::Collation;

use crate::column::TableColumn;
use crate::error::Error;
use crate::index::Index;
use crate::isolation::Isolation;
use crate::read::Reading;
use crate::session::Session;
use crate::storage::Storage;
use crate::table::Table;

/// `sysschobjs.status` of a constraint that is switched off.
const DISABLED: u32 = 0x100;

/// A CHECK constraint.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) id: ObjectId,
    pub(crate) name: String,
    predicate: Predicate,
    /// For each input of the predicate the column, by id.
    inputs: Vec<i32>,
}

impl Check {
    /// Compiles a condition over the columns of a table.
    ///
    /// # Errors
    /// Why it cannot be evaluated.
    pub(crate) fn compile(
        (id, name): (ObjectId, String),
        text: &str,
        columns: &[TableColumn],
    ) -> Result<Check, String> {
        let of_table = columns.iter().find_map(|column| column.ty.collation());
        let environment = Environment {
            columns: columns.iter().map(|column| (column.name.clone(), column.ty)).collect(),
            database_collation: of_table.unwrap_or(Collation(DEFAULT_COLLATION)),
        };
        let predicate = Predicate::compile(text, &environment).map_err(|error| error.to_string())?;
        let inputs = predicate.inputs().iter().filter_map(|at| Some(columns.get(*at)?.id)).collect();
        Ok(Check { id, name, predicate, inputs })
    }

    /// Ids of the columns that it is about.
    pub(crate) fn columns(&self) -> &[i32] {
        &self.inputs
    }

    /// Refuses a row that it is false for.
    pub(crate) fn verify(&self, table: &Table, storage: &Storage, row: &[Cell<'_>]) -> Result<(), Error> {
        let mut batch = Batch::new();
        batch.reset(&self.predicate);
        for (input, id) in self.inputs.iter().enumerate() {
            let at = storage.columns.iter().find(|column| column.id == *id).map(|column| column.at);
            match at.and_then(|at| row.get(at)) {
                Some(Cell::Bytes(bytes)) => batch.push(input, Some(bytes)),
                Some(Cell::Bit(bit)) => batch.push(input, Some(&[u8::from(*bit)])),
                _ => batch.push(input, None),
            }
        }
        batch.end_row();
        self.predicate.run(&mut batch);
        match batch.truth(0) {
            Ok(Some(false)) => Err(self.refused(table)),
            Ok(_) => Ok(()),
            Err(error) if error.is_undecided() => Err(Error::NotSupported {
                what: format!("this row under check constraint {}: {error}", self.name),
            }),
            Err(error) => Err(Error::Value { column: self.name.clone(), what: error.to_string() }),
        }
    }

    fn refused(&self, table: &Table) -> Error {
        Error::Constraint { table: table.name().to_owned(), name: self.name.clone(), kind: "CHECK" }
    }
}

/// A foreign key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ForeignKey {
    pub(crate) id: ObjectId,
    pub(crate) name: String,
    /// The table whose rows name others.
    pub(crate) child: ObjectId,
    /// The table of the rows that are named.
    pub(crate) parent: ObjectId,
    /// The unique index they are found by.
    pub(crate) index: IndexId,
    /// Columns that name, and the columns they name, by id.
    pub(crate) columns: Vec<(i32, i32)>,
    /// One that is switched off keeps its parent, and is not looked at.
    pub(crate) is_enabled: bool,
}

impl ForeignKey {
    fn of(key: &model::ForeignKey) -> ForeignKey {
        ForeignKey {
            id: key.object.id,
            name: key.object.name.clone(),
            child: key.object.parent,
            parent: key.referenced,
            index: key.referenced_index,
            columns: key.columns.clone(),
            is_enabled: key.object.status & DISABLED == 0,
        }
    }

    /// The cells of a row of the child in the order of the key of the parent's index; `None` when one of them is NULL.
    fn named<'c>(
        &self,
        child: &Storage,
        index: &Index,
        parent: &Storage,
        row: &[Cell<'c>],
    ) -> Option<Vec<Cell<'c>>> {
        let of = |id: i32| {
            let from = self.columns.iter().find(|(_, to)| *to == id)?.0;
            let at = child.columns.iter().find(|column| column.id == from)?.at;
            row.get(at).filter(|cell| !matches!(cell, Cell::Null | Cell::Missing)).cloned()
        };
        index.declared(&parent.columns).map(|column| of(column.id)).collect()
    }

    /// An index of the child that leads to the rows that name these values, and the beginning of its keys.
    fn through_index<'s>(&self, child: &'s Storage, named: &[Cell<'_>]) -> Result<Option<Way<'s>>, Error> {
        let count = self.columns.len();
        for index in child.all_indexes() {
            let first: Vec<&TableColumn> = index.declared(&child.columns).take(count).collect();
            let cell = |column: &&TableColumn| {
                let at = self.columns.iter().position(|(from, _)| *from == column.id)?;
                named.get(at).cloned()
            };
            let cells: Option<Vec<Cell<'_>>> = first.iter().map(cell).collect();
            if let Some(cells) = cells.filter(|cells| cells.len() == count) {
                return Ok(Some(Way { index, prefix: index.tree().shape().prefix(&cells)? }));
            }
        }
        Ok(None)
    }

    /// Is a row of the parent still found by what it was named by? Letters of another case may be the same to its index.
    fn stays(
        &self,
        parent: &Storage,
        before: &[Cell<'_>],
        after: Option<&[Cell<'_>]>,
    ) -> Result<bool, Error> {
        let Some(after) = after else { return Ok(false) };
        let index = parent.all_indexes().find(|index| index.id() == self.index);
        let index = index.ok_or_else(|| self.not_there())?;
        let declared: Vec<i32> = index.declared(&parent.columns).map(|column| column.id).collect();
        let key = |row: &[Cell<'_>]| index.tree().shape().prefix(&parent.cells_by_id(&declared, row));
        Ok(key(before)? == key(after)?)
    }

    fn refused(&self, table: &Table) -> Error {
        Error::Constraint { table: table.name().to_owned(), name: self.name.clone(), kind: "FOREIGN KEY" }
    }

    fn not_there(&self) -> Error {
        Error::catalogue(format!("foreign key {} leads to no unique index", self.name))
    }
}

/// An index that leads to rows, and what their keys in it begin with.
struct Way<'s> {
    index: &'s Index,
    prefix: Vec<u8>,
}

/// The constraints of a table, and the foreign keys that lead to it. The second is why the table is only read here.
pub(crate) fn constraints_of(
    table: &model::Table,
    columns: &[TableColumn],
    catalog: &Catalog,
) -> (Constraints, Option<String>) {
    let (mut found, mut read_only) = (Constraints::default(), not_written(table, columns, catalog));
    let is_on = |object: &&model::Object| object.status & DISABLED == 0;
    for check in &catalog.checks {
        if check.object.parent != table.id || !is_on(&&check.object) {
            continue;
        }
        let text = check.definition.as_deref().ok_or_else(|| "its text cannot be read".to_owned());
        let name = (check.object.id, check.object.name.clone());
        match text.and_then(|text| Check::compile(name, text, columns)) {
            Ok(check) => found.checks.push(Arc::new(check)),
            Err(why) => read_only = Some(format!("check constraint {}: {why}", check.object.name)),
        }
    }
    for key in &catalog.foreign_keys {
        let own = Arc::new(ForeignKey::of(key));
        if own.child == table.id {
            found.leading_out.push(own.clone());
        }
        if own.parent == table.id {
            found.leading_in.push(own);
        }
    }
    (found, read_only)
}

/// What rows of a table have that is not written here.
fn not_written(table: &model::Table, columns: &[TableColumn], catalog: &Catalog) -> Option<String> {
    let off_row = columns.iter().find(|column| column.ty.is_max() || column.ty.is_lob());
    let is_trigger = |object: &&model::Object| object.kind.code() == "TR" && object.parent == table.id;
    let trigger = catalog.modules.iter().map(|module| &module.object).find(is_trigger);
    let overflow = catalog
        .rowsets_of(table.base()?)
        .any(|rowset| rowset.unit(AllocUnitKind::RowOverflow).is_some_and(|unit| unit.pages_used > 0));
    match (off_row, trigger) {
        (Some(column), _) => Some(format!("column {} with values off the row", column.name)),
        (None, Some(trigger)) => Some(format!("trigger {}", trigger.name)),
        (None, None) => overflow.then(|| "rows that are continued on other pages".to_owned()),
    }
}

/// A constraint without an index.
pub(crate) enum Rule {
    Check(Arc<Check>),
    ForeignKey(Arc<ForeignKey>),
}

/// The constraints of a table.
#[derive(Clone, Default, Debug)]
pub(crate) struct Constraints {
    pub(crate) checks: Vec<Arc<Check>>,
    /// Its foreign keys.
    pub(crate) leading_out: Vec<Arc<ForeignKey>>,
    /// Those of other tables, and of itself, that name its rows.
    pub(crate) leading_in: Vec<Arc<ForeignKey>>,
}

impl Constraints {
    /// A check or foreign key by its name.
    pub(crate) fn rule(&self, name: &str) -> Option<Rule> {
        let check = self.checks.iter().find(|check| check.name.eq_ignore_ascii_case(name));
        let key = self.leading_out.iter().find(|key| key.name.eq_ignore_ascii_case(name));
        check.cloned().map(Rule::Check).or_else(|| key.cloned().map(Rule::ForeignKey))
    }

    /// Refuses to take all rows away from a table that other tables name rows of.
    pub(crate) fn verify_unnamed(&self, table: &Table, what: &str) -> Result<(), Error> {
        match self.leading_in.iter().find(|key| key.child != table.id()) {
            None => Ok(()),
            Some(key) => Err(Error::NotSupported {
                what: format!("{what} table {}, which foreign key {} leads to", table.name(), key.name),
            }),
        }
    }

    /// Does anything depend on what a row was before?
    pub(crate) fn look_back(&self) -> bool {
        !self.leading_in.is_empty() || !self.leading_out.is_empty()
    }

    pub(crate) fn verify_checks(
        &self,
        table: &Table,
        storage: &Storage,
        row: &[Cell<'_>],
    ) -> Result<(), Error> {
        self.checks.iter().try_for_each(|check| check.verify(table, storage, row))
    }
}

impl Session<'_> {
    /// A row has come, or changed from `before`: the rows that it names are there.
    pub(crate) fn verify_named(
        &mut self,
        (table, storage): (&Table, &Storage),
        before: Option<&[Cell<'_>]>,
        row: &[Cell<'_>],
    ) -> Result<(), Error> {
        for key in storage.constraints.leading_out.iter().filter(|key| key.is_enabled) {
            self.verify_names(key, (table, storage), before, row)?;
        }
        Ok(())
    }

    /// The row that one foreign key of a row names is there.
    pub(crate) fn verify_names(
        &mut self,
        key: &ForeignKey,
        (table, storage): (&Table, &Storage),
        before: Option<&[Cell<'_>]>,
        row: &[Cell<'_>],
    ) -> Result<(), Error> {
        let parent = self.db.catalogue.table_by_id(key.parent).ok_or_else(|| key.not_there())?;
        // Only from here on it is certain what it is.
        self.lock_table(&parent, LockMode::Is)?;
        let of_parent = parent.storage();
        let index = of_parent.all_indexes().find(|index| index.id() == key.index && index.is_unique());
        let index = index.ok_or_else(|| key.not_there())?;
        let Some(named) = key.named(storage, index, &of_parent, row) else { return Ok(()) };
        if before.and_then(|before| key.named(storage, index, &of_parent, before)).as_ref() == Some(&named) {
            return Ok(());
        }
        let range = KeyRange::of(&index.tree().shape().prefix(&named)?);
        if self.has_row((&parent, &of_parent), index, range)? { Ok(()) } else { Err(key.refused(table)) }
    }

    /// A row has gone, or changed to `after`: no row is left that names it.
    pub(crate) fn verify_not_named(
        &mut self,
        (table, storage): (&Table, &Storage),
        before: &[Cell<'_>],
        after: Option<&[Cell<'_>]>,
    ) -> Result<(), Error> {
        for key in storage.constraints.leading_in.iter().filter(|key| key.is_enabled) {
            let named: Vec<i32> = key.columns.iter().map(|(_, to)| *to).collect();
            let gone = storage.cells_by_id(&named, before);
            let is_null = |cell: &Cell<'_>| matches!(cell, Cell::Null | Cell::Missing);
            if gone.iter().any(is_null) || key.stays(storage, before, after)? {
                continue;
            }
            if self.is_named(key, (table, storage), &gone)? {
                return Err(key.refused(table));
            }
        }
        Ok(())
    }

    /// Is there a row of the child that names these values?
    fn is_named(
        &mut self,
        key: &ForeignKey,
        (table, storage): (&Table, &Storage),
        gone: &[Cell<'_>],
    ) -> Result<bool, Error> {
        let child = self.db.catalogue.table_by_id(key.child).ok_or_else(|| key.not_there())?;
        self.lock_table(&child, LockMode::Is)?;
        let of_child = if child.id() == table.id() { Arc::new(storage.clone()) } else { child.storage() };
        // Rows of a clustered table may move past the one who looks, rows of a heap stay where they are.
        let own = self.isolation;
        if of_child.base.clustered().is_some() {
            self.isolation = Isolation::Serializable;
        }
        let found = self.finds_name(key, (table, storage), (&child, &of_child), gone);
        self.isolation = own;
        found
    }

    fn finds_name(
        &mut self,
        key: &ForeignKey,
        (table, storage): (&Table, &Storage),
        (child, of_child): (&Table, &Storage),
        gone: &[Cell<'_>],
    ) -> Result<bool, Error> {
        debug_assert_eq!(key.parent, table.id());
        if let Some(Way { index, prefix }) = key.through_index(of_child, gone)? {
            return self.has_row((child, of_child), index, KeyRange::of(&prefix));
        }
        // Without an index over its columns every row must be looked at.
        let parent = storage.all_indexes().find(|index| index.id() == key.index);
        let parent = parent.ok_or_else(|| key.not_there())?;
        let sort_key = |cells: Option<Vec<Cell<'_>>>| -> Result<Option<Vec<u8>>, Error> {
            Ok(cells.map(|cells| parent.tree().shape().prefix(&cells)).transpose()?)
        };
        let named: Vec<(i32, &Cell<'_>)> = key.columns.iter().map(|(_, to)| *to).zip(gone).collect();
        let of_gone = parent
            .declared(&storage.columns)
            .map(|column| named.iter().find(|(to, _)| *to == column.id).map(|(_, cell)| (*cell).clone()));
        let gone = sort_key(of_gone.collect())?;
        let mut is_named = false;
        let each = &mut |_, row: &[Cell<'_>]| {
            let named = key.named(of_child, parent, storage, row);
            is_named = sort_key(named)?.is_some_and(|own| Some(own) == gone);
            Ok(if is_named { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        let reading = Reading { table: child, storage: of_child, for_update: false };
        self.at_least_committed(|session| session.scan_rows(reading, each))?;
        Ok(is_named)
    }

    /// Is there a row in a range of an index?
    fn has_row(
        &mut self,
        (table, storage): (&Table, &Storage),
        index: &Index,
        range: KeyRange,
    ) -> Result<bool, Error> {
        self.lock_table(table, LockMode::Is)?;
        index.verify_order(&storage.columns)?;
        let mut is_there = false;
        let reading = Reading { table, storage, for_update: false };
        self.at_least_committed(|session| {
            session.read_keys(reading, index, range, false, &mut |_, _| {
                is_there = true;
                Ok(ControlFlow::Break(()))
            })
        })?;
        Ok(is_there)
    }

    /// Reads that must not see what may go again.
    fn at_least_committed<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let own = self.isolation;
        if own == Isolation::ReadUncommitted {
            self.isolation = Isolation::ReadCommitted;
        }
        let done = read(self);
        self.isolation = own;
        done
    }
}
