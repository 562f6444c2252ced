#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod audit;
mod bad_regions;
mod broker;
mod catalog;
mod collector;
mod coverage;
mod critical;
mod estimate;
mod expand;
mod families;
pub mod finding;
mod hash;
mod inflight;
mod nulls;
mod offrow;
mod options;
mod page_set;
mod part;
mod partial;
mod parts;
mod plan;
mod relation;
pub mod report;
mod rows;
mod run;
mod scan;
mod second_pass;
mod sound;
mod spans;
mod tree;
mod unit;
mod wire;
mod withdrawal;

pub use coverage::{Coverage, NotChecked};
pub use estimate::{Estimate, estimate};
pub use finding::{Cause, Finding, Location, Owner};
pub use hash::HashKey;
pub use options::{Control, IoChoice, LogUse, Options, PageRange, Phase, Progress, ScopeChoice};
pub use partial::PartialError;
pub use parts::{check_part, merge_parts, part_of, resume};
pub use report::{DataFile, ObjectSummary, Report, Scope, Verdict};
pub use run::run;
