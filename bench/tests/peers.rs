//! Peers load our rows and find their own databases sound; what is not installed is left out by
//! name.

use std::path::PathBuf;

use bench::peers::rows::Rows;
use bench::peers::{
    Outcome, PEERS, ProgramFolders, Setting, measure_builds, measure_trees, postgres,
};
use bench::workload::{Action, KeyOrder, TableKind, TreeWork};
use extentdb_reader::{Database, OpenOptions};
use extentdb_template::{MakeOptions, Size, make};
use tempfile::TempDir;

fn sales(folder: &TempDir, rows: u64) -> Database {
    let path = folder.path().join("sales.mdf");
    let options = MakeOptions { shape: "sales".to_owned(), size: Size::Rows(rows), seed: 1 };
    make(&options, &[&path], &mut |_| {}).unwrap();
    Database::open(&[path], &OpenOptions::default()).unwrap()
}

#[test]
fn every_peer_that_is_installed_checks_our_rows() {
    let folder = TempDir::new().unwrap();
    let database = sales(&folder, 3000);
    let rows = Rows::new(&database, 2000);
    let folders = ProgramFolders::of_machine();
    let work = folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    // The users that servers run as must be able to pass through to their folders.
    open_to_all(folder.path());
    open_to_all(&work);
    let setting = Setting {
        folders: &folders,
        folder: &work,
        runs: 1,
        interleaved: (&|| anyhow::bail!("no check of ours here"), 0),
    };
    for peer in PEERS {
        match (peer.measure)(&setting, &rows).unwrap() {
            Outcome::Missing(program) => eprintln!("SKIPPED: {}: {program} not found", peer.name),
            Outcome::Measured(checks) => {
                assert!(!checks.is_empty(), "{}", peer.name);
                for check in checks {
                    // 2000 sales take at least a hundred bytes each.
                    assert!(check.measured.bytes > 200_000, "{check:?}");
                    assert!(check.measured.rows.is_none_or(|rows| rows == 2000 + 150), "{check:?}");
                }
            }
        }
        assert_eq!(
            std::fs::read_dir(&work).unwrap().count(),
            0,
            "{} leaves something behind",
            peer.name
        );
    }
}

/// One client over both kinds of tables, and two where they might meet.
fn tree_works() -> Vec<TreeWork> {
    use Action::{Insert, Range, Select, Update};
    let work = |kind, action, clients| {
        let rows = if matches!(action, Insert(_)) { 0 } else { 400 };
        TreeWork { kind, action, clients, count: 200, per_commit: 100, rows }
    };
    let all = [Insert(KeyOrder::Ascending), Insert(KeyOrder::Random), Select, Range, Update];
    let mut works: Vec<TreeWork> = all.map(|action| work(TableKind::Heap, action, 1)).into();
    works.extend([Range, Update].map(|action| work(TableKind::Clustered, action, 1)));
    works.extend(
        [Insert(KeyOrder::Ascending), Update].map(|action| work(TableKind::Heap, action, 2)),
    );
    works
}

#[test]
fn every_peer_that_is_installed_works_on_trees_and_builds_indexes() {
    let folder = TempDir::new().unwrap();
    open_to_all(folder.path());
    let database = sales(&folder, 2000);
    let rows = Rows::new(&database, u64::MAX);
    let work = folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    open_to_all(&work);
    let works = tree_works();
    let measured = measure_trees(&work, &works, 1);
    let built = measure_builds(&work, &rows, 2);
    let folders = ProgramFolders::of_machine();
    let is_there = [
        ("PostgreSQL", postgres::programs(&folders).is_some()),
        ("SQLite", folders.find("sqlite3").is_some()),
        ("MariaDB", folders.find("mariadbd").or_else(|| folders.find("mysqld")).is_some()),
    ];
    for (name, is_there) in is_there {
        if !is_there {
            eprintln!("SKIPPED: {name} is not installed");
            continue;
        }
        let peer = measured.iter().find(|peer| peer.name.starts_with(name));
        let peer = peer.unwrap_or_else(|| panic!("{name} failed"));
        for work in works.iter().filter(|work| work.clients == 1 || name != "SQLite") {
            assert!(peer.of(*work).is_some(), "{name}: {work:?}");
        }
        assert!(built.iter().any(|peer| peer.name.starts_with(name)), "{name} builds no index");
    }
    assert_eq!(std::fs::read_dir(&work).unwrap().count(), 0, "a peer leaves something behind");
}

#[test]
fn a_peer_that_is_not_installed_is_skipped_by_name() {
    let folder = TempDir::new().unwrap();
    let database = sales(&folder, 100);
    let rows = Rows::new(&database, 100);
    let folders =
        ProgramFolders::new(vec![folder.path().to_path_buf(), PathBuf::from("no/such/folder")]);
    let setting = Setting {
        folders: &folders,
        folder: folder.path(),
        runs: 1,
        interleaved: (&|| anyhow::bail!("no check of ours here"), 0),
    };
    for (peer, program) in PEERS.iter().zip(["initdb", "sqlite3", "mariadbd"]) {
        let Outcome::Missing(missing) = (peer.measure)(&setting, &rows).unwrap() else {
            panic!("{}", peer.name)
        };
        assert!(missing.starts_with(program), "{}: {missing}", peer.name);
    }
}

#[cfg(unix)]
fn open_to_all(folder: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(not(unix))]
fn open_to_all(_: &std::path::Path) {}
