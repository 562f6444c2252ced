//! What was added to the database `model` comes to a new database: schemas, types, sequences,
//! tables without their rows, constraints, indexes, statistics, modules, triggers, synonyms.
//!
//! The objects are made again, in the order in which they were made, before the files of the new
//! database are durable: it has them all, or it was never there. They have ids of their own.
//! Permissions, extended properties, bound defaults and rules stay where they are.

use std::collections::BTreeMap;

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_catalog::model::ReferentialActions;
use extentdb_catalog::table::Computed;
use extentdb_catalog::table::describe::PARAMETER_OUTPUT;

use crate::catalog::Table;
use crate::catalog::identity::IdentitySpec;
use crate::catalog::index::Constraint;
use crate::database::Database;
use crate::ddl::constraint::ForeignKeySpec;
use crate::ddl::index::IndexSpec;
use crate::ddl::module::{ModuleKind, ModuleSettings, ModuleSpec, ParameterSpec};
use crate::ddl::spec::{ColumnSpec, DefaultSpec, Nullability, TableSpec};
use crate::ddl::statistics::StatisticsSpec;
use crate::ddl::trust::ExistingRows;
use crate::ddl::user_type::TypeSpec;
use crate::error::Error;
use crate::model::{
    CatalogModel, Column, Index, ModuleModel, Object, ObjectBody, ObjectModel, TableModel,
};
use crate::session::Session;

/// dbo, guest, INFORMATION_SCHEMA and sys are 1 to 4; from 16,384 on schemas are those of roles.
const OWN_SCHEMAS: std::ops::Range<i32> = 5..16_384;
/// `sysname`, the last type of the system.
const LAST_TYPE_OF_SYSTEM: i32 = 256;
/// Schema of the system's own objects.
const SYS_SCHEMA: i32 = 4;
/// Queues of the system are in every database, as are its tables.
const KINDS: [&str; 8] = ["U", "V", "P", "FN", "IF", "TF", "SN", "SO"];

impl Database {
    /// Makes what was added to `model` here, in a database that nobody uses yet.
    pub(super) fn copy_objects_of(self: &Arc<Self>, model: &Database) -> Result<(), Error> {
        let model = model.model()?;
        let mut copy = Copy { model: &model, types: BTreeMap::new() };
        let has_schemas = model.schemas().any(|schema| OWN_SCHEMAS.contains(&schema.id));
        let has_types = model.scalar_types().any(|ty| ty.id > LAST_TYPE_OF_SYSTEM);
        let objects = own_objects(&model);
        if objects.is_empty() && !has_schemas && !has_types {
            return Ok(());
        }
        let mut session = self.try_session()?;
        session.begin();
        copy.names(&mut session)?;
        let mut tables = Vec::new();
        for object in &objects {
            tables.extend(copy.object(&mut session, object)?.map(|table| (table, *object)));
        }
        for (table, object) in &tables {
            copy.foreign_keys(&mut session, table, object)?;
            copy.triggers(&mut session, table, object)?;
        }
        session.commit()
    }
}

