//! The pass over all allocated pages, in file order, by any number of threads.
//!
//! ```text
//! plan: PFS bytes, owner map -> chunks of whole extents      a chunk is 4 MiB of allocated extents
//!                                                            and short gaps
//! io::ChunkReader            -> pieces of a chunk            read by the worker itself, or ahead
//!                                                            of it past the cache
//! worker: for each extent, its eight PFS bytes and its owner nothing allocated: skipped
//!         for each allocated page: audit                     -> the worker's own Partial
//! ```
//!
//! Workers share the plan, which is immutable, and the place in the plan where the next chunk
//! begins. Everything else is their own.
//!
//! PFS decides what is read. Where its page cannot be used, pages that their unit owns and that
//! look like its own are checked, and the others are counted as unknown.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use extentdb_base::size::{EXTENT_BYTES, PAGE_BYTES, PAGES_PER_EXTENT};
use extentdb_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use extentdb_base::{Extent, FileId, PageId};
use extentdb_format::PageBytes;
use extentdb_format::allocation::bitmap::{MapKind, fixed_page_type};
use extentdb_format::allocation::pfs::PfsByte;
use extentdb_format::page::PageHeader;
use extentdb_format::page::checksum::verify;
use extentdb_io::{
    Chunk, ChunkPiece, ChunkPieces, ChunkReader, Error as IoError, FileOp, ReadAt, ReadMode,
};
use extentdb_reader::{PageSource, ReadError, SourceFile};

use crate::audit::{Auditor, Subject};
use crate::collector::Collector;
use crate::finding::{Finding, Location, page_arg};
use crate::options::{Control, Options, PageRange};
use crate::page_set::Overlap;
use crate::partial::{Partial, whole_extents};
use crate::plan::ownership::holds_fixed_pages;
use crate::plan::{ExtentOwner, FileMaps, PageOwner, Plan, leaves_out};
use crate::unit::UnitIndex;

pub(crate) mod part;

/// Gaps that are read along rather than skipped.
const GAP_BYTES: u64 = 2 * EXTENT_BYTES as u64;

/// What is going to be read.
pub(crate) struct ScanPlan {
    chunks: Vec<Chunk>,
    /// Pages that must be checked.
    pub(crate) pages_planned: u64,
    /// Allocated pages that an option leaves out.
    pub(crate) pages_skipped: u64,
    /// Allocated pages outside of the table or filegroup that the run is limited to.
    pub(crate) pages_outside: u64,
}

/// Counters that show how far the scan is.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) pages: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) findings: AtomicU64,
}

/// How an extent is read.
enum ExtentRead {
    /// Some pages are allocated; an option may leave out some of them.
    Allocated {
        wanted: u32,
        skipped: u32,
        outside: u32,
    },
    /// PFS is unknown, but the extent has an owner.
    Unknown,
    Nothing,
}

/// Which units are examined.
#[derive(Clone, Copy)]
pub(crate) enum UnitChoice<'c> {
    /// All but those that an option leaves out.
    Planned,
    Only(&'c BTreeSet<UnitIndex>),
}

impl UnitChoice<'_> {
    /// A page that is not checked. Pages without an owner are part of the plan only.
    #[inline]
    fn leaves_out(self, plan: &Plan, id: PageId) -> bool {
        match self {
            UnitChoice::Planned if plan.chosen.is_limited() && leaves_out(plan, id) => true,
            UnitChoice::Planned if !plan.units.has_skipped() => false,
            UnitChoice::Planned => {
                let unit = plan.owner_of(id).and_then(|unit| plan.units.get(unit));
                unit.is_some_and(|unit| unit.is_skipped && !unit.is_outside)
            }
            UnitChoice::Only(units) => plan.owner_of(id).is_none_or(|unit| !units.contains(&unit)),
        }
    }
}

/// The part of a database that is scanned.
#[derive(Clone, Default, Debug)]
pub(crate) struct Window {
    /// Only these pages; none given = all.
    within: Vec<PageRange>,
    /// Not these any more: file, first page, first page after, in order.
    done: Vec<(FileId, u32, u32)>,
}

impl Window {
    pub(crate) fn new(within: &[PageRange], done: Vec<(FileId, u32, u32)>) -> Window {
        Window { within: within.to_vec(), done }
    }

