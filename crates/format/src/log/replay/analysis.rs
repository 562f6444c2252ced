//! Analysis: which transactions were open at the end of the log, and what they touched.
//!
//! ```text
//! BEGIN_XACT … changes … COMMIT_XACT    done
//! BEGIN_XACT … changes … ABORT_XACT     done, the changes are undone by compensation records
//! BEGIN_XACT … changes … end of the log open: a restart would undo it
//! XACT_CKPT (before 2012)               open at the checkpoint, begun before the first record read
//! ```
//!
//! Fed with the records in LSN order, from the oldest that is needed: the minimum LSN of the last
//! checkpoint. A nested system transaction that ended is never undone, whatever becomes of the one
//! around it.
//!
//! Invariants
//! - Memory grows with the open transactions and the pages they touched, up to a limit; units are
//!   always complete.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::{AllocUnitId, Extent, Lsn, PageId, XactId};

use super::page_of;
use crate::log::context::Context;
use crate::log::map_change::{extent_run, pfs_run};
use crate::log::op::Op;
use crate::log::payload::Payload;
use crate::log::record::RecordRef;
use crate::log::time::LogTime;

/// Pages that are remembered over all open transactions.
const PAGES_MAX: usize = 1 << 20;
/// Extents or pages that one map record can name; more are as good as all.
const NAMED_MAX: usize = 4096;

/// A transaction that was open.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Unfinished {
    /// LSN of its begin record, when that was read or named by a checkpoint.
    pub begin: Option<Lsn>,
    /// Name of the transaction.
    pub name: String,
    /// When it began, by the server's clock.
    pub begin_time: Option<LogTime>,
    /// Prepared: a coordinator elsewhere decides how it ends.
    pub is_prepared: bool,
    /// Allocation units whose pages it changed, as page headers name them.
    pub units: BTreeSet<AllocUnitId>,
    /// Pages that it changed, and pages that maps it changed are about.
    pub pages: BTreeSet<PageId>,
    /// Number of its records that change pages.
    pub records: u64,
}

/// The transactions of a log, record by record.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    open: BTreeMap<XactId, Unfinished>,
    records: u64,
    /// LSN of the first record read.
    first: Option<Lsn>,
    pages: usize,
    has_all_pages: bool,
    /// LSN of the last complete checkpoint's begin record.
    checkpoint: Option<Lsn>,
    /// Operations that change something else than pages and that nobody replays.
    left_out: BTreeMap<Op, u64>,
}

impl Analysis {
    /// Nothing read yet.
    pub fn new() -> Self {
        Analysis { has_all_pages: true, ..Analysis::default() }
    }

    /// Takes the next record.
    pub fn add(&mut self, lsn: Lsn, record: &RecordRef<'_>) {
        self.records += 1;
        self.first.get_or_insert(lsn);
        let header = record.header();
        match header.op {
            Op::BEGIN_XACT => self.begin(lsn, record),
            Op::COMMIT_XACT | Op::ABORT_XACT | Op::FORGET_XACT => self.end(header.xact),
            Op::PREP_XACT => {
                let payload = record.payload();
                let decides_itself = matches!(&payload, Payload::PrepareXact(prepare)
                    if prepare.decides_itself(header.xact));
                self.of(header.xact).is_prepared = !decides_itself;
            }
            Op::XACT_CKPT => self.take_active(record),
            Op::END_CKPT => self.checkpoint = Some(header.previous),
            op if op.is_on_page() => self.touch(record),
            op if !is_harmless(op) => *self.left_out.entry(op).or_default() += 1,
            _ => {}
        }
    }

    /// The open transactions.
    pub fn unfinished(&self) -> &BTreeMap<XactId, Unfinished> {
        &self.open
    }

    /// The open transactions, when the log is over.
    pub fn into_unfinished(self) -> BTreeMap<XactId, Unfinished> {
        self.open
    }

    /// Number of records read.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The begin record of the last checkpoint that ended.
    pub fn checkpoint(&self) -> Option<Lsn> {
        self.checkpoint
    }

