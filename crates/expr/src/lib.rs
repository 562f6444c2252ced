#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod arena;
mod batch;
mod bind;
mod calendar;
mod constant;
mod context;
mod disk;
mod error;
mod failure;
mod lane;
mod lower;
mod native;
mod op;
mod program;
mod resolver;
mod scalar;
mod settings;
mod syntax;
mod typing;
mod wide;

pub use batch::{ArithmeticNulls, Batch, MAX_ROWS};
pub use context::ContextFunction;
pub use error::{CompileError, EvalError};
pub use failure::Failure;
pub use native::Native;
pub use program::{Environment, Predicate, Program};
pub use resolver::{Parameter, Resolver};
pub use scalar::{Scalar, ScalarTest};
pub use settings::{DateFormat, Settings, StatementOptions};
