//! Every log block of every sample is rebuilt from its typed values.
//!
//! The rebuilt block lies on a buffer filled with EE hex, so nothing can be passed on by keeping
//! bytes: a byte that differs must lie where the view says that nothing is defined. What the types
//! do not understand is kept in `residue` or in elements without a meaning; it is counted and
//! printed by operation (`--nocapture`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use extentdb_format::log::block::{BlockView, checksum, stamp};
use extentdb_format::log::{
    BlockBuilder, ChainItem, LogBlock, LogReader, Op, Payload, RecordRef, Vlf, VlfHeader,
};

const FILL: u8 = 0xee;

/// Sample, blocks and records; `None` where no figure is known from elsewhere.
const SAMPLES: [(&str, u64, Option<u64>); 4] = [
    ("northwind-2008_log.ldf", 48, None),
    ("pubs-2008_log.ldf", 21, None),
    ("northwind-from-2000_log.ldf", 283, Some(19_319)),
    ("crud-2012_log.ldf", 966, Some(2_015)),
];

fn sample(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")),
        PathBuf::from,
    );
    if !folder.is_dir() {
        eprintln!("SKIPPED: no samples in {}", folder.display());
        return None;
    }
    Some(std::fs::read(folder.join(name)).expect("a sample of this name"))
}

/// Bytes of the records of one operation.
#[derive(Default)]
struct Coverage {
    records: usize,
    typed: usize,
    residue: usize,
    residue_nonzero: usize,
    elements_unknown: usize,
    undefined: usize,
}

impl Coverage {
    fn add(&mut self, record: &RecordRef<'_>, payload: &Payload<'_>) {
        let undefined: usize = record.undefined().iter().map(|range| range.len()).sum();
        let unknown = payload.unknown_bytes();
        let last =
            record.undefined().last().map_or(record.len(), |range| range.end.max(record.len()));
        self.records += 1;
        self.undefined += undefined;
        self.residue += payload.residue().len();
        self.residue_nonzero += payload.residue().nonzero();
        self.elements_unknown += unknown - payload.residue().len();
        self.typed += last - undefined - unknown;
    }
}

/// Rebuilds a block from header values and payloads.
fn rebuild(view: &BlockView<'_>, parity: stamp::Parity) -> Vec<u8> {
    let mut builder = BlockBuilder::with_fill(view.format().expect("a known format"), FILL);
    for (slot, record) in view.slots() {
        let placed = builder.push(record.header(), &record.payload()).expect("room for the record");
        assert_eq!(placed, slot);
    }
    builder.finish(view.header(), parity).expect("the block's own size")
}

fn check_block(disk: &[u8], block: &LogBlock, by_op: &mut BTreeMap<Op, Coverage>) {
    let view = block.buf.view();
    assert_eq!(block.buf.faults(), [], "{} has faults", block.lsn);
    let parity = block.buf.first_stamp().parity().expect("a parity");
    let mut rebuilt = rebuild(&view, parity);
    assert_eq!(rebuilt.len(), disk.len());
    assert!(stamp::stamps(&rebuilt).eq(stamp::stamps(disk)), "{}: stamps", block.lsn);

    stamp::unstamp(&mut rebuilt);
    let original = view.as_bytes();
    let mut defined = vec![true; original.len()];
    let undefined = view.undefined();
    for range in &undefined {
        defined[range.clone()].fill(false);
        // A range named as undefined must not have been written: else the view and the builder
        // disagree.
        assert!(
            rebuilt[range.clone()].iter().all(|b| *b == FILL),
            "{}: {range:?} was written",
            block.lsn
        );
    }
    // The checksum covers undefined bytes too, so it is compared below, once they are the same.
    let has_checksum = view.header().has_checksum();
    for (at, (built, read)) in rebuilt.iter().zip(original).enumerate() {
        let is_checksum = has_checksum && (0x18..0x1c).contains(&at);
        assert!(
            built == read || !defined[at] || is_checksum,
            "{}: byte {at:#x} differs",
            block.lsn
        );
    }

    for range in undefined {
        rebuilt[range.clone()].copy_from_slice(&original[range]);
    }
    stamp::stamp(&mut rebuilt, parity);
    if has_checksum {
        checksum::seal(&mut rebuilt);
    }
    assert!(rebuilt == disk, "{}: the sealed block differs", block.lsn);

    for (_, record) in view.slots() {
        let payload = record.payload();
        let fixed_len = record.header().op.fixed_len(record.format());
        assert_eq!(
            Some(record.header().fixed_len),
            fixed_len,
            "{}: {}",
            block.lsn,
            record.header().op
        );
        by_op.entry(record.header().op).or_default().add(&record, &payload);
    }
}

