//! `sys.sequences`, `INFORMATION_SCHEMA.SEQUENCES`.

use extentdb_engine::SequenceDefinition;
use extentdb_engine::model::{Object, ObjectBody};

use super::object::{HasObject, object_columns};
use super::type_facets::Facets;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::value::Value;

/// A sequence with its values now.
struct Item<'a> {
    object: &'a Object,
    database: &'a str,
    schema: Option<&'a str>,
    definition: &'a SequenceDefinition,
    /// The last value that was given out, or else the first one.
    current: i128,
    is_exhausted: bool,
    is_used: bool,
}

impl HasObject for Item<'_> {
    fn object(&self) -> &Object {
        self.object
    }
}

impl Item<'_> {
    fn value(&self, value: i128) -> Value {
        let value = self.definition.datum(value);
        value.map_or(Value::NULL, |value| Value::variant(self.definition.ty, value))
    }

    fn type_name(&self) -> String {
        let name = self.definition.ty.to_string();
        name.split('(').next().unwrap_or_default().to_owned()
    }

    fn facets(&self) -> Facets {
        Facets::of(&self.definition.ty)
    }
}

fn items<'a>(source: &'a Source<'_>) -> Result<Vec<Item<'a>>, Error> {
    let mut items = Vec::new();
    for model in source.objects() {
        let ObjectBody::Sequence(definition) = &model.body else { continue };
        let state = source.database.sequence(model.object.id)?;
        items.push(Item {
            object: &model.object,
            database: source.database_name(),
            schema: source.schema_name(model.object.schema_id),
            definition,
            current: state.last.unwrap_or(definition.start),
            is_exhausted: state.is_exhausted,
            is_used: state.last.is_some(),
        });
    }
    Ok(items)
}

/// `sys.sequences`.
pub(super) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns: Columns<Item<'_>> = object_columns()
        .put("start_value", |it: &Item<'_>| it.value(it.definition.start))
        .put("increment", |it| it.value(it.definition.increment))
        .put("minimum_value", |it| it.value(it.definition.minimum))
        .put("maximum_value", |it| it.value(it.definition.maximum))
        .put("is_cycling", |it| it.definition.is_cycling.into())
        .put("is_cached", |it| (it.definition.cache > 0).into())
        .put("cache_size", |it| {
            let size = it.definition.cache;
            let is_default = size == 0 || size == SequenceDefinition::DEFAULT_CACHE;
            Some(size).filter(|_| !is_default).into()
        })
        .put("system_type_id", |it| it.definition.ty.xtype().into())
        .put("user_type_id", |it| it.definition.ty.xtype().into())
        .put("precision", |it| it.facets().precision.into())
        .put("scale", |it| it.facets().scale.into())
        .put("current_value", |it| it.value(it.current))
        .put("is_exhausted", |it| it.is_exhausted.into())
        .put("last_used_value", |it| if it.is_used { it.value(it.current) } else { Value::NULL });
    rows.add(&columns, items(source)?)
}

/// `INFORMATION_SCHEMA.SEQUENCES`.
pub(super) fn of_information_schema(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    /// Precisions are in decimal digits.
    const RADIX: i32 = 10;
    let columns: Columns<Item<'_>> = Columns::new()
        .put("SEQUENCE_CATALOG", |it: &Item<'_>| it.database.into())
        .put("SEQUENCE_SCHEMA", |it| it.schema.into())
        .put("SEQUENCE_NAME", |it| (&it.object.name).into())
        .put("DATA_TYPE", |it| it.type_name().into())
        .put("NUMERIC_PRECISION", |it| it.facets().precision.into())
        .put("NUMERIC_PRECISION_RADIX", |_| RADIX.into())
        .put("NUMERIC_SCALE", |it| it.facets().scale.into())
        .put("START_VALUE", |it| it.value(it.definition.start))
        .put("MINIMUM_VALUE", |it| it.value(it.definition.minimum))
        .put("MAXIMUM_VALUE", |it| it.value(it.definition.maximum))
        .put("INCREMENT", |it| it.value(it.definition.increment))
        .put("CYCLE_OPTION", |it| it.definition.is_cycling.into())
        .put("DECLARED_DATA_TYPE", |it| it.definition.ty.xtype().into())
        .put("DECLARED_NUMERIC_PRECISION", |it| it.facets().precision.into())
        .put("DECLARED_NUMERIC_SCALE", |it| it.facets().scale.into());
    rows.add(&columns, items(source)?)
}
