//! Reading a page from its file, and finding out whether it is the page.
//!
//! A read that fails, or returns a damaged page, is repeated four times: some devices succeed at
//! the second attempt. Success after failure is reported as an event (825), because such a device
//! will fail for good soon.

use std::time::Duration;

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{FileId, PageId};
use extentdb_format::page::checksum::{self, Protection};
use extentdb_format::page::header::HEADER_VERSION;
use extentdb_format::page::{PageBytes, PageHeader};
use extentdb_telemetry::Event;

use crate::file::PoolFile;
use crate::guard::Fixed;
use crate::pool::{Pool, PoolCore};
use crate::stats::count;
use crate::{Error, PageFault};

/// Repetitions of a failed read.
const RETRIES: u32 = 4;
/// From here on an I/O is reported (833).
const LONG_IO: Duration = Duration::from_secs(15);

impl Pool {
    /// Fills a frame held in EX with its page. When that fails the frame stays in the table without
    /// bytes, for the next one to try.
    pub(crate) fn load(&self, mut fixed: Fixed, page: PageId) -> Result<Fixed, Error> {
        let outcome = self
            .core
            .refuse_beyond_end(page)
            .and_then(|file| self.core.read_page(&file, page, fixed.bytes_mut()));
        match outcome {
            Ok(()) => {
                fixed.frame().set_present(PageHeader::of(fixed.bytes()).lsn());
                self.core.shared.suspects.clear(page);
                Ok(fixed)
            }
            Err(error) => {
                fixed.frame().set_absent();
                self.core.note_suspect(&error);
                Err(error)
            }
        }
    }
}

impl PoolCore {
    /// Keeps the page of an error in the list of suspects.
    fn note_suspect(&self, error: &Error) {
        if let Error::BadPage { page, fault } = error
            && !matches!(fault, PageFault::BeyondEnd { .. })
            && self.shared.suspects.note(*page, *fault)
        {
            self.shared.events.event(&Event::SuspectPage { page: *page, fault: fault.to_string() });
        }
    }

    fn read_page(&self, file: &PoolFile, page: PageId, bytes: &mut PageBytes) -> Result<(), Error> {
        let mut failures = 0;
        loop {
            let outcome =
                self.read_run(file, page.page, &mut bytes[..]).and_then(|()| accept(page, bytes));
            match outcome {
                Ok(()) if failures == 0 => return Ok(()),
                Ok(()) => {
                    self.shared.events.event(&Event::ReadRetry { page, failures });
                    return Ok(());
                }
                Err(error) if failures == RETRIES => return Err(error),
                Err(_) => {
                    failures += 1;
                    count(&self.counters.read_retries, 1);
                }
            }
        }
    }

    /// Reads whole pages from `first` on into `bytes`, unverified.
    pub(crate) fn read_run(
        &self,
        file: &PoolFile,
        first: u32,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        let offset = u64::from(first) * PAGE_BYTES as u64;
        let begun = self.shared.accounts.clock.monotonic();
        let outcome = file.disk.read_exact_at(offset, bytes);
        self.note_io(file.id, offset, begun);
        count(&self.counters.page_reads, (bytes.len() / PAGE_BYTES) as u64);
        outcome.map_err(|source| Error::Disk { file: file.id, source })
    }

    /// Tells of an I/O that began at `begun` and took too long.
    pub(crate) fn note_io(&self, file: FileId, offset: u64, begun: Duration) {
        let duration = self.shared.accounts.clock.monotonic().saturating_sub(begun);
        if duration >= LONG_IO {
            self.shared.events.event(&Event::LongIo { file, offset, duration });
        }
    }
}

/// Checks what was read for `page`, and restores what torn-page protection displaced.
pub(crate) fn accept(page: PageId, bytes: &mut PageBytes) -> Result<(), Error> {
    if let Some(fault) = fault_of(page, bytes) {
        return Err(Error::BadPage { page, fault });
    }
    checksum::restore_torn(bytes);
    Ok(())
}

/// Zeros are distinguished from other damage: the page may never have been written.
pub(crate) fn fault_of(page: PageId, bytes: &PageBytes) -> Option<PageFault> {
    let header = PageHeader::of(bytes);
    if header.header_version != HEADER_VERSION {
        let zeroed = bytes.iter().all(|byte| *byte == 0);
        let found = header.header_version;
        return Some(if zeroed { PageFault::Zeroed } else { PageFault::HeaderVersion { found } });
    }
    match checksum::verify(bytes) {
        Protection::Checksum { stored, computed } if stored != computed => {
            return Some(PageFault::Checksum { stored, computed });
        }
        Protection::Torn { torn_sectors, .. } if torn_sectors != 0 => {
            return Some(PageFault::Torn { sectors: torn_sectors });
        }
        _ => {}
    }
    (header.page_id() != page).then(|| PageFault::WrongPage { found: header.page_id() })
}
