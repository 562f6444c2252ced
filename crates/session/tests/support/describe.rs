//! Objects of a database as text, one fact a line.

use std::fmt::Write;
use std::sync::Arc;

use extentdb_engine::model::{
    CatalogModel, Column, Constraint, ForeignKey, Index, ObjectBody, ObjectModel, TableModel,
};
use extentdb_session::{Connection, Server};

/// What the catalog of the connection's database has: `describe t`, `describe` of all that users
/// have made.
pub(crate) fn describe(server: &Arc<Server>, connection: &Connection, what: &str) -> String {
    let words: Vec<&str> = what.split_whitespace().collect();
    let (database, name) = match words.as_slice() {
        ["describe", name] if name.starts_with('#') => ("tempdb", Some(*name)),
        ["describe", name] => (connection.database(), Some(*name)),
        _ => (connection.database(), None),
    };
    let model = server.instance().database(database).unwrap().model().unwrap();
    let schema_of = |object: &ObjectModel| {
        model.schemas().find(|it| it.id == object.object.schema_id).map(|it| it.name.clone())
    };
    let mut objects: Vec<(String, Arc<ObjectModel>)> = model
        .objects()
        .filter(|it| {
            (it.object.parent.0 == 0 || name.is_some())
                && it.object.id.0 > 100
                && it.object.kind.code() != "SQ"
        })
        .filter_map(|it| Some((schema_of(it).filter(|it| it != "sys")?, it.clone())))
        .map(|(schema, it)| (format!("{schema}.{}", shown(&it.object.name)), it))
        .filter(|(full, _)| name.is_none_or(|name| full == name || full == &format!("dbo.{name}")))
        .collect();
    objects.sort_by(|a, b| a.0.cmp(&b.0));
    let mut text = String::new();
    for (full, object) in objects {
        one(&mut text, &model, &full, &object, name.is_some());
    }
    text.trim_end().to_owned()
}

/// A temporary table without its number.
fn shown(name: &str) -> &str {
    if name.starts_with('#') && name.len() == 128 {
        return name[..116].trim_end_matches('_');
    }
    name
}

fn one(text: &mut String, model: &CatalogModel, full: &str, it: &ObjectModel, is_whole: bool) {
    let kind = it.object.kind.code().to_owned();
    match &it.body {
        ObjectBody::Table(table) => {
            writeln!(text, "table {full}").unwrap();
            if is_whole {
                of_table(text, model, table);
            }
        }
        ObjectBody::Module(module) => {
            let body = module.text.as_deref().unwrap_or("encrypted").replace('\n', " ");
            writeln!(text, "{kind} {full}: {body}").unwrap();
        }
        ObjectBody::Synonym(base) => writeln!(text, "synonym {full} for {base}").unwrap(),
        ObjectBody::Sequence(it) => writeln!(
            text,
            "sequence {full} {} start {} increment {} from {} to {}{} cache {}",
            it.ty,
            it.start,
            it.increment,
            it.minimum,
            it.maximum,
            if it.is_cycling { " cycle" } else { "" },
            it.cache
        )
        .unwrap(),
        ObjectBody::Other => writeln!(text, "{kind} {full}").unwrap(),
    }
}

fn of_table(text: &mut String, model: &CatalogModel, table: &TableModel) {
    for column in &table.columns {
        writeln!(text, "  {}", of_column(table, column)).unwrap();
    }
    for index in table.indexes.iter().filter(|index| index.name.is_some()) {
        writeln!(text, "  {}", of_index(table, index)).unwrap();
    }
    for own in &table.statistics {
        if table.indexes.iter().all(|index| index.id.0 != own.id) {
            let columns: Vec<&str> = own.columns.iter().map(|id| name_of(table, *id)).collect();
            writeln!(text, "  statistics {} ({})", own.name, columns.join(", ")).unwrap();
        }
    }
    for check in &table.checks {
        let text_of = check.definition.as_deref().unwrap_or_default();
        writeln!(text, "  {} check {text_of}{}", check.object.name, state(check)).unwrap();
    }
    for key in &table.foreign_keys {
        writeln!(text, "  {}", of_key(model, table, key)).unwrap();
    }
}

