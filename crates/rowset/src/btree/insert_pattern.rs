//! Insert patterns: the split heuristic. Where rows were inserted into a leaf lately tells where
//! the next one is likely to be inserted; the leaf is split so that the page without further
//! inserts stays full. PostgreSQL and SQL Server have the case of the rightmost leaf; runs inside
//! the tree and late rows are ours.
//!
//! ```text
//! end of the tree no late row for long nothing moves: the page stays full, the new page begins
//!     with the row
//!                 late rows            some rows move: later late rows find room
//! after the last  ascending run        split at the new row, which is the last of the old page
//! before it       descending run       the same; before all others all of them move
//! anywhere        no pattern           halves
//! ```
//!
//! The patterns are hints: only the fullness of pages depends on them. They are kept without a
//! lock, and two leaves with the same hash overwrite each other's entry.

use extentdb_base::PageId;
use extentdb_base::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Entries of the hash table of leaves.
const ENTRIES: usize = 128;
/// Adjacent inserts that make a run.
const RUN_MIN: u8 = 4;
/// Inserts after the last key of the tree until a late row is forgotten.
const LATE_FORGOTTEN: u32 = 4096;

/// Where rows were inserted lately, by leaf.
#[derive(Debug)]
pub(super) struct InsertPatterns {
    /// Per leaf the slot of the last insert, and the length of its run.
    runs: Vec<AtomicU64>,
    /// Inserts after the last key until the last late row is forgotten.
    late: AtomicU32,
}

/// What is expected of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InsertPattern {
    Scattered,
    /// Each insert is adjacent to the last one, in ascending or descending order.
    Run,
    /// Each insert is after the last key of the tree.
    Appends,
    /// The same, but some rows are late: less than the last key.
    AppendsLate,
}

/// Where a row is inserted into a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct InsertSlot {
    pub(super) leaf: PageId,
    pub(super) slot: u16,
    /// Slots of the leaf before the insert.
    pub(super) slots: u16,
    /// Is it the last leaf of the tree?
    pub(super) is_last_leaf: bool,
}

/// The last insert into a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LastInsert {
    page: u32,
    slot: u16,
    up: u8,
    down: u8,
}

impl Default for InsertPatterns {
    fn default() -> InsertPatterns {
        InsertPatterns {
            runs: (0..ENTRIES).map(|_| AtomicU64::new(0)).collect(),
            late: AtomicU32::new(0),
        }
    }
}

impl InsertPatterns {
    /// Notes an insert.
    pub(super) fn note(&self, at: InsertSlot) {
        let late = self.late.load(Ordering::Relaxed);
        let is_after_all = at.is_last_leaf && at.slot == at.slots;
        let now = if is_after_all { late.saturating_sub(1) } else { LATE_FORGOTTEN };
        // A store takes the cache line from all other cores.
        if now != late {
            self.late.store(now, Ordering::Relaxed);
        }
        let entry = self.entry(at.leaf);
        entry.store(LastInsert::of(entry).then(at.leaf, at.slot).packed(), Ordering::Relaxed);
    }

    /// The pattern of a full leaf, for a row that is to be inserted.
    pub(super) fn of(&self, at: InsertSlot) -> InsertPattern {
        let last = LastInsert::of(self.entry(at.leaf)).then(at.leaf, at.slot);
        let is_at_end = at.is_last_leaf && at.slot >= at.slots - at.slots / 4;
        if is_at_end && self.late.load(Ordering::Relaxed) > 0 {
            InsertPattern::AppendsLate
        } else if is_at_end && at.slot == at.slots {
            InsertPattern::Appends
        } else if last.up >= RUN_MIN || last.down >= RUN_MIN {
            InsertPattern::Run
        } else {
            InsertPattern::Scattered
        }
    }

    fn entry(&self, leaf: PageId) -> &AtomicU64 {
        &self.runs[leaf.page as usize % ENTRIES]
    }
}

impl LastInsert {
    fn of(entry: &AtomicU64) -> LastInsert {
        let [p0, p1, p2, p3, s0, s1, up, down] = entry.load(Ordering::Relaxed).to_le_bytes();
        LastInsert {
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
    fn then(self, leaf: PageId, slot: u16) -> LastInsert {
        let mut up = 0;
        let mut down = 0;
        if self.page == leaf.page {
            match i32::from(slot) - i32::from(self.slot) {
                1 => up = self.up.saturating_add(1),
                0 => down = self.down.saturating_add(1),
                _ => {}
            }
        }
        LastInsert { page: leaf.page, slot, up, down }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: PageId = PageId::new(1, 77);

    fn at(leaf: PageId, slot: u16, slots: u16, is_last_leaf: bool) -> InsertSlot {
        InsertSlot { leaf, slot, slots, is_last_leaf }
    }

    /// The pattern of a leaf after inserts into these slots, for one more into the last of them.
    fn insert_pattern(slots: &[u16], count: u16, is_last: bool) -> InsertPattern {
        let insert_patterns = InsertPatterns::default();
        let (next, before) = slots.split_last().unwrap();
        before.iter().for_each(|slot| insert_patterns.note(at(LEAF, *slot, *slot, is_last)));
        insert_patterns.of(at(LEAF, *next, count, is_last))
    }

    #[test]
    fn a_run_is_seen_in_both_directions() {
        assert_eq!(insert_pattern(&[3, 4, 5, 6, 7], 50, false), InsertPattern::Run);
        assert_eq!(insert_pattern(&[3, 4, 5, 6], 50, false), InsertPattern::Scattered, "too short");
        assert_eq!(insert_pattern(&[3, 4, 5, 9, 7], 50, false), InsertPattern::Scattered);
        assert_eq!(insert_pattern(&[0; 5], 50, false), InsertPattern::Run);
        assert_eq!(
            insert_pattern(&[3, 4, 5, 6, 7], 7, false),
            InsertPattern::Run,
            "at the end of a leaf with a next one"
        );
    }

    #[test]
    fn leaves_with_the_same_entry_lose_only_a_hint() {
        let insert_patterns = InsertPatterns::default();
        let other = PageId::new(1, LEAF.page + ENTRIES as u32);
        for slot in 0..10 {
            insert_patterns.note(at(LEAF, slot, 50, false));
            insert_patterns.note(at(other, 20, 50, false));
        }
        assert_eq!(insert_patterns.of(at(LEAF, 10, 50, false)), InsertPattern::Scattered);
    }

    #[test]
    fn a_late_row_is_remembered_for_some_time() {
        let insert_patterns = InsertPatterns::default();
        assert_eq!(insert_patterns.of(at(LEAF, 50, 50, true)), InsertPattern::Appends);
        insert_patterns.note(at(LEAF, 48, 50, true));
        assert_eq!(insert_patterns.of(at(LEAF, 50, 50, true)), InsertPattern::AppendsLate);
        assert_eq!(insert_patterns.of(at(LEAF, 45, 50, true)), InsertPattern::AppendsLate);
        assert_eq!(insert_patterns.of(at(LEAF, 10, 50, true)), InsertPattern::Scattered);
        (0..LATE_FORGOTTEN).for_each(|_| insert_patterns.note(at(LEAF, 50, 50, true)));
        assert_eq!(insert_patterns.of(at(LEAF, 50, 50, true)), InsertPattern::Appends);
    }
}
