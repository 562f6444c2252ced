//! Collations: what a collation id says about code page, order and equality.
//!
//! `id` has the bits of an id, `name` its name and code page, `compare` the order, and
//! `sort_key` the same order as bytes; `data` reads the tables of weights.
//!
//! Order: [`Collation::compare_char`] and [`Collation::compare_nchar`] always give one, and say
//! whether it is certain; see the module `compare`. An id with unknown bits is compared by the bits
//! that are known, and nothing of that is certain.

mod ascii;
mod binary;
mod compare;
mod data;
mod designators;
mod elements;
mod id;
mod language;
mod name;
mod sort_key;
mod sort_order;
mod sql_order;
mod units;

pub use compare::{Comparison, UncertainCharacter};
pub use id::{Collation, CollationVersion};
pub use sort_key::SortKey;

#[cfg(test)]
mod tests;
