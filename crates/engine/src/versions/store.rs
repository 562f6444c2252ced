//! The version store: records as they were, in pages of tempdb.
//!
//! ```text
//! keep   writer's lane ─ its open unit ─ last page ─ appended        one latch, no log record
//! read   pointer: unit, page in the unit, slot ─▶ extent ─▶ page
//! clean  units that are full or a minute old are closed; a closed unit whose writers are all seen
//!        by all snapshots is dropped: its extents are free at once
//! ```
//!
//! Known algorithm: SQL Server's append-only store units. Where we differ: each lane has a unit of
//! its own, so that threads append side by side; a unit knows who has written to it, and an old
//! transaction keeps only the units that it has used.
//!
//! Invariants
//! - A pointer names a unit by its number, which is never given again: it leads to the record that
//!   was kept, or to nothing. It is not the address of a page, which would be used again.
//! - Pages are not logged, and no map knows their extents: every start makes a new tempdb. They
//!   are ordinary pages in memory, and are written to the files of tempdb when their frames are
//!   needed.
//! - A lane is locked for one append; its holder latches pages of tempdb only, and waits for
//!   nothing but their I/O and the growth of its files. So `keep` and `read` may be called under
//!   the latch of a page of another database.
//! - A unit is in the table from before its first pointer is given until before its extents are
//!   freed. A reader that has found it there and reads a page later finds the number of another
//!   unit in the header of the page, and says that the record is gone.

use std::collections::HashMap;
use std::time::Duration;

use extentdb_base::Lsn;
use extentdb_base::env::Clock;
use extentdb_base::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Mutex, RwLock, Weak, lock, read, write};
use extentdb_buffer::Pool;
use extentdb_format::page::{PageMut, PageRef};
use extentdb_rowset::version::VersionPointer;
use extentdb_space::Space;

use super::info::StoreSize;
use super::lane::Lane;
use super::unit::{FILEGROUP, Pointer, RecordOwner, Unit, format_page, frame_record, record_of};
use crate::error::Error;

/// Threads that append at the same time without waiting for each other.
const LANES: usize = 8;
/// Parts of the table of units.
const SHARDS: usize = 16;
/// After this time a unit is closed, so that it can be dropped.
const UNIT_AGE_MAX: Duration = Duration::from_secs(60);

/// See the module.
pub(crate) struct VersionPages {
    tempdb: Tempdb,
    clock: Arc<dyn Clock>,
    lanes: [Mutex<Lane>; LANES],
    units: [RwLock<HashMap<u32, Arc<Unit>>>; SHARDS],
    closed: Mutex<Vec<Arc<Unit>>>,
    next_unit: AtomicU32,
    kept: AtomicU64,
    dropped_units: AtomicU64,
}

/// tempdb, which is closed before the server ends.
#[derive(Clone)]
pub(crate) struct Tempdb {
    pool: Weak<Pool>,
    space: Weak<Space>,
}

impl Tempdb {
    pub(crate) fn pool(&self) -> Result<Arc<Pool>, Error> {
        self.pool.upgrade().ok_or_else(closed)
    }

    pub(crate) fn space(&self) -> Result<Arc<Space>, Error> {
        self.space.upgrade().ok_or_else(closed)
    }
}

impl std::fmt::Debug for Tempdb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tempdb")
    }
}

fn closed() -> Error {
    Error::Closing { database: "tempdb".to_owned() }
}

impl VersionPages {
    /// In this tempdb.
    pub(crate) fn new(pool: &Arc<Pool>, space: &Arc<Space>, clock: Arc<dyn Clock>) -> VersionPages {
        VersionPages {
            tempdb: Tempdb { pool: Arc::downgrade(pool), space: Arc::downgrade(space) },
            clock,
            lanes: Default::default(),
            units: Default::default(),
            closed: Mutex::default(),
            next_unit: AtomicU32::new(1),
            kept: AtomicU64::new(0),
            dropped_units: AtomicU64::new(0),
        }
    }

    /// Where its pages are.
    pub(crate) fn tempdb(&self) -> &Tempdb {
        &self.tempdb
    }

    /// Appends a record.
    ///
    /// # Errors
    /// [`Error::VersionStoreFull`]: tempdb has no room.
    pub(crate) fn keep(
        &self,
        owner: RecordOwner<'_>,
        record: &[u8],
    ) -> Result<VersionPointer, Error> {
        let pool = self.tempdb.pool()?;
        let framed = frame_record(owner, record)?;
        // Of one writer all records are in one lane; those of neighbours are not.
        let lane = &mut *lock(&self.lanes[owner.writer.low as usize % LANES]);
        if let Some(at) = self.append(&pool, lane, owner, &framed)? {
            return Ok(at.to_stored());
        }
        self.begin_page(&pool, lane)?;
        let at = self.append(&pool, lane, owner, &framed)?;
        at.map(Pointer::to_stored).ok_or(Error::VersionTooLong { bytes: record.len() })
    }

