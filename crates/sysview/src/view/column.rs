//! Columns: `sys.columns`, `sys.all_columns`, `sys.computed_columns`, `sys.identity_columns`.

use extentdb_base::ObjectId;
use extentdb_engine::model::{Column, Identity, ObjectBody, ObjectModel};
use extentdb_types::{Datum, Decimal, SqlType};

use super::type_facets::{Facets, SYSNAME, user_type_id};
use crate::base::is_ansi_padded;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::shape::{View, views};
use crate::source::Source;
use crate::value::Value;

/// A column as the views show it.
struct ColumnItem<'a> {
    object: ObjectId,
    name: &'a str,
    id: i32,
    system_type: u8,
    user_type: i32,
    facets: Facets,
    collation: Option<String>,
    is_nullable: bool,
    is_ansi_padded: bool,
    /// The last identity value, as the table has it now.
    last_identity: Value,
    /// Its row in `syscolpars`; `None` of a column of a system view.
    own: Option<&'a Column>,
}

impl<'a> ColumnItem<'a> {
    fn of_object(object: ObjectId, column: &'a Column, source: &Source<'a>) -> ColumnItem<'a> {
        ColumnItem {
            object,
            name: &column.name,
            id: column.id,
            system_type: column.xtype,
            user_type: user_type_id(column, source.model),
            facets: Facets::of_column(column),
            collation: column.ty.and_then(|ty| ty.collation()).and_then(|it| it.name()),
            is_nullable: column.nullable,
            is_ansi_padded: is_ansi_padded(column),
            last_identity: last_identity(object, column, source),
            own: Some(column),
        }
    }

    fn is(&self, test: impl FnOnce(&Column) -> bool) -> Value {
        self.own.is_some_and(test).into()
    }

    fn identity(&self) -> Option<&'a Identity> {
        self.own?.identity.as_ref()
    }

    /// A number of the identity property, of the type of the column.
    fn identity_value(&self, number: impl FnOnce(&'a Identity) -> Option<&'a str>) -> Value {
        let number = self.identity().and_then(number);
        number.and_then(|text| typed_number(self.own?.ty?, text)).into()
    }
}

/// The last identity value of a column: the catalog is ahead of it while its database is open.
fn last_identity(object: ObjectId, column: &Column, source: &Source<'_>) -> Value {
    let Some(own) = &column.identity else { return Value::NULL };
    let last = match source.database.identity(object) {
        Some(now) => now.last.map(|last| last.to_string()),
        None => own.last.clone(),
    };
    let typed = last.and_then(|last| typed_number(column.ty?, &last));
    typed.unwrap_or(Value::NULL)
}

/// A number as a sql_variant of its type.
fn typed_number(ty: SqlType, text: &str) -> Option<Value> {
    let value = match ty {
        SqlType::TinyInt => Datum::TinyInt(text.parse().ok()?),
        SqlType::SmallInt => Datum::SmallInt(text.parse().ok()?),
        SqlType::Int => Datum::Int(text.parse().ok()?),
        SqlType::BigInt => Datum::BigInt(text.parse().ok()?),
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
            Datum::Decimal(Decimal::parse(text)?.rescale(scale)?)
        }
        _ => return None,
    };
    Some(Value::variant(ty, value))
}

/// The columns of an object that has some.
pub(crate) fn columns_of(model: &ObjectModel) -> &[Column] {
    match &model.body {
        ObjectBody::Table(table) => &table.columns,
        ObjectBody::Module(module) => &module.columns,
        ObjectBody::Synonym(_) | ObjectBody::Sequence(_) | ObjectBody::Other => &[],
    }
}

fn items<'s>(source: &Source<'s>) -> impl Iterator<Item = ColumnItem<'s>> {
    source.objects().into_iter().flat_map(move |model| {
        let id = model.object.id;
        columns_of(model).iter().map(move |column| ColumnItem::of_object(id, column, source))
    })
}

