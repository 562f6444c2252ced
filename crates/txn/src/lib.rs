#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod error;
pub mod lock;
mod manager;
mod time;
mod transaction;

pub use error::Error;
pub use manager::{Active, Manager, PageChanges};
pub use time::log_time;
pub use transaction::{RecordOwner, Transaction, TransactionKind};
