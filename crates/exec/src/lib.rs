#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod batch;
mod build;
mod byte_table;
mod context;
mod error;
mod evaluate;
mod exchange;
mod group_table;
mod hash_key;
mod key;
mod memory;
mod notice;
mod number;
mod operator;
mod parallel;
mod spill;
#[cfg(test)]
mod testing;
mod workers;
pub mod write;

pub use batch::{BATCH_ROWS, Batch};
pub use build::build;
pub use context::{Context, Functions, LastIdentity, NoFunctions, OuterValues};
pub use error::Error;
pub use evaluate::{Evaluator, datum};
pub use memory::{Memory, MemoryPool};
pub use notice::{Notice, Notices};
pub use operator::Operator;
pub use operator::scan::{address, within};
pub use spill::WorkArea;
pub use workers::{WorkerPool, Workers};
