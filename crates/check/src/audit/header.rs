//! Tests of the page header (`docs/check.md` 3). The text of a test goes into 8939 and 5233.

use extentdb_base::size::{PAGE_BODY_BYTES, PAGE_BYTES, PAGE_HEADER_BYTES};
use extentdb_format::page::header::HEADER_VERSION;
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::{Record, RecordKind};

use super::records::Traits;
use super::rules::SYSFILES1;
use crate::unit::{Structure, Unit};

/// A test that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FailedTest {
    pub(super) text: &'static str,
    pub(super) values: (i64, i64),
    pub(super) state: u8,
    /// Offset of the field.
    pub(super) offset: usize,
}

/// The read itself failed: checksum, torn page, operating system.
pub(super) const READ_FAILED: FailedTest = FailedTest {
    text: "IS_OFF (BUF_IOERR, pBUF->bstat)",
    values: (133_129, -4),
    state: 98,
    offset: 0,
};
/// Last type DBCC knows.
const LAST_TYPE: u8 = 20;

fn failed(
    text: &'static str,
    found: impl Into<i64>,
    expected: impl Into<i64>,
    state: u8,
    offset: usize,
) -> FailedTest {
    FailedTest { text, values: (found.into(), expected.into()), state, offset }
}

/// Version and type: without these, nothing else of the page can be read.
#[inline]
pub(super) fn test_kind(header: &PageHeader) -> Option<FailedTest> {
    let version = header.header_version;
    let kind = header.page_type;
    if version != HEADER_VERSION {
        return Some(failed("m_headerVersion == HEADER_7_0", version, HEADER_VERSION, 5, 0));
    }
    if kind > LAST_TYPE || (kind == 0 && header.level != 0) {
        let text = "(m_type >= DATA_PAGE && m_type <= UNDOFILE_HEADER_PAGE) || (m_type == UNKNOWN_PAGE && level == BASIC_HEADER)";
        return Some(failed(text, kind, kind, 6, 1));
    }
    None
}

/// The accounting of the slot array, and the level.
///
/// Links are no test: a heap whose clustered index was dropped keeps those of its leaf pages (seen
/// in a healthy file).
#[inline]
pub(super) fn test_accounting(
    header: &PageHeader,
    structure: Option<Structure>,
) -> Option<FailedTest> {
    let slots = header.slot_count.get();
    let free_offset = header.free_offset.get();
    let limit = PAGE_BYTES as i64 - 2 * i64::from(slots);
    if usize::from(free_offset) < PAGE_HEADER_BYTES || i64::from(free_offset) > limit {
        let text = "m_freeData >= PAGEHEADSIZE && m_freeData <= (UINT)PAGESIZE - m_slotCnt * sizeof (Slot)";
        return Some(failed(text, free_offset, limit, 7, 30));
    }
    let free = header.free_bytes.get();
    let most = PAGE_BODY_BYTES as i64;
    if i64::from(free) > most {
        return Some(failed("m_freeCnt <= PAGESIZE - PAGEHEADSIZE", free, most, 8, 28));
    }
    let ghosts = header.ghost_count.get();
    if ghosts > slots {
        return Some(failed("m_ghostRecCnt <= m_slotCnt", ghosts, slots, 9, 58));
    }
    // The level of a leaf with a neighbour or a parent is theirs to contradict.
    let is_alone =
        header.kind() == PageType::Data && header.prev().is_none() && header.next().is_none();
    let has_no_level = matches!(structure, Some(Structure::Heap | Structure::Text))
        || (structure == Some(Structure::Clustered) && is_alone);
    if header.level != 0 && has_no_level {
        return Some(failed("m_level == 0", header.level, 0, 10, 3));
    }
    None
}

/// `pminlen` of a data page must be the length of some rows: those that were written when the page
/// was, or since. When rows of the page have a length that the catalog does not know, it is the
/// catalog that is not understood.
#[inline]
pub(super) fn test_fixed_len(
    view: PageRef<'_>,
    unit: Option<&Unit>,
    traits: Traits,
) -> Option<FailedTest> {
    let header = view.header();
    let unit = unit?;
    let pminlen = header.fixed_len.get();
    if pminlen == unit.fixed_end || header.kind() != PageType::Data || unit.fixed_ends.is_empty() {
        return None;
    }
    is_foreign_fixed_len(view, unit, traits)
        .then(|| failed("pminlen == fixed length of some record", pminlen, unit.fixed_end, 13, 14))
}

#[cold]
fn is_foreign_fixed_len(view: PageRef<'_>, unit: &Unit, traits: Traits) -> bool {
    let is_known = |end: u16| unit.fixed_ends.binary_search(&end).is_ok();
    let is_row = |kind: RecordKind| matches!(kind, RecordKind::Primary | RecordKind::Forwarded);
    let mut rows =
        view.records().map(|(_, bytes)| Record::parse_data(bytes)).filter(|row| is_row(row.kind()));
    !is_known(view.header().fixed_len.get())
        && traits.has(RecordKind::Primary)
        && !unit.is_from_2000()
        && unit.owner.unit != SYSFILES1
        && rows.all(|row| is_known(row.fixed_end() as u16))
}

/// `m_freeCnt` must be what records and slots leave.
pub(super) fn test_free_count(header: &PageHeader, used: usize) -> Option<FailedTest> {
    let slots = 2 * i64::from(header.slot_count.get());
    let expected = PAGE_BODY_BYTES as i64 - used as i64 - slots;
    let found = i64::from(header.free_bytes.get());
    (found != expected)
        .then(|| failed("m_freeCnt == free bytes of the page", found, expected, 12, 28))
}
