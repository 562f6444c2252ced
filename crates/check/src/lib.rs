#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

pub mod audit;
mod dive;
pub mod finding;
pub mod hash;
mod logical;
pub mod options;
pub mod partial;
pub mod plan;
pub mod relation;
pub mod report;
mod run;
pub mod scan;
mod sound;
pub mod tree;
pub mod unit;
pub mod verify;

pub use finding::{Cause, Finding, Owner, Place};
pub use options::{Control, IoChoice, Options, Phase, Progress};
pub use report::{Coverage, Input, NotChecked, ObjectSummary, Report, Scope, Verdict};
pub use run::run;
