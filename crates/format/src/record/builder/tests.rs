use proptest::prelude::*;

use super::super::row::{Record, RecordFault};
use super::*;

/// Record of `Shippers` in Northwind, as printed in the format description.
const SHIPPERS: &[u8] = b"\x30\x00\x08\x00\x01\x00\x00\x00\x03\x00\x00\x02\x00\x2d\x00\x49\x00\
S\x00p\x00e\x00e\x00d\x00y\x00 \x00E\x00x\x00p\x00r\x00e\x00s\x00s\x00\
(\x005\x000\x003\x00)\x00 \x005\x005\x005\x00-\x009\x008\x003\x001\x00";

#[test]
fn a_real_row_reads_and_writes_back() {
    let record = Record::parse_data(SHIPPERS);
    assert_eq!(record.fault(), None);
    assert_eq!((record.len(), record.column_count(), record.var_count()), (SHIPPERS.len(), 3, 2));
    assert_eq!(record.fixed(4, 4), Some(&[1, 0, 0, 0][..]));
    assert_eq!(
        (record.is_null(1), record.is_null(3), record.is_null(4)),
        (Some(false), Some(false), None)
    );
    let mut builder = RecordBuilder::data(RecordKind::Primary, 8);
    builder.columns(3).fixed(4, &[1, 0, 0, 0]);
    for column in record.vars() {
        builder.var(column.bytes, column.complex);
    }
    assert_eq!(builder.to_vec(), SHIPPERS);
}

#[test]
fn index_records_of_the_format_description() {
    let root = [0x06, 0x69, 0x28, 0, 0, 0x13, 0, 0, 0, 0x0a, 1, 0, 0, 1, 0];
    let record = Record::parse_index(&root, 15);
    assert_eq!(
        (record.fault(), record.len(), record.child()),
        (None, 15, Some(PageId::new(1, 266)))
    );
    let mut builder = RecordBuilder::index(RecordKind::Index, 15);
    builder.fixed(1, &root[1..9]).child(PageId::new(1, 266));
    assert_eq!(builder.to_vec(), root);

    let leaf = b"\x26\x7f\x01\0\0\x01\0\0\0\x01\0\x17\x000\x001\x005\x008\x001\0";
    let record = Record::parse_index(leaf, 9);
    assert_eq!((record.fault(), record.len()), (None, 23));
    assert_eq!(record.var(0).unwrap().bytes, b"0\x001\x005\x008\x001\0");
}

#[test]
fn stubs_and_back_pointers_name_each_other() {
    let home = Rid::new(PageId::new(1, 354), 12);
    let target = Rid::new(PageId::new(1, 363), 0);
    let stub = forwarding_stub(target);
    assert_eq!(stub, [0x04, 0x6b, 1, 0, 0, 1, 0, 0, 0]);
    assert_eq!(Record::parse_data(&stub).stub_target(), Some(target));
    let mut builder = RecordBuilder::data(RecordKind::Forwarded, 8);
    builder.columns(2).var(b"", false).back_pointer(home);
    let bytes = builder.to_vec();
    let record = Record::parse_data(&bytes);
    assert_eq!((record.status_a(), record.back_pointer()), (0x32, Some(home)));
    assert_eq!(record.var(0).unwrap().bytes, b"");
}

#[test]
fn trailing_empty_columns_are_not_stored() {
    let mut builder = RecordBuilder::data(RecordKind::Primary, 4);
    builder.columns(3).var(b"", false).var(b"", false);
    assert_eq!(builder.to_vec(), [0x10, 0, 4, 0, 3, 0, 0]);
    builder.clear();
    builder.var(b"", false).var(b"x", false).var(b"", false);
    assert_eq!(Record::parse_data(&builder.to_vec()).var_count(), 2);
}

#[test]
fn a_broken_part_leaves_the_parts_before_it_readable() {
    let mut bytes = SHIPPERS.to_vec();
    bytes[13] = 0x05; // first end offset before the variable data
    let record = Record::parse_data(&bytes);
    assert_eq!(
        record.fault(),
        Some(RecordFault::EndOffset { column: 0, end: 5, start: 17, limit: bytes.len() })
    );
    assert_eq!(record.fixed(4, 4), Some(&[1, 0, 0, 0][..]));
    assert_eq!(record.var(0), None);
    bytes[2] = 0xff;
    bytes[3] = 0x7f;
    assert!(matches!(
        Record::parse_data(&bytes).fault(),
        Some(RecordFault::FixedEnd { fixed_end: 0x7fff, .. })
    ));
}

proptest! {
    #[test]
    fn what_is_built_is_what_is_read(
        fixed in prop::collection::vec(any::<u8>(), 0..60),
        nulls in prop::collection::vec(any::<bool>(), 0..40),
        vars in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..50), any::<bool>()), 0..20),
        data in any::<bool>(),
    ) {
        let header = if data { DATA_HEADER_BYTES } else { INDEX_HEADER_BYTES };
        let end = header + fixed.len();
        let mut builder = if data {
            RecordBuilder::data(RecordKind::GhostData, end)
        } else {
            RecordBuilder::index(RecordKind::Index, end)
        };
        builder.fixed(header, &fixed).columns(nulls.len() as u16);
        for (n, _) in nulls.iter().enumerate().filter(|(_, null)| **null) {
            builder.null(n as u16 + 1);
        }
        for (bytes, complex) in &vars {
            builder.var(bytes, *complex);
        }
        let bytes = builder.to_vec();
        let record = if data { Record::parse_data(&bytes) } else { Record::parse_index(&bytes, end as u16) };
        prop_assert_eq!(record.fault(), None);
        prop_assert_eq!(record.len(), bytes.len());
        prop_assert_eq!(record.fixed(header, fixed.len()), Some(&fixed[..]));
        for (n, null) in nulls.iter().enumerate() {
            prop_assert_eq!(record.is_null(n as u16 + 1), Some(*null));
        }
        for (i, (bytes, complex)) in vars.iter().enumerate() {
            match record.var(i as u16) {
                Some(column) => prop_assert_eq!((column.bytes, column.complex), (&bytes[..], *complex)),
                None => prop_assert!(bytes.is_empty() && !complex),
            }
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), pminlen in any::<u16>()) {
        for record in [Record::parse_data(&bytes), Record::parse_index(&bytes, pminlen)] {
            prop_assert!(record.len() <= bytes.len());
            let _ = (record.vars().count(), record.version_tag(), record.child(), record.back_pointer());
            prop_assert_eq!(record.bytes().len(), record.len());
        }
    }
}
