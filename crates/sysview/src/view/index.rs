//! `sys.indexes`, `sys.index_columns`.

use extentdb_base::ObjectId;
use extentdb_engine::model::{Index, IndexColumn, IndexKind, ObjectBody, ObjectModel};

use crate::base::{allows_page_locks, allows_row_locks, ignores_dup_key, is_padded};
use crate::code::index_kind;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

/// The indexes of an object: heap or clustered index first.
pub(crate) fn indexes_of(model: &ObjectModel) -> &[Index] {
    match &model.body {
        ObjectBody::Table(table) => &table.indexes,
        ObjectBody::Module(module) => &module.indexes,
        ObjectBody::Synonym(_) | ObjectBody::Sequence(_) | ObjectBody::Other => &[],
    }
}

/// All indexes with the ids of their objects.
pub(super) fn items<'s>(source: &Source<'s>) -> impl Iterator<Item = (ObjectId, &'s Index)> {
    source
        .objects()
        .into_iter()
        .flat_map(|model| indexes_of(model).iter().map(|index| (model.object.id, index)))
}

/// `sys.indexes`.
pub(super) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("object_id", |it: &(ObjectId, &Index)| it.0.0.into())
        .put("name", |it| it.1.name.as_ref().into())
        .put("index_id", |it| it.1.id.0.into())
        .put("type", |it| index_kind(it.1.kind).into())
        .put("type_desc", |it| it.1.kind.name().into())
        .put("is_unique", |it| it.1.unique.into())
        .put("data_space_id", |it| it.1.data_space.into())
        .put("ignore_dup_key", |it| ignores_dup_key(it.1).into())
        .put("is_primary_key", |it| it.1.primary_key.into())
        .put("is_unique_constraint", |it| it.1.unique_constraint.into())
        .put("fill_factor", |it| it.1.fill_factor.into())
        .put("is_padded", |it| is_padded(it.1).into())
        .put("is_disabled", |it| it.1.is_marked_disabled().into())
        .put("allow_row_locks", |it| allows_row_locks(it.1).into())
        .put("allow_page_locks", |it| allows_page_locks(it.1).into())
        .put("has_filter", |it| it.1.filter.is_some().into())
        .put("filter_definition", |it| it.1.filter.as_ref().into())
        .zero(&["is_hypothetical", "is_ignored_in_optimization", "suppress_dup_key_messages"])
        .zero(&["auto_created", "optimize_for_sequential_key"])
        .null(&["compression_delay"]);
    rows.add(&columns, items(source))
}

/// A column of an index.
struct ColumnItem<'a> {
    object: ObjectId,
    index: &'a Index,
    column: &'a IndexColumn,
}

/// `sys.index_columns`.
pub(super) fn columns(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("object_id", |it: &ColumnItem<'_>| it.object.0.into())
        .put("index_id", |it| it.index.id.0.into())
        .put("index_column_id", |it| it.column.ordinal.into())
        .put("column_id", |it| it.column.column_id.into())
        .put("key_ordinal", |it| it.column.key_ordinal.into())
        .put("partition_ordinal", |it| it.column.partition_ordinal.into())
        .put("is_descending_key", |it| it.column.descending.into())
        .put("is_included_column", |it| it.column.included.into())
        .zero(&["column_store_order_ordinal"]);
    let items = items(source).filter(|(_, index)| index.kind != IndexKind::Heap);
    let items = items.flat_map(|(object, index)| {
        let mut own: Vec<&IndexColumn> = index.columns.iter().collect();
        own.sort_by_key(|column| column.ordinal);
        own.into_iter().map(move |column| ColumnItem { object, index, column })
    });
    rows.add(&columns, items)
}
