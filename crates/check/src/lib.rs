#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

pub mod audit;
mod bad_regions;
mod broker;
mod catalog;
mod coverage;
mod critical;
mod dive;
mod estimate;
mod expand;
mod facts;
mod families;
pub mod finding;
pub mod hash;
pub mod inflight;
mod nulls;
mod offrow;
pub mod options;
mod page_set;
mod part;
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
mod wire;

pub use coverage::{Coverage, NotChecked};
pub use estimate::{Estimate, estimate};
pub use finding::{Cause, Finding, Owner, Place};
pub use options::{Control, IoChoice, LogUse, Options, PageRange, Phase, Progress, ScopeChoice};
pub use partial::PartialError;
pub use parts::{check_part, merge_parts, part_of, resume};
pub use report::{DataFile, ObjectSummary, Report, Scope, Verdict};
pub use run::run;
