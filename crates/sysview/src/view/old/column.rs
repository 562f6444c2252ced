//! `sys.syscolumns`: columns, and parameters of modules.

use extentdb_base::ObjectId;
use extentdb_engine::model::Column;
use extentdb_types::SqlType;

use super::legacy_type::{LegacyType, USER_TYPE_SYSNAME};
use crate::base::is_output;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::column::columns_of;
use crate::view::module::{modules, parameters_of};
use crate::view::type_facets::{Facets, SYSNAME, user_type_id};

/// Bits of `status`.
const NULLABLE: u8 = 0x8;
const OUTPUT: u8 = 0x40;
const IDENTITY: u8 = 0x80;
/// Bits of `colstat`.
const COLSTAT_IDENTITY: u8 = 0x1;
const COLSTAT_COMPUTED: u8 = 0x4;

/// A column or parameter.
struct Item<'a> {
    object: ObjectId,
    column: &'a Column,
    id: i32,
    /// 0 of a column, 1 of a parameter.
    number: i32,
    user_type: i32,
    facets: Facets,
}

impl Item<'_> {
    fn legacy(&self) -> LegacyType {
        LegacyType::of(self.column.xtype)
    }

    fn status(&self) -> u8 {
        let is_output = self.number != 0 && is_output(self.column);
        let bits = [
            (self.column.nullable, NULLABLE),
            (is_output, OUTPUT),
            (self.column.identity.is_some(), IDENTITY),
        ];
        bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum()
    }

    fn colstat(&self) -> u8 {
        let identity = if self.column.identity.is_some() { COLSTAT_IDENTITY } else { 0 };
        identity | if self.column.computed.is_some() { COLSTAT_COMPUTED } else { 0 }
    }

    fn user_type(&self) -> i32 {
        match self.user_type {
            SYSNAME => USER_TYPE_SYSNAME.into(),
            id if id > SYSNAME => id.min(i16::MAX.into()),
            _ => self.legacy().user_type.into(),
        }
    }

    /// Characters of texts, digits of numbers, bytes of all else.
    fn digits(&self) -> i16 {
        match self.column.ty {
            Some(ty) if ty.collation().is_some() => characters(&ty),
            Some(_) if self.facets.precision != 0 => self.facets.precision.into(),
            _ => self.facets.max_length,
        }
    }

    fn collation(&self) -> Option<String> {
        self.column.ty.and_then(|ty| ty.collation()).and_then(|it| it.name())
    }
}

/// Characters of a text at most; -1 for (max).
pub(super) fn characters(ty: &SqlType) -> i16 {
    let length = Facets::of(ty).max_length;
    let is_wide = matches!(ty, SqlType::NChar { .. } | SqlType::NVarChar { .. });
    if is_wide && length > 0 { length / 2 } else { length }
}

/// `sys.syscolumns`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let of_objects = source.objects().into_iter().flat_map(|model| {
        let object = model.object.id;
        columns_of(model).iter().map(move |column| Item {
            object,
            column,
            id: column.id,
            number: 0,
            user_type: user_type_id(column, source.model),
            facets: Facets::of_column(column),
        })
    });
    let of_modules = modules(source).flat_map(|module| parameters_of(source, &module));
    let parameters = of_modules.map(|it| Item {
        object: it.object,
        column: it.column,
        id: it.id,
        number: 1,
        user_type: it.user_type,
        facets: it.facets,
    });
    rows.add(&storage(types(names())), of_objects.chain(parameters))
}

fn names<'a>() -> Columns<Item<'a>> {
    Columns::new()
        .put("name", |it: &Item<'_>| (&it.column.name).into())
        .put("id", |it| it.object.0.into())
        .put("colid", |it| it.id.into())
        .put("number", |it| it.number.into())
        .put("colorder", |it| it.id.into())
        .put("cdefault", |it| it.column.default_object.0.into())
        .put("domain", |it| it.column.rule_object.0.into())
        .put("iscomputed", |it| it.column.computed.is_some().into())
        .put("isoutparam", |it| (it.number != 0 && is_output(it.column)).into())
        .put("isnullable", |it| it.column.nullable.into())
}

fn types<'a>(columns: Columns<Item<'a>>) -> Columns<Item<'a>> {
    columns
        .put("xtype", |it| it.column.xtype.into())
        .put("xusertype", |it| it.user_type.min(i16::MAX.into()).into())
        .put("length", |it| it.facets.max_length.into())
        .put("xprec", |it| it.facets.precision.into())
        .put("xscale", |it| it.facets.scale.into())
        .put("type", |it| it.legacy().storage(it.column.nullable).into())
        .put("usertype", |it| it.user_type().into())
        .put("prec", |it| it.digits().into())
        .put("scale", |it| (it.facets.precision != 0).then_some(it.facets.scale).into())
        .put("collationid", |it| (it.column.collation_id as i32).into())
        .put("collation", |it| it.collation().into())
}

fn storage<'a>(columns: Columns<Item<'a>>) -> Columns<Item<'a>> {
    columns
        .put("status", |it| it.status().into())
        .put("colstat", |it| it.colstat().into())
        .zero(&["typestat", "xoffset", "bitpos", "reserved", "offset", "language"])
        .null(&["autoval", "printfmt", "tdscollation"])
}
