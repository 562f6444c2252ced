//! The rows are those of the model, each where it was put; tables that are not in the model are not there.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use extentdb_base::Rid;
use extentdb_engine::{Database, Error, Row};
use extentdb_types::Datum;

use crate::model::Model;

/// Rows of tables, by table and id.
pub(crate) type Found = BTreeMap<String, BTreeMap<i32, (Rid, Row)>>;

/// Reads all user tables.
pub(crate) fn read(db: &Database) -> Result<Found, Error> {
    let mut session = db.session();
    let mut found = Found::new();
    for table in db.tables() {
        let mut rows = BTreeMap::new();
        session.scan(&table, &mut |at, row| {
            rows.insert(id_of(&row), (at, row));
            ControlFlow::Continue(())
        })?;
        found.insert(table.name().to_owned(), rows);
    }
    Ok(found)
}

/// The value of the first column.
pub(crate) fn id_of(row: &Row) -> i32 {
    match row.first() {
        Some(Datum::Int(id)) => *id,
        _ => i32::MIN,
    }
}

/// How the tables differ from the model; `None` when they do not. With `places`, rows must be where they were put.
pub(crate) fn difference(model: &Model, found: &Found, places: bool) -> Option<String> {
    let (expected, there): (Vec<_>, Vec<_>) = (model.keys().collect(), found.keys().collect());
    if expected != there {
        return Some(format!("tables {expected:?} expected, {there:?} found"));
    }
    for (name, table) in model {
        let rows = &found[name];
        if let Some(id) = table.rows.keys().find(|id| !rows.contains_key(id)) {
            return Some(format!("row {id} of {name} is lost"));
        }
        if let Some(id) = rows.keys().find(|id| !table.rows.contains_key(id)) {
            return Some(format!("row {id} of {name} was never committed"));
        }
        for (id, stored) in &table.rows {
            let (at, row) = &rows[id];
            if *stored.row != *row {
                return Some(format!("row {id} of {name} at {at} has other values"));
            }
            if places && stored.at != *at {
                return Some(format!("row {id} of {name} was put at {} and is at {at}", stored.at));
            }
        }
    }
    None
}
