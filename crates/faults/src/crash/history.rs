//! How a page became what it is: an earlier image, and the steps from there.

use extentdb_base::PageId;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_format::allocation::bitmap::BITS_IN_RECORD;
use extentdb_format::allocation::iam::{IamForm, IamView, SINGLE_PAGES_IN_RECORD};
use extentdb_format::allocation::pfs::BYTES_IN_RECORD;
use extentdb_format::log::payload::page::{FormatPage, PagePart, SetBits};
use extentdb_format::log::payload::row::{
    DeleteRows, InsertRows, ModifyHeader, ModifyRow, RowPart,
};
use extentdb_format::log::{Context, Op, Payload};
use extentdb_format::page::header::NEXT_AT;
use extentdb_format::page::{Growth, PageHeader, PageMut, PageRef, PageType, SlotRule};
use extentdb_format::record::Record;
use extentdb_format::{PageBuf, PageBytes};

#[derive(Clone, Debug)]
pub(super) enum Step {
    Format { interval: Option<PageId> },
    Insert { slot: u16, row: Vec<u8> },
    Delete { slot: u16, row: Vec<u8> },
    Header { offset: u16, before: Vec<u8>, after: Vec<u8> },
    Bytes { slot: u16, offset: u16, before: Vec<u8>, after: Vec<u8> },
    Bits { slot: u16, first: u16, count: u16 },
}

/// An earlier image of a page, and the changes from it to the current one.
pub(super) struct History {
    pub(super) kind: &'static str,
    pub(super) old: PageBuf,
    pub(super) steps: Vec<Step>,
}

impl Step {
    /// The operation and context of its record.
    pub(super) fn op(&self, kind: PageType) -> (Op, Context) {
        let rows = match kind {
            PageType::TextMix | PageType::TextTree => Context::TEXT_MIX,
            PageType::Index => Context::INDEX_LEAF,
            PageType::Iam => Context::IAM,
            PageType::Pfs => Context::PFS,
            _ => Context::CLUSTERED,
        };
        let op = match self {
            Step::Format { .. } => Op::FORMAT_PAGE,
            Step::Insert { .. } => Op::INSERT_ROWS,
            Step::Delete { .. } => Op::DELETE_ROWS,
            Step::Header { .. } => Op::MODIFY_HEADER,
            Step::Bytes { .. } => Op::MODIFY_ROW,
            Step::Bits { .. } => Op::SET_BITS,
        };
        (op, rows)
    }

    /// Its payload for the page `new`, which has LSN `part.previous_page_lsn` before.
    pub(super) fn payload(&self, mut part: PagePart, new: &PageBytes) -> Payload<'_> {
        part.slot = match self {
            Step::Format { .. } => u16::MAX,
            Step::Header { .. } => 0,
            Step::Insert { slot, .. }
            | Step::Delete { slot, .. }
            | Step::Bytes { slot, .. }
            | Step::Bits { slot, .. } => *slot,
        };
        let row_part = |offset_in_row, bytes: &[u8]| RowPart {
            page: part,
            offset_in_row,
            modify_size: bytes.len() as u16,
            ..RowPart::default()
        };
        match self {
            Step::Format { interval } => {
                Payload::FormatPage(format(part, PageHeader::of(new), *interval))
            }
            Step::Insert { row, .. } => {
                let fixed = RowPart { page: part, ..RowPart::default() };
                Payload::InsertRows(InsertRows { fixed, rows: vec![row], ..InsertRows::default() })
            }
            Step::Delete { row, .. } => {
                let fixed = RowPart {
                    page: part,
                    offset_in_row: DeleteRows::OFFSET_IN_ROW,
                    ..RowPart::default()
                };
                Payload::DeleteRows(DeleteRows { fixed, rows: vec![row], lock_info: &[] })
            }
            Step::Header { offset, before, after } => Payload::ModifyHeader(ModifyHeader {
                fixed: row_part(*offset, before),
                before,
                after,
                more: Vec::new(),
            }),
            Step::Bytes { offset, before, after, .. } => Payload::ModifyRow(ModifyRow {
                fixed: row_part(*offset, before),
                before,
                after,
                ..ModifyRow::default()
            }),
            Step::Bits { first, count, .. } => {
                let mut bits = SetBits::default();
                bits.fixed.page = part;
                (bits.fixed.first_bit, bits.fixed.bit_count, bits.fixed.value) =
                    (*first, *count, 1);
                Payload::SetBits(bits)
            }
        }
    }
}

fn format(page: PagePart, header: &PageHeader, iam_interval: Option<PageId>) -> FormatPage {
    FormatPage {
        page,
        page_type: header.page_type,
        type_flag_bits: header.type_flag_bits,
        level: header.level,
        previous_page: header.prev(),
        next_page: header.next(),
        pminlen: header.fixed_len.get(),
        iam_interval,
        ..FormatPage::default()
    }
}

/// A history of a page; `None` when it is of a kind that has none here.
pub(super) fn history(page: &PageBytes, rng: &mut SplitMix64) -> Option<History> {
    match PageHeader::of(page).kind() {
        PageType::Data | PageType::Index | PageType::TextMix | PageType::TextTree => {
            of_rows(page, rng)
        }
        PageType::Iam => of_iam(page),
        PageType::Pfs => Some(of_pfs(page, rng)),
        _ => None,
    }
}

/// The rows of a page; `None` when one is compressed or a slot is empty.
fn rows(page: &PageBytes) -> Option<Vec<&[u8]>> {
    let view = PageRef::new(page);
    let rows: Option<Vec<&[u8]>> = (0..view.slot_count()).map(|slot| view.row(slot).ok()).collect();
    rows.filter(|rows| !rows.is_empty())
}

