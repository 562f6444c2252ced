use std::cell::Cell;

use super::*;
use crate::log::block::{BlockBuilder, BlockFormat, BlockHeader, Parity};
use crate::log::payload::space::HobtDelta;
use crate::log::record::RecordHeader;
use crate::log::source::{CarriedLog, OutOfBytes};
use crate::log::vlf::VlfHeader;

/// Size of the VLFs here: header area and 16 sectors.
const SIZE: u64 = 0x4000;

/// A log file in the making.
struct TestLog {
    bytes: Vec<u8>,
    previous_size: u16,
}

impl TestLog {
    fn new() -> Self {
        TestLog { bytes: vec![0; 0x2000], previous_size: 0 }
    }

    /// Adds a VLF and fills it with blocks of `sizes`.
    fn vlf(mut self, sequence: u32, parity: u8, sizes: &[u16]) -> Self {
        let offset = self.bytes.len() as u64;
        let header = VlfHeader {
            signature: VlfHeader::SIGNATURE,
            parity,
            format: 4,
            sequence,
            size: SIZE,
            offset,
            ..VlfHeader::default()
        };
        self.bytes.extend(header.to_area(0));
        self.bytes.resize((offset + SIZE) as usize, 0);
        let mut position = 0x2000;
        for size in sizes {
            let block = self.block(sequence, parity, position, *size);
            let at = (offset + position) as usize;
            self.bytes[at..at + block.len()].copy_from_slice(&block);
            position += u64::from(*size);
        }
        self
    }

    /// A block with one record, for a place in a VLF.
    fn block(&mut self, sequence: u32, parity: u8, position: u64, size: u16) -> Vec<u8> {
        let mut builder = BlockBuilder::new(BlockFormat::V4);
        let record = RecordHeader {
            fixed_len: 0x40,
            op: Op::HOBT_DELTA,
            ..RecordHeader::default()
        };
        builder.push(&record, &Payload::HobtDelta(HobtDelta::default())).unwrap();
        let header = BlockHeader {
            size,
            flags: 3,
            previous_size: self.previous_size,
            first_lsn: Lsn::new(sequence, (position / 512) as u32, 1),
            ..BlockHeader::default()
        };
        self.previous_size = size;
        builder.finish(&header, Parity::from_byte(parity).unwrap()).unwrap()
    }

    /// The chain as text: `7:10` for a block, what is missing, how it ends.
    fn chain(&self) -> Vec<String> {
        let reader = LogReader::open(&self.bytes).unwrap();
        assert_eq!(reader.map().faults(), []);
        reader.chain().map(|item| text(&item.unwrap())).collect()
    }

    fn leftovers(&self) -> Leftovers {
        let reader = LogReader::open(&self.bytes).unwrap();
        let end = reader.for_each_record(|_, _, _| ControlFlow::Continue(())).unwrap().unwrap();
        reader.leftovers(&end).unwrap()
    }
}

fn text(item: &ChainItem) -> String {
    match item {
        ChainItem::Block(block) => {
            assert_eq!(block.buf.faults(), []);
            let broken = if block.previous_size_should_be.is_some() { " unlinked" } else { "" };
            format!("{:x}:{:x}{broken}", block.lsn.vlf, block.lsn.block)
        }
        ChainItem::Gap(Gap::Vlfs { after, next }) => {
            format!("missing between {after:x} and {next:x}")
        }
        ChainItem::Gap(Gap::Blocks { lsn, from, to, reason }) => {
            format!("missing at {:x}:{:x}, {} bytes: {reason}", lsn.vlf, lsn.block, to - from)
        }
        ChainItem::End(end) => {
            format!("end at {:x}:{:x}: {}", end.lsn.vlf, end.lsn.block, end.reason)
        }
    }
}

const FULL: [u16; 3] = [0x1000, 0x800, 0x800];

#[test]
fn vlfs_are_read_by_sequence_and_not_by_offset() {
    let mut log = TestLog::new().vlf(8, 0x80, &FULL);
    log.previous_size = 0;
    log = log.vlf(7, 0x40, &FULL);
    let expected =
        ["7:10", "7:18", "7:1c", "8:10 unlinked", "8:18", "8:1c", "end at 9:10: the VLF is full"];
    assert_eq!(log.chain(), expected);
    // After the full VLF lies the one before it, whose blocks are not lost.
    assert_eq!(log.leftovers(), Leftovers { complete: true, ..Leftovers::default() });
}

#[test]
fn the_log_ends_at_the_first_position_without_a_block() {
    let log = TestLog::new().vlf(7, 0x40, &FULL).vlf(8, 0x40, &[512, 1024]);
    assert_eq!(log.chain(), ["7:10", "7:18", "7:1c", "8:10", "8:11", "end at 8:13: never written"]);
    assert_eq!(log.leftovers(), Leftovers { complete: true, ..Leftovers::default() });
}

