#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod batch;
mod bind;
mod context;
mod error;
mod failure;
mod lower;
mod native;
mod program;
mod resolver;
mod scalar;
mod settings;
mod syntax;
mod typing;
mod variant;
mod xml;

pub use batch::{ArithmeticNulls, Batch, MAX_ROWS};
pub use context::ContextFunction;
pub use error::CompileError;
pub use extentdb_kernel::error::EvalError;
pub use extentdb_kernel::operator::function::json_rows;
pub use extentdb_kernel::options::{DateFormat, StatementOptions};
pub use failure::Failure;
pub use lower::method::{OF_NODE as XML_OF_NODE, nodes as xml_nodes};
pub use native::Native;
pub use program::{Environment, Predicate, Program};
pub use resolver::{Parameter, Resolver};
pub use scalar::{Scalar, ScalarTest};
pub use settings::Settings;
pub use xml::{XmlNodes, escape as escape_xml};