fn of_column(table: &TableModel, column: &Column) -> String {
    let mut line = column.name.clone();
    if let Some(computed) = &column.computed {
        write!(line, " as {computed}").unwrap();
        line.push_str(if column.persisted { " persisted" } else { "" });
    }
    match (&column.user_type, column.ty) {
        (Some(user), Some(ty)) => write!(line, " {user} ({ty})").unwrap(),
        (None, Some(ty)) => write!(line, " {ty}").unwrap(),
        _ => line.push_str(" ?"),
    }
    let own = column.ty.and_then(|ty| ty.collation()).and_then(|it| it.name());
    if let Some(own) = own.filter(|own| own != "SQL_Latin1_General_CP1_CI_AS") {
        write!(line, " collate {own}").unwrap();
    }
    line.push_str(if column.nullable { " null" } else { " not null" });
    line.push_str(if column.row_guid { " rowguidcol" } else { "" });
    if let Some(identity) = &column.identity {
        write!(line, " identity({},{})", identity.seed, identity.increment).unwrap();
    }
    if let Some(default) = table.default_of(column) {
        let text = default.definition.as_deref().unwrap_or_default();
        write!(line, " {} default {text}", default.object.name).unwrap();
    }
    line
}

fn of_index(table: &TableModel, index: &Index) -> String {
    let key = |it: &&extentdb_engine::model::IndexColumn| it.key_ordinal > 0;
    let keys = index.columns.iter().filter(key).map(|column| {
        let direction = if column.descending { " desc" } else { "" };
        format!("{}{direction}", name_of(table, column.column_id))
    });
    let keys: Vec<String> = keys.collect();
    let included = index.columns.iter().filter(|it| it.is_included());
    let included: Vec<&str> = included.map(|it| name_of(table, it.column_id)).collect();
    let what = match (index.primary_key, index.unique_constraint, index.unique) {
        (true, ..) => "primary key",
        (_, true, _) => "unique",
        (.., true) => "unique index",
        _ => "index",
    };
    let clustered = if index.id.0 == 1 { "clustered" } else { "nonclustered" };
    let name = index.name.as_deref().unwrap_or_default();
    let mut line = format!("{name} {what} {clustered} ({})", keys.join(", "));
    if !included.is_empty() {
        write!(line, " include ({})", included.join(", ")).unwrap();
    }
    if let Some(filter) = &index.filter {
        write!(line, " where {filter}").unwrap();
    }
    if index.fill_factor != 0 {
        write!(line, " fillfactor {}", index.fill_factor).unwrap();
    }
    line.push_str(if index.disabled { " disabled" } else { "" });
    line
}

fn of_key(model: &CatalogModel, table: &TableModel, key: &ForeignKey) -> String {
    let parent = model.object_by_id(key.referenced).unwrap();
    let of_parent = parent.table().unwrap();
    let from: Vec<&str> = key.columns.iter().map(|(from, _)| name_of(table, *from)).collect();
    let to: Vec<&str> = key.columns.iter().map(|(_, to)| name_of(of_parent, *to)).collect();
    let mut line = format!(
        "{} foreign key ({}) references {} ({})",
        key.object.name,
        from.join(", "),
        parent.object.name,
        to.join(", ")
    );
    for (event, action) in [("delete", key.on_delete), ("update", key.on_update)] {
        if action.name() != "NO ACTION" {
            write!(line, " on {event} {}", action.name().to_lowercase()).unwrap();
        }
    }
    line.push_str(if key.object.is_disabled_constraint() { " disabled" } else { "" });
    line.push_str(if key.object.is_not_trusted() { " not trusted" } else { "" });
    line
}

fn state(constraint: &Constraint) -> String {
    let object = &constraint.object;
    let mut state = String::new();
    state.push_str(if object.is_disabled_constraint() { " disabled" } else { "" });
    state.push_str(if object.is_not_trusted() { " not trusted" } else { "" });
    state
}

fn name_of(table: &TableModel, id: i32) -> &str {
    table.columns.iter().find(|column| column.id == id).map_or("?", |column| &column.name)
}
