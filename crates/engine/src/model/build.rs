//! A model from what was read: all of a catalog, or the rows about some objects.

use std::collections::BTreeMap;

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_catalog::load::{CLASS_ROLE_OWNER, CLASS_SCHEMA_OWNER};
use extentdb_catalog::model::{
    Catalog, Constraint, Descriptions, ExtendedProperty, ForeignKey, Module, Object, Parameter,
    Permission, Statistics,
};
use extentdb_types::Collation;

use super::shards::Shards;
use super::view::{
    CatalogModel, DBO, ModuleModel, Names, ObjectBody, ObjectModel, SchemaModel, TableModel, folded,
};
use crate::catalog::body_of;
use crate::catalog::sequence::{self, SequenceDefinition};

/// Class of extended properties and permissions of objects and columns.
pub(super) const CLASS_OBJECT: u8 = 1;

/// What belongs to each object.
#[derive(Default)]
struct Parts {
    children: Vec<ObjectId>,
    properties: Vec<ExtendedProperty>,
    permissions: Vec<Permission>,
    statistics: Vec<Statistics>,
    checks: Vec<Constraint>,
    foreign_keys: Vec<ForeignKey>,
    module: Option<Module>,
    parameters: Vec<Parameter>,
}

/// The model of a whole catalog.
pub(super) fn whole(catalog: Catalog, mut described: Descriptions, version: u64) -> CatalogModel {
    let mut model = CatalogModel {
        version,
        boot: catalog.boot.clone(),
        objects: Shards::default(),
        names: Shards::default(),
        shared: Arc::new(names(&catalog, &mut described)),
    };
    objects(catalog, described).into_iter().for_each(|object| model.add(object));
    model
}

impl CatalogModel {
    pub(super) fn add(&mut self, model: ObjectModel) {
        let object = &model.object;
        let name = folded(self.collation(), &object.name);
        self.names.insert((object.schema_id, name), object.id);
        self.objects.insert(object.id, Arc::new(model));
    }

    /// Forgets an object, and returns what it was.
    pub(super) fn remove(&mut self, id: ObjectId) -> Option<Arc<ObjectModel>> {
        let model = self.objects.remove(&id)?;
        let key = (model.object.schema_id, folded(self.collation(), &model.object.name));
        // Another one may have the name by now.
        if self.names.get(&key) == Some(&id) {
            self.names.remove(&key);
        }
        Some(model)
    }
}

/// Schemas, types and principals.
pub(super) fn names(catalog: &Catalog, described: &mut Descriptions) -> Names {
    let collation = Collation(catalog.boot.collation_id);
    let owners = std::mem::take(&mut described.owners);
    let owner_of = |class: u8, id: i32| owners.get(&(class, id)).copied().unwrap_or(DBO);
    let schema = |(id, name): (&i32, &String)| {
        let owner = owner_of(CLASS_SCHEMA_OWNER, *id);
        (*id, SchemaModel { id: *id, name: name.clone(), owner })
    };
    let is_role = |((class, id), owner): (&(u8, i32), &i32)| {
        (*class == CLASS_ROLE_OWNER).then_some((*id, *owner))
    };
    let is_of_object = |class: u8| class == CLASS_OBJECT;
    Names {
        schemas: catalog.schemas.iter().map(schema).collect(),
        schema_ids: catalog
            .schemas
            .iter()
            .map(|(id, name)| (folded(collation, name), *id))
            .collect(),
        types: catalog.types.clone(),
        principals: std::mem::take(&mut described.principals),
        role_members: std::mem::take(&mut described.role_members),
        role_owners: owners.iter().filter_map(is_role).collect(),
        permissions: described.permissions.extract_if(.., |it| !is_of_object(it.class)).collect(),
        properties: described.properties.extract_if(.., |it| !is_of_object(it.class)).collect(),
    }
}

