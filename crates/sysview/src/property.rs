//! Properties of objects, columns, indexes and types: what OBJECTPROPERTY and its like tell.
//!
//! Names of properties compare without case. A property that is not known, or that an item of this
//! kind does not have, is [`Property::Null`], as in the product.

mod column;
mod index;
mod object;
mod ty;

use extentdb_engine::Database;
use extentdb_engine::model::{CatalogModel, Column};

use extentdb_types::SqlType;

use crate::base;
use crate::error::Error;

pub use column::{ColumnFacts, column, column_facts};
pub use index::{index, index_key};
pub use object::object;
pub use ty::scalar_type;

/// The value of a property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Property {
    /// It has none.
    Null,
    /// A number; truths are 0 and 1.
    Number(i64),
    /// The server does not know it yet.
    Unknown,
}

impl From<bool> for Property {
    fn from(value: bool) -> Property {
        Property::Number(value.into())
    }
}

impl<T: Into<i64>> From<Option<T>> for Property {
    fn from(value: Option<T>) -> Property {
        value.map_or(Property::Null, |value| Property::Number(value.into()))
    }
}

/// A file of a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFacts {
    /// Its id in the database.
    pub id: i32,
    /// Its logical name.
    pub name: String,
    /// Is it a log?
    pub is_log: bool,
}

/// A filegroup or partition scheme.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataSpaceFacts {
    /// Its id in the database.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// Is it a filegroup?
    pub is_group: bool,
    /// Do tables that name none lie in it?
    pub is_default: bool,
    /// Is it READ_ONLY?
    pub is_read_only: bool,
}

/// The files of a database, by id.
///
/// # Errors
/// Its base tables cannot be read.
pub fn files(database: &Database) -> Result<Vec<FileFacts>, Error> {
    let fact =
        |file: base::ListedFile| FileFacts { id: file.id, name: file.name, is_log: file.kind == 1 };
    Ok(base::files(database)?.into_iter().map(fact).collect())
}

/// The filegroups and partition schemes of a database.
///
/// # Errors
/// Its base tables cannot be read.
pub fn data_spaces(database: &Database) -> Result<Vec<DataSpaceFacts>, Error> {
    let fact = |space: base::DataSpace| DataSpaceFacts {
        id: space.id,
        name: space.name,
        is_group: space.kind == "FG",
        is_default: space.is_default,
        is_read_only: space.is_read_only,
    };
    Ok(base::data_spaces(database)?.into_iter().map(fact).collect())
}

/// Length, precision and scale of a type, as `sys.columns` shows them.
#[must_use]
pub fn facets(ty: &SqlType) -> TypeFacets {
    let facets = crate::view::Facets::of(ty);
    TypeFacets {
        max_length: facets.max_length,
        precision: facets.precision,
        scale: facets.scale,
    }
}

/// Length, precision and scale of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TypeFacets {
    /// Bytes; -1 of (max).
    pub max_length: i16,
    /// Digits of numbers, characters of times.
    pub precision: u8,
    /// Digits after the point.
    pub scale: u8,
}

/// `sys.columns.user_type_id` of a column.
#[must_use]
pub fn user_type_id(column: &Column, model: &CatalogModel) -> i32 {
    crate::view::user_type_id(column, model)
}
