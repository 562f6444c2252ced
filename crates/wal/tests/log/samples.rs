//! Logs that SQL Server wrote: opened, and continued.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use extentdb_base::Lsn;
use extentdb_format::log::{LogReader, VlfMap};
use extentdb_io::MemDisk;
use extentdb_wal::{Damage, Error};

use crate::harness::*;

/// A log file of the samples; `None`, and a line about it, when it is not here.
fn sample(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples"),
        PathBuf::from,
    );
    let path = folder.join(name);
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        eprintln!("SKIPPED: {} is not here", path.display());
    }
    bytes
}

fn disk_with(bytes: &[u8]) -> MemDisk {
    let disk = MemDisk::new();
    disk.put(Path::new(PATH), bytes.to_vec());
    disk
}

#[test]
fn a_log_of_sql_server_2008_is_taken_over_and_goes_on() {
    for name in ["northwind-2008_log.ldf", "northwind-from-2000_log.ldf", "pubs-2008_log.ldf"] {
        let Some(bytes) = sample(name) else { continue };
        let foreign = LogReader::open(&bytes).unwrap().summary().unwrap();
        let disk = disk_with(&bytes);
        let log = open(&disk, Lsn::ZERO).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(Some(log.last()), foreign.last, "{name}");
        let mut seen = 0;
        log.scan(log.minimum(), &mut |_, _| {
            seen += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
        assert!(
            seen > 0 && seen <= foreign.records,
            "{name}: {seen} of {} records",
            foreign.records
        );
        // Opening changes nothing of it.
        assert!(contents(&disk)[..bytes.len()] == bytes, "{name}");
        for serial in 0..50 {
            append(&log, serial, 20_000).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let last = log.flush_all().unwrap();
        let after = contents(&disk);
        assert_eq!(VlfMap::read(&after).unwrap().faults(), [], "{name}");
        let summary = LogReader::open(&after).unwrap().summary().unwrap();
        let records = record_count(&LogReader::open(&after).unwrap());
        assert_eq!((records, summary.last), (foreign.records + 50, Some(last)), "{name}");
        assert_eq!(
            (summary.faulty_blocks, summary.gap_count),
            (foreign.faulty_blocks, foreign.gap_count),
            "{name}"
        );
        drop(log);
        assert_eq!(open(&disk, foreign.last.unwrap()).unwrap().last(), last, "{name}");
    }
}

#[test]
fn a_log_of_a_later_version_is_refused_by_its_format() {
    let Some(bytes) = sample("crud-2012_log.ldf") else { return };
    let error = open(&disk_with(&bytes), Lsn::ZERO).unwrap_err();
    assert!(matches!(error, Error::Corrupt { what: Damage::Format { found: 5 }, .. }), "{error}");
}
