//! Checkpoints: all pages that were dirty are written; a restart needs the log from the minimum LSN
//! on.
//!
//! ```text
//! BEGIN_CKPT → free space of heaps into PFS → COUNT_DELTA → XACT_CKPT
//!   → all dirty pages written and synced → END_CKPT, flushed
//!   → boot page: this checkpoint → log truncated before its minimum
//! ```
//!
//! Real logs have COUNT_DELTA before BEGIN_CKPT. After it, every change of a unit that its
//! counters do not hold is in the part of the log that a restart reads, and a restart counts such
//! units again (`recount`): a counter may be old, never wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_base::{AllocUnitId, FileId, Lsn};
use extentdb_buffer::PageWriteGuard;
use extentdb_change::{change, in_own_system};
use extentdb_format::allocation::unit_row::{PCDATA_AT, PCRESERVED_AT, PCUSED_AT, RCROWS_AT};
use extentdb_format::log::payload::checkpoint::{
    ActiveXact, BeginCheckpoint, EndCheckpoint, XactCheckpoint,
};
use extentdb_format::log::payload::space::{
    CountCell, CountDelta, CountPart, KIND_ROWSET, KIND_UNIT,
};
use extentdb_format::log::record::RecordHeader;
use extentdb_format::log::{Context, Op, Payload};
use extentdb_space::{Unit, UnitCounts};
use extentdb_telemetry::Event;
use extentdb_txn::{RecordOwner, log_time};

use crate::catalog::system_table::{SystemTable, bigint, int, number};
use crate::database::Database;
use crate::database::boot::{Mark, write_mark};
use crate::database::options::{Purpose, RecoveryModel};
use crate::database::suspect::skip_suspect;
use crate::error::{Cause, Error};

/// What a restart needs for a MiB of log, and to read a page that it changes: assumed, of a slow
/// device.
const REDO_TIME_PER_MIB: Duration = Duration::from_millis(20);
const REDO_TIME_PER_PAGE: Duration = Duration::from_micros(500);

/// How much a checkpoint is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Urgency {
    None,
    /// By the checkpointer, when there is one.
    Due,
    /// At once: the log is nearly full.
    Now,
}

/// How a database is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shutdown {
    /// The next opening needs nothing of the log.
    Clean,
    /// It needs the log, from the checkpoint on or from before: a transaction is open, or a suspect
    /// page lacks records.
    NeedsLog,
}

/// What is known of checkpoints.
#[derive(Default)]
pub(crate) struct Checkpoints {
    /// Held while one is made.
    running: Mutex<()>,
    last: Mutex<Last>,
    /// Counters of units as the catalog has them, and the number of changes they were read at.
    counted: Mutex<BTreeMap<AllocUnitId, (UnitCounts, u64)>>,
    /// The newest record that a backup of the log has; zero = none.
    backed_up: Mutex<Lsn>,
    /// Pages of the files as the catalog has them.
    sized: Mutex<BTreeMap<FileId, u32>>,
    /// The first record that a suspect page lacks.
    needed_from: Mutex<Option<Lsn>>,
    /// Records from which on the log is kept for others, by number of the pin.
    pins: Arc<Mutex<BTreeMap<u64, Lsn>>>,
    /// All data files name this opening, at least in memory.
    is_stamped: AtomicBool,
}

/// Keeps log until it is dropped.
#[derive(Debug)]
pub(crate) struct LogPin {
    pins: Arc<Mutex<BTreeMap<u64, Lsn>>>,
    number: u64,
}

impl LogPin {
    /// Keeps it until the database is opened again.
    pub(crate) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for LogPin {
    fn drop(&mut self) {
        lock(&self.pins).remove(&self.number);
    }
}

#[derive(Clone, Copy, Default)]
struct Last {
    begin: Lsn,
    /// The first record that a restart reads.
    minimum: Lsn,
    /// Bytes of the log in use right after it.
    used_bytes: u64,
}

impl Checkpoints {
    /// The one that the database was opened at.
    pub(crate) fn opened_at(begin: Lsn) -> Checkpoints {
        let checkpoints = Checkpoints::default();
        lock(&checkpoints.last).begin = begin;
        checkpoints
    }

    /// The log is needed from this record on, until the database is opened again.
    pub(crate) fn need_from(&self, lsn: Option<Lsn>) {
        *lock(&self.needed_from) = lsn;
    }

