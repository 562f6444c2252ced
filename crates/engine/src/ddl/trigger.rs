//! Triggers of tables, views and the database: kept as texts, enabled or not.
//!
//! Rows of a table with an enabled trigger are changed by a caller that runs the trigger, and by no
//! other ([`Session::set_triggers_run_of`]). Its definition may change, as triggers do not run for
//! that.

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, lock};
use extentdb_catalog::model::{Object, ObjectType};

use crate::catalog::{Storage, Table, Trigger};
use crate::ddl::module::{ModuleKind, ModuleSettings, NewModule, no_module};
use crate::error::Error;
use crate::error::invalid::verify_name;
use crate::session::{Session, StatementContext};

const TRIGGER: ObjectType = ObjectType(*b"TR");
/// What belongs to no schema.
const NO_SCHEMA: i32 = 0;

impl Session {
    /// Keeps the text of a trigger. From now on a caller that changes rows of its table runs it.
    ///
    /// # Errors
    /// The same as for other modules.
    pub fn create_trigger(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        text: &str,
    ) -> Result<(), Error> {
        self.create_trigger_with(table, name, text, ModuleSettings::default())
    }

    /// The same with the settings of the session that defines it.
    ///
    /// # Errors
    /// The same.
    pub fn create_trigger_with(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        text: &str,
        settings: ModuleSettings,
    ) -> Result<(), Error> {
        self.statement("CREATE TRIGGER", |context| {
            verify_name("trigger", name)?;
            let old = context.lock_definition(table)?;
            let schema = context.schema_id(table.schema())?;
            context.lock_name(schema, name)?;
            let _ddl = lock(&context.db().ddl);
            let id = context.insert_module(&NewModule {
                kind: TRIGGER,
                schema,
                parent: table.id(),
                name,
                text,
                columns: &[],
                parameters: &[],
                settings,
            })?;
            let mut new = Storage::clone(&old);
            new.triggers.push(Trigger { id, name: name.to_owned(), is_enabled: true });
            context.store(table, new);
            Ok(())
        })
    }

    /// Drops a trigger of a table.
    ///
    /// # Errors
    /// The table has no such trigger.
    pub fn drop_trigger(&mut self, table: &Arc<Table>, name: &str) -> Result<(), Error> {
        self.statement("DROP TRIGGER", |context| {
            let old = context.lock_definition(table)?;
            let _ddl = lock(&context.db().ddl);
            let trigger = trigger_named(&old, name)?;
            context.forget_object(trigger.id)?;
            let mut new = Storage::clone(&old);
            new.triggers.retain(|other| other.id != trigger.id);
            context.store(table, new);
            Ok(())
        })
    }

    /// Keeps another text of a trigger of a table.
    ///
    /// # Errors
    /// The table has no such trigger.
    pub fn alter_trigger(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        text: &str,
        settings: ModuleSettings,
    ) -> Result<(), Error> {
        self.statement("ALTER TRIGGER", |context| {
            let old = context.lock_definition(table)?;
            let _ddl = lock(&context.db().ddl);
            let trigger = trigger_named(&old, name)?;
            context.replace_text(trigger.id, text, settings)
        })
    }

    /// Enables or disables a trigger of a table.
    ///
    /// # Errors
    /// The table has no such trigger.
    pub fn switch_trigger(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        is_enabled: bool,
    ) -> Result<(), Error> {
        self.statement("ALTER TABLE", |context| {
            let old = context.lock_definition(table)?;
            let _ddl = lock(&context.db().ddl);
            let trigger = trigger_named(&old, name)?;
            match is_enabled {
                true => context.mark_object(trigger.id, 0, Object::DISABLED)?,
                false => context.mark_object(trigger.id, Object::DISABLED, 0)?,
            }
            let mut new = Storage::clone(&old);
            let own = new.triggers.iter_mut().filter(|own| own.id == trigger.id);
            own.for_each(|own| own.is_enabled = is_enabled);
            context.store(table, new);
            Ok(())
        })
    }
}

/// A trigger of the database: its caller runs it after changes of definitions.
impl Session {
    /// Keeps the text of a trigger of the database, which runs after changes of definitions. The
    /// caller runs it.
    ///
    /// # Errors
    /// The name is taken by another one.
    pub fn create_database_trigger(
        &mut self,
        name: &str,
        text: &str,
        settings: ModuleSettings,
    ) -> Result<(), Error> {
        self.statement("CREATE TRIGGER", |context| {
            verify_name("trigger", name)?;
            context.lock_name(NO_SCHEMA, name)?;
            let _ddl = lock(&context.db().ddl);
            context.insert_module(&NewModule {
                kind: TRIGGER,
                schema: NO_SCHEMA,
                parent: ObjectId(0),
                name,
                text,
                columns: &[],
                parameters: &[],
                settings,
            })?;
            Ok(())
        })
    }

