//! Chains of real backups: which sets are used, and what the tables hold after each step.

use std::path::{Path, PathBuf};

use extentdb_reader::backup::StopAt;
use extentdb_reader::rows::TableScan;
use extentdb_reader::{Database, OpenOptions, OpenedFiles, Origin};

/// The folder of a sample chain; `None`, loudly, where there are no samples.
fn folder(name: &str) -> Option<PathBuf> {
    let samples = std::env::var_os("EXTENTDB_SAMPLES").map(PathBuf::from);
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let folder = samples.unwrap_or(default).join("../more-samples").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: {} is not here", folder.display());
    None
}

fn files(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| folder.join(name)).collect()
}

fn options(stop: Option<&str>) -> OpenOptions {
    let stop_at = stop.map(|text| StopAt::Time(text.parse().expect("a time")));
    OpenOptions { stop_at, ..OpenOptions::default() }
}

fn open(folder: &Path, names: &[&str], stop: Option<&str>) -> Database {
    let database = Database::open(&files(folder, names), &options(stop));
    database.unwrap_or_else(|error| panic!("{names:?}: {error}"))
}

/// Rows of each user table that has any.
fn counts(database: &Database) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for table in database.catalog().user_tables() {
        let pages = database.pages();
        let mut scan =
            TableScan::new(&pages, database.catalog(), table).expect("a table that is stored");
        let mut count = 0;
        while let Some(row) = scan.next_row() {
            row.unwrap_or_else(|fault| panic!("{}: {fault}", table.name));
            count += 1;
        }
        all.push((table.name.clone(), count));
    }
    all
}

fn assert_whole(database: &Database) {
    assert_eq!(database.shortfall(), None);
    assert!(database.catalog().faults.is_empty(), "{:?}", database.catalog().faults);
}

fn left_out(database: &Database) -> Vec<String> {
    let Origin::Backup(backup) = database.opened().origin() else { panic!("a backup") };
    let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    backup.left_out.iter().map(|set| name(&set.path)).collect()
}

fn message(folder: &Path, names: &[&str], stop: Option<&str>) -> String {
    match OpenedFiles::open(&files(folder, names), &options(stop)) {
        Ok(_) => panic!("{names:?} must be refused"),
        Err(error) => error.to_string(),
    }
}

const FULL: &str = "RestoreTimeClean.bak";
const DIFFERENTIAL: &str = "RestoreTimeClean2.bak";
const LOGS: [&str; 6] = [
    "RestoreTimeClean_1.trn",
    "RestoreTimeClean_2.trn",
    "RestoreTimeClean_3.trn",
    "RestoreTimeClean2_1.trn",
    "RestoreTimeClean2_2.trn",
    "RestoreTimeClean2_3.trn",
];

#[test]
fn each_step_of_a_chain_has_at_least_the_rows_of_the_previous_step() {
    let Some(folder) = folder("chain-2016") else { return };
    let mut before = 0;
    for steps in 0..=LOGS.len() {
        let mut names = LOGS[..steps].to_vec();
        names.push(FULL);
        let database = open(&folder, &names, None);
        assert_whole(&database);
        let counts = counts(&database);
        let rows: u64 = counts.iter().map(|(_, rows)| rows).sum();
        eprintln!("{steps} logs: {counts:?}");
        // A row every half minute, a log backup every five minutes.
        assert_eq!(rows, 10 * steps as u64, "{steps} logs: {counts:?}");
        assert!(rows >= before);
        before = rows;
    }
}

#[test]
fn a_differential_replaces_the_logs_before_it() {
    let Some(folder) = folder("chain-2016") else { return };
    let mut names = LOGS.to_vec();
    names.insert(2, FULL);
    let by_logs = counts(&open(&folder, &names, None));
    names.insert(0, DIFFERENTIAL);
    let database = open(&folder, &names, None);
    assert_whole(&database);
    assert_eq!(counts(&database), by_logs);
    assert_eq!(left_out(&database), LOGS[..3]);
    let from_differential = open(&folder, &[LOGS[3], DIFFERENTIAL, LOGS[5], FULL, LOGS[4]], None);
    assert_eq!(counts(&from_differential), by_logs);
}

