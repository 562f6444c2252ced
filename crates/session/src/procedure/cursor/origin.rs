//! Where the columns of a cursor come from: clients change rows by the names of these columns.

use extentdb_engine::model::{ObjectBody, TableModel};
use extentdb_tsql::syntax::{Column, ExprKind, QueryBody, SelectItem};

use extentdb_connection::cause::Cause;
use extentdb_connection::cursor::{CursorPlan, CursorTable};
use extentdb_connection::output::{ColumnOrigin, Origins};
use extentdb_connection::step::Run;

/// The origins of `count` columns and of the one that says whether a row was there.
pub(super) fn origins(
    run: &mut Run<'_>,
    plan: &CursorPlan,
    count: usize,
) -> Result<Origins, Cause> {
    let nothing = Origins {
        table: Vec::new(),
        columns: with_status(vec![ColumnOrigin::Expression; count]),
    };
    let Some(table) = &plan.table else { return Ok(nothing) };
    let Some(found) = run.connection.readable(&table.name)? else { return Ok(nothing) };
    let ObjectBody::Table(model) = &found.object.body else { return Ok(nothing) };
    let columns = columns(plan, table, model);
    if columns.len() != count {
        return Ok(nothing);
    }
    let parts = [found.database.name(), &found.schema_name(), found.shown_name()];
    let parts = parts.map(str::to_owned).to_vec();
    Ok(Origins { table: parts, columns: with_status(columns) })
}

fn with_status(mut columns: Vec<ColumnOrigin>) -> Vec<ColumnOrigin> {
    columns.push(ColumnOrigin::RowStatus);
    columns
}

fn columns(plan: &CursorPlan, table: &CursorTable, model: &TableModel) -> Vec<ColumnOrigin> {
    let QueryBody::Select(select) = &plan.query.body else { return Vec::new() };
    let origin = |name: &str| {
        let own = model.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
        match own {
            Some(column) => ColumnOrigin::Column {
                name: column.name.clone(),
                is_key: table.key.iter().any(|key| key.name == column.name),
            },
            None => ColumnOrigin::Expression,
        }
    };
    let mut columns = Vec::new();
    for item in &select.items {
        match item {
            SelectItem::Star { .. } => {
                columns.extend(model.columns.iter().map(|column| origin(&column.name)));
            }
            SelectItem::Value { value, .. } => columns.push(match &value.kind {
                ExprKind::Column(column) => match &column.column {
                    Column::Named(name) => origin(&name.text),
                    Column::Pseudo(_) => ColumnOrigin::Expression,
                },
                _ => ColumnOrigin::Expression,
            }),
            SelectItem::Assign(_) => {}
        }
    }
    columns
}
