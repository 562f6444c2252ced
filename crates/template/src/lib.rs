#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod catalog;
mod database;
mod error;
mod file;
mod off_row;
mod plan;
mod record;
pub mod shape;
mod spec;
mod table;
#[cfg(test)]
mod tests;
mod unit;

pub use catalog::files::{FileKind, sysfiles1_row, sysprufiles_row};
pub use database::{Built, BuiltTable, DatabaseBuilder, FileName, Progress};
pub use error::Error;
pub use extentdb_catalog::table::values::{Cell, LobStream, RowValues};
pub use file::fixed_pages::{FileGrowth, FileIdentity, guid, has_creation_mark, write_header};
pub use shape::{MakeOptions, MakeReport, SHAPES, Shape, Size, make};
pub use spec::alteration::{AddedColumn, RowStates};
pub use spec::data_space::{
    FilegroupSpec, PartitionFunctionSpec, PartitionSchemeSpec, Placement, filegroup_rows,
};
pub use spec::{
    CheckSpec, ColumnSpec, Constraint, Filter, FnRows, ForeignKeySpec, IndexSpec, RowOrder, Rows,
    TableSpec,
};
