use extentdb_base::{AllocUnitId, Lsn, PageId};
use proptest::prelude::*;

use super::*;
use crate::PageBytes;
use crate::log::apply::apply;
use crate::log::payload::page::{FormatPage, PagePart};
use crate::log::payload::row::ModifyRow;
use crate::log::record::RecordFlags;
use crate::page::{PageHeader, PageMut, PageRef};
use crate::record::{RecordBuilder, RecordKind};

const PAGE: PageId = PageId::new(1, 200);
const UNIT: AllocUnitId = AllocUnitId(1 << 48 | 77 << 16);

fn part(slot: u16) -> PagePart {
    PagePart {
        page: PAGE,
        slot,
        object_id: UNIT.header_object_id(),
        ..PagePart::default()
    }
}

fn row(key: u8, len: usize) -> Vec<u8> {
    let mut builder = RecordBuilder::data(RecordKind::Primary, 8);
    builder.fixed(4, &[key; 4]).columns(2).var(&vec![key; len], false);
    builder.to_vec()
}

/// What a reader sees: the row of each slot.
fn rows_of(page: &PageBytes) -> Vec<Option<Vec<u8>>> {
    let view = PageRef::new(page);
    (0..view.slot_count()).map(|slot| view.row(slot).ok().map(<[u8]>::to_vec)).collect()
}

fn header(op: Op, context: Context, flags: RecordFlags) -> RecordHeader {
    RecordHeader { op, context, flags, ..RecordHeader::default() }
}

/// Applies a change and takes it back again.
fn there_and_back(op: Op, context: Context, payload: &Payload<'_>, page: &mut PageBytes) {
    let kind = PageHeader::of(page).kind();
    let forward = header(op, context, RecordFlags::default());
    apply(Lsn::new(1, 16, 1), &forward, payload, page).unwrap();
    let Inverse::Change(change) = inverse(&forward, payload, kind).unwrap() else { panic!("{op}") };
    let back = header(change.op, change.context, RecordFlags::COMPENSATION);
    apply(Lsn::new(1, 16, 2), &back, &change.payload, page).unwrap();
}

fn page_with(kind: PageType, rows: &[Vec<u8>]) -> PageBytes {
    let mut page = [0; 8192];
    PageMut::format(&mut page, PAGE, kind, UNIT);
    for row in rows {
        PageMut::new(&mut page).push(row).unwrap();
    }
    page
}

#[derive(Clone, Debug)]
enum Case {
    Insert { context: Context, slot: usize, len: usize },
    Delete { context: Context, slot: usize },
    Modify { slot: usize, offset: usize, len: usize },
}

fn case() -> impl Strategy<Value = Case> {
    let context = || prop_oneof![Just(Context::HEAP), Just(Context::CLUSTERED)];
    let deletes =
        prop_oneof![Just(Context::HEAP), Just(Context::CLUSTERED), Just(Context::MARK_AS_GHOST)];
    prop_oneof![
        (context(), 0..9usize, 1..60usize).prop_map(|(context, slot, len)| Case::Insert {
            context,
            slot,
            len
        }),
        (deletes, 0..9usize).prop_map(|(context, slot)| Case::Delete { context, slot }),
        (0..9usize, 4..8usize, 1..4usize).prop_map(|(slot, offset, len)| Case::Modify {
            slot,
            offset,
            len
        }),
    ]
}

