//! `sys.stats`, `sys.stats_columns`.

use extentdb_engine::model::{Statistics, TableModel};

use super::constraint::tables;
use crate::base::is_user_created;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

/// Statistics, and the filter of their index.
struct Item<'a> {
    statistics: &'a Statistics,
    is_of_index: bool,
    filter: Option<&'a str>,
}

fn items<'s>(source: &Source<'s>) -> impl Iterator<Item = Item<'s>> {
    tables(source)
        .flat_map(|(_, table)| table.statistics.iter().map(|statistics| item(table, statistics)))
}

fn item<'a>(table: &'a TableModel, statistics: &'a Statistics) -> Item<'a> {
    let index = table.indexes.iter().find(|index| index.id.0 == statistics.id);
    Item {
        statistics,
        is_of_index: index.is_some(),
        filter: index.and_then(|index| index.filter.as_deref()),
    }
}

/// `sys.stats`.
pub(super) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("object_id", |it: &Item<'_>| it.statistics.table.0.into())
        .put("name", |it| (&it.statistics.name).into())
        .put("stats_id", |it| it.statistics.id.into())
        .put("auto_created", |it| it.statistics.is_auto_created().into())
        .put("user_created", |it| is_user_created(it.statistics, it.is_of_index).into())
        .put("has_filter", |it| it.filter.is_some().into())
        .put("filter_definition", |it| it.filter.into())
        .put("stats_generation_method_desc", |_| "Sort based statistics".into())
        .zero(&["no_recompute", "is_temporary", "is_incremental", "has_persisted_sample"])
        .zero(&["stats_generation_method", "auto_drop"]);
    rows.add(&columns, items(source))
}

/// `sys.stats_columns`.
pub(super) fn columns(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("object_id", |it: &(&Statistics, i32, i32)| it.0.table.0.into())
        .put("stats_id", |it| it.0.id.into())
        .put("stats_column_id", |it| it.1.into())
        .put("column_id", |it| it.2.into());
    let of_all = items(source).flat_map(|it| {
        let columns = (1..).zip(&it.statistics.columns);
        columns.map(move |(ordinal, column)| (it.statistics, ordinal, *column))
    });
    rows.add(&columns, of_all)
}
