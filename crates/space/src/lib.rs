#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod error;
mod extent;
mod file;
mod filegroup;
pub mod fill;
mod free;
mod free_pages;
mod grow;
mod iam;
mod mixed;
mod page;
mod pfs;
mod root;
mod space;
mod undo;
mod unit;
mod zero_ahead;

pub use error::Error;
pub use file::{DataFile, FileDescription, FileSettings};
pub use filegroup::FillEvents;
pub use free::{Freed, FreedMark};
pub use grow::write_new_file;
pub use iam::Owned;
pub use page::PageForm;
pub use space::{Options, Space};
pub use unit::{Pointers, Unit, UnitCounts, UnitDescription, UnitRows};
