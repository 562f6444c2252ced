#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

pub mod allocation;
pub mod double_write;
pub mod log;
pub mod mtf;
pub mod page;
pub mod record;
pub mod statistics;

pub use page::{PageBuf, PageBytes};
