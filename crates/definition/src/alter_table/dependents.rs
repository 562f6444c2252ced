//! What keeps a column from being dropped or altered: 5074 for each of them.

use extentdb_engine::model::{CatalogModel, Column, TableModel};

use super::super::constraint::{Target, columns_of_text};
use super::super::problem::Problem;
use extentdb_connection::cause::DefinitionCause;

/// A dependent object, and what it is in the message.
struct Dependent {
    kind: &'static str,
    name: String,
}

/// Which dependents count: types may change under defaults that stay what they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Dropped,
    Altered,
}

/// The messages about a column that something needs; `named` is what the engine says needs it.
pub(super) fn problem(
    target: &Target,
    model: &CatalogModel,
    column: &Column,
    change: Change,
    named: &str,
) -> Option<Problem> {
    let table = target.of(model).ok()?;
    let mut found = of_column(table, model, column, change);
    if !found.iter().any(|own| own.name.eq_ignore_ascii_case(named)) {
        found.push(Dependent { kind: "object", name: named.to_owned() });
    }
    let cause = |own: Dependent| DefinitionCause::Dependent {
        kind: own.kind,
        name: own.name,
        column: column.name.clone(),
    };
    let mut problem: Option<Problem> = None;
    for own in found {
        problem = Some(match problem {
            Some(before) => before.then(cause(own)),
            None => cause(own).into(),
        });
    }
    let statement = match change {
        Change::Dropped => "ALTER TABLE DROP COLUMN",
        Change::Altered => "ALTER TABLE ALTER COLUMN",
    };
    let name = column.name.clone();
    problem.map(|problem| problem.then(DefinitionCause::Accessed { statement, name }))
}

fn of_column(
    table: &TableModel,
    model: &CatalogModel,
    column: &Column,
    change: Change,
) -> Vec<Dependent> {
    let mut found = Vec::new();
    let mut add = |kind: &'static str, name: &str| {
        found.push(Dependent { kind, name: name.to_owned() });
    };
    for index in &table.indexes {
        let uses = index.columns.iter().any(|own| own.column_id == column.id);
        let is_constraint = index.primary_key || index.unique_constraint;
        if let (true, Some(name)) = (uses, &index.name) {
            add(if is_constraint { "object" } else { "index" }, name);
        }
    }
    if let (Some(default), Change::Dropped) = (table.default_of(column), change) {
        add("object", &default.object.name);
    }
    let names = |text: &Option<String>| {
        let used = text.as_deref().map(|text| columns_of_text(text, table, model));
        used.is_some_and(|used| used.iter().any(|name| name == &column.name))
    };
    for check in table.checks.iter().filter(|check| names(&check.definition)) {
        add("object", &check.object.name);
    }
    for key in &table.foreign_keys {
        if key.columns.iter().any(|(from, _)| *from == column.id) {
            add("object", &key.object.name);
        }
    }
    for other in table.columns.iter().filter(|other| names(&other.computed)) {
        add("column", &other.name);
    }
    let is_of_index = |id: i32| table.indexes.iter().any(|index| index.id.0 == id);
    for own in &table.statistics {
        if own.columns.contains(&column.id) && !is_of_index(own.id) && !own.is_auto_created() {
            add("statistics", &own.name);
        }
    }
    found
}
