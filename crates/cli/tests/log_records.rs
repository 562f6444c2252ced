//! `log`: records and VLFs of log files and backups.

mod program;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;

use program::{extentdb, more_sample, on, sample};
use serde_json::Value;

const LOG: &str = "northwind-2008_log.ldf";

#[test]
fn records_are_listed_as_fn_dblog_shows_them() {
    let Some(path) = sample(LOG) else { return };
    let text = on("log", &path, &[]).expect(0);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("Current LSN             Operation"), "{}", lines[0]);
    assert!(
        lines[1].starts_with("00000032:00000010:0001  LOP_BEGIN_CKPT          LCX_NULL"),
        "{}",
        lines[1]
    );
    assert_eq!(lines.len(), 1 + 107);
    assert!(text.contains("[Transaction Name] RemapSysfiles1"));
}

#[test]
fn json_is_one_array_with_all_columns() {
    let Some(path) = sample(LOG) else { return };
    let text = on("log", &path, &["--json"]).expect(0);
    let records: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(records.len(), 107);
    for name in
        ["Current LSN", "Operation", "Context", "Transaction ID", "Previous LSN", "Log Record"]
    {
        assert!(records.iter().all(|record| record[name].is_string()), "{name}");
    }
    let row = records.iter().find(|record| record["Operation"] == "LOP_MODIFY_ROW").unwrap();
    assert!(row["Slot ID"].is_number() && row["RowLog Contents 0"].is_string(), "{row}");
}

#[test]
fn records_are_filtered_by_lsn_operation_transaction_and_page() {
    let Some(path) = sample(LOG) else { return };
    let records = |rest: &[&str]| -> Vec<Value> {
        let arguments: Vec<&str> = rest.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&on("log", &path, &arguments).expect(0)).unwrap()
    };
    let lsns = |rest: &[&str]| -> Vec<String> {
        records(rest)
            .iter()
            .map(|record| record["Current LSN"].as_str().unwrap().to_owned())
            .collect()
    };
    let block = ["00000032:00000018:0002", "00000032:00000018:0003"];
    assert_eq!(lsns(&["--from", block[0], "--to", block[1]]), block);
    assert_eq!(lsns(&["--from", "50:24:2", "--to", "0x32:18:3"]), block);
    assert_eq!(lsns(&["--from", block[0], "--limit", "1"]), block[..1]);
    let all = records(&[]);
    for (option, column, value) in
        [("--op", "Operation", "LOP_MODIFY_ROW"), ("--xact", "Transaction ID", "0000:00001141")]
    {
        let wanted: Vec<Value> =
            all.iter().filter(|record| record[column] == value).cloned().collect();
        assert!(!wanted.is_empty());
        assert_eq!(records(&[option, value]), wanted);
    }
    let of_page = records(&["--page", "1:32"]);
    assert!(
        !of_page.is_empty() && of_page.iter().all(|record| record["Page ID"] == "0001:00000020")
    );
    assert_eq!(
        records(&["--op", "begin_ckpt,end_ckpt"]).len(),
        records(&["--op", "ckpt"]).len() - records(&["--op", "xact_ckpt"]).len()
    );
    assert_eq!(records(&["--to", "1:1:1"]), Vec::<Value>::new());
}

#[test]
fn vlfs_are_listed_as_dbcc_loginfo_lists_them() {
    let Some(path) = sample(LOG) else { return };
    let text = on("log", &path, &["--vlfs"]).expect(0);
    let cells: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        cells[0],
        [
            "RecoveryUnitId",
            "FileId",
            "FileSize",
            "StartOffset",
            "FSeqNo",
            "Status",
            "Parity",
            "CreateLSN"
        ]
    );
    assert_eq!(cells[1], ["0", "2", "253952", "8192", "50", "2", "64", "0"]);
    let rows: Vec<Value> =
        serde_json::from_str(&on("log", &path, &["--vlfs", "--json"]).expect(0)).unwrap();
    assert_eq!((rows.len(), &rows[0]["FSeqNo"], &rows[1]["Status"]), (2, &50.into(), &0.into()));
}