    fn is_all(&self) -> bool {
        self.within.is_empty() && self.done.is_empty()
    }

    /// An extent belongs to the window that its first page is in.
    fn holds(&self, extent: Extent) -> bool {
        let first = extent.first_page();
        let is_own =
            |range: &PageRange| range.file == first.file && range.pages.contains(&first.page);
        let behind =
            self.done.partition_point(|(file, _, end)| (*file, *end) <= (first.file, first.page));
        let is_done = self
            .done
            .get(behind)
            .is_some_and(|(file, start, _)| *file == first.file && *start <= first.page);
        (self.within.is_empty() || self.within.iter().any(is_own)) && !is_done
    }
}

impl ScanPlan {
    pub(crate) fn new(
        plan: &Plan,
        options: &Options,
        choice: UnitChoice<'_>,
        window: &Window,
    ) -> ScanPlan {
        let mut pages_planned = 0;
        let mut pages_skipped = 0;
        let mut pages_outside = 0;
        let mut ranges: Vec<Vec<Range<u64>>> = Vec::with_capacity(plan.maps.len());
        for maps in &plan.maps {
            let mut of_file: Vec<Range<u64>> = Vec::new();
            for (first, end) in maps.described_ranges() {
                for index in first / PAGES_PER_EXTENT..end.div_ceil(PAGES_PER_EXTENT) {
                    let extent = Extent { file: maps.file, index };
                    match interest(plan, maps, extent, choice) {
                        ExtentRead::Nothing => {}
                        ExtentRead::Allocated { wanted, skipped, outside } => {
                            pages_planned += u64::from(wanted);
                            pages_skipped += u64::from(skipped);
                            pages_outside += u64::from(outside);
                            if wanted > 0 && window.holds(extent) {
                                add_extent(&mut of_file, maps, index);
                            }
                        }
                        ExtentRead::Unknown if window.holds(extent) => {
                            add_extent(&mut of_file, maps, index)
                        }
                        ExtentRead::Unknown => {}
                    }
                }
            }
            ranges.push(of_file);
        }
        let chunk_bytes = u64::from(whole_extents(options.chunk_pages)) * PAGE_BYTES as u64;
        // A gap of a part may be what another part covers.
        let gap = if window.is_all() { GAP_BYTES } else { 0 };
        let chunks = extentdb_io::plan(&ranges, gap, chunk_bytes);
        ScanPlan { chunks, pages_planned, pages_skipped, pages_outside }
    }
}

fn add_extent(ranges: &mut Vec<Range<u64>>, maps: &FileMaps, index: u32) {
    let start = u64::from(index) * EXTENT_BYTES as u64;
    let end = (start + EXTENT_BYTES as u64).min(u64::from(maps.pages) * PAGE_BYTES as u64);
    match ranges.last_mut() {
        Some(last) if last.end == start => last.end = end,
        _ => ranges.push(start..end),
    }
}

fn interest(plan: &Plan, maps: &FileMaps, extent: Extent, choice: UnitChoice<'_>) -> ExtentRead {
    let Some(states) = maps.states(extent.index) else {
        return match plan.owners.extent(extent) {
            ExtentOwner::Nobody => ExtentRead::Nothing,
            ExtentOwner::Singles | ExtentOwner::Unit(_) => ExtentRead::Unknown,
        };
    };
    let pages = extent.pages().zip(states).take_while(|(id, _)| id.page < maps.pages);
    let allocated = pages.filter(|(_, state)| PfsByte(*state).is_allocated());
    let mut wanted = 0;
    let mut skipped = 0;
    let mut outside = 0;
    for (id, _) in allocated {
        let count = if !choice.leaves_out(plan, id) {
            &mut wanted
        } else if leaves_out(plan, id) {
            &mut outside
        } else {
            &mut skipped
        };
        *count += 1;
    }
    match wanted + skipped + outside {
        0 => ExtentRead::Nothing,
        _ => ExtentRead::Allocated { wanted, skipped, outside },
    }
}

/// What workers share, immutable.
#[derive(Clone, Copy)]
pub(crate) struct Scan<'s> {
    pub(crate) source: &'s dyn PageSource,
    pub(crate) plan: &'s Plan,
    pub(crate) options: &'s Options,
    pub(crate) counters: &'s Counters,
    choice: UnitChoice<'s>,
}

