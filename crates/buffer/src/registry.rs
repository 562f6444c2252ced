//! The databases that use a memory, by number.
//!
//! ```text
//! slot: free ── reserve ──▶ closed ── open ──▶ open ── close ──▶ closed ── release ──▶ free
//!                                               │ visit: a thread writes a page of the database
//!                                               ▼
//!                                         close waits for the visits that have begun
//! ```
//!
//! A thread of any database that needs a frame may have to write a page of another. It does that as
//! a *visit*. Invariants
//! - The registry keeps no database alive, and is not locked while anything is waited for but the
//!   end of a visit.
//! - After `close` no visit of the database begins, and none is under way: no file and no log of it
//!   is used by others, nor kept open.

use std::time::Duration;

use extentdb_base::PageId;
use extentdb_base::sync::{Arc, Condvar, Mutex, Weak, lock, wait, wait_at_most};

use crate::Error;
use crate::page_key::{DATABASES_MAX, DatabaseNumber};

/// The end of a visit may take longer: then the evictor looks for another frame meanwhile.
const WAIT_MAX: Duration = Duration::from_millis(20);

/// A database as an evictor sees it.
pub(crate) trait WritePages: Send + Sync {
    /// Writes a page together with dirty neighbours whose latch is free; and, because a copy has to
    /// become durable first, with other dirty pages of the database that the clock would reach
    /// soon. Not durable before the next sync.
    fn write_around(&self, page: PageId, purpose: Purpose) -> Result<WriteTotals, Error>;
}

/// What a page is written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// A request needs its frame.
    Eviction,
    /// The lazy writer frees frames ahead of need.
    LazyWriter,
}

/// What was written.
#[derive(Clone, Copy, Default)]
pub(crate) struct WriteTotals {
    pub(crate) pages: u64,
    pub(crate) writes: u64,
}

#[derive(Default)]
pub(crate) struct Registry {
    slots: Mutex<Vec<Slot>>,
    /// The last visit of a closed slot has ended, or a slot is closed no more.
    changed: Condvar,
}

#[derive(Default)]
enum Slot {
    #[default]
    Free,
    Taken {
        /// None while it is closed.
        owner: Option<Weak<dyn WritePages>>,
        visits: usize,
    },
}

/// The right to write pages of a database, until this is dropped.
pub(crate) struct Visit<'a> {
    registry: &'a Registry,
    number: DatabaseNumber,
    /// None in `drop` only.
    owner: Option<Arc<dyn WritePages>>,
}

impl Registry {
    /// The smallest free number, for the caller. Its slot is closed.
    ///
    /// # Panics
    /// When there is none.
    pub(crate) fn reserve(&self) -> DatabaseNumber {
        let mut slots = lock(&self.slots);
        let index = slots.iter().position(|slot| matches!(slot, Slot::Free));
        let index = index.unwrap_or(slots.len());
        assert!(index < DATABASES_MAX, "{DATABASES_MAX} databases use the buffer memory already");
        if index == slots.len() {
            slots.push(Slot::Free);
        }
        slots[index] = Slot::Taken { owner: None, visits: 0 };
        DatabaseNumber::of_index(index)
    }

    /// Admits visits to the frames of a database from now on.
    pub(crate) fn open(&self, number: DatabaseNumber, opened: Weak<dyn WritePages>) {
        if let Some(Slot::Taken { owner, .. }) = slot(&mut lock(&self.slots), number) {
            *owner = Some(opened);
        }
        self.changed.notify_all();
    }

    /// Admits no more visits, and waits until those under way have ended.
    pub(crate) fn close(&self, number: DatabaseNumber) {
        let mut slots = lock(&self.slots);
        while let Some(Slot::Taken { owner, visits }) = slot(&mut slots, number) {
            *owner = None;
            if *visits == 0 {
                return;
            }
            slots = wait(&self.changed, slots);
        }
    }

    /// The number may be used again. Its slot is closed, and no frame holds a page of it.
    pub(crate) fn release(&self, number: DatabaseNumber) {
        if let Some(slot) = slot(&mut lock(&self.slots), number) {
            *slot = Slot::Free;
        }
        self.changed.notify_all();
    }

    /// Begins a visit; none when the slot is free or closed.
    pub(crate) fn visit(&self, number: DatabaseNumber) -> Option<Visit<'_>> {
        let mut slots = lock(&self.slots);
        let Some(Slot::Taken { owner: Some(owner), visits }) = slot(&mut slots, number) else {
            return None;
        };
        let owner = owner.upgrade()?;
        *visits += 1;
        Some(Visit { registry: self, number, owner: Some(owner) })
    }

    /// Waits for an instant while the slot is closed: the pages of the database leave the memory.
    pub(crate) fn wait_while_closed(&self, number: DatabaseNumber) {
        let slots = lock(&self.slots);
        drop(wait_at_most(&self.changed, slots, WAIT_MAX, |slots| {
            matches!(slot(slots, number), Some(Slot::Taken { owner: None, .. }))
        }));
    }

    /// Databases that use the memory.
    pub(crate) fn len(&self) -> usize {
        lock(&self.slots).iter().filter(|slot| matches!(slot, Slot::Taken { .. })).count()
    }
}

fn slot(slots: &mut [Slot], number: DatabaseNumber) -> Option<&mut Slot> {
    slots.get_mut(number.index()?)
}

impl Visit<'_> {
    pub(crate) fn owner(&self) -> Option<&dyn WritePages> {
        self.owner.as_deref()
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        // First the reference, with all its files; then the one who waits for that.
        self.owner = None;
        let mut slots = lock(&self.registry.slots);
        let Some(Slot::Taken { owner, visits }) = slot(&mut slots, self.number) else { return };
        *visits -= 1;
        if owner.is_none() && *visits == 0 {
            self.registry.changed.notify_all();
        }
    }
}

impl WriteTotals {
    pub(crate) fn add(&mut self, more: WriteTotals) {
        self.pages += more.pages;
        self.writes += more.writes;
    }
}
