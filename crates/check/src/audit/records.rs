//! Slots and records of a page: the fast way through a sound page, and the slow one that names what
//! is wrong.
//!
//! ```text
//! crack     one loop: every slot points to a record that adds up, ends before the free space and
//!           does not overlap another
//!           records in ascending order of offset: each begins where the one before ended, or later
//!           otherwise: one bit per byte of the page that is taken
//! diagnose  the same tests, one finding per fault
//! ```
//!
//! Invariant: `crack` fails exactly when `diagnose` finds something, or when `m_freeCnt` is not
//! what the records leave.

use std::cell::Cell;

use extentdb_base::PageId;
use extentdb_base::size::PAGE_HEADER_BYTES;
use extentdb_format::page::PageRef;
use extentdb_format::record::compressed::CdRecord;
use extentdb_format::record::lob::{LobFault, LobRecord};
use extentdb_format::record::row::{INDEX_HEADER_BYTES, STUB_BYTES};
use extentdb_format::record::status::{
    HAS_NULL_BITMAP, HAS_VARIABLE, HAS_VERSION_TAG, RESERVED_BITS,
};
use extentdb_format::record::{Record, RecordFault, RecordKind};

use super::length::{Length, data_len, stub_len, tail_len};
use super::rules::{Form, Rules};
use super::walk::{walk, walk_even};
use crate::expand::row_kind;
use crate::spans::{EvenSpans, Span};

/// Bit 0 of a record's first byte: the compressed form.
const IS_COMPRESSED: u8 = 0x01;
/// Bit 7 is 0 on text pages, too; what bit 0 means there is not known.
const RESERVED_BIT_OF_TEXTS: u8 = 0x80;
/// Faults of one page that are named; more would say the same.
const TROUBLES_MAX: usize = 4;

/// What a sound page holds.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Body {
    pub(super) rows: u32,
    pub(super) ghosts: u32,
    /// Bytes that records take.
    pub(super) used: usize,
    /// Some record is compressed: `used` then means nothing.
    pub(super) is_compressed: bool,
    /// What occurs on the page.
    pub(super) traits: Traits,
    /// Where the records lie, when so little says it: no spans were written down then.
    pub(super) even: Option<EvenSpans>,
    /// Fragments of off-row data with a versioning tag, which their length may or may not count.
    pub(super) tags: usize,
}

/// What occurs on a page, so that checks of something rare can pass over the others.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Traits {
    /// A bit for each kind of record that is there.
    pub(super) kinds: u8,
    /// Some column says that it is a pointer structure.
    pub(crate) has_complex: bool,
    /// The fixed part of every row ends here or later; 0 when it was not computed.
    pub(crate) fixed_end_min: u16,
}

impl Traits {
    /// True when the page has records of a kind.
    #[inline]
    pub(crate) fn has(self, kind: RecordKind) -> bool {
        self.kinds >> (kind as u8) & 1 != 0
    }
}

/// One record, read just so far that its length and kind are known.
struct Measured {
    len: usize,
    kind: RecordKind,
    is_compressed: bool,
    fault: Option<Test>,
}

/// A test of a record that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Test {
    pub(super) text: &'static str,
    pub(super) values: (i64, i64),
    pub(super) state: u8,
}

/// What is wrong with a slot or its record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SlotFault {
    /// 8941: the slot points outside of the rows of the page.
    Offset { slot: u16, offset: u16 },
    /// 8942: the slot points into the record of another slot.
    Overlap { slot: u16, offset: u16 },
    /// 8943: the record ends in the free space.
    IntoFreeSpace { slot: u16, end: usize },
    /// 8944: the record fails a test of its own.
    Record { slot: u16, offset: u16, test: Test },
}

/// Memory that is used for one page after the other.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) spans: Vec<Span>,
    pub(super) taken: ByteSet,
}

/// One bit per byte of a page.
pub(super) struct ByteSet([u64; 128]);

impl Default for ByteSet {
    fn default() -> Self {
        ByteSet([0; 128])
    }
}

impl ByteSet {
    /// Takes the bytes from `start` to before `end`; false when one of them is taken already.
    pub(super) fn take(&mut self, start: u16, end: u16) -> bool {
        let mut at = usize::from(start);
        let end = usize::from(end);
        let mut is_new = true;
        while at < end {
            let bits = (end - at).min(64 - at % 64);
            let mask = (u64::MAX >> (64 - bits)) << (at % 64);
            let Some(word) = self.0.get_mut(at / 64) else { return false };
            is_new &= *word & mask == 0;
            *word |= mask;
            at += bits;
        }
        is_new
    }
}