    /// From now on a checkpoint makes the stamps of all data files durable.
    pub(crate) fn note_stamped(&self) {
        self.is_stamped.store(true, Ordering::Release);
    }

    /// Keeps the log from this record on: a restart begins there or before.
    pub(crate) fn pin(&self, from: Lsn) -> LogPin {
        let mut pins = lock(&self.pins);
        let number = pins.last_key_value().map_or(0, |(last, _)| last + 1);
        pins.insert(number, from);
        LogPin { pins: self.pins.clone(), number }
    }

    fn needed_from(&self) -> Option<Lsn> {
        let pinned = lock(&self.pins).values().min().copied();
        lock(&self.needed_from).into_iter().chain(pinned).min()
    }

    pub(crate) fn set_backed_up(&self, lsn: Lsn) {
        let mut backed_up = lock(&self.backed_up);
        *backed_up = lsn.max(*backed_up);
    }
}

impl Database {
    /// Writes all pages that have changed, but for those of tempdb, and releases the log that
    /// nothing needs. Needed is the log that a restart reads, from here or the oldest open
    /// transaction on; from the first record that a suspect page lacks; of decisions that other
    /// databases may ask for; in the full recovery model all that is not
    /// [backed up](Self::log_backed_up).
    ///
    /// # Errors
    /// The log has no room for the checkpoint: nothing has happened. After any other error the
    /// database is offline.
    pub fn checkpoint(&self) -> Result<(), Error> {
        self.verify_online()?;
        let _running = lock(&self.checkpoints.running);
        self.ensure_log_for_checkpoint()?;
        self.write_checkpoint_or_go_offline()
    }

    /// Checkpoints do not touch what is reserved for rollbacks: without room beside it there is
    /// none, and nothing has happened.
    fn ensure_log_for_checkpoint(&self) -> Result<(), Error> {
        /// A record of a map, and of PFS for the same extent.
        const EXTENT_BYTES: usize = 2 * 120;
        /// Counters of a unit and of its rows.
        const UNIT_BYTES: usize = 2 * 140;
        const ACTIVE_BYTES: usize = 64;
        let counted = lock(&self.checkpoints.counted);
        let has_changed =
            |unit: &&Arc<Unit>| counted.get(&unit.id()).map_or(0, |(_, at)| *at) != unit.counts().1;
        let units = self.catalog.units.all().iter().filter(has_changed).count();
        let extents =
            self.space.unmarked_extents() + self.space.stale_hints() + self.unsettled_pages();
        let active = self.transactions.with_active(<[_]>::len);
        let bytes = 1024 + EXTENT_BYTES * extents + UNIT_BYTES * units + ACTIVE_BYTES * active;
        Ok(self.log.ensure(bytes as u64)?)
    }

    fn unsettled_pages(&self) -> usize {
        let tables = self.catalog.all_tables();
        let heaps = tables.iter().filter_map(|table| table.heap());
        let of_heaps: usize = heaps.map(|heap| heap.stale_pfs_pages()).sum();
        let lobs = self.catalog.lob_units();
        of_heaps + lobs.iter().map(|lob| lob.stale_pfs_pages()).sum::<usize>()
    }

    /// After a commit: a checkpoint when one is due, by the thread for it when there is one.
    pub(crate) fn checkpoint_if_due(&self) -> Result<(), Error> {
        match (self.urgency(), self.wake_ups.has_threads()) {
            (Urgency::None, _) => Ok(()),
            (Urgency::Due, true) => {
                self.wake_ups.checkpoint.notify();
                Ok(())
            }
            (Urgency::Due | Urgency::Now, false) => self.make_due_checkpoint(),
            (Urgency::Now, true) => {
                // After the thread's own one, which may be all that is needed.
                drop(lock(&self.checkpoints.running));
                self.make_due_checkpoint()
            }
        }
    }

    /// A checkpoint when one is due, unless another thread is writing one.
    pub(crate) fn make_due_checkpoint(&self) -> Result<(), Error> {
        if self.urgency() != Urgency::None
            && let Ok(_running) = self.checkpoints.running.try_lock()
            && self.ensure_log_for_checkpoint().is_ok()
        {
            self.write_checkpoint_or_go_offline()?;
        }
        Ok(())
    }

    fn write_checkpoint_or_go_offline(&self) -> Result<(), Error> {
        self.write_checkpoint().inspect_err(|error| self.go_offline(error)).map(drop)
    }

