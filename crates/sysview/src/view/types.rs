//! `sys.types`, `sys.table_types`, `sys.column_type_usages`, `sys.parameter_type_usages`,
//! `sys.xml_schema_collections`.

use std::collections::BTreeMap;

use extentdb_engine::model::ScalarType;
use extentdb_types::{DateTime, SqlType};

use super::column::columns_of;
use super::module::{modules, parameters_of};
use super::type_facets::{Facets, SYSNAME, user_type_id};
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

/// A type of the database.
pub(super) struct TypeItem<'a> {
    pub(super) ty: &'a ScalarType,
    pub(super) system_type: i32,
    pub(super) facets: Facets,
    /// Objects of a bound default and rule.
    pub(super) default: i32,
    pub(super) rule: i32,
}

impl TypeItem<'_> {
    pub(super) fn is_assembly_type(&self) -> bool {
        matches!(self.ty.ty, Some(SqlType::Udt { .. }))
    }

    /// The collation of its texts: that of the database.
    pub(super) fn collation(&self) -> Option<String> {
        self.ty.ty.and_then(|ty| ty.collation()).and_then(|collation| collation.name())
    }
}

/// All types, by id. What the model does not have of one is in its row.
pub(super) fn items<'s>(source: &Source<'s>) -> Result<Vec<TypeItem<'s>>, Error> {
    let table = source.database.base_table("sysscalartypes")?;
    let by_id: BTreeMap<i32, _> = table.rows().map(|row| (row.int("id"), row)).collect();
    let item = |ty: &'s ScalarType| {
        let row = by_id.get(&ty.id);
        let int = |column: &str| row.map_or(0, |row| row.int(column));
        let small = |column: &str| u8::try_from(int(column)).unwrap_or(0);
        TypeItem {
            ty,
            system_type: int("xtype"),
            facets: Facets {
                max_length: i16::try_from(int("length")).unwrap_or(0),
                precision: small("prec"),
                scale: small("scale"),
            },
            default: int("dflt"),
            rule: int("chk"),
        }
    };
    Ok(source.model.scalar_types().map(item).collect())
}

fn type_columns<'a>() -> Columns<TypeItem<'a>> {
    Columns::new()
        .put("name", |it: &TypeItem<'_>| (&it.ty.name).into())
        .put("system_type_id", |it| it.system_type.into())
        .put("user_type_id", |it| it.ty.id.into())
        .put("schema_id", |it| it.ty.schema_id.into())
        .put("max_length", |it| it.facets.max_length.into())
        .put("precision", |it| it.facets.precision.into())
        .put("scale", |it| it.facets.scale.into())
        .put("collation_name", |it| it.collation().into())
        .put("is_nullable", |it| (!it.ty.not_null).into())
        .put("is_user_defined", |it| (it.ty.id > SYSNAME).into())
        .put("is_assembly_type", |it| it.is_assembly_type().into())
        .put("default_object_id", |it| it.default.into())
        .put("rule_object_id", |it| it.rule.into())
        .put("is_table_type", |it| it.ty.table.is_some().into())
        .null(&["principal_id"])
}

/// `sys.types`.
pub(super) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&type_columns(), items(source)?)
}

/// `sys.table_types`.
pub(super) fn table_types(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = type_columns()
        .put("type_table_object_id", |it| it.ty.table.map_or(0, |table| table.0).into())
        .zero(&["is_memory_optimized"]);
    let items = items(source)?;
    rows.add(&columns, items.into_iter().filter(|it| it.ty.table.is_some()))
}

/// An object, its column or parameter, and the type of users that it has.
type Usage = (i32, i32, i32);

/// `sys.column_type_usages`.
pub(super) fn of_columns(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("object_id", |it: &Usage| it.0.into())
        .put("column_id", |it| it.1.into())
        .put("user_type_id", |it| it.2.into());
    let items = source.objects().into_iter().flat_map(|model| {
        let id = model.object.id.0;
        columns_of(model).iter().map(move |it| (id, it.id, user_type_id(it, source.model)))
    });
    rows.add(&columns, items.filter(|it| it.2 > SYSNAME))
}

/// `sys.parameter_type_usages`.
pub(super) fn of_parameters(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("object_id", |it: &Usage| it.0.into())
        .put("parameter_id", |it| it.1.into())
        .put("user_type_id", |it| it.2.into());
    let items = modules(source)
        .flat_map(|module| parameters_of(source, &module))
        .map(|it| (it.object.0, it.id, it.user_type));
    rows.add(&columns, items.filter(|it| it.2 > SYSNAME))
}

/// Schema sys.
const SCHEMA_SYS: i32 = 4;

/// `sys.xml_schema_collections`: the one of the product; there are no others.
pub(super) fn xml_schema_collections(_: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("xml_collection_id", |id: &i32| (*id).into())
        .put("schema_id", |_| SCHEMA_SYS.into())
        .put("name", |_| "sys".into())
        .put("create_date", |_| DateTime::BASE.into())
        .put("modify_date", |_| DateTime::BASE.into())
        .null(&["principal_id"]);
    rows.add(&columns, [1])
}
