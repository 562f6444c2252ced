use extentdb_base::env::{Rng, SplitMix64};

use super::*;

/// The record of a published DBCC PAGE listing ("Pro SQL Server Internals", listing 4-27): ten
/// columns, three long.
fn published() -> Vec<u8> {
    let start = [
        0x21, 0x0a, 0x51, 0x40, 0x1a, 0x0b, 0xaa, 0xff, 0xff, 0xff, 0xff, b'a', b'a', b'a', 1, 3,
        0, 0xe8, 3, 0xd0, 7, 0xda, 7,
    ];
    [&start[..], &[b'b'; 1000], &[b'c'; 1000], b"dddddddddd"].concat()
}

#[test]
fn a_published_record_reads_as_dbcc_page_prints_it() {
    let mut bytes = published();
    bytes.extend_from_slice(b"what follows on the page");
    let record = CdRecord::parse(&bytes);
    assert_eq!((record.fault(), record.kind(), record.len()), (None, CdKind::Primary, 2033));
    let long = |bytes| CdColumn::Long { bytes, complex: false };
    let columns: Vec<CdColumn<'_>> = record.columns().collect();
    assert_eq!(
        columns,
        [
            CdColumn::Empty,
            CdColumn::Short(&[0xff; 4]),
            CdColumn::Null,
            CdColumn::Short(b"aaa"),
            long(&[b'b'; 1000]),
            CdColumn::Empty,
            CdColumn::BitTrue,
            CdColumn::Null,
            long(&[b'c'; 1000]),
            long(b"dddddddddd"),
        ]
    );
    assert_eq!(record.column(3), Some(CdColumn::Short(b"aaa")));
    assert_eq!(record.column(10), None, "a column that came later");
}

#[test]
fn header_bits_name_the_kind() {
    let cases = [
        (0x01, CdKind::Primary),
        (0x21, CdKind::Primary),
        (0x0d, CdKind::GhostData),
        (0x09, CdKind::ForwardingStub),
        (0x31, CdKind::Forwarded),
        (0x19, CdKind::Index),
        (0x1d, CdKind::GhostIndex),
    ];
    for (header, kind) in cases {
        assert_eq!(CdKind::of(header), kind, "{header:#04x}");
        assert_eq!(header & 0x1c, kind.bits());
    }
    assert!(CdKind::GhostData.is_ghost() && !CdKind::Forwarded.is_ghost());
}

#[test]
fn two_hundred_and_three_columns_have_a_count_of_two_bytes() {
    // Published: 203 columns begin with 80 cb. Every 29th column holds its number, the others are
    // NULL.
    let mut codes = [0u8; 102];
    let mut clusters = [0u8; 6];
    let mut data = Vec::new();
    for column in (0..203usize).step_by(29) {
        codes[column / 2] |= 2 << (column % 2 * 4);
        if column / 30 < 6 {
            clusters[column / 30] += 1;
        }
        data.push(column as u8);
    }
    let bytes = [&[0x01, 0x80, 0xcb][..], &codes, &clusters, &data].concat();
    let record = CdRecord::parse(&bytes);
    assert_eq!((record.fault(), record.column_count(), record.len()), (None, 203, bytes.len()));
    for (column, value) in record.columns().enumerate() {
        let expected = [column as u8];
        let expected = if column % 29 == 0 { CdColumn::Short(&expected) } else { CdColumn::Null };
        assert_eq!(value, expected, "column {column}");
        assert_eq!(record.column(column as u16), Some(expected));
    }
}

#[test]
fn a_stub_and_a_child_page_are_pointers() {
    let stub = [0x09, 0x76, 0, 0, 0, 1, 0, 3, 0, 0xee];
    let record = CdRecord::parse(&stub);
    assert_eq!((record.fault(), record.len(), record.column_count()), (None, 9, 0));
    assert_eq!(record.stub_target(), Some(Rid::new(PageId::new(1, 118), 3)));
    // Key 5 and child (1:72).
    let index = [0x19, 2, 0x72, 0x85, 72, 0, 0, 0, 1, 0];
    let record = CdRecord::parse(&index);
    assert_eq!((record.fault(), record.len()), (None, 10));
    assert_eq!(record.child(), Some(PageId::new(1, 72)));
    assert_eq!(
        CdRecord::parse(&[0x01, 1, 0x07, 72, 0, 0, 0, 1, 0]).child(),
        None,
        "not an index record"
    );
}