#[test]
fn a_gap_names_both_sides() {
    let Some(folder) = folder("chain-2016") else { return };
    let text = message(&folder, &[LOGS[2], FULL, LOGS[0]], None);
    let sides = ["RestoreTimeClean_1.trn", "RestoreTimeClean_3.trn"];
    assert!(sides.iter().all(|side| text.contains(side)), "{text}");
    let ends = ["00000027:0000021d:0001", "00000027:0000023b:0001"];
    assert!(ends.iter().all(|end| text.contains(end)), "{text}");
}

#[test]
fn sets_of_another_database_are_refused_by_name() {
    let (Some(folder), Some(other)) = (folder("chain-2016"), folder("stopat-2008r2")) else {
        return;
    };
    let mut mixed = files(&folder, &[FULL]);
    mixed.push(other.join("1.trn"));
    let Err(error) = OpenedFiles::open(&mixed, &options(None)) else { panic!("refused") };
    let text = error.to_string();
    assert!(text.contains("1.trn") && text.contains("StopAt") && text.contains(FULL), "{text}");
}

#[test]
fn a_stop_by_time_leaves_out_what_was_committed_later() {
    let Some(folder) = folder("chain-2016") else { return };
    let mut names = LOGS.to_vec();
    names.push(FULL);
    names.push(DIFFERENTIAL);
    let stop = |time| open(&folder, &names, Some(time));
    let first = stop("2019-05-02T21:05:00");
    assert_whole(&first);
    let later = stop("2019-05-02T21:25:00");
    assert_whole(&later);
    let rows = |database: &Database| counts(database).iter().map(|(_, rows)| rows).sum::<u64>();
    assert_eq!([rows(&first), rows(&later)], [9, 49]);
    let beyond = stop("2019-05-03");
    assert!(beyond.shortfall().is_some_and(|why| why.contains("before 2019/05/03")));
    let text = message(&folder, &names, Some("2019-05-02T20:00:00"));
    assert!(text.contains("to be consistent"), "{text}");
}

#[test]
fn the_newest_differential_of_two_is_used() {
    let Some(folder) = folder("diffs-2008r2") else { return };
    let names = ["difftest-diff1.bak", "difftest-diff2.bak", "difftest-full.bak"];
    let all = open(&folder, &names, None);
    assert_whole(&all);
    assert_eq!(left_out(&all), ["difftest-diff1.bak"]);
    let full = open(&folder, &names[2..], None);
    let first = open(&folder, &[names[0], names[2]], None);
    assert_whole(&full);
    assert_whole(&first);
    eprintln!("{:?} {:?} {:?}", counts(&full), counts(&first), counts(&all));
}

#[test]
fn a_differential_alone_is_reported_with_its_base() {
    let Some(folder) = folder("diffs-2008r2") else { return };
    let text = message(&folder, &["difftest-diff1.bak"], None);
    assert!(text.to_lowercase().contains("f24e3dc4"), "{text}");
}

#[test]
fn the_stop_chain_of_2008_r2_is_read_at_each_minute() {
    let Some(folder) = folder("stopat-2008r2") else { return };
    let names = ["23.trn", "1.trn", "StopAt.bak", "21.trn", "2.trn"];
    let mut before = 0;
    for stop in
        ["2020-05-12T13:29:00", "2020-05-12T13:30:00", "2020-05-12T13:31:30", "2020-05-12T13:34:00"]
    {
        let database = open(&folder, &names, Some(stop));
        assert_whole(&database);
        let counts = counts(&database);
        eprintln!("{stop}: {counts:?}");
        let rows: u64 = counts.iter().map(|(_, rows)| rows).sum();
        assert!(rows >= before, "{stop}: {counts:?}");
        before = rows;
    }
    assert!(before > 0);
}
