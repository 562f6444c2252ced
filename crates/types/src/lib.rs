#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod collation;
pub mod datetime;
pub mod datum;
pub mod decimal;
mod error;
pub mod guid;
pub mod hierarchyid;
pub mod json;
pub mod key_order;
pub mod literal;
pub mod money;
pub mod native;
pub mod plain;
pub mod spatial;
pub mod sql_type;
pub mod text;
pub mod variant;
pub mod xml;

pub use collation::Collation;
pub use datetime::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, Time};
pub use datum::Datum;
pub use decimal::Decimal;
pub use error::{DecodeError, EncodeError, Field};
pub use guid::Guid;
pub use money::{Money, SmallMoney};
pub use sql_type::{SqlType, UdtKind};
pub use text::{CharText, CodePage, NText};
pub use variant::Variant;
