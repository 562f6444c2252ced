//! Columns, indexes and statistics: COL_NAME, COLUMNPROPERTY, INDEX_COL and their like.

use extentdb_engine::model::Index;
use extentdb_sysview::property::{self, ColumnFacts};
use extentdb_types::Datum;

use super::catalog::{Catalog, Item, name, number, text};
use super::object::number_of;
use super::{Definition, Kind};
use crate::cause::Cause;
use crate::frame::Values;
use crate::objects::object_name;

type Arguments<'a> = &'a [Datum<'static>];
type Given = Result<Datum<'static>, Cause>;

fn col_name(at: Values<'_>, it: Arguments<'_>) -> Given {
    let catalog = Catalog::current(at)?;
    let Some(item) = catalog.object(number(it, 0)) else { return Ok(Datum::Null) };
    let id = number(it, 1);
    let columns = item.columns();
    let is_it = |own: &&ColumnFacts<'_>| Some(i64::from(own.id)) == id && !own.is_parameter();
    Ok(name(columns.iter().find(is_it).map(|own| own.name)))
}

/// A column by its name, in a table by its name.
fn with_column<T>(
    at: Values<'_>,
    it: Arguments<'_>,
    tell: impl FnOnce(&ColumnFacts<'_>) -> T,
) -> Result<Option<T>, Cause> {
    let (Some(table), Some(wanted)) = (text(it, 0), text(it, 1)) else { return Ok(None) };
    let table = object_name(&table);
    let Some(catalog) = Catalog::of_name(at, &table)? else { return Ok(None) };
    let Some(item) = catalog.named_object(at, &table) else { return Ok(None) };
    let columns = item.columns();
    let mut own = columns.iter().filter(|own| !own.is_parameter());
    Ok(own.find(|own| catalog.model.is_same_name(own.name, &wanted)).map(tell))
}

fn col_length(at: Values<'_>, it: Arguments<'_>) -> Given {
    let length = with_column(at, it, |own| own.max_length)?;
    Ok(length.map_or(Datum::Null, Datum::SmallInt))
}

fn column_property(at: Values<'_>, it: Arguments<'_>) -> Given {
    let (Some(wanted), Some(property)) = (text(it, 1), text(it, 2)) else { return Ok(Datum::Null) };
    let catalog = Catalog::current(at)?;
    let Some(item) = catalog.object(number(it, 0)) else { return Ok(Datum::Null) };
    let columns = item.columns();
    let mut columns = columns.iter();
    match columns.find(|own| catalog.model.is_same_name(own.name, &wanted)) {
        Some(own) => number_of(property::column(&catalog.model, own, &property), &property),
        None => Ok(Datum::Null),
    }
}

fn index_property(at: Values<'_>, it: Arguments<'_>) -> Given {
    let (Some(index), Some(property)) = (text(it, 1), text(it, 2)) else { return Ok(Datum::Null) };
    let catalog = Catalog::current(at)?;
    match catalog.object(number(it, 0)) {
        Some(Item::Stored(object)) => {
            let value = property::index(&catalog.model, object, &index, &property);
            number_of(value, &property)
        }
        _ => Ok(Datum::Null),
    }
}

fn index_key_property(at: Values<'_>, it: Arguments<'_>) -> Given {
    let (Some(index), Some(key), Some(property)) = (number(it, 1), number(it, 2), text(it, 3))
    else {
        return Ok(Datum::Null);
    };
    let catalog = Catalog::current(at)?;
    match catalog.object(number(it, 0)) {
        Some(Item::Stored(object)) => {
            number_of(property::index_key(object, index, key, &property), &property)
        }
        _ => Ok(Datum::Null),
    }
}

fn index_col(at: Values<'_>, it: Arguments<'_>) -> Given {
    let (Some(table), Some(index), Some(key)) = (text(it, 0), number(it, 1), number(it, 2)) else {
        return Ok(Datum::Null);
    };
    let table = object_name(&table);
    let Some(catalog) = Catalog::of_name(at, &table)? else { return Ok(Datum::Null) };
    let item = catalog.named_object(at, &table);
    let told = item.and_then(|item| {
        let object = item.stored()?;
        let own = match (object.table(), object.module()) {
            (Some(table), _) => &table.indexes,
            (_, Some(module)) => &module.indexes,
            _ => return None,
        };
        let column = key_column(own, index, key)?;
        let columns = item.columns();
        columns.iter().find(|own| own.id == column).map(|own| own.name.to_owned())
    });
    Ok(name(told.as_deref()))
}

fn key_column(indexes: &[Index], index: i64, key: i64) -> Option<i32> {
    let index = indexes.iter().find(|own| i64::from(own.id.0) == index)?;
    let is_key = |own: &&extentdb_engine::model::IndexColumn| i64::from(own.key_ordinal) == key;
    index.columns.iter().filter(|_| key > 0).find(is_key).map(|own| own.column_id)
}

/// When statistics were built; NULL while they have no histogram.
fn stats_date(_: Values<'_>, it: Arguments<'_>) -> Given {
    match (number(it, 0), number(it, 1)) {
        (Some(_), Some(_)) => Err(Cause::not_supported("the function stats_date")),
        _ => Ok(Datum::Null),
    }
}

pub(super) static TABLE: &[Definition] = &[
    Definition::new("col_name", Kind::Name, col_name).nullable().of(&[Kind::Int, Kind::Int]),
    Definition::new("col_length", Kind::SmallInt, col_length)
        .nullable()
        .of(&[Kind::Text(1_035), Kind::Name]),
    Definition::new("columnproperty", Kind::Int, column_property).nullable().of(&[
        Kind::Int,
        Kind::Name,
        Kind::Name,
    ]),
    Definition::new("indexproperty", Kind::Int, index_property).nullable().of(&[
        Kind::Int,
        Kind::Name,
        Kind::Name,
    ]),
    Definition::new("indexkey_property", Kind::Int, index_key_property).nullable().of(&[
        Kind::Int,
        Kind::Int,
        Kind::Int,
        Kind::Name,
    ]),
    Definition::new("index_col", Kind::Name, index_col).nullable().of(&[
        Kind::Text(1_035),
        Kind::Int,
        Kind::Int,
    ]),
    Definition::new("stats_date", Kind::DateTime, stats_date)
        .nullable()
        .of(&[Kind::Int, Kind::Int]),
];
