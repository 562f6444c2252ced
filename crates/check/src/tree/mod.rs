//! B-trees: links, levels, separators and the order of keys (`docs/check.md` 6 and 16 to 18).
//!
//! ```text
//! plan      key columns, root and size of each tree                         once
//! column    one column: where its value lies, and how two values compare
//! key       a key: two records compare, in one form for leaf and upper levels
//! order     2511, 2512: the rows of one page                                for each page of the scan
//! facts     links and keys of a page as sums and runs                       for each page of the scan
//! run, part runs of neighbouring pages, what the partial keeps              merged like all sums
//! verify    what is proven; of the rest
//!   gather  the link facts, by sketch or by another look      ──> verify::links
//!   ranges  separators and the keys left and right of them: 8933, 8934
//! undecided units with keys whose order is not certain, and why
//! model     the test that a small tree in every wrong state is told from a sound one
//! ```
//!
//! Invariants
//! - Nothing is kept per page: a sound tree leaves its sums, one run per level and a few runs of
//!   leaves.
//! - Findings come from comparisons of whole keys and exact links only. Hashes and prefixes say
//!   where to compare.
//! - Keys whose order is not certain are never judged; their index is listed as not verified, with
//!   the characters.
//! - Pages that failed their audit are not compared, nor reported again.
//!
//! What healthy files contain
//! - Roots of level 0 above data pages, from SQL Server 2000.
//! - Garbage in the first slot of the leftmost page of each upper level.
//! - Separators that are lower than the first key of their page: that row was deleted, or its key
//!   was changed.
//! - Keys that differ from their separators in case or in blanks at the end, under collations that
//!   ignore both.
//! - Uniquifiers that are not stored: the first row of its key.

mod column;
mod facts;
mod gather;
mod key;
mod lead;
mod look;
mod order;
pub(crate) mod part;
mod plan;
mod ranges;
mod rising;
mod run;
mod undecided;
mod verify;

pub(crate) use part::TreePart;

pub(crate) use facts::TreeFacts;
pub(crate) use plan::Trees;
pub(crate) use verify::verify_trees;

#[cfg(test)]
mod model;