impl Session {
    /// Makes a table in schema dbo of the current database with the columns, defaults, keys,
    /// indexes and checks of a table type. `model` is that of the type's database, `ty` the table
    /// behind the type. Constraints get names that end as that of the table, which is unique in
    /// its schema.
    ///
    /// # Errors
    /// The type is not there; as for [`Session::create_table`].
    pub fn create_table_of_type(
        &mut self,
        model: &CatalogModel,
        ty: ObjectId,
        name: &str,
    ) -> Result<Arc<Table>, Error> {
        let found = model.object_by_id(ty).and_then(|it| it.table());
        let table = found.ok_or(Error::Gone { id: ty })?;
        let copy = Copy { model, types: BTreeMap::new() };
        let own = |constraint: &str| name_within(constraint, name);
        let columns = table.columns.iter().filter_map(|column| {
            let mut spec = copy.column(column, Some(table))?;
            spec.default.iter_mut().for_each(|default| default.name = own(&default.name));
            Some(spec)
        });
        let index = |index: &Index| {
            let spec = index_spec(table, index);
            IndexSpec { name: own(&spec.name), ..spec }
        };
        let clustered = table.indexes.iter().find(|index| index.id.0 == 1);
        let made = self.create_table(&TableSpec {
            schema: None,
            name: name.to_owned(),
            columns: columns.collect(),
            clustered: clustered.map(index),
            filegroup: None,
        })?;
        for other in table.indexes.iter().filter(|index| index.id.0 > 1) {
            self.create_index(&made, &index(other))?;
        }
        for check in &table.checks {
            let Some(text) = &check.definition else { continue };
            let name = own(&check.object.name);
            self.add_check_with(&made, &name, text, ExistingRows::Verified)?;
        }
        Ok(made)
    }
}

/// The name of a constraint with the end of a table's name: at most 128 UTF-16 units.
fn name_within(constraint: &str, table: &str) -> String {
    const UNITS: usize = 115;
    const END: usize = 12;
    let units: Vec<u16> = constraint.encode_utf16().take(UNITS).collect();
    let end = table.chars().count().saturating_sub(END);
    let end: String = table.chars().skip(end).collect();
    format!("{}_{end}", String::from_utf16_lossy(&units))
}

struct Copy<'m> {
    model: &'m CatalogModel,
    /// Ids of alias types there, and here.
    types: BTreeMap<i32, i32>,
}

