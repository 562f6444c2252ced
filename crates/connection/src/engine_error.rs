//! Errors of the engine as messages. The one place where the storage core gets numbers.

use extentdb_base::SessionId;
use extentdb_engine::{Error, ReadOnlyFilegroup};

use crate::cause::Cause;

/// The cause behind an error of the engine.
pub fn cause_of(error: &Error, spid: SessionId) -> Cause {
    match error {
        Error::Killed => Cause::Killed,
        Error::NoSession { id } => Cause::NoProcess { id: id.0.into() },
        Error::NoDatabase { name } => Cause::UnknownDatabase { name: name.clone() },
        Error::NotInService { database, .. } | Error::Closing { database } => {
            Cause::DatabaseOffline { name: database.clone() }
        }
        Error::SingleUser { database } => Cause::SingleUser { name: database.clone() },
        Error::SystemDatabase { name } => Cause::SystemDatabase { name: name.clone() },
        Error::Exists { name } => Cause::DatabaseExists { name: name.clone() },
        Error::Doomed => Cause::Doomed,
        Error::SnapshotNotAllowed { database } => failed(
            3952,
            format!(
                "Snapshot isolation transaction failed accessing database '{database}' because \
                 snapshot isolation is not allowed in this database. Use ALTER DATABASE to allow \
                 snapshot isolation."
            ),
        ),
        Error::NotStartedAsSnapshot { database } => failed(
            3951,
            format!(
                "Transaction failed in database '{database}' because the statement was run under \
                 snapshot isolation but the transaction did not start in snapshot isolation. You \
                 cannot change the isolation level of the transaction to snapshot after the \
                 transaction has started unless the transaction was originally started under \
                 snapshot isolation level."
            ),
        ),
        Error::UpdateConflict { table, database } => failed(
            3960,
            format!(
                "Snapshot isolation transaction aborted due to update conflict. You cannot use \
                 snapshot isolation to access table '{table}' directly or indirectly in database \
                 '{database}' to update, delete, or insert the row that has been modified or \
                 deleted by another transaction. Retry the transaction or change the isolation \
                 level for the update/delete statement."
            ),
        ),
        Error::RedefinedSinceSnapshot { table, database } => failed(
            3961,
            format!(
                "Snapshot isolation transaction failed in database '{database}' because the \
                 object accessed by the statement has been modified by a DDL statement in another \
                 concurrent transaction since the start of this transaction. It is disallowed \
                 because the metadata is not versioned. ({table})"
            ),
        ),
        Error::DdlInSnapshot => failed(
            3964,
            "Transaction failed because this DDL statement is not allowed inside a snapshot \
             isolation transaction. Since metadata is not versioned, a metadata change can lead \
             to inconsistency if mixed within snapshot isolation."
                .to_owned(),
        ),
        Error::DataMovement { .. } => {
            failed(601, "Could not continue scan with NOLOCK due to data movement.".to_owned())
        }
        Error::Identity { ty, .. } => failed(
            8115,
            format!("Arithmetic overflow error converting IDENTITY to data type {ty}."),
        ),
        Error::ReadOnly { database } => failed(
            3906,
            format!("Failed to update database \"{database}\" because the database is read-only."),
        ),
        Error::EmptyFilegroup { name } => failed(
            622,
            format!(
                "The filegroup \"{name}\" has no files assigned to it. Tables, indexes, text \
                 columns, ntext columns, and image columns cannot be populated on this filegroup \
                 until a file is added."
            ),
        ),
        Error::ReadOnlyFilegroup(refused) => of_read_only_filegroup(refused),
        other if other.is_deadlock() => Cause::Deadlock { spid: spid.0 },
        other if matches!(other.cause(), extentdb_engine::Cause::Lock) => Cause::LockTimeout,
        other if matches!(other.cause(), extentdb_engine::Cause::Cancelled) => Cause::Cancelled,
        other => Cause::Engine { text: other.to_string() },
    }
}

fn of_read_only_filegroup(refused: &ReadOnlyFilegroup) -> Cause {
    match refused {
        ReadOnlyFilegroup::Change { index, table, rowset, group } => failed(
            652,
            format!(
                "The index \"{index}\" for table \"{table}\" (RowsetId {rowset}) resides on a \
                 read-only filegroup (\"{group}\"), which cannot be modified."
            ),
        ),
        ReadOnlyFilegroup::Create { group } => {
            failed(1924, format!("Filegroup '{group}' is read-only."))
        }
        ReadOnlyFilegroup::Drop { table } => failed(
            3740,
            format!(
                "Cannot drop the table '{table}' because at least part of the table resides on a \
                 read-only filegroup."
            ),
        ),
        other => Cause::Engine { text: other.to_string() },
    }
}

fn failed(number: i32, text: String) -> Cause {
    Cause::Failed { number, severity: 16, text }
}
