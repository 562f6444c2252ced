//! What tables, indexes and statements cannot be or do here.

use extentdb_expr::EvalError;

/// A definition that is not created here, or a statement that is not executed. Nothing has changed.
///
/// Fields named `why` continue the sentence of the message.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each variant names its fields")]
pub enum Unsupported {
    #[error("row versions in a database that is opened by itself, without a tempdb")]
    RowVersionsAlone,
    #[error("more than {most} files")]
    TooManyFiles { most: u16 },
    #[error("a file of {bytes} bytes")]
    FileBytes { bytes: u64 },
    #[error("filegroup {name}, which is not there")]
    NoFilegroup { name: String },
    #[error("schema {name}, which is not there")]
    NoSchema { name: String },
    #[error("to drop schema {name} of the system")]
    SystemSchema { name: String },
    #[error("a sequence whose next value {value} is beyond its range")]
    SequenceValue { value: i128 },
    #[error("a sequence that is defined as {definition}")]
    Sequence { definition: String },
    #[error("type {name}, which is not there")]
    NoType { name: String },
    #[error("more than {most} schemas")]
    TooManySchemas { most: i32 },
    #[error("changes of table {table}, which has {why}")]
    ReadOnlyTable { table: String, why: String },
    #[error("to {action} table {table}, which foreign key {key} references")]
    ReferencedTable { action: &'static str, table: String, key: String },
    #[error("to move table {table} to another filegroup")]
    MoveTable { table: String },
    #[error("rows of up to {bytes} bytes")]
    RowBytes { bytes: u32 },
    #[error("other columns in rows of this layout")]
    RowLayout,
    #[error("a table of {columns} columns")]
    ColumnCount { columns: usize },
    #[error("column {column}: {why}")]
    Column { column: String, why: &'static str },
    #[error("column {column}, which the table has not got")]
    NoColumn { column: String },
    #[error("to drop column {column}, the only one of table {table} with data")]
    LastColumn { column: String, table: String },
    #[error("to alter column {column}: {why}")]
    AlterColumn { column: String, why: &'static str },
    #[error("column {column}, {why}")]
    Identity { column: String, why: &'static str },
    #[error("identity values of table {table}")]
    NoIdentity { table: String },
    #[error("the property {name}, which is not there")]
    NoProperty { name: String },
    #[error("column {column}, a second identity")]
    SecondIdentity { column: String },
    #[error("column {column}, a second rowversion")]
    SecondRowVersion { column: String },
    #[error("column {column}, which takes no NULL and has no default for the rows there are")]
    NoDefaultForRows { column: String },
    #[error("a default for column {column}, which has a value of its own")]
    DefaultOfComputed { column: String },
    #[error("the default {text} of column {column}: {why}")]
    Default { column: String, text: String, why: String },
    #[error("computed column {column}: {why}")]
    ComputedColumn { column: String, why: String },
    #[error("check constraint {constraint}: {why}")]
    Check { constraint: String, why: String },
    #[error("this row under check constraint {constraint}: {why}")]
    UndecidedCheck { constraint: String, why: EvalError },
    #[error("foreign key {key}: {why}")]
    ForeignKey { key: String, why: String },
    #[error("foreign key {key}: its actions would form a cycle or multiple cascade paths")]
    CascadePaths { key: String },
    #[error("constraint {name}, which table {table} has not got")]
    NoConstraint { name: String, table: String },
    #[error("foreign key {key} from column {column} to one of another type")]
    ForeignKeyType { key: String, column: String },
    #[error("foreign key {key} to columns of {parent} that no unique index has")]
    ForeignKeyWithoutIndex { key: String, parent: String },
    #[error("a fill factor of {percent} percent")]
    FillFactor { percent: u8 },
    #[error("an index of {columns} key columns")]
    KeyColumnCount { columns: usize },
    #[error("index entries of up to {bytes} bytes")]
    EntryBytes { bytes: u32 },
    #[error("column {column} twice in an index")]
    ColumnTwiceInIndex { column: String },
    #[error("column {column} of its type in an index")]
    TypeInIndex { column: String },
    #[error("computed column {column} in an index: {why}")]
    ComputedInIndex { column: String, why: String },
    #[error("column {column} included in a clustered index, which has all columns")]
    IncludedInClustered { column: String },
    #[error("a clustered index over column {column}, computed and not persisted")]
    ClusteredOverComputed { column: String },
    #[error("a primary key over column {column}, which takes NULL")]
    NullablePrimaryKey { column: String },
    #[error("a second clustered index")]
    SecondClusteredIndex,
    #[error("a second primary key")]
    SecondPrimaryKey,
    #[error("index {index} in another filegroup than its table")]
    IndexElsewhere { index: String },
    #[error("the filter of index {index}: {why}")]
    IndexFilter { index: String, why: String },
    #[error("this row under the filter of index {index}: {why}")]
    UndecidedFilter { index: String, why: EvalError },
    #[error("the filter of a scan: {why}")]
    ScanFilter { why: String },
    #[error("this row under the filter of a scan: {why}")]
    UndecidedScanFilter { why: EvalError },
    #[error("a sample of rows that are locked one by one")]
    SampleOfLockedRows,
    #[error("a limit of a parallel scan")]
    ParallelLimit,
    #[error("a seek of keys that names no index, or a sample")]
    SeekWithoutIndex,
    #[error("a parallel scan outside of a transaction")]
    ParallelScanWithoutTransaction,
    #[error("to {action} index {index}, which foreign key {key} references")]
    ReferencedIndex { action: &'static str, index: String, key: String },
    #[error("to drop index {index} without the constraint that it belongs to")]
    IndexOfConstraint { index: String },
    #[error("to disable index {index}, which holds the rows")]
    DisableClustered { index: String },
    #[error("to drop {name}, which is not there")]
    NoModule { name: String },
    #[error("statistics {name}, which table {table} has not got")]
    NoStatistics { table: String, name: String },
    #[error("to drop statistics {name}, which are those of an index")]
    StatisticsOfIndex { name: String },
    #[error("statistics on {columns} columns")]
    StatisticsColumnCount { columns: usize },
    #[error("statistics on column {column} of its type")]
    TypeInStatistics { column: String },
    #[error("to drop {name}, which has an index")]
    IndexedModule { name: String },
}
