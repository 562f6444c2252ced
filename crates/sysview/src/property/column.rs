//! COLUMNPROPERTY, and what COL_NAME and COL_LENGTH tell.

use extentdb_engine::model::{CatalogModel, Column, ObjectModel};
use extentdb_types::SqlType;

use super::Property;
use crate::base::{is_ansi_padded, is_output};
use crate::shape::View;
use crate::view::{Facets, columns_of};

/// A column of a table or view, or a parameter of a module.
#[derive(Clone, Debug)]
pub struct ColumnFacts<'a> {
    /// Its id in the object.
    pub id: i32,
    /// Its name; that of a parameter begins with `@`.
    pub name: &'a str,
    /// `sys.columns.max_length`: bytes, -1 of (max).
    pub max_length: i16,
    ty: Option<SqlType>,
    is_nullable: bool,
    is_parameter: bool,
    facets: Facets,
    /// Its row in `syscolpars`; `None` of a column of a system view.
    own: Option<&'a Column>,
}

/// The columns and parameters of an object, in order.
pub fn column_facts(object: &ObjectModel) -> impl Iterator<Item = ColumnFacts<'_>> {
    let parameters = object.module().map(|it| it.parameters.as_slice()).unwrap_or_default();
    let parameters = parameters.iter().map(|it| (true, &it.column));
    let columns = columns_of(object).iter().map(|it| (false, it));
    columns.chain(parameters).map(|(is_parameter, column)| {
        let facets = Facets::of_column(column);
        ColumnFacts {
            id: column.id,
            name: &column.name,
            max_length: facets.max_length,
            ty: column.ty,
            is_nullable: column.nullable,
            is_parameter,
            facets,
            own: Some(column),
        }
    })
}

impl View {
    /// Its columns, in order.
    pub fn column_facts(&self) -> impl Iterator<Item = ColumnFacts<'_>> {
        (1..).zip(self.columns).map(|(id, column)| {
            let ty = column.ty.sql_type(extentdb_types::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
            let facets = Facets::of(&ty);
            ColumnFacts {
                id,
                name: column.name,
                max_length: facets.max_length,
                ty: Some(ty),
                is_nullable: column.is_nullable,
                is_parameter: false,
                facets,
                own: None,
            }
        })
    }
}

impl ColumnFacts<'_> {
    /// Is it a parameter of a module?
    #[must_use]
    pub fn is_parameter(&self) -> bool {
        self.is_parameter
    }

    fn is(&self, test: impl FnOnce(&Column) -> bool) -> Property {
        self.own.is_some_and(test).into()
    }
}

/// A property of a column or parameter.
#[must_use]
pub fn column(model: &CatalogModel, column: &ColumnFacts<'_>, name: &str) -> Property {
    let name = name.trim_end().to_ascii_lowercase();
    match name.as_str() {
        "allowsnull" => column.is_nullable.into(),
        "columnid" => Property::Number(column.id.into()),
        "precision" => precision(column.ty.as_ref(), column.facets).into(),
        "scale" => scale(column.ty.as_ref(), column.facets).into(),
        "charmaxlen" => column.ty.filter(is_sized).map(|ty| characters(&ty)).into(),
        "usesansitrim" => {
            let sized = column.ty.is_some_and(|ty| is_sized(&ty));
            let is_padded = column.own.is_none_or(is_ansi_padded);
            if sized { is_padded.into() } else { Property::Null }
        }
        "isoutparam" if column.is_parameter => column.is(is_output),
        "iscursortype" if column.is_parameter => false.into(),
        _ if column.is_parameter => Property::Null,
        "iscomputed" => column.is(|own| own.computed.is_some()),
        "isidentity" => column.is(|own| own.identity.is_some()),
        "isrowguidcol" => column.is(|own| own.row_guid),
        "issparse" => column.is(|own| own.sparse),
        "iscolumnset" => column.is(|own| own.column_set),
        "isindexable" => column.ty.is_some_and(|ty| !is_unindexable(&ty)).into(),
        "isxmlindexable" => (column.ty == Some(SqlType::Xml)).into(),
        "isidnotforrepl"
        | "ishidden"
        | "generatedalwaystype"
        | "isfulltextindexed"
        | "fulltexttypecolumn"
        | "statisticalsemantics" => false.into(),
        "isdeterministic" | "isprecise" | "issystemverified" | "systemdataaccess"
        | "userdataaccess"
            if column.own.is_some_and(|own| own.computed.is_some()) =>
        {
            Property::Unknown
        }
        "collationid" => {
            let collation = column.ty.and_then(|ty| ty.collation());
            let id = collation.unwrap_or(model.collation()).0;
            Property::Number(id.into())
        }
        _ => Property::Null,
    }
}

/// No index can have it as a key.
fn is_unindexable(ty: &SqlType) -> bool {
    ty.is_lob() || ty.is_max() || *ty == SqlType::Xml
}

fn is_sized(ty: &SqlType) -> bool {
    ty.collation().is_some()
        || matches!(ty, SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Image)
}

/// Characters or bytes of a type that has a length; -1 without limit.
fn characters(ty: &SqlType) -> i64 {
    let unit = if matches!(ty, SqlType::NChar { .. } | SqlType::NVarChar { .. }) { 2 } else { 1 };
    match ty {
        SqlType::Text { .. } | SqlType::Image => i32::MAX.into(),
        SqlType::NText { .. } => (i32::MAX / 2).into(),
        _ if ty.is_max() => -1,
        _ => ty.max_bytes().and_then(|it| i64::try_from(it / unit).ok()).unwrap_or(-1),
    }
}

/// Digits of numbers and of times, characters or bytes of texts.
pub(super) fn precision(ty: Option<&SqlType>, facets: Facets) -> Option<i64> {
    let ty = ty?;
    Some(match ty {
        _ if is_sized(ty) => characters(ty),
        SqlType::Xml => -1,
        SqlType::UniqueIdentifier => 16,
        SqlType::RowVersion => 8,
        SqlType::SqlVariant => 0,
        _ => facets.precision.into(),
    })
}

/// Digits after the point, of types that have some.
pub(super) fn scale(ty: Option<&SqlType>, facets: Facets) -> Option<i64> {
    let ty = ty?;
    let is_number = facets.precision > 0 && !matches!(ty, SqlType::Float | SqlType::Real);
    is_number.then_some(facets.scale.into())
}
