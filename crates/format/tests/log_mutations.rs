//! Damaged blocks and logs never make a view panic, hang or name bytes that are not there.
//!
//! The blocks come from the samples where those are at hand, and from a builder otherwise.

use std::path::PathBuf;
use std::time::Duration;

use extentdb_base::Lsn;
use extentdb_base::env::{Clock, Rng, SplitMix64, SystemClock};
use extentdb_format::log::block::{BlockBuilder, BlockHeader, BuildError, stamp};
use extentdb_format::log::fault::RecordFault;
use extentdb_format::log::record::RECORD_HEADER_BYTES;
use extentdb_format::log::{
    BlockBuf, BlockFormat, BlockView, ChainItem, LogReader, Op, Parity, RecordHeader, RecordRef,
    VlfHeader, dblog,
};

const BLOCK_MUTATIONS: u32 = 12_000;
const LOG_MUTATIONS: u32 = 400;

fn sample(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")),
        PathBuf::from,
    );
    std::fs::read(folder.join(name)).ok()
}

/// A log of two VLFs with random records of all formats, for a machine without samples.
fn built_log(rng: &mut SplitMix64) -> Vec<u8> {
    const SIZE: u64 = 0x40000;
    let mut log = vec![0; 0x2000];
    for sequence in [5, 6] {
        let offset = log.len() as u64;
        let header = VlfHeader {
            signature: VlfHeader::SIGNATURE,
            parity: 0x40,
            format: 4,
            sequence,
            size: SIZE,
            offset,
            ..VlfHeader::default()
        };
        log.extend(header.to_area(0));
        while (log.len() as u64) < offset + SIZE - 0x10000 {
            let position = (log.len() as u64 - offset) / 512;
            log.extend(random_block(rng, Lsn::new(sequence, position as u32, 1)));
        }
        log.resize((offset + SIZE) as usize, 0);
    }
    log
}

fn random_block(rng: &mut SplitMix64, first_lsn: Lsn) -> Vec<u8> {
    let ops: Vec<Op> = Op::all().collect();
    let format = BlockFormat::ALL[rng.below(5) as usize];
    let mut builder = BlockBuilder::with_fill(format, 0xdd);
    for _ in 0..rng.below(40) {
        let fixed_len = RECORD_HEADER_BYTES + 2 * rng.below(90) as usize;
        let mut bytes: Vec<u8> = (0..fixed_len + 60).map(|_| rng.next_u64() as u8).collect();
        let op = ops[rng.below(ops.len() as u64) as usize];
        let header = RecordHeader { fixed_len: fixed_len as u16, op, ..RecordHeader::default() };
        header.write(format, &mut bytes);
        // Two elements of twenty bytes.
        bytes[fixed_len..fixed_len + 6].copy_from_slice(&[2, 0, 20, 0, 20, 0]);
        let record = RecordRef::parse(format, &bytes).expect("a header");
        builder.push(record.header(), &record.payload()).expect("room");
    }
    let header = BlockHeader { flags: 3, first_lsn, ..BlockHeader::default() };
    builder.finish(&header, Parity::Odd).expect("a block")
}

fn logs() -> Vec<Vec<u8>> {
    let names = [
        "northwind-2008_log.ldf",
        "pubs-2008_log.ldf",
        "northwind-from-2000_log.ldf",
        "crud-2012_log.ldf",
    ];
    let mut logs: Vec<Vec<u8>> = names.into_iter().filter_map(sample).collect();
    if logs.is_empty() {
        eprintln!("SKIPPED: no samples; built logs only");
    }
    logs.push(built_log(&mut SplitMix64::new(1)));
    logs
}

fn disk_blocks(logs: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut blocks = Vec::new();
    for log in logs {
        let reader = LogReader::open(log.as_slice()).expect("a slice can be read");
        for item in reader.chain() {
            if let ChainItem::Block(block) = item.expect("a slice can be read") {
                let at = block.file_offset as usize;
                blocks.push(log[at..at + block.buf.as_bytes().len()].to_vec());
            }
        }
    }
    blocks
}

/// Damages `bytes` as disks and programs do: bits, bytes, lengths, runs, a cut.
fn mutate(bytes: &mut Vec<u8>, rng: &mut SplitMix64) {
    for _ in 0..=rng.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(7) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at] = rng.next_u64() as u8,
            // The first bytes hold counts, sizes and the first record's lengths.
            2 => {
                let at = rng.below(bytes.len().min(0x60) as u64) as usize;
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff][rng.below(5) as usize];
            }
            3 => {
                let value = [0, 1, 2, 0x18, 0x7fff, 0x8000, 0xffff, rng.next_u64() as u16]
                    [rng.below(8) as usize];
                let at = at.min(bytes.len().saturating_sub(2));
                bytes[at..].iter_mut().zip(value.to_le_bytes()).for_each(|(b, v)| *b = v);
            }
            4 => {
                let len = rng.below(64) as usize;
                let fill = rng.next_u64() as u8;
                bytes[at..].iter_mut().take(len).for_each(|b| *b = fill);
            }
            5 => {
                let from = rng.below(bytes.len() as u64) as usize;
                let run: Vec<u8> = bytes[from..].iter().take(32).copied().collect();
                bytes[at..].iter_mut().zip(run).for_each(|(b, v)| *b = v);
            }
            _ => {
                if rng.below(8) == 0 {
                    bytes.truncate(at);
                }
            }
        }
    }
}

