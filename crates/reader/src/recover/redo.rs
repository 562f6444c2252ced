//! The pages under replay.
//!
//! A page is read from disk at its first record and kept when a record changed it. Of the others
//! only the LSN is kept: records with a lower LSN are already contained.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{AllocUnitId, Lsn, PageId};
use extentdb_format::PageBuf;
use extentdb_format::allocation::boot::{BootRecord, DatabaseStatus};
use extentdb_format::log::payload::page::PagePart;
use extentdb_format::log::replay::{Applied, page_of, redo};
use extentdb_format::log::{Op, RecordRef};
use extentdb_format::page::PageHeader;
use extentdb_format::page::checksum::{seal, seal_torn};
use extentdb_format::page::header::{FLAG_CHECKSUM, FLAG_TORN_BITS};

use super::{RecoverError, RecoverOptions, StoppedPage};
use crate::checked::check;
use crate::source::PageSource;

/// Any of the two signatures of torn-page detection.
const SIGNATURE: u8 = 1;

/// How pages without a mark of their own are protected when they are written.
#[derive(Clone, Copy)]
enum Protect {
    Nothing,
    Checksum,
    TornBits,
}

/// How much of a page on disk counts when a record formats it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FormatPage {
    /// A page that has the record already stays: SQL Server does not log all that follows on a
    /// format (minimally logged operations), so the page on disk may hold more than the log.
    UnlessDone,
    /// It starts over. ExtentDB logs every change and writes a page that it has formatted without a
    /// copy, so the write may be torn in a way that the checksum of the page does not see.
    Always,
}

/// Pages on their way through the log.
pub(super) struct Redo<'s> {
    source: &'s dyn PageSource,
    protect: Protect,
    pages_max: usize,
    bytes_max: u64,
    /// Changed pages, with displaced torn-page bits restored.
    changed: HashMap<PageId, PageBuf>,
    /// LSNs of pages that have not changed.
    unchanged: HashMap<PageId, Lsn>,
    stopped: BTreeMap<PageId, StoppedPage>,
    pub(super) changes: u64,
    /// Allocation units that the records name, as page headers do.
    pub(super) units: BTreeSet<AllocUnitId>,
}

impl<'s> Redo<'s> {
    pub(super) fn new(
        source: &'s dyn PageSource,
        boot: Option<&BootRecord>,
        options: &RecoverOptions,
    ) -> Self {
        let has = |bit| boot.is_some_and(|boot| boot.status.has(bit));
        let protect = if has(DatabaseStatus::CHECKSUM) {
            Protect::Checksum
        } else if has(DatabaseStatus::TORN_PAGE_DETECTION) {
            Protect::TornBits
        } else {
            Protect::Nothing
        };
        Redo {
            source,
            protect,
            pages_max: usize::try_from(options.overlay_bytes / PAGE_BYTES as u64)
                .unwrap_or(usize::MAX),
            bytes_max: options.overlay_bytes,
            changed: HashMap::new(),
            unchanged: HashMap::new(),
            stopped: BTreeMap::new(),
            changes: 0,
            units: BTreeSet::new(),
        }
    }