fn check_vlf(file: &[u8], vlf: &Vlf) {
    let at = vlf.offset as usize;
    let rebuilt = VlfHeader { ..vlf.header.clone() }.to_area(0);
    assert!(file[at..at + rebuilt.len()] == rebuilt, "VLF header at {at:#x}");
}

#[test]
fn every_log_block_of_the_samples_is_rebuilt_from_its_values() {
    let mut by_op = BTreeMap::new();
    for (name, blocks, records) in SAMPLES {
        let Some(file) = sample(name) else { return };
        let reader = LogReader::open(file.as_slice()).expect("a slice can be read");
        assert_eq!(reader.map().faults(), [], "{name}");
        reader.map().vlfs().iter().for_each(|vlf| check_vlf(&file, vlf));
        let mut block_count = 0;
        let mut record_count = 0;
        for item in reader.chain() {
            match item.expect("a slice can be read") {
                ChainItem::Block(block) => {
                    assert_eq!(block.previous_size_should_be, None, "{name} {}", block.lsn);
                    let at = block.file_offset as usize;
                    let disk = &file[at..at + block.buf.as_bytes().len()];
                    check_block(disk, &block, &mut by_op);
                    block_count += 1;
                    record_count += u64::from(block.buf.view().header().record_count);
                }
                ChainItem::Gap(gap) => panic!("{name}: {gap:?}"),
                ChainItem::End(end) => {
                    println!("{name}: {block_count} blocks, {record_count} records, {end:?}")
                }
            }
        }
        assert_eq!(block_count, blocks, "{name}: blocks");
        assert_eq!(record_count, records.unwrap_or(record_count), "{name}: records");
    }
    report(&by_op);
}

/// Prints the coverage, and holds it: no operation may lose its type unnoticed.
fn report(by_op: &BTreeMap<Op, Coverage>) {
    println!(
        "{:<24}{:>8}{:>10}{:>9}{:>9}{:>10}{:>10}",
        "operation", "records", "typed", "residue", "not 0", "elements?", "undefined"
    );
    let mut total = Coverage::default();
    for (op, c) in by_op {
        let Coverage {
            records,
            typed,
            residue,
            residue_nonzero,
            elements_unknown,
            undefined,
        } = c;
        println!(
            "{op:<24}{records:>8}{typed:>10}{residue:>9}{residue_nonzero:>9}{elements_unknown:>10}{undefined:>10}"
        );
        total.records += records;
        total.typed += typed;
        total.residue += residue;
        total.residue_nonzero += residue_nonzero;
        total.elements_unknown += elements_unknown;
        total.undefined += undefined;
    }
    let known = total.typed + total.residue + total.elements_unknown;
    println!(
        "{:<24}{:>8}{:>10}{:>9}{:>9}{:>10}{:>10}",
        "all",
        total.records,
        total.typed,
        total.residue,
        total.residue_nonzero,
        total.elements_unknown,
        total.undefined
    );
    // 94.6 of 100 bytes had a meaning when this was written. Zeros of COUNT_DELTA make up most of
    // the rest.
    assert!(total.typed * 1000 >= known * 940, "{} of {known} bytes are typed", total.typed);
}