impl<'s> Scan<'s> {
    /// A scan of everything that is planned.
    pub(crate) fn new(
        source: &'s dyn PageSource,
        plan: &'s Plan,
        options: &'s Options,
        counters: &'s Counters,
    ) -> Scan<'s> {
        Scan { source, plan, options, counters, choice: UnitChoice::Planned }
    }

    /// The same, of some units only.
    pub(crate) fn only(self, units: &'s BTreeSet<UnitIndex>) -> Scan<'s> {
        Scan { choice: UnitChoice::Only(units), ..self }
    }

    /// What it will read of a part of the database.
    pub(crate) fn plan_within(&self, window: &Window) -> ScanPlan {
        ScanPlan::new(self.plan, self.options, self.choice, window)
    }

    /// What it will read.
    pub(crate) fn plan(&self) -> ScanPlan {
        ScanPlan::new(self.plan, self.options, self.choice, &Window::default())
    }

    /// Reads and audits everything planned; the sum of all partials, and what each worker made of
    /// sound pages.
    ///
    /// # Errors
    /// A page was scanned twice: a mistake of this program.
    pub(crate) fn run<F: Collector>(
        &self,
        scan_plan: &ScanPlan,
        jobs: usize,
        control: &Control<'_>,
        stop: &AtomicBool,
        collector: impl Fn() -> F + Sync,
    ) -> Result<(Partial, Vec<F>), Overlap> {
        let adapters = self.adapters();
        let sources: Vec<&dyn ReadAt> = adapters.iter().map(FileOfSource::best).collect();
        let mode = self.mode(&sources);
        let mut reader = ChunkReader::new(&sources, &scan_plan.chunks, mode, stop);
        if let Some(rate) = self.options.max_rate {
            reader = reader.with_max_rate(rate, control.clock);
        }
        let outcomes = reader.run(jobs, |pieces| self.work(pieces, collector()));
        let mut sum = Partial::new(self.plan.units.len(), self.options.max_errors, self.plan.key);
        let mut collectors = Vec::with_capacity(outcomes.len());
        for outcome in outcomes {
            let (partial, collector) = outcome?;
            sum.merge(partial)?;
            collectors.push(collector);
        }
        Ok((sum, collectors))
    }

    fn adapters(&self) -> Vec<FileOfSource<'s>> {
        let files = self.source.files().iter();
        files.map(|file| FileOfSource { source: self.source, file }).collect()
    }

    fn mode(&self, sources: &[&dyn ReadAt]) -> ReadMode {
        match self.options.io.resolve(sources) {
            ReadMode::Buffered { .. } => ReadMode::Buffered { piece_bytes: 4 * EXTENT_BYTES },
            direct => direct,
        }
    }

    /// Bytes of the buffers of `jobs` workers.
    pub(crate) fn buffer_bytes(&self, jobs: usize) -> u64 {
        let adapters = self.adapters();
        let sources: Vec<&dyn ReadAt> = adapters.iter().map(FileOfSource::best).collect();
        self.mode(&sources).buffer_bytes(jobs)
    }

    /// What one worker does.
    fn work<F: Collector>(
        &self,
        pieces: &mut ChunkPieces<'_>,
        collector: F,
    ) -> Result<(Partial, F), Overlap> {
        let mut worker = Worker {
            scan: self,
            auditor: Auditor::new(self.plan, self.options, collector),
        };
        while let Some(piece) = pieces.next() {
            worker.piece(&piece)?;
        }
        let Auditor { collector, partial, .. } = &mut worker.auditor;
        collector.finish(partial);
        Ok((worker.auditor.partial, worker.auditor.collector))
    }
}

/// Looks at single pages, each as the scan would.
pub(crate) struct PageVisitor<'w, F> {
    worker: Worker<'w, F>,
}

