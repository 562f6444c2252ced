//! Adds and drops CHECK constraints, foreign keys and defaults: objects of their table, with rows
//! of references for what they depend on.

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, lock};
use extentdb_catalog::model::{Object, ReferentialAction, ReferentialActions};
use extentdb_catalog::table::describe::{Child, ChildKind, SystemRows, add_child};
use extentdb_catalog::table::values::RowValues;
use extentdb_format::allocation::field::StoredTime;
use extentdb_txn::log_time;

use crate::catalog::system_table::{byte, int, smallint};
use crate::catalog::{Check, ForeignKey, Index, Rule, Storage, Table};
use crate::ddl::index::column;
use crate::ddl::spec::DefaultSpec;
use crate::ddl::trust::ExistingRows;
use crate::error::invalid::verify_name;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

/// Column of `syscolpars`.
const COLUMN_DEFAULT: usize = 13;

/// A new foreign key.
#[derive(Clone, Debug)]
pub struct ForeignKeySpec {
    /// Name, 1 to 128 UTF-16 units.
    pub name: String,
    /// Pairs of referencing and referenced column.
    pub columns: Vec<(String, String)>,
    /// What happens to referencing rows.
    pub actions: ReferentialActions,
    /// Are the rows of the table verified?
    pub rows: ExistingRows,
}

impl Session {
    /// Adds a CHECK constraint; `text` as the catalog is to keep it, in brackets:
    /// `([price]>=(0))`.
    ///
    /// # Errors
    /// The name is taken, the condition cannot be evaluated ([`Error::NotSupported`]), or a row is
    /// there that it is false for.
    pub fn add_check(&mut self, table: &Arc<Table>, name: &str, text: &str) -> Result<(), Error> {
        self.add_check_with(table, name, text, ExistingRows::Verified)
    }

    /// The same; the rows that exist are verified or not.
    ///
    /// # Errors
    /// The same.
    pub fn add_check_with(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        text: &str,
        rows: ExistingRows,
    ) -> Result<(), Error> {
        self.statement("ALTER TABLE", |context| {
            verify_name("constraint", name)?;
            let old = context.lock_for_ddl(table)?;
            let mut check = Check::compile(ObjectId(0), name.to_owned(), text, &old.columns)
                .map_err(|why| Unsupported::Check { constraint: name.to_owned(), why })?;
            // Nobody changes rows of the table. Checkpoints need what is locked from here on, and
            // do not wait for a scan.
            if rows == ExistingRows::Verified {
                context.verify_rows_by(table, &old, &check)?;
            }
            let _ddl = lock(&context.db().ddl);
            let kind = ChildKind::Check(check.columns().to_vec(), text.to_owned());
            check.id = context.new_child(table, name, kind)?;
            context.mark_new(check.id, rows)?;
            let mut new = Storage::clone(&old);
            new.constraints.checks.push(Arc::new(check));
            context.store(table, new);
            Ok(())
        })
    }

    /// Adds a foreign key: `columns` of `table` reference rows of `parent` by the columns of one of
    /// its unique indexes. Referenced rows cannot be deleted: NO ACTION.
    ///
    /// # Errors
    /// The name is taken, the parent has no such unique index, types differ, or a row is there
    /// whose values name no row.
    pub fn add_foreign_key(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        parent: &Arc<Table>,
        columns: &[(&str, &str)],
    ) -> Result<(), Error> {
        self.add_foreign_key_with(table, name, parent, columns, ReferentialActions::default())
    }

