//! Backups: from the files of a media set to the extents and log blocks of one backup set.
//!
//! ```text
//! ReadAt ─ BlockStream ─ Scan ──┐
//! ReadAt ─ BlockStream ─ Scan ──┼─ BackupMedia ── set N ──→ BackupSet ── extents, pages, log
//! ReadAt ─ BlockStream ─ Scan ──┘   (stripes)
//! ```
//!
//! - `stream`: one file as its stream of blocks. A plain file is that stream; a compressed one is
//!   cut into records, whose headers are walked once, so that each can be expanded alone.
//! - `scan`: walks blocks and streams, passing over pages and log, and notes where those lie.
//! - `media`: the files of one media set: which stripes are there, which sets they hold.
//! - `set`: one set, opened: the `page_map` tells where each extent lies; reading goes through it.
//!
//! Nothing is ever expanded as a whole: memory is 8 bytes per extent for the map, 8 per record of a
//! compressed file, and a few MB of cache.
//!
//! What is wrong but does not stop the work becomes a [`Finding`]; what stops it, an [`Error`].

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
pub use finding::{Finding, Findings, Part, What};
pub use log::carried::{CarriedLog, carried_logs};
pub use log::combined::CombinedLog;
pub use log::{LogPart, LogPosition};
pub use media::BackupMedia;
pub use media::file::MediaFamily;
pub use media::header::{BackupFile, SetHeader};
pub use media::summary::SetSummary;
pub use read_error::{ReadError, Undecoded};
pub use set::{BackupSet, ExtentBytes, SetOptions};
