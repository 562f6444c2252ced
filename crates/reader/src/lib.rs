#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod backup;
mod backup_pages;
mod checked;
mod data_files;
mod error;
mod identify;
mod log_file;
mod open;
mod overlay;
pub mod recover;
pub mod rows;
pub mod source;
mod torn;
mod watch;

pub use backup_pages::{Backup, ChainStop};
pub use checked::{CheckedPages, check as check_page};
pub use data_files::{DataFile, DataFiles};
pub use error::Error;
pub use identify::{BackupIdentity, FileOfDatabase, Identity, IdentityKind, identify};
pub use log_file::LogFile;
pub use open::{Database, OpenOptions, OpenedFiles, Origin, Restart};
pub use overlay::OverlaySource;
pub use recover::{
    LogState, Recovered, Recovery, RecoverySummary, StoppedPage, UnfinishedTransaction,
};
pub use rows::{LobValue, Row, ScanError, TableScan, Value, stored_columns};
pub use source::{MemoryFile, PageSource, ReadError, SourceFile};
pub use torn::TornRepair;
pub use watch::InUse;