    /// Keeps another text of a trigger of the database.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn alter_database_trigger(
        &mut self,
        name: &str,
        text: &str,
        settings: ModuleSettings,
    ) -> Result<(), Error> {
        self.statement("ALTER TRIGGER", |context| {
            let id = context.database_trigger(name)?;
            let _ddl = lock(&context.db().ddl);
            context.replace_text(id, text, settings)
        })
    }

    /// Enables or disables a trigger of the database.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn switch_database_trigger(&mut self, name: &str, is_enabled: bool) -> Result<(), Error> {
        self.statement("ALTER TRIGGER", |context| {
            let id = context.database_trigger(name)?;
            let _ddl = lock(&context.db().ddl);
            match is_enabled {
                true => context.mark_object(id, 0, Object::DISABLED),
                false => context.mark_object(id, Object::DISABLED, 0),
            }
        })
    }

    /// Drops a trigger of the database.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn drop_database_trigger(&mut self, name: &str) -> Result<(), Error> {
        self.statement("DROP TRIGGER", |context| {
            let id = context.database_trigger(name)?;
            let _ddl = lock(&context.db().ddl);
            context.forget_object(id)
        })
    }
}

impl StatementContext<'_> {
    /// Locks the name of a trigger of the database and finds it.
    fn database_trigger(&mut self, name: &str) -> Result<ObjectId, Error> {
        self.lock_name(NO_SCHEMA, name)?;
        self.db().catalog.object_named(NO_SCHEMA, name)?.ok_or_else(|| no_module(name))
    }
}

/// A trigger of a view: no rows of the view are changed without its caller.
impl Session {
    /// Keeps the text of a trigger of a view.
    ///
    /// # Errors
    /// The same as for other modules; there is no such view.
    pub fn create_view_trigger(
        &mut self,
        (schema, view): (&str, &str),
        name: &str,
        text: &str,
        settings: ModuleSettings,
    ) -> Result<(), Error> {
        self.statement("CREATE TRIGGER", |context| {
            verify_name("trigger", name)?;
            let schema = context.schema_id(schema)?;
            context.lock_name(schema, name)?;
            let _ddl = lock(&context.db().ddl);
            let parent = context.object_of(schema, view, &[ModuleKind::View.code()])?;
            context.insert_module(&NewModule {
                kind: TRIGGER,
                schema,
                parent,
                name,
                text,
                columns: &[],
                parameters: &[],
                settings,
            })?;
            Ok(())
        })
    }

    /// Keeps another text of a trigger of a view.
    ///
    /// # Errors
    /// The catalog cannot be written.
    pub fn alter_view_trigger(
        &mut self,
        trigger: ObjectId,
        text: &str,
        settings: ModuleSettings,
    ) -> Result<(), Error> {
        self.statement("ALTER TRIGGER", |context| {
            let _ddl = lock(&context.db().ddl);
            context.replace_text(trigger, text, settings)
        })
    }

    /// Drops a trigger of a view.
    ///
    /// # Errors
    /// The catalog cannot be written.
    pub fn drop_view_trigger(&mut self, trigger: ObjectId) -> Result<(), Error> {
        self.statement("DROP TRIGGER", |context| {
            let _ddl = lock(&context.db().ddl);
            context.forget_object(trigger)
        })
    }

    /// Enables or disables a trigger of a view.
    ///
    /// # Errors
    /// The catalog cannot be written.
    pub fn switch_view_trigger(
        &mut self,
        trigger: ObjectId,
        is_enabled: bool,
    ) -> Result<(), Error> {
        self.statement("ALTER TABLE", |context| {
            let _ddl = lock(&context.db().ddl);
            match is_enabled {
                true => context.mark_object(trigger, 0, Object::DISABLED),
                false => context.mark_object(trigger, Object::DISABLED, 0),
            }
        })
    }
}

fn trigger_named(storage: &Storage, name: &str) -> Result<Trigger, Error> {
    let is_it = |trigger: &&Trigger| trigger.name.eq_ignore_ascii_case(name);
    storage.triggers.iter().find(is_it).cloned().ok_or_else(|| no_module(name))
}
