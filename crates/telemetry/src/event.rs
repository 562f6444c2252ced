//! Events: what the storage engine did, as facts with fields.
//!
//! A sink is called on the thread that did it, often with latches held: it must be quick and must
//! not call back.

use std::fmt;
use std::time::Duration;

use extentdb_base::sync::{Mutex, lock};
use extentdb_base::{FileId, Lsn, OwnerId, PageId, XactId};

/// Receiver of events; called from any thread.
pub trait EventSink: Send + Sync + fmt::Debug {
    /// Called once per event, when it has happened; must not wait.
    fn event(&self, event: &Event);
}

/// An event, with the name that SQL Server's extended events give it.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// Skip targets of a filegroup were computed again; the lines that trace flag 1165 prints.
    ProportionalFill {
        /// Ready for the error log, in order.
        lines: Vec<String>,
    },
    /// One flush of the system's and the device's caches: `flush_file_buffers`.
    FlushFileBuffers {
        /// Id of the file; 2 for the log.
        file: FileId,
        /// Time inside the call.
        duration: Duration,
    },
    /// A group of writes became durable: `make_writes_durable`.
    MakeWritesDurable {
        /// Id of the file; 2 for the log.
        file: FileId,
        /// Writes of the group.
        writes: u64,
        /// Time of making it durable.
        duration: Duration,
    },
    /// A write that was durable when it returned: `fua_write`.
    FuaWrite {
        /// Id of the file; 2 for the log.
        file: FileId,
        /// Length of the write in bytes.
        bytes: u64,
        /// Time inside the call.
        duration: Duration,
    },
    /// `checkpoint_begin`: its first record is in the log, no page is written yet.
    CheckpointBegin {
        /// Its log record.
        lsn: Lsn,
    },
    /// `checkpoint_end`: all pages are written, and the boot page names it.
    CheckpointEnd {
        /// The log record of its beginning.
        lsn: Lsn,
        /// Number of pages written.
        pages: u64,
        /// Writes they took.
        writes: u64,
        /// From beginning to end.
        duration: Duration,
    },
    /// A file became longer.
    FileGrowth {
        /// Id of the file; 2 for the log.
        file: FileId,
        /// Growth in pages.
        pages: u32,
        /// Time it took.
        duration: Duration,
    },
    /// A page of an index was split in two.
    PageSplit {
        /// The page that was full.
        page: PageId,
        /// The page that took half of it.
        new_page: PageId,
    },
    /// A read succeeded only after repetition (message 825).
    ReadRetry {
        /// Page that was read.
        page: PageId,
        /// Reads that failed before.
        failures: u32,
    },
    /// A read or write took fifteen seconds or more (message 833).
    LongIo {
        /// Id of the file; 2 for the log.
        file: FileId,
        /// First byte of the transfer.
        offset: u64,
        /// Time inside the call.
        duration: Duration,
    },
    /// A database that was closed cleanly has an unusable log, and gets a new one.
    LogReplaced {
        /// Where the old file is now.
        kept_as: std::path::PathBuf,
        /// Why it could not be used.
        why: String,
    },
    /// A damaged log of a crashed database is cut in an emergency: reported before anything is
    /// changed.
    LogCut {
        /// Where the log ends from now on: this record and all after it are lost.
        from: Lsn,
        /// How far the log is known to have been durable; none when nothing says that anything
        /// durable is lost.
        proven_to: Option<Lsn>,
        /// Offset of the damage in the log file; none when the log is whole, and pages are newer
        /// than it.
        offset: Option<u64>,
    },
    /// A page cannot be read (824): reported at its first read.
    SuspectPage {
        /// Page that was read.
        page: PageId,
        /// What is wrong with it.
        fault: String,
    },
    /// The disk has no room for copies of pages, and pages are written without until it has: a
    /// crash meanwhile may lose them (824). Told at the first of such writes, and at the first
    /// after others.
    PagesUnprotected,
    /// Pages torn by a crash were replaced by their copies in the double-write area.
    TornPagesRepaired {
        /// The pages, in order.
        pages: Vec<PageId>,
    },
    /// The database went offline: nothing more is written to it. Reported once.
    Offline {
        /// The data file that refused; none when it was the log, or no file.
        file: Option<FileId>,
        /// The first failure, with all reasons below it.
        cause: String,
    },
    /// A deadlock was found and its victim chosen: `xml_deadlock_report`.
    Deadlock {
        /// Owner that has to roll back, unique in the instance.
        owner: OwnerId,
        /// Its transaction in the database where it waited.
        victim: XactId,
        /// What trace flag 1204 writes to the error log, line by line.
        graph: Vec<String>,
        /// What trace flag 1222 writes.
        list: Vec<String>,
    },
    /// A phase of recovery ended.
    Recovery {
        /// Phase that has ended.
        phase: RecoveryPhase,
        /// Log records read.
        records: u64,
        /// Time it took.
        duration: Duration,
    },
}

/// The three passes of recovery.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecoveryPhase {
    /// Which transactions were open, which pages may be stale.
    Analysis,
    /// Changes that did not reach their pages are applied again.
    Redo,
    /// Open transactions are rolled back.
    Undo,
}

/// A receiver that drops all events.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn event(&self, _: &Event) {}
}

/// Keeps everything, for tests.
#[derive(Default, Debug)]
pub struct Recorder(Mutex<Vec<Event>>);

impl Recorder {
    /// The events since the last call, oldest first.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *lock(&self.0))
    }
}

impl EventSink for Recorder {
    fn event(&self, event: &Event) {
        lock(&self.0).push(event.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorder_gives_events_once_and_in_order() {
        let recorder = Recorder::default();
        let first = Event::FileGrowth { file: FileId(1), pages: 8, duration: Duration::ZERO };
        let second = Event::PageSplit { page: PageId::new(1, 8), new_page: PageId::new(1, 9) };
        for event in [&first, &second] {
            recorder.event(event);
            NoEvents.event(event);
        }
        assert_eq!(recorder.take(), [first, second]);
        assert_eq!(recorder.take(), []);
    }
}