    fn urgency(&self) -> Urgency {
        let used = self.log.used_bytes();
        let total = self.log.total_bytes();
        let since = used.saturating_sub(lock(&self.checkpoints.last).used_bytes);
        let is_much = self.options.checkpoint_log_bytes.is_some_and(|most| since >= most);
        // Half of the target: log written during the checkpoint must be redone, too.
        let is_long =
            self.options.target_recovery.is_some_and(|most| self.redo_estimate(since) >= most / 2);
        if since < total / 10 && !is_much && !is_long {
            Urgency::None
        } else if used >= total / 10 * 9 {
            Urgency::Now
        } else if is_much || is_long || used >= total / 10 * 7 {
            Urgency::Due
        } else {
            Urgency::None
        }
    }

    /// How long a restart would take now, by the assumed times per page and per MiB of log.
    fn redo_estimate(&self, log_bytes: u64) -> Duration {
        let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let pages = REDO_TIME_PER_PAGE.saturating_mul(count(self.pool.dirty_count()));
        REDO_TIME_PER_MIB.saturating_mul(count(log_bytes >> 20)).saturating_add(pages)
    }

    fn write_checkpoint(&self) -> Result<Lsn, Error> {
        let started = self.options.clock.monotonic();
        let previous = lock(&self.checkpoints.last).begin;
        let begin = self.log_begin(previous)?;
        self.options.events.event(&Event::CheckpointBegin { lsn: begin });
        self.write_free_space()?;
        self.write_file_sizes()?;
        self.write_counts()?;
        self.space.update_hints()?;
        self.space.mark_changed()?;
        let minimum = self.log_active(begin)?;
        self.log.flush_all()?;
        let is_stamped = self.checkpoints.is_stamped.load(Ordering::Acquire);
        let written = self.pool.write_dirty()?;
        // Before this checkpoint is the newest: until then a copy of the state before the opening
        // is redone from its own.
        if is_stamped && let Some(area) = &self.double_write {
            area.narrow()?;
        }
        let end = self.log_end(begin, minimum)?;
        self.log.flush(end)?;
        let last_xact = self.transactions.last_id();
        write_mark(&self.pool, Mark { checkpoint: begin, is_clean: false, last_xact })?;
        self.log.truncate(self.kept_from(minimum))?;
        *lock(&self.checkpoints.last) = Last { begin, minimum, used_bytes: self.log.used_bytes() };
        let duration = self.options.clock.monotonic().saturating_sub(started);
        let pages = written.pages;
        let writes = written.writes;
        self.options.events.event(&Event::CheckpointEnd { lsn: begin, pages, writes, duration });
        Ok(begin)
    }

    /// The first record that a restart would read; zero before the first checkpoint.
    pub(crate) fn restart_begins(&self) -> Lsn {
        lock(&self.checkpoints.last).minimum
    }

    /// The oldest record that is kept, when a restart needs those from `minimum` on.
    fn kept_from(&self, minimum: Lsn) -> Lsn {
        match self.options.recovery_model {
            RecoveryModel::Simple => minimum,
            RecoveryModel::Full => {
                minimum.min((*lock(&self.checkpoints.backed_up)).max(self.log.minimum()))
            }
        }
    }

    /// Writes the free space of heap and text pages into the PFS.
    fn write_free_space(&self) -> Result<(), Error> {
        // A table that is dropped meanwhile would get pages back.
        let _ddl = lock(&self.ddl);
        let heaps = self.catalog.all_tables().into_iter().filter_map(|table| table.heap());
        for heap in heaps.filter(|heap| !self.catalog.is_dropped(heap.unit().id())) {
            skip_suspect(heap.update_pfs().map_err(Error::from))?;
        }
        for lob in self.catalog.lob_units() {
            skip_suspect(lob.update_pfs().map_err(Error::from))?;
        }
        Ok(())
    }

    fn log_begin(&self, previous: Lsn) -> Result<Lsn, Error> {
        let begin = BeginCheckpoint {
            begin_time: log_time(&*self.options.clock),
            db_version: self.version,
            max_xact: self.transactions.last_id(),
            ..BeginCheckpoint::default()
        };
        let header = RecordHeader {
            op: Op::BEGIN_CKPT,
            fixed_len: 0x60,
            previous,
            ..RecordHeader::default()
        };
        Ok(self.log.append_reserved(&header, &Payload::BeginCheckpoint(begin))?)
    }