/// Goes through all records. `None` when something is wrong.
///
/// The form of the records is settled once per page, so that the loop over them has no branch that
/// depends on it.
#[inline]
pub(super) fn crack(view: PageRef<'_>, rules: &Rules, scratch: &mut Scratch) -> Option<Body> {
    let pminlen = usize::from(view.header().fixed_len.get());
    let columns_max = usize::from(rules.columns_max);
    let kinds = rules.kinds;
    let fixed_end_min = usize::from(rules.fixed_end_min);
    let data = |bytes: &[u8]| {
        let status = kinds.sound_status(*bytes.first()?)?;
        let len = match status >> 1 & 7 {
            STUB => stub_len(bytes),
            GHOST if is_ghost_of_stub(status) => stub_len(bytes),
            // See `is_too_wide`.
            GHOST => data_len(bytes, status, fixed_end_min, usize::from(u16::MAX)),
            _ => data_len(bytes, status, fixed_end_min, columns_max),
        };
        Some((status, len?))
    };
    let index = |bytes: &[u8]| {
        let status = kinds.sound_status(*bytes.first()?)?;
        Some((status, tail_len(bytes, status, pminlen, columns_max)?))
    };
    match rules.form {
        _ if rules.is_compressed || rules.form == Form::Text => {
            let is_compressed = Cell::new(false);
            let tags = Cell::new(0);
            let any = |bytes: &[u8]| other_len(bytes, rules, pminlen, &is_compressed, &tags);
            let body = walk(view, rules, scratch, any);
            body.map(|body| Body { is_compressed: is_compressed.get(), tags: tags.get(), ..body })
        }
        Form::Data => walk_even(view, rules, data).or_else(|| walk(view, rules, scratch, data)),
        Form::Index if view.slot_count() > 0 && pminlen < fixed_len_min(rules) => None,
        Form::Index => walk_even(view, rules, index).or_else(|| walk(view, rules, scratch, index)),
        Form::Text => None,
    }
}

/// Shortest fixed part of index records. Pages above the leaves end theirs with a child page.
fn fixed_len_min(rules: &Rules) -> usize {
    if rules.is_leaf { INDEX_HEADER_BYTES } else { INDEX_HEADER_BYTES.max(PageId::BYTES) }
}

/// Bits 1 to 3 of a forwarding stub's status.
const STUB: u8 = RecordKind::ForwardingStub as u8;
const GHOST: u8 = RecordKind::GhostData as u8;

/// A row always has a null bitmap; a ghost without one was a forwarding stub.
#[inline(always)]
fn is_ghost_of_stub(status: u8) -> bool {
    RecordKind::of(status) == RecordKind::GhostData
        && status & (HAS_NULL_BITMAP | HAS_VARIABLE | HAS_VERSION_TAG) == 0
}

/// Status and length of compressed records and text records, by the views that `diagnose` uses.
fn other_len(
    bytes: &[u8],
    rules: &Rules,
    pminlen: usize,
    is_compressed: &Cell<bool>,
    tags: &Cell<usize>,
) -> Option<(u8, Length)> {
    let measured = measure(bytes, rules, pminlen as u16);
    if measured.fault.is_some() {
        return None;
    }
    is_compressed.set(is_compressed.get() | measured.is_compressed);
    let has_tag = rules.form == Form::Text
        && bytes.first().is_some_and(|status| status & HAS_VERSION_TAG != 0);
    tags.set(tags.get() + usize::from(has_tag));
    Some((measured.kind.bits(), Length { bytes: measured.len, fixed_end: 0, has_complex: false }))
}

/// Length and kind of the record at the start of `bytes`, which end where records must end.
#[inline]
fn measure(bytes: &[u8], rules: &Rules, pminlen: u16) -> Measured {
    match rules.form {
        Form::Text => measure_text(bytes),
        _ if rules.is_compressed
            && bytes.first().is_some_and(|status| status & IS_COMPRESSED != 0) =>
        {
            measure_compressed(bytes)
        }
        Form::Data
            if bytes.first().is_some_and(|status| is_ghost_of_stub(*status))
                && bytes.len() >= STUB_BYTES =>
        {
            measure_ghost_of_stub(bytes, rules)
        }
        Form::Data => measure_row(Record::parse_data(bytes), rules),
        Form::Index => measure_row(Record::parse_index(bytes, pminlen), rules),
    }
}

