//! Counts pages: how many are allocated, of what type, how protected.
//!
//! GAM says which extents are in use, PFS which of their pages. Only those are read, in long runs;
//! what a source knows to be a hole is passed over, so that a sparse file of terabytes takes no
//! longer than what it holds.

use std::collections::BTreeMap;

use extentdb_base::size::{
    EXTENT_BYTES, EXTENTS_PER_GAM, PAGE_BYTES, PAGES_PER_EXTENT, PAGES_PER_GAM,
};
use extentdb_base::{Extent, PageId};
use extentdb_format::allocation::bitmap::{AllocationBitmap, MapKind};
use extentdb_format::allocation::pfs::PfsView;
use extentdb_format::page::checksum::{Protection, restore_torn, verify};
use extentdb_format::page::{PageHeader, PageType};
use extentdb_format::{PageBuf, PageBytes};
use extentdb_reader::{PageSource, SourceFile};
use serde_json::{Map, json};

use super::Facts;
use crate::context::Context;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::progress::Progress;

/// Extents that are read at once: 4 MiB.
const RUN_EXTENTS: u32 = 64;

/// What was counted.
#[derive(Default)]
struct Census {
    by_type: BTreeMap<PageType, u64>,
    allocated: u64,
    total: u64,
    checksum: u64,
    torn: u64,
    unprotected: u64,
    /// The bytes are not those that were written.
    damaged: u64,
    unreadable: u64,
    /// GAM intervals and PFS pages that could not be read.
    unmapped: u64,
}

/// Counts all files of a source.
pub(super) fn add(
    source: &dyn PageSource,
    context: &Context,
    facts: &mut Facts,
) -> anyhow::Result<()> {
    let total: u64 = source.files().iter().map(|file| u64::from(file.pages)).sum();
    let progress = context.progress("count pages", total);
    context.interrupt.stop_gracefully();
    let mut census = Census { total, ..Census::default() };
    for file in source.files() {
        Counter::new(source, file, &context.interrupt, &progress).count(&mut census);
    }
    drop(progress);
    let stopped = context.interrupt.stopped();
    if let Some(exit) = stopped {
        context.warn("interrupted: not all pages were counted");
        facts.end(exit);
    }
    if census.damaged + census.unreadable + census.unmapped > 0 {
        facts.end(Exit::Found);
    }
    let by_type: Map<_, _> =
        census.by_type.iter().map(|(kind, n)| (kind.to_string(), (*n).into())).collect();
    facts.add(
        "pages",
        json!({
            "total": census.total,
            "allocated": census.allocated,
            "complete": stopped.is_none(),
            "unreadable": census.unreadable,
            "unreadable_maps": census.unmapped,
        }),
    );
    facts.add("page_types", by_type.into());
    facts.add(
        "page_protection",
        json!({
            "checksum": census.checksum,
            "torn_page_signature": census.torn,
            "none": census.unprotected,
            "failed": census.damaged,
        }),
    );
    Ok(())
}

/// Walks one file.
struct Counter<'a> {
    source: &'a dyn PageSource,
    file: &'a SourceFile,
    interrupt: &'a Interrupt,
    progress: &'a Progress,
    pfs: PageBuf,
    /// The PFS page that is loaded; `None` in the place of one that cannot be read.
    pfs_at: Option<(PageId, bool)>,
    run: Vec<u8>,
}

impl<'a> Counter<'a> {
    fn new(
        source: &'a dyn PageSource,
        file: &'a SourceFile,
        interrupt: &'a Interrupt,
        progress: &'a Progress,
    ) -> Self {
        let run = vec![0; RUN_EXTENTS as usize * EXTENT_BYTES];
        Counter {
            source,
            file,
            interrupt,
            progress,
            pfs: PageBuf::zeroed(),
            pfs_at: None,
            run,
        }
    }

    fn count(&mut self, census: &mut Census) {
        let mut first = 0;
        while first < self.file.pages && self.interrupt.stopped().is_none() {
            self.interval(first, census);
            let pages = (self.file.pages - first).min(PAGES_PER_GAM);
            self.progress.add(u64::from(pages), 0);
            match first.checked_add(PAGES_PER_GAM) {
                Some(next) => first = next,
                None => break,
            }
        }
    }

    /// The extents of one GAM page.
    fn interval(&mut self, first: u32, census: &mut Census) {
        let id = MapKind::Gam.page_of(PageId { file: self.file.id, page: first });
        if !self.source.is_stored(id.extent()) {
            return;
        }
        let mut gam = PageBuf::zeroed();
        let is_read = self.source.read(id, &mut gam).is_ok() && {
            restore_torn(&mut gam);
            PageHeader::of(&gam).kind() == PageType::Gam
        };
        census.unmapped += u64::from(!is_read);
        let extents = (self.file.pages - first).div_ceil(PAGES_PER_EXTENT).min(EXTENTS_PER_GAM);
        let mut at = 0;
        while at < extents && self.interrupt.stopped().is_none() {
            let is_used = |n: u32| !is_read || !AllocationBitmap::of(&gam).get(n);
            let stored = |n: u32| {
                self.source
                    .is_stored(Extent { file: self.file.id, index: first / PAGES_PER_EXTENT + n })
            };
            if !is_used(at) || !stored(at) {
                at += 1;
                continue;
            }
            let len = (at..extents.min(at + RUN_EXTENTS))
                .take_while(|n| is_used(*n) && stored(*n))
                .count() as u32;
            self.extents(first + at * PAGES_PER_EXTENT, len.max(1) * PAGES_PER_EXTENT, census);
            at += len.max(1);
        }
    }

    /// A run of pages that lie in extents in use.
    fn extents(&mut self, first: u32, pages: u32, census: &mut Census) {
        let pages = pages.min(self.file.pages - first);
        let id = PageId { file: self.file.id, page: first };
        let mut run = std::mem::take(&mut self.run);
        let bytes = pages as usize * PAGE_BYTES;
        let whole = run.get_mut(..bytes).is_some_and(|buf| self.source.read_run(id, buf).is_ok());
        for (n, page) in (0..pages).zip(run.as_chunks_mut::<PAGE_BYTES>().0) {
            let id = PageId { page: first + n, ..id };
            if !self.is_allocated(id, census) {
                continue;
            }
            census.allocated += 1;
            if whole || self.source.read(id, page).is_ok() {
                census.add(page);
            } else {
                census.unreadable += 1;
            }
        }
        self.run = run;
        self.progress.add(0, bytes as u64);
    }

    /// What PFS says; without PFS every page of an extent in use counts.
    fn is_allocated(&mut self, id: PageId, census: &mut Census) -> bool {
        let at = id.pfs_page();
        if self.pfs_at.is_none_or(|(loaded, _)| loaded != at) {
            let is_read = self.source.read(at, &mut self.pfs).is_ok() && {
                restore_torn(&mut self.pfs);
                PageHeader::of(&self.pfs).kind() == PageType::Pfs
            };
            census.unmapped += u64::from(!is_read);
            self.pfs_at = Some((at, is_read));
        }
        let is_read = self.pfs_at.is_some_and(|(_, is_read)| is_read);
        !is_read || PfsView::new(&self.pfs).entry(id.page).is_allocated()
    }
}

impl Census {
    fn add(&mut self, page: &PageBytes) {
        let protection = verify(page);
        self.damaged += u64::from(!protection.is_intact());
        match protection {
            Protection::Checksum { .. } => self.checksum += 1,
            Protection::Torn { .. } => self.torn += 1,
            Protection::None => self.unprotected += 1,
        }
        *self.by_type.entry(PageHeader::of(page).kind()).or_default() += 1;
    }
}
