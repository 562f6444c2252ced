//! Functions of the session: `@@` functions, and those that ask for names, properties, errors and
//! the time. What looks at its arguments alone is `expr`'s.
//!
//! Invariant: the type that a client is told is that of the table; what a definition evaluates to
//! is NULL or of that type.

mod catalog;
pub mod clock;
mod column;
mod crypto;
mod cursor;
mod error;
mod file;
mod global;
mod identity;
pub mod language;
mod lock;
mod names;
mod object;
mod property;
mod security;
mod session;
mod ty;
mod variant;

use extentdb_types::{Collation, Datum, SqlType};

use crate::cause::Cause;
use crate::frame::Values;

pub use names::is_function_of_the_product;
pub use object::{object_exists, object_text};

/// Types of results and arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// int
    Int,
    /// bigint
    BigInt,
    /// smallint
    SmallInt,
    /// tinyint
    TinyInt,
    /// numeric(38, 0)
    Numeric,
    /// datetime
    DateTime,
    /// datetime2(7)
    DateTime2,
    /// datetimeoffset(7)
    DateTimeOffset,
    /// nvarchar(128)
    Name,
    /// nvarchar of so many characters
    Text(u16),
    /// nvarchar(max)
    LongText,
    /// char of so many characters
    Char(u16),
    /// varbinary of a length
    Binary(u16),
    /// uniqueidentifier
    Guid,
    /// sql_variant
    Variant,
    /// xml
    Xml,
    /// float
    Float,
}

impl Kind {
    /// The SQL type; texts have this collation.
    pub fn ty(self, collation: Collation) -> SqlType {
        match self {
            Kind::Int => SqlType::Int,
            Kind::BigInt => SqlType::BigInt,
            Kind::SmallInt => SqlType::SmallInt,
            Kind::TinyInt => SqlType::TinyInt,
            Kind::Numeric => SqlType::Numeric { precision: 38, scale: 0 },
            Kind::DateTime => SqlType::DateTime,
            Kind::DateTime2 => SqlType::DateTime2 { scale: 7 },
            Kind::DateTimeOffset => SqlType::DateTimeOffset { scale: 7 },
            Kind::Name => SqlType::NVarChar { len: Some(256), collation },
            Kind::Text(characters) => SqlType::NVarChar { len: Some(characters * 2), collation },
            Kind::LongText => SqlType::NVarChar { len: None, collation },
            Kind::Char(len) => SqlType::Char { len, collation },
            Kind::Binary(len) => SqlType::VarBinary { len: Some(len) },
            Kind::Guid => SqlType::UniqueIdentifier,
            Kind::Variant => SqlType::SqlVariant,
            Kind::Xml => SqlType::Xml,
            Kind::Float => SqlType::Float,
        }
    }
}

type Evaluate = fn(Values<'_>, &[Datum<'static>]) -> Result<Datum<'static>, Cause>;

/// A function.
#[derive(Debug)]
pub struct Definition {
    /// In small letters.
    pub name: &'static str,
    /// Type of its value.
    pub result: Kind,
    /// May its value be NULL?
    pub is_nullable: bool,
    /// Arguments at least.
    pub least: usize,
    /// Types of the arguments; the last may be left out down to `least`.
    pub arguments: &'static [Kind],
    /// Further arguments of any type.
    pub is_variadic: bool,
    /// Computes it.
    pub evaluate: Evaluate,
}

impl Definition {
    /// A function without arguments that is never NULL.
    const fn new(name: &'static str, result: Kind, evaluate: Evaluate) -> Definition {
        Definition {
            name,
            result,
            is_nullable: false,
            least: 0,
            arguments: &[],
            is_variadic: false,
            evaluate,
        }
    }

    const fn nullable(mut self) -> Definition {
        self.is_nullable = true;
        self
    }

    /// With arguments, all of them needed.
    const fn of(mut self, arguments: &'static [Kind]) -> Definition {
        self.arguments = arguments;
        self.least = arguments.len();
        self
    }

    /// With arguments, of which so many are needed.
    const fn of_some(mut self, least: usize, arguments: &'static [Kind]) -> Definition {
        self.arguments = arguments;
        self.least = least;
        self
    }

    /// With arguments that may be left out.
    const fn of_optional(mut self, arguments: &'static [Kind]) -> Definition {
        self.arguments = arguments;
        self
    }

    const fn variadic(mut self) -> Definition {
        self.is_variadic = true;
        self
    }

    /// The type of an argument; `None` for one of any type.
    pub fn argument(&self, place: usize) -> Option<Kind> {
        self.arguments.get(place).copied()
    }

    /// # Errors
    /// Too few or too many arguments.
    pub fn verify_count(&self, count: usize) -> Result<(), Cause> {
        let most = self.arguments.len();
        if count >= self.least && (count <= most || self.is_variadic) {
            return Ok(());
        }
        let name = self.name.to_owned();
        Err(if self.least == most {
            Cause::ArgumentCount { name, count: most }
        } else {
            Cause::ArgumentRange { name, least: self.least, most }
        })
    }
}

/// A `@@` function by its name.
pub fn global(name: &str) -> Option<&'static Definition> {
    global::TABLE.iter().find(|definition| definition.name.eq_ignore_ascii_case(name))
}

/// A function of the session by its name.
pub fn named(name: &str) -> Option<&'static Definition> {
    let tables = [
        session::TABLE,
        error::TABLE,
        property::TABLE,
        clock::TABLE,
        object::TABLE,
        column::TABLE,
        cursor::TABLE,
        ty::TABLE,
        identity::TABLE,
        security::TABLE,
        file::TABLE,
        crypto::TABLE,
        lock::TABLE,
        variant::TABLE,
    ];
    tables.into_iter().flatten().find(|definition| definition.name.eq_ignore_ascii_case(name))
}

/// The same of a call: RAND with a seed is none of the session.
pub fn called(name: &str, arguments: usize) -> Option<&'static Definition> {
    named(name).filter(|definition| definition.name != "rand" || arguments == 0)
}

/// The base type of a property whose function gives a sql_variant.
pub fn property_type(
    definition: &Definition,
    property: &str,
    collation: Collation,
) -> Option<SqlType> {
    property::base_type(definition.name, property, collation)
}