impl Copy<'_> {
    /// Schemas and types.
    fn names(&mut self, session: &mut Session) -> Result<(), Error> {
        for schema in self.model.schemas().filter(|schema| OWN_SCHEMAS.contains(&schema.id)) {
            session.create_schema(&schema.name)?;
        }
        for own in self.model.scalar_types().filter(|own| own.id > LAST_TYPE_OF_SYSTEM) {
            let Some(ty) = own.ty else { continue };
            let nullability =
                if own.not_null { Nullability::NotNull } else { Nullability::Nullable };
            let schema = Some(self.schema(own.schema_id));
            let spec = TypeSpec { schema, name: own.name.clone(), ty, nullability };
            self.types.insert(own.id, session.create_type(&spec)?);
        }
        Ok(())
    }

    fn schema(&self, id: i32) -> String {
        let schema = self.model.schemas().find(|schema| schema.id == id);
        schema.map_or_else(|| "dbo".to_owned(), |schema| schema.name.clone())
    }

    /// Makes an object; returns it when it is a table.
    fn object(&self, session: &mut Session, it: &ObjectModel) -> Result<Option<Arc<Table>>, Error> {
        let object = &it.object;
        let schema = self.schema(object.schema_id);
        match &it.body {
            ObjectBody::Table(table) => return self.table(session, object, table).map(Some),
            ObjectBody::Module(module) => {
                if let Some(spec) = self.module(object, module) {
                    session.create_module(&spec)?;
                }
            }
            ObjectBody::Synonym(base) => session.create_synonym(&schema, &object.name, base)?,
            ObjectBody::Sequence(definition) => {
                session.create_sequence(&schema, &object.name, definition)?;
            }
            ObjectBody::Other => {}
        }
        Ok(None)
    }

    fn module(&self, object: &Object, module: &ModuleModel) -> Option<ModuleSpec> {
        let kind = match object.kind.code() {
            "V" => ModuleKind::View,
            "P" => ModuleKind::Procedure,
            "FN" => ModuleKind::ScalarFunction,
            "IF" => ModuleKind::InlineFunction,
            "D" => ModuleKind::Default,
            "R" => ModuleKind::Rule,
            _ => ModuleKind::TableFunction,
        };
        Some(ModuleSpec {
            schema: Some(self.schema(object.schema_id)),
            name: object.name.clone(),
            kind,
            text: module.text.clone()?,
            columns: module.columns.iter().filter_map(|column| self.column(column, None)).collect(),
            parameters: module.parameters.iter().filter_map(parameter).collect(),
            settings: settings_of(object),
        })
    }

    fn table(
        &self,
        session: &mut Session,
        object: &Object,
        table: &TableModel,
    ) -> Result<Arc<Table>, Error> {
        let columns = table.columns.iter().filter_map(|column| self.column(column, Some(table)));
        let clustered = table.indexes.iter().find(|index| index.id.0 == 1);
        let made = session.create_table(&TableSpec {
            schema: Some(self.schema(object.schema_id)),
            name: object.name.clone(),
            columns: columns.collect(),
            clustered: clustered.map(|index| index_spec(table, index)),
            filegroup: None,
        })?;
        for index in table.indexes.iter().filter(|index| index.id.0 > 1) {
            let spec = index_spec(table, index);
            session.create_index(&made, &spec)?;
            if index.is_marked_disabled() {
                session.disable_index(&made, &spec.name)?;
            }
        }
        self.statistics(session, &made, table)?;
        for check in &table.checks {
            let Some(text) = &check.definition else { continue };
            let rows = trust_of(&check.object);
            session.add_check_with(&made, &check.object.name, text, rows)?;
            if check.object.is_disabled_constraint() {
                session.disable_constraint(&made, &check.object.name)?;
            }
        }
        Ok(made)
    }

    fn column(&self, column: &Column, of: Option<&TableModel>) -> Option<ColumnSpec> {
        let identity = column.identity.as_ref().and_then(|own| {
            Some(IdentitySpec {
                seed: own.seed.parse().ok()?,
                increment: own.increment.parse().ok()?,
            })
        });
        // A bound default is an object by itself, without a parent.
        let default = of.and_then(|table| table.default_of(column));
        let default = default.filter(|default| default.object.parent.0 != 0).and_then(|default| {
            Some(DefaultSpec::new(&default.object.name, default.definition.as_deref()?))
        });
        let computed = column
            .computed
            .as_ref()
            .map(|text| Computed { text: text.clone(), persisted: column.persisted });
        Some(ColumnSpec {
            nullable: column.nullable,
            identity,
            default,
            computed,
            user_type: self.user_type(column),
            row_guid: column.row_guid,
            ..ColumnSpec::new(&column.name, column.ty?)
        })
    }

    /// The type of a column here, by its name there.
    fn user_type(&self, column: &Column) -> Option<i32> {
        let name = column.user_type.as_deref()?;
        let Some((schema, name)) = name.split_once('.') else { return Some(LAST_TYPE_OF_SYSTEM) };
        let schema = self.model.schema(schema)?;
        let own = self.model.scalar_type_named(schema.id, name)?;
        self.types.get(&own.id).copied()
    }

    fn statistics(
        &self,
        session: &mut Session,
        made: &Arc<Table>,
        table: &TableModel,
    ) -> Result<(), Error> {
        let is_of_index = |id: i32| table.indexes.iter().any(|index| index.id.0 == id);
        for own in &table.statistics {
            if is_of_index(own.id) || own.is_auto_created() {
                continue;
            }
            let columns: Vec<&str> =
                own.columns.iter().filter_map(|id| column_name(table, *id)).collect();
            session.create_statistics(made, &StatisticsSpec::new(&own.name, &columns))?;
        }
        Ok(())
    }

    fn foreign_keys(
        &self,
        session: &mut Session,
        made: &Arc<Table>,
        it: &ObjectModel,
    ) -> Result<(), Error> {
        let Some(table) = it.table() else { return Ok(()) };
        for key in &table.foreign_keys {
            let parent = self.model.object_by_id(key.referenced);
            let Some((parent, of_parent)) = parent.and_then(|it| Some((it, it.table()?))) else {
                continue;
            };
            let pair = |(from, to): &(i32, i32)| {
                let from = column_name(table, *from)?.to_owned();
                Some((from, column_name(of_parent, *to)?.to_owned()))
            };
            let spec = ForeignKeySpec {
                name: key.object.name.clone(),
                columns: key.columns.iter().filter_map(pair).collect(),
                actions: ReferentialActions { on_delete: key.on_delete, on_update: key.on_update },
                rows: trust_of(&key.object),
            };
            let schema = self.schema(parent.object.schema_id);
            let parent = session.table(&format!("{schema}.{}", parent.object.name))?;
            session.create_foreign_key(made, &parent, &spec)?;
            if key.object.is_disabled_constraint() {
                session.disable_constraint(made, &spec.name)?;
            }
        }
        Ok(())
    }

    fn triggers(
        &self,
        session: &mut Session,
        made: &Arc<Table>,
        it: &ObjectModel,
    ) -> Result<(), Error> {
        for child in it.children.iter().filter_map(|id: &ObjectId| self.model.object_by_id(*id)) {
            let object = &child.object;
            let text = child.module().and_then(|module| module.text.as_deref());
            if let (true, Some(text)) = (object.kind.code() == "TR", text) {
                session.create_trigger_with(made, &object.name, text, settings_of(object))?;
                if object.is_disabled_constraint() {
                    session.switch_trigger(made, &object.name, false)?;
                }
            }
        }
        Ok(())
    }
}

