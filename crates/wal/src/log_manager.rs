//! The log manager: records in, LSNs out.
//!
//! ```text
//!  append ──▶ open block ─▶ closed blocks ─▶ file           state.rs: what is in memory
//!  flush   ─────────────────────▲   one writes for all       flush.rs
//!  append without a free VLF ──▶ the file grows              grow.rs
//!  with_record, scan ◀── memory, recent blocks, file         reader.rs
//! ```
//!
//! Invariants
//! - LSNs are handed out in the order in which records will be found.
//! - What [`Log::append`] lets in leaves room for all that was reserved: undo can always be logged.
//! - No file is touched while the state is locked.

use extentdb_base::env::Clock;
use extentdb_base::sync::{Arc, Condvar, Mutex, MutexGuard, lock};
use extentdb_base::{Lsn, Outage};
use extentdb_format::log::vlf::{FIRST_VLF_OFFSET, VLF_HEADER_AREA};
use extentdb_format::log::{BlockBuilder, Payload, RecordHeader, Vlf};
use extentdb_io::{DiskCounters, DiskFile, Durability, Fill};

use crate::error::Error;
use crate::read_cache::ReadCache;
use crate::spec::{LogIdentity, LogSpec};
use crate::state::{FORMAT, HalfFullSignal, MAX_RECORD_BYTES, Placing, State, Tail};
use crate::stats::LogStats;
use crate::vlf::{GrowthRule, VlfTable, next_use, sizes_of_new_file, unused};

/// The transaction log of a database.
pub struct Log {
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) growth: GrowthRule,
    pub(crate) state: Mutex<State>,
    /// Shared with the state, and read by every statement.
    outage: Outage,
    /// Log buffers were written, the log grew, or it went offline.
    pub(crate) changed: Condvar,
    /// Callers of flush, by the round that writes for them.
    pub(crate) rounds: [Condvar; 2],
    /// All callers that a leader waits for have arrived.
    pub(crate) gathered: Condvar,
    pub(crate) cache: Mutex<ReadCache>,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = lock(&self.state);
        let last = state.last;
        let durable = state.durable;
        let minimum = state.minimum;
        write!(
            f,
            "Log({}, last {last}, durable {durable}, minimum {minimum})",
            self.file.path().display()
        )
    }
}

impl Log {
    /// Which database a log file belongs to. Nothing but the file header page is read.
    ///
    /// # Errors
    /// [`Error::Corrupt`] at offset 0 when that page is damaged or not that of a log file.
    pub fn identity(file: &dyn DiskFile) -> Result<LogIdentity, Error> {
        LogIdentity::read(file)
    }

    /// Where the log file is.
    pub fn path(&self) -> &std::path::Path {
        self.file.path()
    }

    /// Makes a new log in an empty file. It is durable when the call returns.
    ///
    /// # Errors
    /// The file has content, the specification asks for less than
    /// [`MIN_LOG_BYTES`](crate::MIN_LOG_BYTES), or the disk fails.
    pub fn create(
        file: Arc<dyn DiskFile>,
        spec: &LogSpec,
        clock: Arc<dyn Clock>,
    ) -> Result<Log, Error> {
        let bytes = spec.file_bytes()?;
        if file.len() != 0 {
            return Err(Error::NotEmpty { bytes: file.len() });
        }
        file.extend(bytes, Fill::Zeros)?;
        let mut offset = FIRST_VLF_OFFSET;
        let mut vlfs = Vec::new();
        for size in sizes_of_new_file(bytes - FIRST_VLF_OFFSET) {
            vlfs.push(Vlf { offset, header: unused(offset, size) });
            offset += size;
        }
        vlfs[0].header = next_use(&vlfs[0].header, spec.first_sequence);
        for vlf in &vlfs {
            file.write_at(vlf.offset, &[&vlf.header.to_area(0)], Durability::Deferred)?;
        }
        file.write_at(0, &[&spec.header_page(bytes)[..]], Durability::Deferred)?;
        file.sync()?;
        let table = VlfTable::new(vlfs, spec.first_sequence);
        let tail = Tail { vlf: 0, at: VLF_HEADER_AREA, previous_size: 0 };
        let minimum = Lsn::new(spec.first_sequence, (VLF_HEADER_AREA / 512) as u32, 1);
        let state = State::new(table, tail, spec.sector(), Lsn::ZERO, minimum);
        Ok(Log::with_state(file, clock, spec.growth_rule(), state))
    }