impl<'w, F: Collector> PageVisitor<'w, F> {
    /// With a collector for what is sound.
    pub(crate) fn new(scan: &'w Scan<'w>, collector: F) -> PageVisitor<'w, F> {
        PageVisitor {
            worker: Worker {
                scan,
                auditor: Auditor::new(scan.plan, scan.options, collector),
            },
        }
    }

    /// Shows a page to the collector, when it is allocated, has an owner and is sound.
    pub(crate) fn page(&mut self, id: PageId) -> &mut F {
        let Scan { plan, choice, .. } = *self.worker.scan;
        let maps = plan.maps_of(id.file).filter(|maps| id.page < maps.pages);
        let state = maps.map(|maps| maps.state(id.page));
        let is_planned = state.is_some_and(|state| state.is_none_or(PfsByte::is_allocated));
        if is_planned && !choice.leaves_out(plan, id) {
            self.worker.page_alone(id, plan.owners.extent(id.extent()), state.flatten());
        }
        &mut self.worker.auditor.collector
    }

    #[cfg(test)]
    pub(crate) fn finish(self) -> Partial {
        let Auditor { mut collector, mut partial, .. } = self.worker.auditor;
        collector.finish(&mut partial);
        partial
    }
}

struct Worker<'w, F> {
    scan: &'w Scan<'w>,
    auditor: Auditor<'w, F>,
}

