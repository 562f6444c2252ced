use super::*;

/// A record of formats 3 to 6: header, `fixed` after it, then `tail`.
fn record(op: Op, fixed: &[u8], tail: &[u8]) -> Vec<u8> {
    let header = RecordHeader {
        fixed_len: (RECORD_HEADER_BYTES + fixed.len()) as u16,
        previous: Lsn::new(0x16, 0x1e, 2),
        flags: RecordFlags::TRANSACTION,
        xact: XactId { high: 0x0102, low: 0x0304_0506 },
        op,
        context: Context::HEAP,
        ..RecordHeader::default()
    };
    let mut bytes = vec![0; RECORD_HEADER_BYTES];
    header.write(BlockFormat::V4, &mut bytes);
    bytes.extend_from_slice(fixed);
    bytes.extend_from_slice(tail);
    bytes
}

fn parse(bytes: &[u8]) -> RecordRef<'_> {
    RecordRef::parse(BlockFormat::V4, bytes).unwrap()
}

/// Starts and ends of the undefined ranges.
fn undefined(record: &RecordRef<'_>) -> Vec<(usize, usize)> {
    record.undefined().iter().map(|range| (range.start, range.end)).collect()
}

#[test]
fn the_two_header_forms_hold_the_same_fields_in_another_order() {
    let newer = record(Op::COMMIT_XACT, &[], &[]);
    let expected =
        [0, 0, 24, 0, 0x16, 0, 0, 0, 0x1e, 0, 0, 0, 2, 0, 2, 0, 6, 5, 4, 3, 2, 1, 0x81, 1];
    assert_eq!(newer, expected);
    let header = RecordHeader::read(BlockFormat::V4, &newer).unwrap();
    let mut older = vec![0; RECORD_HEADER_BYTES];
    header.write(BlockFormat::V2, &mut older);
    let expected =
        [0, 0, 24, 0, 0x16, 0, 0, 0, 0x1e, 0, 0, 0, 2, 0, 0x81, 1, 6, 5, 4, 3, 2, 1, 2, 0];
    assert_eq!(older, expected);
    assert_eq!(RecordHeader::read(BlockFormat::V2, &older), Some(header));
    assert_eq!(RecordHeader::read(BlockFormat::V2, &older[..23]), None);
}

#[test]
fn flags_print_their_bytes_as_they_lie_on_disk() {
    assert_eq!(RecordFlags(2).to_string(), "0x0200");
    assert!(RecordFlags(3).is_compensation() && RecordFlags(3).is_of_transaction());
}

#[test]
fn elements_are_found_and_their_padding_is_undefined() {
    // Fixed part of 26: the count lies at 26, lengths at 28, elements at 32 and 36, the record ends
    // at 40.
    let tail = [2, 0, 3, 0, 1, 0, b'a', b'b', b'c', 0xdd, b'd', 0xdd, 0xdd, 0xdd];
    let bytes = record(Op::INSERT_ROWS, &[7, 7], &tail);
    let record = parse(&bytes);
    assert_eq!(record.elements(), [b"abc".as_slice(), b"d"]);
    assert_eq!(record.len(), 40);
    assert_eq!(record.fixed().len(), 26);
    assert_eq!(undefined(&record), [(35, 36), (37, 40)]);
    assert!(bytes[35..36].iter().chain(&bytes[37..40]).all(|b| *b == 0xdd));
}

#[test]
fn what_lies_between_a_record_and_the_next_one_is_undefined() {
    let bytes = record(Op::BP_DBVER, &[1, 2, 3, 4], &[0xdd; 4]);
    let record = parse(&bytes);
    assert_eq!((record.len(), undefined(&record)), (28, vec![(28, 32)]));
    assert_eq!(record.faults().as_slice(), []);
    assert_eq!((record.rest(), record.undecoded_bytes()), (&[][..], 0));
}