    /// Logs the open transactions; returns the oldest record that a restart needs.
    fn log_active(&self, begin: Lsn) -> Result<Lsn, Error> {
        self.transactions.with_active(|active| {
            let oldest =
                active.iter().map(|xact| xact.begin).chain(self.checkpoints.needed_from()).min();
            let minimum = oldest.unwrap_or(begin).min(begin);
            if active.is_empty() {
                return Ok(minimum);
            }
            let active = active.iter().map(|xact| ActiveXact {
                xact: xact.xact,
                begin: xact.begin,
                last: xact.last,
                ..ActiveXact::default()
            });
            let payload = XactCheckpoint { active: active.collect(), ..XactCheckpoint::default() };
            let header = RecordHeader { op: Op::XACT_CKPT, ..RecordHeader::default() };
            self.log.append_reserved(&header, &Payload::XactCheckpoint(payload))?;
            Ok(minimum)
        })
    }

    fn log_end(&self, begin: Lsn, minimum: Lsn) -> Result<Lsn, Error> {
        let end = EndCheckpoint {
            end_time: log_time(&*self.options.clock),
            minimum,
            db_version: self.version,
            ..EndCheckpoint::default()
        };
        let header = RecordHeader {
            op: Op::END_CKPT,
            fixed_len: 0x88,
            previous: begin,
            ..RecordHeader::default()
        };
        Ok(self.log.append_reserved(&header, &Payload::EndCheckpoint(end))?)
    }

    /// Brings `sysprufiles.size` up to date: a file that grows says so in its header at once, and
    /// here by the next checkpoint that finds room in the log. What is set aside for checkpoints is
    /// not for transactions.
    fn write_file_sizes(&self) -> Result<(), Error> {
        let _ddl = lock(&self.ddl);
        if self.options.purpose == Purpose::Read {
            // Sizes do not change, and before 2008 the table has another name.
            return Ok(());
        }
        let table = self.catalog.system("sysprufiles")?;
        for file in self.space.files() {
            let pages = file.pages();
            if lock(&self.checkpoints.sized).get(&file.id()) == Some(&pages) {
                continue;
            }
            match self.write_size_of(table, file.id(), pages) {
                // A log that is full leaves it to the next checkpoint.
                Err(error) if error.cause() == Cause::LogFull => return Ok(()),
                written => skip_suspect(written)?,
            }
            lock(&self.checkpoints.sized).insert(file.id(), pages);
        }
        Ok(())
    }

    fn write_size_of(&self, table: &SystemTable, file: FileId, pages: u32) -> Result<(), Error> {
        const SIZE: usize = 7 - 1;
        for mut row in table.rows(&[int(i32::from(file.0))])? {
            if row.get(SIZE).and_then(number) != Some(i64::from(pages)) {
                row[SIZE] = int(pages as i32);
                in_own_system(&*self.space, "FileSize", |system| table.replace(system, &row))?;
            }
        }
        Ok(())
    }

    /// Brings the counters in the catalog up to date.
    fn write_counts(&self) -> Result<(), Error> {
        // The rows that hold them move when the catalog changes.
        let _ddl = lock(&self.ddl);
        // What an open transaction made or dropped is counted when it has ended: its rows must be
        // found again by an undo as they were left, and a rowset that gets another unit has the
        // counter of the old one until then.
        let units = self.catalog.units.all();
        for unit in units.into_iter().filter(|unit| !self.catalog.is_pending(unit.id())) {
            let (counts, changes) = unit.counts();
            let known = lock(&self.checkpoints.counted).get(&unit.id()).copied();
            if known.is_some_and(|(_, at)| at == changes) || known.is_none() && changes == 0 {
                continue;
            }
            if known.is_none_or(|(before, _)| before != counts) {
                skip_suspect(self.write_counts_of(&unit, counts))?;
            }
            lock(&self.checkpoints.counted).insert(unit.id(), (counts, changes));
        }
        Ok(())
    }

    fn write_counts_of(&self, unit: &Arc<Unit>, counts: UnitCounts) -> Result<(), Error> {
        let cell = |value, row_offset| CountCell { value, row_offset, bytes: 8 };
        let cells = [
            cell(counts.data, PCDATA_AT),
            cell(counts.used, PCUSED_AT),
            cell(counts.reserved, PCRESERVED_AT),
        ];
        let id = unit.id().0 as u64;
        let part = count_part(KIND_UNIT, id, &cells);
        self.catalog
            .finder()
            .with_row(unit, &mut |page, slot| Ok(self.log_counts(page, slot, part.clone())?))?;
        self.write_rows_of(unit, counts.rows)
    }

