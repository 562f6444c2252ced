//! OBJECTPROPERTY.

use extentdb_base::sync::Arc;
use extentdb_engine::ReferentialAction;
use extentdb_engine::model::{CatalogModel, ForeignKey, Index, ObjectModel, TableModel};
use extentdb_types::SqlType;

use super::Property;
use crate::base::{is_disabled, is_ms_shipped, uses_ansi_nulls, uses_quoted_identifier};
use crate::view::{events_of, mentions};

/// Owner of objects whose schema has no other: dbo.
const DBO: i64 = 1;

/// Properties that say what kind of object it is, and the codes of those kinds.
const KINDS: [(&str, &[&str]); 20] = [
    ("istable", &["U", "S", "IT"]),
    ("isusertable", &["U"]),
    ("issystemtable", &["S"]),
    ("isview", &["V"]),
    ("isprocedure", &["P", "PC"]),
    ("isextendedproc", &["X"]),
    ("isreplproc", &["RF"]),
    ("isscalarfunction", &["FN", "FS"]),
    ("istablefunction", &["IF", "TF", "FT"]),
    ("isinlinefunction", &["IF"]),
    ("istrigger", &["TR", "TA"]),
    ("isconstraint", &["C", "D", "F", "PK", "UQ"]),
    ("ischeckcnst", &["C"]),
    ("isdefaultcnst", &["D"]),
    ("isforeignkey", &["F"]),
    ("isprimarykey", &["PK"]),
    ("isuniquecnst", &["UQ"]),
    ("isrule", &["R"]),
    ("isqueue", &["SQ"]),
    ("isexecuted", &["P", "PC", "V", "FN", "IF", "TF", "TR", "FS", "FT", "TA", "X"]),
];

/// Properties of tables that are false: of features that the server does not have.
const ABSENT_OF_TABLES: [&str; 18] = [
    "tablefulltextmergestatus",
    "tablefulltextbackgroundupdateindexon",
    "tablefulltextcatalogid",
    "tablefulltextchangetrackingon",
    "tablefulltextdocsprocessed",
    "tablefulltextfailcount",
    "tablefulltextitemcount",
    "tablefulltextkeycolumn",
    "tablefulltextpendingchanges",
    "tablefulltextpopulatestatus",
    "tablehasactivefulltextindex",
    "tablehasvardecimalstorageformat",
    "tableisfake",
    "tableislockedonbulkload",
    "tableismemoryoptimized",
    "tableispinned",
    "tabletemporaltype",
    "tableisledger",
];

/// A property of an object.
#[must_use]
pub fn object(model: &CatalogModel, object: &ObjectModel, name: &str) -> Property {
    let name = name.trim_end().to_ascii_lowercase();
    let of_any = any(object, &name);
    if of_any != Property::Null {
        return of_any;
    }
    match (object.object.kind.code(), object.table(), object.module()) {
        ("PK" | "UQ" | "F" | "C" | "D", ..) => constraint(model, object, &name),
        (_, Some(table), _) => match with_triggers(model, object, &name) {
            Property::Null => of_table(model, object, table, &name),
            known => known,
        },
        ("V", ..) => match with_triggers(model, object, &name) {
            Property::Null => module(object, &name),
            known => known,
        },
        (_, _, Some(_)) => module(object, &name),
        _ => Property::Null,
    }
}

fn any(object: &ObjectModel, name: &str) -> Property {
    let kind = object.object.kind.code();
    if let Some((_, kinds)) = KINDS.iter().find(|(own, _)| *own == name) {
        let is_of_column = name != "isdefaultcnst" || object.object.parent.0 != 0;
        return (kinds.contains(&kind) && is_of_column).into();
    }
    match name {
        "isdefault" => (kind == "D" && object.object.parent.0 == 0).into(),
        "ismsshipped" => is_ms_shipped(&object.object).into(),
        "ownerid" => Property::Number(DBO),
        "schemaid" => Property::Number(object.object.schema_id.into()),
        _ => Property::Null,
    }
}

fn constraint(model: &CatalogModel, object: &ObjectModel, name: &str) -> Property {
    let kind = object.object.kind.code();
    let table = model.object_by_id(object.object.parent).and_then(|it| it.table());
    let is_key_on = |is_clustered: bool| {
        let mut indexes = table.map(|it| it.indexes.as_slice()).unwrap_or_default().iter();
        let own = indexes.find(|it| it.name.as_ref() == Some(&object.object.name));
        matches!(kind, "PK" | "UQ") && own.is_some_and(|it| (it.id.0 == 1) == is_clustered)
    };
    let action = |of: fn(&ForeignKey) -> ReferentialAction| {
        let mut keys = table.map(|it| it.foreign_keys.as_slice()).unwrap_or_default().iter();
        let own = keys.find(|it| it.object.id == object.object.id);
        own.is_some_and(|it| of(it) == ReferentialAction::Cascade)
    };
    match name {
        "cnstisclustkey" => is_key_on(true).into(),
        "cnstisnonclustkey" => is_key_on(false).into(),
        "cnstiscolumn" => (object.object.int_prop != 0).into(),
        "cnstisdeletecascade" => action(|it| it.on_delete).into(),
        "cnstisupdatecascade" => action(|it| it.on_update).into(),
        "cnstisdisabled" => is_disabled(&object.object).into(),
        "cnstisnottrusted" => object.object.is_not_trusted().into(),
        "cnstisnotrepl" => false.into(),
        _ => Property::Null,
    }
}