    /// False when the open transactions touched more pages than are remembered.
    pub fn has_all_pages(&self) -> bool {
        self.has_all_pages
    }

    /// Operations that change files or structures other than pages, and how often they came. What
    /// they did is not replayed.
    pub fn left_out(&self) -> &BTreeMap<Op, u64> {
        &self.left_out
    }

    fn of(&mut self, xact: XactId) -> &mut Unfinished {
        self.open.entry(xact).or_default()
    }

    fn begin(&mut self, lsn: Lsn, record: &RecordRef<'_>) {
        let begun = match record.payload() {
            Payload::BeginXact(begin) => {
                (begin.name.to_string_lossy(), Some(begin.fixed.begin_time))
            }
            Payload::BeginXact2005(begin) => {
                (begin.name.to_string_lossy(), Some(begin.fixed.begin_time))
            }
            _ => (String::new(), None),
        };
        let (name, begin_time) = begun;
        // An id that comes again belongs to another transaction.
        self.end(record.header().xact);
        let own = self.of(record.header().xact);
        *own = Unfinished { begin: Some(lsn), name, begin_time, ..Unfinished::default() };
    }

    fn end(&mut self, xact: XactId) {
        if let Some(ended) = self.open.remove(&xact) {
            self.pages -= ended.pages.len();
        }
    }

    fn take_active(&mut self, record: &RecordRef<'_>) {
        if let Payload::XactCheckpoint(checkpoint) = record.payload() {
            // A transaction whose begin was read is known already; when it is not open, it has
            // ended since.
            let is_older = |begin: Lsn| self.first.is_none_or(|first| begin < first);
            let older: Vec<_> =
                checkpoint.active.iter().filter(|active| is_older(active.begin)).collect();
            for active in older {
                self.of(active.xact).begin.get_or_insert(active.begin);
            }
        }
    }

    fn touch(&mut self, record: &RecordRef<'_>) {
        let (Some(part), xact) = (page_of(record), record.header().xact) else { return };
        // Records without a transaction are never undone.
        if xact == XactId::default() {
            return;
        }
        let room = PAGES_MAX.saturating_sub(self.pages);
        let own = self.open.entry(xact).or_default();
        own.records += 1;
        own.units.insert(part.alloc_unit());
        let before = own.pages.len();
        let mut has_all = true;
        for page in std::iter::once(part.page).chain(pages_named(record, part.page)) {
            has_all &= own.pages.len() - before < room || own.pages.contains(&page);
            if has_all {
                own.pages.insert(page);
            }
        }
        self.pages += own.pages.len() - before;
        self.has_all_pages &= has_all;
    }
}

/// Operations that leave nothing behind but what other records say.
fn is_harmless(op: Op) -> bool {
    matches!(
        op,
        Op::MARK_SAVEPOINT
            | Op::HOBT_DDL
            | Op::IDENT_NEWVAL
            | Op::IDENT_SENTVAL
            | Op::HOBT_DELTA
            | Op::LOCK_XACT
            | Op::MIGRATE_LOCKS
            | Op::BP_DBVER
            | Op::BEGIN_CKPT
            | Op::BUF_WRITE
            | Op::BEGIN_RECOVERY
            | Op::END_RECOVERY
            | Op::CREATE_ALLOCCHAIN
            | Op::SHRINK_NOOP
            | Op::INVALIDATE_CACHE
            | Op::REPL_NOOP
            | Op::REPL_COMMAND
            | Op::DURABLE_MARK
    )
}

/// The pages that a change of a map is about.
fn pages_named(record: &RecordRef<'_>, map: PageId) -> Vec<PageId> {
    let context = record.header().context;
    let range = match record.payload() {
        Payload::ModifyRow(modify) if context == Context::PFS => pfs_run(&modify),
        Payload::SetBits(bits) if matches!(context, Context::GAM | Context::SGAM) => {
            let pages = extent_run(&bits.fixed).flat_map(Extent::pages);
            return pages.take(NAMED_MAX).collect();
        }
        _ => return Vec::new(),
    };
    range.take(NAMED_MAX).map(|page| PageId { file: map.file, page }).collect()
}
