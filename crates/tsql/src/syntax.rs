//! The syntax tree. Each type says which production of the grammar it is; its fields are named as
//! in that production.
//!
//! ```text
//! text → tokens → Script → Statement … → Query → TableSource, Expr, Condition → names, literals
//! ```
//!
//! Invariants
//! - The height of a tree is bounded by the parser's nesting limit: chains of operators, joins and
//!   set operators are lists, so a tree can be dropped, compared and walked by recursion.
//! - Values ([`Expr`]) and conditions ([`Condition`]) are different types, as T-SQL has no boolean
//!   values.
//! - Parentheses are not kept; the shape of the tree says what they said.
//! - Trees compare without positions ([`crate::Span`]).

mod clause;
mod control;
mod cursor;
mod data_type;
mod dml;
mod execute;
mod expression;
mod hint;
mod index;
mod literal;
mod module;
mod name;
mod object;
mod permission;
mod query;
mod script;
mod session;
mod statement;
mod table;
mod table_source;
mod transaction;
mod variable;

pub use clause::*;
pub use control::*;
pub use cursor::*;
pub use data_type::*;
pub use dml::*;
pub use execute::*;
pub use expression::*;
pub use hint::*;
pub use index::*;
pub use literal::*;
pub use module::*;
pub use name::*;
pub use object::*;
pub use permission::*;
pub use query::*;
pub use script::*;
pub use session::*;
pub use statement::*;
pub use table::*;
pub use table_source::*;
pub use transaction::*;
pub use variable::*;
