//! Long values as streams: memory does not grow with the value.

mod support;

use extentdb_base::env::{Clock, SystemClock};
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Address, ColumnSpec, Database, DatabaseSpec, Error, LobPart, Options, Session, Table,
    TableSpec, Value,
};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};
use std::io::Read;
use support::*;

/// Bytes that follow from their offset.
struct Pattern {
    at: u64,
    end: u64,
}

fn byte_at(offset: u64) -> u8 {
    (offset ^ (offset >> 9) ^ (offset >> 17)) as u8
}

impl Read for Pattern {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        // Never as much as is asked for: a stream need not fill the buffer.
        let count = (out.len() as u64).min(self.end - self.at).min(60_001) as usize;
        for (offset, byte) in (self.at..).zip(&mut out[..count]) {
            *byte = byte_at(offset);
        }
        self.at += count as u64;
        Ok(count)
    }
}

/// A stream that breaks off.
struct Broken;

impl Read for Broken {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        out.fill(b'x');
        if out.len() < 100_000 {
            return Ok(out.len());
        }
        Err(std::io::Error::other("the client has gone"))
    }
}

fn files(session: &mut Session) -> Arc<Table> {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("file", SqlType::VarBinary { len: None }),
    ];
    session.create_table(&TableSpec::heap("files", columns)).unwrap()
}

fn insert(session: &mut Session, table: &Table, bytes: u64) -> Result<Address, Error> {
    let mut stream = Pattern { at: 0, end: bytes };
    let values = vec![Value::Datum(Datum::Int(1)), Value::Stream(&mut stream)];
    session.insert_values(table, values)
}

/// Reads a value from an offset on; returns how many bytes there were.
fn verify(session: &mut Session, table: &Table, at: &Address, from: u64) -> u64 {
    let read = session.read_lob(table, at, "file", |reader| {
        let mut reader = reader.unwrap();
        reader.seek(from);
        let mut chunk = vec![0; 100_000];
        let mut offset = from;
        loop {
            let count = reader.read(&mut chunk)?;
            if count == 0 {
                return Ok(offset);
            }
            let is_right = |(offset, byte): (u64, &u8)| *byte == byte_at(offset);
            assert!((offset..).zip(&chunk[..count]).all(is_right), "after offset {offset}");
            offset += count as u64;
        }
    });
    read.unwrap()
}

#[test]
fn a_value_is_larger_than_all_pages_in_memory() {
    const BYTES: u64 = 80 << 20;
    let disk = MemDisk::new();
    let db = Database::create(&spec("files"), on(&disk)).unwrap();
    let mut session = db.session();
    let table = files(&mut session);
    let at = insert(&mut session, &table, BYTES).unwrap();
    assert_eq!(verify(&mut session, &table, &at, 0), BYTES);
    assert_eq!(verify(&mut session, &table, &at, BYTES - 100_001), BYTES);
    // As a value it is too long for memory.
    let refused = session.get(&table, &at);
    assert!(matches!(refused, Err(Error::ValueTooLong { .. })), "{refused:?}");
    let part = LobPart { offset: Some(BYTES / 2), ..LobPart::default() };
    session.write_lob(&table, &at, "file", part, &mut &[][..]).unwrap();
    assert_eq!(verify(&mut session, &table, &at, 0), BYTES / 2);
    let mut more = Pattern { at: BYTES / 2, end: BYTES };
    session.write_lob(&table, &at, "file", LobPart::default(), &mut more).unwrap();
    assert_eq!(verify(&mut session, &table, &at, 0), BYTES);
    drop((session, table));
    close_and_check(db, &disk, &spec("files").paths());
}

#[test]
fn a_stream_that_breaks_off_leaves_nothing() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("files"), on(&disk)).unwrap();
    let mut session = db.session();
    let table = files(&mut session);
    let mut broken = Broken;
    let values = vec![Value::Datum(Datum::Int(1)), Value::Stream(&mut broken)];
    let failed = session.insert_values(&table, values);
    assert!(matches!(failed, Err(Error::Stream { .. })), "{failed:?}");
    assert!(rows(&mut session, &table).is_empty());
    drop((session, table));
    close_and_check(db, &disk, &spec("files").paths());
}

/// Memory of the process at its peak, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}

/// `cargo test --release -p extentdb-engine --test lob_stream -- --ignored --nocapture`.
#[test]
#[ignore = "writes 2 GiB"]
fn two_gibibytes_pass_through_little_memory() {
    const BYTES: u64 = (1 << 31) - 1;
    let folder = tempfile::tempdir().unwrap();
    let spec = DatabaseSpec::new("files", folder.path(), 64 << 20);
    let options = Options { frames: 1024, ..Options::default() };
    let db = Database::create(&spec, options).unwrap();
    let mut session = db.session();
    let table = files(&mut session);
    let before = peak_kib();
    let clock = SystemClock::new();
    let at = insert(&mut session, &table, BYTES).unwrap();
    let written = clock.monotonic();
    assert_eq!(verify(&mut session, &table, &at, 0), BYTES);
    let read = clock.monotonic().saturating_sub(written);
    let grown = peak_kib() - before;
    let rate = |time: std::time::Duration| (BYTES >> 20) as f64 / time.as_secs_f64();
    eprintln!(
        "{BYTES} bytes: written {:.0} MiB/s, read {:.0} MiB/s, {} MiB of memory more",
        rate(written),
        rate(read),
        grown >> 10
    );
    session.delete(&table, &at).unwrap();
    drop((session, table));
    db.close().unwrap();
    assert!(grown < 32 << 10, "{grown} KiB");
}
