//! Renames objects, columns, indexes and statistics. Everything refers to them by ids, but texts:
//! a check, computed column or filter that names a column keeps its name.
//!
//! A table that is renamed is another [`Table`] over the same storage: who holds the one before
//! finds it gone, and looks it up again.

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, lock, write};

use crate::catalog::objects::object;
use crate::catalog::system_table::{Cells, int, name_cell, number, smallint, text};
use crate::catalog::{
    ColumnDefault, DeferredChange, Formula, Index, Storage, Table, TableColumn, Trigger,
};
use crate::ddl::index::column;
use crate::error::invalid::verify_name;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

/// Columns of `syscolpars` and `sysidxstats`.
const COLUMN_NAME: usize = 3;
const INDEX_ID: usize = 1;
const INDEX_NAME: usize = 2;

impl Session {
    /// Gives a table another name in its schema; returns it under that.
    ///
    /// # Errors
    /// The name is taken.
    pub fn rename_table(&mut self, table: &Arc<Table>, name: &str) -> Result<Arc<Table>, Error> {
        self.statement("sp_rename", |context| {
            verify_name("table", name)?;
            let schema = context.schema_id(table.schema())?;
            context.lock_name(schema, name)?;
            context.lock_definition(table)?;
            let _ddl = lock(&context.db().ddl);
            context.rename_object_row(table.id(), schema, name)?;
            let renamed = Arc::new(table.renamed(name));
            let mut tables = write(&context.db().catalog.tables);
            tables.remove(table.id());
            tables.add(renamed.clone());
            drop(tables);
            let old = table.clone();
            context.defer_change(DeferredChange::Renamed { old, new: renamed.clone() });
            Ok(renamed)
        })
    }

    /// Gives a column another name.
    ///
    /// # Errors
    /// The name is taken, or a check, computed column or filter names the column:
    /// [`Error::Dependent`].
    pub fn rename_column(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        new_name: &str,
    ) -> Result<(), Error> {
        self.statement("sp_rename", |context| {
            verify_name("column", new_name)?;
            let old = context.lock_for_ddl(table)?;
            let own = column(&old.columns, name)?.clone();
            let is_other = |other: &TableColumn| {
                other.id != own.id && other.name.eq_ignore_ascii_case(new_name)
            };
            if old.columns.iter().any(is_other) {
                return Err(Error::Exists { name: new_name.to_owned() });
            }
            verify_not_named(&old, &own)?;
            let _ddl = lock(&context.db().ddl);
            let key = [int(table.id().0), smallint(0), int(own.id)];
            context.rename_row("syscolpars", &key, COLUMN_NAME, new_name)?;
            let mut new = Storage::clone(&old);
            let renamed = new.columns.iter_mut().filter(|column| column.id == own.id);
            renamed.for_each(|column| column.name = new_name.to_owned());
            context.store(table, new);
            Ok(())
        })
    }

    /// Gives an index, with its constraint if it has one, or statistics another name.
    ///
    /// # Errors
    /// The table has no such index or statistics, or the name is taken.
    pub fn rename_index(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        new_name: &str,
    ) -> Result<(), Error> {
        self.statement("sp_rename", |context| {
            verify_name("index", new_name)?;
            let old = context.lock_for_ddl(table)?;
            let schema = context.schema_id(table.schema())?;
            let _ddl = lock(&context.db().ddl);
            let rows = context.db().catalog.system("sysidxstats")?.rows(&[int(table.id().0)])?;
            let has_name =
                |row: &&Cells, name: &str| text(row.get(INDEX_NAME)).eq_ignore_ascii_case(name);
            let own = rows.iter().find(|row| has_name(row, name));
            let id = own.and_then(|row| row.get(INDEX_ID).and_then(number));
            let id = id.ok_or_else(|| table.no_index(name))? as i32;
            if rows.iter().any(|row| has_name(&row, new_name)) {
                return Err(Error::Exists { name: new_name.to_owned() });
            }
            context.rename_row(
                "sysidxstats",
                &[int(table.id().0), int(id)],
                INDEX_NAME,
                new_name,
            )?;
            if let Some(constraint) = context.child_named(table, schema, name)? {
                context.rename_object_row(constraint, schema, new_name)?;
            }
            context.store(table, with_index_named(&old, id, new_name));
            Ok(())
        })
    }

    /// Gives a check, foreign key or default of a table, or a trigger, another name.
    ///
    /// # Errors
    /// The table has no such constraint, or the name is taken.
    pub fn rename_constraint(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        new_name: &str,
    ) -> Result<(), Error> {
        self.statement("sp_rename", |context| {
            verify_name("constraint", new_name)?;
            let old = context.lock_definition(table)?;
            context.lock_parents(&old)?;
            let schema = context.schema_id(table.schema())?;
            context.lock_name(schema, new_name)?;
            let _ddl = lock(&context.db().ddl);
            let missing = || Unsupported::NoConstraint {
                name: name.to_owned(),
                table: table.name().to_owned(),
            };
            let id = context.child_named(table, schema, name)?.ok_or_else(missing)?;
            context.rename_object_row(id, schema, new_name)?;
            context.rename_in_tables(table, id, new_name);
            Ok(())
        })
    }