    /// The same with the actions on delete and update of the referenced row.
    ///
    /// # Errors
    /// The same, and: the actions form a cycle or multiple cascade paths; a column takes no NULL,
    /// or has no default.
    pub fn add_foreign_key_with(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        parent: &Arc<Table>,
        columns: &[(&str, &str)],
        actions: ReferentialActions,
    ) -> Result<(), Error> {
        let columns = columns.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned()));
        let spec = ForeignKeySpec {
            name: name.to_owned(),
            columns: columns.collect(),
            actions,
            rows: ExistingRows::Verified,
        };
        self.create_foreign_key(table, parent, &spec)
    }

    /// Adds a foreign key from a table to a unique index of its parent.
    ///
    /// # Errors
    /// As for [`Session::add_foreign_key_with`].
    pub fn create_foreign_key(
        &mut self,
        table: &Arc<Table>,
        parent: &Arc<Table>,
        spec: &ForeignKeySpec,
    ) -> Result<(), Error> {
        let ForeignKeySpec { name, columns, actions, rows } = spec;
        let actions = *actions;
        self.statement("ALTER TABLE", |context| {
            verify_name("constraint", name)?;
            let mut both = [table, parent];
            // Lock order: by object id.
            both.sort_by_key(|table| table.id());
            both.into_iter().try_for_each(|table| context.lock_for_ddl(table).map(drop))?;
            let mut key = ForeignKey { actions, ..foreign_key(name, table, parent, columns)? };
            // Before the scan, so that no session waits for one in vain, and once more when nothing
            // else can be inserted between.
            context.verify_actions(&key, table)?;
            let old = table.storage();
            if *rows == ExistingRows::Verified {
                context.verify_rows_reference(table, &old, &key)?;
            }
            // Nobody changes rows of the two tables. Checkpoints need what is locked from here on,
            // and do not wait for a scan.
            let _ddl = lock(&context.db().ddl);
            context.verify_actions(&key, table)?;
            let kind = ChildKind::ForeignKey {
                table: parent.id(),
                index: key.index.0,
                columns: key.columns.clone(),
                actions,
            };
            key.id = context.new_child(table, name, kind)?;
            context.mark_new(key.id, *rows)?;
            context.store_foreign_key(table, parent, key);
            Ok(())
        })
    }

    /// Adds a DEFAULT to a column: the value of rows that are inserted without one.
    ///
    /// # Errors
    /// The name is taken; the column has a default already, or takes none: [`Error::NotSupported`].
    pub fn add_default(
        &mut self,
        table: &Arc<Table>,
        column_name: &str,
        spec: &DefaultSpec,
    ) -> Result<(), Error> {
        self.statement("ALTER TABLE", |context| {
            verify_name("constraint", &spec.name)?;
            let old = context.lock_for_ddl(table)?;
            let _ddl = lock(&context.db().ddl);
            let own = column(&old.columns, column_name)?;
            let is_identity =
                old.identity.as_ref().is_some_and(|identity| identity.column() == own.id);
            if own.default.is_some() || own.formula.is_some() || is_identity {
                let column = column_name.to_owned();
                return Err(Unsupported::DefaultOfComputed { column }.into());
            }
            let default = context.insert_default(table, own.id, spec)?;
            context.name_default(table, own.id, default.id)?;
            let mut new = Storage::clone(&old);
            new.set_default(own.id, Some(default));
            context.store(table, new);
            Ok(())
        })
    }
}

