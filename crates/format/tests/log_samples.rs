//! What the logs of the samples say, checked against what must hold in every log.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::path::PathBuf;

use extentdb_base::{FileId, Lsn, PageId, XactId};
use extentdb_format::log::dblog::{self, Column};
use extentdb_format::log::reader::{Leftovers, LogEnd};
use extentdb_format::log::{
    CarriedLog, LogReader, Op, Payload, RecordRef, VlfDescription, VlfMap, loginfo,
};

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

const LOGS: [&str; 4] = [
    "northwind-2008_log.ldf",
    "pubs-2008_log.ldf",
    "northwind-from-2000_log.ldf",
    "crud-2012_log.ldf",
];

/// Hands every record of every sample log to `visit`; false when there are no samples.
fn every_record(mut visit: impl FnMut(&str, Lsn, &RecordRef<'_>)) -> bool {
    for name in LOGS {
        let Some(file) = sample(name) else { return false };
        let reader = LogReader::open(file.as_slice()).expect("a slice can be read");
        let end = reader.for_each_record(|lsn, record, _| {
            visit(name, lsn, record);
            ControlFlow::Continue(())
        });
        assert!(matches!(end, Ok(Some(_))), "{name} ends");
    }
    true
}

#[test]
fn the_records_of_a_transaction_are_linked_from_commit_to_begin() {
    let mut last: HashMap<(String, XactId), Lsn> = HashMap::new();
    let mut begins: HashMap<(String, XactId), Lsn> = HashMap::new();
    let mut links = 0;
    let mut ends = 0;
    let ran = every_record(|name, lsn, record| {
        let header = record.header();
        if header.xact == XactId::default() {
            return;
        }
        let key = (name.to_owned(), header.xact);
        if header.op == Op::BEGIN_XACT {
            assert_eq!(header.previous, Lsn::ZERO, "{name} {lsn}");
            begins.insert(key.clone(), lsn);
        } else if !matches!(header.op, Op::COMMIT_XACT | Op::ABORT_XACT)
            && !header.flags.is_compensation()
        {
            // The others point elsewhere: an end to its begin, a compensation record to what is
            // undone next.
            if let Some(previous) = last.get(&key) {
                assert_eq!(header.previous, *previous, "{name} {lsn} {}", header.op);
                links += 1;
            }
        }
        if let (Payload::EndXact(end), Some(begin)) = (record.payload(), begins.get(&key)) {
            assert_eq!(end.begin, *begin, "{name} {lsn}");
            assert_eq!(header.previous, *begin, "{name} {lsn}");
            ends += 1;
        }
        if !header.flags.is_compensation() {
            last.insert(key, lsn);
        }
    });
    if ran {
        println!("{links} links followed, {ends} transactions ended");
        assert!(links > 10_000 && ends == 530, "{links} links, {ends} ends");
    }
}

#[test]
fn previous_page_lsns_link_the_records_of_a_page() {
    let mut last: HashMap<(String, PageId), Lsn> = HashMap::new();
    let mut followed = 0;
    let mut equal = 0;
    let mut reformatted = 0;
    let ran = every_record(|name, lsn, record| {
        let payload = record.payload();
        let Some(part) = payload.page_part() else { return };
        // Counters are not part of the page's history until the checkpoint writes them, but the
        // record carries the link.
        if let Some(previous) = last.insert((name.to_owned(), part.page), lsn) {
            followed += 1;
            equal += u64::from(part.previous_page_lsn == previous);
            reformatted += u64::from(
                record.header().op == Op::FORMAT_PAGE && part.previous_page_lsn != previous,
            );
        }
    });
    if ran {
        println!("{followed} links followed, {equal} equal, {reformatted} of reused pages");
        assert!(
            followed > 15_000 && followed - equal - reformatted <= 4,
            "{followed} {equal} {reformatted}"
        );
    }
}

#[test]
fn lengths_inside_a_record_agree() {
    let mut checked = 0;
    let mut nested = 0;
    let ran = every_record(|name, lsn, record| {
        let at = format!("{name} {lsn}");
        match record.payload() {
            Payload::ModifyRow(modify) => {
                assert_eq!(usize::from(modify.fixed.modify_size), modify.before.len(), "{at}");
                checked += 1;
            }
            Payload::ModifyColumns(modify) => {
                for chunk in &modify.chunks {
                    assert_eq!(usize::from(chunk.old_len), chunk.before.len(), "{at}");
                    checked += 1;
                }
            }
            Payload::BeginXact(begin) => {
                assert!(begin.fixed.begin_time.is_valid(), "{at}");
                assert!(begin.name.0.len() <= 64 && begin.name.0.len() % 2 == 0, "{at}");
                // A transaction is begun after the one around it, which has the lower id.
                let own = record.header().xact;
                assert!(begin.fixed.parent_of(own).is_none_or(|parent| parent < own), "{at}");
                nested += u32::from(begin.fixed.parent_of(own).is_some());
                checked += 1;
            }
            _ => {}
        }
    });
    assert!(!ran || (checked > 3_000 && nested == 5), "{checked} records checked, {nested} nested");
}

#[test]
fn checkpoints_are_linked_and_name_the_database_version() {
    let mut begin = Lsn::ZERO;
    let mut versions: BTreeMap<u16, u32> = BTreeMap::new();
    let ran = every_record(|name, lsn, record| match record.payload() {
        Payload::BeginCheckpoint(_) => begin = lsn,
        Payload::EndCheckpoint(end) => {
            if record.header().previous >= begin {
                assert_eq!(record.header().previous, begin, "{name} {lsn}");
            }
            assert!(end.minimum <= begin && !end.minimum.is_zero(), "{name} {lsn}");
            *versions.entry(end.db_version).or_default() += 1;
        }
        _ => {}
    });
    if ran {
        println!("checkpoints by version: {versions:?}");
        assert!(versions.contains_key(&655) && versions.contains_key(&706));
        assert_eq!(versions.values().sum::<u32>(), 198);
    }
}

#[test]
fn fn_dblog_columns_of_a_known_record() {
    let Some(file) = sample("crud-2012_log.ldf") else { return };
    let reader = LogReader::open(file.as_slice()).expect("a slice can be read");
    let mut rows = BTreeMap::new();
    reader
        .for_each_record(|lsn, record, _| {
            let shown = dblog::columns(lsn, record);
            assert!(shown.windows(2).all(|pair| pair[0].0 < pair[1].0));
            rows.insert(lsn, shown);
            ControlFlow::Continue(())
        })
        .expect("a slice can be read");
    let value = |lsn: Lsn, column: Column| {
        let row = rows.get(&lsn)?;
        row.iter().find(|(c, _)| *c == column).map(|(_, text)| text.as_str())
    };
    let begin = Lsn::new(0x23, 0x38, 1);
    assert_eq!(value(begin, Column::Operation), Some("LOP_BEGIN_XACT"));
    assert_eq!(value(begin, Column::TransactionId), Some("0000:00000429"));
    assert_eq!(value(begin, Column::TransactionName), Some("DBMgr::StartupDB"));
    assert_eq!(value(begin, Column::Spid), Some("51"));
    let prepare = Lsn::new(0x23, 0x39, 1);
    assert_eq!(value(prepare, Column::MasterDbId), Some("1"));
    assert_eq!(value(prepare, Column::MasterXdesId), Some("0000:00002a9b"));
    let commit = Lsn::new(0x23, 0x3a, 1);
    assert_eq!(value(commit, Column::Operation), Some("LOP_COMMIT_XACT"));
    assert_eq!(value(commit, Column::TransactionBegin), Some("00000023:00000038:0001"));
    assert_eq!(value(commit, Column::RecordLength), Some("84"));
    let nested = Lsn::new(0x23, 0x1c5, 0x11);
    assert_eq!(value(nested, Column::ParentTransactionId), Some("0000:00000475"));
}

#[test]
fn vlfs_are_listed_as_dbcc_loginfo_lists_them() {
    let Some(file) = sample("northwind-from-2000_log.ldf") else { return };
    let reader = LogReader::open(file.as_slice()).expect("a slice can be read");
    let summary = reader.summary().expect("a slice can be read");
    let minimum = summary.last_checkpoint.map(|(_, end)| end.minimum);
    let rows = loginfo::rows(reader.map(), FileId(2), minimum);
    assert_eq!(rows.len(), 12);
    assert_eq!(rows[0].to_text(), ["0", "2", "253952", "8192", "22", "0", "64", "0"]);
    assert_eq!(rows[11].status, 2);
    assert_eq!(rows[2].create_lsn, Lsn::new(0x16, 0x96, 0x21e));
    assert_eq!((summary.blocks, summary.records, summary.faulty_blocks), (283, 19_319, 0));
}

#[test]
fn nothing_follows_the_end_of_these_logs() {
    for name in LOGS {
        let Some(file) = sample(name) else { return };
        let reader = LogReader::open(file.as_slice()).expect("a slice can be read");
        let end: LogEnd = reader.summary().expect("a slice can be read").end.expect("an end");
        let clean = Leftovers { complete: true, ..Leftovers::default() };
        assert_eq!(reader.leftovers(&end), Ok(clean), "{name}");
    }
}

/// The log part of a backup by its layout: VLF descriptions of the MSTL blocks, blocks of the MQTL
/// stream.
fn carried_log(bak: &[u8]) -> LogReader<CarriedLog<&[u8]>> {
    let u64_at = |at: usize| u64::from_le_bytes(bak[at..at + 8].try_into().expect("eight bytes"));
    let blocks = (0..bak.len()).step_by(512).filter(|at| bak[*at..].starts_with(b"MSTL"));
    let mut descriptions = Vec::new();
    let mut first = 0;
    for at in blocks {
        descriptions.push(
            VlfDescription::parse(&bak[at + 0x5c..at + 0x5c + 0x1f8]).expect("a description"),
        );
        first = first.max(u64_at(at + 0x3c));
    }
    let stream = bak.windows(4).position(|id| id == b"MQTL").expect("a log stream");
    let len = u64_at(stream + 8) as usize;
    let bytes = &bak[stream + 22 + 2..stream + 22 + len];
    let file_len = descriptions.iter().map(|vlf| vlf.offset + vlf.size).max().expect("a VLF");
    let map =
        VlfMap::from_descriptions(descriptions.iter().map(VlfDescription::to_header), file_len);
    LogReader::with_map(CarriedLog { bytes, first, file_len }, map)
}

#[test]
fn the_log_part_of_a_backup_ends_at_the_lsn_its_header_names() {
    let backups = [
        ("northwind-2014.bak", Lsn::new(0x2b, 0x1b5, 1), Lsn::new(0x2b, 0x1c6, 1)),
        ("pubs-2012.bak", Lsn::new(0x86, 0x1a8, 1), Lsn::new(0x86, 0x1e8, 1)),
    ];
    for (name, first, last) in backups {
        let Some(bak) = sample(name) else { return };
        let reader = carried_log(&bak);
        assert_eq!(reader.map().faults(), [], "{name}");
        let summary = reader.summary().expect("a slice can be read");
        assert_eq!(summary.first, Some(first), "{name}");
        assert_eq!(summary.end.map(|end| end.lsn), Some(last), "{name}");
        assert_eq!((summary.faulty_blocks, summary.gap_count), (0, 0), "{name}");
        assert!(summary.last_checkpoint.is_some(), "{name}");
        println!("{name}: {} blocks, {} records", summary.blocks, summary.records);
    }
}
