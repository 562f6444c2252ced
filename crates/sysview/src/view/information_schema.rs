//! The views of INFORMATION_SCHEMA.
//!
//! They are over tables, views and routines of users; those of the product are not listed. The
//! catalog of everything is the current database.

pub(super) mod column;
pub(super) mod constraint;
pub(super) mod domain;
pub(super) mod info_type;
pub(super) mod privilege;
pub(super) mod routine;
pub(super) mod table;

use extentdb_engine::model::{Object, ObjectModel, ObjectType};

use crate::source::Source;

/// Names of a thing: database, schema, and its own.
#[derive(Clone, Debug)]
pub(super) struct QualifiedName {
    pub(super) catalog: String,
    pub(super) schema: Option<String>,
    pub(super) name: String,
}

impl QualifiedName {
    /// That of an object.
    pub(super) fn of(object: &Object, source: &Source<'_>) -> QualifiedName {
        QualifiedName::in_schema(object.schema_id, &object.name, source)
    }

    /// That of something in a schema.
    pub(super) fn in_schema(schema: i32, name: &str, source: &Source<'_>) -> QualifiedName {
        QualifiedName {
            catalog: source.database_name().to_owned(),
            schema: source.schema_name(schema).map(str::to_owned),
            name: name.to_owned(),
        }
    }
}

/// Tables and views of users, by id.
pub(super) fn tables_and_views<'s>(source: &Source<'s>) -> impl Iterator<Item = &'s ObjectModel> {
    let is_one = |object: &Object| {
        matches!(object.kind, ObjectType::USER_TABLE | ObjectType::VIEW) && object.id.0 > 0
    };
    let models = source.objects().into_iter().map(|model| &**model);
    models.filter(move |model| is_one(&model.object))
}

/// `YES` or `NO`.
pub(super) fn yes(is_so: bool) -> &'static str {
    if is_so { "YES" } else { "NO" }
}
