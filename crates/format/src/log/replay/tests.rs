use extentdb_base::{AllocUnitId, PageId, XactId};

use super::*;
use crate::log::block::{BlockBuf, BlockBuilder, BlockFormat, BlockHeader, Parity};
use crate::log::context::Context;
use crate::log::field::FixedPart;
use crate::log::payload::page::{FormatPage, SetFreeSpace};
use crate::log::payload::row::{DeleteRows, InsertRows, ModifyRow, RowPart};
use crate::log::payload::xact::{BeginXact, EndXact, LogText};
use crate::log::record::{RecordFlags, RecordHeader};
use crate::page::{EditError, PageRef};
use crate::record::{RecordBuilder, RecordKind};

const PAGE: PageId = PageId { file: extentdb_base::FileId(1), page: 200 };
const UNIT: AllocUnitId = AllocUnitId(1 << 48 | 77 << 16);

fn lsn(slot: u16) -> Lsn {
    Lsn::new(9, 16, slot)
}

/// Records of one block, whose LSNs are `lsn(1)` and up.
struct Log(BlockBuilder);

impl Log {
    fn new() -> Log {
        Log(BlockBuilder::new(BlockFormat::V4))
    }

    fn add(&mut self, op: Op, context: Context, xact: u32, payload: &Payload<'_>) {
        let fixed_len = op.fixed_len(BlockFormat::V4).unwrap();
        let xact = XactId { high: 0, low: xact };
        let header = RecordHeader { fixed_len, op, context, xact, ..RecordHeader::default() };
        self.0.push(&header, payload).unwrap();
    }

    fn each(self, mut visit: impl FnMut(Lsn, &RecordRef<'_>)) {
        let header = BlockHeader { first_lsn: lsn(1), flags: 3, ..BlockHeader::default() };
        let block = BlockBuf::from_disk(self.0.finish(&header, Parity::Odd).unwrap());
        assert_eq!(block.faults(), []);
        block.view().records().for_each(|(lsn, record)| visit(lsn, &record));
    }
}

fn part(slot: u16, previous: Lsn) -> PagePart {
    PagePart {
        page: PAGE,
        slot,
        object_id: UNIT.header_object_id(),
        index_id: UNIT.header_index_id(),
        previous_page_lsn: previous,
    }
}

fn row_part(slot: u16, previous: Lsn) -> RowPart {
    RowPart { page: part(slot, previous), ..RowPart::default() }
}

fn row(key: u8) -> Vec<u8> {
    let mut builder = RecordBuilder::data(RecordKind::Primary, 8);
    builder.fixed(4, &[key; 4]).columns(2).var(&[key; 20], false);
    builder.to_vec()
}

fn format() -> Payload<'static> {
    let page = part(u16::MAX, Lsn::ZERO);
    Payload::FormatPage(FormatPage { page, page_type: 1, pminlen: 8, ..FormatPage::default() })
}

fn insert(slot: u16, previous: Lsn, row: &[u8]) -> Payload<'_> {
    Payload::InsertRows(InsertRows {
        fixed: row_part(slot, previous),
        rows: vec![row],
        ..InsertRows::default()
    })
}

/// The outcome of each record on one page.
fn replay(log: Log, page: &mut PageBytes) -> Vec<Result<Applied, ApplyError>> {
    let mut outcomes = Vec::new();
    log.each(|lsn, record| outcomes.push(redo(lsn, record, page)));
    outcomes
}

fn keys(page: &PageBytes) -> Vec<u8> {
    let view = PageRef::new(page);
    (0..view.slot_count()).map(|slot| view.row(slot).map_or(0, |row| row[4])).collect()
}

/// Formatted, then rows 1, 3, 2 in key order.
fn three_rows() -> Log {
    let mut log = Log::new();
    let [one, three, two] = [1, 3, 2].map(row);
    log.add(Op::FORMAT_PAGE, Context::CLUSTERED, 5, &format());
    for (n, (slot, row)) in (1u16..).zip([(0, &one), (1, &three), (1, &two)]) {
        log.add(Op::INSERT_ROWS, Context::CLUSTERED, 5, &insert(slot, lsn(n), row));
    }
    log
}

#[test]
fn a_page_grows_record_by_record_and_a_second_replay_changes_nothing() {
    let mut page = [0xee; 8192];
    assert_eq!(replay(three_rows(), &mut page), [Ok(Applied::Changed); 4]);
    assert_eq!(keys(&page), [1, 2, 3]);
    let header = PageHeader::of(&page);
    assert_eq!((header.lsn(), header.page_id(), header.alloc_unit()), (lsn(4), PAGE, UNIT));
    let before = page;
    assert_eq!(replay(three_rows(), &mut page), [Ok(Applied::Already); 4]);
    assert!(page == before);
}

