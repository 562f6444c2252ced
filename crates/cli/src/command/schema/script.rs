//! Statements in an order that runs: what is named comes before what names it.
//!
//! ```text
//! schemas, types, bound defaults and rules
//! tables with their keys, then their indexes
//! foreign keys, then checks (those that call a function later)
//! views, procedures, functions, triggers in the order of their creation, indexes of views
//! ```

use extentdb_catalog::{Catalog, Table};
use serde_json::{Value, json};

use super::{constraint, index, object, table};
use crate::names::user_tables;

/// Begins a comment about something that is missing.
const NOT_DECODED: &str = "-- not decoded: ";

/// A statement, or only a comment.
pub(super) struct Statement {
    /// `TABLE`, `VIEW` …
    pub(super) kind: &'static str,
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) sql: String,
}

/// The statements of a database or table.
pub(super) struct Script {
    statements: Vec<Statement>,
}

impl Script {
    pub(super) fn of_database(catalog: &Catalog) -> Script {
        let tables = user_tables(catalog);
        let mut statements = object::schemas(catalog);
        statements.extend(object::types(catalog));
        statements.extend(object::bound(catalog));
        for table in &tables {
            statements.extend(of_table(catalog, table));
        }
        statements.extend(tables.iter().flat_map(|table| constraint::foreign_keys(catalog, table)));
        let checks = tables.iter().flat_map(|table| constraint::checks(catalog, table));
        let (late, early): (Vec<_>, Vec<_>) =
            checks.partition(|check| object::calls_function(catalog, &check.sql));
        statements.extend(early);
        statements.extend(object::modules(catalog, |_| true));
        statements.extend(late);
        statements.extend(index::of_views(catalog));
        statements.extend(object::left_over(catalog));
        Script { statements }
    }

    /// One table with what belongs to it.
    pub(super) fn of_table(catalog: &Catalog, table: &Table) -> Script {
        let mut statements = of_table(catalog, table);
        statements.extend(constraint::foreign_keys(catalog, table));
        statements.extend(constraint::checks(catalog, table));
        statements.extend(object::modules(catalog, |module| module.parent == table.id));
        Script { statements }
    }

    /// The script, with GO after every statement.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        for statement in &self.statements {
            text.push_str(statement.sql.trim_end_matches(['\r', '\n']));
            text.push_str("\nGO\n\n");
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }

    /// One object per statement.
    pub(super) fn to_json(&self) -> Value {
        let objects = self.statements.iter().map(|statement| {
            json!({
                "kind": statement.kind,
                "schema": statement.schema,
                "name": statement.name,
                "sql": statement.sql,
            })
        });
        Value::Array(objects.collect())
    }

    /// How many things are missing.
    pub(super) fn not_decoded(&self) -> usize {
        self.statements.iter().map(|statement| statement.sql.matches(NOT_DECODED).count()).sum()
    }
}

fn of_table(catalog: &Catalog, table: &Table) -> Vec<Statement> {
    let mut statements = vec![table::create(catalog, table)];
    statements.extend(table::bindings(catalog, table));
    statements.extend(index::of_table(catalog, table));
    statements
}

/// A comment about something that is missing, as one line.
pub(super) fn not_decoded(what: &str) -> String {
    format!("{NOT_DECODED}{}", what.replace(['\r', '\n'], " "))
}

/// A comment about status bits without a known meaning.
pub(super) fn unknown_bits(what: &str, bits: u32) -> Option<String> {
    (bits != 0).then(|| not_decoded(&format!("status bits {bits:#x} of {what}")))
}
