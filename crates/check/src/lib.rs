#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

pub mod audit;
mod broker;
mod catalog;
mod critical;
mod dive;
mod estimate;
mod expand;
pub mod finding;
pub mod hash;
pub mod inflight;
mod logical;
mod nulls;
mod offrow;
pub mod options;
pub mod partial;
mod parts;
pub mod plan;
pub mod relation;
pub mod report;
mod rows;
mod run;
pub mod scan;
mod sound;
mod spots;
pub mod tree;
pub mod unit;
pub mod verify;
mod wholesale;

pub use estimate::{Estimate, estimate};
pub use finding::{Cause, Finding, Owner, Place};
pub use inflight::LogUse;
pub use options::{Control, IoChoice, Options, PageRange, Phase, Progress, ScopeChoice};
pub use partial::PartialError;
pub use parts::{check_part, merge_parts, part_of, resume};
pub use report::{Coverage, DataFile, NotChecked, ObjectSummary, Report, Scope, Verdict};
pub use run::run;
