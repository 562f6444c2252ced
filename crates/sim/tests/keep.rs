//! The files of a run can be read by other programs.

use std::path::PathBuf;

use extentdb_base::sync::Arc;
use extentdb_engine::{Database, Options, Paths};
use extentdb_io::MemDisk;
use extentdb_sim::{RunConfig, run_and_keep};

#[test]
fn kept_files_open_and_hold_the_listed_rows() {
    let (outcome, kept) = run_and_keep(&RunConfig::tight(3));
    outcome.unwrap();
    let disk = MemDisk::new();
    let mut data = Vec::new();
    let mut tables = Vec::new();
    for (path, bytes) in &kept.files {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("jsonl") => {
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                tables.push((name, bytes.iter().filter(|byte| **byte == b'\n').count()));
            }
            extension => {
                disk.put(path, bytes.clone());
                data.extend((extension != Some("ldf")).then(|| path.clone()));
            }
        }
    }
    let paths = Paths { data, log: PathBuf::from("life_log.ldf") };
    let db = Database::open(&paths, Options::on(Arc::new(disk))).unwrap();
    assert!(db.recovered().was_clean());
    assert!(tables.iter().any(|(_, rows)| *rows > 0), "{tables:?}");
    for (name, rows) in tables {
        assert_eq!(db.session().table(&name).unwrap().row_count(), rows as i64, "{name}");
    }
}