impl StatementContext<'_> {
    fn mark_new(&mut self, constraint: ObjectId, rows: ExistingRows) -> Result<(), Error> {
        match rows {
            ExistingRows::Verified => Ok(()),
            ExistingRows::Unverified => self.mark_object(constraint, Object::NOT_TRUSTED, 0),
        }
    }

    /// Stores the object id of the default of a column.
    pub(crate) fn name_default(
        &mut self,
        table: &Table,
        column: i32,
        default: ObjectId,
    ) -> Result<(), Error> {
        let key = [int(table.id().0), smallint(0), int(column)];
        self.change_system_row("syscolpars", &key, &[(COLUMN_DEFAULT, int(default.0))])
    }

    /// Adds a foreign key to its two tables, which may be one.
    fn store_foreign_key(&mut self, table: &Arc<Table>, parent: &Arc<Table>, key: ForeignKey) {
        let key = Arc::new(key);
        let mut new = Storage::clone(&table.storage());
        new.constraints.foreign_keys.push(key.clone());
        self.store(table, new);
        let mut new = Storage::clone(&parent.storage());
        new.constraints.referencing_keys.push(key);
        self.store(parent, new);
    }

    /// Drops a check, foreign key or default of a table that is locked for it.
    pub(crate) fn drop_rule(
        &mut self,
        table: &Arc<Table>,
        old: &Storage,
        rule: &Rule,
    ) -> Result<(), Error> {
        let mut new = old.clone();
        let id = match rule {
            Rule::Check(check) => {
                new.constraints.checks.retain(|own| own.id != check.id);
                check.id
            }
            Rule::DisabledCheck(id) => *id,
            Rule::ForeignKey(key) => {
                new.constraints.foreign_keys.retain(|own| own.id != key.id);
                new.constraints.referencing_keys.retain(|own| own.id != key.id);
                self.remove_reference(table, key)?;
                key.id
            }
            Rule::Default(column, id) => {
                new.set_default(*column, None);
                self.name_default(table, *column, ObjectId(0))?;
                *id
            }
        };
        self.delete_where("sysschobjs", &[int(id.0)])?;
        self.delete_where("sysobjvalues", &[byte(1), int(id.0)])?;
        self.forget_references(id)?;
        self.store(table, new);
        Ok(())
    }

    /// Refuses actions that columns do not take, cycles, and multiple cascade paths.
    fn verify_actions(&self, key: &ForeignKey, table: &Table) -> Result<(), Error> {
        let refused =
            |why: String| Err(Unsupported::ForeignKey { key: key.name.clone(), why }.into());
        let actions = [key.actions.on_delete, key.actions.on_update];
        let is = |action| actions.contains(&action);
        for own in &table.storage().columns {
            let is_of = key.columns.iter().any(|(from, _)| *from == own.id);
            let is_emptied = is(ReferentialAction::SetNull)
                || (is(ReferentialAction::SetDefault) && own.default.is_none());
            if is_of && is_emptied && !own.nullable {
                return refused(format!("column {} takes no NULL", own.name));
            }
            if is_of && own.formula.is_some() && key.actions.cascade() {
                return refused(format!("column {} is computed", own.name));
            }
        }
        if !key.actions.cascade() {
            return Ok(());
        }
        let tables = self.db().catalog.user_tables();
        let keys =
            tables.iter().flat_map(|table| table.storage().constraints.referencing_keys.clone());
        let keys: Vec<Arc<ForeignKey>> =
            keys.filter(|key| key.actions.cascade()).chain([Arc::new(key.clone())]).collect();
        let meets = |table: &Arc<Table>| reaches_a_table_twice(table.id(), &keys);
        if tables.iter().any(meets) {
            Err(Unsupported::CascadePaths { key: key.name.clone() }.into())
        } else {
            Ok(())
        }
    }

    /// Locks the referenced tables of a table, before any mutex that the lock manager does not
    /// know.
    pub(crate) fn lock_parents(&mut self, storage: &Storage) -> Result<(), Error> {
        for key in &storage.constraints.foreign_keys {
            if let Some(parent) = self.db().catalog.table_by_id(key.parent) {
                self.lock_definition(&parent)?;
            }
        }
        Ok(())
    }

    /// Removes the foreign keys of a table that is dropped from the tables that they reference.
    pub(crate) fn remove_references(
        &mut self,
        table: &Table,
        storage: &Storage,
    ) -> Result<(), Error> {
        for key in &storage.constraints.foreign_keys {
            self.remove_reference(table, key)?;
        }
        Ok(())
    }

    fn remove_reference(&mut self, table: &Table, key: &ForeignKey) -> Result<(), Error> {
        if key.parent == table.id() {
            return Ok(());
        }
        if let Some(parent) = self.db().catalog.table_by_id(key.parent) {
            let mut of_parent = Storage::clone(&*self.lock_definition(&parent)?);
            of_parent.constraints.referencing_keys.retain(|own| own.id != key.id);
            self.store(&parent, of_parent);
        }
        Ok(())
    }

    /// Inserts a constraint of a table into the catalog; returns its object id.
    pub(crate) fn new_child(
        &mut self,
        table: &Table,
        name: &str,
        kind: ChildKind,
    ) -> Result<ObjectId, Error> {
        let schema_id = self.schema_id(table.schema())?;
        let name = name.to_owned();
        if self.db().catalog.object_named(schema_id, &name)?.is_some() {
            return Err(Error::Exists { name });
        }
        let id = self.object_id()?;
        self.insert_child(&Child { id, name, kind, table: table.id(), schema_id })?;
        Ok(id)
    }

    /// The time of the clock as the catalog stores it.
    pub(crate) fn now(&self) -> StoredTime {
        let now = log_time(&*self.db().options.clock);
        StoredTime { ticks: now.ticks, days: now.days as i32 }
    }

    pub(crate) fn insert_child(&mut self, child: &Child) -> Result<(), Error> {
        let mut rows = SystemRows::new();
        add_child(child, self.now(), &mut rows);
        self.insert_system_rows(&rows)
    }

    pub(crate) fn insert_system_rows<'r>(
        &mut self,
        rows: impl IntoIterator<Item = (&'r String, &'r Vec<RowValues>)>,
    ) -> Result<(), Error> {
        for (name, rows) in rows {
            let table = self.db().catalog.system(name)?;
            for row in rows {
                let mut cells = table.cells_of(row);
                self.put_off_system_row(table, &mut cells)?;
                table.insert_cells(self.tx()?, &cells)?;
            }
        }
        Ok(())
    }
}

