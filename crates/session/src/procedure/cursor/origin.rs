//! Where the columns of a cursor come from: clients change rows by the names of these columns.

use extentdb_tsql::syntax::{
    Column, ExprKind, ObjectName, QueryBody, Select, SelectItem, TableSourceKind,
};

use extentdb_connection::cursor::CursorPlan;
use extentdb_connection::output::{ColumnInfo, ColumnOrigin, Origins};

/// The origins of columns, and of the one after them that says whether a row was there. Names of a
/// table are as the query has them.
pub(super) fn origins(plan: &CursorPlan, columns: &[ColumnInfo]) -> Origins {
    let select = match &plan.query.body {
        QueryBody::Select(select) => Some(&**select),
        _ => None,
    };
    let table = select.and_then(one_table);
    let names = select.map(|select| names(select, columns)).unwrap_or_default();
    let key = plan.table.as_ref().map(|table| table.key.as_slice()).unwrap_or_default();
    let origin = |(name, column): (String, &ColumnInfo)| match table {
        Some(_) if !column.is_computed => {
            let is_key = key.iter().any(|key| key.name.eq_ignore_ascii_case(&name));
            ColumnOrigin::Column { name, is_key }
        }
        _ => ColumnOrigin::Expression,
    };
    let mut origins: Vec<_> = names.into_iter().zip(columns).map(origin).collect();
    origins.resize(columns.len(), ColumnOrigin::Expression);
    origins.push(ColumnOrigin::RowStatus);
    Origins {
        table: table.map(parts).unwrap_or_default(),
        columns: origins,
    }
}

/// The one table or view that is read.
fn one_table(select: &Select) -> Option<&ObjectName> {
    let [source] = select.from.as_slice() else { return None };
    match &source.kind {
        TableSourceKind::Table(reference) => Some(&reference.name),
        _ => None,
    }
}

/// Database, schema and name, as far as they are written.
fn parts(name: &ObjectName) -> Vec<String> {
    let parts = [name.database(), name.schema(), Some(&name.name)];
    parts.into_iter().flatten().map(|part| part.text.to_string()).collect()
}

/// Names of the columns in their table, which an alias hides.
fn names(select: &Select, columns: &[ColumnInfo]) -> Vec<String> {
    let stars = select.items.iter().filter(|item| matches!(item, SelectItem::Star { .. })).count();
    let values = select.items.len() - stars;
    // A star stands for the columns that no item gives; with two stars their names are not hidden.
    let expanded = if stars == 1 { columns.len().saturating_sub(values) } else { 0 };
    let mut names = Vec::new();
    for item in &select.items {
        match item {
            SelectItem::Star { .. } => {
                let own = columns.iter().skip(names.len()).take(expanded);
                names.extend(own.map(|column| column.name.clone()));
            }
            SelectItem::Value { value, .. } => names.push(match &value.kind {
                ExprKind::Column(column) => match &column.column {
                    Column::Named(name) => name.text.to_string(),
                    Column::Pseudo(_) => String::new(),
                },
                _ => String::new(),
            }),
            SelectItem::Assign(_) => {}
        }
    }
    if stars > 1 {
        return columns.iter().map(|column| column.name.clone()).collect();
    }
    names
}
