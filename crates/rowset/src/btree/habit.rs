//! What leaves are likely to get next, by where rows came lately: a leaf is split so that what
//! stays behind is full.
//!
//! ```text
//! end of the tree     no late row for long    nothing moves: the page stays full, the next one begins with the row
//!                     rows come late          a tenth of the page goes: those who were overtaken find room
//! behind the last     a run upwards           split at the row that comes; it ends the page before
//! in front of it      a run downwards         the same; in front of all others all of them go
//! anywhere            by chance               halves
//! ```
//!
//! Nothing here is certain, and nothing depends on it but how full pages get: it is kept without a
//! lock, and two leaves that share a place take it from each other.

use extentdb_base::PageId;
use extentdb_base::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Places for leaves.
const PLACES: usize = 128;
/// Rows in a line that make a run.
const RUN_MIN: u8 = 4;
/// After so many rows behind all others, one that came late is forgotten.
const LATE_FORGOTTEN: u32 = 4096;

/// Where rows came lately.
#[derive(Debug)]
pub(super) struct Habits {
    /// Of some leaves where their last row came, and how many came in a line.
    runs: Vec<AtomicU64>,
    /// Rows behind all others to come before a late one is forgotten.
    late: AtomicU32,
}

/// What is expected of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Habit {
    /// Rows come anywhere.
    Scattered,
    /// Each row comes behind the last one, or in front of it.
    Run,
    /// At the end of the tree: each row comes behind all others.
    Appends,
    /// The same, but some come late.
    AppendsLate,
}

/// The last row of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Last {
    page: u32,
    slot: u16,
    up: u8,
    down: u8,
}

impl Default for Habits {
    fn default() -> Habits {
        Habits {
            runs: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
            late: AtomicU32::new(0),
        }
    }
}

impl Habits {
    /// A row comes to a slot of a leaf that has so many, and is the last leaf of the tree or not.
    pub(super) fn note(&self, leaf: PageId, (slot, slots): (u16, u16), is_last: bool) {
        let late = self.late.load(Ordering::Relaxed);
        let now = if is_last && slot == slots { late.saturating_sub(1) } else { LATE_FORGOTTEN };
        // Who stores takes the line from all others.
        if now != late {
            self.late.store(now, Ordering::Relaxed);
        }
        let place = self.place(leaf);
        place.store(Last::of(place).then(leaf, slot).packed(), Ordering::Relaxed);
    }

    /// What to expect of a leaf that has so many slots and no room for a row that comes to one of
    /// them.
    pub(super) fn of(&self, leaf: PageId, (slot, slots): (u16, u16), is_last: bool) -> Habit {
        let last = Last::of(self.place(leaf)).then(leaf, slot);
        let is_at_end = is_last && slot >= slots - slots / 4;
        match () {
            () if is_at_end && self.late.load(Ordering::Relaxed) > 0 => Habit::AppendsLate,
            () if is_at_end && slot == slots => Habit::Appends,
            () if last.up >= RUN_MIN || last.down >= RUN_MIN => Habit::Run,
            () => Habit::Scattered,
        }
    }

    fn place(&self, leaf: PageId) -> &AtomicU64 {
        &self.runs[leaf.page as usize % PLACES]
    }
}

impl Last {
    fn of(place: &AtomicU64) -> Last {
        let [p0, p1, p2, p3, s0, s1, up, down] = place.load(Ordering::Relaxed).to_le_bytes();
        Last {
            page: u32::from_le_bytes([p0, p1, p2, p3]),
            slot: u16::from_le_bytes([s0, s1]),
            up,
            down,
        }
    }

    fn packed(self) -> u64 {
        let [p0, p1, p2, p3] = self.page.to_le_bytes();
        let [s0, s1] = self.slot.to_le_bytes();
        u64::from_le_bytes([p0, p1, p2, p3, s0, s1, self.up, self.down])
    }

    /// After one more row.
    fn then(self, leaf: PageId, slot: u16) -> Last {
        let mut up = 0;
        let mut down = 0;
        if self.page == leaf.page {
            match i32::from(slot) - i32::from(self.slot) {
                1 => up = self.up.saturating_add(1),
                0 => down = self.down.saturating_add(1),
                _ => {}
            }
        }
        Last { page: leaf.page, slot, up, down }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: PageId = PageId::new(1, 77);

    /// The habit of a leaf after rows in these slots, for one more in the last of them.
    fn habit(slots: &[u16], count: u16, is_last: bool) -> Habit {
        let habits = Habits::default();
        let (next, before) = slots.split_last().unwrap();
        before.iter().for_each(|slot| habits.note(LEAF, (*slot, *slot), is_last));
        habits.of(LEAF, (*next, count), is_last)
    }

    #[test]
    fn a_run_is_seen_in_both_directions() {
        assert_eq!(habit(&[3, 4, 5, 6, 7], 50, false), Habit::Run);
        assert_eq!(habit(&[3, 4, 5, 6], 50, false), Habit::Scattered, "too short");
        assert_eq!(habit(&[3, 4, 5, 9, 7], 50, false), Habit::Scattered);
        assert_eq!(habit(&[0; 5], 50, false), Habit::Run);
        assert_eq!(
            habit(&[3, 4, 5, 6, 7], 7, false),
            Habit::Run,
            "at the end of a leaf with a next one"
        );
    }

    #[test]
    fn leaves_share_places_and_lose_nothing_but_a_hint() {
        let habits = Habits::default();
        let other = PageId::new(1, LEAF.page + PLACES as u32);
        for slot in 0..10 {
            habits.note(LEAF, (slot, 50), false);
            habits.note(other, (20, 50), false);
        }
        assert_eq!(habits.of(LEAF, (10, 50), false), Habit::Scattered);
    }

    #[test]
    fn a_late_row_is_remembered_for_some_time() {
        let habits = Habits::default();
        assert_eq!(habits.of(LEAF, (50, 50), true), Habit::Appends);
        habits.note(LEAF, (48, 50), true);
        assert_eq!(habits.of(LEAF, (50, 50), true), Habit::AppendsLate);
        assert_eq!(habits.of(LEAF, (45, 50), true), Habit::AppendsLate);
        assert_eq!(habits.of(LEAF, (10, 50), true), Habit::Scattered);
        (0..LATE_FORGOTTEN).for_each(|_| habits.note(LEAF, (50, 50), true));
        assert_eq!(habits.of(LEAF, (50, 50), true), Habit::Appends);
    }
}
