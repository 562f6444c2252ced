#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod bulk;
mod call;
mod connection;
mod error;
mod tls;
mod transport;

pub use bulk::{BulkColumn, BulkRows};
pub use call::{Direction, Handle, Parameter};
pub use connection::{Connection, Event, Options, TlsScope};
pub use error::Error;
pub use extentdb_tds::Column;
pub use extentdb_tds::request::ProcId;
pub use extentdb_tds::token::{MessageKind, ReturnValue, ServerMessage};
pub use extentdb_types::{Collation, Datum, SqlType};
pub use tls::Trust;