    pub(crate) fn with_state(
        file: Arc<dyn DiskFile>,
        clock: Arc<dyn Clock>,
        growth: GrowthRule,
        state: State,
    ) -> Log {
        let outage = state.outage.clone();
        let state = Mutex::new(state);
        let changed = Condvar::new();
        let rounds = [Condvar::new(), Condvar::new()];
        Log {
            file,
            clock,
            growth,
            state,
            outage,
            changed,
            rounds,
            gathered: Condvar::new(),
            cache: Mutex::default(),
        }
    }

    /// Appends a record to the block in memory and returns its LSN. Waits for the device only when
    /// all log buffers are full or the file must grow.
    ///
    /// A fixed length of 0 in `header` stands for the operation's own. `reserve` bytes of log are
    /// reserved for the undo of this record, until [`release`](Self::release).
    ///
    /// # Errors
    /// [`Error::Full`] when the log would not hold the record and all reservations; then nothing
    /// was reserved.
    pub fn append(
        &self,
        header: &RecordHeader,
        payload: &Payload<'_>,
        reserve: u64,
    ) -> Result<Lsn, Error> {
        self.add(header, payload, Some(reserve))
    }

    /// As [`append`](Self::append), into space that is reserved: for compensation records, the end
    /// of a rollback, and checkpoints.
    ///
    /// # Errors
    /// [`Error::Full`] when the reserved space is used up: more was written than had been reserved.
    pub fn append_reserved(
        &self,
        header: &RecordHeader,
        payload: &Payload<'_>,
    ) -> Result<Lsn, Error> {
        self.add(header, payload, None)
    }

    /// Ensures that records of `bytes` bytes can be appended besides the reserved space: the log
    /// grows if needed. They are appended with [`append_reserved`](Self::append_reserved).
    ///
    /// # Errors
    /// [`Error::Full`] when there is no room, and the log cannot grow.
    pub fn ensure(&self, bytes: u64) -> Result<(), Error> {
        self.grow_until(bytes, |state| state.has_room_for_checkpoint(bytes)).map(|_| ())
    }

    /// Reserves `bytes` bytes for undo, until [`release`](Self::release).
    ///
    /// # Errors
    /// [`Error::Full`] when there is no room, and the log cannot grow.
    pub fn reserve(&self, bytes: u64) -> Result<(), Error> {
        let mut state =
            self.grow_until(bytes, |state| state.has_room_besides_reserved(0, bytes))?;
        state.reserved = state.reserved.saturating_add(bytes);
        Ok(())
    }

