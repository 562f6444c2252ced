//! The order of keys inside one page: 2511 and 2512. Exact, for every row, so nothing here may
//! cost.
//!
//! ```text
//! slot             0     1     2     3
//! leading         17    19    19    40      ascending: nothing more to do
//!                         └──┬──┘            not certainly ascending: the whole keys are compared
//! ```
//!
//! Ghosts take part in the order. A row may follow a ghost of the same key: that is no duplicate.
//!
//! The first slot of the leftmost page of an upper level has no key (`docs/check.md` 6).

use std::cmp::Ordering;

use extentdb_format::record::RecordKind;

use super::key::KeyPlan;
use super::lead::{Lead, Pairs};
use crate::sound::{Entry, SoundPage, with_spans};
use crate::spans::RecordSpans;

/// Bits 1 to 3 of the status of a record that is kept for older versions only and has no columns.
const VERSION: u8 = RecordKind::GhostVersion.bits();
const KIND: u8 = 0x0e;

/// Two neighbouring slots that are not in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Disorder {
    /// 2511: the key of the second slot is less.
    Falling(u16, u16),
    /// 2512: both slots have one key.
    Same(u16, u16),
    /// It is not known whether they are, because of a character, given as a code point, or of
    /// something else.
    Undecided(Option<u32>),
}

/// True for a record with a key.
#[inline]
pub(super) fn has_key(entry: &Entry<'_>) -> bool {
    entry.bytes.first().is_some_and(|status| status & KIND != VERSION)
}

/// Compares each row of a page with the next one.
pub(super) fn compare_neighbours(
    page: &SoundPage<'_>,
    plan: &KeyPlan,
    has_first: bool,
    pairs: &mut Pairs,
    report: impl FnMut(Disorder),
) {
    let mut judge = KeyComparer { plan, is_leaf: page.is_leaf, report };
    let skipped = usize::from(!has_first);
    let reaches = |lead: &&Lead| {
        lead.end() <= page.fixed_end_min() && !page.traits.has(RecordKind::GhostVersion)
    };
    let lead = plan.lead(page.is_leaf).filter(reaches);
    let doubtful = with_spans!(page.records(), |bytes, spans| {
        lead.and_then(|lead| of_lead(lead, page, bytes, spans, skipped, pairs))
    });
    let Some(doubtful) = doubtful else {
        return judge.all(page.entries().skip(skipped).filter(has_key));
    };
    for at in doubtful {
        let at = skipped + usize::from(*at);
        if let (Some(before), Some(entry)) = (page.entry(at - 1), page.entry(at)) {
            judge.compare(&before, &entry);
        }
    }
}

/// The pairs that the lead does not prove; `None` on a page that has none.
#[inline(always)]
fn of_lead<'p, S: RecordSpans>(
    lead: &Lead,
    page: &SoundPage<'_>,
    bytes: &[u8],
    spans: S,
    skipped: usize,
    pairs: &'p mut Pairs,
) -> Option<&'p [u16]> {
    let spans = spans.part(skipped..spans.len());
    if !lead.holds(bytes, spans, page.index_end()) {
        return None;
    }
    Some(if lead.is_ascending(bytes, spans) { &[] } else { lead.doubtful(bytes, spans, pairs) })
}

/// Compares whole keys.
struct KeyComparer<'k, R> {
    plan: &'k KeyPlan,
    is_leaf: bool,
    report: R,
}

impl<R: FnMut(Disorder)> KeyComparer<'_, R> {
    fn all<'a>(&mut self, mut entries: impl Iterator<Item = Entry<'a>>) {
        let Some(mut before) = entries.next() else { return };
        for entry in entries {
            self.compare(&before, &entry);
            before = entry;
        }
    }

    fn compare(&mut self, before: &Entry<'_>, entry: &Entry<'_>) {
        let a = before.record();
        let b = entry.record();
        match self.plan.compare_records(&a, &b, self.is_leaf) {
            Some(Ordering::Less) => {}
            Some(Ordering::Greater) => (self.report)(Disorder::Falling(before.slot, entry.slot)),
            Some(Ordering::Equal) => {
                let is_ghost = before.kind().is_ghost() || entry.kind().is_ghost();
                if !self.plan.may_repeat && !is_ghost {
                    (self.report)(Disorder::Same(before.slot, entry.slot));
                }
            }
            None => {
                let doubt = self.plan.doubt_of_records(&a, &b, self.is_leaf);
                (self.report)(Disorder::Undecided(doubt));
            }
        }
    }
}