#[test]
fn a_page_in_another_state_stops_and_stays_as_it_was() {
    let mut page = [0; 8192];
    replay(three_rows(), &mut page);
    let rows = [row(9)];
    let mut change_log = Log::new();
    // Padding records: only the last one has a newer LSN than the page.
    for _ in 0..4 {
        change_log.add(Op::INSERT_ROWS, Context::CLUSTERED, 5, &insert(0, lsn(3), &rows[0]));
    }
    change_log.add(Op::INSERT_ROWS, Context::CLUSTERED, 5, &insert(0, lsn(3), &rows[0]));
    let before = page;
    let outcomes = replay(change_log, &mut page);
    assert_eq!(outcomes[4], Err(ApplyError::PageLsn { found: lsn(4), expected: lsn(3) }));
    assert!(page == before);
    let mut other = page;
    PageHeader::of_mut(&mut other).page_id_bytes = PageId::new(1, 201).to_bytes();
    PageHeader::of_mut(&mut other).lsn_bytes = Lsn::ZERO.to_bytes();
    let mut log = Log::new();
    log.add(Op::INSERT_ROWS, Context::CLUSTERED, 5, &insert(0, Lsn::ZERO, &rows[0]));
    assert_eq!(
        replay(log, &mut other),
        [Err(ApplyError::OtherPage { found: PageId::new(1, 201) })]
    );
}

/// One more record on the page of three rows.
fn fifth(
    op: Op,
    context: Context,
    flags: RecordFlags,
    payload: &Payload<'_>,
) -> (PageBytes, Result<Applied, ApplyError>) {
    let mut page = [0; 8192];
    replay(three_rows(), &mut page);
    let mut log = three_rows();
    let fixed_len = op.fixed_len(BlockFormat::V4).unwrap();
    log.0
        .push(&RecordHeader { fixed_len, op, context, flags, ..RecordHeader::default() }, payload)
        .unwrap();
    let outcome = replay(log, &mut page).pop().unwrap();
    (page, outcome)
}

#[test]
fn what_was_there_before_must_be_what_the_record_says() {
    let wrong = row(7);
    let right = row(2);
    for (image, expected) in
        [(&wrong, Err(ApplyError::Before { slot: 1, offset: 0 })), (&right, Ok(Applied::Changed))]
    {
        let delete = DeleteRows {
            fixed: row_part(1, lsn(4)),
            rows: vec![image],
            lock_info: &[],
        };
        let (page, outcome) = fifth(
            Op::DELETE_ROWS,
            Context::CLUSTERED,
            RecordFlags::default(),
            &Payload::DeleteRows(delete),
        );
        assert_eq!(outcome, expected);
        assert_eq!(keys(&page).len(), if expected.is_ok() { 2 } else { 3 });
    }
    let modify = |before: &'static [u8], after: &'static [u8]| {
        let fixed = RowPart {
            offset_in_row: 5,
            modify_size: before.len() as u16,
            ..row_part(1, lsn(4))
        };
        let payload =
            Payload::ModifyRow(ModifyRow { fixed, before, after, ..ModifyRow::default() });
        fifth(Op::MODIFY_ROW, Context::CLUSTERED, RecordFlags::default(), &payload)
    };
    let (page, outcome) = modify(&[2, 2], &[8, 9]);
    assert_eq!(outcome, Ok(Applied::Changed));
    assert_eq!(PageRef::new(&page).row(1).unwrap()[4..8], [2, 8, 9, 2]);
    assert_eq!(modify(&[2, 3], &[8, 9]).1, Err(ApplyError::Before { slot: 1, offset: 5 }));
    // The row would end two bytes earlier than its columns say.
    assert_eq!(modify(&[2, 2], &[]).1, Err(ApplyError::Edit(EditError::Record { slot: 1 })));
}

#[test]
fn a_deleted_index_row_is_marked_and_undoing_takes_the_mark_away() {
    let image = row(2);
    let mark = DeleteRows {
        fixed: row_part(1, lsn(4)),
        rows: vec![&image],
        lock_info: &[],
    };
    let (mut page, outcome) = fifth(
        Op::DELETE_ROWS,
        Context::MARK_AS_GHOST,
        RecordFlags::default(),
        &Payload::DeleteRows(mark),
    );
    assert_eq!(outcome, Ok(Applied::Changed));
    assert_eq!(PageHeader::of(&page).ghost_count.get(), 1);
    PageHeader::of_mut(&mut page).lsn_bytes = Lsn::ZERO.to_bytes();
    let undo = |image: &[u8]| {
        let mut log = Log::new();
        let header = RecordHeader {
            fixed_len: 0x3e,
            op: Op::INSERT_ROWS,
            context: Context::CLUSTERED,
            flags: RecordFlags::COMPENSATION,
            ..RecordHeader::default()
        };
        log.0.push(&header, &insert(1, Lsn::ZERO, image)).unwrap();
        let mut page = page;
        let outcome = replay(log, &mut page).pop().unwrap();
        (keys(&page), PageHeader::of(&page).ghost_count.get(), outcome)
    };
    assert_eq!(undo(&image), (vec![1, 2, 3], 0, Ok(Applied::Changed)));
    let other = row(6);
    assert_eq!(undo(&other), (vec![1, 2, 3], 1, Err(ApplyError::Compensation(Op::INSERT_ROWS))));
}

