use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{AllocUnitId, Lsn, PageId, XactId};

use super::checkpoint::{ActiveXact, BeginCheckpoint, EndCheckpoint};
use super::page::{BitsPart, DeleteSplit, FormatPage, InSysXact, RootChange, SetFreeSpace};
use super::row::RowPart;
use super::space::{
    ColumnCountPart, CountPart, CreateAllocChain, DbVersionChange, HobtDdl, HobtDelta, IdentValue,
};
use super::xact::{BeginPart, BeginPart2005, EndXact, LogText, NoPart, PreparePart, SavepointPart};
use super::*;
use crate::log::apply::ApplyError;
use crate::log::block::{BlockFormat, BlockHeader};
use crate::log::fault::RecordFault;
use crate::log::field::FieldRange;
use crate::log::op::Op;
use crate::log::record::RecordHeader;
use crate::log::replay::redo;
use crate::log::time::LogTime;
use crate::log::vlf::{VlfDescription, VlfHeader};

/// Every structure made of fields at offsets.
fn tables() -> Vec<(usize, &'static [FieldRange])> {
    fn table<T: FixedPart>() -> (usize, &'static [FieldRange]) {
        (T::START, T::FIELDS)
    }
    vec![
        table::<VlfHeader>(),
        table::<VlfDescription>(),
        table::<BlockHeader>(),
        table::<FormatPage>(),
        table::<BitsPart>(),
        table::<SetFreeSpace>(),
        table::<DeleteSplit>(),
        table::<RootChange>(),
        table::<InSysXact>(),
        table::<RowPart>(),
        table::<HobtDelta>(),
        table::<CreateAllocChain>(),
        table::<HobtDdl>(),
        table::<IdentValue>(),
        table::<DbVersionChange>(),
        table::<CountPart>(),
        table::<ColumnCountPart>(),
        table::<BeginPart>(),
        table::<BeginPart2005>(),
        table::<EndXact>(),
        table::<PreparePart>(),
        table::<SavepointPart>(),
        table::<NoPart>(),
        table::<BeginCheckpoint>(),
        table::<EndCheckpoint>(),
        table::<ActiveXact>(),
    ]
}

#[test]
fn fields_ascend_and_do_not_overlap() {
    for (start, fields) in tables() {
        let mut next = start;
        for field in fields {
            assert!(field.at >= next, "{field:x?} in {fields:x?}");
            next = field.end();
        }
    }
}