#[test]
fn a_record_longer_than_is_known_of_it_is_read_and_its_rest_counted() {
    let bytes = record(Op::BP_DBVER, &[1, 2, 3, 4], &[0xdd; 8]);
    let record = parse(&bytes);
    assert_eq!(record.faults().as_slice(), []);
    assert_eq!((record.len(), record.rest()), (28, &[0xdd; 8][..]));
    assert_eq!(record.undecoded_bytes(), 8);
    assert!(matches!(record.payload(), Payload::DbVersionChange(_)));
    // The end of a checkpoint in format 6.
    for rest in [8, 132] {
        let mut bytes = vec![0; 0x88 + rest];
        let header = RecordHeader { fixed_len: 0x88, op: Op::END_CKPT, ..RecordHeader::default() };
        header.write(BlockFormat::V6, &mut bytes);
        let record = RecordRef::parse(BlockFormat::V6, &bytes).unwrap();
        assert_eq!((record.faults().as_slice(), record.undecoded_bytes()), (&[][..], rest));
        assert!(matches!(record.payload(), Payload::EndCheckpoint(_)));
    }
}

#[test]
fn a_record_shorter_than_its_known_fixed_part_is_a_fault() {
    let bytes = record(Op::END_CKPT, &[0; 0x10], &[]);
    let expected = RecordFault::ShortFixed { op: Op::END_CKPT, fixed_len: 0x28, needed: 0x30 };
    assert_eq!(parse(&bytes).faults().as_slice(), [expected]);
    let bytes = record(Op::INSERT_ROWS, &[0; 0x20], &[0; 4]);
    assert!(matches!(parse(&bytes).faults()[..], [RecordFault::ShortFixed { needed: 0x3e, .. }]));
}

#[test]
fn elements_past_the_record_are_a_fault_and_kept_as_they_are() {
    let bytes = record(Op::INSERT_ROWS, &[7, 7], &[2, 0, 3, 0, 255, 0, b'a', b'b', b'c', 0]);
    let record = parse(&bytes);
    assert_eq!(record.faults().as_slice(), [RecordFault::Elements { count: 2, stored: 36 }]);
    assert_eq!(record.tail(), &Tail::Raw(&bytes[26..]));
    assert!(record.elements().is_empty());
    let bytes = self::record(Op::INSERT_ROWS, &[7, 7], &[255, 255]);
    assert_eq!(
        parse(&bytes).faults().as_slice(),
        [RecordFault::Elements { count: 65_535, stored: 28 }]
    );
    let bytes = self::record(Op::INSERT_ROWS, &[7, 7], &[]);
    assert_eq!(parse(&bytes).faults().as_slice(), [RecordFault::Elements { count: 0, stored: 26 }]);
}

#[test]
fn a_fixed_length_that_cannot_be_is_a_fault() {
    for fixed_len in [0, 23, 29, u16::MAX] {
        let mut bytes = record(Op::HOBT_DELTA, &[0; 4], &[]);
        bytes[2..4].copy_from_slice(&fixed_len.to_le_bytes());
        let record = parse(&bytes);
        assert_eq!(record.faults()[0], RecordFault::FixedLen { fixed_len, stored: 28 });
        assert!(matches!(record.payload(), Payload::Opaque(_)));
        assert_eq!(record.bytes(), bytes);
    }
    assert!(RecordRef::parse(BlockFormat::V4, &[0; 23]).is_none());
}

#[test]
fn an_unknown_operation_is_given_elements_only_when_they_fit_exactly() {
    let fitting = record(Op(0x17), &[7, 7], &[1, 0, 2, 0, 0xdd, 0xdd, 5, 6, 0xdd, 0xdd]);
    assert_eq!(parse(&fitting).elements(), [[5, 6]]);
    assert_eq!(
        (parse(&fitting).faults().as_slice(), parse(&fitting).undecoded_bytes()),
        (&[][..], 4)
    );
    let other = record(Op(0x17), &[7, 7], &[1, 0, 2, 0, 0, 0, 5, 6, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9]);
    assert_eq!(parse(&other).tail(), &Tail::Raw(&other[26..]));
    let short = record(Op(0x17), &[7; 4], &[0xdd; 4]);
    assert_eq!((parse(&short).tail(), parse(&short).len()), (&Tail::Absent, 28));
}

#[test]
fn a_record_of_format_2_ends_where_its_header_says() {
    let header = RecordHeader { fixed_len: 30, op: Op::MARK_DDL, ..RecordHeader::default() };
    let mut bytes = vec![0xdd; 32];
    header.write(BlockFormat::V2, &mut bytes);
    let record = RecordRef::parse(BlockFormat::V2, &bytes).unwrap();
    assert_eq!((record.len(), record.header().op), (30, Op::MARK_DDL));
    assert_eq!(undefined(&record), [(30, 32)]);
    assert_eq!(record.faults().as_slice(), []);
    assert_eq!(record.payload().residue().len(), 6);
}
