//! What a change of rows fails of: messages that name the constraint and what it is about.

use extentdb_engine::Error;
use extentdb_engine::model::{CatalogModel, ForeignKey, ObjectBody, ObjectModel, TableModel};

use super::Change;
use crate::cause::Cause;
use crate::connection::Connection;

/// The cause of an error of the engine in a statement that changes rows.
pub(super) fn cause_of(error: &Error, change: &Change, connection: &Connection) -> Cause {
    let failed = |number: i32, severity: u8, text: String| Cause::Failed { number, severity, text };
    let table = &change.stored.table;
    let name = format!("{}.{}", table.schema(), table.name());
    match error {
        Error::DuplicateKey { index, key, is_constraint: true, .. } => failed(
            2627,
            14,
            format!(
                "Violation of {} constraint '{index}'. Cannot insert duplicate key in object \
                 '{name}'. The duplicate key value is ({key}).",
                if is_primary(&change.stored.object, index) { "PRIMARY KEY" } else { "UNIQUE KEY" }
            ),
        ),
        Error::DuplicateKey { index, key, .. } => failed(
            2601,
            14,
            format!(
                "Cannot insert duplicate key row in object '{name}' with unique index '{index}'. \
                 The duplicate key value is ({key})."
            ),
        ),
        Error::Rule { column, .. } => failed(
            513,
            16,
            format!(
                "A column insert or update conflicts with a rule imposed by a previous CREATE \
                 RULE statement. The statement was terminated. The conflict occurred in database \
                 '{}', table '{name}', column '{column}'.",
                change.stored.database.name()
            ),
        ),
        Error::Constraint { table, name, kind } => {
            let text = change
                .stored
                .database
                .model()
                .ok()
                .and_then(|model| conflict(&model, change, (table, name, kind)));
            match text {
                Some(text) => failed(547, 16, text),
                None => connection.engine_cause(error),
            }
        }
        other => connection.engine_cause(other),
    }
}

fn is_primary(object: &ObjectModel, index: &str) -> bool {
    let ObjectBody::Table(table) = &object.body else { return false };
    table.primary_key().is_some_and(|own| own.name.as_deref() == Some(index))
}

/// The text of message 547.
fn conflict(
    model: &CatalogModel,
    change: &Change,
    (table, name, kind): (&str, &str, &str),
) -> Option<String> {
    let verb = change.verb;
    let database = change.stored.database.name();
    let (kind, object, column) = if kind == "CHECK" {
        let object = &change.stored.object;
        let ObjectBody::Table(body) = &object.body else { return None };
        let check = body.checks.iter().find(|check| check.object.name == name);
        let column = check.and_then(|check| column_name(body, check.column_id));
        ("CHECK", qualified(model, object), column)
    } else {
        let (child, key) = foreign_key(model, name)?;
        let parent = model.object_by_id(key.referenced)?;
        let is_same = child.object.id == parent.object.id;
        // A row that refers, or one that is referred to?
        let is_child = child.object.name == table && (!is_same || verb != "DELETE");
        let kind = match (is_child, is_same) {
            (true, false) => "FOREIGN KEY",
            (true, true) => "FOREIGN KEY SAME TABLE",
            (false, false) => "REFERENCE",
            (false, true) => "SAME TABLE REFERENCE",
        };
        let shown = if is_child { parent } else { &child };
        let column = match key.columns.as_slice() {
            [(own, referenced)] => {
                let id = if is_child { *referenced } else { *own };
                shown.table().and_then(|table| column_name(table, id))
            }
            _ => None,
        };
        (kind, qualified(model, shown), column)
    };
    let column = column.map(|column| format!(", column '{column}'")).unwrap_or_default();
    Some(format!(
        "The {verb} statement conflicted with the {kind} constraint \"{name}\". The conflict \
         occurred in database \"{database}\", table \"{object}\"{column}."
    ))
}

fn foreign_key(
    model: &CatalogModel,
    name: &str,
) -> Option<(extentdb_base::sync::Arc<ObjectModel>, ForeignKey)> {
    for object in model.objects() {
        let Some(table) = object.table() else { continue };
        if let Some(key) = table.foreign_keys.iter().find(|key| key.object.name == name) {
            return Some((object.clone(), key.clone()));
        }
    }
    None
}

fn column_name(table: &TableModel, id: i32) -> Option<String> {
    table.columns.iter().find(|column| column.id == id).map(|column| column.name.clone())
}

/// `schema.table`
fn qualified(model: &CatalogModel, object: &ObjectModel) -> String {
    let schema = model.schemas().find(|schema| schema.id == object.object.schema_id);
    let schema = schema.map_or("dbo", |schema| &schema.name);
    format!("{schema}.{}", object.object.name)
}
