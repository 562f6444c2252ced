//! Tables and indexes as the layout of their rows needs them: what the catalog says, without what
//! statements need.

use extentdb_base::{HobtId, ObjectId};
use extentdb_catalog::layout::{Compression, PhysicalColumn, RowLayout};
use extentdb_catalog::model;
use extentdb_catalog::table::definition::{index_status, rowset_status};
use extentdb_catalog::table::{ColumnDefinition, ColumnHistory, IndexDefinition, KeyColumn};
use extentdb_types::SqlType;

/// A column that is neither computed nor an identity, and has no default.
pub(crate) fn plain_column(name: &str, ty: SqlType, nullable: bool) -> ColumnDefinition {
    ColumnDefinition {
        name: name.to_owned(),
        ty,
        user_type: i32::from(ty.xtype()),
        nullable,
        stored_nullable: nullable,
        identity: None,
        default_object: ObjectId(0),
        computed: None,
        row_guid: false,
        history: ColumnHistory::default(),
    }
}

/// An index as the catalog has it; without a rowset it is disabled.
pub(crate) fn definition_of_index(
    index: &model::Index,
    rowset: Option<&model::Rowset>,
) -> IndexDefinition {
    let is_unique = if index.unique { rowset_status::UNIQUE } else { 0 };
    let mut keys: Vec<_> = index.columns.iter().filter(|column| column.key_ordinal > 0).collect();
    keys.sort_by_key(|column| column.key_ordinal);
    let key = |column: &&model::IndexColumn| KeyColumn {
        column_id: column.column_id,
        descending: column.descending,
    };
    let unique = if index.unique { index_status::UNIQUE } else { 0 };
    IndexDefinition {
        id: index.id,
        name: index.name.clone(),
        kind: index.kind,
        keys: keys.iter().map(key).collect(),
        included: index
            .columns
            .iter()
            .filter(|c| c.key_ordinal == 0)
            .map(|c| c.column_id)
            .collect(),
        status: index.status | unique,
        data_space: index.data_space,
        filegroup: 0,
        partition: 1,
        partition_column: 0,
        rest: Vec::new(),
        filter: index.filter.clone(),
        rowset: rowset.map_or(HobtId(0), |rowset| rowset.id),
        rowset_status: rowset.map_or(is_unique, |rowset| rowset.status) | rowset_status::USUAL,
        compression: rowset.map_or(Compression::None, |rowset| rowset.compression),
        fill_factor: index.fill_factor,
        hides_min_interior: false,
        units: Vec::new(),
    }
}

/// The position of a column of the table in rows of this layout.
pub(crate) fn position_of(layout: &RowLayout, id: i32) -> Option<usize> {
    let is_it =
        |own: &PhysicalColumn| own.column_id == id && !own.is_uniquifier() && !own.is_dropped();
    layout.columns.iter().position(is_it)
}

/// Does an index have the values of a column?
pub(crate) fn has_column(index: &IndexDefinition, column: i32) -> bool {
    index.keys.iter().any(|key| key.column_id == column) || index.included.contains(&column)
}

/// Do records of both layouts have the same columns, wherever they are?
pub(crate) fn has_same_columns(ours: &RowLayout, theirs: &RowLayout) -> bool {
    let is_same = |(a, b): (&PhysicalColumn, &PhysicalColumn)| {
        let order = |column: &PhysicalColumn| (column.key_ordinal, column.is_descending());
        a.ty == b.ty && order(a) == order(b)
    };
    theirs.compression == Compression::None
        && ours.columns.len() == theirs.columns.len()
        && ours.columns.iter().zip(&theirs.columns).all(is_same)
}

/// Do records of both layouts have the same columns at the same offsets?
pub(crate) fn is_same_form(ours: &RowLayout, theirs: &RowLayout) -> bool {
    let is_same = |(a, b): (&PhysicalColumn, &_)| {
        let b: &PhysicalColumn = b;
        let order = |column: &PhysicalColumn| {
            (column.key_ordinal, column.is_descending(), column.is_not_null())
        };
        (a.ty, a.leaf, a.interior) == (b.ty, b.leaf, b.interior) && order(a) == order(b)
    };
    ours.compression == Compression::None
        && theirs.compression == Compression::None
        && ours.columns.len() == theirs.columns.len()
        && ours.columns.iter().zip(&theirs.columns).all(is_same)
}
