//! State of a database of a server: why it is not in service.

use std::fmt;

use extentdb_base::OfflineCause;

/// State of a database, `state_desc` of `sys.databases`.
#[derive(Clone, Debug)]
pub enum DatabaseState {
    /// In service.
    Online,
    /// Taken offline by its owner.
    Offline,
    /// On its way in or out of service.
    Transition,
    /// It could not be opened: files are missing or cannot be read.
    RecoveryPending(OfflineCause),
    /// Its recovery failed, or it went offline after an error.
    Suspect(OfflineCause),
}

impl fmt::Display for DatabaseState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseState::Online => f.write_str("ONLINE"),
            DatabaseState::Offline => f.write_str("OFFLINE"),
            DatabaseState::Transition => f.write_str("in transition"),
            DatabaseState::RecoveryPending(cause) => write!(f, "RECOVERY_PENDING: {cause}"),
            DatabaseState::Suspect(cause) => write!(f, "SUSPECT: {cause}"),
        }
    }
}
