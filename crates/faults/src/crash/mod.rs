//! The files that a crash leaves: earlier images of some pages, and the log that redoes the changes
//! since.
//!
//! ```text
//! sound database ──▶ earlier images of some pages, chosen by the seed ──▶ data file
//!              └───▶ BEGIN_CKPT END_CKPT BEGIN_XACT changes … COMMIT ──▶ log file
//! ```
//!
//! Redo of the log over the data file must give the original database. With
//! [`CrashOptions::leave_open`] the log ends inside a transaction that has changed one link of a
//! tree.

mod history;
mod log;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{Lsn, PageId, XactId};
use extentdb_format::allocation::boot::{BootView, DatabaseStatus};
use extentdb_format::allocation::file_header::{FileHeader, FileHeaderView};
use extentdb_format::log::payload::checkpoint::{BeginCheckpoint, EndCheckpoint};
use extentdb_format::log::payload::page::PagePart;
use extentdb_format::log::payload::xact::{BeginXact, EndXact, LogText};
use extentdb_format::log::{Context, Op, Payload};
use extentdb_format::page::checksum::{restore_torn, seal, seal_torn};
use extentdb_format::page::header::{FLAG_CHECKSUM, FLAG_TORN_BITS};
use extentdb_format::page::{PageHeader, PageType};
use extentdb_format::{PageBuf, PageBytes};

use crate::Error;
use history::{History, Step, history};
pub use log::LogWriter;

/// Name of the transactions in the log.
const NAME: &str = "work";
/// Transactions that share the changes.
const XACTS: u64 = 3;
/// File id of the log.
const LOG_FILE: u16 = 2;

/// The pages that lose their last changes, and the end of the log.
#[derive(Clone, Copy)]
pub struct CrashOptions<'f> {
    /// Chooses pages and their histories.
    pub seed: u64,
    /// Pages that return to an earlier image, at most.
    pub pages: usize,
    /// Which pages may be chosen.
    pub may_choose: &'f dyn Fn(&PageHeader) -> bool,
    /// The log ends inside a transaction that has changed a link between two pages.
    pub leave_open: bool,
}

/// The files after a crash.
pub struct Crash {
    /// The data file.
    pub data: Vec<u8>,
    /// The log file: a header page, and one VLF with all blocks.
    pub log: Vec<u8>,
    /// LSN at which recovery begins.
    pub checkpoint: Lsn,
    /// LSN after the last block of the log.
    pub end: Lsn,
    /// The pages with changes in the log, and their kind. The last image of a page may be on disk
    /// all the same.
    pub pages: Vec<(PageId, &'static str)>,
    /// The page that the open transaction changed.
    pub open_page: Option<PageId>,
}

/// Makes the files a crash would have left of file 1 of a sound database.
///
/// # Errors
/// The data has no boot page, or a record does not fit in the log.
pub fn crash(data: &[u8], options: &CrashOptions<'_>) -> Result<Crash, Error> {
    let mut rng = SplitMix64::new(options.seed);
    let mut files = Files { data: data.to_vec() };
    let boot = files.page(PageId::BOOT)?;
    let sequence = newest_sequence(data).max(checkpoint_of(&boot).vlf).saturating_add(1);
    let mut log = LogWriter::new(sequence);
    let checkpoint = begin(&mut log)?;
    let mut queues = choose(&files, options, &mut rng);
    let open_page = options.leave_open.then(|| files.page_with_links(&queues, options)).flatten();
    let pages = queues.iter().map(|queue| (queue.id, queue.kind)).collect();
    write_changes(&mut log, &mut queues, &mut rng)?;
    for queue in &queues {
        files.put(queue.id, &queue.on_disk(&mut rng));
    }
    if let Some(id) = open_page {
        let page = files.page(id)?;
        leave_open(&mut log, id, &page)?;
    }
    files.put(PageId::BOOT, &uncleanly(&boot, checkpoint));
    log.flush().map_err(|error| Error::Log(error.to_string()))?;
    let end = log.next_lsn();
    let log = log.finish(&files.log_header()?).map_err(|error| Error::Log(error.to_string()))?;
    Ok(Crash { data: files.data, log, checkpoint, end, pages, open_page })
}

/// The data file in memory.
struct Files {
    data: Vec<u8>,
}

impl Files {
    /// A page with its displaced torn-page bits restored.
    fn page(&self, id: PageId) -> Result<PageBuf, Error> {
        let missing = || Error::Log(format!("page {id} is not in the data"));
        let bytes =
            self.data.get(id.page as usize * PAGE_BYTES..).and_then(|rest| rest.first_chunk());
        let mut page = PageBuf::from(bytes.ok_or_else(missing)?);
        restore_torn(&mut page);
        Ok(page)
    }

