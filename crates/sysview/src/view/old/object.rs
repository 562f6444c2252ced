//! `sys.sysobjects`.

use extentdb_engine::model::Object;

use crate::base::is_ms_shipped;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::object::{HasObject, created};

/// `category` of what the product has made.
const CATEGORY_SHIPPED: i32 = 2;

fn columns<T: HasObject>() -> Columns<T> {
    Columns::new()
        .put("name", |it: &T| (&it.object().name).into())
        .put("id", |it| it.object().id.0.into())
        .put("xtype", |it| it.object().kind.into())
        .put("uid", |it| it.object().schema_id.into())
        .put("info", |it| columns_of(it.object()).into())
        .put("parent_obj", |it| it.object().parent.0.into())
        .put("crdate", |it| created(it.object()).into())
        .put("refdate", |it| created(it.object()).into())
        .put("type", |it| old_type(it.object()).into())
        .put("sysstat", |it| kind_number(it.object()).into())
        .put("category", |it| if is_ms_shipped(it.object()) { CATEGORY_SHIPPED } else { 0 }.into())
        .zero(&["status", "base_schema_ver", "replinfo", "ftcatid", "schema_ver"])
        .zero(&["stats_schema_ver", "userstat", "indexdel", "version", "deltrig", "instrig"])
        .zero(&["updtrig", "seltrig", "cache"])
}

/// Columns of a table, the column of a constraint.
fn columns_of(object: &Object) -> i32 {
    object.int_prop.clamp(0, i16::MAX.into())
}

/// Keys are of type K.
fn old_type(object: &Object) -> &str {
    match object.kind.code() {
        "PK" | "UQ" => "K",
        other => other,
    }
}

/// What the object is, as a number.
fn kind_number(object: &Object) -> u8 {
    match object.kind.code() {
        "S" => 1,
        "V" => 2,
        "U" => 3,
        "P" => 4,
        "D" => 6,
        "R" => 7,
        "TR" => 8,
        _ => 0,
    }
}

/// `sys.sysobjects`: what the database has, as `sys.objects`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let own = source.objects().into_iter().map(|model| &model.object);
    let own = own.filter(|object| !object.is_of_database());
    rows.add(&columns(), own)
}
