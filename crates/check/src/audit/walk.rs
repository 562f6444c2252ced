//! The loops over the records of a page, as fast as they can be: where each lies, and what all of
//! them come to.
//!
//! ```text
//! even   all of one length, back to back, beginning alike       nothing is written down for a
//!                                                               record
//! few    rows that begin like the one before, with few variable columns  only those are examined:
//!                                                                        no branch between them
//! like   as many as begin like the one before                           only their variable
//!                                                                       columns are examined
//! others each by itself
//! ```

use extentdb_base::size::PAGE_HEADER_BYTES;
use extentdb_format::page::PageRef;
use extentdb_format::record::RecordKind;

use super::few::FewVariable;
use super::length::{Length, RecordPattern};
use super::records::{Body, ByteSet, Scratch, Traits};
use super::rules::{Form, Rules};
use crate::spans::{EvenSpans, RecordSpans, Span};

/// Kinds of records that are rows, one bit each.
const ROWS: u8 = 1 << RecordKind::Primary as u8
    | 1 << RecordKind::Forwarded as u8
    | 1 << RecordKind::Index as u8;
/// Kinds of records that are ghosts.
const GHOSTS: u8 = 1 << RecordKind::GhostIndex as u8
    | 1 << RecordKind::GhostData as u8
    | 1 << RecordKind::GhostVersion as u8;

/// A page whose records are all like its first one, which has no variable columns, and lie back to
/// back: most leaf pages of nonclustered indexes. `None` says nothing; [`walk`] does.
#[inline(always)]
pub(super) fn walk_even(
    view: PageRef<'_>,
    rules: &Rules,
    sound: impl Fn(&[u8]) -> Option<(u8, Length)>,
) -> Option<Body> {
    let body = view.bytes().get(..usize::from(view.header().free_offset.get()))?;
    let first = body.get(usize::from(view.slot_offset(0)?)..)?;
    let (status, length) = sound(first)?;
    let alike = RecordPattern::new(first, rules.form == Form::Data, status, length)
        .filter(RecordPattern::is_even)?;
    let (even, records) = EvenSpans::of(view, body, length.bytes)?;
    are_all_like(&alike, records, length.bytes).then_some(())?;
    let records = even.len() as u32;
    let kind = status >> 1 & 7;
    Some(Body {
        rows: records * u32::from(ROWS >> kind & 1),
        ghosts: records * u32::from(GHOSTS >> kind & 1),
        used: even.len() * footprint(length.bytes, rules),
        traits: Traits {
            kinds: 1 << kind,
            has_complex: false,
            fixed_end_min: length.fixed_end,
        },
        even: Some(even),
        ..Body::default()
    })
}

/// True when all records, of `width` bytes each, are like one of them.
#[inline(always)]
fn are_all_like(alike: &RecordPattern, records: &[u8], len: usize) -> bool {
    let records = records.chunks_exact(len);
    match alike.plain_status() {
        Some(status) => {
            records.fold(0, |all, record| all | (record.first().map_or(0, |it| it ^ status))) == 0
        }
        None => records.clone().all(|record| alike.is(record)),
    }
}

/// The loop over the slots. `sound` gives status and length of a record that is as it should be; it
/// is asked only for those that do not begin like the one before.
#[inline(always)]
pub(super) fn walk(
    view: PageRef<'_>,
    rules: &Rules,
    scratch: &mut Scratch,
    sound: impl Fn(&[u8]) -> Option<(u8, Length)>,
) -> Option<Body> {
    // Nothing may reach into the free space after the last record.
    let body = view.bytes().get(..usize::from(view.header().free_offset.get()))?;
    let is_data = rules.form == Form::Data;
    let mut slots = view.bytes().get(view.slot_array_start()..)?.as_chunks::<2>().0;
    let mut found = Tally::default();
    scratch.spans.resize(slots.len(), Span::default());
    let mut places = scratch.spans.as_mut_slice();
    let is_plain =
        |known: &RecordPattern| rules.footprint_mask == 0 && known.len_min() >= rules.footprint_min;
    while let [rest @ .., offset] = slots {
        let slot = view.slot_count() - slots.len() as u16;
        let offset = u16::from_le_bytes(*offset);
        slots = rest;
        let start = usize::from(offset);
        if start < PAGE_HEADER_BYTES {
            if start == 0 && rules.may_have_empty_slots {
                continue;
            }
            return None;
        }
        let bytes = body.get(start..)?;
        let (status, length) = sound(bytes)?;
        found.add(status, 1, length.fixed_end);
        found.add_length(start, length.bytes, footprint(length.bytes, rules), length.has_complex);
        let span = Span { slot, start: offset, end: found.end_before as u16 };
        *places.split_off_first_mut()? = span;
        let Some(known) = RecordPattern::new(bytes, is_data, status, length) else { continue };
        let rest = (slots, slot, &mut *places);
        let like = match (is_plain(&known), known.few(bytes)) {
            (true, Some(few)) => walk_few(&few, &known, view, rest, &mut found),
            (true, None) => walk_like(&known, body, rest, &mut found, |len| len),
            (false, _) => walk_like(&known, body, rest, &mut found, |len| footprint(len, rules)),
        };
        slots = slots.get(..slots.len() - like)?;
        places = std::mem::take(&mut places).get_mut(like..)?;
    }
    let empty = places.len();
    let count = scratch.spans.len() - empty;
    scratch.spans.truncate(count);
    if found.is_ascending {
        return (found.end_before <= body.len()).then(|| found.body());
    }
    scratch.taken = ByteSet::default();
    let taken = &mut scratch.taken;
    let is_inside = |span: &Span| {
        usize::from(span.start) >= PAGE_HEADER_BYTES && usize::from(span.end) <= body.len()
    };
    scratch
        .spans
        .iter()
        .all(|span| is_inside(span) && taken.take(span.start, span.end))
        .then(|| found.body())
}