    /// Appends to the last page of a lane's unit; `None` when it has no room.
    fn append(
        &self,
        pool: &Pool,
        lane: &mut Lane,
        owner: RecordOwner<'_>,
        framed: &[u8],
    ) -> Result<Option<Pointer>, Error> {
        let Some((unit, page, id)) = lane.last_page() else { return Ok(None) };
        let mut guard = pool.write(id)?;
        if !PageMut::new(guard.bytes_mut()).fits(framed.len()) {
            return Ok(None);
        }
        guard.set_dirty(Lsn::ZERO);
        let Some(slot) = PageMut::new(guard.bytes_mut()).push(framed) else { return Ok(None) };
        drop(guard);
        let at = Pointer { unit: unit.number(), page, slot };
        lane.note(owner, framed.len());
        self.kept.fetch_add(1, Ordering::Relaxed);
        Ok(Some(at))
    }

    /// A new last page, in a new unit when the one of the lane is full.
    fn begin_page(&self, pool: &Pool, lane: &mut Lane) -> Result<(), Error> {
        if lane.is_full() {
            self.close_unit(lane);
        }
        let unit = match lane.unit() {
            Some(unit) => unit.clone(),
            None => {
                let number = self.next_unit.fetch_add(1, Ordering::Relaxed);
                let unit = Arc::new(Unit::new(number));
                write(self.shard(number)).insert(number, unit.clone());
                lane.begin(unit.clone(), self.clock.monotonic());
                unit
            }
        };
        let page = lane.next_page();
        let id = match unit.page(page) {
            Some(id) => id,
            None => {
                let extent = self.tempdb.space()?.claim_unmapped(FILEGROUP).map_err(full)?;
                unit.add(extent);
                extent.first_page()
            }
        };
        let mut guard = pool.create(id)?;
        guard.set_dirty(Lsn::ZERO);
        format_page(guard.bytes_mut(), id, unit.number());
        lane.advance();
        Ok(())
    }

    /// A kept record; `None` when it is gone.
    ///
    /// # Errors
    /// tempdb is closed, or its page cannot be read.
    pub(crate) fn read(&self, at: VersionPointer) -> Result<Option<Vec<u8>>, Error> {
        let at = Pointer::of_stored(at);
        let unit = read(self.shard(at.unit)).get(&at.unit).cloned();
        let Some(page) = unit.and_then(|unit| unit.page(at.page)) else { return Ok(None) };
        let guard = self.tempdb.pool()?.read(page)?;
        Ok(record_of(PageRef::new(&guard), at).map(<[u8]>::to_vec))
    }

    /// Closes units that are old, and drops those that nobody needs.
    pub(crate) fn clean(&self) -> Result<(), Error> {
        let now = self.clock.monotonic();
        for lane in &self.lanes {
            let lane = &mut *lock(lane);
            if lane.began().is_some_and(|began| now.saturating_sub(began) >= UNIT_AGE_MAX) {
                self.close_unit(lane);
            }
        }
        let mut unneeded = Vec::new();
        lock(&self.closed).retain(|unit| {
            let is_needed = unit.is_needed();
            if !is_needed {
                unneeded.push(unit.clone());
            }
            is_needed
        });
        if unneeded.is_empty() {
            return Ok(());
        }
        let space = self.tempdb.space()?;
        for unit in unneeded {
            write(self.shard(unit.number())).remove(&unit.number());
            for extent in unit.extents() {
                space.release_unmapped(extent)?;
            }
            self.dropped_units.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Closes all units, as if they were old. For tests.
    #[cfg(test)]
    pub(crate) fn close_units(&self) {
        self.lanes.iter().for_each(|lane| self.close_unit(&mut lock(lane)));
    }

    fn close_unit(&self, lane: &mut Lane) {
        if let Some(unit) = lane.close() {
            lock(&self.closed).push(unit);
        }
    }

    /// How large it is.
    pub(crate) fn size(&self) -> StoreSize {
        let mut size = StoreSize {
            records_kept: self.kept.load(Ordering::Relaxed),
            units_dropped: self.dropped_units.load(Ordering::Relaxed),
            ..StoreSize::default()
        };
        for lane in &self.lanes {
            lock(lane).add_usage(&mut size);
        }
        lock(&self.closed).iter().for_each(|unit| unit.add_usage(&mut size));
        size
    }

    fn shard(&self, unit: u32) -> &RwLock<HashMap<u32, Arc<Unit>>> {
        &self.units[unit as usize % SHARDS]
    }
}

/// tempdb has no room: the statement that would keep a record fails.
fn full(error: extentdb_space::Error) -> Error {
    match Error::from(error) {
        error if error.cause() == crate::error::Cause::FilegroupFull => {
            Error::VersionStoreFull { source: Box::new(error) }
        }
        error => error,
    }
}

impl std::fmt::Debug for VersionPages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VersionPages({} records kept)", self.kept.load(Ordering::Relaxed))
    }
}
