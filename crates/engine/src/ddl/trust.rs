//! Disables and enables checks and foreign keys, and says whether rows that exist were verified.
//!
//! ```text
//! sysschobjs.status   0x100 disabled      new and changed rows are not verified
//!                     0x400 not trusted   some row may not fit: it was not verified when the
//!                                         constraint was added or enabled, or it was disabled
//! ```
//!
//! A disabled check is in the catalog alone; a disabled foreign key stays with its two tables, and
//! still keeps its parent from being dropped.

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, lock};
use extentdb_catalog::model::Object;

use crate::catalog::objects::object;
use crate::catalog::system_table::{bytes, int, number};
use crate::catalog::{Check, ForeignKey, Storage, Table};
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

/// Are the rows of a table verified by a constraint that is added or enabled?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExistingRows {
    /// WITH CHECK: one that does not fit refuses the constraint.
    Verified,
    /// WITH NOCHECK: the constraint is not trusted.
    Unverified,
}

/// A constraint by its name.
enum Switched {
    Check(ObjectId),
    ForeignKey(Arc<ForeignKey>),
}

/// A check as the catalog keeps it.
struct StoredCheck {
    id: ObjectId,
    name: String,
    text: String,
}

impl Session {
    /// Disables a check or foreign key: rows are not verified by it any more.
    ///
    /// # Errors
    /// The table has no such constraint.
    pub fn disable_constraint(&mut self, table: &Arc<Table>, name: &str) -> Result<(), Error> {
        self.statement("ALTER TABLE", |context| {
            let old = context.lock_for_ddl(table)?;
            let off = Object::DISABLED | Object::NOT_TRUSTED;
            match context.switched(table, &old, name)? {
                Switched::Check(id) => {
                    let _ddl = lock(&context.db().ddl);
                    context.mark_object(id, off, 0)?;
                    let mut new = Storage::clone(&old);
                    new.constraints.checks.retain(|check| check.id != id);
                    context.store(table, new);
                }
                Switched::ForeignKey(key) => {
                    context.lock_parents(&old)?;
                    let _ddl = lock(&context.db().ddl);
                    context.mark_object(key.id, off, 0)?;
                    let key = ForeignKey { is_enabled: false, ..ForeignKey::clone(&key) };
                    context.replace_foreign_key(table, key);
                }
            }
            Ok(())
        })
    }

    /// Enables a check or foreign key. One that is enabled already is verified again, if rows are.
    ///
    /// # Errors
    /// The table has no such constraint, a row does not fit, or the check cannot be evaluated.
    pub fn enable_constraint(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        rows: ExistingRows,
    ) -> Result<(), Error> {
        self.statement("ALTER TABLE", |context| {
            let old = context.lock_for_ddl(table)?;
            match context.switched(table, &old, name)? {
                Switched::Check(id) => context.enable_check(table, &old, id, rows),
                Switched::ForeignKey(key) => context.enable_foreign_key(table, &old, &key, rows),
            }
        })
    }
}

