#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

pub mod arena;
pub mod calendar;
pub mod constant;
pub mod disk;
pub mod error;
pub mod lane;
pub mod operator;
pub mod options;
pub mod type_facts;
pub mod wide;