#[inline]
fn measure_row(record: Record<'_>, rules: &Rules) -> Measured {
    let status = record.status_a();
    let kind = record.kind();
    let is_wrong = record.fault().is_some()
        || status & RESERVED_BITS != 0
        || !rules.kinds.has(kind)
        || is_too_wide(&record, rules)
        || (record.fixed_end() < usize::from(rules.fixed_end_min)
            && kind != RecordKind::ForwardingStub);
    Measured {
        len: record.len(),
        kind,
        is_compressed: false,
        fault: if is_wrong { row_trouble(&record, rules) } else { None },
    }
}

/// Has it columns that there are not? A ghost may: its transaction added them and was rolled back.
#[inline]
fn is_too_wide(record: &Record<'_>, rules: &Rules) -> bool {
    let is_ghost = record.kind() == RecordKind::GhostData;
    record.column_count() > rules.columns_max && !is_ghost
}

#[cold]
fn measure_ghost_of_stub(bytes: &[u8], rules: &Rules) -> Measured {
    let is_sound = bytes.first().is_some_and(|status| rules.kinds.sound_status(*status).is_some());
    Measured {
        len: STUB_BYTES,
        kind: RecordKind::GhostData,
        is_compressed: false,
        fault: if is_sound { None } else { row_trouble(&Record::parse_data(bytes), rules) },
    }
}

/// Names the first test that a row fails.
#[cold]
fn row_trouble(record: &Record<'_>, rules: &Rules) -> Option<Test> {
    let status = record.status_a();
    let kind = record.kind();
    if status & RESERVED_BITS != 0 {
        return Some(reserved_bits(status));
    }
    if !rules.kinds.has(kind) {
        return Some(Test {
            text: "record type is legal on this page",
            values: (kind as i64, status.into()),
            state: 2,
        });
    }
    if let Some(fault) = record.fault() {
        return Some(fault_test(fault));
    }
    if is_too_wide(record, rules) {
        let values = (record.column_count().into(), rules.columns_max.into());
        return Some(Test {
            text: "columns of the record <= columns of the rowset",
            values,
            state: 3,
        });
    }
    let values = (record.fixed_end() as i64, rules.fixed_end_min.into());
    Some(Test {
        text: "fixed length of the record >= pminlen",
        values,
        state: 4,
    })
}

fn reserved_bits(status: u8) -> Test {
    Test {
        text: "reserved bits of the record's tag are 0",
        values: (status.into(), 0),
        state: 1,
    }
}

fn fault_test(fault: RecordFault) -> Test {
    let (text, found, limit, state) = match fault {
        RecordFault::Header { limit } => {
            ("sizeof (record header) <= (nextRec - pRec)", 4, limit, 5)
        }
        RecordFault::FixedEnd { fixed_end, limit } => {
            ("fixed length <= (nextRec - pRec)", fixed_end, limit, 6)
        }
        RecordFault::NullBitmap { end, limit } => {
            ("end of null bitmap <= (nextRec - pRec)", end, limit, 7)
        }
        RecordFault::OffsetArray { end, limit } => {
            ("ColumnOffsets + (int)sizeof (COLOFF) <= (nextRec - pRec)", end, limit, 8)
        }
        RecordFault::EndOffset { end, limit, .. } => {
            ("ColumnOffsets <= (nextRec - pRec)", end, limit, 9)
        }
        RecordFault::VersionTag { end, limit } => {
            ("end of versioning tag <= (nextRec - pRec)", end, limit, 10)
        }
    };
    Test { text, values: (found as i64, limit as i64), state }
}

#[cold]
fn measure_compressed(bytes: &[u8]) -> Measured {
    let record = CdRecord::parse(bytes);
    let kind = row_kind(record.kind());
    let is_wrong = record.fault().is_some();
    let test = Test {
        text: "compressed record adds up",
        values: (record.header().into(), record.len() as i64),
        state: 11,
    };
    Measured {
        len: record.len(),
        kind,
        is_compressed: true,
        fault: is_wrong.then_some(test),
    }
}

