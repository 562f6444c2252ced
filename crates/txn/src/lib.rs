#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod error;
pub mod lock;
mod manager;
mod owner;
mod session_waits;
mod time;
mod transaction;
pub mod versions;

pub use error::Error;
pub use manager::{Active, Manager, PageChanges};
pub use owner::Owners;
pub use session_waits::SessionWaits;
pub use time::log_time;
pub use transaction::{Preparation, RecordOwner, Transaction, TransactionKind};
