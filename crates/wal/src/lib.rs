#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod error;
mod flush;
mod grow;
mod log_manager;
mod open;
mod reader;
mod spec;
mod state;
mod stats;
mod truncate;
mod vlf;

pub use error::{Damage, Error};
pub use log_manager::Log;
pub use open::{Examined, Lost, OnDamage, OpenOptions, Opened};
pub use spec::{Growth, LogIdentity, LogSpec, MIN_LOG_BYTES};
pub use stats::LogStats;
