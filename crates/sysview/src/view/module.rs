//! Modules and synonyms: `sys.sql_modules`, `sys.procedures`, `sys.triggers`, `sys.parameters`,
//! `sys.synonyms`, `sys.trigger_events`.

use extentdb_base::ObjectId;
use extentdb_engine::model::{Column, ModuleModel, Object, ObjectBody, ObjectModel, Parameter};

use super::object::{HasObject, created, modified, object_columns};
use super::type_facets::{Facets, user_type_id};
use crate::base::{is_disabled, is_ms_shipped, is_output, uses_ansi_nulls, uses_quoted_identifier};
use crate::code;
use crate::columns::Columns;
use crate::ddl_event::{DdlEvent, ddl_event};
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::value::Value;

/// Does a text have these words, which are small letters and single blanks, in this order?
pub(crate) fn mentions(text: &str, words: &str) -> bool {
    let folded: Vec<String> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
    folded.join(" ").contains(words)
}

/// A module with its object.
pub(super) struct ModuleItem<'a> {
    pub(super) object: &'a Object,
    pub(super) module: &'a ModuleModel,
    /// Its text, where the reader sees it.
    pub(super) text: Option<&'a str>,
}

impl ModuleItem<'_> {
    pub(super) fn mentions(&self, words: &str) -> bool {
        self.module.text.as_deref().is_some_and(|text| mentions(text, words))
    }

    fn is_function(&self) -> bool {
        matches!(self.object.kind.code(), "FN" | "IF" | "TF")
    }
}

impl HasObject for ModuleItem<'_> {
    fn object(&self) -> &Object {
        self.object
    }
}

/// All modules, by id.
pub(super) fn modules<'s>(source: &Source<'s>) -> impl Iterator<Item = ModuleItem<'s>> {
    let item = |model: &'s ObjectModel| {
        let module = model.module()?;
        let text = module.text.as_deref().filter(|_| source.sees_text(model));
        Some(ModuleItem { object: &model.object, module, text })
    };
    let items: Vec<_> = source.objects().into_iter().filter_map(|model| item(model)).collect();
    items.into_iter()
}

/// `sys.sql_modules`.
pub(super) fn sql_modules(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("object_id", |it: &ModuleItem<'_>| it.object.id.0.into())
        .put("definition", |it| it.text.into())
        .put("uses_ansi_nulls", |it| uses_ansi_nulls(it.object).into())
        .put("uses_quoted_identifier", |it| uses_quoted_identifier(it.object).into())
        .put("is_schema_bound", |it| it.mentions("with schemabinding").into())
        .put("is_recompiled", |it| it.mentions("with recompile").into())
        .put("null_on_null_input", |it| it.mentions("returns null on null input").into())
        .put("is_inlineable", |_| false.into())
        .zero(&["uses_database_collation", "uses_native_compilation", "inline_type"])
        .null(&["execute_as_principal_id"]);
    rows.add(&columns, modules(source))
}

/// `sys.procedures`.
pub(super) fn procedures(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = object_columns::<ModuleItem<'_>>()
        .zero(&["is_auto_executed", "is_execution_replicated"])
        .zero(&["is_repl_serializable_only", "skips_repl_constraints"]);
    rows.add(&columns, modules(source).filter(|it| it.object.kind.code() == "P"))
}

/// `sys.triggers`.
pub(super) fn triggers(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("name", |it: &ModuleItem<'_>| (&it.object.name).into())
        .put("object_id", |it| it.object.id.0.into())
        .put("parent_class", |it| u8::from(it.object.parent.0 != 0).into())
        .put("parent_class_desc", |it| {
            code::securable_class(u8::from(it.object.parent.0 != 0)).into()
        })
        .put("parent_id", |it| it.object.parent.0.into())
        .put("type", |it| it.object.kind.into())
        .put("type_desc", |it| code::object_type(it.object.kind).into())
        .put("create_date", |it| created(it.object).into())
        .put("modify_date", |it| modified(it.object).into())
        .put("is_ms_shipped", |it| is_ms_shipped(it.object).into())
        .put("is_disabled", |it| is_disabled(it.object).into())
        .put("is_instead_of_trigger", |it| it.mentions("instead of").into())
        .zero(&["is_not_for_replication"]);
    rows.add(&columns, modules(source).filter(|it| it.object.kind.code() == "TR"))
}

/// Events that fire a trigger of a table: number and name.
const EVENTS: [(u8, &str); 3] = [(1, "INSERT"), (2, "UPDATE"), (3, "DELETE")];

/// The events that the text of a trigger names, after AFTER, FOR or INSTEAD OF and before AS.
pub(crate) fn events_of(text: &str) -> impl Iterator<Item = (u8, &'static str)> {
    let named = named_events(text);
    EVENTS.into_iter().filter(move |(_, name)| named.iter().any(|word| word == name))
}

fn named_events(text: &str) -> Vec<String> {
    let separated = text.replace(',', " ");
    let mut words = separated.split_whitespace().map(str::to_ascii_uppercase);
    let is_trigger = words.any(|word| word == "TRIGGER");
    let fires = |word: &String| matches!(word.as_str(), "AFTER" | "FOR" | "OF");
    words
        .skip_while(|word| !fires(word))
        .skip(1)
        .take_while(|word| is_trigger && !matches!(word.as_str(), "AS" | "WITH" | "NOT"))
        .collect()
}

/// A trigger, and an event that fires it.
struct TriggerEvent {
    trigger: ObjectId,
    number: i32,
    name: &'static str,
    /// Of a trigger of the database: the group that it names.
    group: Option<DdlEvent>,
}

fn trigger_event_columns() -> Columns<TriggerEvent> {
    Columns::new()
        .put("object_id", |it: &TriggerEvent| it.trigger.0.into())
        .put("type", |it| it.number.into())
        .put("type_desc", |it| it.name.into())
        .put("event_group_type", |it| it.group.and_then(|group| group.number).into())
        .put("event_group_type_desc", |it| it.group.map(|group| group.name).into())
        .one(&["is_trigger_event"])
}

/// Those of triggers whose text can be read.
fn trigger_event_items(source: &Source<'_>) -> Vec<TriggerEvent> {
    let triggers = modules(source).filter(|it| it.object.kind.code() == "TR");
    triggers.flat_map(|it| events_of_trigger(&it)).collect()
}

fn events_of_trigger(it: &ModuleItem<'_>) -> Vec<TriggerEvent> {
    let text = it.module.text.as_deref().unwrap_or_default();
    let trigger = it.object.id;
    if !it.object.is_of_database() {
        let of_table =
            |(number, name)| TriggerEvent { trigger, number: i32::from(number), name, group: None };
        return events_of(text).map(of_table).collect();
    }
    let mut events = Vec::new();
    for named in named_events(text).iter().filter_map(|name| ddl_event(name)) {
        let group = Some(named).filter(|named| named.is_group());
        events.extend(named.events().filter_map(|event| {
            Some(TriggerEvent { trigger, number: event.number?, name: event.name, group })
        }));
    }
    events
}

/// `sys.trigger_events`.
pub(super) fn trigger_events(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = trigger_event_columns().zero(&["is_first", "is_last"]);
    rows.add(&columns, trigger_event_items(source))
}

/// `sys.events`: of triggers alone.
pub(super) fn events(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&trigger_event_columns(), trigger_event_items(source))
}

/// A synonym with what it stands for.
struct SynonymItem<'a> {
    object: &'a Object,
    base: &'a str,
}

