//! The log of a set as a log file: which parity its blocks have, and where the first one begins.

use extentdb_format::log::payload::checkpoint::BeginCheckpoint;
use extentdb_format::log::{
    BlockBuilder, BlockFormat, BlockHeader, ChainItem, LogReader, Op, Parity, Payload, RecordHeader,
};

use super::builder::{LogSpec, MediaSpec, SetSpec, formatted};
use super::*;
use extentdb_base::Lsn;
use extentdb_base::size::SECTOR_BYTES;

const SEQUENCE: u32 = 41;
const VLF_OFFSET: u64 = 0x2000;

/// Three blocks from `first` (offset in the log file) on, after `unused` sectors of zeros.
fn blocks(first: u64, unused: u64, parity: Parity) -> Vec<u8> {
    let mut bytes = vec![0; unused as usize * SECTOR_BYTES];
    let mut previous_size = 0;
    for _ in 0..3 {
        let at = (first + bytes.len() as u64 - VLF_OFFSET) / SECTOR_BYTES as u64;
        let mut builder = BlockBuilder::new(BlockFormat::V4);
        let header = RecordHeader {
            fixed_len: 0x60,
            op: Op::BEGIN_CKPT,
            ..RecordHeader::default()
        };
        builder.push(&header, &Payload::BeginCheckpoint(BeginCheckpoint::default())).unwrap();
        let lsn = Lsn::new(SEQUENCE, at as u32, 1);
        let header = BlockHeader {
            flags: 3,
            previous_size,
            first_lsn: lsn,
            ..BlockHeader::default()
        };
        let block = builder.finish(&header, parity).unwrap();
        previous_size = block.len() as u16;
        bytes.extend(block);
    }
    bytes
}

/// Blocks read from a backup whose VLF is described with `parity`, and the faults of the
/// description.
fn read_back(parity: [u8; 2], bytes: Vec<u8>, first: u64) -> (usize, Vec<String>) {
    let log = LogSpec {
        sequence: SEQUENCE,
        vlf_offset: VLF_OFFSET,
        vlf_bytes: 0x60000,
        first,
        bytes,
        is_here: true,
        parity,
    };
    let spec = SetSpec {
        logs: vec![log],
        ..SetSpec::full(1, 1, vec![formatted(1, 0, 1)])
    };
    let set = only_set(MediaSpec::of(vec![spec]).build()).unwrap();
    assert!(set.findings().is_empty(), "{:?}", texts(set.findings()));
    let mut logs = carried_logs(&set);
    let (_, log, map) = logs.remove(0);
    let faults = map.faults().iter().map(|(_, fault)| fault.to_string()).collect();
    let reader = LogReader::with_map(log, map);
    let items = reader.chain().map(Result::unwrap);
    (items.filter(|item| matches!(item, ChainItem::Block(_))).count(), faults)
}

#[test]
fn the_byte_after_the_parity_of_a_vlf_is_ignored() {
    for after in [0, 1, 0xff] {
        let read = read_back([0x80, after], blocks(0x9000, 0, Parity::Even), 0x9000);
        assert_eq!(read, (3, vec![]), "{after}");
    }
}

#[test]
fn an_invalid_parity_is_replaced_by_that_of_the_carried_blocks() {
    for (described, stamped) in [(0xff, Parity::Odd), (0, Parity::Even), (0xc0, Parity::Odd)] {
        for unused in [0, 1, 9] {
            let read = read_back([described, 0], blocks(0x9000, unused, stamped), 0x9000);
            assert_eq!(read, (3, vec![]), "{described:x} {unused}");
        }
    }
}

#[test]
fn an_invalid_parity_is_reported_when_no_block_has_one() {
    let read = read_back([0xff, 0], vec![0; 0x1000], 0x9000);
    assert_eq!(read, (0, vec!["VLF parity is ff, not 00, 40 or 80".to_owned()]));
    // Blocks stamped for another offset are ignored.
    let (count, faults) = read_back([0xff, 0], blocks(0xb000, 0, Parity::Odd), 0x9000);
    assert_eq!((count, faults.len()), (0, 1));
}
