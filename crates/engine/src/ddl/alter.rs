//! ALTER TABLE: adds and drops columns of a table with rows.
//!
//! ```text
//! ADD, NULL       rows stay as they are: they end before the column, which reads as NULL
//! ADD, NOT NULL   every row is rewritten with the default of the column, in the same transaction;
//!                 so for an identity and a PERSISTED computed column. Other computed columns are
//!                 in the catalog only
//! DROP            rows keep the bytes of the column, which nothing reads; new ones have NULL
//!                 there. They are removed when all rows are rewritten: with another clustered
//!                 index, or a
//!                 rebuild
//! ```
//!
//! A new column lies after all others. Its position is inserted into the catalog before its name,
//! and its name is deleted before its position: a restart that is interrupted between the two reads
//! a table as it was. Ids of columns are never used again.

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, lock};
use extentdb_catalog::layout::{Cell, PhysicalColumn, RowLayout};
use extentdb_catalog::table::IndexDefinition;
use extentdb_catalog::table::describe::{
    ChildKind, SystemRows, add_column, add_physical_column, physical_row,
};
use extentdb_types::SqlType;

use crate::catalog::objects::object;
use crate::catalog::storage::heap_shape;
use crate::catalog::system_table::{bigint, byte, cells_of, int, number, smallint, text};
use crate::catalog::{
    Base, ColumnDefault, Condition, Formula, Identity, Index, OffRowUnits, Storage, Table,
    TableColumn, TableRef,
};
use crate::ddl::index::column;
use crate::ddl::spec::{COLUMNS_MAX, ColumnSpec, DefaultSpec, column_definition, verify_formula};
use crate::ddl::table::{positioned_columns, verify_row_bytes};
use crate::dml::placing::OldRow;
use crate::dml::rows::FoundRow;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

/// Columns of `sysrowsets`.
pub(crate) mod rowset {
    pub(crate) const MAX_NULL_BIT: usize = 10;
    pub(crate) const MAX_LEAF: usize = 11;
    pub(crate) const MAX_INTERIOR: usize = 12;
    pub(crate) const MIN_LEAF: usize = 13;
}

impl Session {
    /// Adds a column after all others.
    ///
    /// # Errors
    /// The name is taken; the column takes no NULL and there is nothing that the rows there are
    /// could have; its values lie off the row, or it is computed by what cannot be evaluated:
    /// [`Error::NotSupported`].
    pub fn add_column(&mut self, table: &Arc<Table>, spec: &ColumnSpec) -> Result<(), Error> {
        self.statement("ALTER TABLE", |context| {
            let old = context.lock_for_ddl(table)?;
            spec.verify()?;
            // The counter of a database that another product wrote may be stale.
            let has_rows =
                old.base.unit().counts().0.rows > 0 || !context.rows_for_ddl(&old)?.is_empty();
            verify_new(&old, spec, has_rows)?;
            let new = {
                let _ddl = lock(&context.db().ddl);
                context.describe_column(table, &old, spec)?
            };
            let storage = context.store(table, new);
            let Some(column) = storage.columns.last() else { return Ok(()) };
            let has_value = !spec.nullable
                || (spec.with_values && spec.default.is_some())
                || spec.identity.is_some()
                || column.formula.is_some()
                || column.ty == SqlType::RowVersion;
            if has_rows && has_value && column.is_stored() {
                context.fill_column(table.with(&storage), &old, column)
            } else {
                Ok(())
            }
        })
    }

    /// Drops a column. The rows keep its bytes until they are rewritten.
    ///
    /// # Errors
    /// An index, a constraint or a computed column needs it: [`Error::Dependent`]. It is the only
    /// one.
    pub fn drop_column(&mut self, table: &Arc<Table>, name: &str) -> Result<(), Error> {
        self.statement("ALTER TABLE", |context| {
            let old = context.lock_for_ddl(table)?;
            let _ddl = lock(&context.db().ddl);
            let gone = column(&old.columns, name)?.clone();
            if old.columns.iter().filter(|column| column.formula.is_none()).count() == 1
                && gone.formula.is_none()
            {
                let table = table.name().to_owned();
                return Err(Unsupported::LastColumn { column: name.to_owned(), table }.into());
            }
            verify_unused(&old, &gone)?;
            context.verify_no_dependent(table, &old, &gone)?;
            context.drop_statistics(table, &gone)?;
            context.forget_column(table, &gone)?;
            let mut new = Storage::clone(&old);
            new.columns.retain(|column| column.id != gone.id);
            new.identity = new.identity.filter(|identity| identity.column() != gone.id);
            let mut layout = old.shape.layout().clone();
            if gone.is_stored() {
                layout = layout.with_dropped(gone.id);
                new.off_row = context.change_layout(table, &old, &layout)?;
            }
            let new = context.with_layout(&old, new, layout)?;
            context.store(table, new);
            Ok(())
        })
    }
}