/// A record with the given fixed part after the header, and elements of these lengths.
fn record(op: Op, fixed: &[u8], elements: Option<&[&[u8]]>) -> Vec<u8> {
    let fixed_len = (RECORD_HEADER_BYTES + fixed.len()) as u16;
    let mut bytes = vec![0; RECORD_HEADER_BYTES];
    RecordHeader { fixed_len, op, ..RecordHeader::default() }.write(BlockFormat::V4, &mut bytes);
    bytes.extend_from_slice(fixed);
    if let Some(elements) = elements {
        bytes.extend((elements.len() as u16).to_le_bytes());
        for element in elements {
            bytes.extend((element.len() as u16).to_le_bytes());
        }
        for element in elements {
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes.extend_from_slice(element);
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

fn with_payload<T>(bytes: &[u8], then: impl FnOnce(Payload<'_>, Vec<RecordFault>) -> T) -> T {
    let record = RecordRef::parse(BlockFormat::V4, bytes).unwrap();
    then(record.payload(), record.faults().to_vec())
}

/// The page part of page (1:0x13a), slot 7, object 0x32, last changed by 16:1e:1d9, index 0x100.
const PAGE: [u8; 24] =
    [0x3a, 1, 0, 0, 1, 0, 7, 0, 0x32, 0, 0, 0, 0x16, 0, 0, 0, 0x1e, 0, 0, 0, 0xd9, 1, 0, 1];

fn page_fixed(rest: &[u8]) -> Vec<u8> {
    [&PAGE, rest].concat()
}

#[test]
fn a_page_part_names_page_unit_and_former_lsn() {
    let bytes =
        record(Op::DELETE_SPLIT, &page_fixed(&[9, 0, 0, 0, 1, 0, 3, 0, 0x2c, 1, 0xff, 0xff]), None);
    with_payload(&bytes, |payload, faults| {
        assert_eq!(faults, []);
        let part = payload.page_part().unwrap();
        assert_eq!((part.page, part.slot), (PageId::new(1, 0x13a), 7));
        assert_eq!(part.previous_page_lsn, Lsn::new(0x16, 0x1e, 0x1d9));
        assert_eq!(part.alloc_unit(), AllocUnitId(0x0100_0000_0032_0000));
        let Payload::DeleteSplit(split) = payload else { panic!("{payload:?}") };
        assert_eq!(
            (split.new_page, split.rows_deleted, split.bytes_freed),
            (PageId::new(1, 9), 3, 300)
        );
        assert_eq!(split.residue.as_bytes(), [0xff, 0xff]);
    });
}

#[test]
fn rows_of_an_insert_come_before_key_and_lock_information() {
    let fixed = page_fixed(&[0; 14]);
    let bytes = record(Op::INSERT_ROWS, &fixed, Some(&[b"row one", b"row two", b"key", b"lock"]));
    with_payload(&bytes, |payload, _| {
        let Payload::InsertRows(insert) = payload else { panic!("{payload:?}") };
        assert_eq!(insert.rows.as_slice(), [b"row one", b"row two"]);
        assert_eq!((insert.key, insert.lock_info), (b"key".as_slice(), b"lock".as_slice()));
    });
    let bytes = record(Op::INSERT_ROWS, &fixed, Some(&[b"row"]));
    with_payload(&bytes, |payload, faults| {
        assert!(matches!(payload, Payload::Opaque(_)));
        assert_eq!(faults, [], "another shape is kept whole and is no damage");
    });
}

#[test]
fn the_elements_of_modify_row_depend_on_their_number() {
    let fixed = page_fixed(&[0; 14]);
    let check = |elements: &[&[u8]], key: Option<&[u8]>, lock_info: Option<&[u8]>, more: usize| {
        let bytes = record(Op::MODIFY_ROW, &fixed, Some(elements));
        with_payload(&bytes, |payload, _| {
            let Payload::ModifyRow(modify) = payload else { panic!("{payload:?}") };
            assert_eq!((modify.before, modify.after), (b"b".as_slice(), b"a".as_slice()));
            assert_eq!((modify.key, modify.lock_info, modify.more.len()), (key, lock_info, more));
        });
    };
    check(&[b"b", b"a"], None, None, 0);
    check(&[b"b", b"a", b"lock"], None, Some(b"lock"), 0);
    check(&[b"b", b"a", b"key", b"lock"], Some(b"key"), Some(b"lock"), 0);
    check(&[b"b", b"a", b"key", b"lock", b"", b""], Some(b"key"), Some(b"lock"), 2);
}

#[test]
fn modify_columns_lists_its_chunks() {
    let fixed = page_fixed(&[0; 14]);
    let elements: [&[u8]; 8] =
        [&[11, 0, 11, 0, 82, 0, 80, 0], &[1, 0, 6, 0], b"key", b"", b"x", b"y", b"sixsix", b"four"];
    with_payload(&record(Op::MODIFY_COLUMNS, &fixed, Some(&elements)), |payload, _| {
        let Payload::ModifyColumns(modify) = payload else { panic!("{payload:?}") };
        let [first, second] = modify.chunks[..] else { panic!("{modify:?}") };
        assert_eq!((first.old_offset, first.old_len, first.after), (11, 1, b"y".as_slice()));
        assert_eq!(
            (second.old_offset, second.new_offset, second.before),
            (82, 80, b"sixsix".as_slice())
        );
        assert_eq!(modify.key, b"key");
    });
    // One offset pair too few for the images.
    let short = [&elements[0][..4], elements[1], elements[2], elements[3], b"x", b"y", b"s", b"f"];
    with_payload(&record(Op::MODIFY_COLUMNS, &fixed, Some(&short)), |payload, faults| {
        assert!(matches!(payload, Payload::Opaque(_)));
        assert_eq!(faults, []);
    });
}

fn xact(low: u32) -> XactId {
    XactId { high: 0, low }
}

#[test]
fn begin_xact_reads_its_name_and_the_later_fields() {
    let mut fixed = vec![0; 0x4c - RECORD_HEADER_BYTES];
    fixed[0] = 51;
    fixed[8] = 3;
    fixed[0x28] = 0x42;
    let name: Vec<u8> = "SplitPage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let bytes = record(Op::BEGIN_XACT, &fixed, Some(&[&name, &[1]]));
    with_payload(&bytes, |payload, _| {
        let Payload::BeginXact(begin) = payload else { panic!("{payload:?}") };
        assert_eq!((begin.fixed.spid, begin.fixed.kind), (51, 3));
        assert_eq!(begin.fixed.outermost, Some(xact(0x42)));
        assert_eq!(begin.fixed.parent_of(xact(0x42)), None);
        assert_eq!(begin.fixed.parent_of(xact(0x44)), Some(xact(0x42)));
        let nested = BeginPart { parent: Some(xact(0x43)), ..begin.fixed };
        assert_eq!(nested.parent_of(xact(0x44)), Some(xact(0x43)));
        assert_eq!(begin.name.to_string_lossy(), "SplitPage");
    });
    // 2008 ends before the two ids.
    let bytes = record(Op::BEGIN_XACT, &fixed[..0x40 - RECORD_HEADER_BYTES], Some(&[&name, &[1]]));
    with_payload(&bytes, |payload, _| {
        let Payload::BeginXact(begin) = payload else { panic!("{payload:?}") };
        assert_eq!((begin.fixed.outermost, begin.fixed.parent), (None, None));
    });
    assert_eq!(LogText(&[0x3d, 0xd8, b'a', 0, 9]).to_string_lossy(), "\u{fffd}a");
}

#[test]
fn count_delta_has_a_column_before_its_cells_when_it_is_about_one() {
    let mut fixed = vec![0; 0xd0 - RECORD_HEADER_BYTES];
    fixed[0x50 - 0x18] = 5;
    fixed[0x58 - 0x18] = 0x35;
    fixed[0x5c - 0x18] = 8;
    with_payload(&record(Op::COUNT_DELTA, &fixed, None), |payload, _| {
        let Payload::CountDelta(count) = payload else { panic!("{payload:?}") };
        let cell = count.fixed.cells[0];
        assert_eq!((cell.value, cell.row_offset, cell.bytes), (5, 0x35, 8));
    });
    fixed[0x30 - 0x18] = 2;
    with_payload(&record(Op::COUNT_DELTA, &fixed, None), |payload, _| {
        let Payload::ColumnCountDelta(count) = payload else { panic!("{payload:?}") };
        assert_eq!((count.fixed.column_id, count.fixed.cells[0].value), (5, 0x0000_0008_0000_0035));
    });
}

#[test]
fn a_checkpoint_before_2012_lists_its_active_transactions() {
    let mut active = [0; 0x40];
    active[0] = 7;
    active[8] = 0x16;
    active[0x3f] = 1;
    with_payload(&record(Op::XACT_CKPT, &[], Some(&[&active])), |payload, _| {
        assert_eq!(payload.unknown_bytes(), 0x40 - 6 - 10 - 10);
        let Payload::XactCheckpoint(checkpoint) = payload else { panic!("{payload:?}") };
        assert_eq!(checkpoint.active[0].xact, XactId { high: 0, low: 7 });
        assert_eq!(checkpoint.active[0].begin, Lsn::new(0x16, 0, 0));
    });
    with_payload(&record(Op::XACT_CKPT, &[], Some(&[&active[1..]])), |payload, faults| {
        let Payload::XactCheckpoint(checkpoint) = payload else { panic!("{payload:?}") };
        assert_eq!((checkpoint.active.len(), checkpoint.undecoded[0].len()), (0, 0x3f));
        assert_eq!(faults, [], "another shape is no damage");
    });
}

/// An entry of XACT_CKPT in a real log of format 5, to its third field.
const ONE_ACTIVE: [u8; 34] = [
    0x52, 0x1b, 0, 0, 0, 0, 0, 0, 0x8a, 0, 0, 0, 0xd8, 0, 0, 0, 0x01, 0, 0x04, 0x01, 0x8a, 0, 0, 0,
    0x30, 0x01, 0, 0, 0xff, 0, 0, 0, 0x01, 0,
];

#[test]
fn a_checkpoint_from_2012_on_lists_its_active_transactions_in_one_element() {
    let mut entries = [0; 0xa0];
    entries[..ONE_ACTIVE.len()].copy_from_slice(&ONE_ACTIVE);
    entries[0x50] = 9;
    entries[0x50 + 8] = 0x8b;
    for (bytes, count) in [(0, 0), (0x50, 1), (0xa0, 2)] {
        let elements = [&entries[..bytes]];
        let elements = if count == 0 { &[][..] } else { &elements[..] };
        let bytes = record(Op::XACT_CKPT, &[], Some(elements));
        for format in [BlockFormat::V5, BlockFormat::V6] {
            let record = RecordRef::parse(format, &bytes).unwrap();
            assert_eq!((record.faults().as_slice(), record.undecoded_bytes()), (&[][..], 0));
            let payload = record.payload();
            let written: Vec<_> = payload.elements().unwrap().iter().map(|e| e.to_vec()).collect();
            assert_eq!(written, elements);
            let Payload::XactCheckpoint(checkpoint) = payload else { panic!("{payload:?}") };
            assert_eq!(checkpoint.active.len(), count);
            let Some(first) = checkpoint.active.first() else { continue };
            assert_eq!(first.xact, XactId { high: 0, low: 0x1b52 });
            assert_eq!(first.begin, Lsn::new(0x8a, 0xd8, 1));
            assert_eq!(first.last, Lsn::new(0x8a, 0x130, 0xff));
        }
    }
}

#[test]
fn active_transactions_of_2005_are_kept_undecoded() {
    let bytes = record(Op::XACT_CKPT, &[], Some(&[&[7; 0x38]]));
    let record = RecordRef::parse(BlockFormat::V3, &bytes).unwrap();
    assert_eq!((record.faults().as_slice(), record.undecoded_bytes()), (&[][..], 0x38));
}

#[test]
fn a_format_page_record_with_more_than_the_format_is_read_and_not_replayed() {
    let mut fixed = [0; 0x50 - RECORD_HEADER_BYTES];
    fixed[0] = 99;
    fixed[4] = 1;
    let image = vec![0x5a; 1000];
    let with_image = record(Op::FORMAT_PAGE, &fixed, Some(&[&image]));
    let mut with_rest = record(Op::FORMAT_PAGE, &fixed, Some(&[]));
    with_rest.resize(with_rest.len() + 200, 0x5a);
    for (bytes, unknown) in [(with_image, 1000), (with_rest, 200)] {
        let record = RecordRef::parse(BlockFormat::V4, &bytes).unwrap();
        assert_eq!(record.faults().as_slice(), []);
        assert_eq!(record.undecoded_bytes(), unknown);
        assert_eq!(record.payload().page_part().unwrap().page, PageId::new(1, 99));
        let mut page = Box::new([0; PAGE_BYTES]);
        let stop = redo(Lsn::new(1, 16, 1), &record, &mut page).unwrap_err();
        assert_eq!(stop, ApplyError::Shape(Op::FORMAT_PAGE));
    }
}

#[test]
fn an_identity_record_may_carry_an_element() {
    for tail in [None, Some(&[&[1u8][..]][..])] {
        let bytes = record(Op::IDENT_NEWVAL, &[5, 0, 0, 0, 0, 0, 0, 0], tail);
        let record = RecordRef::parse(BlockFormat::V4, &bytes).unwrap();
        assert_eq!((record.faults().as_slice(), record.rest()), (&[][..], &[][..]));
        let Payload::IdentValue(ident) = record.payload() else { panic!("{:?}", record.payload()) };
        assert_eq!(ident.fixed.object_id, 5);
    }
}

#[test]
fn the_dirty_pages_of_a_checkpoint_lie_before_uninitialised_memory() {
    // From a log of 2008: 185 dirty pages, then an address.
    let mut fixed = vec![0; 0x88 - RECORD_HEADER_BYTES];
    fixed[0x2a - 0x18..0x34 - 0x18]
        .copy_from_slice(&[0x8f, 0x02, 0xb9, 0, 0, 0, 0x80, 0x00, 0xf2, 0x05]);
    with_payload(&record(Op::END_CKPT, &fixed, None), |payload, _| {
        let Payload::EndCheckpoint(end) = payload else { panic!("{payload:?}") };
        assert_eq!((end.db_version, end.dirty_pages), (655, 185));
    });
}

/// The operations with a payload type, and how many elements their records have.
fn shapes() -> Vec<(Op, usize, Option<usize>)> {
    let mut shapes = Vec::new();
    for op in Op::all().filter(|op| Payload::is_decoded(BlockFormat::V4, *op)) {
        let (fixed_len, elements) = match op {
            Op::FORMAT_PAGE => (0x50, Some(0)),
            Op::SET_BITS => (0x36, Some(1)),
            Op::SET_FREE_SPACE => (0x34, None),
            Op::DELETE_SPLIT => (0x3c, None),
            Op::COUNT_DELTA => (0xd0, None),
            Op::ROOT_CHANGE => (0x60, None),
            Op::INSYSXACT => (0x32, Some(1)),
            Op::BEGIN_XACT => (0x4c, Some(2)),
            Op::COMMIT_XACT | Op::ABORT_XACT => (0x50, Some(0)),
            Op::PREP_XACT => (0x40, Some(1)),
            Op::MARK_SAVEPOINT => (0x22, Some(1)),
            Op::LOCK_XACT => (0x18, Some(1)),
            Op::XACT_CKPT => (0x18, Some(0)),
            Op::HOBT_DDL => (0x24, None),
            Op::IDENT_NEWVAL | Op::IDENT_SENTVAL => (0x20, None),
            Op::HOBT_DELTA => (0x40, None),
            Op::BP_DBVER => (0x1c, None),
            Op::BEGIN_CKPT => (0x60, None),
            Op::END_CKPT => (0x88, None),
            Op::CREATE_ALLOCCHAIN => (0x28, None),
            Op::DURABLE_MARK => (0x22, None),
            Op::MODIFY_COLUMNS => (0x3e, Some(4)),
            _ => (0x3e, Some(3)),
        };
        shapes.push((op, fixed_len, elements));
    }
    shapes
}

#[test]
fn every_typed_payload_gives_all_its_bytes_back() {
    let mut rng = SplitMix64::new(20);
    for (op, fixed_len, count) in shapes() {
        for _ in 0..50 {
            let mut bytes = || (rng.next_u64() >> 8) as u8;
            let fixed: Vec<u8> = (RECORD_HEADER_BYTES..fixed_len).map(|_| bytes()).collect();
            let element: &[u8] = if op == Op::MODIFY_COLUMNS { b"" } else { b"seven b" };
            let elements = vec![element; count.unwrap_or(0)];
            let record = record(op, &fixed, count.is_some().then_some(&elements));
            with_payload(&record, |payload, faults| {
                assert_eq!(faults, [], "{op}");
                assert!(!matches!(payload, Payload::Opaque(_)), "{op} is typed");
                let mut back = vec![0xee; fixed_len];
                payload.write_fixed(&mut back);
                assert_eq!(back[RECORD_HEADER_BYTES..], fixed, "{op}");
                let written = payload
                    .elements()
                    .map(|all| all.iter().map(|e| e.to_vec()).collect::<Vec<_>>());
                assert_eq!(
                    written,
                    count.map(|_| elements.iter().map(|e| e.to_vec()).collect()),
                    "{op}"
                );
                assert!(payload.least_fixed_len() <= fixed_len, "{op}");
            });
        }
    }
}

#[test]
fn times_of_records_are_kept_as_they_are() {
    let mut fixed = vec![0; 0x88 - RECORD_HEADER_BYTES];
    fixed[..8].copy_from_slice(&[0xff; 8]);
    with_payload(&record(Op::END_CKPT, &fixed, None), |payload, _| {
        let Payload::EndCheckpoint(end) = payload else { panic!("{payload:?}") };
        assert_eq!(end.end_time, LogTime { days: u32::MAX, ticks: u32::MAX });
        assert!(!end.end_time.is_valid());
    });
}