#[test]
fn records_of_other_kinds_stop_with_their_name() {
    let mut record = vec![0; 0x32];
    RecordHeader {
        fixed_len: 0x32,
        op: Op::INSYSXACT,
        ..RecordHeader::default()
    }
    .write(BlockFormat::V4, &mut record);
    record[0x18..0x1e].copy_from_slice(&PAGE.to_bytes());
    let parsed = RecordRef::parse(BlockFormat::V4, &record).unwrap();
    assert_eq!(page_of(&parsed).map(|part| part.page), Some(PAGE));
    let mut page = [0; 8192];
    PageHeader::of_mut(&mut page).page_id_bytes = PAGE.to_bytes();
    assert_eq!(redo(lsn(9), &parsed, &mut page), Err(ApplyError::Operation(Op::INSYSXACT)));
    // Not a page operation at all.
    let mut begin = vec![0; 0x40];
    RecordHeader {
        fixed_len: 0x40,
        op: Op::BEGIN_XACT,
        ..RecordHeader::default()
    }
    .write(BlockFormat::V4, &mut begin);
    let parsed = RecordRef::parse(BlockFormat::V4, &begin).unwrap();
    assert_eq!(page_of(&parsed), None);
    assert_eq!(redo(lsn(9), &parsed, &mut page), Err(ApplyError::Operation(Op::BEGIN_XACT)));
    assert!(page[96..].iter().all(|byte| *byte == 0));
}

#[test]
fn rows_of_compressed_pages_are_not_touched() {
    let compressed = [0x01, 0x02, 0x22, 1, 2, 3, 4];
    let (page, outcome) = fifth(
        Op::INSERT_ROWS,
        Context::CLUSTERED,
        RecordFlags::default(),
        &insert(0, lsn(4), &compressed),
    );
    assert_eq!(outcome, Err(ApplyError::Edit(EditError::Compressed)));
    assert_eq!(keys(&page), [1, 2, 3]);
}

#[test]
fn a_pfs_byte_changes_when_it_was_what_the_record_says() {
    let mut page = [0; 8192];
    crate::allocation::pfs::write_pfs(&mut page, PAGE, &Default::default());
    let set = SetFreeSpace {
        page: part(0, Lsn::ZERO),
        byte_offset: Some(4 + 17),
        new_value: Some(0x61),
        old_value: Some(0x60),
        ..SetFreeSpace::default()
    };
    let run = |page: &mut PageBytes| {
        let mut log = Log::new();
        log.add(Op::SET_FREE_SPACE, Context::PFS, 0, &Payload::SetFreeSpace(set.clone()));
        replay(log, page).pop().unwrap()
    };
    assert_eq!(run(&mut page), Err(ApplyError::Before { slot: 0, offset: 21 }));
    page[96 + 4 + 17] = 0x60;
    assert_eq!(run(&mut page), Ok(Applied::Changed));
    assert_eq!(page[96 + 4 + 17], 0x61);
}

#[test]
fn transactions_without_an_end_are_open_with_what_they_touched() {
    let image = row(1);
    let mut log = Log::new();
    let begin = |name: &'static [u8]| {
        Payload::BeginXact(BeginXact { name: LogText(name), ..BeginXact::default() })
    };
    log.add(Op::BEGIN_XACT, Context::NULL, 5, &begin(b"I\0N\0"));
    log.add(Op::BEGIN_XACT, Context::NULL, 6, &begin(b"S\0"));
    log.add(Op::FORMAT_PAGE, Context::CLUSTERED, 6, &format());
    log.add(Op::COMMIT_XACT, Context::NULL, 6, &Payload::EndXact(EndXact::default()));
    log.add(Op::INSERT_ROWS, Context::CLUSTERED, 5, &insert(0, lsn(3), &image));
    let mut map = ModifyRow { before: &[0], after: &[0x60], ..ModifyRow::default() };
    map.fixed = RowPart { offset_in_row: 4 + 33, modify_size: 1, ..RowPart::default() };
    map.fixed.page = PagePart { page: PageId::new(1, 8088), ..part(0, lsn(1)) };
    log.add(Op::MODIFY_ROW, Context::PFS, 5, &Payload::ModifyRow(map));
    let mut analysis = Analysis::new();
    log.each(|lsn, record| analysis.add(lsn, record));
    let open = analysis.into_unfinished();
    let (xact, left) = open.iter().next().unwrap();
    assert_eq!((open.len(), xact.low, left.name.as_str(), left.records), (1, 5, "IN", 2));
    assert_eq!(left.begin, Some(lsn(1)));
    assert!(left.units.contains(&UNIT));
    let pages: Vec<u32> = left.pages.iter().map(|page| page.page).collect();
    assert_eq!(pages, [200, 8088, 8088 + 33], "the page that the map is about counts as touched");
    assert_eq!(RowPart::least_bytes(), 0x3e);
}
