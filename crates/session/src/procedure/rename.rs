//! sp_rename: another name for an object, column, index or statistics.
//!
//! `@objname` is taken apart as a name in statements, `@newname` is the name as it is.

use extentdb_engine::{Error, Session};
use extentdb_tsql::syntax::{ObjectName, Qualifier};

use super::Finished;
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::message::Message;
use extentdb_connection::objects::{ResolvedObject, ResolvedTable, object_name};
use extentdb_connection::request::Argument;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_connection::variant;

/// Told with every new name.
const CAUTION: i32 = 15477;
const CAUTION_TEXT: &str =
    "Caution: Changing any part of an object name could break scripts and stored procedures.";
const NAME: &str = "sp_rename";

/// What is renamed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    Object,
    Column,
    Index,
}

/// A call: what it is about, and the new name.
struct Renaming<'a> {
    written: &'a str,
    new_name: &'a str,
    item: Item,
    /// `@objtype` as it was given.
    given: &'a str,
}

pub(super) fn run(run: &mut Run<'_>, arguments: &[Argument]) -> Result<Finished, Stop> {
    let text = |at: usize, name: &str| {
        let named = arguments.iter().find(|it| it.name.eq_ignore_ascii_case(name));
        let placed = arguments.get(at).filter(|it| it.name.is_empty());
        named.or(placed).and_then(|argument| variant::text(&argument.value))
    };
    let required = |at: usize, name: &'static str| {
        text(at, name).filter(|text| !text.is_empty()).ok_or_else(|| Cause::MissingParameter {
            procedure: NAME.to_owned(),
            parameter: name.to_owned(),
        })
    };
    let written = required(0, "@objname")?;
    let new_name = required(1, "@newname")?;
    let given = text(2, "@objtype").unwrap_or_default().to_uppercase();
    let item = item_of(&given)?;
    if run.connection.transaction.is_doomed {
        return Err(Cause::Doomed.into());
    }
    run.connection.begin_implicit(run.output)?;
    let renaming = Renaming { written: &written, new_name: &new_name, item, given: &given };
    match item {
        Item::Object => renaming.object(run)?,
        Item::Column | Item::Index => renaming.part(run)?,
    }
    run.output.message(&Message::info(CAUTION, 1, 0, CAUTION_TEXT), false)?;
    Ok(Finished::default())
}

fn item_of(given: &str) -> Result<Item, Cause> {
    match given {
        "" | "OBJECT" => Ok(Item::Object),
        "COLUMN" => Ok(Item::Column),
        "INDEX" | "STATISTICS" => Ok(Item::Index),
        "DATABASE" | "USERDATATYPE" => {
            Err(Cause::not_supported(format!("sp_rename of a {}", given.to_lowercase())))
        }
        other => Err(DefinitionCause::RenameType { ty: other.to_owned() }.into()),
    }
}

impl Renaming<'_> {
    fn object(&self, run: &mut Run<'_>) -> Result<(), Stop> {
        let found = run.connection.object(&object_name(self.written))?;
        let found = found.ok_or_else(|| DefinitionCause::NothingToRename {
            name: self.written.to_owned(),
            database: run.connection.database.clone(),
            ty: self.shown_type(),
        });
        let found = found.map_err(Cause::from)?;
        let database = found.database.clone();
        let renamed = run.connection.in_database(&database, |connection| {
            rename_object(&mut connection.session, &found, self.new_name)
        });
        renamed.map_err(|error| self.problem(run, &error).into())
    }

    /// A column or index: `[schema.]table.name`.
    fn part(&self, run: &mut Run<'_>) -> Result<(), Stop> {
        let missing =
            || Cause::from(DefinitionCause::AmbiguousRename { ty: self.given.to_owned() });
        let name = object_name(self.written);
        let table = table_of(&name).ok_or_else(missing)?;
        let found = run.connection.object(&table)?.ok_or_else(missing)?;
        let ResolvedTable { database, table, .. } = found.into_table()?.ok_or_else(missing)?;
        let own = name.name.text.to_string();
        let renamed = run.connection.in_database(&database, |connection| {
            let session = &mut connection.session;
            match self.item {
                Item::Column => session.rename_column(&table, &own, self.new_name),
                _ => session.rename_index(&table, &own, self.new_name),
            }
        });
        renamed.map_err(|error| match error {
            Error::NotSupported(_) | Error::NoIndex { .. } => missing().into(),
            error => self.problem(run, &error).into(),
        })
    }

    fn problem(&self, run: &Run<'_>, error: &Error) -> Cause {
        let kind = match self.item {
            Item::Object => "object",
            Item::Column => "COLUMN",
            Item::Index => "INDEX",
        };
        match error {
            Error::Exists { name } => {
                DefinitionCause::NameInUse { name: name.clone(), kind }.into()
            }
            Error::Dependent { .. } => {
                DefinitionCause::RenameDependent { name: self.written.to_owned() }.into()
            }
            Error::NotSupported(what) => Cause::not_supported(what.to_string()),
            error => run.connection.engine_cause(error),
        }
    }

    fn shown_type(&self) -> String {
        if self.given.is_empty() { "(null)".to_owned() } else { self.given.to_owned() }
    }
}

/// Gives an object another name: by what it is.
fn rename_object(
    session: &mut Session,
    found: &ResolvedObject,
    new_name: &str,
) -> Result<(), Error> {
    let own = &*found.object.object.name;
    if let Some(table) = &found.table {
        return session.rename_table(table, new_name).map(drop);
    }
    let parent = found.object.object.parent;
    if parent.0 == 0 {
        return session.rename_module(&found.schema_name(), own, new_name);
    }
    let of_parent = found.model.object_by_id(parent).ok_or(Error::Gone { id: parent })?;
    let table = session.table(&format!("{}.{}", found.schema_name(), of_parent.object.name))?;
    match found.kind() {
        "PK" | "UQ" => session.rename_index(&table, own, new_name),
        _ => session.rename_constraint(&table, own, new_name),
    }
}

/// The name without its last part.
fn table_of(name: &ObjectName) -> Option<ObjectName> {
    let table = name.schema()?.clone();
    let schema = name.database().cloned();
    let database = name.server().cloned();
    let has_qualifier = schema.is_some() || database.is_some();
    let qualifier = has_qualifier.then(|| Box::new(Qualifier { server: None, database, schema }));
    Some(ObjectName { name: table, qualifier, span: name.span })
}