    /// The number of rows in `sysrowsets`; only units of rows count them.
    fn write_rows_of(&self, unit: &Unit, rows: i64) -> Result<(), Error> {
        if !self.catalog.counts_rows(unit.id()) {
            return Ok(());
        }
        let tree = &self.catalog.system("sysrowsets")?.indexes[0].tree;
        let found = tree.find(&[bigint(unit.hobt().0)])?;
        let Some(row) = found else {
            return Err(Error::catalog(format!("rowset {} has no row", unit.hobt())));
        };
        let mut page = self.pool.write(row.at.page)?;
        let cells = [CountCell { value: rows, row_offset: RCROWS_AT, bytes: 8 }];
        let part = count_part(KIND_ROWSET, unit.hobt().0 as u64, &cells);
        Ok(self.log_counts(&mut page, row.at.slot.0, part)?)
    }

    /// Logs counters, and stores them in the row at `slot`.
    fn log_counts(
        &self,
        page: &mut PageWriteGuard,
        slot: u16,
        mut fixed: CountPart,
    ) -> Result<(), extentdb_change::Error> {
        fixed.page.slot = slot;
        let link = RecordOwner::Alone(&self.transactions);
        let payload = Payload::CountDelta(CountDelta { fixed });
        change(link, page, Op::COUNT_DELTA, Context::CLUSTERED, payload)?;
        Ok(())
    }

    /// Closes the database: nothing of the log is needed to open it again. Its files are released
    /// as soon as no [`Table`](crate::Table) of it is held any more.
    ///
    /// # Errors
    /// [`Error::SessionsOpen`]: nothing is closed. Others as for
    /// [`checkpoint`](Self::checkpoint). Transactions that are still open are undone by the next
    /// opening.
    pub fn close(self: Arc<Self>) -> Result<(), Error> {
        self.begin_close()?;
        let shutdown = self.write_all()?;
        let checkpoint = lock(&self.checkpoints.last).begin;
        self.mark_closed(checkpoint, shutdown)
    }

    /// From now on no statement begins.
    ///
    /// # Errors
    /// [`Error::SessionsOpen`]: the database stays in service.
    pub(crate) fn begin_close(&self) -> Result<(), Error> {
        // Before the count is read: a session that is not counted finds the flag.
        self.is_closing.store(true, Ordering::SeqCst);
        let sessions = self.open_sessions.load(Ordering::SeqCst);
        if sessions > 0 {
            self.is_closing.store(false, Ordering::SeqCst);
            return Err(Error::SessionsOpen { sessions });
        }
        Ok(())
    }

    /// Makes all durable that memory has, before a close; returns what is needed of the log then.
    ///
    /// # Errors
    /// As for [`checkpoint`](Self::checkpoint).
    pub(crate) fn write_all(&self) -> Result<Shutdown, Error> {
        // The first one writes what is to be written; after the second no page is newer than it.
        self.verify_online()?;
        skip_suspect(self.store_identities())?;
        skip_suspect(self.store_sequences())?;
        self.clean_ghosts()?;
        self.checkpoint()?;
        self.checkpoint()?;
        let is_open = self.transactions.with_active(|active| !active.is_empty());
        let needs_log = is_open || self.checkpoints.needed_from().is_some();
        Ok(if needs_log { Shutdown::NeedsLog } else { Shutdown::Clean })
    }

    /// Says in the boot page how the database was closed; every page is durable by now.
    pub(crate) fn mark_closed(&self, checkpoint: Lsn, shutdown: Shutdown) -> Result<(), Error> {
        let is_clean = shutdown == Shutdown::Clean;
        let last_xact = self.transactions.last_id();
        write_mark(&self.pool, Mark { checkpoint, is_clean, last_xact })?;
        self.double_write.as_ref().map_or(Ok(()), |area| area.remove())?;
        Ok(())
    }
}

fn count_part(kind: u32, id: u64, cells: &[CountCell]) -> CountPart {
    let mut part = CountPart { kind, id, ..CountPart::default() };
    for (place, cell) in part.cells.iter_mut().zip(cells) {
        *place = *cell;
    }
    part
}