/// Slots from the last one down, the slot before them and where their spans go.
type Rest<'w> = (&'w [[u8; 2]], u16, &'w mut [Span]);

/// Goes on with the rows that begin like the one in the slot before and have few variable columns,
/// up to the first that does not, and says how many they are. That they lie inside the page is
/// examined afterwards: where they end is all that has to be kept. A function of its own: the loop
/// needs all registers.
#[inline(never)]
fn walk_few(
    few: &FewVariable,
    known: &RecordPattern,
    view: PageRef<'_>,
    (slots, slot, places): Rest<'_>,
    found: &mut Tally,
) -> usize {
    let few = *few;
    let page = view.bytes();
    let mut end_before = found.end_before;
    let mut used = found.used;
    let mut all_tops = 0;
    let mut falls = 0;
    let mut last = slot;
    for (offset, place) in slots.iter().rev().zip(places) {
        let start = usize::from(u16::from_le_bytes(*offset));
        let Some((len, tops)) = few.length(page, start) else { break };
        // The sign of the difference, which is all that counts.
        falls |= start as isize - end_before as isize;
        end_before = start + len;
        used += len;
        all_tops |= tops;
        last += 1;
        *place = Span { slot: last, start: start as u16, end: end_before as u16 };
    }
    let count = last - slot;
    found.add(known.status, count, known.fixed_end());
    found.is_ascending &= falls >= 0;
    found.has_complex |= all_tops != 0;
    (found.end_before, found.used) = (end_before, used);
    usize::from(count)
}

/// Goes on with the records that begin like the one in the slot before, up to the first that does
/// not, and says how many they are. A function of its own: the loop needs all registers.
#[inline(never)]
fn walk_like(
    known: &RecordPattern,
    body: &[u8],
    (slots, slot, places): Rest<'_>,
    found: &mut Tally,
    footprint: impl Fn(usize) -> usize,
) -> usize {
    let known = *known;
    let mut sum = *found;
    let mut count = 0u16;
    for (offset, place) in slots.iter().rev().zip(places) {
        let offset = u16::from_le_bytes(*offset);
        let start = usize::from(offset);
        let Some(length) = known.length(body, start).filter(|_| start >= PAGE_HEADER_BYTES) else {
            break;
        };
        count += 1;
        sum.add_length(start, length.bytes, footprint(length.bytes), length.has_complex);
        *place = Span {
            slot: slot + count,
            start: offset,
            end: sum.end_before as u16,
        };
    }
    sum.add(known.status, count, known.fixed_end());
    *found = sum;
    usize::from(count)
}

/// Totals over the records of a page.
#[derive(Clone, Copy)]
struct Tally {
    /// How many there are of each kind.
    kinds: [u16; 8],
    used: usize,
    has_complex: bool,
    fixed_end_min: u16,
    /// Each begins after the one in the slot before.
    is_ascending: bool,
    end_before: usize,
}

impl Default for Tally {
    fn default() -> Self {
        Tally {
            kinds: [0; 8],
            used: 0,
            has_complex: false,
            fixed_end_min: u16::MAX,
            is_ascending: true,
            end_before: PAGE_HEADER_BYTES,
        }
    }
}

impl Tally {
    /// Counts records that are alike.
    #[inline]
    fn add(&mut self, status: u8, records: u16, fixed_end: u16) {
        if let Some(count) = self.kinds.get_mut(usize::from(status >> 1 & 7)) {
            *count += records;
        }
        self.fixed_end_min = self.fixed_end_min.min(fixed_end);
    }

    /// Adds what a record takes.
    #[inline(always)]
    fn add_length(&mut self, start: usize, len: usize, footprint: usize, has_complex: bool) {
        self.is_ascending &= start >= self.end_before;
        self.end_before = start + len;
        self.used += footprint;
        self.has_complex |= has_complex;
    }

    fn body(&self) -> Body {
        let kinds = self.kinds.iter().enumerate().filter(|(_, count)| **count > 0);
        let mut body = Body { used: self.used, ..Body::default() };
        body.traits.has_complex = self.has_complex;
        body.traits.fixed_end_min = self.fixed_end_min;
        for (kind, count) in kinds {
            body.rows += u32::from(*count) * u32::from(ROWS >> kind & 1);
            body.ghosts += u32::from(*count) * u32::from(GHOSTS >> kind & 1);
            body.traits.kinds |= 1 << kind;
        }
        body
    }
}

#[inline(always)]
fn footprint(len: usize, rules: &Rules) -> usize {
    (len.max(rules.footprint_min) + rules.footprint_mask) & !rules.footprint_mask
}
