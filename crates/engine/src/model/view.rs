//! What a model has.

use std::collections::BTreeMap;

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_catalog::model::{
    Column, Constraint, ExtendedProperty, ForeignKey, Index, Object, ObjectType, Parameter,
    Permission, Principal, ScalarType, Statistics,
};
use extentdb_format::allocation::boot::BootRecord;
use extentdb_types::key_order::{KeyValue, push_sort_key};
use extentdb_types::{Collation, SqlType};

use super::shards::Shards;
use crate::catalog::sequence::SequenceDefinition;

/// The principal that owns what nobody else does.
pub(super) const DBO: i32 = 1;

/// A name as it compares: its sort key under the collation of the database.
pub(super) type FoldedName = Vec<u8>;

/// The catalog of a database at one version. See the [module](crate::model).
#[derive(Clone, Debug)]
pub struct CatalogModel {
    pub(super) version: u64,
    pub(super) boot: BootRecord,
    pub(super) objects: Shards<ObjectId, Arc<ObjectModel>>,
    /// By schema and name.
    pub(super) names: Shards<(i32, FoldedName), ObjectId>,
    pub(super) shared: Arc<Names>,
}

/// What is small and read again as a whole.
#[derive(Clone, Default, Debug)]
pub(super) struct Names {
    pub(super) schemas: BTreeMap<i32, SchemaModel>,
    pub(super) schema_ids: BTreeMap<FoldedName, i32>,
    pub(super) types: BTreeMap<i32, ScalarType>,
    pub(super) principals: Vec<Principal>,
    pub(super) role_members: Vec<(i32, i32)>,
    pub(super) role_owners: BTreeMap<i32, i32>,
    /// Of what is no object: the database, schemas, types, principals.
    pub(super) permissions: Vec<Permission>,
    pub(super) properties: Vec<ExtendedProperty>,
}

/// A schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaModel {
    /// Schema id.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// The principal that it belongs to.
    pub owner: i32,
}

/// An object: table, view, module, constraint, synonym …
#[derive(Clone, Debug)]
pub struct ObjectModel {
    /// Its row in `sysschobjs`.
    pub object: Object,
    /// Constraints and triggers of a table.
    pub children: Vec<ObjectId>,
    /// Those of the object and of its columns.
    pub properties: Vec<ExtendedProperty>,
    /// The same.
    pub permissions: Vec<Permission>,
    /// What it is.
    pub body: ObjectBody,
}

/// What an object is.
#[derive(Clone, Debug)]
pub enum ObjectBody {
    /// A table of users or of the system.
    Table(TableModel),
    /// A view, procedure, function, trigger or rule.
    Module(ModuleModel),
    /// What a synonym stands for, as stored.
    Synonym(String),
    /// A sequence.
    Sequence(SequenceDefinition),
    /// A constraint, which is part of its table, or something else.
    Other,
}

/// A table.
#[derive(Clone, Debug)]
pub struct TableModel {
    /// Columns by id.
    pub columns: Vec<Column>,
    /// Heap or clustered index first.
    pub indexes: Vec<Index>,
    /// Those of indexes among them.
    pub statistics: Vec<Statistics>,
    /// Defaults of columns, and those that columns are bound to.
    pub defaults: Vec<Constraint>,
    /// Checks.
    pub checks: Vec<Constraint>,
    /// Foreign keys whose rows are in this table.
    pub foreign_keys: Vec<ForeignKey>,
}

/// A view, procedure, function, trigger or rule.
#[derive(Clone, Debug)]
pub struct ModuleModel {
    /// The statement that made it; `None` when it is encrypted or cannot be read.
    pub text: Option<String>,
    /// Parameters in order; one without a name is what a function returns.
    pub parameters: Vec<Parameter>,
    /// Columns of a view, or of the table that a function returns, as far as they are kept.
    pub columns: Vec<Column>,
    /// Indexes of a view.
    pub indexes: Vec<Index>,
}

impl CatalogModel {
    /// Its version: see [`Database::model_version`](crate::Database::model_version).
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The boot page as it was at the opening.
    pub fn boot(&self) -> &BootRecord {
        &self.boot
    }

    /// The collation of the database, by which names compare.
    pub fn collation(&self) -> Collation {
        Collation(self.boot.collation_id)
    }

    /// Are two names the same under the collation of the database?
    pub fn is_same_name(&self, a: &str, b: &str) -> bool {
        folded(self.collation(), a) == folded(self.collation(), b)
    }

    /// A schema by its name.
    pub fn schema(&self, name: &str) -> Option<&SchemaModel> {
        let id = self.shared.schema_ids.get(&folded(self.collation(), name))?;
        self.shared.schemas.get(id)
    }

