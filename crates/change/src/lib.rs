#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod error;
mod page_change;
mod system;
mod undo;

pub use error::Error;
pub use page_change::change;
pub use system::{in_own_system, in_system, roll_back_system, roll_back_system_with};
pub use undo::{UndoContext, UndoneChange, record_bytes, restore_pointer, undo_next, undo_record};
