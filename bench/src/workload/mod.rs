//! What clients do to a table: our engine and its peers run the same work.

mod inserts;
mod lobs;
mod trees;

pub use inserts::InsertWork;
pub use lobs::LobWork;
pub use trees::{Action, GROUP, KeyOrder, TEXT_CHARS, TableKind, TreeWork};