impl HasObject for SynonymItem<'_> {
    fn object(&self) -> &Object {
        self.object
    }
}

/// `sys.synonyms`.
pub(super) fn synonyms(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = object_columns().put("base_object_name", |it: &SynonymItem<'_>| it.base.into());
    let items = source.objects().into_iter().filter_map(|model| match &model.body {
        ObjectBody::Synonym(base) => Some(SynonymItem { object: &model.object, base }),
        _ => None,
    });
    rows.add(&columns, items)
}

/// A parameter of a module; id 0 is what a function returns.
pub(super) struct ParameterItem<'a> {
    pub(super) object: ObjectId,
    pub(super) id: i32,
    pub(super) column: &'a Column,
    pub(super) user_type: i32,
    pub(super) facets: Facets,
}

impl ParameterItem<'_> {
    /// OUTPUT, or what a function returns.
    pub(super) fn is_output(&self) -> bool {
        self.id == 0 || is_output(self.column)
    }
}

/// The parameters of a module. What a function returns has no name.
pub(super) fn parameters_of<'s>(
    source: &Source<'s>,
    module: &ModuleItem<'s>,
) -> Vec<ParameterItem<'s>> {
    let returns = module.is_function();
    let object = module.object.id;
    let item = |parameter: &'s Parameter| ParameterItem {
        object,
        id: if returns && parameter.column.name.is_empty() { 0 } else { parameter.column.id },
        column: &parameter.column,
        user_type: user_type_id(&parameter.column, source.model),
        facets: Facets::of_column(&parameter.column),
    };
    // A numbered procedure has those of its first number only.
    let own = module.module.parameters.iter().filter(|parameter| parameter.number == 1);
    own.map(item).collect()
}

/// `sys.parameters`.
pub(super) fn parameters(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("object_id", |it: &ParameterItem<'_>| it.object.0.into())
        .put("name", |it| (&it.column.name).into())
        .put("parameter_id", |it| it.id.into())
        .put("system_type_id", |it| it.column.xtype.into())
        .put("user_type_id", |it| it.user_type.into())
        .put("max_length", |it| it.facets.max_length.into())
        .put("precision", |it| it.facets.precision.into())
        .put("scale", |it| it.facets.scale.into())
        .put("is_output", |it| it.is_output().into())
        .put("is_nullable", |_| Value::from(true))
        .zero(&["is_cursor_ref", "has_default_value", "is_xml_document", "xml_collection_id"])
        .zero(&["is_readonly"])
        .null(&["default_value", "encryption_type", "encryption_type_desc"])
        .null(&["encryption_algorithm_name", "column_encryption_key_id"])
        .null(&["column_encryption_key_database_name"]);
    rows.add(&columns, modules(source).flat_map(|module| parameters_of(source, &module)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whatever_the_white_space_between_them() {
        assert!(mentions("select 1\n\twith  CHECK\noption", "with check option"));
        assert!(!mentions("select 1", "with check option"));
    }

    #[test]
    fn events_are_those_that_the_trigger_names() {
        let cases = [
            ("create trigger t on dbo.x after insert, update as delete y", "INSERT UPDATE"),
            ("CREATE TRIGGER t ON x\nFOR DELETE,INSERT AS\nselect 1", "INSERT DELETE"),
            ("alter trigger t on x instead of update as insert y", "UPDATE"),
            ("-- for insert\ncreate trigger t on x after delete not for replication as", "DELETE"),
        ];
        for (text, expected) in cases {
            let names: Vec<&str> = events_of(text).map(|(_, name)| name).collect();
            assert_eq!(names.join(" "), expected, "{text}");
        }
    }
}