    /// Gives a view, procedure, function or synonym another name. Its text keeps the old one.
    ///
    /// # Errors
    /// There is none of this name, or the new one is taken.
    pub fn rename_module(&mut self, schema: &str, name: &str, new_name: &str) -> Result<(), Error> {
        self.statement("sp_rename", |context| {
            verify_name("module", new_name)?;
            let schema = context.schema_id(schema)?;
            context.lock_name(schema, name)?;
            context.lock_name(schema, new_name)?;
            let _ddl = lock(&context.db().ddl);
            let id = context.object_of(schema, name, crate::ddl::module::RENAMED)?;
            context.rename_object_row(id, schema, new_name)
        })
    }
}

impl StatementContext<'_> {
    /// Another name in `sysschobjs`, unless it is taken in the schema.
    fn rename_object_row(&mut self, id: ObjectId, schema: i32, name: &str) -> Result<(), Error> {
        match self.db().catalog.object_named(schema, name)? {
            Some(other) if other != id => Err(Error::Exists { name: name.to_owned() }),
            _ => self.rename_row("sysschobjs", &[int(id.0)], object::NAME, name),
        }
    }

    fn rename_row(
        &mut self,
        table: &str,
        key: &[extentdb_catalog::layout::Cell<'_>],
        at: usize,
        name: &str,
    ) -> Result<(), Error> {
        let missing = || Error::catalog(format!("{table} lacks a row"));
        let system = self.db().catalog.system(table)?;
        let old = system.rows(key)?.into_iter().next().ok_or_else(missing)?;
        let mut new = old.clone();
        *new.get_mut(at).ok_or_else(missing)? = name_cell(name);
        system.redefine_keys(self.tx()?, &old, &new)
    }

    /// The object of a name that belongs to a table.
    fn child_named(
        &self,
        table: &Table,
        schema: i32,
        name: &str,
    ) -> Result<Option<ObjectId>, Error> {
        let Some(id) = self.db().catalog.object_named(schema, name)? else { return Ok(None) };
        let rows = self.db().catalog.system("sysschobjs")?.rows(&[int(id.0)])?;
        let parent = rows.first().and_then(|row| row.get(object::PARENT)).and_then(number);
        Ok(Some(id).filter(|_| parent == Some(table.id().0.into())))
    }

    /// A constraint or trigger under another name, in its table and in the one that it references.
    fn rename_in_tables(&mut self, table: &Arc<Table>, id: ObjectId, name: &str) {
        let old = table.storage();
        let parents = old.constraints.foreign_keys.iter().filter(|key| key.id == id);
        let parent = parents.map(|key| key.parent).find(|parent| *parent != table.id());
        self.store(table, with_constraint_named(&old, id, name));
        if let Some(parent) = parent.and_then(|parent| self.db().catalog.table_by_id(parent)) {
            let new = with_constraint_named(&parent.storage(), id, name);
            self.store(&parent, new);
        }
    }
}

/// Refuses to rename a column that a stored text names.
fn verify_not_named(storage: &Storage, own: &TableColumn) -> Result<(), Error> {
    let needed = |object: &str| {
        Err(Error::Dependent { object: object.to_owned(), column: own.name.clone() })
    };
    let uses = |formula: &Arc<Formula>| formula.columns().contains(&own.id);
    let computed = storage.columns.iter().find(|column| column.formula.as_ref().is_some_and(uses));
    if let Some(column) = computed {
        return needed(&column.name);
    }
    let checks = &storage.constraints.checks;
    if let Some(check) = checks.iter().find(|check| check.columns().contains(&own.id)) {
        return needed(&check.name);
    }
    let names = |index: &&Arc<Index>| {
        index.filter().is_some_and(|filter| filter.columns().contains(&own.id))
    };
    match storage.all_indexes().find(names) {
        Some(index) => needed(index.name()),
        None => Ok(()),
    }
}

fn with_index_named(old: &Storage, id: i32, name: &str) -> Storage {
    let mut new = old.clone();
    if let Some(base) = old.base.clustered().filter(|base| base.id().0 == id) {
        new.base = crate::catalog::Base::Clustered(Arc::new(base.renamed(name)));
    }
    for index in new.indexes.iter_mut().filter(|index| index.id().0 == id) {
        *index = Arc::new(index.renamed(name));
    }
    for index in new.disabled.iter_mut().filter(|index| index.id.0 == id) {
        let mut renamed = (**index).clone();
        renamed.name = Some(name.to_owned());
        *index = Arc::new(renamed);
    }
    new
}

fn with_constraint_named(old: &Storage, id: ObjectId, name: &str) -> Storage {
    let mut new = old.clone();
    let name = || name.to_owned();
    for check in new.constraints.checks.iter_mut().filter(|check| check.id == id) {
        *check = Arc::new(check.renamed(name()));
    }
    let constraints = &mut new.constraints;
    let keys = constraints.foreign_keys.iter_mut().chain(&mut constraints.referencing_keys);
    for key in keys.filter(|key| key.id == id) {
        let mut renamed = (**key).clone();
        renamed.name = name();
        *key = Arc::new(renamed);
    }
    let defaults = new.columns.iter_mut().filter_map(|column| column.default.as_mut());
    for default in defaults.filter(|default: &&mut ColumnDefault| default.id == id) {
        default.name = name();
    }
    for trigger in new.triggers.iter_mut().filter(|trigger: &&mut Trigger| trigger.id == id) {
        trigger.name = name();
    }
    new
}
