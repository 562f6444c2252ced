//! Schemas, types, and everything that is kept as text: views, procedures, functions, triggers,
//! bound defaults and rules.

use extentdb_catalog::Catalog;
use extentdb_catalog::model::{Module, Object, ScalarType};
use extentdb_types::Collation;

use super::script::{Statement, not_decoded};
use crate::names::{Quoted, quoted};

/// Ids of schemas that users made: below are those of the system, from 16384 on those of fixed
/// roles.
const USER_SCHEMAS: std::ops::Range<i32> = 5..16_384;
/// Types that users made have higher ids; this is sysname's.
const SYSNAME: i32 = 256;
/// `sysschobjs.status`: made by the system.
const SHIPPED: u32 = 0x1;

pub(super) fn schemas(catalog: &Catalog) -> Vec<Statement> {
    let users = catalog.schemas.range(USER_SCHEMAS);
    let statement = |name: &String| Statement {
        kind: "SCHEMA",
        schema: name.clone(),
        name: name.clone(),
        sql: format!("CREATE SCHEMA {};", Quoted(name)),
    };
    users.map(|(_, name)| statement(name)).collect()
}

/// CREATE TYPE of alias types.
pub(super) fn types(catalog: &Catalog) -> Vec<Statement> {
    catalog.types.range(SYSNAME + 1..).map(|(_, ty)| alias(catalog, ty)).collect()
}

fn alias(catalog: &Catalog, ty: &ScalarType) -> Statement {
    let schema = catalog.schema_name(ty.schema_id);
    let name = quoted(&schema, &ty.name);
    let null = if ty.not_null { "NOT NULL" } else { "NULL" };
    let sql = match ty.ty {
        Some(extentdb_types::SqlType::Udt { .. }) | None => not_decoded(&format!("type {name}")),
        Some(base) => format!("CREATE TYPE {name} FROM {base} {null};"),
    };
    let foreign =
        ty.ty.and_then(|ty| ty.collation()).filter(|c| *c != Collation(catalog.boot.collation_id));
    let sql = match foreign {
        Some(collation) => {
            format!(
                "{}\n{sql}",
                not_decoded(&format!("type {name} was made under collation {collation}"))
            )
        }
        None => sql,
    };
    Statement { kind: "TYPE", schema, name: ty.name.clone(), sql }
}

/// Defaults and rules that stand by themselves.
pub(super) fn bound(catalog: &Catalog) -> Vec<Statement> {
    let defaults = catalog.defaults.iter().filter(|default| default.object.parent.0 == 0);
    let defaults =
        defaults.map(|default| by_text(catalog, &default.object, default.definition.as_deref()));
    let rules = catalog.modules.iter().filter(|module| module.object.kind.code() == "R");
    let rules = rules.map(|rule| by_text(catalog, &rule.object, rule.text.as_deref()));
    defaults.chain(rules).collect()
}

/// Views, procedures, functions and triggers in the order of their creation.
pub(super) fn modules(catalog: &Catalog, wanted: impl Fn(&Object) -> bool) -> Vec<Statement> {
    let is_wanted = |module: &&Module| {
        let object = &module.object;
        object.kind.code() != "R" && object.status & SHIPPED == 0 && wanted(object)
    };
    let mut modules: Vec<&Module> = catalog.modules.iter().filter(is_wanted).collect();
    modules.sort_by_key(|module| (module.object.created, module.object.id));
    modules
        .into_iter()
        .map(|module| by_text(catalog, &module.object, module.text.as_deref()))
        .collect()
}

fn by_text(catalog: &Catalog, object: &Object, text: Option<&str>) -> Statement {
    let schema = catalog.schema_name(object.schema_id);
    let kind = kind_name(object.kind.code());
    let sql = match text {
        Some(text) => text.to_owned(),
        None => {
            let name = quoted(&schema, &object.name);
            not_decoded(&format!(
                "{} {name}: there is no readable text (it may be encrypted)",
                kind.to_lowercase()
            ))
        }
    };
    Statement { kind, schema, name: object.name.clone(), sql }
}

/// Does an expression call a function of this database? Then it must wait until the function is
/// there.
pub(super) fn calls_function(catalog: &Catalog, expression: &str) -> bool {
    let functions = catalog
        .modules
        .iter()
        .filter(|module| matches!(module.object.kind.code(), "FN" | "IF" | "TF"));
    functions
        .map(|module| format!("{}(", Quoted(&module.object.name)))
        .any(|call| expression.contains(&call))
}

/// Objects of users of kinds that no statement was made for.
pub(super) fn left_over(catalog: &Catalog) -> Vec<Statement> {
    let users =
        catalog.objects.values().filter(|object| object.id.0 > 0 && object.status & SHIPPED == 0);
    let rest = users.filter(|object| !is_covered(object.kind.code()));
    let statement = |object: &Object| {
        let schema = catalog.schema_name(object.schema_id);
        let kind = kind_name(object.kind.code());
        let what = format!("{} {}", kind.to_lowercase(), quoted(&schema, &object.name));
        let sql = not_decoded(&format!("{what} (type {})", object.kind.code()));
        Statement { kind, schema, name: object.name.clone(), sql }
    };
    rest.map(statement).collect()
}

/// Kinds that are written by themselves or as part of their table.
fn is_covered(code: &str) -> bool {
    matches!(
        code,
        "U" | "S"
            | "IT"
            | "V"
            | "P"
            | "FN"
            | "IF"
            | "TF"
            | "TR"
            | "R"
            | "D"
            | "C"
            | "F"
            | "PK"
            | "UQ"
    )
}

fn kind_name(code: &str) -> &'static str {
    match code {
        "V" => "VIEW",
        "P" => "PROCEDURE",
        "FN" | "IF" | "TF" => "FUNCTION",
        "TR" => "TRIGGER",
        "D" => "DEFAULT",
        "R" => "RULE",
        "SN" => "SYNONYM",
        "SO" => "SEQUENCE",
        "SQ" => "QUEUE",
        "TT" => "TABLE TYPE",
        "PC" | "FS" | "FT" | "TA" | "AF" => "CLR OBJECT",
        "X" => "EXTENDED PROCEDURE",
        _ => "OBJECT",
    }
}