#[test]
fn the_log_that_a_backup_carries_is_read() {
    for (name, count) in
        [("pubs-2012.bak", 113), ("northwind-2014.bak", 39), ("tsql2012-compressed.bak", 39)]
    {
        let Some(path) = sample(name) else { return };
        let records: Vec<Value> =
            serde_json::from_str(&on("log", &path, &["--json"]).expect(0)).unwrap();
        assert_eq!(records.len(), count, "{name}");
        assert!(on("log", &path, &["--vlfs"]).expect(0).lines().count() > 1);
    }
}

#[test]
fn a_damaged_block_is_named_by_its_offset_and_the_log_goes_on() {
    let Some(path) = sample(LOG) else { return };
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("bad.ldf");
    let mut bytes = fs::read(&path).unwrap();
    // The third block of the log: 24 sectors into the VLF, which begins at 8 KiB.
    let block = 8192 + 24 * 512;
    bytes[block + 200] ^= 0xff;
    fs::write(&copy, &bytes).unwrap();
    let run = on("log", &copy, &["--json"]);
    let place = format!("log block 00000032:00000018:0001 at byte {block}: ");
    assert!(run.stderr.contains(&place), "{}", run.stderr);
    let records: Vec<Value> = serde_json::from_str(&run.stdout).unwrap();
    assert!(records.len() > 90, "{} records", records.len());
    run.expect(2);
    assert_eq!(on("log", &copy, &["--exit-zero", "--quiet"]).code, 0);
}

#[test]
fn what_is_no_log_exits_1() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.ldf");
    fs::write(&text, "dear diary").unwrap();
    let run = on("log", &text, &["--json"]);
    assert!(run.complaint(1).contains("it begins as text"));
    if let Some(path) = sample("northwind-2008.mdf") {
        assert!(on("log", &path, &[]).complaint(1).contains("give the .ldf file"));
    }
    if let Some(path) = sample(LOG) {
        assert!(
            on("log", &path, &["--op", "fly"]).complaint(1).contains("no operation has this name")
        );
        assert!(
            on("log", &path, &["--from", "here"]).complaint(1).contains("an LSN is written as")
        );
    }
}

/// Files with a log, and how many records it has.
const SAMPLES: [(&str, usize); 7] = [
    ("crud-2012_log.ldf", 2015),
    ("northwind-2008_log.ldf", 107),
    ("northwind-from-2000_log.ldf", 19319),
    ("pubs-2008_log.ldf", 73),
    ("northwind-2014.bak", 39),
    ("pubs-2012.bak", 113),
    ("tsql2012-compressed.bak", 39),
];
const MORE_SAMPLES: [&str; 18] = [
    "northwind-2005.bak",
    "northwind-2019.bak",
    "chain-2016/RestoreTimeClean.bak",
    "chain-2016/RestoreTimeClean_1.trn",
    "chain-2016/RestoreTimeClean_2.trn",
    "chain-2016/RestoreTimeClean_3.trn",
    "chain-2016/RestoreTimeClean2.bak",
    "chain-2016/RestoreTimeClean2_1.trn",
    "chain-2016/RestoreTimeClean2_2.trn",
    "chain-2016/RestoreTimeClean2_3.trn",
    "stopat-2008r2/StopAt.bak",
    "stopat-2008r2/1.trn",
    "stopat-2008r2/2.trn",
    "stopat-2008r2/21.trn",
    "stopat-2008r2/23.trn",
    "diffs-2008r2/difftest-full.bak",
    "diffs-2008r2/difftest-diff1.bak",
    "diffs-2008r2/difftest-diff2.bak",
];

fn text<'v>(record: &'v Value, column: &str) -> &'v str {
    record[column].as_str().unwrap_or_default()
}

/// LSNs ascend, each transaction's records are linked backwards, and what ends has begun.
fn assert_is_a_log(name: &str, records: &[Value]) {
    assert!(!records.is_empty(), "{name}");
    let first = text(&records[0], "Current LSN");
    let mut seen = HashSet::new();
    let mut open = HashSet::new();
    for record in records {
        let lsn = text(record, "Current LSN");
        let previous = text(record, "Previous LSN");
        assert!(previous < lsn, "{name}: {lsn} follows {previous}");
        let is_linked = text(record, "Transaction ID") != "0000:00000000";
        if is_linked && previous >= first {
            assert!(
                seen.contains(previous),
                "{name}: {lsn} follows {previous}, which is no record"
            );
        }
        seen.insert(lsn);
        match text(record, "Operation") {
            "LOP_BEGIN_XACT" => {
                open.insert(text(record, "Transaction ID"));
            }
            "LOP_COMMIT_XACT" | "LOP_ABORT_XACT" => {
                let is_known = open.remove(text(record, "Transaction ID"));
                assert!(
                    is_known || text(record, "Transaction Begin") < first,
                    "{name}: {lsn} ends nothing"
                );
            }
            _ => {}
        }
    }
    assert!(records.is_sorted_by_key(|record| text(record, "Current LSN")), "{name}");
}