#[test]
fn torn_log_block_ends_recovery() {
    let mut log = TestLog::new().vlf(7, 0x40, &[512, 0x800, 512]);
    let block = 0x2000 + 0x2000 + 512;
    log.bytes[block + 2 * 512] = 0x80;
    assert_eq!(log.chain(), ["7:10", "end at 7:11: torn: sector 2 is stamped 80"]);
    // The block after the torn one was written in the same use of the VLF: the log has lost it.
    let leftovers = log.leftovers();
    assert_eq!((leftovers.lost_blocks, leftovers.first_lost), (1, Some(Lsn::new(7, 0x15, 1))));
    assert_eq!(leftovers.stale_blocks, 0);

    let mut log = TestLog::new().vlf(7, 0x40, &[512, 0x800]);
    log.bytes[block + 3 * 512] = 0x40;
    assert_eq!(log.chain(), ["7:10", "end at 7:11: torn: sector 3 is stamped 40"]);
}

#[test]
fn every_condition_of_the_end_ends_the_log() {
    let check = |at: usize, bytes: &[u8], expected: &str| {
        let mut log = TestLog::new().vlf(7, 0x40, &[512, 0x800]);
        let block = 0x2000 + 0x2000 + 512;
        log.bytes[block + at..block + at + bytes.len()].copy_from_slice(bytes);
        assert_eq!(log.chain(), ["7:10".to_owned(), format!("end at 7:11: {expected}")]);
    };
    check(0, &[0x00], "never written");
    check(0, &[0xc0], "never written");
    check(0, &[0x40], "first byte 40 does not begin a block");
    check(0, &[0xd0], "first byte d0 does not begin a block");
    check(0, &[0x90], "stamp 90 is of another use of the VLF");
    check(6, &[0, 0], "block size 0 cannot be");
    check(6, &[1, 2], "block size 513 cannot be");
    check(6, &[0, 0xf2], "block size 61952 cannot be");
    check(6, &[0, 0x20], "block size 8192 cannot be");
    check(0xc, &[8], "the block names itself 00000008:00000011:0001");
    check(0x10, &[0x12], "the block names itself 00000007:00000012:0001");
    check(0x14, &[2], "the block names itself 00000007:00000011:0002");
}

#[test]
fn a_vlf_in_the_middle_that_is_not_full_is_a_gap() {
    let log = TestLog::new().vlf(7, 0x40, &[0x1000]).vlf(8, 0x40, &[512]);
    let expected = [
        "7:10",
        "missing at 7:18, 4096 bytes: never written",
        "8:10",
        "end at 8:11: never written",
    ];
    assert_eq!(log.chain(), expected);

    let mut log = TestLog::new().vlf(7, 0x40, &[0x1000, 0x800, 0x800]).vlf(8, 0x40, &[]);
    log.bytes[0x2000 + 0x3000] ^= 0xff;
    let expected = [
        "7:10",
        "missing at 7:18, 2048 bytes: first byte af does not begin a block",
        "7:1c",
        "end at 8:10: never written",
    ];
    assert_eq!(log.chain(), expected);
}

#[test]
fn missing_sequence_numbers_are_a_gap() {
    let log = TestLog::new().vlf(7, 0x40, &FULL).vlf(9, 0x40, &[512]);
    assert_eq!(
        log.chain(),
        ["7:10", "7:18", "7:1c", "missing between 7 and 9", "9:10", "end at 9:11: never written"]
    );
}

#[test]
fn a_restored_log_begins_in_the_middle_of_a_vlf() {
    let mut log = TestLog::new().vlf(7, 0x40, &[0x800, 0x400, 0x200]);
    log.bytes[0x4000..0x4800].fill(0);
    assert_eq!(log.chain(), ["7:14", "7:16", "end at 7:17: never written"]);
}

#[test]
fn a_log_without_a_block_ends_where_it_would_begin() {
    assert_eq!(TestLog::new().vlf(7, 0x40, &[]).chain(), ["end at 7:10: never written"]);
    assert_eq!(TestLog::new().chain(), ["end at 0:0: never written"]);
}

#[test]
fn stale_blocks_after_the_end_belong_to_an_earlier_use() {
    let mut log = TestLog::new().vlf(7, 0x80, &[512, 512]);
    for (position, size) in [(0x2600, 512), (0x2800, 1024)] {
        let stale = log.block(4, 0x40, position, size);
        let at = 0x2000 + position as usize;
        log.bytes[at..at + stale.len()].copy_from_slice(&stale);
    }
    assert_eq!(log.chain(), ["7:10", "7:11", "end at 7:12: never written"]);
    let expected = Leftovers {
        stale_blocks: 2,
        stale_sequences: Some((4, 4)),
        complete: true,
        ..Leftovers::default()
    };
    assert_eq!(log.leftovers(), expected);
}

