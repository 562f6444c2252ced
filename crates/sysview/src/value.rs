//! Values before they have the type of their column.

use extentdb_engine::model::ObjectType;
use extentdb_types::{DateTime, Datum, Decimal, Guid, NText, SqlType, Variant};

/// A value. Whole numbers are bigint and texts are Unicode: the column they go to has the type.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Value(pub(crate) Datum<'static>);

impl Value {
    /// NULL.
    pub(crate) const NULL: Value = Value(Datum::Null);

    /// A sql_variant with an int.
    pub(crate) fn variant_int(value: i32) -> Value {
        Value::variant(SqlType::Int, Datum::Int(value))
    }

    /// A sql_variant.
    pub(crate) fn variant(ty: SqlType, value: Datum<'static>) -> Value {
        Value(Datum::Variant(Box::new(Variant { ty, value })))
    }
}

macro_rules! whole_numbers {
    ($($ty:ty)*) => {$(
        impl From<$ty> for Value {
            fn from(value: $ty) -> Value {
                Value(Datum::BigInt(value.into()))
            }
        }
    )*};
}

whole_numbers!(u8 i16 u16 i32 u32 i64);

/// A count: one that does not fit is the greatest there is.
impl From<u64> for Value {
    fn from(value: u64) -> Value {
        i64::try_from(value).unwrap_or(i64::MAX).into()
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value(Datum::Bit(value))
    }
}

impl From<f32> for Value {
    fn from(value: f32) -> Value {
        Value(Datum::Real(value))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value(Datum::NChar(NText::from_text(value)))
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        value.as_str().into()
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Value {
        value.as_str().into()
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Value {
        Value(Datum::Binary(value.to_vec().into()))
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Value {
        Value(Datum::Binary(value.into()))
    }
}

impl From<DateTime> for Value {
    fn from(value: DateTime) -> Value {
        Value(Datum::DateTime(value))
    }
}

impl From<Guid> for Value {
    fn from(value: Guid) -> Value {
        Value(Datum::Guid(value))
    }
}

impl From<Decimal> for Value {
    fn from(value: Decimal) -> Value {
        Value(Datum::Decimal(value))
    }
}

impl From<ObjectType> for Value {
    fn from(value: ObjectType) -> Value {
        value.code().into()
    }
}

/// A value of a base table, as it is.
impl From<&Datum<'static>> for Value {
    fn from(value: &Datum<'static>) -> Value {
        Value(value.clone())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::NULL, Into::into)
    }
}
