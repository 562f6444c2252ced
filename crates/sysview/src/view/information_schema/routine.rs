//! Procedures and functions: `ROUTINES`, `PARAMETERS`.

use super::info_type::{HasType, InfoType, type_columns};
use super::{QualifiedName, yes};
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::module::{ModuleItem, ParameterItem, modules, parameters_of};
use crate::view::object::{created, modified};

/// A procedure or function.
struct Item<'a> {
    name: QualifiedName,
    module: ModuleItem<'a>,
    /// What a function returns.
    info: InfoType,
}

impl HasType for Item<'_> {
    fn info(&self) -> &InfoType {
        &self.info
    }
}

impl Item<'_> {
    fn is_procedure(&self) -> bool {
        self.module.object.kind.code() == "P"
    }

    fn is_null_call(&self) -> Option<&'static str> {
        let is_so = self.module.mentions("returns null on null input");
        (!self.is_procedure()).then(|| yes(is_so))
    }
}

fn routines<'s>(source: &Source<'s>) -> impl Iterator<Item = ModuleItem<'s>> {
    modules(source).filter(|it| matches!(it.object.kind.code(), "P" | "FN" | "IF" | "TF"))
}

fn item<'s>(source: &Source<'s>, module: ModuleItem<'s>) -> Item<'s> {
    let info = match module.object.kind.code() {
        "IF" | "TF" => InfoType::table(),
        "FN" => {
            let parameters = parameters_of(source, &module);
            let returned = parameters.iter().find(|parameter| parameter.id == 0);
            returned
                .map(|returned| InfoType::of_column(returned.column, source.model))
                .unwrap_or_default()
        }
        _ => InfoType::default(),
    };
    Item { name: QualifiedName::of(module.object, source), module, info }
}

/// `ROUTINES`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = type_columns(Columns::new())
        .put("SPECIFIC_CATALOG", |it: &Item<'_>| (&it.name.catalog).into())
        .put("SPECIFIC_SCHEMA", |it| it.name.schema.as_ref().into())
        .put("SPECIFIC_NAME", |it| (&it.name.name).into())
        .put("ROUTINE_CATALOG", |it| (&it.name.catalog).into())
        .put("ROUTINE_SCHEMA", |it| it.name.schema.as_ref().into())
        .put("ROUTINE_NAME", |it| (&it.name.name).into())
        .put("ROUTINE_TYPE", |it| if it.is_procedure() { "PROCEDURE" } else { "FUNCTION" }.into())
        .put("ROUTINE_BODY", |_| "SQL".into())
        .put("ROUTINE_DEFINITION", |it| it.module.text.into())
        .put("IS_DETERMINISTIC", |_| "NO".into())
        .put("SQL_DATA_ACCESS", |it| if it.is_procedure() { "MODIFIES" } else { "READS" }.into())
        .put("IS_NULL_CALL", |it| it.is_null_call().into())
        .put("SCHEMA_LEVEL_ROUTINE", |_| "YES".into())
        .put("MAX_DYNAMIC_RESULT_SETS", |it| if it.is_procedure() { -1 } else { 0 }.into())
        .put("IS_USER_DEFINED_CAST", |_| "NO".into())
        .put("IS_IMPLICITLY_INVOCABLE", |_| "NO".into())
        .put("CREATED", |it| created(it.module.object).into())
        .put("LAST_ALTERED", |it| modified(it.module.object).into())
        .null(&["MODULE_CATALOG", "MODULE_SCHEMA", "MODULE_NAME", "UDT_CATALOG", "UDT_SCHEMA"])
        .null(&["UDT_NAME", "INTERVAL_TYPE", "INTERVAL_PRECISION", "TYPE_UDT_CATALOG"])
        .null(&["TYPE_UDT_SCHEMA", "TYPE_UDT_NAME", "SCOPE_CATALOG", "SCOPE_SCHEMA"])
        .null(&["SCOPE_NAME", "MAXIMUM_CARDINALITY", "DTD_IDENTIFIER", "EXTERNAL_NAME"])
        .null(&["EXTERNAL_LANGUAGE", "PARAMETER_STYLE", "SQL_PATH"]);
    rows.add(&columns, routines(source).map(|module| item(source, module)))
}

/// A parameter of a procedure or function.
struct Parameter<'a> {
    routine: QualifiedName,
    own: ParameterItem<'a>,
    info: InfoType,
}

impl HasType for Parameter<'_> {
    fn info(&self) -> &InfoType {
        &self.info
    }
}

impl Parameter<'_> {
    fn is_result(&self) -> bool {
        self.own.id == 0
    }

    fn mode(&self) -> &'static str {
        match (self.is_result(), self.own.is_output()) {
            (true, _) => "OUT",
            (false, true) => "INOUT",
            (false, false) => "IN",
        }
    }

    fn domain(&self) -> Option<&(String, String)> {
        self.info.domain.as_ref()
    }
}

/// `PARAMETERS`.
pub(in crate::view) fn parameters(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = type_columns(Columns::new())
        .put("SPECIFIC_CATALOG", |it: &Parameter<'_>| (&it.routine.catalog).into())
        .put("SPECIFIC_SCHEMA", |it| it.routine.schema.as_ref().into())
        .put("SPECIFIC_NAME", |it| (&it.routine.name).into())
        .put("ORDINAL_POSITION", |it| it.own.id.into())
        .put("PARAMETER_MODE", |it| it.mode().into())
        .put("IS_RESULT", |it| yes(it.is_result()).into())
        .put("AS_LOCATOR", |_| "NO".into())
        .put("PARAMETER_NAME", |it| (&it.own.column.name).into())
        .put("USER_DEFINED_TYPE_CATALOG", |it| it.domain().map(|_| &it.routine.catalog).into())
        .put("USER_DEFINED_TYPE_SCHEMA", |it| it.domain().map(|domain| &domain.0).into())
        .put("USER_DEFINED_TYPE_NAME", |it| it.domain().map(|domain| &domain.1).into())
        .null(&["INTERVAL_TYPE", "INTERVAL_PRECISION", "SCOPE_CATALOG", "SCOPE_SCHEMA"])
        .null(&["SCOPE_NAME"]);
    let items = routines(source).flat_map(|module| {
        let routine = QualifiedName::of(module.object, source);
        parameters_of(source, &module).into_iter().map(move |own| Parameter {
            routine: routine.clone(),
            info: InfoType::of_column(own.column, source.model),
            own,
        })
    });
    rows.add(&columns, items)
}
