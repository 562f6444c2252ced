//! INDEXPROPERTY and INDEXKEY_PROPERTY.

use extentdb_engine::model::{CatalogModel, Index, IndexKind, ObjectModel};

use super::Property;
use crate::base::{allows_page_locks, allows_row_locks, is_padded};
use crate::view::indexes_of;

/// A property of an index or of statistics, by its name.
#[must_use]
pub fn index(model: &CatalogModel, object: &ObjectModel, named: &str, name: &str) -> Property {
    let name = name.trim_end().to_ascii_lowercase();
    let is_it = |own: &str| model.is_same_name(own, named);
    let index = indexes_of(object).iter().find(|it| it.name.as_deref().is_some_and(is_it));
    if let Some(index) = index {
        return of_index(index, &name);
    }
    let statistics = object.table().map(|it| it.statistics.as_slice()).unwrap_or_default();
    let Some(own) = statistics.iter().find(|it| is_it(&it.name)) else { return Property::Null };
    match name.as_str() {
        "indexid" => Property::Number(own.id.into()),
        "isstatistics" => true.into(),
        "isautostatistics" => own.is_auto_created().into(),
        "isclustered" | "isunique" | "isdisabled" | "ispadindex" | "ishypothetical"
        | "iscolumnstore" | "isfulltextkey" | "indexfillfactor" | "indexdepth" => {
            Property::Number(0)
        }
        _ => Property::Null,
    }
}

fn of_index(index: &Index, name: &str) -> Property {
    match name {
        "indexid" => Property::Number(index.id.0.into()),
        "indexfillfactor" => Property::Number(index.fill_factor.into()),
        "indexdepth" => Property::Unknown,
        "isclustered" => (index.id.0 == 1).into(),
        "isunique" => index.unique.into(),
        "isdisabled" => index.is_marked_disabled().into(),
        "ispadindex" => is_padded(index).into(),
        "ispagelockdisallowed" => (!allows_page_locks(index)).into(),
        "isrowlockdisallowed" => (!allows_row_locks(index)).into(),
        "iscolumnstore" => {
            let kinds = [IndexKind::ClusteredColumnstore, IndexKind::NonclusteredColumnstore];
            kinds.contains(&index.kind).into()
        }
        "isautostatistics"
        | "isstatistics"
        | "ishypothetical"
        | "isfulltextkey"
        | "isoptimizedforsequentialkey" => false.into(),
        _ => Property::Null,
    }
}

/// A property of a key column of an index, by index and position.
#[must_use]
pub fn index_key(object: &ObjectModel, index: i64, key: i64, name: &str) -> Property {
    let mut indexes = indexes_of(object).iter();
    let Some(index) = indexes.find(|it| i64::from(it.id.0) == index) else { return Property::Null };
    let column = index.columns.iter().find(|it| key > 0 && i64::from(it.key_ordinal) == key);
    match (column, name.trim_end().to_ascii_lowercase().as_str()) {
        (Some(column), "columnid") => Property::Number(column.column_id.into()),
        (Some(column), "isdescending") => column.descending.into(),
        _ => Property::Null,
    }
}