impl StatementContext<'_> {
    /// A check or foreign key of a table that is locked for it, enabled or not.
    fn switched(&self, table: &Table, storage: &Storage, name: &str) -> Result<Switched, Error> {
        let keys = &storage.constraints.foreign_keys;
        if let Some(key) = keys.iter().find(|key| key.name.eq_ignore_ascii_case(name)) {
            return Ok(Switched::ForeignKey(key.clone()));
        }
        let missing =
            || Unsupported::NoConstraint { name: name.to_owned(), table: table.name().to_owned() };
        let found = self.check_named(table, name)?.ok_or_else(missing)?;
        Ok(Switched::Check(found))
    }

    /// The object of a check of this table, enabled or not.
    pub(crate) fn check_named(&self, table: &Table, name: &str) -> Result<Option<ObjectId>, Error> {
        let schema = self.schema_id(table.schema())?;
        let Some(id) = self.db().catalog.object_named(schema, name)? else { return Ok(None) };
        let rows = self.db().catalog.system("sysschobjs")?.rows(&[int(id.0)])?;
        let is_it = rows.first().is_some_and(|row| {
            row.get(object::KIND).map(bytes) == Some(b"C ".as_slice())
                && row.get(object::PARENT).and_then(number) == Some(table.id().0.into())
        });
        Ok(is_it.then_some(id))
    }

    fn enable_check(
        &mut self,
        table: &Arc<Table>,
        old: &Arc<Storage>,
        id: ObjectId,
        rows: ExistingRows,
    ) -> Result<(), Error> {
        let stored = self.stored_check(table, id)?;
        let check = Check::compile(id, stored.name.clone(), &stored.text, &old.columns)
            .map_err(|why| Unsupported::Check { constraint: stored.name.clone(), why })?;
        if rows == ExistingRows::Verified {
            self.verify_rows_by(table, old, &check)?;
        }
        let _ddl = lock(&self.db().ddl);
        self.mark_enabled(stored.id, rows)?;
        let mut new = Storage::clone(old);
        new.constraints.checks.retain(|own| own.id != id);
        new.constraints.checks.push(Arc::new(check));
        self.store(table, new);
        Ok(())
    }

    /// Refuses a check that a row does not fit.
    pub(crate) fn verify_rows_by(
        &mut self,
        table: &Table,
        storage: &Arc<Storage>,
        check: &Check,
    ) -> Result<(), Error> {
        let values = self.session_values();
        self.each_row_for_ddl(storage, &mut |_, record| {
            check.verify(table.name(), &storage.columns, &storage.cells(record)?, &values)
        })
    }

    fn enable_foreign_key(
        &mut self,
        table: &Arc<Table>,
        old: &Arc<Storage>,
        key: &ForeignKey,
        rows: ExistingRows,
    ) -> Result<(), Error> {
        self.lock_parents(old)?;
        let key = ForeignKey { is_enabled: true, ..key.clone() };
        if rows == ExistingRows::Verified {
            self.verify_rows_reference(table, old, &key)?;
        }
        let _ddl = lock(&self.db().ddl);
        self.mark_enabled(key.id, rows)?;
        self.replace_foreign_key(table, key);
        Ok(())
    }

    /// Refuses a foreign key with a row that references none.
    pub(crate) fn verify_rows_reference(
        &mut self,
        table: &Arc<Table>,
        storage: &Arc<Storage>,
        key: &ForeignKey,
    ) -> Result<(), Error> {
        let key = Arc::new(key.clone());
        self.with_checks_at_own_end(|context| {
            context.rows_for_ddl(storage)?.iter().try_for_each(|row| {
                let cells = storage.cells(&row.record)?;
                context.verify_reference(&key, table.with(storage), None, &cells)
            })
        })
    }

    fn mark_enabled(&mut self, id: ObjectId, rows: ExistingRows) -> Result<(), Error> {
        match rows {
            ExistingRows::Verified => {
                self.mark_object(id, 0, Object::DISABLED | Object::NOT_TRUSTED)
            }
            ExistingRows::Unverified => self.mark_object(id, 0, Object::DISABLED),
        }
    }

    /// Sets and clears status bits of a constraint.
    pub(crate) fn mark_object(&mut self, id: ObjectId, set: u32, clear: u32) -> Result<(), Error> {
        let rows = self.db().catalog.system("sysschobjs")?.rows(&[int(id.0)])?;
        let status = rows.first().and_then(|row| row.get(object::STATUS)).and_then(number);
        let status = (status.unwrap_or(0) as u32 & !clear) | set;
        let changes = [(object::STATUS, int(status as i32))];
        self.change_system_row("sysschobjs", &[int(id.0)], &changes)
    }

    /// Puts a foreign key in the place of what it was, in both of its tables.
    fn replace_foreign_key(&mut self, table: &Arc<Table>, key: ForeignKey) {
        let parent = self.db().catalog.table_by_id(key.parent);
        let key = Arc::new(key);
        let replace = |keys: &mut Vec<Arc<ForeignKey>>| {
            keys.iter_mut().filter(|own| own.id == key.id).for_each(|own| *own = key.clone());
        };
        let mut new = Storage::clone(&table.storage());
        replace(&mut new.constraints.foreign_keys);
        self.store(table, new);
        if let Some(parent) = parent {
            let mut new = Storage::clone(&parent.storage());
            replace(&mut new.constraints.referencing_keys);
            self.store(&parent, new);
        }
    }

    fn stored_check(&self, table: &Table, id: ObjectId) -> Result<StoredCheck, Error> {
        let missing = || Error::catalog("a check constraint has no text");
        let model = self.db().model()?;
        let own = model.object_by_id(table.id()).and_then(|object| object.table());
        let check = own.and_then(|own| own.checks.iter().find(|check| check.object.id == id));
        let check = check.ok_or_else(missing)?;
        Ok(StoredCheck {
            id,
            name: check.object.name.clone(),
            text: check.definition.clone().ok_or_else(missing)?,
        })
    }
}