/// A record of a text page. Its kind and its links belong to the logical checks.
fn measure_text(bytes: &[u8]) -> Measured {
    let record = LobRecord::parse(bytes);
    let status = bytes.first().copied().unwrap_or(0);
    let kind = RecordKind::of(status);
    let mut len = record.len();
    let fault = match record.fault() {
        _ if status & RESERVED_BIT_OF_TEXTS != 0 => Some(reserved_bits(status)),
        // A deleted fragment keeps its length.
        Some(LobFault::Status(_)) if kind.is_ghost() => {
            len = bytes
                .get(2..4)
                .and_then(|b| b.first_chunk())
                .map_or(0, |b| usize::from(u16::from_le_bytes(*b)));
            let is_too_long = len > bytes.len() || len < 4;
            is_too_long
                .then(|| fault_test(RecordFault::FixedEnd { fixed_end: len, limit: bytes.len() }))
        }
        Some(LobFault::Status(status)) => Some(Test {
            text: "record type is legal on this page",
            values: (kind as i64, status.into()),
            state: 2,
        }),
        Some(LobFault::Length { len, limit }) => {
            Some(fault_test(RecordFault::FixedEnd { fixed_end: len, limit }))
        }
        Some(LobFault::Kind(_) | LobFault::Content { .. }) | None => None,
    };
    Measured { len, kind, is_compressed: false, fault }
}

/// Names what is wrong with slots and records of a page that [`crack`] refused.
#[cold]
pub(super) fn diagnose(view: PageRef<'_>, rules: &Rules) -> Vec<SlotFault> {
    let header = view.header();
    let free_offset = usize::from(header.free_offset.get());
    let pminlen = header.fixed_len.get();
    let body = view.bytes().get(..view.slot_array_start()).unwrap_or_default();
    let mut faults = Vec::new();
    let mut spans: Vec<Span> = Vec::new();
    for (slot, offset) in (0u16..).zip(view.slot_offsets()) {
        let start = usize::from(offset);
        let is_legal = start >= PAGE_HEADER_BYTES && start < body.len();
        if offset == 0 && rules.may_have_empty_slots {
            continue;
        }
        if !is_legal {
            faults.push(SlotFault::Offset { slot, offset });
            continue;
        }
        let extent = measure(body.get(start..).unwrap_or_default(), rules, pminlen);
        match extent.fault {
            Some(test) => faults.push(SlotFault::Record { slot, offset, test }),
            None => spans.push(Span { slot, start: offset, end: (start + extent.len) as u16 }),
        }
    }
    if let (Form::Index, false, true, Some(offset)) =
        (rules.form, rules.is_compressed, faults.is_empty(), view.slot_offset(0))
        && usize::from(pminlen) < fixed_len_min(rules)
    {
        let values = (pminlen.into(), fixed_len_min(rules) as i64);
        let test = Test {
            text: "pminlen >= length of the shortest index record",
            values,
            state: 12,
        };
        faults.push(SlotFault::Record { slot: 0, offset, test });
    }
    spans.sort_unstable_by_key(|span| (span.start, span.slot));
    find_overlaps(&spans, &mut faults);
    for span in spans.iter().filter(|span| usize::from(span.end) > free_offset) {
        if !faults
            .iter()
            .any(|fault| matches!(fault, SlotFault::Record { slot, .. } if *slot == span.slot))
        {
            faults.push(SlotFault::IntoFreeSpace { slot: span.slot, end: usize::from(span.end) });
        }
    }
    faults.truncate(TROUBLES_MAX);
    faults
}

/// Records that begin before the one before them ends. When the earlier one begins at another
/// place, it is its length that reaches too far: the test of the end offsets against the next
/// record.
fn find_overlaps(spans: &[Span], faults: &mut Vec<SlotFault>) {
    let mut longest: Option<Span> = None;
    for span in spans {
        if let Some(before) = longest.filter(|before| span.start < before.end) {
            faults.push(if span.start == before.start {
                SlotFault::Overlap { slot: span.slot.max(before.slot), offset: span.start }
            } else {
                let limit = usize::from(span.start - before.start);
                let end = usize::from(before.end - before.start);
                let test = fault_test(RecordFault::EndOffset { column: 0, end, start: 0, limit });
                SlotFault::Record { slot: before.slot, offset: before.start, test }
            });
        }
        if longest.is_none_or(|before| span.end > before.end) {
            longest = Some(*span);
        }
    }
}
