//! Where a page is cut when it is split.
//!
//! ```text
//! records as they are to lie │ 0 │ 1 │ new │ 2 │ 3 │ 4 │
//! halves                                    ▲            the sizes differ least, and both fit
//! a run                                ▲                 the new record ends the old page
//! rows come late                                   ▲     some bytes stay free before
//! ```

use extentdb_base::size::PAGE_BODY_BYTES;

use super::insert_pattern::InsertPattern;
use super::page::{Node, SLOT_BYTES};
use super::split::{PendingRecord, RecordSlot};
use crate::error::Error;

/// Bytes that stay free on the last leaf of a tree for late rows when it is split. Of many clients
/// a few are late at a time, each on a leaf of its own; where more come, the leaf gives rows to the
/// one [beside it](super::shift).
const LATE_BYTES: usize = PAGE_BODY_BYTES / 32;

/// The first slot that is to leave a page so that there is room for a record.
///
/// The records, the new one included, are cut where the halves differ least among the positions
/// where both fit, unless a leaf has an [insert pattern](super::insert_pattern). A record counts
/// with what is `reserved` for its slot: the longest that an undo makes it.
pub(super) fn cut_at(
    node: Node<'_>,
    need: &PendingRecord<'_>,
    reserved: &[usize],
    insert_pattern: InsertPattern,
) -> Result<u16, Error> {
    let reserved_of = |slot: u16| reserved.get(usize::from(slot)).copied().unwrap_or(0);
    let size_of = |slot| Ok(node.room_of(slot)? + SLOT_BYTES + reserved_of(slot));
    let sizes: Result<Vec<usize>, Error> = (0..node.slot_count()).map(size_of).collect();
    let sizes = sizes?;
    let is_last = need.slot == RecordSlot::New(node.slot_count()) && node.next().is_none();
    let size = node.room(need.row.len()) + SLOT_BYTES;
    let corrupt = Error::Corrupt { page: node.id(), what: "is full and cannot be split" };
    let cut = match need.slot {
        RecordSlot::New(slot) if node.is_leaf() => {
            cut_for_new(&sizes, slot.into(), size, insert_pattern)
        }
        // A page above the leaves gives one record away, so that neither page is empty.
        RecordSlot::New(_) if is_last => sizes.len().checked_sub(1),
        RecordSlot::New(slot) => cut_for_new(&sizes, slot.into(), size, InsertPattern::Scattered),
        RecordSlot::Grown(slot) => cut_for_grown(&sizes, slot.into(), size + reserved_of(slot)),
    };
    let is_sound = |cut: &usize| node.is_leaf() || (1..sizes.len()).contains(cut);
    cut.filter(is_sound).map(|cut| cut as u16).ok_or(corrupt)
}

/// `sizes` are those of the existing records; the new one is inserted before record `slot`.
fn cut_for_new(
    sizes: &[usize],
    slot: usize,
    size: usize,
    insert_pattern: InsertPattern,
) -> Option<usize> {
    let mut all = sizes.to_vec();
    all.insert(slot.min(sizes.len()), size);
    let cut = match insert_pattern {
        InsertPattern::Appends | InsertPattern::Run => return Some(slot),
        InsertPattern::AppendsLate => cut_near(&all, PAGE_BODY_BYTES - LATE_BYTES),
        InsertPattern::Scattered => balanced(&all),
    };
    match cut {
        // The new record is in the left half.
        Some(cut) if slot < cut => Some(cut - 1),
        Some(cut) => Some(cut),
        // It fits with neither of its neighbours: the page is cut at its slot, and once more there.
        None => Some(slot),
    }
}

fn cut_for_grown(sizes: &[usize], slot: usize, size: usize) -> Option<usize> {
    let mut all = sizes.to_vec();
    *all.get_mut(slot)? = size;
    balanced(&all).or(Some(slot.max(1))).filter(|cut| *cut < sizes.len())
}

/// Where to cut a run of records so that each part fits on a page and their sizes differ least.
fn balanced(sizes: &[usize]) -> Option<usize> {
    cut_near(sizes, sizes.iter().sum::<usize>() / 2)
}

/// Where to cut a run of records so that each part fits on a page and the first one has about
/// `bytes` bytes.
fn cut_near(sizes: &[usize], wanted: usize) -> Option<usize> {
    let total: usize = sizes.iter().sum();
    let mut left = 0;
    let cuts =
        sizes.iter().take(sizes.len().saturating_sub(1)).enumerate().filter_map(|(at, size)| {
            left += size;
            let fits = left <= PAGE_BODY_BYTES && total - left <= PAGE_BODY_BYTES;
            fits.then_some((left.abs_diff(wanted), at + 1))
        });
    cuts.min().map(|(_, cut)| cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_makes_room_for_the_new_record_on_both_sides() {
        let cut =
            |sizes: &[usize], slot, size| cut_for_new(sizes, slot, size, InsertPattern::Scattered);
        assert_eq!(cut(&[1000; 8], 0, 1000), Some(3), "left half: one less of the old ones");
        assert_eq!(cut(&[1000; 8], 8, 1000), Some(4));
        assert_eq!(cut(&[8000], 0, 8000), Some(0), "all of them go");
        assert_eq!(cut(&[8000], 1, 8000), Some(1), "none goes");
        assert_eq!(cut(&[4000, 4000], 1, 8000), Some(1), "and once more: it fits beside neither");
    }

    #[test]
    fn a_split_leaves_a_full_page() {
        let cut = |slot, insert_pattern| cut_for_new(&[100; 80], slot, 100, insert_pattern);
        assert_eq!(cut(80, InsertPattern::Appends), Some(80), "nothing moves");
        assert_eq!(cut(80, InsertPattern::AppendsLate), Some(78), "room for some stays");
        assert_eq!(cut(78, InsertPattern::AppendsLate), Some(78));
        assert_eq!(
            cut(70, InsertPattern::AppendsLate),
            Some(77),
            "with the row that comes the same"
        );
        assert_eq!(cut(31, InsertPattern::Run), Some(31), "the row that comes ends the page");
        assert_eq!(cut(0, InsertPattern::Run), Some(0), "all go");
        assert_eq!(cut(80, InsertPattern::Run), Some(80));
        assert_eq!(cut_for_new(&[8000], 1, 8000, InsertPattern::AppendsLate), Some(1));
        assert_eq!(
            cut_for_new(&[4000, 4000], 1, 8000, InsertPattern::AppendsLate),
            Some(1),
            "and once more"
        );
    }

    #[test]
    fn a_cut_makes_room_for_a_record_that_grows() {
        assert_eq!(cut_for_grown(&[2000; 4], 1, 3000), Some(2));
        assert_eq!(cut_for_grown(&[4000, 2000, 2000], 1, 8000), Some(1));
        assert_eq!(cut_for_grown(&[4000, 4000], 0, 8000), Some(1));
        assert_eq!(cut_for_grown(&[4000], 0, 8000), None, "a page of its own always has room");
    }
}