#[test]
fn a_search_stops_when_its_budget_is_spent() {
    let mut log = TestLog::new().vlf(7, 0x40, &[0x1000, 0x800]);
    log.bytes[0x4000..0x5000].fill(0xff);
    let count = |budget| {
        let reader = LogReader::open(&log.bytes).unwrap().with_search_budget(budget);
        reader.chain().filter(|item| matches!(item, Ok(ChainItem::Block(_)))).count()
    };
    assert_eq!((count(7 * 512), count(8 * 512)), (0, 1));
}

#[test]
fn records_come_with_their_lsns_until_the_visitor_breaks_off() {
    let log = TestLog::new().vlf(7, 0x40, &[512, 512, 512]);
    let reader = LogReader::open(&log.bytes).unwrap();
    let mut seen = Vec::new();
    let end = reader.for_each_record(|lsn, record, _| {
        assert_eq!(record.header().op, Op::HOBT_DELTA);
        seen.push(lsn.to_string());
        if seen.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(end, Ok(None));
    assert_eq!(seen, ["00000007:00000010:0001", "00000007:00000011:0001"]);
    let summary = reader.summary().unwrap();
    assert_eq!((summary.blocks, summary.records, summary.block_bytes), (3, 3, 1536));
    assert_eq!((summary.faulty_blocks, summary.gap_count), (0, 0));
    assert_eq!(summary.last, Some(Lsn::new(7, 0x12, 1)));
}

#[test]
fn the_log_part_of_a_backup_is_read_without_vlf_headers() {
    let log = TestLog::new().vlf(7, 0x40, &[0x800, 0x400, 0x200]);
    let map = VlfMap::read(&log.bytes).unwrap();
    let headers: Vec<VlfHeader> = map.vlfs().iter().map(|vlf| vlf.header.clone()).collect();
    // The stream starts with the second block and is padded with zeros.
    let carried = CarriedLog {
        bytes: log.bytes[0x4800..0x5000].to_vec(),
        first: 0x4800,
        file_len: log.bytes.len() as u64,
    };
    let reader =
        LogReader::with_map(carried, VlfMap::from_descriptions(headers, carried_len(&log)));
    let chain: Vec<String> = reader.chain().map(|item| text(&item.unwrap())).collect();
    assert_eq!(chain, ["7:14", "7:16", "end at 7:17: never written"]);
}

fn carried_len(log: &TestLog) -> u64 {
    log.bytes.len() as u64
}

/// A file whose reads fail from some call on.
struct Failing<'a>(&'a Vec<u8>, Cell<u32>);

impl LogBytes for Failing<'_> {
    type Error = OutOfBytes;

    fn len(&self) -> u64 {
        LogBytes::len(self.0)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), OutOfBytes> {
        if self.1.get() == 0 {
            return Err(OutOfBytes { offset, bytes: buf.len() });
        }
        self.1.set(self.1.get() - 1);
        self.0.read_at(offset, buf)
    }
}

#[test]
fn a_failed_read_ends_the_chain_with_its_error() {
    let log = TestLog::new().vlf(7, 0x40, &FULL).vlf(8, 0x40, &[512]);
    // Two reads for the headers, one for the blocks of the first VLF.
    let reader = LogReader::open(Failing(&log.bytes, Cell::new(3))).unwrap();
    let items: Vec<bool> = reader.chain().map(|item| item.is_ok()).collect();
    assert_eq!(items, [true, true, true, false]);
    assert!(LogReader::open(Failing(&log.bytes, Cell::new(0))).is_err());
}

/// A log file with one VLF of a terabyte: a header, then nothing.
struct Hole(Vec<u8>, Cell<u32>);

impl LogBytes for Hole {
    type Error = OutOfBytes;

    fn len(&self) -> u64 {
        0x2000 + (1 << 40)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), OutOfBytes> {
        self.1.set(self.1.get() + 1);
        buf.fill(0);
        if offset == 0x2000 {
            buf.iter_mut().zip(&self.0).for_each(|(b, byte)| *b = *byte);
        }
        Ok(())
    }
}

#[test]
fn a_terabyte_without_a_block_is_given_up_soon() {
    let header = VlfHeader {
        signature: VlfHeader::SIGNATURE,
        parity: 0x40,
        format: 4,
        sequence: 7,
        size: 1 << 40,
        offset: 0x2000,
        ..VlfHeader::default()
    };
    let hole = Hole(header.to_bytes().to_vec(), Cell::new(0));
    let reader = LogReader::open(hole).unwrap();
    let end = reader.summary().unwrap().end.unwrap();
    assert_eq!(end.lsn, Lsn::new(7, 0x10, 1));
    assert!(!reader.leftovers(&end).unwrap().complete);
    assert!(reader.source.1.get() < 10_000, "{} reads", reader.source.1.get());
}
