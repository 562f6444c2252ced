//! Errors of a database.

mod database_state;
mod files;
pub(crate) mod invalid;
mod unsupported;

use std::path::PathBuf;

use extentdb_base::{DatabaseId, FileId, Lsn, ObjectId, OfflineCause, PageId, SessionId, XactId};
use extentdb_catalog::model::Unreadable;
use extentdb_format::log::apply::ApplyError;
use extentdb_rowset::version::VersionPointer;
use extentdb_txn::Preparation;
use extentdb_txn::lock::LockError;
use extentdb_types::Guid;
use extentdb_types::collation::UncertainCharacter;

use crate::catalog::address::Address;
use crate::error::invalid::InvalidOption;

pub use database_state::DatabaseState;
pub use files::{FilesRefused, ReadOnlyFilegroup};
pub use unsupported::Unsupported;

/// Which database a log belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOwner {
    /// Binding id of the database.
    pub binding_id: Guid,
    /// Its recovery fork; zero when it was never restored.
    pub fork_guid: Guid,
}

impl std::fmt::Display for LogOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (fork {})", self.binding_id, self.fork_guid)
    }
}

/// Why a database cannot be opened, or a statement not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The statement was cancelled, and its effects are undone; the transaction stays open.
    #[error("the statement was cancelled")]
    Cancelled,
    /// The session was killed: it accepts no more statements. Message 596.
    #[error("the session was killed")]
    Killed,
    /// No session of the server has this id. Message 6106.
    #[error("there is no session {id}")]
    NoSession {
        /// The id.
        id: SessionId,
    },
    /// The server has no database of this name. Message 911.
    #[error("there is no database {name}")]
    NoDatabase {
        /// The name.
        name: String,
    },
    /// A database of the server is not in service. Message 942 or 945.
    #[error("database {database} is {state}")]
    NotInService {
        /// Its name.
        database: String,
        /// Its state, with the cause.
        state: DatabaseState,
    },
    /// The database is read-only. Message 3906.
    #[error("database {database} is read-only")]
    ReadOnly {
        /// Its name.
        database: String,
    },
    /// A database that takes one session at a time has one. Message 924.
    #[error("database {database} is already open and can only have one user at a time")]
    SingleUser {
        /// Its name.
        database: String,
    },
    /// A system database is not dropped, detached, or taken out of service. Message 3708.
    #[error("{name} is a system database")]
    SystemDatabase {
        /// Its name.
        name: String,
    },
    /// A change of files or filegroups that is refused. Nothing has changed.
    #[error(transparent)]
    Files(#[from] FilesRefused),
    /// Something in a READ_ONLY filegroup would have changed.
    #[error(transparent)]
    ReadOnlyFilegroup(#[from] ReadOnlyFilegroup),
    /// A row or a page was to go into a filegroup without files. Message 622.
    #[error("filegroup {name} has no files")]
    EmptyFilegroup {
        /// Name of the filegroup.
        name: String,
    },
    /// A file that is to be made exists. Message 5170.
    #[error("{} exists", path.display())]
    FileExists {
        /// The file.
        path: PathBuf,
    },
    /// A server has no id for one more database. Message 1835.
    #[error("a server has {most} databases at most")]
    TooManyDatabases {
        /// How many there may be.
        most: usize,
    },
    /// A server has no room for one more session. Message 17809.
    #[error("{most} sessions are open, and no more are accepted")]
    TooManySessions {
        /// How many there may be.
        most: usize,
    },
    /// The database is being closed, detached or taken offline. Message 952.
    #[error("database {database} is in transition")]
    Closing {
        /// Its name.
        database: String,
    },
    /// The database cannot be closed while sessions use it.
    #[error("{sessions} sessions are open")]
    SessionsOpen {
        /// Sessions that are open, the caller's own among them.
        sessions: usize,
    },
    /// A file that a database cannot do without was not given.
    #[error("file {file} of the database is not among those given")]
    MissingFile {
        /// Number of the file in `sysprufiles`; 1 is the primary file.
        file: FileId,
    },
    /// A file is not what is expected at its path.
    #[error("{}: {what}", path.display())]
    WrongFile {
        /// Path by which the file was opened.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A page without which nothing can be read is damaged: a file header, or the boot page.
    /// Message 824.
    #[error("page {page} of {} is no sound {kind}", path.display())]
    Unreadable {
        /// Path by which the file was opened.
        path: PathBuf,
        /// Number of the page in the file, which does not say which file of the database it is.
        page: u32,
        /// What it should be.
        kind: &'static str,
    },
    /// The tables that describe all others cannot be read whole: the database can be checked and
    /// its rows exported, not opened.
    #[error("the catalog cannot be read: page {page}: {fault}")]
    CatalogDamaged {
        /// The first page that cannot be read.
        page: PageId,
        /// What is wrong with it.
        fault: extentdb_buffer::PageFault,
        /// What it led to.
        source: Box<Error>,
    },
    /// The rollback of an earlier transaction over the table waits for a page that cannot be read.
    /// Its locks are held; no session waits for them, because they are not released before the
    /// database is opened again with the page. Message 824.
    #[error("table {table} is locked by a transaction whose rollback is deferred: {why}")]
    Deferred {
        /// The table's name.
        table: String,
        /// The error of the page.
        why: OfflineCause,
    },
    /// The rollback of a transaction that has changed the catalog, which must be whole, needs a
    /// page that cannot be read: the database does not open without it.
    #[error("the rollback of a transaction with changes of the catalog needs a page: {source}")]
    CatalogRollback {
        /// The error of the page.
        source: Box<Error>,
    },
    /// A session cannot go to a database that its server does not have.
    #[error("database {database} is not open in the server of the session")]
    OtherServer {
        /// Its name.
        database: String,
    },
    /// A transaction over several databases is prepared here, and the database that decides how it
    /// ends cannot be asked: it is in doubt until both are opened by one server.
    #[error("transaction {xact} of database {coordinator} decides, and cannot be asked")]
    InDoubt {
        /// Id of the coordinating database in its server.
        coordinator: DatabaseId,
        /// The transaction there.
        xact: XactId,
    },
    /// A data file of another state of the database: an older or newer copy of the file that
    /// belongs here.
    #[error("{} is of another state of the database: it was last opened at {found}, the catalog expects {expected}",
    path.display())]
    StaleFile {
        /// Path by which the file was opened.
        path: PathBuf,
        /// LSN of the last opening, by the file's header.
        found: Lsn,
        /// The same, by `sysprufiles`.
        expected: Lsn,
    },
    /// Databases of this version are read, not written.
    #[error("a database of version {found} is not written; only {expected}")]
    Version {
        /// Version of the database.
        found: u16,
        /// The version that is.
        expected: u16,
    },
    /// The database was not closed cleanly, and its log is missing or damaged.
    #[error("the database was not closed cleanly, and its log is not there")]
    LogMissing,
    /// The database was not closed cleanly, and the log is that of another database, or of another
    /// restore of this one.
    #[error("{} is the log of another database: it names {found}, the data files {expected}", path.display())]
    ForeignLog {
        /// Path of the log that was given.
        path: PathBuf,
        /// Binding id and fork by the log.
        found: LogOwner,
        /// The same by the primary data file.
        expected: LogOwner,
    },
    /// The log ends although a page has a later change: what it lacks was acknowledged, perhaps.
    #[error("the log ends at {end}, and page {page} carries the later LSN {lsn}")]
    LogEndsBefore {
        /// A page with a change that the log lacks.
        page: PageId,
        /// LSN in the page's header (`m_lsn`).
        lsn: Lsn,
        /// The last record of the log.
        end: Lsn,
    },
    /// [`Database::open_emergency`](crate::Database::open_emergency) was interrupted, and must be
    /// called again.
    #[error(
        "an emergency opening was interrupted: the database must be opened in emergency mode again"
    )]
    EmergencyUnfinished,
    /// The log ends before its last checkpoint does.
    #[error("the log does not hold the end of the checkpoint {checkpoint}")]
    NoCheckpoint {
        /// Where the checkpoint begins, by the boot page.
        checkpoint: Lsn,
    },
    /// A record of the log cannot be replayed.
    #[error("log record {lsn} cannot be replayed on page {page}")]
    Redo {
        /// LSN of the record.
        lsn: Lsn,
        /// The page that the record changes.
        page: PageId,
        /// What the record and the page disagree about.
        source: ApplyError,
    },
    /// The catalog contradicts itself, or misses something.
    #[error("the catalog: {what}")]
    Catalog {
        /// What is wrong.
        what: String,
    },
    /// An option, or a part of a specification, that cannot be as it is. Nothing has changed.
    #[error(transparent)]
    Invalid(#[from] InvalidOption),
    /// A name that is taken.
    #[error("there is an object named {name} already")]
    Exists {
        /// Name that the statement gave to the new object.
        name: String,
    },
    /// A name that nothing has. Message 208.
    #[error("there is no table {name}")]
    NoTable {
        /// Schema and name, or the name alone, as the statement gave it.
        name: String,
    },
    /// A name that no index of the table has.
    #[error("table {table} has no index {name}")]
    NoIndex {
        /// The table's name.
        table: String,
        /// The name that the statement gave.
        name: String,
    },
    /// The values of a column are not read; those of the other columns of its table are.
    #[error("column {column} is not read: {why}")]
    UnreadableColumn {
        /// Its name.
        column: String,
        /// Why.
        why: Unreadable,
    },
    /// A second row with a key that may be there once only. Message 2601, or 2627 when a
    /// constraint says so.
    #[error("table {table} has a row with the key ({key}) of unique index {index} already")]
    DuplicateKey {
        /// The table's name.
        table: String,
        /// Name of the unique index, which is that of its constraint.
        index: String,
        /// Values of the key columns.
        key: String,
        /// Does the index belong to a primary key or unique constraint?
        is_constraint: bool,
    },
    /// A table is not changed whose index has keys that lie otherwise than they would be looked
    /// for: it was written under other weights. Rows are read all the same; rebuilding the index
    /// puts it in order.
    #[error(
        "table {table} is not changed: in index {index} the key ({first}) lies before ({second})"
    )]
    KeysOutOfOrder {
        /// The table's name.
        table: String,
        /// Name of the index that is out of order.
        index: String,
        /// Values of the first key that is not less than the next one.
        first: String,
        /// The next one, which is not greater.
        second: String,
    },
    /// The same of an index whose separators do not lead to its keys.
    #[error(
        "table {table} is not changed: the separators of index {index} do not lead to the keys of page {page}"
    )]
    SeparatorsOutOfOrder {
        /// The table's name.
        table: String,
        /// Name of the index that is out of order.
        index: String,
        /// A leaf with such keys.
        page: PageId,
    },
    /// A new key of a database of another product has a character whose weight is not certain under
    /// the collation: the product could look for the key elsewhere.
    #[error(
        "the key ({key}) of index {index} of table {table} has the character {character}, \
         whose place in the order of its collation is not certain"
    )]
    UncertainKey {
        /// The table's name.
        table: String,
        /// Name of the index that the key belongs to.
        index: String,
        /// Values of the key columns.
        key: String,
        /// The first such character.
        character: UncertainCharacter,
    },
    /// A row that a constraint does not allow. Message 547.
    #[error("table {table}: the statement conflicted with {kind} constraint {name}")]
    Constraint {
        /// The table whose row was to change.
        table: String,
        /// Name of the constraint.
        name: String,
        /// CHECK or FOREIGN KEY.
        kind: &'static str,
    },
    /// A value that the rule of its column does not allow. Message 513.
    #[error("table {table}: the statement conflicted with the rule of column {column}")]
    Rule {
        /// The table whose row was to change.
        table: String,
        /// Name of the column.
        column: String,
    },
    /// A schema or type that is dropped and that something else still has. Message 3729 or 3732.
    #[error("{name} is referenced by {by}")]
    ReferencedBy {
        /// What was to be dropped.
        name: String,
        /// Name of an object that has it.
        by: String,
    },
    /// A column that something else needs as it is. Message 5074.
    #[error("{object} depends on column {column}")]
    Dependent {
        /// What needs it.
        object: String,
        /// The column's name.
        column: String,
    },
    /// The identity values of a table are used up. Message 8115.
    #[error("the identity values of table {table}, of type {ty}, are used up")]
    Identity {
        /// The table's name.
        table: String,
        /// Type of its identity column, without length.
        ty: &'static str,
    },
    /// A sequence has handed out its last value. Message 11728.
    #[error("sequence {sequence} has no more values")]
    SequenceEnd {
        /// Its object id.
        sequence: ObjectId,
    },
    /// An index and its table contradict each other.
    #[error(
        "index {index} of table {table} lacks the entry of row {at}: the database must be checked"
    )]
    EntryMissing {
        /// The table's name.
        table: String,
        /// Name of the nonclustered index that lacks the entry.
        index: String,
        /// RID of the row, or its clustered key.
        at: Address,
    },
    /// More rows with one clustered key than there are uniquifiers. Message 666.
    #[error("table {table} has as many rows with this clustered key as there can be")]
    Uniquifiers {
        /// The table's name.
        table: String,
    },
    /// Table hints that contradict each other. Message 1047.
    #[error("the table hints contradict each other")]
    ConflictingHints,
    /// READPAST under another level than READ COMMITTED and REPEATABLE READ. Message 650.
    #[error("READPAST needs the READ COMMITTED or REPEATABLE READ isolation level")]
    ReadPastLevel,
    /// A sample of less than 0 or more than 100 percent. Message 476.
    #[error("a sample has 0 to 100 percent of the pages")]
    SamplePercent,
    /// A row for which the filter of a scan has no value, as for a division by zero.
    #[error("the filter of the scan: {why}")]
    Filter {
        /// Why not.
        why: String,
    },
    /// DDL has changed the table since a cursor or scan was opened. Message 16943.
    #[error("table {table} was changed since the cursor was opened")]
    TableChanged {
        /// The table's name.
        table: String,
    },
    /// A row was changed or deleted by another session while a reading without locks (NOLOCK, READ
    /// UNCOMMITTED) followed it to its values. Message 601.
    #[error("the reading of table {table} without locks met data that was moved")]
    DataMovement {
        /// The table's name.
        table: String,
    },
    /// The table was changed or dropped since it was looked up.
    #[error("table {id} is not there any more")]
    Gone {
        /// `object_id` of the table that was looked up.
        id: ObjectId,
    },
    /// A value that is not one of its column.
    #[error("column {column}: {what}")]
    Value {
        /// The column's name.
        column: String,
        /// Why the column cannot have the value.
        what: String,
    },
    /// A value is longer than what is held in memory: it is read by its reader.
    #[error("a value of {bytes} bytes is not read into memory, which takes up to {most}")]
    ValueTooLong {
        /// Bytes of the value.
        bytes: u64,
        /// The most that is held in memory.
        most: u64,
    },
    /// The stream that a value was to be read from has failed.
    #[error("column {column}: the stream of its value failed")]
    Stream {
        /// The column's name.
        column: String,
        /// Why.
        source: std::io::Error,
    },
    /// A row has another number of values than its table has columns.
    #[error("{found} values for {expected} columns")]
    Columns {
        /// Columns of the table.
        expected: usize,
        /// Values that the statement gave.
        found: usize,
    },
    /// A statement under SNAPSHOT in a transaction that began under another level. Message 3951.
    #[error(
        "the transaction did not start under the SNAPSHOT isolation level: database {database}"
    )]
    NotStartedAsSnapshot {
        /// The database of the statement.
        database: String,
    },
    /// The database does not allow the SNAPSHOT isolation level. Message 3952.
    #[error("SNAPSHOT isolation is not allowed in database {database}")]
    SnapshotNotAllowed {
        /// Its name.
        database: String,
    },
    /// The database did not allow SNAPSHOT when the transaction first read or changed something.
    /// Message 3957.
    #[error("database {database} did not allow SNAPSHOT isolation when the transaction started")]
    SnapshotTooOld {
        /// Its name.
        database: String,
    },
    /// Under SNAPSHOT, a row to be changed was changed or deleted by another transaction that the
    /// snapshot does not see. The transaction can only be rolled back. Message 3960.
    #[error("update conflict: a row of table {table} in database {database} was changed since")]
    UpdateConflict {
        /// Schema and name of the table.
        table: String,
        /// The database.
        database: String,
    },
    /// DDL has changed the table since the snapshot was taken. Message 3961.
    #[error("table {table} in database {database} was changed by DDL since the snapshot was taken")]
    RedefinedSinceSnapshot {
        /// Schema and name of the table.
        table: String,
        /// The database.
        database: String,
    },
    /// DDL that an explicit transaction under SNAPSHOT cannot do. Message 3964.
    #[error("this DDL is not allowed in a transaction under SNAPSHOT isolation")]
    DdlInSnapshot,
    /// SNAPSHOT isolation is not turned on or off at once: transactions are open that the change
    /// would wait for. Message 5070.
    #[error("transactions are open in database {database}")]
    TransactionsOpen {
        /// Its name.
        database: String,
    },
    /// The state of a database is not changed inside a transaction. Message 226.
    #[error("ALTER DATABASE is not allowed in a transaction of several statements")]
    OpenTransaction,
    /// tempdb has no room for the older version of a row. Message 3959.
    #[error("the version store is full")]
    VersionStoreFull {
        /// Error of tempdb.
        source: Box<Error>,
    },
    /// The version of a row that a snapshot needs is not in the version store. Message 3958.
    #[error("the version store has no version at {at:?}")]
    VersionGone {
        /// Where it was.
        at: VersionPointer,
    },
    /// A record that is longer than a row can be was to be kept in the version store.
    #[error("a version of {bytes} bytes is longer than a row can be")]
    VersionTooLong {
        /// Bytes of the record.
        bytes: usize,
    },
    /// A table that cannot be made, or a thing that tables here do not have.
    #[error("not supported: {0}")]
    NotSupported(#[from] Unsupported),
    /// There is no row at this address.
    #[error("there is no row {0}")]
    NoRow(Address),
    /// A savepoint that the transaction does not have. Message 6401.
    #[error("there is no savepoint {name}")]
    NoSavepoint {
        /// The name that the statement gave.
        name: String,
    },
    /// The database is offline: something that had to become durable could not, or a page did not
    /// take its own log record. Opening it again recovers.
    #[error("the database is offline and must be opened again: {0}")]
    Offline(OfflineCause),
    /// A change was requested outside of a transaction.
    #[error("there is no open transaction")]
    NoTransaction,
    /// The transaction is a deadlock victim, or has met an update conflict: it can only be rolled
    /// back. Message 3930.
    #[error("the transaction has failed and can only be rolled back")]
    Doomed,
    /// A lock was not granted.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// From heaps and B-trees.
    #[error(transparent)]
    Rowset(extentdb_rowset::Error),
    /// A change of a page, or its undo.
    #[error(transparent)]
    Change(#[from] extentdb_change::Error),
    /// From the allocation of pages and extents, or from growing a file.
    #[error(transparent)]
    Space(#[from] extentdb_space::Error),
    /// From the buffer pool: a page could not be read, or the pool is offline.
    #[error(transparent)]
    Buffer(#[from] extentdb_buffer::Error),
    /// From the transaction manager.
    #[error(transparent)]
    Transaction(#[from] extentdb_txn::Error),
    /// From the transaction log: it is full, or offline.
    #[error(transparent)]
    Log(#[from] extentdb_wal::Error),
    /// From the disk, outside of pool and log: files are created, opened or extended.
    #[error(transparent)]
    Disk(#[from] extentdb_io::Error),
    /// The catalog could not be read.
    #[error(transparent)]
    Load(#[from] extentdb_catalog::Error),
    /// The template of a new database.
    #[error(transparent)]
    Build(#[from] extentdb_template::Error),
}

impl From<extentdb_rowset::Error> for Error {
    /// A lock is refused to a session in one way, whichever crate requested it.
    fn from(error: extentdb_rowset::Error) -> Error {
        match error {
            extentdb_rowset::Error::Lock(error) => Error::Lock(error),
            extentdb_rowset::Error::VersionGone { at } => Error::VersionGone { at },
            // Those of the store are the engine's own.
            extentdb_rowset::Error::VersionStore(source) => match source.downcast() {
                Ok(own) => *own,
                Err(source) => Error::Rowset(extentdb_rowset::Error::VersionStore(source)),
            },
            extentdb_rowset::Error::SortStore(source) => match source.downcast() {
                Ok(own) => *own,
                Err(source) => Error::Rowset(extentdb_rowset::Error::SortStore(source)),
            },
            error => Error::Rowset(error),
        }
    }
}

impl Error {
    /// A transaction waits for its coordinator.
    pub(crate) fn in_doubt(by: Preparation) -> Error {
        Error::InDoubt { coordinator: by.database, xact: by.xact }
    }

    pub(crate) fn catalog(what: impl Into<String>) -> Error {
        Error::Catalog { what: what.into() }
    }
}

/// The cause of an error, whichever crate it comes from: what a caller decides by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The log is full. Message 9002.
    LogFull,
    /// The filegroup is full. Message 1105.
    FilegroupFull,
    /// A lock was not granted: 1205 or 1222.
    Lock,
    /// The statement was cancelled, in a wait or in its work.
    Cancelled,
    /// The disk refused. Message 823.
    Disk,
    /// A page is not what it should be. Message 824.
    BadPage,
    /// A row is longer than a page takes, and nothing more of it can lie off it. Message 511.
    RowTooLong,
    /// The database, its log or its pool is offline.
    Offline,
    /// A cause that callers do not tell apart: the error's text says it.
    Other,
}

impl Error {
    /// Can the transaction only be rolled back after this? A deadlock victim, or an update conflict
    /// under SNAPSHOT.
    pub fn dooms_transaction(&self) -> bool {
        self.is_deadlock() || matches!(self, Error::UpdateConflict { .. })
    }

    /// The filegroup that a page was asked of and that the database has no file for.
    pub(crate) fn group_without_files(&self) -> Option<i16> {
        use extentdb_space::Error as Space;
        match self {
            Error::Space(Space::NoFilegroup { group })
            | Error::Rowset(extentdb_rowset::Error::Space(Space::NoFilegroup { group })) => {
                Some(*group)
            }
            _ => None,
        }
    }

    /// Bytes of an index key that is too long. Message 1944 or 1946.
    pub fn key_bytes(&self) -> Option<usize> {
        match self {
            Error::Rowset(extentdb_rowset::Error::KeyTooLong { bytes, .. }) => Some(*bytes),
            _ => None,
        }
    }

    /// Was the transaction chosen as deadlock victim? Message 1205.
    pub fn is_deadlock(&self) -> bool {
        matches!(self, Error::Lock(LockError::Deadlock { .. }))
    }

    /// The cause, whichever crate the error comes from.
    pub fn cause(&self) -> Cause {
        match self {
            Error::Offline(_) => Cause::Offline,
            Error::Lock(error) => of_lock(error),
            Error::Cancelled => Cause::Cancelled,
            Error::Unreadable { .. } | Error::CatalogDamaged { .. } | Error::Deferred { .. } => {
                Cause::BadPage
            }
            Error::CatalogRollback { source } => source.cause(),
            Error::Disk(_) => Cause::Disk,
            Error::Log(error) => of_log(error),
            Error::Transaction(error) => of_transaction(error),
            Error::Buffer(error) => of_buffer(error),
            Error::Change(error) => of_change(error),
            Error::Space(error) => of_space(error),
            Error::Rowset(error) => of_rowset(error),
            Error::VersionStoreFull { .. } => Cause::FilegroupFull,
            _ => Cause::Other,
        }
    }
}

fn of_log(error: &extentdb_wal::Error) -> Cause {
    match error {
        extentdb_wal::Error::Full { .. } => Cause::LogFull,
        extentdb_wal::Error::Offline(_) => Cause::Offline,
        extentdb_wal::Error::Disk(_) => Cause::Disk,
        _ => Cause::Other,
    }
}

fn of_transaction(error: &extentdb_txn::Error) -> Cause {
    match error {
        extentdb_txn::Error::Log(error) => of_log(error),
        _ => Cause::Other,
    }
}

fn of_buffer(error: &extentdb_buffer::Error) -> Cause {
    match error {
        extentdb_buffer::Error::BadPage { .. } => Cause::BadPage,
        extentdb_buffer::Error::Disk { .. } => Cause::Disk,
        extentdb_buffer::Error::Log(_) | extentdb_buffer::Error::Offline(_) => Cause::Offline,
        _ => Cause::Other,
    }
}

fn of_change(error: &extentdb_change::Error) -> Cause {
    match error {
        extentdb_change::Error::Buffer(error) => of_buffer(error),
        extentdb_change::Error::Transaction(error) => of_transaction(error),
        extentdb_change::Error::Log(error) => of_log(error),
        _ => Cause::Other,
    }
}

fn of_space(error: &extentdb_space::Error) -> Cause {
    use extentdb_space::Error as Space;
    match error {
        Space::FilegroupFull { .. } => Cause::FilegroupFull,
        Space::Disk(_) => Cause::Disk,
        Space::Change(error) => of_change(error),
        Space::Buffer(error) => of_buffer(error),
        Space::Transaction(error) => of_transaction(error),
        Space::Log(error) => of_log(error),
        Space::Catalog { source, .. } => source.downcast_ref().map_or(Cause::Other, of_rowset),
        _ => Cause::Other,
    }
}

fn of_lock(error: &LockError) -> Cause {
    match error {
        LockError::Cancelled { .. } => Cause::Cancelled,
        _ => Cause::Lock,
    }
}

fn of_rowset(error: &extentdb_rowset::Error) -> Cause {
    match error {
        extentdb_rowset::Error::Space(error) => of_space(error),
        extentdb_rowset::Error::Change(error) => of_change(error),
        extentdb_rowset::Error::Page(error) => of_buffer(error),
        extentdb_rowset::Error::Transaction(error) => of_transaction(error),
        extentdb_rowset::Error::Lock(error) => of_lock(error),
        extentdb_rowset::Error::RowTooLong { .. } => Cause::RowTooLong,
        _ => Cause::Other,
    }
}