#[test]
fn pointers_tags_and_extra_values_of_forwarded_rows() {
    let bytes = [&[0x33, 2, 0xaa, 0x03, 2, 0, 3, 0x80, 5, 0, 1, 2, 3, 4, 5][..], &[7; 14]].concat();
    let record = CdRecord::parse(&bytes);
    assert_eq!(
        (record.fault(), record.kind(), record.len()),
        (None, CdKind::Forwarded, bytes.len())
    );
    assert_eq!(record.column(0), Some(CdColumn::Long { bytes: &[1, 2, 3], complex: true }));
    let more = [0x31, 1, 0x0a, 0x03, 2, 0, 1, 0, 3, 0x80, 9, 8, 8];
    let record = CdRecord::parse(&more);
    assert_eq!(record.fault(), None);
    assert_eq!(record.extra_long().collect::<Vec<_>>(), [(&[8u8, 8][..], true)]);
    let primary = [&[0x21], &more[1..]].concat();
    assert_eq!(
        CdRecord::parse(&primary).fault(),
        Some(CdFault::LongCount { stored: 2, computed: 1 })
    );
}

#[test]
fn faults_name_what_does_not_add_up() {
    let fault = |bytes: &[u8]| CdRecord::parse(bytes).fault();
    assert_eq!(fault(&[]), Some(CdFault::NotCompressed { header: 0 }));
    assert_eq!(fault(&[0x30, 1]), Some(CdFault::NotCompressed { header: 0x30 }));
    assert_eq!(fault(&[0x01]), Some(CdFault::Header { limit: 1 }));
    assert_eq!(fault(&[0x09, 1]), Some(CdFault::Header { limit: 2 }));
    assert_eq!(fault(&[0x01, 5, 0]), Some(CdFault::Descriptors { end: 5, limit: 3 }));
    assert_eq!(fault(&[0x01, 1, 0x0d]), Some(CdFault::Descriptor { column: 0, code: 13 }));
    assert_eq!(fault(&[0x01, 1, 0x05, 1]), Some(CdFault::ShortData { end: 7, limit: 4 }));
    assert_eq!(fault(&[0x01, 1, 0x0a]), Some(CdFault::LongRegion { columns: 1 }));
    assert_eq!(fault(&[0x21, 1, 0x0a, 0, 1, 0, 0, 0]), Some(CdFault::LongFlags { found: 0 }));
    assert_eq!(fault(&[0x21, 1, 0x0a, 1, 9, 0]), Some(CdFault::LongArrays { end: 24, limit: 6 }));
    let long = [0x21, 2, 0xaa, 1, 2, 0, 2, 0, 9, 0, 1, 2];
    assert_eq!(fault(&long), Some(CdFault::LongOffset { entry: 1, end: 19, start: 12, limit: 12 }));
    let record = CdRecord::parse(&long);
    assert_eq!(record.column(0), Some(CdColumn::Long { bytes: &[1, 2], complex: false }));
    assert_eq!(record.column(1), Some(CdColumn::Unreadable));
    assert_eq!(fault(&[0x03, 1, 0x01]), Some(CdFault::VersionTag { end: 17, limit: 3 }));
}

#[test]
fn cluster_lengths_are_checked() {
    let mut bytes = vec![0x01, 31];
    bytes.extend_from_slice(&[0x22; 16]);
    bytes[17] = 0x02;
    bytes.push(30);
    bytes.extend(0..31u8);
    let record = CdRecord::parse(&bytes);
    assert_eq!((record.fault(), record.column(30)), (None, Some(CdColumn::Short(&[30]))));
    bytes[18] = 29;
    let fault = CdFault::ShortCluster { cluster: 0, stored: 29, computed: 30 };
    assert_eq!(CdRecord::parse(&bytes).fault(), Some(fault));
}

#[test]
fn an_unknown_descriptor_hides_only_what_comes_after_it() {
    let record = CdRecord::parse(&[0x01, 4, 0xe2, 0x12, 7, 8]);
    assert_eq!(record.fault(), Some(CdFault::Descriptor { column: 1, code: 14 }));
    let columns: Vec<_> = record.columns().collect();
    assert_eq!(
        columns,
        [CdColumn::Short(&[7]), CdColumn::Unreadable, CdColumn::Unreadable, CdColumn::Empty]
    );
}

#[test]
fn mutated_records_never_panic() {
    let mut rng = SplitMix64::new(6);
    let original = published();
    for _ in 0..20_000 {
        let mut bytes = original[..rng.below(60) as usize].to_vec();
        for _ in 0..rng.below(4) {
            let at = rng.below(bytes.len().max(1) as u64) as usize;
            if let Some(byte) = bytes.get_mut(at) {
                *byte = rng.next_u64() as u8;
            }
        }
        let record = CdRecord::parse(&bytes);
        assert!(record.len() <= bytes.len());
        assert_eq!(record.columns().count(), usize::from(record.column_count()));
        let _ = (record.child(), record.stub_target(), record.extra_long().count());
    }
}
