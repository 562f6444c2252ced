//! Makes databases of version 661 from nothing.
//!
//! ```text
//! TableSpec (columns, keys, rows)    spec       what to build
//!   data_space, index_plan                      filegroups, partitions: where each rowset lies, which rows it holds
//!   heap, tree, scattered, lob                    rows -> records -> pages of one allocation unit
//!   unit, space                                 which page comes next: single pages, extents, files; IAM, PFS, GAM, SGAM
//!   catalogue, system                           rows of the base tables, then built like any other table
//!   fixed                                       file headers, boot page, maps
//!   sink                                        seals pages and writes them on a second thread
//! ```
//!
//! Invariants
//! - The same specification and seed give the same bytes.
//! - No table is held in memory: rows are generated when their page is filled, and again for every index.

mod catalogue;
mod data_space;
mod database;
mod fixed;
mod heap;
mod index_plan;
mod lob;
mod members;
mod order;
mod plan;
mod record;
mod scattered;
mod sink;
mod space;
pub mod spec;
mod system;
mod table;
mod tree;
mod unit;
pub mod values;

pub use data_space::{FilegroupSpec, PartitionFunctionSpec, PartitionSchemeSpec, Placement};
pub use database::{Built, BuiltTable, DatabaseBuilder, Progress};
pub use spec::{
    CheckSpec, ColumnSpec, Constraint, Filter, FnRows, ForeignKeySpec, IndexSpec, Rows, TableSpec,
};
pub use values::{Cell, RowValues};

#[cfg(test)]
mod tests;
