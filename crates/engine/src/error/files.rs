//! Changes of files and filegroups that ALTER DATABASE refuses. Nothing has changed.

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