/// Reads everything there is to read.
fn exercise(view: &BlockView<'_>) -> usize {
    let len = view.as_bytes().len();
    let mut next = 0;
    for range in view.undefined() {
        assert!(
            next <= range.start && range.start < range.end && range.end <= len,
            "{range:?} of {len}"
        );
        next = range.end;
    }
    let mut work = view.faults().len();
    for (lsn, record) in view.records() {
        work += dblog::columns(lsn, &record).len() + record.faults().len();
        rewrite(&record);
    }
    work
}

/// Whatever a record holds, writing its payload gives its bytes back.
fn rewrite(record: &RecordRef<'_>) {
    if record.faults().iter().any(|fault| matches!(fault, RecordFault::FixedLen { .. })) {
        return;
    }
    let payload = record.payload();
    let mut builder = BlockBuilder::new(record.format());
    match builder.push(record.header(), &payload) {
        Ok(_) => {}
        Err(BuildError::FixedLen { fixed_len, .. }) => {
            assert_eq!(fixed_len % 2, 1, "{:?}", record.header());
            return;
        }
        Err(error) => panic!("{error}"),
    }
    let mut disk =
        builder.finish(&BlockHeader::default(), Parity::Odd).expect("room for one record");
    stamp::unstamp(&mut disk);
    let at = record.format().header_bytes();
    let undefined: Vec<_> = record.undefined().into_iter().collect();
    for (i, byte) in record.bytes().iter().enumerate() {
        let is_undefined = undefined.iter().any(|range| range.contains(&i));
        assert!(disk[at + i] == *byte || is_undefined, "byte {i:#x} of {:?}", record.header());
    }
}

#[test]
fn damaged_blocks_are_read_as_far_as_they_go() {
    let blocks = disk_blocks(&logs());
    assert!(blocks.len() > 50);
    let mut rng = SplitMix64::new(2);
    let mut work = 0;
    for _ in 0..BLOCK_MUTATIONS {
        let mut disk = blocks[rng.below(blocks.len() as u64) as usize].clone();
        // Half of the damage is done to logical bytes, so that stamps do not hide it.
        let logical = rng.below(2) == 0;
        if logical {
            stamp::unstamp(&mut disk);
        }
        mutate(&mut disk, &mut rng);
        if logical {
            work += exercise(&BlockView::of(&disk));
        } else {
            let block = BlockBuf::from_disk(disk);
            work += exercise(&block.view()) + block.faults().len();
        }
    }
    assert!(work > 0);
}

#[test]
fn damage_to_a_sealed_block_does_not_pass_unnoticed() {
    let blocks = disk_blocks(&logs());
    let mut rng = SplitMix64::new(3);
    let mut damaged = 0;
    for _ in 0..2_000 {
        let disk = &blocks[rng.below(blocks.len() as u64) as usize];
        let sealed = BlockBuf::from_disk(disk.clone());
        if !sealed.view().header().has_checksum() {
            continue;
        }
        let mut other = disk.clone();
        // The flag that says there is a checksum is the one bit that can switch it off.
        let at = rng.below(other.len() as u64) as usize;
        if at != 8 {
            other[at] ^= 1 << rng.below(8);
            assert!(!BlockBuf::from_disk(other).faults().is_empty(), "byte {at} of {}", disk.len());
            damaged += 1;
        }
    }
    assert!(damaged > 300, "{damaged} blocks");
}

#[test]
fn damaged_logs_are_walked_to_an_end() {
    let logs = logs();
    let mut rng = SplitMix64::new(4);
    let clock = SystemClock::new();
    for _ in 0..LOG_MUTATIONS {
        let mut log = logs[rng.below(logs.len() as u64) as usize].clone();
        for _ in 0..=rng.below(6) {
            // VLF headers lie on multiples of 8 KiB; half of the damage goes there.
            let pages = log.len() as u64 / 0x2000;
            let at = match rng.below(2) {
                0 if pages > 0 => 0x2000 * rng.below(pages) as usize + rng.below(64) as usize,
                _ => rng.below(log.len().max(1) as u64) as usize,
            };
            log[at..]
                .iter_mut()
                .take(1 + rng.below(9) as usize)
                .for_each(|b| *b = rng.next_u64() as u8);
        }
        if rng.below(10) == 0 {
            log.truncate(rng.below(log.len() as u64) as usize);
        }
        let reader = LogReader::open(log.as_slice()).expect("a slice can be read");
        let summary = reader.summary().expect("a slice can be read");
        let end = summary.end.expect("every walk ends");
        reader.leftovers(&end).expect("a slice can be read");
    }
    assert!(clock.monotonic() < Duration::from_secs(60), "{:?}", clock.monotonic());
}
