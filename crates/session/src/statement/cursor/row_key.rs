//! Rows of a cursor that are found again by the key of their table.
//!
//! ```text
//! SELECT a, b FROM t WHERE c                     what was written
//! SELECT a, b, t.k FROM t WHERE c                what OPEN reads
//! SELECT a, b FROM t WHERE c AND t.k = value     what FETCH reads
//! UPDATE t … WHERE k = value                     WHERE CURRENT OF
//! ```

use extentdb_base::sync::lock;
use extentdb_bind::Binder;
use extentdb_engine::model::{Index, IndexKind, ObjectBody, TableModel};
use extentdb_tsql::syntax::{
    Condition, ConditionKind, CursorName, Query, QueryBody, Select, SelectItem, StatementKind,
    TableSourceKind,
};
use extentdb_tsql::{Options, parse, parse_expression};
use extentdb_types::{Datum, SqlType, plain};

use super::{failed, found, not_open};
use extentdb_connection::cause::Cause;
use extentdb_connection::cursor::{CursorTable, KeyColumn};
use extentdb_connection::frame::Frame;
use extentdb_connection::query::Prepared;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

/// May all columns of a table without unique index be its key?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByValues {
    Allowed,
    Refused,
}

/// A query that also reads the key of its table.
pub(super) struct KeyedQuery {
    pub(super) query: Query,
    pub(super) table: CursorTable,
}

/// A row, whose last values are the key.
pub(crate) struct KeyedRow<'r> {
    pub(crate) table: &'r CursorTable,
    pub(crate) row: &'r [Datum<'static>],
}

/// The query with the key of its table; `None` where rows are none of one table, or the table has
/// no unique index.
pub(super) fn keyed(
    run: &mut Run<'_>,
    frame: &Frame,
    query: &Query,
    by_values: ByValues,
) -> Result<Option<KeyedQuery>, Stop> {
    let Some(select) = plain_select(query) else { return Ok(None) };
    let [source] = select.from.as_slice() else { return Ok(None) };
    let TableSourceKind::Table(reference) = &source.kind else { return Ok(None) };
    let Some(found) = run.connection.readable(&reference.name)? else { return Ok(None) };
    let ObjectBody::Table(model) = &found.object.body else { return Ok(None) };
    let unique = key_of(model);
    let is_unique = unique.is_some();
    let all = || if by_values == ByValues::Allowed { all_columns(model) } else { None };
    let Some(key) = unique.or_else(all) else { return Ok(None) };
    let qualifier = match &source.alias {
        Some(alias) => quoted(&alias.name.text),
        None => reference.name.to_string(),
    };
    let mut keyed = query.clone();
    let QueryBody::Select(select) = &mut keyed.body else { return Ok(None) };
    for column in &key {
        let text = format!("{qualifier}.{}", quoted(&column.name));
        let value = parse_expression(&text, Options::default())
            .map_err(|error| Cause::Syntax(error.cause))?;
        select.items.push(SelectItem::Value { value, alias: None });
    }
    // An aggregate or window has no row of the table behind it.
    let bind = |binder: &mut Binder<'_>| binder.statement(&keyed);
    if query.to_string().contains("OVER (") || Prepared::bind(run, frame, bind).is_err() {
        return Ok(None);
    }
    let table = CursorTable { name: reference.name.clone(), qualifier, key, is_unique };
    Ok(Some(KeyedQuery { query: keyed, table }))
}

/// The SELECT of a query whose rows are rows of its FROM.
fn plain_select(query: &Query) -> Option<&Select> {
    let QueryBody::Select(select) = &query.body else { return None };
    let is_plain = query.with.is_none()
        && query.offset.is_none()
        && query.for_clause.is_none()
        && !select.is_distinct
        && select.top.is_none()
        && select.into.is_none()
        && select.group_by.is_none()
        && select.having.is_none();
    is_plain.then_some(&**select)
}

/// The columns of a unique index that has all rows: of the primary key, if there is one.
fn key_of(table: &TableModel) -> Option<Vec<KeyColumn>> {
    let is_key = |index: &&Index| {
        index.unique && !index.disabled && index.filter.is_none() && index.kind != IndexKind::Heap
    };
    let index = table.indexes.iter().filter(is_key).min_by_key(|index| !index.primary_key)?;
    let mut key: Vec<_> = index.columns.iter().filter(|column| column.key_ordinal > 0).collect();
    key.sort_by_key(|column| column.key_ordinal);
    key.into_iter()
        .map(|own| {
            let column = table.columns.iter().find(|column| column.id == own.column_id)?;
            Some(KeyColumn { name: column.name.clone(), ty: column.ty? })
        })
        .collect()
}

/// All columns, where each can be compared.
fn all_columns(table: &TableModel) -> Option<Vec<KeyColumn>> {
    let column = |column: &extentdb_engine::model::Column| {
        let ty = column.ty.filter(|ty| {
            use SqlType::{Image, NText, SqlVariant, Text, Udt, Xml};
            !matches!(ty, Text { .. } | NText { .. } | Image | Xml | SqlVariant | Udt { .. })
        });
        ty.map(|ty| KeyColumn { name: column.name.clone(), ty })
    };
    table.columns.iter().map(column).collect()
}

