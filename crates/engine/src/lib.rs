#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod catalog;
mod database;
mod ddl;
mod dml;
mod error;
mod instance;
pub mod model;
mod recovery;
mod scan;
mod session;
mod statistics;
#[cfg(test)]
mod tests;
mod versions;

pub use catalog::address::Address;
pub use catalog::identity::{IdentitySpec, IdentityState};
pub use catalog::index::Constraint;
pub use catalog::sequence::{SequenceDefinition, SequenceState};
pub use catalog::storage::UnreadableColumn;
pub use catalog::table::Table;
pub use database::Database;
pub use database::emergency::{LogDamage, LostLog};
pub use database::options::{
    Options, Purpose, RecoveryModel, StatisticsOptions, TornPages, UpdateThreshold,
};
pub use database::row_versions::SnapshotIsolationState;
pub use database::sessions::SessionHandle;
pub use database::spec::Paths;
pub use database::spec::{DataFileSpec, DatabaseSpec, LogFileSpec};
pub use ddl::alter_column::ColumnType;
pub use ddl::bound::BoundObject;
pub use ddl::constraint::ForeignKeySpec;
pub use ddl::filegroup::FilegroupChange;
pub use ddl::index::IndexSpec;
pub use ddl::modify_file::FileChange;
pub use ddl::module::{ModuleKind, ModuleSettings, ModuleSpec, ParameterSpec};
pub use ddl::principal::{PrincipalChange, PrincipalSpec};
pub use ddl::property::PropertyOwner;
pub use ddl::spec::{ColumnSpec, DefaultSpec, Nullability, TableSpec};
pub use ddl::statistics::StatisticsSpec;
pub use ddl::trust::ExistingRows;
pub use ddl::user_type::TypeSpec;
pub use dml::load::{LoadLock, RowSource};
pub use dml::lob::{LobPart, LobReader};
pub use dml::new_row::NewRow;
pub use dml::read::Range;
pub use dml::row_ref::RowRef;
pub use dml::value::Value;
pub use error::invalid::InvalidOption;
pub use error::{
    Cause, DatabaseState, Error, FilesRefused, LogOwner, ReadOnlyFilegroup, Unsupported,
};
pub use extentdb_buffer::{PageFault, SuspectPage};
pub use extentdb_catalog::model::{ReferentialAction, ReferentialActions, Unreadable};
pub use extentdb_catalog::table::Computed;
pub use extentdb_format::allocation::file_header::Growth as FileGrowth;
pub use extentdb_rowset::columnar::{Bits, CompareOp, Values, Vector};
pub use extentdb_rowset::heap::Placement;
pub use extentdb_txn::Active as ActiveTransaction;
pub use extentdb_txn::lock::{LockMode, LockRow, LockStatus, Timeout};
pub use extentdb_wal::Growth as LogGrowth;
pub use instance::files::DatabaseFileChange;
pub use instance::info::DatabaseInfo;
pub use instance::logins::LoginRow;
pub use instance::registry::{RegisteredFile, UserAccess};
pub use instance::state::{DatabaseChange, Termination};
pub use instance::{BackgroundWork, Instance, InstanceOptions};
pub use recovery::redo::NewerPage;
pub use recovery::redo::Recovered;
pub use scan::batch::{ColumnBatch, RowLocators};
pub use scan::columns::Scan;
pub use scan::cursor::{Access, Cursor, RowBatch};
pub use scan::hints::{Granularity, OnConflict, ReadHints, RowLock, TableHint, UseVersions};
pub use scan::parallel::{ParallelScan, ScanWorker};
pub use scan::seek::{Seek, SeekBatch};
pub use scan::spec::{ColumnComparison, Locators, Sample, ScanSpec};
pub use session::{Isolation, Row, Session, SessionNames, StatementEnd, StatementScope};
pub use statistics::{Histogram, HistogramStep, Statistics, StatisticsScan};
pub use versions::info::{ActiveSnapshot, CommitNumber, SnapshotKind, StoreSize, VersionsInfo};
