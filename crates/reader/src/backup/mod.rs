//! Backups: from the files of a media set to the extents and log blocks of one backup set.
//!
//! ```text
//! ReadAt ─ BlockStream ─ Scan ──┐
//! ReadAt ─ BlockStream ─ Scan ──┼─ BackupMedia ── set N ──→ BackupSet ── extents, pages, log
//! ReadAt ─ BlockStream ─ Scan ──┘   (stripes)
//! ```
//!
//! - `stream`: one file as its stream of blocks. A plain file is that stream; a compressed one is
//!   divided into records, whose headers are read once, so that each can be expanded alone.
//! - `media`: the files of one media set; `scan` reads the blocks and streams of each and records
//!   the offsets of pages and log.
//! - `set`: one opened set: `page_map` maps each extent to its offset.
//! - `log`: the log that one set carries, or several in sequence.
//! - `chain`: the sets that form a database.
//!
//! No file is ever expanded as a whole: memory is 8 bytes per extent for the map, 8 per record of a
//! compressed file, and a few MB of cache.
//!
//! Damage that can be passed over becomes a [`Finding`]; other damage is an [`Error`].

pub(crate) mod chain;
mod error;
mod finding;
mod log;
mod media;
mod read_error;
mod set;
mod stream;

#[cfg(test)]
mod tests;

pub use chain::LeftOut;
pub use chain::stop::StopAt;
pub use error::{Error, SetName};
pub use finding::{Finding, FindingKind, Findings, SetPart};
pub use log::carried::{CarriedLog, carried_logs};
pub use log::combined::CombinedLog;
pub use log::{LogPart, LogPosition};
pub use media::BackupMedia;
pub use media::file::MediaFamily;
pub use media::header::{BackupFile, SetHeader};
pub use media::summary::SetSummary;
pub use read_error::{ReadError, Undecoded};
pub use set::{BackupSet, ExtentBytes, SetOptions};