fn of_rows(page: &PageBytes, rng: &mut SplitMix64) -> Option<History> {
    let rows = rows(page)?;
    let is_data = PageHeader::of(page).kind() == PageType::Data;
    let is_text = !is_data && PageHeader::of(page).kind() != PageType::Index;
    match rng.below(if is_text { 1 } else { 5 }) {
        0 => Some(never_written(&rows)),
        1 => with_missing_rows(page, &rows, rng),
        2 => with_a_row_too_many(page, &rows, rng),
        3 if is_data => with_other_bytes(page, &rows, rng),
        _ => Some(with_another_next(page, rng)),
    }
}

/// All of it is in the log, nothing on disk.
fn never_written(rows: &[&[u8]]) -> History {
    let inserts =
        rows.iter().zip(0u16..).map(|(row, slot)| Step::Insert { slot, row: row.to_vec() });
    let steps = std::iter::once(Step::Format { interval: None }).chain(inserts).collect();
    History { kind: "never written", old: PageBuf::zeroed(), steps }
}

fn with_missing_rows(page: &PageBytes, rows: &[&[u8]], rng: &mut SplitMix64) -> Option<History> {
    let mut old = PageBuf::from(page);
    let mut steps = Vec::new();
    let mut left = rows.to_vec();
    // An index page is never empty.
    for _ in 0..(1 + rng.below(3)).min(rows.len() as u64 - 1) {
        let slot = rng.below(left.len() as u64) as u16;
        PageMut::new(&mut old).remove_row(slot, SlotRule::Dense).ok()?;
        steps.insert(0, Step::Insert { slot, row: left.remove(slot.into()).to_vec() });
    }
    Some(History { kind: "rows missing", old, steps })
}

fn with_a_row_too_many(page: &PageBytes, rows: &[&[u8]], rng: &mut SplitMix64) -> Option<History> {
    let mut old = PageBuf::from(page);
    let slot = rng.below(rows.len() as u64) as u16;
    let row = rows.get(usize::from(slot))?.to_vec();
    PageMut::new(&mut old).insert_row(slot, &row, SlotRule::Dense).ok()?;
    Some(History {
        kind: "row too many",
        old,
        steps: vec![Step::Delete { slot, row }],
    })
}

fn with_other_bytes(page: &PageBytes, rows: &[&[u8]], rng: &mut SplitMix64) -> Option<History> {
    let slot = rng.below(rows.len() as u64) as u16;
    let row = *rows.get(usize::from(slot))?;
    let start = 4;
    let end = Record::parse_data(row).fixed_end();
    let after = row.get(start..end).filter(|bytes| !bytes.is_empty())?.to_vec();
    // The values of another row are values that this one may have had.
    let other = *rows.get(rng.below(rows.len() as u64) as usize)?;
    let has_form = Record::parse_data(other).fixed_end() == end;
    let before = other.get(start..end).filter(|before| has_form && *before != after)?.to_vec();
    let mut earlier = row.to_vec();
    earlier.get_mut(start..end)?.copy_from_slice(&before);
    let mut old = PageBuf::from(page);
    PageMut::new(&mut old).replace_row(slot, &earlier, Growth::Close).ok()?;
    Some(History {
        kind: "other bytes",
        old,
        steps: vec![Step::Bytes { slot, offset: start as u16, before, after }],
    })
}

fn with_another_next(page: &PageBytes, rng: &mut SplitMix64) -> History {
    let mut old = PageBuf::from(page);
    let header = PageHeader::of_mut(&mut old);
    let after = header.next_bytes.to_vec();
    let own = header.page_id();
    let other = PageId { page: own.page ^ (1 + rng.below(7) as u32), ..own };
    header.next_bytes = other.to_bytes();
    let before = other.to_bytes().to_vec();
    History {
        kind: "another next page",
        old,
        steps: vec![Step::Header { offset: NEXT_AT, before, after }],
    }
}

/// The first page of a chain, as its allocation made it.
fn of_iam(page: &PageBytes) -> Option<History> {
    let view = IamView::new(page);
    let head = view.head();
    if head.form != IamForm::Usual
        || head.sequence != 0
        || !head.prev.is_none()
        || !head.next.is_none()
    {
        return None;
    }
    let mut steps = vec![Step::Format { interval: Some(head.interval) }];
    for (place, single) in (0u16..).zip(head.single_pages).filter(|(_, page)| !page.is_none()) {
        let offset = SINGLE_PAGES_IN_RECORD + 6 * place;
        let before = vec![0; 6];
        let after = single.to_bytes().to_vec();
        steps.push(Step::Bytes { slot: 0, offset, before, after });
    }
    let bits = view.bitmap().ones().map(|bit| Step::Bits {
        slot: 1,
        first: BITS_IN_RECORD + bit as u16,
        count: 1,
    });
    steps.extend(bits);
    Some(History {
        kind: "IAM page never written",
        old: PageBuf::zeroed(),
        steps,
    })
}

/// Pages that were not allocated yet.
fn of_pfs(page: &PageBytes, rng: &mut SplitMix64) -> History {
    let mut old = PageBuf::from(page);
    let mut steps = Vec::new();
    for _ in 0..10 {
        let place = 16 + rng.below(200) as u16;
        let at = 96 + usize::from(BYTES_IN_RECORD + place);
        let (Some(byte), Some(new)) = (old.get_mut(at), page.get(at)) else { continue };
        if *byte == *new && *new & 0x40 != 0 {
            *byte = 0;
            let before = vec![0];
            let after = vec![*new];
            steps.push(Step::Bytes { slot: 0, offset: BYTES_IN_RECORD + place, before, after });
        }
    }
    History { kind: "PFS bytes", old, steps }
}
