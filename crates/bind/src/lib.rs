#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

pub mod access;
mod binder;
mod change;
mod common_table;
mod error;
mod from;
pub mod function;
mod group;
mod guard;
mod inline_function;
pub mod logical;
mod method_call;
mod names;
mod pivot;
pub mod provider;
mod query;
mod scalar;
mod scope;
mod select;
mod stage;
mod subquery;
pub mod surroundings;
pub mod table;
mod text_query;
mod walk;
mod window;
mod xml_method;
mod xml_query;
mod xml_value;

pub use binder::{Binder, Prologue};
pub use change::{
    BoundAction, BoundDelete, BoundInsert, BoundMerge, BoundMergeClause, BoundOutput, BoundUpdate,
    ColumnSource, OutputInto, SetColumn,
};
pub use error::{Cause, Error, Result};
pub use query::{BoundQuery, Output};
pub use select::BoundAssignments;
pub use walk::{condition_has_query, each_operand, has_query_condition, is_query_like};