proptest! {
    /// Whatever is done to a page of rows can be rolled back: every row is again where it was.
    #[test]
    fn undo_brings_every_row_back(lens in prop::collection::vec(1..60usize, 1..8), case in case()) {
        let rows: Vec<_> = (1u8..).zip(&lens).map(|(key, len)| row(key, *len)).collect();
        let mut page = page_with(PageType::Data, &rows);
        let before = rows_of(&page);
        let free = PageHeader::of(&page).free_bytes.get();
        match case {
            Case::Insert { context, slot, len } => {
                let slot = if context == Context::HEAP { rows.len() } else { slot % (rows.len() + 1) };
                let new = row(99, len);
                let fixed = RowPart { page: part(slot as u16), ..RowPart::default() };
                let insert = InsertRows { fixed, rows: vec![&new], ..InsertRows::default() };
                there_and_back(Op::INSERT_ROWS, context, &Payload::InsertRows(insert), &mut page);
            }
            Case::Delete { context, slot } => {
                let slot = slot % rows.len();
                let fixed = RowPart { page: part(slot as u16), offset_in_row: 1, ..RowPart::default() };
                let delete = DeleteRows { fixed, rows: vec![&rows[slot]], lock_info: &[] };
                there_and_back(Op::DELETE_ROWS, context, &Payload::DeleteRows(delete), &mut page);
            }
            Case::Modify { slot, offset, len } => {
                let slot = slot % rows.len();
                let before = &rows[slot][offset..(offset + len).min(8)];
                let after = vec![0xaa; before.len()];
                let fixed = RowPart {
                    page: part(slot as u16),
                    offset_in_row: offset as u16,
                    modify_size: before.len() as u16,
                    ..RowPart::default()
                };
                let modify = ModifyRow { fixed, before, after: &after, ..ModifyRow::default() };
                there_and_back(Op::MODIFY_ROW, Context::HEAP, &Payload::ModifyRow(modify), &mut page);
            }
        }
        let mut after = rows_of(&page);
        // A slot that a heap gave out stays, empty.
        after.truncate(before.len());
        prop_assert_eq!(after, before);
        let slots = u16::from(PageRef::new(&page).slot_count() as usize > rows.len()) * 2;
        prop_assert_eq!(PageHeader::of(&page).free_bytes.get() + slots, free);
    }
}

#[test]
fn bits_and_links_turn_back() {
    let mut page = [0; 8192];
    crate::allocation::bitmap::write_map(
        &mut page,
        PageId::new(1, 2),
        crate::allocation::bitmap::MapKind::Gam,
        &Default::default(),
    );
    let before = page;
    let fixed = BitsPart {
        page: part(1),
        first_bit: 32 + 17,
        bit_count: 3,
        value: 1,
        ..BitsPart::default()
    };
    let set = Payload::SetBits(SetBits { fixed, lock_info: None });
    there_and_back(Op::SET_BITS, Context::GAM, &set, &mut page);
    assert_eq!(page[96..], before[96..]);
    let mut page = page_with(PageType::Index, &[]);
    let fixed = RowPart {
        page: part(0),
        offset_in_row: 16,
        modify_size: 6,
        ..RowPart::default()
    };
    let before = [0; 6];
    let after = PageId::new(1, 77).to_bytes();
    let link = ModifyHeader { fixed, before: &before, after: &after, more: Vec::new() };
    there_and_back(Op::MODIFY_HEADER, Context::HEAP, &Payload::ModifyHeader(link), &mut page);
    assert!(PageHeader::of(&page).next().is_none());
}

#[test]
fn what_nobody_can_undo_says_so() {
    let header = header(Op::EXPUNGE_ROWS, Context::CLUSTERED, RecordFlags::default());
    let payload = Payload::Opaque(Default::default());
    assert_eq!(inverse(&header, &payload, PageType::Data), Err(NotUndone { op: Op::EXPUNGE_ROWS }));
    let format = Payload::FormatPage(FormatPage::default());
    assert_eq!(inverse(&header, &format, PageType::Data), Ok(Inverse::Nothing));
}

/// The rows of one insert into a heap go together.
#[test]
fn an_insert_of_several_rows_into_a_heap_is_undone_whole() {
    let rows: Vec<_> = (1u8..4).map(|key| row(key, 20)).collect();
    let mut page = page_with(PageType::Data, &rows);
    let more: Vec<_> = (4u8..40).map(|key| row(key, usize::from(key))).collect();
    let fixed = RowPart { page: part(3), ..RowPart::default() };
    let views = more.iter().map(Vec::as_slice).collect();
    let insert = InsertRows { fixed, rows: views, ..InsertRows::default() };
    there_and_back(Op::INSERT_ROWS, Context::HEAP, &Payload::InsertRows(insert), &mut page);
    let seen: Vec<_> = rows_of(&page).into_iter().flatten().collect();
    assert_eq!(seen, rows);
}
