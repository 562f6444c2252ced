//! B-trees: links, levels, separators and the order of keys (`docs/check.md` 6 and 16 to 18).
//!
//! Known algorithm: PostgreSQL's `amcheck` (`bt_index_parent_check`) descends from the root, level
//! by level. Where we differ: pages are read once, in file order. Links are multiset hashes, pages
//! above the leaves are joined to runs, and only what these do not prove is read again.
//!
//! ```text
//! plan       key columns, root and size of each tree
//! column     one column: where its value lies, and how two values compare
//! key        a key: two records compare, in one form for leaf and upper levels
//! order      2511, 2512: the rows of one page
//! collector  links and keys of a page as multiset hashes and runs
//! run, part  runs of neighbouring pages, the part of the partial
//! links      exact link facts of a unit, compared
//! verify     what is proven; for the rest
//!   gather   the link facts, by sketch or by a full read ──> links
//!   ranges   separators and the keys left and right of them: 8933, 8934
//! undecided  units with keys whose order is not certain, and why
//! model      test: a small tree in every wrong state is distinguished from a sound one
//! ```
//!
//! Invariants
//! - Nothing is kept per page: a sound tree leaves its hashes, one run per level and a few runs of
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

mod ascending;
mod collector;
mod column;
mod gather;
mod key;
mod lead;
mod links;
mod order;
mod page;
pub(crate) mod part;
mod plan;
mod ranges;
mod run;
mod undecided;
mod verify;

pub(crate) use part::TreePart;

pub(crate) use collector::TreeCollector;
pub(crate) use plan::Trees;
pub(crate) use verify::verify_trees;

#[cfg(test)]
mod tests;