impl<F: Collector> Worker<'_, F> {
    fn piece(&mut self, piece: &ChunkPiece<'_>) -> Result<(), Overlap> {
        let Some(maps) = self.scan.plan.maps.get(piece.file) else { return Ok(()) };
        let first = (piece.offset / PAGE_BYTES as u64) as u32;
        let pages = (piece.bytes / PAGE_BYTES) as u32;
        let data = piece.data.as_deref().unwrap_or_default();
        let checked = self.auditor.partial.scan.pages_checked;
        let found = self.auditor.partial.findings.count();
        for index in first / PAGES_PER_EXTENT..(first + pages).div_ceil(PAGES_PER_EXTENT) {
            let at = (index as usize * PAGES_PER_EXTENT as usize).saturating_sub(first as usize)
                * PAGE_BYTES;
            self.extent(maps, index, data.get(at..).unwrap_or_default());
        }
        let partial = &mut self.auditor.partial;
        partial.scan.bytes += data.len() as u64;
        partial.scan.covered.add(maps.file, first, first + pages)?;
        let counters = self.scan.counters;
        counters.pages.fetch_add(partial.scan.pages_checked - checked, Ordering::Relaxed);
        counters.bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
        counters.findings.fetch_add(partial.findings.count() - found, Ordering::Relaxed);
        Ok(())
    }

    /// The pages of an extent; `data` begins with the first of them and may hold fewer than eight.
    fn extent(&mut self, maps: &FileMaps, index: u32, data: &[u8]) {
        let plan = self.scan.plan;
        let extent = Extent { file: maps.file, index };
        let states = maps.states(index);
        if states.is_some_and(|states| states.iter().all(|state| !PfsByte(*state).is_allocated())) {
            return;
        }
        let owner = plan.owners.extent(extent);
        let choice = self.scan.choice;
        // Pages in memory replace those of a file that is read directly.
        let source = self.scan.source;
        let has_overlay = source.has_overlay(extent);
        let (bytes, _) = data.as_chunks::<PAGE_BYTES>();
        for (i, id) in extent.pages().enumerate().take_while(|(_, id)| id.page < maps.pages) {
            let state = states.and_then(|states| states.get(i).copied()).map(PfsByte);
            if state.is_some_and(|state| !state.is_allocated()) || choice.leaves_out(plan, id) {
                continue;
            }
            let overlaid = if has_overlay { source.overlaid_page(id) } else { None };
            match overlaid.or_else(|| bytes.get(i)) {
                Some(page) => self.page(id, owner, state, Ok(page)),
                None => self.page_alone(id, owner, state),
            }
        }
    }

    /// A page that did not come with its piece is asked for by itself: its neighbours may be what
    /// cannot be read.
    #[cold]
    fn page_alone(&mut self, id: PageId, owner: ExtentOwner, state: Option<PfsByte>) {
        let mut page = Box::new([0; PAGE_BYTES]);
        match self.scan.source.read(id, &mut page) {
            Ok(()) => self.page(id, owner, state, Ok(&page)),
            Err(error) => self.page(id, owner, state, Err(error)),
        }
    }

    #[inline]
    fn page(
        &mut self,
        id: PageId,
        owner: ExtentOwner,
        state: Option<PfsByte>,
        page: Result<&PageBytes, ReadError>,
    ) {
        let subject = match owner {
            ExtentOwner::Unit(unit)
                if !self.scan.plan.owners.is_contested()
                    && !holds_fixed_pages(id.page / PAGES_PER_EXTENT) =>
            {
                self.compare_state(id, state, ExpectedPfs { is_mixed: Some(false), is_iam: false });
                Subject::Owned(unit)
            }
            _ => match self.subject(id, owner, state, page.as_ref().ok().copied()) {
                Some(subject) => subject,
                None => {
                    self.auditor.partial.scan.pages_checked += u64::from(state.is_some());
                    return;
                }
            },
        };
        if self.scan.plan.bad.contains_key(&id) {
            // Reported when the plan was made.
            self.auditor.partial.scan.pages_checked += u64::from(state.is_some());
            return;
        }
        match page {
            Ok(page) if state.is_none() => self.unknown_page(id, subject, page),
            Ok(page) => {
                self.auditor.partial.scan.pages_checked += 1;
                self.auditor.page(id, subject, state, page);
            }
            Err(ReadError::NotStored { .. } | ReadError::NoFile { .. }) => {
                self.auditor.partial.scan.pages_absent += 1
            }
            Err(_) => {
                self.auditor.partial.scan.pages_checked += u64::from(state.is_some());
                self.auditor.unreadable(id, subject);
            }
        }
    }

    /// Who a page is audited for, when its extent alone does not say. `None`: it was audited when
    /// the plan was made.
    #[cold]
    fn subject(
        &mut self,
        id: PageId,
        owner: ExtentOwner,
        state: Option<PfsByte>,
        page: Option<&PageBytes>,
    ) -> Option<Subject> {
        let plan = self.scan.plan;
        if fixed_page_type(id).is_some() {
            self.compare_state(id, state, ExpectedPfs { is_mixed: None, is_iam: false });
            return None;
        }
        match (plan.owners.page(id), owner) {
            (Some(PageOwner::Fixed), _) => None,
            (Some(PageOwner::Iam(_)), _) => {
                self.compare_state(id, state, ExpectedPfs { is_mixed: Some(true), is_iam: true });
                None
            }
            (Some(PageOwner::Unit(unit)), ExtentOwner::Nobody | ExtentOwner::Singles) => {
                self.compare_state(id, state, ExpectedPfs { is_mixed: Some(true), is_iam: false });
                Some(Subject::Owned(unit))
            }
            (single, ExtentOwner::Unit(unit)) => {
                let single = match single {
                    Some(PageOwner::Unit(unit)) => Some(unit),
                    _ => None,
                };
                Some(Subject::Owned(self.contested(id, unit, single, page)))
            }
            (None, ExtentOwner::Nobody | ExtentOwner::Singles) => {
                self.report_unowned(id, owner, state);
                Some(Subject::Unowned)
            }
        }
    }

    /// The owner of a page whose extent has several: the one that its header names. The others do
    /// not see it.
    fn contested(
        &mut self,
        id: PageId,
        unit: UnitIndex,
        single: Option<UnitIndex>,
        page: Option<&PageBytes>,
    ) -> UnitIndex {
        let plan = self.scan.plan;
        let claimants = plan.owners.claimants(id.extent());
        if claimants.is_empty() {
            return unit;
        }
        let names = |index: &&UnitIndex| {
            let unit = plan.units.get(**index).map(crate::unit::Unit::id);
            unit.zip(page).is_some_and(|(unit, page)| PageHeader::of(page).belongs_to(unit))
        };
        let owner = claimants.iter().find(names).copied().or(single).unwrap_or(unit);
        for other in claimants.iter().filter(|other| **other != owner) {
            self.auditor.report_not_seen(id, *other);
        }
        owner
    }

    /// A page of a PFS range that cannot be used: it counts when it is what its owner expects, or
    /// was once.
    fn unknown_page(&mut self, id: PageId, subject: Subject, page: &PageBytes) {
        let header = PageHeader::of(page);
        let Subject::Owned(unit) = subject else { return };
        let is_own =
            self.scan.plan.units.get(unit).is_some_and(|unit| header.belongs_to(unit.id()));
        if header.page_id() == id && is_own {
            let was_intact = verify(page).is_intact();
            self.auditor.page(id, subject, None, page);
            self.auditor.partial.scan.pages_unknown += u64::from(!was_intact);
        } else {
            self.auditor.partial.scan.pages_unknown += 1;
        }
    }
}