impl StatementContext<'_> {
    /// What the catalog says depends on a column, also where it is not enforced here: checks that
    /// are disabled, expressions that cannot be evaluated, schema-bound views and functions,
    /// filters of indexes that are disabled.
    pub(crate) fn verify_no_dependent(
        &self,
        table: &Table,
        storage: &Storage,
        own: &TableColumn,
    ) -> Result<(), Error> {
        let needed = |object: String| Err(Error::Dependent { object, column: own.name.clone() });
        for row in self.db().catalog.system("sysmultiobjrefs")?.rows(&[])? {
            let at = |at: usize| row.get(at).and_then(number).unwrap_or(0) as i32;
            let is_of = at(0) == i32::from(COMPUTED_OF) && (at(3), at(4)) == (table.id().0, own.id);
            if is_of && (at(1), at(2)) != (table.id().0, own.id) {
                let object = self.db().catalog.system("sysschobjs")?.rows(&[int(at(1))])?;
                return needed(text(object.first().and_then(|row| row.get(object::NAME))));
            }
        }
        let needs = |filter: &str| {
            Condition::compile(filter, &storage.columns)
                .map_or(true, |it| it.columns().contains(&own.id))
        };
        let is_filtered =
            |index: &&Arc<IndexDefinition>| index.filter.as_deref().is_some_and(needs);
        match storage.disabled.iter().find(is_filtered) {
            Some(index) => needed(index.name.clone().unwrap_or_default()),
            None => Ok(()),
        }
    }

    /// The rows of the catalog, and the table with the column.
    fn describe_column(
        &mut self,
        table: &Arc<Table>,
        old: &Storage,
        spec: &ColumnSpec,
    ) -> Result<Storage, Error> {
        let id =
            self.columns_ever(table)?.max(old.columns.iter().map(|own| own.id).max().unwrap_or(0))
                + 1;
        let mut own = spec.table_column(id, ObjectId(0));
        if let Some(computed) = &spec.computed {
            own.formula = Some(Arc::new(Formula::compile(computed, spec.ty, &old.columns)));
            verify_formula(&own)?;
        }
        let mut layout = old.shape.layout().clone();
        let mut off_row = old.off_row.clone();
        if own.is_stored() {
            layout = layout.with_column(id, spec.ty, spec.nullable).ok_or_else(unknown_layout)?;
            off_row = self.change_layout(table, old, &layout)?;
        }
        if let Some(default) = &spec.default {
            own.default = Some(self.insert_default(table, id, default)?);
        }
        let object = own.default.as_ref().map_or(ObjectId(0), |default| default.id);
        let definition = column_definition(spec, object)?;
        let used =
            own.formula.as_ref().map(|formula| formula.columns().to_vec()).unwrap_or_default();
        let mut rows = SystemRows::new();
        add_column(table.id(), id, &definition, &used, &mut rows);
        self.insert_system_rows(&rows)?;
        self.change_system_row("sysschobjs", &[int(table.id().0)], &[(object::COUNT, int(id))])?;
        let mut new = Storage { off_row, ..old.clone() };
        new.columns.push(own);
        if let Some(identity) = spec.identity {
            self.add_own_identity(table.id());
            new.identity = Identity::new(id, spec.ty, identity).map(Arc::new);
        }
        self.with_layout(old, new, layout)
    }

    /// The object of a default, which the column must name.
    pub(crate) fn insert_default(
        &mut self,
        table: &Table,
        column: i32,
        spec: &DefaultSpec,
    ) -> Result<ColumnDefault, Error> {
        let kind = ChildKind::Default(column, spec.text.clone());
        let id = self.new_child(table, &spec.name, kind)?;
        Ok(spec.column_default(id))
    }

    /// How many columns the table has ever had.
    fn columns_ever(&self, table: &Table) -> Result<i32, Error> {
        let row = self.system_row("sysschobjs", &[int(table.id().0)])?;
        Ok(row.get(object::COUNT).and_then(number).unwrap_or(0) as i32)
    }

    /// The description of a column, but for its offset.
    pub(crate) fn forget_column(&mut self, table: &Table, gone: &TableColumn) -> Result<(), Error> {
        let id = table.id().0;
        let column = gone.id;
        self.delete_where("syscolpars", &[int(id), smallint(0), int(column)])?;
        self.delete_where("sysobjvalues", &[byte(TEXT), int(id), int(column)])?;
        self.delete_where("sysmultiobjrefs", &[int(id), byte(COMPUTED_OF), int(column)])?;
        self.delete_where("sysxprops", &[byte(OF_COLUMN), int(id), int(column)])?;
        self.delete_where("sysprivs", &[byte(OF_COLUMN), int(id), int(column)])
    }

    /// The rows of `sysrscols` and `sysrowsets` of a base that gets this layout.
    /// Returns its units for values off the rows.
    pub(crate) fn change_layout(
        &mut self,
        table: &Table,
        old: &Storage,
        layout: &RowLayout,
    ) -> Result<OffRowUnits, Error> {
        let hobt = old.base.hobt();
        let was = &old.shape.layout().columns;
        let lengths = layout.leaf_lengths(old.base.heap().is_some()).ok_or_else(unknown_layout)?;
        verify_row_bytes(lengths.min_leaf, lengths.max_null_bit)?;
        let numbers = [
            (rowset::MAX_NULL_BIT, smallint(lengths.max_null_bit as i16)),
            (rowset::MAX_LEAF, int(lengths.max_leaf as i32)),
            (rowset::MIN_LEAF, smallint(lengths.min_leaf as i16)),
        ];
        self.change_system_row("sysrowsets", &[bigint(hobt.0)], &numbers)?;
        for (was, is) in was.iter().zip(&layout.columns).filter(|(was, is)| was != is) {
            self.change_layout_column(hobt, was, is)?;
        }
        let mut rows = SystemRows::new();
        let fresh = layout.columns.iter().skip(was.len());
        fresh.for_each(|column| add_physical_column(hobt, column, &mut rows));
        self.insert_system_rows(&rows)?;
        self.missing_off_row(table, old, layout, lengths.max_leaf)
    }

    /// Describes a column of a rowset in another way.
    pub(crate) fn change_layout_column(
        &mut self,
        hobt: extentdb_base::HobtId,
        was: &PhysicalColumn,
        is: &PhysicalColumn,
    ) -> Result<(), Error> {
        let row = cells_of(&physical_row(hobt, is, 0), RSCOLS_COLUMNS);
        let key = [bigint(hobt.0), int(was.ordinal)];
        let kept = self.system_row("sysrscols", &key)?;
        let changes = row.into_iter().enumerate().filter(|(at, _)| *at != RSCOLS_MODIFIED);
        let changes: Vec<_> = changes.filter(|(at, cell)| kept.get(*at) != Some(cell)).collect();
        self.change_system_row("sysrscols", &key, &changes)
    }

    fn system_row(&self, name: &str, key: &[Cell<'_>]) -> Result<Vec<Cell<'static>>, Error> {
        let missing = || Error::catalog(format!("{name} lacks a row"));
        self.db().catalog.system(name)?.rows(key)?.into_iter().next().ok_or_else(missing)
    }

    /// Puts other values into a row of a system table, in columns that no index has.
    pub(crate) fn change_system_row(
        &mut self,
        name: &str,
        key: &[Cell<'_>],
        changes: &[(usize, Cell<'static>)],
    ) -> Result<(), Error> {
        let missing = || Error::catalog(format!("{name} lacks a column"));
        let mut row = self.system_row(name, key)?;
        for (at, cell) in changes {
            *row.get_mut(*at).ok_or_else(missing)? = cell.clone();
        }
        self.db().catalog.system(name)?.redefine(self.tx()?, &row)
    }

    /// The same pages under another layout, and other columns.
    pub(crate) fn with_layout(
        &self,
        old: &Storage,
        new: Storage,
        layout: RowLayout,
    ) -> Result<Storage, Error> {
        let columns = positioned_columns(&new.columns, &layout)?;
        let shape = old.shape.with_layout(layout)?;
        let space = self.db().space.clone();
        let unit = old.base.unit().clone();
        let base = match &old.base {
            Base::Heap(heap) => {
                Base::Heap(Arc::new(heap.with_shape(heap_shape(shape.layout(), &shape))))
            }
            Base::Clustered(index) => {
                let definition = index.definition().clone();
                let own = Index::clustered(definition, &columns, shape.clone(), space, unit);
                Base::Clustered(Arc::new(own.with_order_of(index)))
            }
        };
        let indexes =
            new.indexes.iter().map(|index| Ok(Arc::new(index.renumbered(&old.columns, &columns)?)));
        let indexes = indexes.collect::<Result<_, Error>>()?;
        Ok(Storage { columns, shape, base, indexes, ..new })
    }

    /// Gives all rows a value in a new column: the next identity value, what it is computed to be,
    /// or its default.
    fn fill_column(
        &mut self,
        of: TableRef<'_>,
        old: &Storage,
        column: &TableColumn,
    ) -> Result<(), Error> {
        let storage = of.storage;
        for FoundRow { at, record } in self.rows_for_ddl(storage)? {
            let mut cells = storage.adopt(old, old.cells(&record)?)?;
            self.stamp(storage, &mut cells)?;
            if column.formula.is_none() && column.ty != SqlType::RowVersion {
                cells[column.at] = column.cell(&self.missing(of, column)?)?;
            }
            // No check can name the column yet, and rows need not fit those that do not trust
            // them.
            storage.compute(&mut cells)?;
            self.update_row(of, &at, &OldRow::of(storage, &record)?, &mut cells)?;
        }
        Ok(())
    }
}

/// `sysobjvalues.valclass` of texts, `sysmultiobjrefs.class` of what a column is computed of, and
/// the class of what belongs to columns.
const TEXT: u8 = 1;
const COMPUTED_OF: u8 = 1;
const OF_COLUMN: u8 = 1;
/// `sysrscols`: how many columns it has, and the one that counts changes.
const RSCOLS_COLUMNS: usize = 14;
const RSCOLS_MODIFIED: usize = 3;

fn unknown_layout() -> Error {
    Unsupported::RowLayout.into()
}

fn verify_new(storage: &Storage, spec: &ColumnSpec, has_rows: bool) -> Result<(), Error> {
    if storage.columns.iter().any(|column| column.name.eq_ignore_ascii_case(&spec.name)) {
        return Err(Error::Exists { name: spec.name.clone() });
    }
    if storage.columns.len() >= COLUMNS_MAX {
        return Err(Unsupported::ColumnCount { columns: COLUMNS_MAX + 1 }.into());
    }
    if spec.identity.is_some() && storage.identity.is_some() {
        return Err(Unsupported::SecondIdentity { column: spec.name.clone() }.into());
    }
    let is_second = |ty: SqlType| storage.columns.iter().any(|column| column.ty == ty);
    if spec.ty == SqlType::RowVersion && is_second(spec.ty) {
        return Err(Unsupported::SecondRowVersion { column: spec.name.clone() }.into());
    }
    let has_value = spec.default.is_some()
        || spec.identity.is_some()
        || spec.computed.is_some()
        || spec.ty == SqlType::RowVersion;
    if has_rows && !spec.nullable && !has_value {
        return Err(Unsupported::NoDefaultForRows { column: spec.name.clone() }.into());
    }
    Ok(())
}

/// Refuses to touch a column that something else of the table needs.
pub(crate) fn verify_unused(storage: &Storage, own: &TableColumn) -> Result<(), Error> {
    let needed = |object: &str| {
        Err(Error::Dependent { object: object.to_owned(), column: own.name.clone() })
    };
    if let Some(index) = storage.all_indexes().find(|index| index.uses(own.id)) {
        return needed(index.name());
    }
    if let Some(default) = own.default.as_ref().filter(|default| default.is_own) {
        return needed(&default.name);
    }
    verify_in_no_rule(storage, own)
}

/// Refuses to touch a column that a constraint or a computed column needs.
pub(crate) fn verify_in_no_rule(storage: &Storage, own: &TableColumn) -> Result<(), Error> {
    let constraints = &storage.constraints;
    let check = constraints.checks.iter().find(|check| check.columns().contains(&own.id));
    let out = constraints
        .foreign_keys
        .iter()
        .find(|key| key.columns.iter().any(|(from, _)| *from == own.id));
    let into = constraints
        .referencing_keys
        .iter()
        .find(|key| key.columns.iter().any(|(_, to)| *to == own.id));
    let is_of = |column: &&TableColumn| {
        column.formula.as_ref().is_some_and(|formula| formula.columns().contains(&own.id))
    };
    let computed = storage.columns.iter().find(is_of).map(|column| column.name.clone());
    let rule = constraints.rules.iter().find(|rule| rule.column == own.id);
    let names = [
        check.map(|check| check.name.clone()),
        rule.map(|rule| rule.name.clone()),
        out.or(into).map(|key| key.name.clone()),
        computed,
    ];
    match names.into_iter().flatten().next() {
        Some(object) => Err(Error::Dependent { object, column: own.name.clone() }),
        None => Ok(()),
    }
}