    fn put(&mut self, id: PageId, page: &PageBytes) {
        let at = id.page as usize * PAGE_BYTES;
        if let Some(place) = self.data.get_mut(at..at + PAGE_BYTES) {
            place.copy_from_slice(page);
        }
    }

    fn pages(&self) -> impl Iterator<Item = (PageId, PageBuf)> {
        let count = (self.data.len() / PAGE_BYTES) as u32;
        let ids = (0..count).map(|page| PageId::new(1, page));
        ids.filter_map(|id| Some((id, self.page(id).ok()?)))
            .filter(|(id, page)| PageHeader::of(page).page_id() == *id)
    }

    /// A leaf with a neighbour that no history touches.
    fn page_with_links(&self, queues: &[Queue], options: &CrashOptions<'_>) -> Option<PageId> {
        let is_free = |id: PageId| queues.iter().all(|queue| queue.id != id);
        self.pages().map(|(id, page)| (id, PageHeader::of(&page).clone())).find_map(
            |(id, header)| {
                let is_leaf = header.kind() == PageType::Index && header.level == 0;
                let fits =
                    is_leaf && !header.next().is_none() && is_free(id) && is_free(header.next());
                (fits && (options.may_choose)(&header)).then_some(id)
            },
        )
    }

    fn log_header(&self) -> Result<FileHeader, Error> {
        let page = self.page(PageId::new(1, 0))?;
        let header = FileHeaderView::new(&page).header();
        Ok(FileHeader {
            fixed: u32::from(LOG_FILE),
            file_id: Some(LOG_FILE),
            filegroup_id: Some(0),
            ..header
        })
    }
}

/// The highest VLF sequence number in the LSN of any page.
fn newest_sequence(data: &[u8]) -> u32 {
    let (pages, _) = data.as_chunks::<PAGE_BYTES>();
    pages.iter().map(|page| PageHeader::of(page).lsn().vlf).max().unwrap_or(0)
}

fn checkpoint_of(boot: &PageBytes) -> Lsn {
    BootView::new(boot).record().map_or(Lsn::ZERO, |record| record.checkpoint_lsn)
}

/// The boot page of a database in use.
fn uncleanly(boot: &PageBytes, checkpoint: Lsn) -> PageBuf {
    let mut page = PageBuf::from(boot);
    let view = BootView::new(boot);
    if let Some(mut record) = view.record() {
        record.status = DatabaseStatus(record.status.0 & !DatabaseStatus::CLEAN_SHUTDOWN);
        record.checkpoint_lsn = checkpoint;
        let start = view.record_offset();
        if let Some(place) = page.get_mut(start..start + usize::from(record.len)) {
            record.write(place);
        }
    }
    protect(&mut page, PageHeader::of(boot).flag_bits.get());
    page
}

/// Protects a page as it was protected before.
fn protect(page: &mut PageBytes, flags: u16) {
    if flags & FLAG_CHECKSUM != 0 {
        seal(page);
    } else if flags & FLAG_TORN_BITS != 0 {
        seal_torn(page, 2);
    }
}

/// A page and the changes that are still to be written.
struct Queue {
    id: PageId,
    kind: &'static str,
    /// As it is in the end.
    new: PageBuf,
    old: PageBuf,
    steps: Vec<Step>,
    /// LSN of the page after the steps written.
    lsn: Lsn,
}

impl Queue {
    fn new(id: PageId, page: PageBuf, History { kind, old, steps }: History) -> Self {
        let lsn = PageHeader::of(&old).lsn();
        let steps = steps.into_iter().rev().collect();
        Queue { id, kind, new: page, old, steps, lsn }
    }

