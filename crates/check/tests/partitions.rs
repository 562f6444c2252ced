//! Rows against the partition that holds them.

use std::path::{Path, PathBuf};

use extentdb_base::env::SystemClock;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, Options, Report, Verdict, run};
use extentdb_faults::{Kind, Truth, damage};
use extentdb_reader::{OpenOptions, OpenedFiles};
use extentdb_report::to_text;
use extentdb_template::{MakeOptions, Size, make};

fn check(files: &[PathBuf]) -> Report {
    let opened = OpenedFiles::open(files, &OpenOptions::default()).unwrap();
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    run(opened.source(), &Options::default(), &Control::new(&clock, &cancel))
}

fn paths(files: &[PathBuf]) -> Vec<&Path> {
    files.iter().map(PathBuf::as_path).collect()
}

fn made(folder: &Path) -> Vec<PathBuf> {
    let files: Vec<PathBuf> = (0..4).map(|at| folder.join(format!("{at}.mdf"))).collect();
    let options = MakeOptions {
        shape: "partitioned".to_owned(),
        size: Size::Bytes(8 << 20),
        seed: 3,
    };
    make(&options, &paths(&files), &mut |_| {}).unwrap();
    files
}

fn damaged(folder: &Path, files: &[PathBuf], seed: u64) -> (Vec<PathBuf>, Truth) {
    let outputs: Vec<PathBuf> = (0..4).map(|at| folder.join(format!("{seed}-{at}.mdf"))).collect();
    let truth = damage(&paths(files), &paths(&outputs), Kind::WrongPartition, seed).unwrap();
    (outputs, truth)
}

#[test]
fn every_row_of_a_sound_database_is_in_its_partition_and_nothing_is_left_open() {
    let folder = tempfile::tempdir().unwrap();
    let report = check(&made(folder.path()));
    assert_eq!(
        (report.findings.len(), report.verdict),
        (0, Verdict::Clean),
        "{}",
        to_text(&report)
    );
    let left_out =
        report.coverage.not_checked.iter().find(|it| it.what.contains("partition function"));
    assert_eq!(left_out, None);
}

#[test]
fn a_row_with_the_key_of_another_partition_is_named_with_both_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let files = made(folder.path());
    for seed in 0..4 {
        let (outputs, truth) = damaged(folder.path(), &files, seed);
        let report = check(&outputs);
        let found: Vec<_> =
            report.findings.iter().filter(|finding| finding.error == 8984).collect();
        // The row, and its entry in the index that has the same partitions.
        let indexes: Vec<i32> = found.iter().map(|it| it.location.owner.unwrap().index.0).collect();
        assert_eq!(indexes, [1, 2], "{}", to_text(&report));
        let row = found[0];
        assert_eq!(
            (row.location.page, row.location.slot.map(|slot| slot.0)),
            (Some(truth.page), truth.slot)
        );
        assert!(
            row.message.contains("A row should be on partition number 4 but was found in"),
            "{row:?}"
        );
        let line = &row.companions[0];
        assert_eq!(line.error, 8988);
        let place =
            format!("Row ({}:{}:{})", truth.page.file.0, truth.page.page, truth.slot.unwrap());
        assert!(
            line.message.starts_with(&place) && line.message.contains("sensor_id ="),
            "{line:?}"
        );
    }
}
