#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod connection;
mod error;
mod tls;
mod transport;

pub use connection::{Connection, Event, Options};
pub use error::Error;
pub use extentdb_tds::Column;
pub use extentdb_tds::token::{MessageKind, ServerMessage};
pub use tls::Trust;
