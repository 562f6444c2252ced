//! The order of keys inside one page: 2511 and 2512. Exact, for every row, so nothing here may cost.
//!
//! ```text
//! slot         0     1     2     3
//! first int    17    19    19    40      rising: nothing more to do
//!                     └──┬──┘            not rising: the columns of the lead, then the whole keys are compared
//! ```
//!
//! Ghosts hold their place in the order. A row may stand beside a ghost of its own key: that is no duplicate.
//!
//! The first slot of the leftmost page of an upper level has no key (`ondisk.md` 6.1).

use std::cmp::Ordering;

use extentdb_format::record::RecordKind;

use super::key::KeyPlan;
use crate::sound::{Entry, Sound};

/// Bits 1 to 3 of the status of a record that is kept for older versions only and has no columns.
const VERSION: u8 = RecordKind::GhostVersion.bits();
const KIND: u8 = 0x0e;

/// Two neighbouring slots that are not in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Disorder {
    /// 2511
    Falling(u16, u16),
    /// 2512
    Same(u16, u16),
    /// It is not known whether they are.
    Undecided,
}

/// True for a record with a key.
#[inline]
pub(super) fn has_key(entry: &Entry<'_>) -> bool {
    entry.bytes.first().is_some_and(|status| status & KIND != VERSION)
}

/// Compares each row of a page with the next one.
pub(super) fn compare_neighbours(
    page: &Sound<'_>,
    plan: &KeyPlan,
    has_first: bool,
    report: impl FnMut(Disorder),
) {
    let mut pairs = Pairs { plan, is_leaf: page.is_leaf, report };
    let skipped = usize::from(!has_first);
    let entries = page.entries().skip(skipped).filter(has_key);
    let Some(lead) = plan.lead(page.is_leaf) else { return pairs.walk(entries, |_| None, |_, _| false) };
    // Rows have a fixed part of their own length each, index entries one of the page's.
    if page.is_data() {
        let end = lead.end();
        let is_rising = |a: &[u8], b: &[u8]| data_end(a) >= end && data_end(b) >= end && lead.is_rising(a, b);
        return match lead.int_at() {
            Some(at) => {
                pairs.walk(entries, |row| if data_end(row) >= end { int(row, at) } else { None }, is_rising)
            }
            None => pairs.walk(entries, |_| None, is_rising),
        };
    }
    let is_whole = page.first().is_some_and(|first| lead.end() <= first.record().fixed_end());
    let is_rising = |a: &[u8], b: &[u8]| is_whole && lead.is_rising(a, b);
    match lead.int_at() {
        Some(at) if is_whole => pairs.walk(entries, |entry| int(entry, at), is_rising),
        _ => pairs.walk(entries, |_| None, is_rising),
    }
}

#[inline(always)]
fn int(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes) ^ 1 << 31)
}

/// Where the fixed part of a row of a data page ends.
#[inline(always)]
fn data_end(bytes: &[u8]) -> usize {
    bytes.get(2..).and_then(<[u8]>::first_chunk).map_or(0, |end| usize::from(u16::from_le_bytes(*end)))
}

struct Pairs<'k, R> {
    plan: &'k KeyPlan,
    is_leaf: bool,
    report: R,
}

impl<R: FnMut(Disorder)> Pairs<'_, R> {
    #[inline(always)]
    fn walk<'a>(
        &mut self,
        mut entries: impl Iterator<Item = Entry<'a>>,
        number: impl Fn(&[u8]) -> Option<u32>,
        is_rising: impl Fn(&[u8], &[u8]) -> bool,
    ) {
        let Some(mut before) = entries.next() else { return };
        let mut last = number(before.bytes);
        for entry in entries {
            let next = number(entry.bytes);
            let is_more = matches!((last, next), (Some(last), Some(next)) if last < next);
            if !is_more && !is_rising(before.bytes, entry.bytes) {
                self.compare(&before, &entry);
            }
            before = entry;
            last = next;
        }
    }

    fn compare(&mut self, before: &Entry<'_>, entry: &Entry<'_>) {
        let (a, b) = (before.record(), entry.record());
        match self.plan.compare_records(&a, &b, self.is_leaf) {
            Some(Ordering::Less) => {}
            Some(Ordering::Greater) => (self.report)(Disorder::Falling(before.slot, entry.slot)),
            Some(Ordering::Equal) => {
                let is_ghost = before.kind().is_ghost() || entry.kind().is_ghost();
                // Keys that are equal only by their collation are left to those who know it better.
                if !self.plan.may_repeat && !is_ghost && self.plan.is_same(&a, &b, self.is_leaf) {
                    (self.report)(Disorder::Same(before.slot, entry.slot));
                }
            }
            None => (self.report)(Disorder::Undecided),
        }
    }
}
