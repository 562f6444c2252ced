//! `sys.sysconstraints`, `sys.sysforeignkeys`, `sys.sysreferences`.

use extentdb_engine::model::{ForeignKey, Object};

use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::constraint::{PairItem, all_foreign_keys, pairs};

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

/// A column of a foreign key by its position: 0 past the last one.
fn column_at(pairs: &[(i32, i32)], at: usize) -> (i32, i32) {
    pairs.get(at).copied().unwrap_or((0, 0))
}

macro_rules! column_pairs {
    ($columns:ident $($at:literal $from:literal $to:literal)*) => {
        $columns
            $(.put($from, |it: &&ForeignKey| column_at(&it.columns, $at - 1).0.into())
            .put($to, |it| column_at(&it.columns, $at - 1).1.into()))*
    };
}

/// `sys.sysreferences`.
pub(in crate::view) fn references(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("constid", |it: &&ForeignKey| it.object.id.0.into())
        .put("fkeyid", |it| it.object.parent.0.into())
        .put("rkeyid", |it| it.referenced.0.into())
        .put("rkeyindid", |it| it.referenced_index.0.into())
        .put("keycnt", |it| (it.columns.len() as u64).into())
        .null(&["forkeys", "refkeys", "fkeydbid", "rkeydbid"]);
    let columns = column_pairs! { columns
        1 "fkey1" "rkey1" 2 "fkey2" "rkey2" 3 "fkey3" "rkey3" 4 "fkey4" "rkey4"
        5 "fkey5" "rkey5" 6 "fkey6" "rkey6" 7 "fkey7" "rkey7" 8 "fkey8" "rkey8"
        9 "fkey9" "rkey9" 10 "fkey10" "rkey10" 11 "fkey11" "rkey11" 12 "fkey12" "rkey12"
        13 "fkey13" "rkey13" 14 "fkey14" "rkey14" 15 "fkey15" "rkey15" 16 "fkey16" "rkey16"
    };
    rows.add(&columns, all_foreign_keys(source))
}
