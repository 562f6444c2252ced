#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod batch;
mod display;
mod error;
pub mod lexer;
mod parser;
mod reserved;
mod span;
mod stored;
#[allow(missing_docs, reason = "each type names its production, and its fields are named as there")]
pub mod syntax;
pub mod token;

pub use batch::{Batch, batches};
pub use error::{Cause, Error};
pub use parser::{
    MAX_NESTING, Options, Term, parse, parse_condition, parse_expression, parse_query, parse_term,
};
pub use reserved::is_reserved;
pub use span::Span;
pub use stored::{stored_condition, stored_expression};
