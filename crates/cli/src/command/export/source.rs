//! The pages of a database, counted for the progress line, and withheld once the user wants to
//! stop.

use extentdb_base::{Extent, PageId};
use extentdb_reader::{PageSource, ReadError, SourceFile};

use crate::interrupt::Interrupt;
use crate::progress::Progress;

/// A page source between the files and a scan.
pub(super) struct WatchedSource<'a> {
    pages: &'a dyn PageSource,
    interrupt: &'a Interrupt,
    progress: &'a Progress,
}

impl<'a> WatchedSource<'a> {
    pub(super) fn new(
        pages: &'a dyn PageSource,
        interrupt: &'a Interrupt,
        progress: &'a Progress,
    ) -> Self {
        WatchedSource { pages, interrupt, progress }
    }
}

impl PageSource for WatchedSource<'_> {
    fn files(&self) -> &[SourceFile] {
        self.pages.files()
    }

    fn read_run(&self, first: PageId, buf: &mut [u8]) -> Result<(), ReadError> {
        // A scan may walk many pages without a row; this is where it hears of the interrupt. The
        // error is never shown: the caller looks at the interrupt first.
        if self.interrupt.stopped().is_some() {
            return Err(ReadError::NotStored { page: first });
        }
        self.progress.add(0, buf.len() as u64);
        self.pages.read_run(first, buf)
    }

    fn is_stored(&self, extent: Extent) -> bool {
        self.pages.is_stored(extent)
    }
}