/// All objects that were read.
pub(super) fn objects(mut catalog: Catalog, described: Descriptions) -> Vec<ObjectModel> {
    let mut parts = parts_of(&mut catalog, described);
    let defaults: BTreeMap<ObjectId, Constraint> =
        catalog.defaults.drain(..).map(|default| (default.object.id, default)).collect();
    // From 2012 on databases list the system's own views and procedures, whose texts are elsewhere.
    let mut all = std::mem::take(&mut catalog.objects);
    all.retain(|id, _| id.0 > 0);
    let model = |object: Object| {
        let own = parts.remove(&object.id).unwrap_or_default();
        model_of(object, own, &mut catalog, &defaults)
    };
    all.into_values().map(model).collect()
}

fn parts_of(catalog: &mut Catalog, described: Descriptions) -> BTreeMap<ObjectId, Parts> {
    let mut parts: BTreeMap<ObjectId, Parts> = BTreeMap::new();
    for object in catalog.objects.values().filter(|object| object.parent.0 != 0) {
        parts.entry(object.parent).or_default().children.push(object.id);
    }
    for property in described.properties {
        parts.entry(ObjectId(property.id)).or_default().properties.push(property);
    }
    for permission in described.permissions {
        parts.entry(ObjectId(permission.id)).or_default().permissions.push(permission);
    }
    for statistics in described.statistics {
        parts.entry(statistics.table).or_default().statistics.push(statistics);
    }
    for (module, parameters) in described.parameters {
        parts.entry(module).or_default().parameters = parameters;
    }
    for check in catalog.checks.drain(..) {
        parts.entry(check.object.parent).or_default().checks.push(check);
    }
    for key in catalog.foreign_keys.drain(..) {
        parts.entry(key.object.parent).or_default().foreign_keys.push(key);
    }
    for module in catalog.modules.drain(..) {
        let id = module.object.id;
        parts.entry(id).or_default().module = Some(module);
    }
    parts
}

/// What a sequence is, by its extended property.
fn sequence_of(object: &Object, properties: &[ExtendedProperty]) -> Option<SequenceDefinition> {
    if object.kind.code() != "SO" {
        return None;
    }
    let own = properties.iter().find(|property| property.name == sequence::DEFINITION)?;
    SequenceDefinition::of_text(&sequence::property_text(own.value.as_deref()?)?)
}

/// A default with its expression: one that is an object by itself has a whole statement.
fn expression_alone(mut default: Constraint) -> Constraint {
    if default.object.is_bound_to() {
        default.definition = default.definition.as_deref().and_then(body_of).map(str::to_owned);
    }
    default
}

fn model_of(
    object: Object,
    parts: Parts,
    catalog: &mut Catalog,
    defaults: &BTreeMap<ObjectId, Constraint>,
) -> ObjectModel {
    let mut properties = parts.properties;
    let table = catalog.tables.remove(&object.id);
    let columns = catalog.view_columns.remove(&object.id).unwrap_or_default();
    let body = match (table, parts.module, catalog.synonyms.remove(&object.id)) {
        (table, Some(module), _) => {
            let (own_columns, indexes) =
                table.map(|table| (table.columns, table.indexes)).unwrap_or_default();
            let columns = if own_columns.is_empty() { columns } else { own_columns };
            let parameters = parts.parameters;
            ObjectBody::Module(ModuleModel { text: module.text, parameters, columns, indexes })
        }
        (Some(table), None, _) => {
            let bound = table
                .columns
                .iter()
                .filter_map(|column| defaults.get(&column.default_object).cloned())
                .map(expression_alone);
            ObjectBody::Table(TableModel {
                defaults: bound.collect(),
                columns: table.columns,
                indexes: table.indexes,
                statistics: parts.statistics,
                checks: parts.checks,
                foreign_keys: parts.foreign_keys,
            })
        }
        (None, None, Some(base)) => ObjectBody::Synonym(base),
        (None, None, None) => {
            sequence_of(&object, &properties).map_or(ObjectBody::Other, ObjectBody::Sequence)
        }
    };
    // The state of a sequence is none of its definition, and changes without a new version.
    properties.retain(|property| property.name != sequence::NEXT);
    ObjectModel {
        object,
        children: parts.children,
        properties,
        permissions: parts.permissions,
        body,
    }
}
