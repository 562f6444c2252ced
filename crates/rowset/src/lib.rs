#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod btree;
pub mod columnar;
mod error;
mod ghost_pages;
pub mod heap;
pub mod layout;
pub mod lob;
pub mod read_ahead;
pub mod version;

pub use btree::Tree;
pub use error::Error;
pub use heap::Heap;
pub use layout::RowShape;
pub use lob::LobUnit;
