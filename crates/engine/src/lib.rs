#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod add_file;
mod address;
mod alter;
mod boot;
mod catalogue;
mod checkpoint;
mod column;
mod constraint;
mod constraint_ddl;
mod create;
mod database;
mod ddl;
mod defaults;
mod ending;
mod entries;
mod error;
mod ghost;
mod identity;
mod index;
mod index_ddl;
mod isolation;
mod open;
mod read;
mod rebase;
mod recount;
mod recovery;
mod rows;
mod running;
mod schema;
mod session;
mod storage;
mod system_table;
mod table;
#[cfg(test)]
mod tests;
mod undo;

pub use address::Address;
pub use create::{DataFileSpec, DatabaseSpec, LogFileSpec};
pub use database::{Database, Options, RecoveryModel};
pub use ddl::{ColumnSpec, TableSpec};
pub use error::{Cause, Error};
pub use extentdb_format::allocation::file_header::Growth as FileGrowth;
pub use extentdb_rowset::heap::Placement;
pub use extentdb_txn::lock::{LockMode, Timeout};
pub use extentdb_wal::Growth as LogGrowth;
pub use index::Constraint;
pub use index_ddl::IndexSpec;
pub use isolation::Isolation;
pub use open::Paths;
pub use read::Range;
pub use recovery::Recovered;
pub use session::{Row, Session};
pub use table::Table;
