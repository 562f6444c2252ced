//! `sys.sysconstraints`, `sys.sysforeignkeys`.

use extentdb_engine::model::Object;

use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::constraint::{PairItem, pairs};

/// Bits of `status`: of a column, of the table.
const OF_COLUMN: i32 = 16;
const OF_TABLE: i32 = 32;

/// What a constraint is; `None` of other objects.
fn kind_number(object: &Object) -> Option<i32> {
    Some(match object.kind.code() {
        "PK" => 1,
        "UQ" => 2,
        "F" => 3,
        "C" => 4,
        "D" => 5,
        _ => return None,
    })
}

fn column_of(object: &Object) -> i32 {
    if matches!(object.kind.code(), "C" | "D") { object.int_prop } else { 0 }
}

/// `sys.sysconstraints`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("constid", |it: &(&Object, i32)| it.0.id.0.into())
        .put("id", |it| it.0.parent.0.into())
        .put("colid", |it| column_of(it.0).into())
        .put("status", |it| (it.1 | if column_of(it.0) == 0 { OF_TABLE } else { OF_COLUMN }).into())
        .zero(&["spare1", "actions", "error"]);
    let objects = source.objects().into_iter().map(|model| &model.object);
    let constraints = objects.filter(|object| object.parent.0 != 0);
    rows.add(&columns, constraints.filter_map(|object| Some((object, kind_number(object)?))))
}

/// `sys.sysforeignkeys`.
pub(in crate::view) fn foreign_keys(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("constid", |it: &PairItem<'_>| it.key.object.id.0.into())
        .put("fkeyid", |it| it.key.object.parent.0.into())
        .put("rkeyid", |it| it.key.referenced.0.into())
        .put("fkey", |it| it.columns.0.into())
        .put("rkey", |it| it.columns.1.into())
        .put("keyno", |it| it.ordinal.into());
    rows.add(&columns, pairs(source))
}
