//! Databases that were not closed cleanly, files that are in use, and chains of backups, by the
//! program.

mod program;

use std::path::{Path, PathBuf};

use extentdb_faults::crash::{CrashOptions, crash};
use extentdb_template::{MakeOptions, Size, make};
use program::{extentdb, more_sample};
use serde_json::Value;

/// A database that was not closed: its data file and its log.
fn killed(folder: &Path, seed: u64) -> [PathBuf; 2] {
    let path = folder.join("sound.mdf");
    let _ = std::fs::remove_file(&path);
    let options = MakeOptions { shape: "demo".to_owned(), size: Size::Rows(5000), seed };
    make(&options, &[&path], &mut |_| {}).unwrap();
    let choice = CrashOptions { seed, pages: 40, may_choose: &|_| true, leave_open: false };
    let crash = crash(&std::fs::read(&path).unwrap(), &choice).unwrap();
    // In a folder of its own: the log is found beside the data file otherwise.
    std::fs::create_dir_all(folder.join("log")).unwrap();
    let paths = [folder.join("killed.mdf"), folder.join("log/killed_log.ldf")];
    std::fs::write(&paths[0], crash.data).unwrap();
    std::fs::write(&paths[1], crash.log).unwrap();
    paths
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn without_the_log_every_verb_that_reads_rows_is_incomplete_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let [data, _] = killed(folder.path(), 3);
    let out = folder.path().join("out");
    let data = data.to_str().unwrap();
    let export = ["export", data, "--out", out.to_str().unwrap()];
    for arguments in [&["tables", data][..], &["schema", data], &export] {
        let run = extentdb(arguments);
        assert!(run.stderr.contains("its log is not given"), "{arguments:?}: {}", run.stderr);
        assert_ne!(run.code, 0, "{arguments:?}");
    }
    let manifest = json(&std::fs::read_to_string(out.join("_manifest.json")).unwrap());
    assert_eq!(manifest["complete"], false);
    let reason = &manifest["incomplete_because"][0];
    assert_eq!(reason["reason"], "doubtful");
    assert!(reason["text"].as_str().unwrap().contains("its log is not given"));
    let report = extentdb(["check", data, "--json"]);
    assert_ne!(json(&report.stdout)["verdict"], "clean", "{}", report.stdout);
    for arguments in [&["info", data][..], &["page", data, "1:9"]] {
        let run = extentdb(arguments);
        assert!(run.stderr.contains("recovery would change it"), "{}", run.stderr);
        assert_eq!(run.code, 0, "{arguments:?} {}", run.stderr);
    }
}

#[test]
fn with_its_log_a_killed_database_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..3 {
        let [data, log] = killed(folder.path(), seed);
        let files = [data.to_str().unwrap(), log.to_str().unwrap()];
        let out = folder.path().join(format!("out{seed}"));
        let run = extentdb(["export", files[0], files[1], "--out", out.to_str().unwrap()]);
        assert!(run.stderr.contains("the log was replayed in memory"), "{}", run.stderr);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let manifest = json(&std::fs::read_to_string(out.join("_manifest.json")).unwrap());
        assert_eq!(manifest["complete"], true);
        assert!(manifest["recovered_to_lsn"].is_string());
        extentdb(["check", files[0], files[1]]).expect(0);
    }
}

#[test]
fn a_file_that_an_engine_holds_is_in_use_and_not_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("busy.mdf");
    let options = MakeOptions { shape: "heap".to_owned(), size: Size::Rows(500), seed: 1 };
    make(&options, &[&path], &mut |_| {}).unwrap();
    // Pages that nobody would call sound.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[300_000..320_000].fill(0xdb);
    std::fs::write(&path, bytes).unwrap();
    let name = path.to_str().unwrap();
    extentdb(["check", name]).expect(2);
    let holder = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    holder.lock().unwrap();
    let run = extentdb(["check", name, "--json"]);
    let report = json(&run.stdout);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(report["verdict"], "incomplete");
    assert_eq!(report["findings"].as_array().unwrap().len(), 0);
    assert!(
        run.stderr.contains("is in use: a running engine holds a lock on it"),
        "{}",
        run.stderr
    );
    for verb in ["tables", "schema"] {
        let said = extentdb([verb, name]).complaint(3);
        assert!(said.contains("incomplete: ") && said.contains("is in use"), "{said}");
    }
}

#[test]
fn a_chain_is_read_by_every_verb_and_its_check_is_clean() {
    let name = |file: &str| Some(more_sample(&format!("chain-2016/{file}"))?.display().to_string());
    let names = ["RestoreTimeClean_1.trn", "RestoreTimeClean.bak", "RestoreTimeClean_2.trn"];
    let Some(files) = names.into_iter().map(name).collect::<Option<Vec<String>>>() else { return };
    let with = |verb: &str, rest: &[&str]| {
        let words =
            [verb].into_iter().chain(files.iter().map(String::as_str)).chain(rest.iter().copied());
        extentdb(words)
    };
    let rows = |rest: &[&str]| {
        with("export", &[&["--table", "steps"], rest].concat()).expect(0).lines().count()
    };
    assert_eq!(rows(&[]), 20);
    assert_eq!(rows(&["--stop-at", "2019-05-02T21:05:00"]), 9);
    with("check", &[]).expect(0);
    with("tables", &[]).expect(0);
    with("schema", &[]).expect(0);
    let info = json(&with("info", &["--json"]).expect(0));
    assert_eq!(info["backup_chain"].as_array().unwrap().len(), 3);
    assert!(!with("log", &["--limit", "5"]).expect(0).is_empty());
    let gap =
        extentdb(["tables", &files[1], &name("RestoreTimeClean_3.trn").unwrap()]).complaint(1);
    assert!(gap.contains("RestoreTimeClean_3.trn") && gap.contains("is not given"), "{gap}");
}
