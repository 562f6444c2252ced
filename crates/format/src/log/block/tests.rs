use extentdb_base::Lsn;
use extentdb_base::env::{Rng, SplitMix64};

use super::*;
use crate::log::fault::BlockFault;
use crate::log::op::Op;
use crate::log::payload::Payload;
use crate::log::payload::space::HobtDelta;
use crate::log::record::RecordHeader;

/// The record header and payload of a counter change.
fn delta(rows: i64) -> (RecordHeader, Payload<'static>) {
    let header = RecordHeader {
        fixed_len: 0x40,
        op: Op::HOBT_DELTA,
        ..RecordHeader::default()
    };
    (header, Payload::HobtDelta(HobtDelta { rows, ..HobtDelta::default() }))
}

fn header() -> BlockHeader {
    let flags = BlockHeader::FLAG_ALWAYS | BlockHeader::FLAG_CHECKSUM;
    BlockHeader {
        flags,
        first_lsn: Lsn::new(7, 16, 1),
        previous_size: 512,
        ..BlockHeader::default()
    }
}

fn block(records: i64) -> Vec<u8> {
    let mut builder = BlockBuilder::new(BlockFormat::V4);
    for rows in 0..records {
        let (header, payload) = delta(rows);
        builder.push(&header, &payload).unwrap();
    }
    builder.finish(&header(), Parity::Even).unwrap()
}

#[test]
fn a_block_comes_back_as_it_was_built() {
    let disk = block(20);
    assert_eq!(disk.len(), 1536, "40 + 20 * (64 + 2) bytes and one per sector");
    let block = BlockBuf::from_disk(disk);
    assert_eq!(block.faults(), []);
    let view = block.view();
    assert_eq!(view.format(), Some(BlockFormat::V4));
    assert_eq!(
        (view.header().record_count, view.header().used, view.header().size),
        (20, 1360, 1536)
    );
    let records: Vec<_> = view.records().collect();
    assert_eq!(records.len(), 20);
    for (rows, (lsn, record)) in records.iter().enumerate() {
        assert_eq!(*lsn, Lsn::new(7, 16, rows as u16 + 1));
        assert_eq!(record.payload(), delta(rows as i64).1);
    }
}

#[test]
fn sectors_are_stamped_by_index_and_parity() {
    let stamps_of = |disk: &[u8]| -> Vec<u8> { stamp::stamps(disk).map(|s| s.0).collect() };
    assert_eq!(stamps_of(&block(20)), [0x90, 0x80, 0x88]);
    assert_eq!(stamps_of(&block(1)), [0x98]);
    assert_eq!(
        block(1).last(),
        Some(&4),
        "the displaced byte of the first sector is the format number"
    );
}

#[test]
fn unstamping_puts_the_displaced_bytes_back() {
    let mut rng = SplitMix64::new(3);
    for sectors in [1, 2, 7, 120] {
        let size = 512 * sectors;
        let mut bytes: Vec<u8> = (0..size - sectors).map(|_| rng.next_u64() as u8).collect();
        bytes.resize(size, 0);
        let before = bytes.clone();
        stamp::stamp(&mut bytes, Parity::Odd);
        assert_eq!(stamp::verify_stamps(&bytes, Parity::Odd), None);
        stamp::unstamp(&mut bytes);
        assert_eq!(bytes[..size - sectors], before[..size - sectors]);
    }
}

