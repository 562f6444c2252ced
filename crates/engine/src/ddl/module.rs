//! Views, procedures, functions and triggers: kept as the texts that made them. Nothing here runs
//! them.
//!
//! ```text
//! sysschobjs      name, schema, kind; of a trigger its table
//! sysobjvalues    class 1: the text
//! syscolpars      the columns of a view or function, where the caller says which
//! ```
//!
//! Rows of a table with an enabled trigger are changed by a caller that runs the trigger, and by no
//! other ([`Session::set_triggers_run_of`]). Its definition may change, as triggers do not run for
//! that.

use extentdb_base::ObjectId;
use extentdb_base::sync::lock;
use extentdb_catalog::layout::Cell;
use extentdb_catalog::model::{Object, ObjectType};
use extentdb_catalog::table::describe::{
    ModuleDefinition, SystemRows, add_module, add_text, column_row, parameter_row, rows_of,
};
use extentdb_txn::lock::{LockMode, Resource};
use extentdb_types::SqlType;

use crate::catalog::objects::object;
use crate::catalog::system_table::{byte, bytes, int, number};
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
    /// CREATE DEFAULT: a value for the columns that are bound to it.
    Default,
    /// CREATE RULE: a condition for the values of the columns that are bound to it.
    Rule,
}

impl ModuleKind {
    pub(crate) fn code(self) -> ObjectType {
        ObjectType(match self {
            ModuleKind::View => *b"V ",
            ModuleKind::Procedure => *b"P ",
            ModuleKind::ScalarFunction => *b"FN",
            ModuleKind::InlineFunction => *b"IF",
            ModuleKind::TableFunction => *b"TF",
            ModuleKind::Default => *b"D ",
            ModuleKind::Rule => *b"R ",
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
    /// Parameters in order; of a function of values, what it returns comes first, without a name.
    pub parameters: Vec<ParameterSpec>,
    /// The settings of the session that defines it.
    pub settings: ModuleSettings,
}

/// A parameter of a procedure or function.
#[derive(Clone, Debug)]
pub struct ParameterSpec {
    /// With its `@`; empty for what a function returns.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// The alias type that it was declared with.
    pub user_type: Option<i32>,
    /// OUTPUT.
    pub is_output: bool,
}

/// The settings that a module keeps from the session that defines it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModuleSettings {
    /// SET ANSI_NULLS.
    pub ansi_nulls: bool,
    /// SET QUOTED_IDENTIFIER: how its text is parsed.
    pub quoted_identifier: bool,
}

impl Default for ModuleSettings {
    fn default() -> ModuleSettings {
        ModuleSettings { ansi_nulls: true, quoted_identifier: true }
    }
}

impl ModuleSettings {
    /// Bits of `sysschobjs.status`.
    fn status(self) -> u32 {
        let ansi_nulls = if self.ansi_nulls { Object::ANSI_NULLS } else { 0 };
        ansi_nulls | if self.quoted_identifier { Object::QUOTED_IDENTIFIER } else { 0 }
    }
}

/// A module that the catalog does not have yet.
pub(crate) struct NewModule<'m> {
    pub(crate) kind: ObjectType,
    pub(crate) schema: i32,
    /// The table of a trigger; 0 for other modules.
    pub(crate) parent: ObjectId,
    pub(crate) name: &'m str,
    pub(crate) text: &'m str,
    pub(crate) columns: &'m [ColumnSpec],
    pub(crate) parameters: &'m [ParameterSpec],
    pub(crate) settings: ModuleSettings,
}

/// Kinds of modules that are dropped by name alone.
const MODULES: &[ObjectType] = &[
    ObjectType(*b"V "),
    ObjectType(*b"P "),
    ObjectType(*b"FN"),
    ObjectType(*b"IF"),
    ObjectType(*b"TF"),
    ObjectType(*b"D "),
    ObjectType(*b"R "),
];
/// Those that are renamed by it.
pub(crate) const RENAMED: &[ObjectType] = &[
    ObjectType(*b"V "),
    ObjectType(*b"P "),
    ObjectType(*b"FN"),
    ObjectType(*b"IF"),
    ObjectType(*b"TF"),
    ObjectType(*b"D "),
    ObjectType(*b"R "),
    ObjectType(*b"SN"),
    ObjectType(*b"SO"),
];

/// Class of metadata locks of names.
const NAMES: u32 = 50;
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
            let schema = context.schema_id(spec.schema.as_deref().unwrap_or("dbo"))?;
            context.lock_name(schema, &spec.name)?;
            let _ddl = lock(&context.db().ddl);
            context.insert_module(&NewModule {
                kind: spec.kind.code(),
                schema,
                parent: ObjectId(0),
                name: &spec.name,
                text: &spec.text,
                columns: &spec.columns,
                parameters: &spec.parameters,
                settings: spec.settings,
            })?;
            Ok(())
        })
    }

    /// Keeps another text of a view, procedure or function, with its id, permissions and extended
    /// properties.
    ///
    /// # Errors
    /// There is none of this name and kind.
    pub fn alter_module(&mut self, spec: &ModuleSpec) -> Result<(), Error> {
        self.statement("ALTER", |context| {
            spec.columns.iter().try_for_each(|column| verify_name("column", &column.name))?;
            let schema = context.schema_id(spec.schema.as_deref().unwrap_or("dbo"))?;
            context.lock_name(schema, &spec.name)?;
            let _ddl = lock(&context.db().ddl);
            let id = context.object_of(schema, &spec.name, &[spec.kind.code()])?;
            context.replace_text(id, &spec.text, spec.settings)?;
            context.delete_where("syscolpars", &[int(id.0)])?;
            let mut rows = SystemRows::new();
            for (number, column) in (1..).zip(&spec.columns) {
                let definition = column_definition(column, ObjectId(0))?;
                rows_of(&mut rows, "syscolpars").push(column_row(id, number, &definition));
            }
            add_parameters(id, &spec.parameters, &mut rows)?;
            context.insert_system_rows(&rows)
        })
    }

    /// Drops a view, procedure or function.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn drop_module(&mut self, schema: &str, name: &str) -> Result<(), Error> {
        self.statement("DROP", |context| {
            let schema = context.schema_id(schema)?;
            context.lock_name(schema, name)?;
            let _ddl = lock(&context.db().ddl);
            let id = context.object_of(schema, name, MODULES)?;
            if !context.db().catalog.system("sysidxstats")?.rows(&[int(id.0)])?.is_empty() {
                return Err(Unsupported::IndexedModule { name: name.to_owned() }.into());
            }
            for trigger in context.triggers_of(id)? {
                context.forget_object(trigger)?;
            }
            context.forget_object(id)
        })
    }
}

