//! Tables and views: `sys.tables`, `sys.views`, `sys.all_views`, `sys.system_views`,
//! `sys.internal_tables`.

use extentdb_base::IndexId;
use extentdb_engine::model::{Object, ObjectModel, ObjectType, TableModel};
use extentdb_types::SqlType;

use super::module::mentions;
use super::object::{HasObject, object_columns, system_object};
use crate::base::uses_ansi_nulls;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::shape::{ViewKind, views as shapes};
use crate::source::Source;
use crate::value::Value;

/// A table with its object.
struct TableItem<'a> {
    object: &'a Object,
    table: &'a TableModel,
}

impl HasObject for TableItem<'_> {
    fn object(&self) -> &Object {
        self.object
    }
}

impl TableItem<'_> {
    /// The data space of its values off rows: that of its rows, where a column may have some.
    fn lob_data_space(&self) -> i32 {
        let is_lob = |ty: SqlType| ty.is_lob() || ty.is_max();
        let has_lob = self.table.columns.iter().filter_map(|column| column.ty).any(is_lob);
        let base = self.table.indexes.iter().find(|index| index.id <= IndexId(1));
        base.filter(|_| has_lob).map_or(0, |base| base.data_space)
    }

    fn text_in_row(&self) -> u16 {
        let base = self.table.indexes.iter().find(|index| index.id <= IndexId(1));
        base.map_or(0, |base| base.text_in_row)
    }

    /// The greatest id that a column has had, as far as the columns tell.
    fn max_column_id(&self) -> i32 {
        let last = self.table.columns.iter().map(|column| column.id).max();
        last.unwrap_or(0).max(self.object.int_prop)
    }
}

/// `sys.tables`.
pub(super) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let item = |model: &'_ &ObjectModel| model.object.kind == ObjectType::USER_TABLE;
    let models = source.objects().into_iter().map(|model| &**model).filter(item);
    let items =
        models.filter_map(|model| Some(TableItem { object: &model.object, table: model.table()? }));
    rows.add(&table_columns(), items)
}

fn table_columns<'a>() -> Columns<TableItem<'a>> {
    object_columns()
        .put("lob_data_space_id", |it: &TableItem<'_>| it.lob_data_space().into())
        .put("max_column_id_used", |it| it.max_column_id().into())
        .put("uses_ansi_nulls", |it| uses_ansi_nulls(it.object).into())
        .put("text_in_row_limit", |it| it.text_in_row().into())
        .zero(&["lock_on_bulk_load", "is_replicated", "has_replication_filter"])
        .zero(&["is_merge_published", "is_sync_tran_subscribed", "has_unchecked_assembly_data"])
        .zero(&["large_value_types_out_of_row", "is_tracked_by_cdc", "is_filetable"])
        .zero(&["lock_escalation", "is_memory_optimized", "durability", "temporal_type"])
        .zero(&["is_remote_data_archive_enabled", "is_external", "is_node", "is_edge"])
        .zero(&["ledger_type", "is_dropped_ledger_table"])
        .put("lock_escalation_desc", |_| "TABLE".into())
        .put("durability_desc", |_| "SCHEMA_AND_DATA".into())
        .put("temporal_type_desc", |_| "NON_TEMPORAL_TABLE".into())
        .put("ledger_type_desc", |_| "NON_LEDGER_TABLE".into())
        .null(&["filestream_data_space_id", "history_table_id", "history_retention_period"])
        .null(&["history_retention_period_unit", "history_retention_period_unit_desc"])
        .null(&["data_retention_period", "data_retention_period_unit"])
        .null(&["data_retention_period_unit_desc", "ledger_view_id"])
}

/// A view with the text that made it.
struct ViewItem<'a> {
    object: Object,
    text: Option<&'a str>,
}

impl HasObject for ViewItem<'_> {
    fn object(&self) -> &Object {
        &self.object
    }
}

fn view_columns<'a>() -> Columns<ViewItem<'a>> {
    object_columns()
        .put("with_check_option", |it: &ViewItem<'_>| {
            it.text.is_some_and(|text| mentions(text, "with check option")).into()
        })
        .zero(&["is_replicated", "has_replication_filter", "has_opaque_metadata"])
        .zero(&["has_unchecked_assembly_data", "is_date_correlation_view", "is_tracked_by_cdc"])
        .zero(&["has_snapshot", "ledger_view_type", "is_dropped_ledger_view"])
        .put("ledger_view_type_desc", |_| "NON_LEDGER_VIEW".into())
}

/// `sys.views`.
pub(super) fn views(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let models = source.objects().into_iter();
    let items = models.filter(|model| model.object.kind == ObjectType::VIEW).map(|model| {
        let text = model.module().and_then(|module| module.text.as_deref());
        ViewItem { object: model.object.clone(), text }
    });
    rows.add(&view_columns(), items)
}

/// `sys.system_views`.
pub(super) fn system_views(_: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let shapes = shapes().filter(|view| view.kind == ViewKind::View);
    let items = shapes.map(|view| ViewItem { object: system_object(view), text: None });
    rows.add(&view_columns(), items)
}

/// `sys.all_views`.
pub(super) fn all_views(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    system_views(source, rows)?;
    views(source, rows)
}

/// `sys.internal_tables`. Of what kind one is, its object does not say.
pub(super) fn internal(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let models = source.objects().into_iter().map(|model| &model.object);
    let items = models.filter(|object| object.kind == ObjectType::INTERNAL_TABLE);
    let columns = object_columns()
        .put("parent_id", |it: &&Object| Value::from(it.parent.0))
        .zero(&["parent_minor_id", "lob_data_space_id"])
        .null(&["internal_type", "internal_type_desc", "filestream_data_space_id"]);
    rows.add(&columns, items)
}
