#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

pub mod collation;
pub mod column;
mod error;
pub mod login;
pub mod packet;
pub mod prelogin;
mod protocol;
mod reader;
pub mod request;
mod row;
pub mod text;
pub mod token;
mod token_writer;
pub mod type_info;
pub mod value;
mod version;

pub use collation::WireCollation;
pub use column::{Column, ColumnFlags};
pub use error::{Cause, DecodeError, EncodeError};
pub use login::Login;
pub use prelogin::Prelogin;
pub use protocol::Protocol;
pub use reader::ByteReader;
pub use row::{RowValue, RowValues, RowView};
pub use text::Utf16;
pub use token_writer::TokenWriter;
pub use type_info::TypeInfo;
pub use version::TdsVersion;
