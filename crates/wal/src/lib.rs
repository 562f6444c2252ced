#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod error;
mod flush;
mod grow;
mod log_manager;
mod open;
mod read_cache;
mod reader;
mod spec;
mod state;
mod stats;
mod truncate;
mod vlf;

pub use error::{Damage, Error};
pub use log_manager::Log;
pub use open::{Examined, Lost, OnDamage, OpenOptions, OpenedLog};
pub use spec::{LogIdentity, LogSpec, MIN_LOG_BYTES};
pub use stats::LogStats;
pub use vlf::Growth;