impl StatementContext<'_> {
    /// The object of a name, which is of one of these kinds and belongs to no other.
    pub(crate) fn object_of(
        &self,
        schema: i32,
        name: &str,
        kinds: &[ObjectType],
    ) -> Result<ObjectId, Error> {
        let id = self.db().catalog.object_named(schema, name)?.ok_or_else(|| no_module(name))?;
        let rows = self.db().catalog.system("sysschobjs")?.rows(&[int(id.0)])?;
        let row = rows.first();
        let kind = row.and_then(|row| row.get(object::KIND)).map(bytes);
        let parent = row.and_then(|row| row.get(object::PARENT)).and_then(number);
        let is_of_kind = kinds.iter().any(|code| kind == Some(code.0.as_slice()));
        if is_of_kind && parent == Some(0) { Ok(id) } else { Err(no_module(name)) }
    }

    /// The triggers of a view.
    fn triggers_of(&self, view: ObjectId) -> Result<Vec<ObjectId>, Error> {
        let rows = self.db().catalog.system("sysschobjs")?.rows(&[])?;
        let is_own = |row: &&Vec<Cell<'static>>| {
            row.get(object::PARENT).and_then(number) == Some(view.0.into())
        };
        let ids = rows.iter().filter(is_own).filter_map(|row| row.first().and_then(number));
        Ok(ids.map(|id| ObjectId(id as i32)).collect())
    }

    /// Nobody else gives or takes this name in the schema before the transaction ends.
    pub(crate) fn lock_name(&self, schema: i32, name: &str) -> Result<(), Error> {
        // FNV-1a of the name without the case of ASCII letters: equal hashes block more, never
        // less.
        let folded = name.to_ascii_lowercase();
        let hash = folded
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let id = (i64::from(schema) << 32) | i64::from(hash);
        self.lock(Resource::Metadata { class: NAMES, id }, LockMode::X, None)
    }

    /// Another text of a module.
    pub(crate) fn replace_text(
        &mut self,
        id: ObjectId,
        text: &str,
        settings: ModuleSettings,
    ) -> Result<(), Error> {
        self.mark_object(id, settings.status(), ModuleSettings::default().status())?;
        self.delete_where("sysobjvalues", &[byte(TEXT), int(id.0)])?;
        let mut rows = SystemRows::new();
        add_text(id, text, &mut rows);
        self.insert_system_rows(&rows)
    }

    pub(crate) fn insert_module(&mut self, module: &NewModule<'_>) -> Result<ObjectId, Error> {
        let NewModule {
            kind,
            schema,
            parent,
            name,
            text,
            columns,
            parameters,
            settings,
        } = *module;
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
            status: settings.status(),
            columns: &definitions,
            created: self.now(),
        };
        add_module(&module, &mut rows);
        add_parameters(id, parameters, &mut rows)?;
        self.insert_system_rows(&rows)?;
        Ok(id)
    }

    /// Everything that the catalog has of an object that is not a table.
    pub(crate) fn forget_object(&mut self, id: ObjectId) -> Result<(), Error> {
        self.delete_where("sysobjvalues", &[byte(TEXT), int(id.0)])?;
        self.delete_where("syscolpars", &[int(id.0)])?;
        self.forget_references(id)?;
        self.delete_where("sysschobjs", &[int(id.0)])
    }
}

/// The rows of `syscolpars` of parameters.
fn add_parameters(
    id: ObjectId,
    parameters: &[ParameterSpec],
    rows: &mut SystemRows,
) -> Result<(), Error> {
    // What a function returns has id 0.
    let first = if parameters.first().is_some_and(|own| own.name.is_empty()) { 0 } else { 1 };
    for (number, parameter) in (first..).zip(parameters) {
        let mut spec = ColumnSpec::new(&parameter.name, parameter.ty);
        spec.user_type = parameter.user_type;
        let definition = column_definition(&spec, ObjectId(0))?;
        let row = parameter_row(id, number, &definition, parameter.is_output || number == 0);
        rows_of(rows, "syscolpars").push(row);
    }
    Ok(())
}

pub(crate) fn no_module(name: &str) -> Error {
    Unsupported::NoModule { name: name.to_owned() }.into()
}
