#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

pub mod collation;
mod error;
pub mod login;
pub mod packet;
pub mod prelogin;
mod protocol;
mod reader;
pub mod text;
pub mod type_info;
pub mod value;
mod version;

pub use collation::WireCollation;
pub use error::{Cause, DecodeError, EncodeError};
pub use login::Login;
pub use prelogin::Prelogin;
pub use protocol::Protocol;
pub use reader::ByteReader;
pub use text::Utf16;
pub use type_info::TypeInfo;
pub use version::TdsVersion;