    fn grow_until(
        &self,
        wanted: u64,
        has_room: impl Fn(&State) -> bool,
    ) -> Result<MutexGuard<'_, State>, Error> {
        let mut state = lock(&self.state);
        loop {
            state.verify_online()?;
            if has_room(&state) {
                return Ok(state);
            }
            state = self.grow(state, wanted)?;
        }
    }

    /// Gives back what was reserved: the record was undone, or its transaction has ended.
    pub fn release(&self, bytes: u64) {
        let mut state = lock(&self.state);
        debug_assert!(bytes <= state.reserved, "more released than reserved");
        state.reserved = state.reserved.saturating_sub(bytes);
    }

    /// Adds a record; `reserve` is `None` when it may use what is reserved.
    fn add(
        &self,
        header: &RecordHeader,
        payload: &Payload<'_>,
        reserve: Option<u64>,
    ) -> Result<Lsn, Error> {
        let header = RecordHeader { fixed_len: fixed_len(header, payload), ..*header };
        let bytes = BlockBuilder::bytes_of(FORMAT, &header, payload)?;
        if bytes > MAX_RECORD_BYTES {
            return Err(Error::RecordTooBig { bytes, most: MAX_RECORD_BYTES });
        }
        let mut state = self.make_room(bytes, reserve)?;
        let lsn = state.push(&header, payload)?;
        state.reserved = state.reserved.saturating_add(reserve.unwrap_or(0));
        Ok(lsn)
    }

    /// Waits and grows until the open block takes a record of `bytes`.
    fn make_room(
        &self,
        bytes: usize,
        reserve: Option<u64>,
    ) -> Result<MutexGuard<'_, State>, Error> {
        let wanted = (bytes as u64).saturating_add(reserve.unwrap_or(0));
        let mut state = lock(&self.state);
        state.note_size(bytes, reserve.unwrap_or(0));
        loop {
            state.verify_online()?;
            let fits =
                reserve.is_none_or(|reserve| state.has_room_besides_reserved(bytes, reserve));
            let placing = if fits { state.place_record(bytes)? } else { Placing::NoVlf };
            state = match placing {
                Placing::Ready => return Ok(state),
                Placing::NoVlf => self.grow(state, wanted)?,
                Placing::NoBuffer => self.drain(state)?,
            };
        }
    }

    /// From now on `signal` is called when half of the log buffers are full and no write is in
    /// progress, with the log locked: it wakes a thread that calls
    /// [`write_if_half_full`](Self::write_if_half_full), and calls nothing of the log itself.
    pub fn on_half_full(&self, signal: Arc<dyn Fn() + Send + Sync>) {
        lock(&self.state).half_full = HalfFullSignal(Some(signal));
    }

    /// LSN of the newest record; zero when the log has none.
    pub fn last(&self) -> Lsn {
        lock(&self.state).last
    }

    /// Every record up to this one is durable; zero when none is.
    pub fn durable(&self) -> Lsn {
        lock(&self.state).durable
    }

    /// Least LSN of the next block: every future record has this LSN or a greater one.
    pub fn next(&self) -> Lsn {
        let state = lock(&self.state);
        match &state.open {
            Some((first, block)) => Lsn { slot: block.record_count() + 1, ..*first },
            None => state.tail_lsn(),
        }
    }

    /// Bytes that hold active log: from the VLF with the minimum LSN to the newest record.
    pub fn used_bytes(&self) -> u64 {
        let state = lock(&self.state);
        state.vlfs.total_bytes() - state.free_bytes()
    }

    /// Bytes of all VLFs, without their headers.
    pub fn total_bytes(&self) -> u64 {
        lock(&self.state).vlfs.total_bytes()
    }

    /// Bytes reserved for undo.
    pub fn reserved_bytes(&self) -> u64 {
        lock(&self.state).reserved
    }

    /// What the log has done since it was opened.
    pub fn stats(&self) -> LogStats {
        lock(&self.state).stats
    }

    /// What was done to its file.
    pub fn disk_counters(&self) -> DiskCounters {
        self.file.counters()
    }

    /// Whether the log is online, shared with other components that stop when it is not.
    pub fn outage(&self) -> &Outage {
        &self.outage
    }
}

/// The length of the fixed part: as asked for, or that of the operation.
fn fixed_len(header: &RecordHeader, payload: &Payload<'_>) -> u16 {
    if header.fixed_len != 0 {
        return header.fixed_len;
    }
    let least = payload.least_fixed_len().next_multiple_of(2);
    let least = u16::try_from(least).unwrap_or(u16::MAX);
    header.op.fixed_len(FORMAT).unwrap_or(least).max(least)
}
