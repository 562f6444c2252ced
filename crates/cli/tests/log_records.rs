//! `log`: records and VLFs of log files and backups.

mod program;

use std::fs;

use program::{on, sample};
use serde_json::Value;

const LOG: &str = "northwind-2008_log.ldf";

#[test]
fn records_are_listed_as_fn_dblog_shows_them() {
    let Some(path) = sample(LOG) else { return };
    let text = on("log", &path, &[]).expect(0);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("Current LSN             Operation"), "{}", lines[0]);
    assert!(lines[1].starts_with("00000032:00000010:0001  LOP_BEGIN_CKPT          LCX_NULL"), "{}", lines[1]);
    assert_eq!(lines.len(), 1 + 107);
    assert!(text.contains("[Transaction Name] RemapSysfiles1"));
}

#[test]
fn json_is_one_array_with_all_columns() {
    let Some(path) = sample(LOG) else { return };
    let text = on("log", &path, &["--json"]).expect(0);
    let records: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(records.len(), 107);
    for name in ["Current LSN", "Operation", "Context", "Transaction ID", "Previous LSN", "Log Record"] {
        assert!(records.iter().all(|record| record[name].is_string()), "{name}");
    }
    let row = records.iter().find(|record| record["Operation"] == "LOP_MODIFY_ROW").unwrap();
    assert!(row["Slot ID"].is_number() && row["RowLog Contents 0"].is_string(), "{row}");
}

#[test]
fn records_are_chosen_by_place_operation_transaction_and_page() {
    let Some(path) = sample(LOG) else { return };
    let records = |rest: &[&str]| -> Vec<Value> {
        let arguments: Vec<&str> = rest.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&on("log", &path, &arguments).expect(0)).unwrap()
    };
    let lsns = |rest: &[&str]| -> Vec<String> {
        records(rest).iter().map(|record| record["Current LSN"].as_str().unwrap().to_owned()).collect()
    };
    let block = ["00000032:00000018:0002", "00000032:00000018:0003"];
    assert_eq!(lsns(&["--from", block[0], "--to", block[1]]), block);
    assert_eq!(lsns(&["--from", "50:24:2", "--to", "0x32:18:3"]), block);
    assert_eq!(lsns(&["--from", block[0], "--limit", "1"]), block[..1]);
    let all = records(&[]);
    for (option, column, value) in
        [("--op", "Operation", "LOP_MODIFY_ROW"), ("--xact", "Transaction ID", "0000:00001141")]
    {
        let wanted: Vec<Value> = all.iter().filter(|record| record[column] == value).cloned().collect();
        assert!(!wanted.is_empty());
        assert_eq!(records(&[option, value]), wanted);
    }
    let of_page = records(&["--page", "1:32"]);
    assert!(!of_page.is_empty() && of_page.iter().all(|record| record["Page ID"] == "0001:00000020"));
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
    let cells: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        cells[0],
        ["RecoveryUnitId", "FileId", "FileSize", "StartOffset", "FSeqNo", "Status", "Parity", "CreateLSN"]
    );
    assert_eq!(cells[1], ["0", "2", "253952", "8192", "50", "2", "64", "0"]);
    let rows: Vec<Value> = serde_json::from_str(&on("log", &path, &["--vlfs", "--json"]).expect(0)).unwrap();
    assert_eq!((rows.len(), &rows[0]["FSeqNo"], &rows[1]["Status"]), (2, &50.into(), &0.into()));
}

#[test]
fn the_log_that_a_backup_carries_is_read() {
    for (name, count) in [("pubs-2012.bak", 113), ("northwind-2014.bak", 39), ("tsql2012-compressed.bak", 39)]
    {
        let Some(path) = sample(name) else { return };
        let records: Vec<Value> = serde_json::from_str(&on("log", &path, &["--json"]).expect(0)).unwrap();
        assert_eq!(records.len(), count, "{name}");
        assert!(on("log", &path, &["--vlfs"]).expect(0).lines().count() > 1);
    }
}

#[test]
fn a_damaged_block_is_named_by_its_place_and_the_log_goes_on() {
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
        assert!(on("log", &path, &["--op", "fly"]).complaint(1).contains("no operation has this name"));
        assert!(on("log", &path, &["--from", "here"]).complaint(1).contains("an LSN is written as"));
    }
}
