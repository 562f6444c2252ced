//! Logs to test, and records that can be told apart.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use extentdb_base::env::SystemClock;
use extentdb_base::{FileId, Lsn, XactId};
use extentdb_format::log::payload::row::{InsertRows, RowPart};
use extentdb_format::log::reader::ChainItem;
use extentdb_format::log::{
    Context, LogBlock, LogBytes, LogReader, Op, Payload, RecordHeader, RecordRef, VlfMap,
};
use extentdb_io::{Disk, MemDisk};
use extentdb_types::Guid;
use extentdb_wal::{Error, Growth, Log, LogSpec};

/// Where the log lies on its disk.
pub(crate) const PATH: &str = "log.ldf";
/// The smallest log: two VLFs of 248 KiB.
pub(crate) const SMALL: u64 = 504 << 10;
/// Sequence number of the first VLF.
pub(crate) const FIRST: u32 = 0x31;

pub(crate) fn spec(bytes: u64, growth: Growth) -> LogSpec {
    LogSpec {
        file_id: FileId(2),
        logical_name: "lab_log".into(),
        bytes,
        growth,
        max_bytes: None,
        binding_id: Guid([1; 16]),
        fork_guid: Guid([0; 16]),
        file_guid: Guid([2; 16]),
        first_sequence: FIRST,
        sector_bytes: 512,
    }
}

pub(crate) fn clock() -> Arc<SystemClock> {
    Arc::new(SystemClock::new())
}

pub(crate) fn create(disk: &MemDisk, spec: &LogSpec) -> Log {
    Log::create(disk.create(Path::new(PATH)).unwrap(), spec, clock()).unwrap()
}

pub(crate) fn open(disk: &MemDisk, from: Lsn) -> Result<Log, Error> {
    Log::open(disk.open(Path::new(PATH))?, from, clock())
}

/// Bytes of a row that names its number in every place.
pub(crate) fn row(serial: u32, bytes: usize) -> Vec<u8> {
    serial.to_le_bytes().iter().copied().cycle().take(bytes).collect()
}

/// Calls `with` with the header and payload of a record that carries a row.
pub(crate) fn with_payload<T>(
    serial: u32,
    bytes: usize,
    with: impl FnOnce(&RecordHeader, &Payload<'_>) -> T,
) -> T {
    let row = row(serial, bytes);
    let header = RecordHeader {
        op: Op::INSERT_ROWS,
        context: Context::HEAP,
        xact: XactId { high: 0, low: serial },
        ..RecordHeader::default()
    };
    let insert = InsertRows {
        fixed: RowPart::default(),
        rows: vec![&row],
        ..InsertRows::default()
    };
    with(&header, &Payload::InsertRows(insert))
}

pub(crate) fn append(log: &Log, serial: u32, bytes: usize) -> Result<Lsn, Error> {
    with_payload(serial, bytes, |header, payload| log.append(header, payload, 0))
}

/// Number and row length of a record made here; anything else is garbage and fails.
pub(crate) fn read_back(record: &RecordRef<'_>) -> (u32, usize) {
    assert_eq!(record.faults().as_slice(), []);
    let serial = record.header().xact.low;
    match record.payload() {
        Payload::InsertRows(insert) => {
            assert_eq!(insert.rows.len(), 1);
            assert_eq!(insert.rows[0], row(serial, insert.rows[0].len()));
            (serial, insert.rows[0].len())
        }
        other => panic!("{other:?}"),
    }
}

/// The records from `from` on.
pub(crate) fn records(log: &Log, from: Lsn) -> Vec<(Lsn, u32, usize)> {
    let mut found = Vec::new();
    log.scan(from, &mut |lsn, record| {
        let (serial, bytes) = read_back(record);
        found.push((lsn, serial, bytes));
        ControlFlow::Continue(())
    })
    .unwrap();
    found
}

/// Records of a log file, the durable marks of its blocks apart.
pub(crate) fn record_count<S: LogBytes<Error: std::fmt::Debug>>(reader: &LogReader<S>) -> u64 {
    let mut count = 0;
    let each = |_: Lsn, record: &RecordRef<'_>, _: &LogBlock| {
        count += u64::from(record.header().op != Op::DURABLE_MARK);
        ControlFlow::Continue(())
    };
    reader.for_each_record(each).unwrap();
    count
}

/// Nothing is wrong with the log file for a reader that knows nothing of this engine. Gives the
/// number of its records, the durable marks apart.
pub(crate) fn assert_sound(bytes: &Vec<u8>) -> u64 {
    let map = VlfMap::read(bytes).unwrap();
    assert_eq!(map.faults(), []);
    assert_eq!(map.vlfs().last().unwrap().end(), bytes.len() as u64);
    let reader = LogReader::open(bytes).unwrap();
    for item in reader.chain() {
        match item.unwrap() {
            ChainItem::Block(block) => {
                assert_eq!(block.buf.faults(), [], "block {}", block.lsn);
                assert_eq!(block.previous_size_should_be, None, "block {}", block.lsn);
            }
            ChainItem::Gap(gap) => panic!("{gap:?}"),
            ChainItem::End(end) => {
                assert_eq!(
                    reader.leftovers(&end).unwrap().lost_blocks,
                    0,
                    "nothing of this use lies behind the end"
                );
            }
        }
    }
    record_count(&reader)
}

/// The bytes of the log file.
pub(crate) fn contents(disk: &MemDisk) -> Vec<u8> {
    disk.contents(Path::new(PATH)).unwrap()
}