fn module(object: &ObjectModel, name: &str) -> Property {
    let text = object.module().and_then(|module| module.text.as_deref());
    let is_trigger = object.object.kind.code() == "TR";
    let fires = |event: &str| {
        is_trigger && text.is_some_and(|text| events_of(text).any(|(_, name)| name == event))
    };
    let says = |words: &str| text.is_some_and(|text| mentions(text, words));
    match name {
        "execisansinullson" | "isansinullson" => uses_ansi_nulls(&object.object).into(),
        "execisquotedidenton" | "isquotedidenton" => uses_quoted_identifier(&object.object).into(),
        "isencrypted" => text.is_none().into(),
        "isschemabound" => says("with schemabinding").into(),
        "execisstartup" | "execiswithnativecompilation" => false.into(),
        "isindexable" => (object.object.kind.code() == "V" && says("with schemabinding")).into(),
        "isindexed" => object.module().is_some_and(|module| !module.indexes.is_empty()).into(),
        "isdeterministic" | "issystemverified" => Property::Unknown,
        _ if !is_trigger => Property::Null,
        "execisinserttrigger" => fires("INSERT").into(),
        "execisupdatetrigger" => fires("UPDATE").into(),
        "execisdeletetrigger" => fires("DELETE").into(),
        "execisinsteadoftrigger" => says("instead of").into(),
        "execisaftertrigger" => (!says("instead of")).into(),
        "execistriggerdisabled" => is_disabled(&object.object).into(),
        "execistriggernotforrepl" => says("not for replication").into(),
        "execisfirstinserttrigger"
        | "execisfirstupdatetrigger"
        | "execisfirstdeletetrigger"
        | "execislastinserttrigger"
        | "execislastupdatetrigger"
        | "execislastdeletetrigger" => false.into(),
        _ => Property::Null,
    }
}

/// Properties about the triggers of a table or view.
fn with_triggers(model: &CatalogModel, object: &ObjectModel, name: &str) -> Property {
    let triggers = || {
        let children = object.children.iter().filter_map(|id| model.object_by_id(*id));
        children.filter(|child| child.object.kind.code() == "TR")
    };
    let text = |trigger: &ObjectModel| {
        trigger.module().and_then(|module| module.text.clone()).unwrap_or_default()
    };
    let is_instead = |trigger: &ObjectModel| mentions(&text(trigger), "instead of");
    let firing = |event: &str| {
        let fires =
            |trigger: &&Arc<ObjectModel>| events_of(&text(trigger)).any(|(_, name)| name == event);
        let ids: Vec<i32> = triggers().filter(fires).map(|it| it.object.id.0).collect();
        ids
    };
    match name {
        "hasaftertrigger" => triggers().any(|it| !is_instead(it)).into(),
        "hasinsteadoftrigger" => triggers().any(|it| is_instead(it)).into(),
        "hasinserttrigger" | "tablehasinserttrigger" => (!firing("INSERT").is_empty()).into(),
        "hasupdatetrigger" | "tablehasupdatetrigger" => (!firing("UPDATE").is_empty()).into(),
        "hasdeletetrigger" | "tablehasdeletetrigger" => (!firing("DELETE").is_empty()).into(),
        "tableinserttrigger" => first(&firing("INSERT")),
        "tableupdatetrigger" => first(&firing("UPDATE")),
        "tabledeletetrigger" => first(&firing("DELETE")),
        "tableinserttriggercount" => count(&firing("INSERT")),
        "tableupdatetriggercount" => count(&firing("UPDATE")),
        "tabledeletetriggercount" => count(&firing("DELETE")),
        _ => Property::Null,
    }
}

fn first(ids: &[i32]) -> Property {
    Property::Number(ids.first().copied().unwrap_or(0).into())
}

fn count(ids: &[i32]) -> Property {
    Property::Number(i64::try_from(ids.len()).unwrap_or(i64::MAX))
}

fn of_table(
    model: &CatalogModel,
    object: &ObjectModel,
    table: &TableModel,
    name: &str,
) -> Property {
    if ABSENT_OF_TABLES.contains(&name) {
        return false.into();
    }
    let has_index = |test: fn(&Index) -> bool| Property::from(table.indexes.iter().any(test));
    let has_column = |test: fn(&extentdb_engine::model::Column) -> bool| {
        Property::from(table.columns.iter().any(test))
    };
    let id = object.object.id;
    match name {
        "tablehascheckcnst" => (!table.checks.is_empty()).into(),
        "tablehasdefaultcnst" => table.defaults.iter().any(|it| it.object.parent == id).into(),
        "tablehasforeignkey" => (!table.foreign_keys.is_empty()).into(),
        "tablehasforeignref" => {
            let mut keys = model.objects().filter_map(|it| it.table());
            keys.any(|it| it.foreign_keys.iter().any(|key| key.referenced == id)).into()
        }
        "tablehasclustindex" => has_index(|it| it.id.0 == 1),
        "tablehasnonclustindex" => has_index(|it| it.id.0 > 1),
        "tablehasindex" | "isindexed" => has_index(|it| it.id.0 > 0),
        "tablehasprimarykey" => has_index(|it| it.primary_key),
        "tablehasuniquecnst" => has_index(|it| it.unique_constraint),
        "tablehasidentity" => has_column(|it| it.identity.is_some()),
        "tablehasrowguidcol" => has_column(|it| it.row_guid),
        "tablehascolumnset" => has_column(|it| it.column_set),
        "tablehastextimage" => has_column(|it| it.ty.is_some_and(|ty| ty.is_lob())),
        "tablehastimestamp" => has_column(|it| it.ty == Some(SqlType::RowVersion)),
        "tabletextinrowlimit" => {
            let base = table.indexes.iter().find(|it| it.id.0 <= 1);
            Property::Number(base.map_or(0, |it| it.text_in_row.into()))
        }
        "isindexable" | "isansinullson" => true.into(),
        _ => Property::Null,
    }
}
