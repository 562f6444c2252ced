//! Makes databases of version 661 from nothing.
//!
//! ```text
//! TableSpec (columns, keys, rows)    spec       what to build
//!   data_space, index_plan                      filegroups, partitions: where each rowset lies, which rows it holds
//!   record, compress                              rows -> records, plain or compressed
//!   heap, tree, scattered                         records -> pages of one allocation unit, by packer, share
//!   off_row, lob_tree, lob                        values off the row -> LOB and row-overflow pages
//!   fate                                          columns added and dropped, rows deleted, moved and changed
//!   unit, space                                 which page comes next: single pages, extents, files; IAM, PFS, GAM, SGAM
//!   catalog, system                           rows of the base tables, then built like any other table
//!   fixed                                       file headers, boot page, maps
//!   sink                                        seals pages and writes them on a second thread
//! ```
//!
//! Invariants
//! - The same specification and seed give the same bytes.
//! - No table is held in memory: rows are generated when their page is filled, and again for every
//!   index.

mod catalog;
mod compress;
mod data_space;
mod database;
pub mod fate;
mod fixed;
mod heap;
mod index_plan;
mod lob;
mod lob_tree;
mod members;
mod off_row;
mod order;
mod packer;
mod plan;
mod record;
mod scattered;
mod share;
mod sink;
mod space;
pub mod spec;
mod system;
mod table;
mod tree;
mod unit;
pub mod values;

pub use catalog::{sysfiles1_row, sysprufiles_row};
pub use data_space::{FilegroupSpec, PartitionFunctionSpec, PartitionSchemeSpec, Placement};
pub use database::{Built, BuiltTable, DatabaseBuilder, FileName, Progress};
pub use fate::{AddedColumn, Fates};
pub use fixed::{FileGrowth, FileIdentity, guid, has_creation_mark, write_header};
pub use spec::{
    CheckSpec, ColumnSpec, Constraint, Filter, FnRows, ForeignKeySpec, IndexSpec, Rows, TableSpec,
};
pub use values::{Cell, LobStream, RowValues};

#[cfg(test)]
mod tests;