/// Those of a system view.
fn items_of_view<'s>(view: &'static View, source: &Source<'s>) -> Vec<ColumnItem<'s>> {
    let collation = source.model.collation();
    let item = |(id, column): (i32, &'static crate::ViewColumn)| {
        let ty = column.ty.sql_type(collation);
        let is_padded = ty.max_bytes().is_some() && ty.fixed_bytes().is_none() && !ty.is_bit();
        ColumnItem {
            object: ObjectId(view.object_id()),
            name: column.name,
            id,
            system_type: ty.xtype(),
            user_type: if column.ty.is_sysname() { SYSNAME } else { ty.xtype().into() },
            facets: Facets::of(&ty),
            collation: ty.collation().and_then(|it| it.name()),
            is_nullable: column.is_nullable,
            is_ansi_padded: is_padded || ty.collation().is_some(),
            last_identity: Value::NULL,
            own: None,
        }
    };
    (1..).zip(view.columns).map(item).collect()
}

/// The columns that all views of columns have.
fn shared<'a>() -> Columns<ColumnItem<'a>> {
    Columns::new()
        .put("object_id", |it: &ColumnItem<'_>| it.object.0.into())
        .put("name", |it| it.name.into())
        .put("column_id", |it| it.id.into())
        .put("system_type_id", |it| it.system_type.into())
        .put("user_type_id", |it| it.user_type.into())
        .put("max_length", |it| it.facets.max_length.into())
        .put("precision", |it| it.facets.precision.into())
        .put("scale", |it| it.facets.scale.into())
        .put("collation_name", |it| it.collation.as_ref().into())
        .put("is_nullable", |it| it.is_nullable.into())
        .put("is_ansi_padded", |it| it.is_ansi_padded.into())
        .put("is_rowguidcol", |it| it.is(|own| own.row_guid))
        .put("is_identity", |it| it.is(|own| own.identity.is_some()))
        .put("is_computed", |it| it.is(|own| own.computed.is_some()))
        .put("is_filestream", |it| it.is(|own| own.filestream))
        .put("default_object_id", |it| it.own.map_or(0, |own| own.default_object.0).into())
        .put("rule_object_id", |it| it.own.map_or(0, |own| own.rule_object.0).into())
        .put("is_sparse", |it| it.is(|own| own.sparse))
        .put("is_column_set", |it| it.is(|own| own.column_set))
        .zero(&["is_replicated", "is_non_sql_subscribed", "is_merge_published"])
        .zero(&["is_dts_replicated", "is_xml_document", "xml_collection_id"])
        .zero(&["generated_always_type", "is_hidden", "is_masked"])
        .zero(&["is_data_deletion_filter_column", "is_dropped_ledger_column"])
        .put("generated_always_type_desc", |_| "NOT_APPLICABLE".into())
        .null(&["encryption_type", "encryption_type_desc", "encryption_algorithm_name"])
        .null(&["column_encryption_key_id", "column_encryption_key_database_name"])
        .null(&["graph_type", "graph_type_desc"])
        .null(&["ledger_view_column_type", "ledger_view_column_type_desc"])
}

/// `sys.columns`.
pub(super) fn of_objects(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&shared(), items(source))
}

/// `sys.system_columns`.
pub(super) fn system(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&shared(), views().flat_map(|view| items_of_view(view, source)))
}

/// `sys.all_columns`.
pub(super) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    system(source, rows)?;
    of_objects(source, rows)
}

/// `sys.computed_columns`.
pub(super) fn computed(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = shared()
        .put("definition", |it| it.own.and_then(|own| own.computed.as_ref()).into())
        .put("is_persisted", |it| it.is(|own| own.persisted))
        .one(&["uses_database_collation"]);
    let is_computed = |it: &ColumnItem<'_>| it.own.is_some_and(|own| own.computed.is_some());
    rows.add(&columns, items(source).filter(is_computed))
}

/// `sys.identity_columns`.
pub(super) fn identity(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = shared()
        .put("seed_value", |it| it.identity_value(|own| Some(&own.seed)))
        .put("increment_value", |it| it.identity_value(|own| Some(&own.increment)))
        .put("last_value", |it| it.last_identity.clone())
        .zero(&["is_not_for_replication"]);
    rows.add(&columns, items(source).filter(|it| it.identity().is_some()))
}