pub(crate) fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// The query for the one row with a key. Without `is_filtered` its own condition does not matter.
pub(crate) fn row_query(
    query: &Query,
    keyed: &KeyedRow<'_>,
    is_filtered: bool,
) -> Result<Query, Cause> {
    let condition = key_condition(keyed, Some(&keyed.table.qualifier))?;
    let mut query = query.clone();
    query.order_by.clear();
    let QueryBody::Select(select) = &mut query.body else { return Ok(query) };
    let span = condition.span;
    select.filter = Some(match select.filter.take().filter(|_| is_filtered) {
        Some(own) => Condition { kind: ConditionKind::And(vec![own, condition]), span },
        None => condition,
    });
    Ok(query)
}

/// `k = value AND …`
pub(crate) fn key_text(keyed: &KeyedRow<'_>, qualifier: Option<&str>) -> Result<String, Cause> {
    let key = &keyed.table.key;
    let values = keyed.row.iter().skip(keyed.row.len().saturating_sub(key.len()));
    let mut parts = Vec::new();
    for (column, value) in key.iter().zip(values) {
        let name = match qualifier {
            Some(qualifier) => format!("{qualifier}.{}", quoted(&column.name)),
            None => quoted(&column.name),
        };
        parts.push(match value {
            Datum::Null => format!("{name} IS NULL"),
            value => format!("{name} = {}", literal(value, &column.ty)?),
        });
    }
    Ok(parts.join(" AND "))
}

/// The same as a condition.
fn key_condition(keyed: &KeyedRow<'_>, qualifier: Option<&str>) -> Result<Condition, Cause> {
    let text = format!("SELECT 1 WHERE {}", key_text(keyed, qualifier)?);
    let script = parse(&text, Options::default()).map_err(|error| Cause::Syntax(error.cause))?;
    let condition = script.statements.into_iter().find_map(|statement| match statement.kind {
        StatementKind::Select(select) => match select.query.body {
            QueryBody::Select(select) => select.filter,
            _ => None,
        },
        _ => None,
    });
    condition.ok_or_else(|| Cause::not_supported("a cursor over such a key"))
}

/// A value as an expression of its type.
fn literal(value: &Datum<'_>, ty: &SqlType) -> Result<String, Cause> {
    if let Datum::Binary(bytes) = value {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        return Ok(format!("CAST(0x{digits} AS {ty})"));
    }
    if let Datum::RowVersion(number) = value {
        return Ok(format!("CAST(0x{number:016X} AS binary(8))"));
    }
    let mut text = String::new();
    let written = plain::write_plain(value, &mut text);
    written.map_err(|_| Cause::not_supported("a cursor over such a key"))?;
    Ok(format!("CAST(N'{}' AS {ty})", text.replace('\'', "''")))
}

/// The condition that WHERE CURRENT OF stands for, in a statement that changes these columns of a
/// table.
pub(in crate::statement) fn current_row_filter(
    run: &mut Run<'_>,
    frame: &Frame,
    name: &CursorName,
    target: Option<&extentdb_tsql::syntax::ObjectName>,
    changed: &[String],
) -> Result<Condition, Stop> {
    let cursor = found(run, frame, name)?;
    let (plan, row) = {
        let own = lock(&cursor);
        let open = own.open.as_ref().ok_or_else(not_open)?;
        if own.plan.is_read_only {
            return Err(failed(16_929, "The cursor is READ ONLY.").into());
        }
        let is_outside = open.position == 0 || open.position > open.rows.len();
        let row = open.row().cloned().ok_or_else(|| match is_outside {
            true => failed(16_931, "There are no rows in the current fetch buffer."),
            false => failed(16_930, "The requested row is not in the fetch buffer."),
        })?;
        (own.plan.clone(), row)
    };
    let Some(table) = plan.table.as_ref().filter(|table| table.is_unique) else {
        return Err(failed(16_929, "The cursor is READ ONLY.").into());
    };
    verify_target(run, table, target)?;
    let is_listed = |column: &String| {
        plan.updatable.is_empty()
            || plan.updatable.iter().any(|own| own.eq_ignore_ascii_case(column))
    };
    if !changed.iter().all(is_listed) {
        let text = "The cursor has a FOR UPDATE list and the requested column to be updated is \
                    not in this list.";
        return Err(failed(16_932, text).into());
    }
    Ok(key_condition(&KeyedRow { table, row: &row }, None)?)
}

/// The statement changes the table of the cursor.
fn verify_target(
    run: &mut Run<'_>,
    table: &CursorTable,
    target: Option<&extentdb_tsql::syntax::ObjectName>,
) -> Result<(), Stop> {
    let own = run.connection.readable(&table.name)?.map(|found| found.object.object.id);
    let other = match target {
        Some(target) => run.connection.readable(target)?.map(|found| found.object.object.id),
        None => None,
    };
    if own == other {
        return Ok(());
    }
    let text = "The cursor does not include the table being modified or the table is not \
                updatable through the cursor.";
    Err(failed(16_933, text).into())
}
