//! Views, procedures, functions and triggers: kept as the texts that made them. Nothing here runs
//! them.
//!
//! ```text
//! sysschobjs      name, schema, kind; of a trigger its table
//! sysobjvalues    class 1: the text
//! syscolpars      the columns of a view or function, where the caller says which
//! ```
//!
//! A table with a trigger is only read here: what the trigger would do after a change is not done.
//! Its definition may change, as triggers do not run for that.

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, lock};
use extentdb_catalog::model::ObjectType;
use extentdb_catalog::table::describe::{ModuleDefinition, SystemRows, add_module};

use crate::catalog::objects::object;
use crate::catalog::system_table::{byte, int, number};
use crate::catalog::{Storage, Table, Trigger};
use crate::ddl::spec::{ColumnSpec, column_definition};
use crate::error::invalid::verify_name;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

/// What a module is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModuleKind {
    /// CREATE VIEW, `V` in `sys.objects.type`.
    View,
    /// CREATE PROCEDURE, `P` in `sys.objects.type`.
    Procedure,
    /// CREATE FUNCTION with a value.
    ScalarFunction,
    /// CREATE FUNCTION with a table that one statement returns.
    InlineFunction,
    /// CREATE FUNCTION with a table that it fills.
    TableFunction,
}

impl ModuleKind {
    fn code(self) -> ObjectType {
        ObjectType(match self {
            ModuleKind::View => *b"V ",
            ModuleKind::Procedure => *b"P ",
            ModuleKind::ScalarFunction => *b"FN",
            ModuleKind::InlineFunction => *b"IF",
            ModuleKind::TableFunction => *b"TF",
        })
    }
}

/// A new view, procedure or function.
#[derive(Clone, Debug)]
pub struct ModuleSpec {
    /// Schema; `dbo` for none.
    pub schema: Option<String>,
    /// Name, 1 to 128 UTF-16 units.
    pub name: String,
    /// What it is.
    pub kind: ModuleKind,
    /// The statement that makes it.
    pub text: String,
    /// The columns of a view or of the table of a function, if the caller knows them.
    pub columns: Vec<ColumnSpec>,
}

/// A module that the catalog does not have yet.
struct NewModule<'m> {
    kind: ObjectType,
    schema: i32,
    /// The table of a trigger; 0 for other modules.
    parent: ObjectId,
    name: &'m str,
    text: &'m str,
    columns: &'m [ColumnSpec],
}

const TRIGGER: ObjectType = ObjectType(*b"TR");
/// `sysobjvalues.valclass` of texts.
const TEXT: u8 = 1;

impl Session {
    /// Keeps the text of a view, procedure or function.
    ///
    /// # Errors
    /// The name is taken.
    pub fn create_module(&mut self, spec: &ModuleSpec) -> Result<(), Error> {
        self.statement("CREATE", |context| {
            verify_name("module", &spec.name)?;
            spec.columns.iter().try_for_each(|column| verify_name("column", &column.name))?;
            let _ddl = lock(&context.db().ddl);
            let schema = context.schema_id(spec.schema.as_deref().unwrap_or("dbo"))?;
            context.insert_module(&NewModule {
                kind: spec.kind.code(),
                schema,
                parent: ObjectId(0),
                name: &spec.name,
                text: &spec.text,
                columns: &spec.columns,
            })?;
            Ok(())
        })
    }

    /// Keeps the text of a trigger. From now on the rows of its table are only read here.
    ///
    /// # Errors
    /// The same as for other modules.
    pub fn create_trigger(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        text: &str,
    ) -> Result<(), Error> {
        self.statement("CREATE TRIGGER", |context| {
            verify_name("trigger", name)?;
            let old = context.lock_definition(table)?;
            let _ddl = lock(&context.db().ddl);
            let schema = context.schema_id(table.schema())?;
            let id = context.insert_module(&NewModule {
                kind: TRIGGER,
                schema,
                parent: table.id(),
                name,
                text,
                columns: &[],
            })?;
            let mut new = Storage::clone(&old);
            new.triggers.push(Trigger { id, name: name.to_owned() });
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
            let is_it = |trigger: &&Trigger| trigger.name.eq_ignore_ascii_case(name);
            let trigger = old.triggers.iter().find(is_it).ok_or_else(|| no_module(name))?.clone();
            context.forget_object(trigger.id)?;
            let mut new = Storage::clone(&old);
            new.triggers.retain(|other| other.id != trigger.id);
            context.store(table, new);
            Ok(())
        })
    }

    /// Drops a view, procedure or function.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn drop_module(&mut self, schema: &str, name: &str) -> Result<(), Error> {
        self.statement("DROP", |context| {
            let _ddl = lock(&context.db().ddl);
            let schema = context.schema_id(schema)?;
            let id =
                context.db().catalog.object_named(schema, name)?.ok_or_else(|| no_module(name))?;
            let rows = context.db().catalog.system("sysschobjs")?.rows(&[int(id.0)])?;
            let kind = rows
                .first()
                .and_then(|row| row.get(object::KIND))
                .map(crate::catalog::system_table::bytes);
            let parent = rows.first().and_then(|row| row.get(object::PARENT)).and_then(number);
            let is_module = [b"V ", b"P ", b"FN", b"IF", b"TF"]
                .iter()
                .any(|code| kind == Some(code.as_slice()));
            if !is_module || parent != Some(0) {
                return Err(no_module(name));
            }
            if !context.db().catalog.system("sysidxstats")?.rows(&[int(id.0)])?.is_empty() {
                return Err(Unsupported::IndexedModule { name: name.to_owned() }.into());
            }
            context.forget_object(id)
        })
    }
}

impl StatementContext<'_> {
    fn insert_module(&mut self, module: &NewModule<'_>) -> Result<ObjectId, Error> {
        let NewModule { kind, schema, parent, name, text, columns } = *module;
        if self.db().catalog.object_named(schema, name)?.is_some() {
            return Err(Error::Exists { name: name.to_owned() });
        }
        let id = self.object_id()?;
        let definitions = columns.iter().map(|column| column_definition(column, ObjectId(0)));
        let definitions = definitions.collect::<Result<Vec<_>, _>>()?;
        let mut rows = SystemRows::new();
        let module = ModuleDefinition {
            id,
            kind,
            schema_id: schema,
            parent,
            name,
            text,
            columns: &definitions,
            created: self.now(),
        };
        add_module(&module, &mut rows);
        self.insert_system_rows(&rows)?;
        Ok(id)
    }

    /// Everything that the catalog has of an object that is not a table.
    fn forget_object(&mut self, id: ObjectId) -> Result<(), Error> {
        self.delete_where("sysobjvalues", &[byte(TEXT), int(id.0)])?;
        self.delete_where("syscolpars", &[int(id.0)])?;
        self.forget_references(id)?;
        self.delete_where("sysschobjs", &[int(id.0)])
    }
}

fn no_module(name: &str) -> Error {
    Unsupported::NoModule { name: name.to_owned() }.into()
}
