//! Benches of the house; see `README.md`.
#![forbid(unsafe_code)]

pub mod cached;
pub mod peers;
pub mod report;