/// Do cascades from this table reach some table twice, or itself?
fn reaches_a_table_twice(start: ObjectId, keys: &[Arc<ForeignKey>]) -> bool {
    let mut reached = vec![start];
    let mut left = vec![start];
    while let Some(parent) = left.pop() {
        for key in keys.iter().filter(|key| key.parent == parent) {
            if reached.contains(&key.child) {
                return true;
            }
            reached.push(key.child);
            left.push(key.child);
        }
    }
    false
}

/// A foreign key by the names of its columns, without an id.
fn foreign_key(
    name: &str,
    table: &Table,
    parent: &Table,
    columns: &[(String, String)],
) -> Result<ForeignKey, Error> {
    let own = table.storage();
    let of_parent = parent.storage();
    let mut pairs = Vec::new();
    for (from, to) in columns {
        let from = column(&own.columns, from)?;
        let to = column(&of_parent.columns, to)?;
        if from.ty != to.ty {
            let column = from.name.clone();
            return Err(Unsupported::ForeignKeyType { key: name.to_owned(), column }.into());
        }
        pairs.push((from.id, to.id));
    }
    let to: Vec<i32> = pairs.iter().map(|(_, to)| *to).collect();
    let index = of_parent.all_indexes().find(|index| is_key_of(index, &of_parent, &to));
    let missing = || Unsupported::ForeignKeyWithoutIndex {
        key: name.to_owned(),
        parent: parent.name().to_owned(),
    };
    Ok(ForeignKey {
        id: ObjectId(0),
        name: name.to_owned(),
        child: table.id(),
        parent: parent.id(),
        index: index.ok_or_else(missing)?.id(),
        columns: pairs,
        actions: ReferentialActions::default(),
        is_enabled: true,
    })
}

/// Is an index unique over exactly these columns?
fn is_key_of(index: &Index, of: &Storage, columns: &[i32]) -> bool {
    let key: Vec<i32> = index.declared(&of.columns).map(|column| column.id).collect();
    index.is_unique()
        && index.filter().is_none()
        && key.len() == columns.len()
        && key.iter().all(|id| columns.contains(id))
}
