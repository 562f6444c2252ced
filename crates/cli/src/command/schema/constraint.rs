//! Foreign keys and checks: ALTER TABLE, because a foreign key needs both tables.

use extentdb_catalog::model::{Constraint, ForeignKey, Object, ReferentialAction};
use extentdb_catalog::{Catalog, Table};

use super::index::column_name;
use super::script::{Statement, not_decoded, unknown_bits};
use crate::names::{Quoted, quoted};

/// `sysschobjs.status`: the rows that were there were not checked.
const NOT_TRUSTED: u32 = 0x400;
/// The system made up the name; and bits that every constraint has.
const KNOWN_BITS: u32 = NOT_TRUSTED | 0x4 | 0x2_0000 | 0x10_0000;

/// The foreign keys of a table.
pub(super) fn foreign_keys(catalog: &Catalog, table: &Table) -> Vec<Statement> {
    let keys = catalog.foreign_keys.iter().filter(|key| key.object.parent == table.id);
    keys.map(|key| statement("FOREIGN KEY", table, &key.object, references(catalog, table, key)))
        .collect()
}

fn references(catalog: &Catalog, table: &Table, key: &ForeignKey) -> Option<String> {
    let target = catalog.tables.get(&key.referenced).filter(|_| !key.columns.is_empty())?;
    let from: Vec<String> = key.columns.iter().map(|(from, _)| column_name(table, *from)).collect();
    let to: Vec<String> = key.columns.iter().map(|(_, to)| column_name(target, *to)).collect();
    let target = quoted(&target.schema, &target.name);
    let action = |when: &str, action: ReferentialAction| match action {
        ReferentialAction::NoAction => String::new(),
        action => format!(" ON {when} {}", action.name()),
    };
    let actions = action("DELETE", key.on_delete) + &action("UPDATE", key.on_update);
    Some(format!(
        "FOREIGN KEY ({}) REFERENCES {target} ({}){actions}",
        from.join(", "),
        to.join(", ")
    ))
}

/// The checks of a table.
pub(super) fn checks(catalog: &Catalog, table: &Table) -> Vec<Statement> {
    let mut checks: Vec<&Constraint> =
        catalog.checks.iter().filter(|check| check.object.parent == table.id).collect();
    checks.sort_by_key(|check| (check.column_id, check.object.id));
    let text = |check: &Constraint| check.definition.as_ref().map(|text| format!("CHECK {text}"));
    checks.into_iter().map(|check| statement("CHECK", table, &check.object, text(check))).collect()
}

fn statement(
    kind: &'static str,
    table: &Table,
    object: &Object,
    text: Option<String>,
) -> Statement {
    let on = quoted(&table.schema, &table.name);
    let name = Quoted(&object.name);
    let check = if object.status & NOT_TRUSTED == 0 { "CHECK" } else { "NOCHECK" };
    let what = format!("{} constraint {name} of {on}", kind.to_lowercase());
    let sql = match text {
        Some(text) => format!("ALTER TABLE {on} WITH {check} ADD CONSTRAINT {name} {text};"),
        None => not_decoded(&what),
    };
    let sql = match unknown_bits(&what, object.status & !KNOWN_BITS) {
        Some(comment) => format!("{comment}\n{sql}"),
        None => sql,
    };
    Statement {
        kind,
        schema: table.schema.clone(),
        name: object.name.clone(),
        sql,
    }
}
