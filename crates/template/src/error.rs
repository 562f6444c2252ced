//! Why a database could not be built.

use extentdb_base::FileId;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant names its fields")]
pub enum Error {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] extentdb_io::Error),
    /// The embedded definitions of the base tables are damaged.
    #[error(transparent)]
    Definition(#[from] extentdb_catalog::table::DefinitionError),
    /// No shape has this name.
    #[error("there is no shape {name}; --list shows them")]
    UnknownShape {
        /// The name given.
        name: String,
    },
    /// A size that cannot be made.
    #[error("{bytes} bytes are too few for a database of this shape; it needs {least}")]
    TooSmall {
        /// Bytes asked for.
        bytes: u64,
        least: u64,
    },
    /// The number of rows does not fit the table's identity column.
    #[error("{rows} rows are more than an int column can number")]
    TooManyRows {
        /// Rows asked for.
        rows: u64,
    },
    /// A data file has 2^32 pages at most.
    #[error("file {file} would have more than 2^32 pages; use more files")]
    FileFull { file: FileId },
    /// The files of a database are numbered with 16 bits, and there must be one.
    #[error("a database has 1 to 32766 data files, not {files}")]
    FileCount {
        /// Files asked for.
        files: usize,
    },
    /// The number of paths is not the number of files.
    #[error("{found} paths were given for {expected} files")]
    PathCount { expected: usize, found: usize },
    /// The filegroups need more files.
    #[error("{files} data files are too few: the filegroups have {least} at least")]
    TooFewFiles {
        /// Files asked for.
        files: usize,
        /// Files of all filegroups, with one for PRIMARY.
        least: usize,
    },
    /// There is no filegroup, partition function or scheme of this name.
    #[error("there is no filegroup, partition function or scheme {name}")]
    NoDataSpace { name: String },
    /// A partition scheme whose function has another type than the column, boundaries that do not
    /// ascend, or another number of partitions than the scheme has filegroups.
    #[error("partition scheme {name} does not fit its function or the partitioning column")]
    BadScheme { name: String },
    /// A combination whose form on disk is not known.
    #[error("table {table}: {what} is not built")]
    NotBuilt {
        table: String,
        /// What it is.
        what: &'static str,
    },
    /// A table is described by a column it does not have.
    #[error("table {table} has no column {column}")]
    NoColumn { table: String, column: String },
    /// A foreign key leads to a table without such a key, or to no table.
    #[error(
        "foreign key {name}: {table} is not a table that was added before, or has no key on these columns"
    )]
    NoReferencedKey {
        /// The foreign key.
        name: String,
        /// The table it names.
        table: String,
    },
    /// The name is longer than 128 characters.
    #[error("{name} is longer than a name can be")]
    NameTooLong { name: String },
    /// A row does not fit on a page.
    #[error("row {row} of {table} has {bytes} bytes; a page holds 8060")]
    RowTooLong {
        table: String,
        /// Number of the row, from 0.
        row: u64,
        bytes: usize,
    },
    /// A generator made a value that is no value of the column: of its type, of a row from before
    /// the column, or of a deleted row, which has nothing off the row.
    #[error("row {row} of {table}, column {column}: the value does not fit the column")]
    BadValue {
        table: String,
        /// Number of the row, from 0.
        row: u64,
        column: usize,
    },
    /// A table cannot have become what its specification says.
    #[error("table {table}, column {column:?}: {what}")]
    Alteration {
        table: String,
        /// The column; empty when it is about rows.
        column: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A generator named an order of an index that is not its order, or repeats a key of a unique
    /// index.
    #[error("index {index} of {table}: row {row} is out of order or repeats a key")]
    Order {
        table: String,
        index: String,
        /// Number of the row, from 0.
        row: u64,
    },
    /// Rows of an index without an order of its generator are sorted in memory.
    #[error(
        "index {index} of {table}: {rows} rows are too many to sort; the generator must name their order"
    )]
    TooManyToSort { table: String, index: String, rows: u64 },
    /// The writer of the files stopped; its own error is the cause.
    #[error("the files are no longer written")]
    WriterStopped,
}
