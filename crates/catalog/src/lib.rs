#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

pub mod access;
pub mod bootstrap;
mod error;
pub mod layout;
pub mod load;
pub mod model;
pub mod pages;
pub mod partition;
pub mod system;
pub mod table;

pub use error::{Error, Fault};
pub use layout::{Cell, PhysicalColumn, RowLayout};
pub use model::{AllocUnit, Catalog, Column, Index, Rowset, Table};
pub use pages::{PageError, PageGetter};
