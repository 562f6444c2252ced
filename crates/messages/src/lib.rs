#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod explanation;
mod parse;
mod table;
mod template;

pub use explanation::{Explanation, explain};
pub use table::{Counts, Family, Message, Repair, RepairLevel, all, lookup};
pub use template::{Arg, ArgKind, FormatError};

#[cfg(test)]
mod tests;