#[test]
fn every_log_of_the_samples_is_read_to_its_end() {
    let samples = SAMPLES.iter().map(|(name, count)| (sample(name), *name, Some(*count)));
    let more = MORE_SAMPLES.iter().map(|name| (more_sample(name), *name, None));
    for (path, name, count) in samples.chain(more) {
        let Some(path) = path else { continue };
        let run = on("log", &path, &["--json"]);
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        let records: Vec<Value> = serde_json::from_str(&run.stdout).unwrap();
        assert_is_a_log(name, &records);
        assert!(
            count.is_none_or(|count| records.len() == count),
            "{name}: {} records",
            records.len()
        );
    }
}

#[test]
fn records_that_hold_more_than_is_known_are_counted_and_no_damage() {
    let Some(path) = more_sample("northwind-2019.bak") else { return };
    let said = on("log", &path, &[]).complaint(0);
    assert!(
        said.contains("1 records hold 8 bytes whose meaning is not known: 1 LOP_END_CKPT (8)"),
        "{said}"
    );
    let Some(path) = sample(LOG) else { return };
    let said = on("log", &path, &[]).complaint(0);
    assert!(!said.contains("not known"), "{said}");
}

#[test]
fn dirty_pages_of_checkpoints_are_counts_and_not_addresses() {
    let Some(path) = sample("northwind-from-2000_log.ldf") else { return };
    let text = on("log", &path, &["--json", "--op", "end_ckpt"]).expect(0);
    let records: Vec<Value> = serde_json::from_str(&text).unwrap();
    let counts: Vec<u64> =
        records.iter().map(|record| record["Dirty Pages"].as_u64().unwrap()).collect();
    assert_eq!(counts[..5], [0, 185, 84, 33, 8]);
    assert!(counts.iter().all(|count| *count < 1000), "{counts:?}");
}

#[test]
fn a_stripe_with_the_log_shows_it_and_one_without_names_the_missing_family() {
    let folder = |name: &str| more_sample(&format!("stripes-2008r2/{name}"));
    for (first, second) in [
        ("Stripe1_RestoreTimeStripe_1.trn", "Stripe2_RestoreTimeStripe_1a.trn"),
        ("Stripe1_RestoreTimeStripe_22.trn", "Stripe2_RestoreTimeStripe_22a.trn"),
        ("Stripe1_RestoreTimeStripe2.bak", "Stripe2_RestoreTimeStripe2a.bak"),
    ] {
        let (Some(first), Some(second)) = (folder(first), folder(second)) else { return };
        let both =
            extentdb([OsStr::new("log"), second.as_os_str(), first.as_os_str(), "--json".as_ref()]);
        let both = both.expect(0);
        let records: Vec<Value> = serde_json::from_str(&both).unwrap();
        assert_is_a_log(&first.display().to_string(), &records);
        let alone = on("log", &first, &["--json"]);
        assert!(alone.stderr.contains("family 2 of 2 is not given"), "{}", alone.stderr);
        assert_eq!(alone.expect(0), both);
        let without = on("log", &second, &[]).complaint(1);
        assert!(
            without.contains("family 1 of 2 is not given: the log of the backup lies there"),
            "{without}"
        );
    }
}

#[test]
fn a_carried_log_that_ends_before_the_backup_says_is_damage() {
    let Some(path) = more_sample("stopat-2008r2/1.trn") else { return };
    let bytes = fs::read(path).unwrap();
    let stream = bytes.windows(4).position(|tag| tag == b"MQTL").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("cut.trn");
    // The last blocks: overwritten, or zero as if they had never been written.
    for fill in [0x17, 0] {
        let mut damaged = bytes.clone();
        damaged[stream + 24 + 0x4000..stream + 24 + 0x10000].fill(fill);
        fs::write(&copy, damaged).unwrap();
        let said = on("log", &copy, &[]).complaint(2);
        assert!(said.contains("bytes that the backup carries are not read"), "{said}");
    }
}
