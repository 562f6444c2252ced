#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod class;
mod explanation;
mod parse;
mod table;
mod template;

pub use class::{Class, Classes};
pub use explanation::{Explanation, explain};
pub use table::{Counts, Family, Message, Repair, RepairLevel, all, is_in, lookup};
pub use template::{Arg, ArgKind, FormatError};

#[cfg(test)]
mod tests;
