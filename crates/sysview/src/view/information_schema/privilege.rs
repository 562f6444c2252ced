//! `TABLE_PRIVILEGES`, `COLUMN_PRIVILEGES`.

use extentdb_base::ObjectId;
use extentdb_engine::model::{ObjectModel, Permission};

use super::{QualifiedName, yes};
use crate::code;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::column::columns_of;
use crate::view::permission::permissions;

/// Class of permissions on objects and columns.
const CLASS_OBJECT: u8 = 1;
/// SELECT, INSERT, UPDATE, DELETE, REFERENCES.
const OF_TABLES: [&str; 5] = ["SL", "IN", "UP", "DL", "RF"];
/// Those that columns have, too.
const OF_COLUMNS: [&str; 3] = ["SL", "UP", "RF"];

/// A permission that somebody has on a table, or on a column of one.
struct Item<'a> {
    table: QualifiedName,
    column: Option<&'a str>,
    permission: &'a Permission,
    grantee: Option<&'a str>,
    grantor: Option<&'a str>,
}

impl<'a> Item<'a> {
    fn new(
        source: &Source<'a>,
        model: &ObjectModel,
        permission: &'a Permission,
        column: Option<&'a str>,
    ) -> Item<'a> {
        let name_of = |id: i32| {
            let principals = source.model.principals();
            principals.iter().find(|it| it.id == id).map(|it| it.name.as_str())
        };
        Item {
            table: QualifiedName::of(&model.object, source),
            column,
            permission,
            grantee: name_of(permission.grantee),
            grantor: name_of(permission.grantor),
        }
    }
}

/// Granted permissions of these kinds on tables and views of users.
fn granted<'s>(
    source: &Source<'s>,
    kinds: &'static [&'static str],
) -> Vec<(&'s ObjectModel, &'s Permission)> {
    let is_granted = |it: &&Permission| {
        it.class == CLASS_OBJECT
            && kinds.contains(&it.kind.as_str())
            && matches!(it.state.as_str(), "G" | "W")
    };
    let with_table = |permission: &'s Permission| {
        let model = source.model.object_by_id(ObjectId(permission.id))?;
        matches!(model.object.kind.code(), "U" | "V").then_some((&**model, permission))
    };
    permissions(source).into_iter().filter(is_granted).filter_map(with_table).collect()
}

fn shared<'a>() -> Columns<Item<'a>> {
    Columns::new()
        .put("GRANTOR", |it: &Item<'_>| it.grantor.into())
        .put("GRANTEE", |it| it.grantee.into())
        .put("TABLE_CATALOG", |it| (&it.table.catalog).into())
        .put("TABLE_SCHEMA", |it| it.table.schema.as_ref().into())
        .put("TABLE_NAME", |it| (&it.table.name).into())
        .put("PRIVILEGE_TYPE", |it| code::permission(&it.permission.kind).into())
        .put("IS_GRANTABLE", |it| yes(it.permission.state == "W").into())
}

/// `TABLE_PRIVILEGES`.
pub(in crate::view) fn of_tables(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let of_tables = granted(source, &OF_TABLES).into_iter().filter(|(_, it)| it.sub_id == 0);
    rows.add(&shared(), of_tables.map(|(model, it)| Item::new(source, model, it, None)))
}

/// `COLUMN_PRIVILEGES`: a permission on a table is one on each of its columns.
pub(in crate::view) fn of_columns(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = shared().put("COLUMN_NAME", |it| it.column.into());
    let items = granted(source, &OF_COLUMNS).into_iter().flat_map(|(model, permission)| {
        let is_meant = |id: i32| permission.sub_id == 0 || permission.sub_id == id;
        let meant = columns_of(model).iter().filter(move |column| is_meant(column.id));
        meant.map(move |column| Item::new(source, model, permission, Some(&column.name)))
    });
    rows.add(&columns, items)
}
