//! Walking the structures that hold rows: trees, heaps, off-row values.
//!
//! All walks stream: they hold one page per level and a set of the upper pages they have seen. Each
//! is bounded, whatever the file says: an upper page is entered once, a chain of map pages visits
//! each page once.

mod heap;
mod lob;
mod tree;

pub use heap::{AllocatedPages, HeapPages};
pub use lob::LobReader;
pub use tree::{LeafKind, LeafPages};