    /// What reached the disk: the earlier image, or now and then the last one.
    fn on_disk(&self, rng: &mut SplitMix64) -> PageBuf {
        let flags = PageHeader::of(&self.new).flag_bits.get();
        if rng.below(4) == 0 {
            let mut page = self.new.clone();
            PageHeader::of_mut(&mut page).lsn_bytes = self.lsn.to_bytes();
            protect(&mut page, flags);
            return page;
        }
        let mut page = self.old.clone();
        if PageHeader::of(&page).header_version != 0 {
            protect(&mut page, flags);
        }
        page
    }
}

fn choose(files: &Files, options: &CrashOptions<'_>, rng: &mut SplitMix64) -> Vec<Queue> {
    let may = |page: &PageBuf| (options.may_choose)(PageHeader::of(page));
    let mut pages: Vec<(PageId, PageBuf)> = files.pages().filter(|(_, page)| may(page)).collect();
    let mut queues = Vec::new();
    while queues.len() < options.pages && !pages.is_empty() {
        let (id, page) = pages.swap_remove(rng.below(pages.len() as u64) as usize);
        let found = history(&page, rng).filter(|found| !found.steps.is_empty());
        queues.extend(found.map(|found| Queue::new(id, page, found)));
    }
    queues
}

fn xact(number: u64) -> XactId {
    XactId { high: 0, low: 0x100 + number as u32 }
}

fn put(
    log: &mut LogWriter,
    op: Op,
    context: Context,
    id: XactId,
    previous: Lsn,
    payload: &Payload<'_>,
) -> Result<Lsn, Error> {
    log.push(op, context, id, previous, payload).map_err(|error| Error::Log(error.to_string()))
}

/// The checkpoint that the boot page names.
fn begin(log: &mut LogWriter) -> Result<Lsn, Error> {
    let none = XactId::default();
    let payload =
        Payload::BeginCheckpoint(BeginCheckpoint { db_version: 661, ..BeginCheckpoint::default() });
    let checkpoint = put(log, Op::BEGIN_CKPT, Context::NULL, none, Lsn::ZERO, &payload)?;
    let end = EndCheckpoint {
        minimum: checkpoint,
        db_version: 661,
        ..EndCheckpoint::default()
    };
    put(log, Op::END_CKPT, Context::NULL, none, checkpoint, &Payload::EndCheckpoint(end))?;
    Ok(checkpoint)
}

fn begin_xact(log: &mut LogWriter, id: XactId) -> Result<Lsn, Error> {
    let name: Vec<u8> = NAME.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let payload = Payload::BeginXact(BeginXact { name: LogText(&name), ..BeginXact::default() });
    put(log, Op::BEGIN_XACT, Context::NULL, id, Lsn::ZERO, &payload)
}

/// Writes all changes, those of different pages in any order, those of one page in theirs.
fn write_changes(
    log: &mut LogWriter,
    queues: &mut [Queue],
    rng: &mut SplitMix64,
) -> Result<(), Error> {
    let mut last = Vec::new();
    for number in 0..XACTS {
        last.push(begin_xact(log, xact(number))?);
    }
    let begins = last.clone();
    loop {
        let waiting: Vec<usize> = (0..queues.len())
            .filter(|at| queues.get(*at).is_some_and(|q| !q.steps.is_empty()))
            .collect();
        if waiting.is_empty() {
            break;
        }
        let chosen =
            waiting.get(rng.below(waiting.len() as u64) as usize).copied().unwrap_or_default();
        let number = rng.below(XACTS);
        if let (Some(queue), Some(last)) = (queues.get_mut(chosen), last.get_mut(number as usize)) {
            let Some(step) = queue.steps.pop() else { continue };
            let part = part_of(queue.id, &queue.new, queue.lsn);
            let (op, context) = step.op(PageHeader::of(&queue.new).kind());
            *last = put(log, op, context, xact(number), *last, &step.payload(part, &queue.new))?;
            queue.lsn = *last;
        }
    }
    for (number, begin) in (0..XACTS).zip(begins) {
        let end = Payload::EndXact(EndXact { begin, ..EndXact::default() });
        put(log, Op::COMMIT_XACT, Context::NULL, xact(number), begin, &end)?;
    }
    Ok(())
}

fn part_of(page: PageId, new: &PageBytes, previous_page_lsn: Lsn) -> PagePart {
    let unit = PageHeader::of(new).alloc_unit();
    PagePart {
        page,
        slot: 0,
        object_id: unit.header_object_id(),
        index_id: unit.header_index_id(),
        previous_page_lsn,
    }
}

/// A transaction that takes a leaf's neighbour away and does not end.
fn leave_open(log: &mut LogWriter, id: PageId, page: &PageBytes) -> Result<(), Error> {
    let open = xact(XACTS);
    let begin = begin_xact(log, open)?;
    let header = PageHeader::of(page);
    let before = header.next_bytes.to_vec();
    let after = PageId::NONE.to_bytes().to_vec();
    let step = Step::Header { offset: 16, before, after };
    let part = part_of(id, page, header.lsn());
    let (op, context) = step.op(header.kind());
    put(log, op, context, open, begin, &step.payload(part, page))?;
    Ok(())
}
