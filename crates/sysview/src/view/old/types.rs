//! `sys.systypes`.

use super::legacy_type::{LegacyType, USER_TYPE_SYSNAME};
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::type_facets::SYSNAME;
use crate::view::types::{TypeItem, items};

/// `status`: does not take NULL.
const NOT_NULL: i32 = 1;

impl TypeItem<'_> {
    fn legacy(&self) -> LegacyType {
        LegacyType::of(u8::try_from(self.system_type).unwrap_or(0))
    }

    fn user_type(&self) -> i32 {
        match self.ty.id {
            SYSNAME => USER_TYPE_SYSNAME.into(),
            id if id > SYSNAME => id.min(i16::MAX.into()),
            _ => self.legacy().user_type.into(),
        }
    }

    /// Characters of texts, bytes of binaries, digits of numbers.
    fn digits(&self) -> i16 {
        match self.ty.ty {
            Some(ty) if ty.collation().is_some() => super::column::characters(&ty),
            Some(_) if self.facets.precision != 0 => self.facets.precision.into(),
            _ => self.facets.max_length,
        }
    }
}

/// `sys.systypes`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("name", |it: &TypeItem<'_>| (&it.ty.name).into())
        .put("xtype", |it| it.system_type.into())
        .put("status", |it| if it.ty.not_null { NOT_NULL } else { 0 }.into())
        .put("xusertype", |it| it.ty.id.min(i16::MAX.into()).into())
        .put("length", |it| it.facets.max_length.into())
        .put("xprec", |it| it.facets.precision.into())
        .put("xscale", |it| it.facets.scale.into())
        .put("tdefault", |it| it.default.into())
        .put("domain", |it| it.rule.into())
        .put("uid", |it| it.ty.schema_id.into())
        .put("collationid", |it| {
            it.ty.ty.and_then(|ty| ty.collation()).map(|it| it.0 as i32).into()
        })
        .put("usertype", |it| it.user_type().into())
        .put("variable", |it| {
            it.ty.ty.is_some_and(|ty| ty.fixed_bytes().is_none() && !ty.is_bit()).into()
        })
        .put("allownulls", |it| (!it.ty.not_null).into())
        .put("type", |it| it.legacy().storage(false).into())
        .put("prec", |it| it.digits().into())
        .put("scale", |it| (it.facets.precision != 0).then_some(it.facets.scale).into())
        .put("collation", |it| it.collation().into())
        .zero(&["reserved"])
        .null(&["printfmt"]);
    rows.add(&columns, items(source)?)
}
