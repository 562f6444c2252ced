//! sp_addextendedproperty, sp_updateextendedproperty, sp_dropextendedproperty.
//!
//! ```text
//! level 0   nothing: the database; SCHEMA or USER, TYPE, FILEGROUP
//! level 1   TABLE, VIEW, PROCEDURE, FUNCTION, SEQUENCE, SYNONYM, TYPE … of a schema
//! level 2   COLUMN, INDEX, CONSTRAINT, TRIGGER, PARAMETER of such an object
//! ```

use extentdb_engine::model::{CatalogModel, ObjectBody, ObjectModel};
use extentdb_engine::{Error, PropertyOwner};
use extentdb_types::Datum;

use super::Finished;
use super::given::Given;
use extentdb_connection::cause::Cause;
use extentdb_connection::connection::Connection;
use extentdb_connection::request::Argument;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_connection::variant;

/// The property is there already; it is not there; what it belongs to is not.
const EXISTS: i32 = 15_233;
const MISSING: i32 = 15_217;
const NO_OWNER: i32 = 15_135;
const INVALID: i32 = 15_600;

/// Classes of extended properties.
const OF_DATABASE: u8 = 0;
const OF_OBJECT: u8 = 1;
const OF_PARAMETER: u8 = 2;
const OF_SCHEMA: u8 = 3;
const OF_TYPE: u8 = 6;
const OF_INDEX: u8 = 7;
const OF_FILEGROUP: u8 = 20;
/// Id of the filegroup PRIMARY.
const PRIMARY_FILEGROUP: i32 = 1;

/// What a call does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Add,
    Update,
    Drop,
}

/// A level of the path to the owner: its type in capitals, and its name.
type Level = (String, String);

impl Action {
    /// Of a procedure's name in small letters.
    pub(super) fn of(name: &str) -> Option<Action> {
        match name {
            "sp_addextendedproperty" => Some(Action::Add),
            "sp_updateextendedproperty" => Some(Action::Update),
            "sp_dropextendedproperty" => Some(Action::Drop),
            _ => None,
        }
    }

    fn procedure(self) -> &'static str {
        match self {
            Action::Add => "sp_addextendedproperty",
            Action::Update => "sp_updateextendedproperty",
            Action::Drop => "sp_dropextendedproperty",
        }
    }
}