/// What PFS must say about a page.
#[derive(Clone, Copy)]
struct ExpectedPfs {
    /// In a mixed extent? `None`: both are right.
    is_mixed: Option<bool>,
    is_iam: bool,
}

/// PFS against the owners: 8948, 8906.
impl<F: Collector> Worker<'_, F> {
    #[inline]
    fn compare_state(&mut self, id: PageId, state: Option<PfsByte>, expected: ExpectedPfs) {
        let Some(state) = state else { return };
        let right = state
            .with_iam(expected.is_iam)
            .with_mixed(expected.is_mixed.unwrap_or(state.is_mixed()));
        if right != state || (state.has_reserved_bits() && !self.has_version_bit(state)) {
            self.report_state(id, state, PfsByte(right.0 & 0x7f));
        }
    }

    /// Bit 7 is set for pages with versions that are to be cleaned up (public description of
    /// accelerated recovery).
    #[cold]
    fn has_version_bit(&self, state: PfsByte) -> bool {
        self.scan.plan.has_versions_in_rows() && state.fullness().is_some()
    }

    #[cold]
    fn report_state(&mut self, id: PageId, state: PfsByte, expected: PfsByte) {
        let args = [page_arg(id), page_arg(id.pfs_page()), state.0.into(), expected.0.into()];
        self.auditor.partial.findings.push(Finding::new(8948, Location::page(id), args));
    }

    /// An allocated page that no IAM page lists.
    fn report_unowned(&mut self, id: PageId, owner: ExtentOwner, state: Option<PfsByte>) {
        let plan = self.scan.plan;
        let (Some(state), true, false) = (state, plan.owners_are_known, plan.has_cut_chains) else {
            return;
        };
        let extent = id.extent().index;
        let Some(maps) = plan.maps_of(id.file) else { return };
        let (Some(is_free), Some(is_mixed)) = (maps.is_free(extent), maps.is_mixed(extent)) else {
            return;
        };
        if plan.bad.contains_key(&id) {
            return;
        }
        if is_free && owner == ExtentOwner::Nobody {
            return self.report_state(id, state, state.with_allocated(false));
        }
        if is_mixed || owner == ExtentOwner::Singles || holds_fixed_pages(extent) {
            let args = [
                page_arg(id),
                plan.database_arg(),
                page_arg(MapKind::Sgam.page_of(id)),
                page_arg(id.pfs_page()),
                state.to_string().into(),
            ];
            self.auditor.partial.findings.push(Finding::new(8906, Location::page(id), args));
        }
    }
}

/// A data file of a page source, as bytes.
struct FileOfSource<'s> {
    source: &'s dyn PageSource,
    file: &'s SourceFile,
}

impl FileOfSource<'_> {
    /// The plain file where there is one, so that it can be read directly.
    fn best(&self) -> &dyn ReadAt {
        match self.source.plain_file(self.file.id) {
            Some(plain) => plain,
            None => self,
        }
    }
}

impl ReadAt for FileOfSource<'_> {
    fn len(&self) -> u64 {
        u64::from(self.file.pages) * PAGE_BYTES as u64
    }

    /// Whole pages only: that is how the plan is cut.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, IoError> {
        let first = u32::try_from(offset / PAGE_BYTES as u64).unwrap_or(u32::MAX);
        let rest = self.file.pages.saturating_sub(first) as usize * PAGE_BYTES;
        let bytes = buf.len().min(rest);
        let Some(buf) = buf.get_mut(..bytes) else { return Ok(0) };
        let page = PageId { file: self.file.id, page: first };
        match self.source.read_run(page, buf) {
            Ok(()) => Ok(bytes),
            Err(error) => {
                let path = self.file.path.clone();
                let source = std::io::Error::other(error);
                Err(IoError::Transfer { op: FileOp::Read, path, offset, bytes, source })
            }
        }
    }

    fn path(&self) -> &Path {
        &self.file.path
    }
}