    /// Replays a record, when it changes a page.
    ///
    /// # Errors
    /// No memory for one more page.
    pub(super) fn apply(
        &mut self,
        lsn: Lsn,
        record: &RecordRef<'_>,
        format: FormatPage,
    ) -> Result<(), RecoverError> {
        let Some(part) = page_of(record) else { return Ok(()) };
        self.units.insert(part.alloc_unit());
        let id = part.page;
        let begins = record.header().op == Op::FORMAT_PAGE;
        let is_formatted_again = begins && format == FormatPage::Always;
        if is_formatted_again {
            // The state of the old page does not apply to the new one.
            self.unchanged.remove(&id);
            self.changed.remove(&id);
        }
        let is_newer = self.unchanged.get(&id).is_some_and(|known| *known >= lsn);
        if is_newer || (self.stopped.contains_key(&id) && !begins) {
            return Ok(());
        }
        if let Some(page) = self.changed.get_mut(&id) {
            let before = PageHeader::of(page).lsn();
            let outcome = redo(lsn, record, page);
            match outcome {
                Ok(applied) => self.succeed(id, applied, begins),
                Err(stop) => self.stop(lsn, record, &part, Some(before), stop.to_string()),
            }
            return Ok(());
        }
        let mut page = PageBuf::zeroed();
        if !is_formatted_again
            && let Err(why) = self.load(id, &mut page)
            && !begins
        {
            self.stop(lsn, record, &part, None, why);
            return Ok(());
        }
        let before = PageHeader::of(&page).lsn();
        match redo(lsn, record, &mut page) {
            Ok(Applied::Changed) => {
                if self.changed.len() >= self.pages_max {
                    return Err(RecoverError::OverlayFull {
                        pages: self.changed.len(),
                        bytes: self.bytes_max,
                    });
                }
                self.unchanged.remove(&id);
                self.changed.insert(id, page);
                self.succeed(id, Applied::Changed, begins);
            }
            Ok(Applied::Already) => {
                self.unchanged.insert(id, before);
            }
            Err(stop) => self.stop(lsn, record, &part, Some(before), stop.to_string()),
        }
        Ok(())
    }

    /// A page as of the end of the log, to be changed further.
    ///
    /// # Errors
    /// The page cannot be read, redo stopped on it, or no memory is left for it.
    pub(super) fn page(&mut self, id: PageId) -> Result<&mut PageBuf, String> {
        if let Some(stopped) = self.stopped.get(&id) {
            return Err(format!("page {id} is not up to date: {}", stopped.why));
        }
        if !self.changed.contains_key(&id) {
            let mut page = PageBuf::zeroed();
            self.load(id, &mut page)?;
            if self.changed.len() >= self.pages_max {
                return Err("no memory for one more page".to_owned());
            }
            self.changed.insert(id, page);
        }
        self.changed.get_mut(&id).ok_or_else(|| "the page is not cached".to_owned())
    }

    /// A page as of the end of the log, if it can be read.
    pub(super) fn look(&self, id: PageId) -> Option<PageBuf> {
        if let Some(page) = self.changed.get(&id) {
            return Some(page.clone());
        }
        let mut page = PageBuf::zeroed();
        self.load(id, &mut page).ok().map(|()| page)
    }

    /// The page as it is on disk. One that cannot be read can still begin a new life, if its place
    /// exists.
    fn load(&self, id: PageId, page: &mut PageBuf) -> Result<(), String> {
        let outcome = self.source.read(id, page).map_err(|error| error.to_string());
        let outcome = outcome.and_then(|()| check(id, page).map_err(|error| error.to_string()));
        if outcome.is_err() {
            page.fill(0);
        }
        outcome
    }

    fn succeed(&mut self, id: PageId, applied: Applied, begins: bool) {
        self.changes += u64::from(applied == Applied::Changed);
        if begins {
            // Whatever was wrong with the page before, this is another one.
            self.stopped.remove(&id);
        }
    }

    fn stop(
        &mut self,
        lsn: Lsn,
        record: &RecordRef<'_>,
        part: &PagePart,
        page_lsn: Option<Lsn>,
        why: String,
    ) {
        let operation = record.header().op;
        let stopped = StoppedPage {
            page: part.page,
            unit: part.alloc_unit(),
            page_lsn,
            lsn,
            operation,
            why,
        };
        self.stopped.insert(part.page, stopped);
    }

    /// The changed pages as they would be written, and those that stopped.
    pub(super) fn finish(self) -> (Vec<(PageId, PageBuf)>, Vec<StoppedPage>) {
        let Redo { protect, changed, stopped, .. } = self;
        let sealed = changed.into_iter().map(|(id, mut page)| {
            let flags = PageHeader::of(&page).flag_bits.get();
            match protect {
                _ if flags & FLAG_CHECKSUM != 0 => seal(&mut page),
                _ if flags & FLAG_TORN_BITS != 0 => seal_torn(&mut page, SIGNATURE),
                Protect::Checksum => seal(&mut page),
                Protect::TornBits => seal_torn(&mut page, SIGNATURE),
                Protect::Nothing => {}
            }
            (id, page)
        });
        (sealed.collect(), stopped.into_values().collect())
    }
}
