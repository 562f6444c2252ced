//! Where a chain of backups ends.

use extentdb_base::Lsn;
use extentdb_format::log::LogTime;

/// Where a chain is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopAt {
    /// Transactions that committed later are rolled back; local time of the server.
    Time(LogTime),
    /// The last record that counts.
    Lsn(Lsn),
}

impl std::fmt::Display for StopAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StopAt::Time(time) => write!(f, "{time}"),
            StopAt::Lsn(lsn) => write!(f, "LSN {lsn}"),
        }
    }
}