    /// A schema by its id.
    pub fn schema_by_id(&self, id: i32) -> Option<&SchemaModel> {
        self.shared.schemas.get(&id)
    }

    /// Schemas by id.
    pub fn schemas(&self) -> impl Iterator<Item = &SchemaModel> {
        self.shared.schemas.values()
    }

    /// An object by its name in a schema.
    pub fn object(&self, schema: &str, name: &str) -> Option<&Arc<ObjectModel>> {
        let schema = self.schema(schema)?.id;
        let id = self.names.get(&(schema, folded(self.collation(), name)))?;
        self.objects.get(id)
    }

    /// An object by its id.
    pub fn object_by_id(&self, id: ObjectId) -> Option<&Arc<ObjectModel>> {
        self.objects.get(&id)
    }

    /// All objects, in no particular order.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<ObjectModel>> {
        self.objects.values()
    }

    /// Tables of users, in no particular order.
    pub fn user_tables(&self) -> impl Iterator<Item = (&Object, &TableModel)> {
        let is_users = |object: &Object| object.kind == ObjectType::USER_TABLE && object.id.0 > 0;
        self.objects().filter_map(move |model| match &model.body {
            ObjectBody::Table(table) if is_users(&model.object) => Some((&model.object, table)),
            _ => None,
        })
    }

    /// A type by its id: alias types have ids greater than 256.
    pub fn scalar_type(&self, id: i32) -> Option<&ScalarType> {
        self.shared.types.get(&id)
    }

    /// All types, by id.
    pub fn scalar_types(&self) -> impl Iterator<Item = &ScalarType> {
        self.shared.types.values()
    }

    /// A type by its name in a schema.
    pub fn scalar_type_named(&self, schema: i32, name: &str) -> Option<&ScalarType> {
        let name = folded(self.collation(), name);
        let is_it =
            |ty: &&ScalarType| ty.schema_id == schema && folded(self.collation(), &ty.name) == name;
        self.shared.types.values().find(is_it)
    }

    /// Users and roles.
    pub fn principals(&self) -> &[Principal] {
        &self.shared.principals
    }

    /// Pairs of role and member.
    pub fn role_members(&self) -> &[(i32, i32)] {
        &self.shared.role_members
    }

    /// A principal by its name.
    pub fn principal(&self, name: &str) -> Option<&Principal> {
        self.shared.principals.iter().find(|own| self.is_same_name(&own.name, name))
    }

    /// A principal by its id.
    pub fn principal_by_id(&self, id: i32) -> Option<&Principal> {
        self.shared.principals.iter().find(|own| own.id == id)
    }

    /// The owner of a role; dbo where none is stored.
    pub fn role_owner(&self, role: i32) -> i32 {
        self.shared.role_owners.get(&role).copied().unwrap_or(DBO)
    }

    /// The owner of an object: that of its schema.
    pub fn owner_of(&self, object: &Object) -> i32 {
        self.schema_by_id(object.schema_id).map_or(DBO, |schema| schema.owner)
    }

    /// Permissions on what is no object.
    pub fn permissions(&self) -> &[Permission] {
        &self.shared.permissions
    }

    /// Extended properties of what is no object.
    pub fn properties(&self) -> &[ExtendedProperty] {
        &self.shared.properties
    }
}

impl ObjectModel {
    /// The table that it is.
    pub fn table(&self) -> Option<&TableModel> {
        if let ObjectBody::Table(table) = &self.body { Some(table) } else { None }
    }

    /// The module that it is.
    pub fn module(&self) -> Option<&ModuleModel> {
        if let ObjectBody::Module(module) = &self.body { Some(module) } else { None }
    }
}

impl TableModel {
    /// A column by its name, under the collation of the database.
    pub fn column(&self, name: &str, collation: Collation) -> Option<&Column> {
        let name = folded(collation, name);
        self.columns.iter().find(|column| folded(collation, &column.name) == name)
    }

    /// The default of a column.
    pub fn default_of(&self, column: &Column) -> Option<&Constraint> {
        self.defaults.iter().find(|default| default.object.id == column.default_object)
    }

    /// The primary key.
    pub fn primary_key(&self) -> Option<&Index> {
        self.indexes.iter().find(|index| index.primary_key)
    }
}

/// A name as it compares under a collation.
pub(super) fn folded(collation: Collation, name: &str) -> FoldedName {
    let bytes: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut key = Vec::with_capacity(2 * bytes.len());
    let ty = SqlType::NVarChar { len: Some(256), collation };
    push_sort_key(&ty, KeyValue::Bytes(&bytes), false, &mut key);
    key
}
