//! Statements that change rows: INSERT, UPDATE, DELETE, MERGE.
//!
//! ```text
//! target   a stored table; in UPDATE and DELETE with FROM, one of its sources
//! rows     a relation: the place of each row of the target that is changed, and the new values
//! OUTPUT   values over the row before (deleted), the row after (inserted), and the relation's own
//! ```
//!
//! A text for a column is converted to the longest type of its kind: what does not fit the column
//! is an error, and not cut.

mod arriving;
mod delete;
mod insert;
mod merge;
mod output;
mod query_target;
mod target;
mod update;
mod view_check;

pub use delete::BoundDelete;
pub use insert::{BoundInsert, ColumnSource};
pub use merge::{BoundAction, BoundMerge, BoundMergeClause};
pub use output::{BoundOutput, OutputInto};
pub use update::{BoundUpdate, SetColumn};
