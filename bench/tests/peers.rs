//! Peers load our rows and find their own databases sound; what is not installed is left out by name.

use std::path::PathBuf;

use bench::peers::rows::Rows;
use bench::peers::{Outcome, PEERS, Places, Setting};
use extentdb_reader::{Database, OpenOptions};
use extentdb_synth::{MakeOptions, Size, make};
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
    let places = Places::of_machine();
    let work = folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    // The users that servers run as must be able to pass through to their folders.
    open_to_all(folder.path());
    open_to_all(&work);
    let setting = Setting {
        places: &places,
        folder: &work,
        runs: 1,
        beside: (&|| anyhow::bail!("no check of ours here"), 0),
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
        assert_eq!(std::fs::read_dir(&work).unwrap().count(), 0, "{} leaves something behind", peer.name);
    }
}

#[test]
fn a_peer_that_is_not_installed_is_left_out_by_name() {
    let folder = TempDir::new().unwrap();
    let database = sales(&folder, 100);
    let rows = Rows::new(&database, 100);
    let places = Places::new(vec![folder.path().to_path_buf(), PathBuf::from("no/such/folder")]);
    let setting = Setting {
        places: &places,
        folder: folder.path(),
        runs: 1,
        beside: (&|| anyhow::bail!("no check of ours here"), 0),
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
