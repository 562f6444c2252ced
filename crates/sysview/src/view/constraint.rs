//! Constraints: `sys.key_constraints`, `sys.foreign_keys`, `sys.check_constraints`,
//! `sys.default_constraints`, `sys.foreign_key_columns`.

use extentdb_engine::model::{Constraint, ForeignKey, Index, Object, TableModel};

use super::object::{HasObject, object_columns};
use crate::base::is_disabled;
use crate::code::referential_action;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

/// All tables with their objects, by id.
pub(super) fn tables<'s>(
    source: &Source<'s>,
) -> impl Iterator<Item = (&'s Object, &'s TableModel)> {
    source.objects().into_iter().filter_map(|model| Some((&model.object, model.table()?)))
}

/// Was the name given by the product: `PK__table__3213E83F07020F21`? The bit that says so is not
/// kept by all who write such rows; the form of the name says it, too.
pub(super) fn is_system_named(name: &str) -> bool {
    let is_of_constraint =
        ["PK__", "UQ__", "DF__", "CK__", "FK__"].iter().any(|prefix| name.starts_with(prefix));
    let last = name.rsplit("__").next().unwrap_or("");
    let is_hexadecimal = last.chars().all(|c| c.is_ascii_digit() || ('A'..='F').contains(&c));
    is_of_constraint && matches!(last.len(), 8 | 16) && is_hexadecimal
}

/// The index that enforces a key, which has its name.
pub(super) fn index_of_key<'s>(source: &Source<'s>, key: &Object) -> Option<&'s Index> {
    let table = source.model.object_by_id(key.parent)?.table()?;
    let is_of_key = |index: &&Index| index.primary_key || index.unique_constraint;
    let mut indexes = table.indexes.iter().filter(is_of_key);
    indexes.find(|index| index.name.as_deref() == Some(key.name.as_str()))
}

/// A primary key or unique constraint with its index.
struct KeyItem<'a> {
    object: &'a Object,
    index: Option<&'a Index>,
}

impl HasObject for KeyItem<'_> {
    fn object(&self) -> &Object {
        self.object
    }
}

/// `sys.key_constraints`.
pub(super) fn keys(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = object_columns()
        .put("unique_index_id", |it: &KeyItem<'_>| it.index.map(|index| index.id.0).into())
        .put("is_system_named", |it| is_system_named(&it.object.name).into())
        .one(&["is_enforced"]);
    let objects = source.objects().into_iter().map(|model| &model.object);
    let keys = objects.filter(|object| matches!(object.kind.code(), "PK" | "UQ"));
    rows.add(&columns, keys.map(|object| KeyItem { object, index: index_of_key(source, object) }))
}

impl HasObject for &ForeignKey {
    fn object(&self) -> &Object {
        &self.object
    }
}

/// All foreign keys, by id of the referencing table.
pub(super) fn all_foreign_keys<'s>(source: &Source<'s>) -> impl Iterator<Item = &'s ForeignKey> {
    tables(source).flat_map(|(_, table)| &table.foreign_keys)
}

/// `sys.foreign_keys`.
pub(super) fn foreign_keys(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = object_columns()
        .put("referenced_object_id", |it: &&ForeignKey| it.referenced.0.into())
        .put("key_index_id", |it| it.referenced_index.0.into())
        .put("is_disabled", |it| is_disabled(&it.object).into())
        .put("is_not_trusted", |it| it.object.is_not_trusted().into())
        .put("delete_referential_action", |it| (it.on_delete as u8).into())
        .put("delete_referential_action_desc", |it| referential_action(it.on_delete).into())
        .put("update_referential_action", |it| (it.on_update as u8).into())
        .put("update_referential_action_desc", |it| referential_action(it.on_update).into())
        .put("is_system_named", |it| is_system_named(&it.object.name).into())
        .zero(&["is_not_for_replication"]);
    rows.add(&columns, all_foreign_keys(source))
}

/// A pair of columns of a foreign key.
pub(super) struct PairItem<'a> {
    pub(super) key: &'a ForeignKey,
    /// From 1.
    pub(super) ordinal: i32,
    /// Columns of the referencing and of the referenced table.
    pub(super) columns: (i32, i32),
}

/// The pairs of columns of all foreign keys.
pub(super) fn pairs<'s>(source: &Source<'s>) -> impl Iterator<Item = PairItem<'s>> {
    all_foreign_keys(source).flat_map(|key| {
        let pairs = (1..).zip(&key.columns);
        pairs.map(move |(ordinal, columns)| PairItem { key, ordinal, columns: *columns })
    })
}

/// `sys.foreign_key_columns`.
pub(super) fn foreign_key_columns(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("constraint_object_id", |it: &PairItem<'_>| it.key.object.id.0.into())
        .put("constraint_column_id", |it| it.ordinal.into())
        .put("parent_object_id", |it| it.key.object.parent.0.into())
        .put("parent_column_id", |it| it.columns.0.into())
        .put("referenced_object_id", |it| it.key.referenced.0.into())
        .put("referenced_column_id", |it| it.columns.1.into());
    rows.add(&columns, pairs(source))
}

impl HasObject for &Constraint {
    fn object(&self) -> &Object {
        &self.object
    }
}

/// `sys.check_constraints`.
pub(super) fn checks(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = object_columns()
        .put("is_disabled", |it: &&Constraint| is_disabled(&it.object).into())
        .put("is_not_trusted", |it| it.object.is_not_trusted().into())
        .put("parent_column_id", |it| it.column_id.into())
        .put("definition", |it| it.definition.as_ref().into())
        .put("is_system_named", |it| is_system_named(&it.object.name).into())
        .one(&["uses_database_collation"])
        .zero(&["is_not_for_replication"]);
    rows.add(&columns, tables(source).flat_map(|(_, table)| &table.checks))
}

/// `sys.default_constraints`. Defaults that columns are bound to are no constraints.
pub(super) fn defaults(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = object_columns()
        .put("parent_column_id", |it: &&Constraint| it.column_id.into())
        .put("definition", |it| it.definition.as_ref().into())
        .put("is_system_named", |it| is_system_named(&it.object.name).into());
    let all = tables(source).flat_map(|(_, table)| &table.defaults);
    rows.add(&columns, all.filter(|default| default.object.parent.0 != 0))
}

#[cfg(test)]
mod tests {
    use super::is_system_named;

    #[test]
    fn names_of_the_product_have_a_number_in_hexadecimal() {
        let cases = [
            ("PK__orders__3213E83F07020F21", true),
            ("DF__orders__state__38996AB5", true),
            ("DF_orders_state", false),
            ("PK__orders", false),
            ("FK__lines__order__nothex12", false),
        ];
        for (name, expected) in cases {
            assert_eq!(is_system_named(name), expected, "{name}");
        }
    }
}
