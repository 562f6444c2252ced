//! Changes of files and filegroups that ALTER DATABASE refuses, and changes in READ_ONLY
//! filegroups. Nothing has changed.

use extentdb_base::HobtId;

/// Why files or filegroups were not changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each variant names its fields")]
pub enum FilesRefused {
    /// Message 1828.
    #[error("the logical file name {name} is in use")]
    NameTaken { name: String },
    /// Message 5009 or 5041.
    #[error("there is no file {name}")]
    NoFile { name: String },
    /// Message 5014.
    #[error("there is no filegroup {name} in database {database}")]
    NoFilegroup { name: String, database: String },
    /// Message 5035.
    #[error("there is a filegroup {name} already")]
    FilegroupTaken { name: String },
    /// Message 5020.
    #[error("the primary data or log file cannot be removed")]
    PrimaryFile,
    /// Message 5012 or 5042.
    #[error("filegroup PRIMARY stays, and keeps its name")]
    PrimaryFilegroup,
    /// Message 5031.
    #[error("file {name} is the only one of the default filegroup")]
    OnlyFileOfDefault { name: String },
    /// Message 5042.
    #[error("the {what} {name} is not empty")]
    NotEmpty { what: &'static str, name: String },
    /// Message 5045.
    #[error("the filegroup has property {property} already")]
    PropertySet { property: &'static str },
    /// Message 5047.
    #[error("filegroup PRIMARY is neither read-only nor made read-write")]
    PrimaryReadOnly,
    /// Message 5048.
    #[error("filegroup {name} is read-only: its files stay as they are")]
    ReadOnlyGroup { name: String },
    /// Message 5055.
    #[error("file {name} is read-only")]
    ReadOnlyFile { name: String },
    /// Message 5050.
    #[error("filegroup {name} has no file")]
    EmptyFilegroup { name: String },
    /// Message 5039.
    #[error("the size is less than or equal to the current size")]
    NotLarger,
    /// Message 5040.
    #[error("the size is greater than the maximum")]
    AboveMaximum,
    /// Message 5169.
    #[error("the growth of file {name} is greater than its maximum size")]
    GrowthAboveMaximum { name: String },
    #[error("to change {what} of a log")]
    Log { what: &'static str },
}

/// What a READ_ONLY filegroup refuses.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each variant names its fields")]
pub enum ReadOnlyFilegroup {
    /// Message 652. The name of a heap is empty.
    #[error("index {index} of table {table}, rowset {rowset}, is in read-only filegroup {group}")]
    Change { index: String, table: String, rowset: HobtId, group: String },
    /// Message 1924.
    #[error("filegroup {group} is read-only")]
    Create { group: String },
    /// Message 3740.
    #[error("part of table {table} is in a read-only filegroup")]
    Drop { table: String },
}