/// What belongs to no other object, in the order in which it was made.
fn own_objects(model: &CatalogModel) -> Vec<&Arc<ObjectModel>> {
    let is_own = |it: &&Arc<ObjectModel>| {
        let object = &it.object;
        object.id.0 > 0
            && object.parent.0 == 0
            && object.schema_id != SYS_SCHEMA
            && KINDS.contains(&object.kind.code())
    };
    let mut objects: Vec<_> = model.objects().filter(is_own).collect();
    objects.sort_by_key(|it| (it.object.created.map(|at| (at.days(), at.ticks())), it.object.id));
    objects
}

fn settings_of(object: &Object) -> ModuleSettings {
    ModuleSettings {
        ansi_nulls: object.uses_ansi_nulls(),
        quoted_identifier: object.uses_quoted_identifier(),
    }
}

fn trust_of(object: &Object) -> ExistingRows {
    if object.is_not_trusted() { ExistingRows::Unverified } else { ExistingRows::Verified }
}

fn column_name(table: &TableModel, id: i32) -> Option<&str> {
    table.columns.iter().find(|column| column.id == id).map(|column| &*column.name)
}

fn index_spec(table: &TableModel, index: &Index) -> IndexSpec {
    let keys = index.columns.iter().filter(|column| column.key_ordinal > 0);
    let key = |column: &crate::model::IndexColumn| {
        Some((column_name(table, column.column_id)?.to_owned(), column.descending))
    };
    let included = index.columns.iter().filter(|column| column.is_included());
    let constraint = match (index.primary_key, index.unique_constraint) {
        (true, _) => Constraint::PrimaryKey,
        (_, true) => Constraint::Unique,
        _ => Constraint::None,
    };
    IndexSpec {
        unique: index.unique,
        constraint,
        keys: keys.filter_map(key).collect(),
        clustered: index.id.0 == 1,
        included: included
            .filter_map(|column| column_name(table, column.column_id).map(str::to_owned))
            .collect(),
        filter: index.filter.clone(),
        fill_factor: index.fill_factor,
        ..IndexSpec::new(index.name.as_deref().unwrap_or_default(), &[])
    }
}

/// A parameter of a module of model; `None` where its type is not known.
fn parameter(own: &extentdb_catalog::model::Parameter) -> Option<ParameterSpec> {
    Some(ParameterSpec {
        name: own.column.name.clone(),
        ty: own.column.ty?,
        user_type: None,
        is_output: own.column.status & PARAMETER_OUTPUT as u32 != 0,
    })
}
