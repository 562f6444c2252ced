use super::*;
use crate::log::context::Context;
use crate::log::op::Op;
use crate::log::record::{RecordFlags, RecordHeader};
use extentdb_base::XactId;

/// A record of format 4 as bytes.
fn record(header: RecordHeader, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 24];
    header.write(BlockFormat::V4, &mut bytes);
    bytes.extend_from_slice(rest);
    bytes
}

fn shown(bytes: &[u8]) -> Vec<(&'static str, String)> {
    let record = RecordRef::parse(BlockFormat::V4, bytes).unwrap();
    columns(Lsn::new(0x32, 0x1e, 1), &record)
        .into_iter()
        .map(|(c, text)| (c.name(), text))
        .collect()
}

#[test]
fn a_commit_shows_its_time_and_its_begin() {
    let header = RecordHeader {
        fixed_len: 0x30,
        previous: Lsn::new(0x32, 0x1c, 1),
        flags: RecordFlags::TRANSACTION,
        xact: XactId { high: 0, low: 0x1142 },
        op: Op::COMMIT_XACT,
        context: Context::NULL,
        ..RecordHeader::default()
    };
    let rest = [
        0x7b, 0xa5, 0x50, 0x01, 0xca, 0xa0, 0, 0, 0x32, 0, 0, 0, 0x1c, 0, 0, 0, 1, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0,
    ];
    let bytes = record(header, &rest);
    let expected = [
        ("Current LSN", "00000032:0000001e:0001"),
        ("Operation", "LOP_COMMIT_XACT"),
        ("Context", "LCX_NULL"),
        ("Transaction ID", "0000:00001142"),
        ("Tag Bits", "0x0000"),
        ("Log Record Fixed Length", "48"),
        ("Log Record Length", "52"),
        ("Previous LSN", "00000032:0000001c:0001"),
        ("Flag Bits", "0x0200"),
        ("Num Elements", "0"),
        ("End Time", "2012/09/12 20:25:41:530"),
        ("Transaction Begin", "00000032:0000001c:0001"),
    ];
    let shown = shown(&bytes);
    let shown: Vec<(&str, &str)> =
        shown.iter().map(|(name, text)| (*name, text.as_str())).collect();
    assert_eq!(shown[..12], expected);
    assert!(
        shown[12]
            .1
            .starts_with("0x00003000320000001C0000000100020042110000000081007BA55001CAA00000")
    );
}

#[test]
fn a_row_operation_shows_page_rowset_and_contents() {
    let header = RecordHeader {
        fixed_len: 0x3e,
        op: Op::INSERT_ROWS,
        ..RecordHeader::default()
    };
    let mut rest = vec![0; 0x3e - 24];
    rest[..10].copy_from_slice(&[0x3a, 1, 0, 0, 1, 0, 7, 0, 0x32, 0]);
    rest[22..24].copy_from_slice(&[0, 1]);
    rest[24] = 9;
    rest.extend([3, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0xab, 0xcd, 0, 0, 0xef, 0, 0, 0]);
    let bytes = record(header, &rest);
    let shown = shown(&bytes);
    let value = |name: &str| shown.iter().find(|(n, _)| *n == name).map(|(_, text)| text.as_str());
    assert_eq!(value("Page ID"), Some("0001:0000013a"));
    assert_eq!(value("Slot ID"), Some("7"));
    assert_eq!(value("AllocUnitId"), Some("72057594041204736"));
    assert_eq!(value("PartitionId"), Some("9"));
    assert_eq!(value("Num Elements"), Some("3"));
    assert_eq!(value("RowLog Contents 0"), Some("0xABCD"));
    assert_eq!(value("RowLog Contents 1"), Some("0x"));
    assert_eq!(value("RowLog Contents 2"), Some("0xEF"));
    assert_eq!(value("RowLog Contents 3"), None);
}

#[test]
fn columns_come_in_the_order_of_fn_dblog() {
    let header = RecordHeader {
        fixed_len: 0x34,
        op: Op::SET_FREE_SPACE,
        ..RecordHeader::default()
    };
    let mut rest = vec![0; 0x34 - 24];
    rest[24..28].copy_from_slice(&[0x3e, 1, 0x61, 0x60]);
    let bytes = record(header, &rest);
    let record = RecordRef::parse(BlockFormat::V4, &bytes).unwrap();
    let shown = columns(Lsn::ZERO, &record);
    assert!(shown.windows(2).all(|pair| pair[0].0 < pair[1].0));
    let tail: Vec<&str> =
        shown[shown.len() - 4..shown.len() - 1].iter().map(|(_, t)| t.as_str()).collect();
    assert_eq!(tail, ["318", "97", "96"]);
    assert_eq!(Column::ALL.len(), 64);
}