pub(super) fn run(
    run: &mut Run<'_>,
    arguments: &[Argument],
    action: Action,
) -> Result<Finished, Stop> {
    let given = Given { procedure: action.procedure(), arguments };
    let name = given.text(0, "@name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| given.missing("@name"))?;
    let first = if action == Action::Drop { 1 } else { 2 };
    let levels = levels(&given, first)?;
    let value = match action {
        Action::Drop => Datum::Null,
        _ => value_of(&given),
    };
    run.connection.begin_implicit(run.output)?;
    let owner = owner(run.connection, &levels)?;
    let owner = owner.ok_or_else(|| no_owner(&levels))?;
    let session = &mut run.connection.session;
    let done = match action {
        Action::Add => session.add_property(owner, &name, &value),
        Action::Update => session.set_property(owner, &name, &value),
        Action::Drop => session.drop_property(owner, &name),
    };
    done.map_err(|error| problem(run.connection, &error, &name, &levels))?;
    Ok(Finished::default())
}

/// The value as a sql_variant.
fn value_of(given: &Given<'_>) -> Datum<'static> {
    let Some(argument) = given.argument(1, "@value") else { return Datum::Null };
    match (argument.value.clone(), argument.ty) {
        (value @ (Datum::Null | Datum::Variant(_)), _) => value,
        (value, Some(ty)) if !ty.is_max() => variant::wrap(value, ty),
        (value, _) => variant::text(&value).map_or(Datum::Null, |text| {
            let units = u16::try_from(text.encode_utf16().count() * 2).unwrap_or(u16::MAX);
            let collation = extentdb_types::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
            let ty = extentdb_types::SqlType::NVarChar { len: Some(units.max(2)), collation };
            variant::wrap(variant::nchar(&text), ty)
        }),
    }
}

/// The levels that are given; each has a type and a name.
fn levels(given: &Given<'_>, first: usize) -> Result<Vec<Level>, Cause> {
    let mut levels = Vec::new();
    for level in 0..3 {
        let ty = given.text(first + 2 * level, &format!("@level{level}type"));
        let name = given.text(first + 2 * level + 1, &format!("@level{level}name"));
        match (ty, name) {
            (Some(ty), Some(name)) if levels.len() == level => {
                levels.push((ty.trim().to_uppercase(), name));
            }
            (None, None) => {}
            _ => {
                let procedure = given.procedure;
                return Err(Cause::Failed {
                    number: INVALID,
                    severity: 15,
                    text: format!(
                        "An invalid parameter or option was specified for procedure \
                         '{procedure}'."
                    ),
                });
            }
        }
    }
    Ok(levels)
}

/// What the levels lead to.
fn owner(connection: &mut Connection, levels: &[Level]) -> Result<Option<PropertyOwner>, Cause> {
    let database = connection.session.database().clone();
    let model = database.model().map_err(|error| connection.engine_cause(&error))?;
    let plain = |class, id| PropertyOwner { class, id, minor: 0 };
    Ok(match levels {
        [] => Some(plain(OF_DATABASE, 0)),
        [(ty, name)] => match ty.as_str() {
            "SCHEMA" => model.schema(name).map(|schema| plain(OF_SCHEMA, schema.id)),
            "FILEGROUP" if name.eq_ignore_ascii_case("PRIMARY") => {
                Some(plain(OF_FILEGROUP, PRIMARY_FILEGROUP))
            }
            "TYPE" => of_type(&model, "dbo", name),
            "TRIGGER" => {
                let mut triggers = model.objects().filter(|it| it.object.is_of_database());
                let found = triggers.find(|it| it.object.name.eq_ignore_ascii_case(name));
                found.map(|it| plain(OF_OBJECT, it.object.id.0))
            }
            other => return Err(refused(other)),
        },
        [(_, schema), (ty, name), rest @ ..] => {
            if ty == "TYPE" {
                return Ok(of_type(&model, schema, name));
            }
            let Some(object) = model.object(schema, name).cloned() else { return Ok(None) };
            match rest {
                [] => Some(plain(OF_OBJECT, object.object.id.0)),
                [(ty, name), ..] => part(&model, &object, ty, name)?,
            }
        }
    })
}

fn refused(ty: &str) -> Cause {
    Cause::not_supported(format!("extended properties of a {}", ty.to_lowercase()))
}

fn of_type(model: &CatalogModel, schema: &str, name: &str) -> Option<PropertyOwner> {
    let schema = model.schema(schema)?;
    let found = model.scalar_type_named(schema.id, name)?;
    Some(PropertyOwner { class: OF_TYPE, id: found.id, minor: 0 })
}

/// A column, index, constraint, trigger or parameter of an object.
fn part(
    model: &CatalogModel,
    object: &ObjectModel,
    ty: &str,
    name: &str,
) -> Result<Option<PropertyOwner>, Cause> {
    let id = object.object.id.0;
    let is_it = |own: &str| own.eq_ignore_ascii_case(name);
    Ok(match ty {
        "COLUMN" => {
            let columns = match &object.body {
                ObjectBody::Table(table) => table.columns.as_slice(),
                ObjectBody::Module(module) => module.columns.as_slice(),
                _ => &[],
            };
            let column = columns.iter().find(|column| is_it(&column.name));
            column.map(|column| PropertyOwner { class: OF_OBJECT, id, minor: column.id })
        }
        "INDEX" => {
            let ObjectBody::Table(table) = &object.body else { return Ok(None) };
            let named =
                |index: &&extentdb_engine::model::Index| index.name.as_deref().is_some_and(is_it);
            let index = table.indexes.iter().find(named);
            index.map(|index| PropertyOwner { class: OF_INDEX, id, minor: index.id.0 })
        }
        "PARAMETER" => {
            let ObjectBody::Module(module) = &object.body else { return Ok(None) };
            let parameter = module.parameters.iter().find(|own| is_it(&own.column.name));
            parameter.map(|own| PropertyOwner { class: OF_PARAMETER, id, minor: own.column.id })
        }
        "CONSTRAINT" | "TRIGGER" => {
            let mut children = object.children.iter().filter_map(|id| model.object_by_id(*id));
            let child = children.find(|child| is_it(&child.object.name));
            child.map(|child| PropertyOwner { class: OF_OBJECT, id: child.object.id.0, minor: 0 })
        }
        other => return Err(refused(other)),
    })
}

/// Names of levels as messages show them.
fn shown(levels: &[Level]) -> String {
    if levels.is_empty() {
        return "object specified".to_owned();
    }
    levels.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(".")
}

fn no_owner(levels: &[Level]) -> Cause {
    let text = format!(
        "Object is invalid. Extended properties are not permitted on '{}', or the object does not \
         exist.",
        shown(levels)
    );
    Cause::Failed { number: NO_OWNER, severity: 16, text }
}

fn problem(connection: &Connection, error: &Error, name: &str, levels: &[Level]) -> Cause {
    let of = shown(levels);
    match error {
        Error::Exists { .. } => Cause::Failed {
            number: EXISTS,
            severity: 16,
            text: format!("Property cannot be added. Property '{name}' already exists for '{of}'."),
        },
        Error::NotSupported(extentdb_engine::Unsupported::NoProperty { .. }) => Cause::Failed {
            number: MISSING,
            severity: 16,
            text: format!(
                "Property cannot be updated or deleted. Property '{name}' does not exist for \
                 '{of}'."
            ),
        },
        other => connection.engine_cause(other),
    }
}
