//! The backup stream: what `BACKUP` writes into a `.bak` file.
//!
//! A backup is a tape in a file: Microsoft Tape Format blocks, each followed by its streams. SQL
//! Server adds four block types of its own (MSCI, MSDA, MSTL, MSLS) and the streams inside them.
//!
//! ```text
//! TAPE  + RAID, SPAD                      media header; RAID says which stripe this file is
//! SFMB                                    filemark
//! SSET  + SPAD                            start of a backup set
//! VOLB  + SPAD                            volume
//! MSCI  + MQCI, SPAD                      configuration as known at the start
//! MSDA  + APAD, MQDA…, MQDA(0), SPAD      data pages, in extents of 64 KB, no headers between them
//! MSTL  + APAD, MQTL, SPAD                one per VLF; the log blocks as they lie in the log file
//! MSLS  + MQCI, SPAD                      configuration again, with the final values
//! SFMB
//! ESET  + OTCP, TSMP, SPAD                set map
//! ESET  + SPAD                            end of set
//! SFMB                                    end of media, or the next set follows
//! ```
//!
//! A compressed backup is the same stream cut into records, each expanding on its own: see
//! [`container`] and [`xpress`].
//!
//! Two rules hold for everything here. Parsing does not fail: what is missing reads as zero, a name
//! that points outside is empty, and the [`Fault`]s say what was wrong. Writing goes onto a
//! caller's buffer and fills every byte of the structure, so a round trip over a buffer of rubbish
//! proves that no byte was merely kept.
//!
//! The page `docs/format/backup.md` tells where each fact comes from.

pub mod block;
pub mod checksum;
pub mod config;
pub mod container;
pub mod date;
pub mod extent;
pub mod fault;
pub mod layout;
pub mod media;
pub mod section;
pub mod set;
pub mod set_map;
pub mod stream;
pub mod xpress;

pub use block::{Block, BlockHeader, BlockKind};
pub use config::{BackupKind, Configuration, FileInfo, FilegroupInfo, SetFlags, SetInfo};
pub use date::MtfDate;
pub use fault::{Fault, NoRoom, Tag};
pub use media::{Filemark, Raid, Tape};
pub use section::{DataSection, LogSection, VlfDescription};
pub use set::{EndOfSet, StartOfSet, Volume};
pub use set_map::{SetMap, SetMapEntry, SetMapVolume};
pub use stream::{StreamHeader, StreamKind};
