//! Analysis: which transactions are open at the end of the log, and what the log has touched.
//!
//! It reads every record that redo reads, in the same pass. The list of transactions that a
//! checkpoint logs (XACT_CKPT) is not needed: the pass begins at the minimum LSN, which is not
//! after the begin record of the oldest open transaction (`database::checkpoint`). The analysis of
//! files that are only read is in `format::log::replay`.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::{AllocUnitId, DatabaseId, Extent, Lsn, PageId, XactId};
use extentdb_format::allocation::unit_row::unit_of_row;
use extentdb_format::log::map_change::{PfsChange, extent_run, pfs_changes, pfs_run};
use extentdb_format::log::payload::xact::{PrepareXact, XACT_TYPE_SYSTEM};
use extentdb_format::log::{Context, Op, Payload, RecordRef};
use extentdb_space::Freed;
use extentdb_txn::Preparation;

/// An open transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenTransaction {
    pub(super) begin: Lsn,
    pub(super) last: Lsn,
    pub(super) is_system: bool,
    /// It is prepared, and a transaction in another database decides how it ends.
    pub(super) waits_for: Option<Preparation>,
}

/// What the log touched since the checkpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    pub(crate) units: BTreeSet<AllocUnitId>,
    pub(crate) extents: BTreeSet<Extent>,
}

/// The transaction table of a restart, and what the log has touched since the checkpoint.
#[derive(Default)]
pub(super) struct Analysis {
    pub(super) open: BTreeMap<XactId, OpenTransaction>,
    pub(super) last_xact: XactId,
    pub(super) touched: Touched,
    /// What open transactions have freed: an undo may reallocate it.
    pub(super) freed: BTreeMap<XactId, Freed>,
    /// Prepared transactions that decide themselves.
    coordinators: BTreeMap<XactId, Preparation>,
    /// Of these, those that are committed: the decisions that participants ask for.
    pub(super) decisions: BTreeMap<Preparation, Lsn>,
}

impl Analysis {
    /// Adds the next record of the log.
    pub(super) fn add(&mut self, lsn: Lsn, record: &RecordRef<'_>) {
        self.follow(lsn, record);
        self.note(record);
        self.note_freed(record);
    }

    /// Keeps the table of open transactions.
    fn follow(&mut self, lsn: Lsn, record: &RecordRef<'_>) {
        let header = record.header();
        if header.xact == XactId::default() {
            return;
        }
        self.last_xact = self.last_xact.max(header.xact);
        match (header.op, record.payload()) {
            (Op::BEGIN_XACT, Payload::BeginXact(begin)) => {
                let is_system = begin.fixed.kind == XACT_TYPE_SYSTEM;
                let begun = OpenTransaction { begin: lsn, last: lsn, is_system, waits_for: None };
                self.open.insert(header.xact, begun);
            }
            (Op::COMMIT_XACT | Op::ABORT_XACT, _) => {
                self.end(header.xact, header.op);
            }
            (Op::PREP_XACT, Payload::PrepareXact(prepare)) => {
                self.prepare(lsn, header.xact, &prepare);
            }
            _ => {
                if let Some(open) = self.open.get_mut(&header.xact) {
                    open.last = lsn;
                }
            }
        }
    }

    fn end(&mut self, xact: XactId, op: Op) {
        let open = self.open.remove(&xact);
        self.freed.remove(&xact);
        let Some(decision) = self.coordinators.remove(&xact) else { return };
        if let Some(open) = open.filter(|_| op == Op::COMMIT_XACT) {
            self.decisions.insert(decision, open.begin);
        }
    }

    fn prepare(&mut self, lsn: Lsn, xact: XactId, prepare: &PrepareXact<'_>) {
        let by = Preparation {
            database: DatabaseId(prepare.fixed.master_database),
            binding: prepare.coordinator().unwrap_or_default(),
            xact: prepare.fixed.master_xact,
            at: prepare.fixed.master_prepare,
        };
        let decides_itself = prepare.decides_itself(xact);
        if decides_itself {
            self.coordinators.insert(xact, Preparation { at: lsn, ..by });
        }
        if let Some(open) = self.open.get_mut(&xact) {
            open.last = lsn;
            open.waits_for = (!decides_itself).then_some(by);
        }
    }

    /// Notes which units and extents a record is about.
    fn note(&mut self, record: &RecordRef<'_>) {
        match record.payload() {
            Payload::HobtDelta(delta) => {
                self.touched.units.insert(delta.alloc_unit);
            }
            Payload::ModifyRow(modify) if record.header().context == Context::PFS => {
                let file = modify.fixed.page.page.file;
                let pages = pfs_run(&modify).map(|page| PageId { file, page });
                self.touched.extents.extend(pages.map(PageId::extent));
            }
            payload => {
                let Some(part) = payload.page_part() else { return };
                let unit = part.alloc_unit();
                if unit != AllocUnitId::SYSTEM_PAGES {
                    self.touched.units.insert(unit);
                    self.touched.extents.insert(part.page.extent());
                }
                if unit == AllocUnitId::SYSALLOCUNITS {
                    self.note_unit(&payload);
                }
            }
        }
    }

    /// Units are created and dropped with their rows in `sysallocunits`: the rowset's counter may
    /// be that of another one.
    fn note_unit(&mut self, payload: &Payload<'_>) {
        let row = match payload {
            Payload::InsertRows(insert) => insert.rows.first(),
            Payload::DeleteRows(delete) => delete.rows.first(),
            _ => None,
        };
        self.touched.units.extend(row.and_then(|row| unit_of_row(row)));
    }

    /// Notes what a transaction has freed: it is not free while that may be undone.
    fn note_freed(&mut self, record: &RecordRef<'_>) {
        let xact = record.header().xact;
        let context = record.header().context;
        // What a compensation gives back is never taken again.
        if xact == XactId::default() || record.header().flags.is_compensation() {
            return;
        }
        let payload = record.payload();
        if let Payload::SetBits(bits) = &payload
            && context == Context::GAM
            && bits.fixed.value != 0
        {
            let freed = self.freed.entry(xact).or_default();
            extent_run(&bits.fixed).for_each(|extent| freed.push_extent(extent));
        }
        for change in pfs_changes(context, &payload).filter(PfsChange::frees_mixed) {
            self.freed.entry(xact).or_default().push_single(change.page);
        }
    }
}