/// The checksum by its definition: word by word.
fn slow_checksum(disk: &[u8]) -> u32 {
    let mut zeroed = disk.to_vec();
    zeroed[0x18..0x1c].fill(0);
    let count = zeroed.len() / 512;
    (0..count).fold(0, |sum, s| {
        let words = zeroed[512 * s..512 * (s + 1)].chunks(4);
        let folded = words.fold(0, |x, w| x ^ u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
        sum ^ folded.rotate_left(((count - 1 - s) % 32) as u32)
    })
}

#[test]
fn the_checksum_follows_its_definition() {
    let mut rng = SplitMix64::new(4);
    for sectors in [1, 2, 33, 120] {
        let disk: Vec<u8> = (0..512 * sectors).map(|_| rng.next_u64() as u8).collect();
        assert_eq!(checksum::compute(&disk), slow_checksum(&disk));
    }
    assert_eq!(checksum::compute(&[]), 0);
}

#[test]
fn a_flipped_bit_breaks_the_checksum() {
    let disk = block(20);
    for at in [1, 0x18, 100, 700, 1535] {
        let mut damaged = disk.clone();
        damaged[at] ^= 0x10;
        let block = BlockBuf::from_disk(damaged);
        assert!(!block.checksum().is_intact(), "byte {at}");
        assert!(
            block.faults().iter().any(|f| matches!(f, BlockFault::Checksum { .. })),
            "byte {at}"
        );
    }
}

#[test]
fn a_sector_of_another_write_is_a_stamp_fault() {
    let mut disk = block(20);
    disk[512] = 0x40;
    let faults = BlockBuf::from_disk(disk).faults();
    assert_eq!(faults[0], BlockFault::Stamp { sector: 1, found: 0x40, expected: 0x80 });
}

#[test]
fn a_slot_out_of_order_hides_its_record_only() {
    let disk = block(5);
    let mut bytes = disk.clone();
    stamp::unstamp(&mut bytes);
    let used = 40 + 5 * 66;
    // Record 3 now claims to lie after all others.
    bytes[used - 6..used - 4].copy_from_slice(&400u16.to_le_bytes());
    let view = BlockView::of(&bytes);
    let slots: Vec<u16> = view.slots().map(|(slot, _)| slot).collect();
    assert_eq!(slots, [1, 2, 4, 5]);
    assert_eq!(view.faults(), [BlockFault::Slot { slot: 3, offset: 400 }]);
    assert_eq!(
        view.record(2).unwrap().rest().len(),
        64,
        "the hidden record is the rest of the one before"
    );
    assert_eq!(view.slot_offset(3), Some(400));
    assert_eq!((view.slot_offset(0), view.slot_offset(6)), (None, None));
}

#[test]
fn equal_slots_do_not_multiply_the_work() {
    // 30 000 slots that all point to the first record: each byte still belongs to one record at
    // most.
    let mut bytes = vec![0; MAX_BLOCK_BYTES];
    bytes[0] = 4;
    bytes[2..4].copy_from_slice(&30_000u16.to_le_bytes());
    bytes[4..6].copy_from_slice(&60_040u16.to_le_bytes());
    for slot in 0..30_000 {
        bytes[60_038 - 2 * slot] = 40;
    }
    let view = BlockView::of(&bytes);
    assert_eq!(view.slots().count(), 0, "no room is left for a record");
    assert!(view.faults().len() >= 29_999);
}

#[test]
fn a_header_that_cannot_be_is_a_fault_and_never_more() {
    let check = |at: usize, value: u16, expected: BlockFault| {
        let mut bytes = block(2);
        stamp::unstamp(&mut bytes);
        bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
        assert!(BlockView::of(&bytes).faults().contains(&expected), "{expected}");
    };
    check(0, 9, BlockFault::Format { found: 9 });
    check(6, 1024, BlockFault::Size { stored: 1024, actual: 512 });
    check(4, 43, BlockFault::Used { used: 43, least: 44, most: 511 });
    check(4, 512, BlockFault::Used { used: 512, least: 44, most: 511 });
    check(4, 65_535, BlockFault::Used { used: 65_535, least: 44, most: 511 });
    check(2, 65_535, BlockFault::Used { used: 172, least: 40 + 131_070, most: 511 });
    assert_eq!(BlockView::of(&[4; 39]).faults(), [BlockFault::TooShort { bytes: 39 }]);
    assert_eq!(BlockView::of(&[]).faults(), [BlockFault::Format { found: 0 }]);
}

#[test]
fn a_filler_block_has_no_records_and_the_size_asked_for() {
    let builder = BlockBuilder::new(BlockFormat::V4);
    let disk = builder.finish(&BlockHeader { size: 0x2000, ..header() }, Parity::Odd).unwrap();
    assert_eq!(disk.len(), 0x2000);
    let block = BlockBuf::from_disk(disk);
    assert!(block.view().is_filler());
    assert_eq!((block.faults(), block.view().header().used), (vec![], 40));
}

#[test]
fn a_full_builder_refuses_and_keeps_what_it_has() {
    let mut builder = BlockBuilder::new(BlockFormat::V4);
    let (record_header, payload) = delta(1);
    let refusal = loop {
        if let Err(error) = builder.push(&record_header, &payload) {
            break error;
        }
    };
    assert_eq!(refusal, BuildError::Full { bytes: 66, left: 32 });
    assert_eq!(builder.record_count(), 928);
    let disk = builder.finish(&header(), Parity::Odd).unwrap();
    assert_eq!(disk.len(), MAX_BLOCK_BYTES);
    assert_eq!(BlockBuf::from_disk(disk).faults(), []);
}

#[test]
fn a_block_with_less_room_takes_fewer_records_and_gives_them_back() {
    let mut builder = BlockBuilder::with_room(BlockFormat::V4, 1024);
    let (record_header, payload) = delta(1);
    let bytes = BlockBuilder::bytes_of(BlockFormat::V4, &record_header, &payload).unwrap();
    assert_eq!((bytes, builder.left()), (66, 1024 - 2 - 40));
    while builder.left() >= bytes {
        let left = builder.left();
        builder.push(&record_header, &payload).unwrap();
        assert_eq!(builder.left(), left - bytes);
    }
    assert_eq!(
        builder.push(&record_header, &payload),
        Err(BuildError::Full { bytes: 66, left: 58 })
    );
    assert_eq!(builder.record(14).unwrap().payload(), payload);
    assert!(builder.record(0).is_none() && builder.record(15).is_none());
    let size = BlockHeader { size: 1536, ..header() };
    assert!(builder.clone().finish(&size, Parity::Odd).is_err());
    let disk = builder.finish(&header(), Parity::Odd).unwrap();
    assert_eq!((disk.len(), BlockBuf::from_disk(disk).faults()), (1024, vec![]));
}

#[test]
fn what_cannot_be_written_is_refused() {
    let mut builder = BlockBuilder::new(BlockFormat::V4);
    let (record_header, payload) = delta(1);
    let short = RecordHeader { fixed_len: 0x38, ..record_header };
    assert_eq!(
        builder.push(&short, &payload),
        Err(BuildError::FixedLen { fixed_len: 0x38, least: 0x40 })
    );
    let odd = RecordHeader { fixed_len: 0x41, ..record_header };
    assert_eq!(
        builder.push(&odd, &payload),
        Err(BuildError::FixedLen { fixed_len: 0x41, least: 0x40 })
    );
    for _ in 0..10 {
        builder.push(&record_header, &payload).unwrap();
    }
    for size in [512, 1000, 0xf200] {
        let result = builder.clone().finish(&BlockHeader { size, ..header() }, Parity::Odd);
        assert_eq!(result, Err(BuildError::Size { used: 700, size: usize::from(size) }));
    }
    assert_eq!((builder.least_size(512), builder.least_size(4096)), (1024, 4096));
}

#[test]
fn used_and_displaced_bytes_may_fill_a_block_to_the_last_byte() {
    // 511 bytes in use and one displaced byte are a sector; one byte more needs a second one.
    let least = |used: usize| used.div_ceil(511) * 512;
    assert_eq!((least(511), least(512)), (512, 1024));
    let mut builder = BlockBuilder::new(BlockFormat::V4);
    for _ in 0..7 {
        let (header, payload) = delta(0);
        builder.push(&header, &payload).unwrap();
    }
    assert_eq!((builder.used(), builder.least_size(512)), (502, 512));
}
