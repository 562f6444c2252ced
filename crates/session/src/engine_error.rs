//! Errors of the engine as messages. The one place where the storage core gets numbers.

use extentdb_base::SessionId;
use extentdb_engine::Error;

use crate::cause::Cause;

/// The cause behind an error of the engine.
pub(crate) fn cause_of(error: &Error, spid: SessionId) -> Cause {
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
        other if other.is_deadlock() => Cause::Deadlock { spid: spid.0 },
        other if matches!(other.cause(), extentdb_engine::Cause::Lock) => Cause::LockTimeout,
        other => Cause::Engine { text: other.to_string() },
    }
}
