//! Rows with values off them: random changes beside a model, restarts, the full check and the
//! offline reader.

mod support;

use extentdb_base::env::SplitMix64;
use extentdb_engine::Database;
use extentdb_io::MemDisk;
use support::lobs::*;
use support::*;

/// Transactions over one table, with restarts in between.
fn run(seed: u64, form: Form, most: usize, transactions: usize) {
    let disk = MemDisk::new();
    let spec = spec("lobs");
    let what = format!("seed {seed}, {form:?}");
    let mut db = Database::create(&spec, on(&disk)).unwrap();
    create(&mut db.session(), "t", form);
    let mut work = Workload::new(seed, most);
    for round in 0..transactions {
        let mut session = db.session();
        let table = session.table("t").unwrap();
        work.ended_transaction(&mut session, &table)
            .unwrap_or_else(|error| panic!("{what}, round {round}: {error:?}"));
        drop((session, table));
        match round % 8 {
            3 => db.checkpoint().unwrap(),
            7 => {
                work.assert_rows(&db, "t", &what);
                db.close().unwrap();
                assert_sound_on(&disk, &spec.paths());
                db = reopen(&disk, &spec.paths());
                work.assert_rows(&db, "t", &what);
            }
            _ => {}
        }
    }
    work.assert_rows(&db, "t", &what);
    db.close().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = files_of(&disk, &spec.paths(), folder.path());
    assert_sound(&files);
    assert_same(&work.model, &found_by_reader(&files, "t"), &what);
}

#[test]
fn random_changes_of_a_heap() {
    (0..runs()).for_each(|seed| run(seed, Form::Heap, 200_000, 40));
}

#[test]
fn random_changes_of_a_heap_with_an_index() {
    (0..runs()).for_each(|seed| run(seed, Form::Indexed, 200_000, 40));
}

#[test]
fn random_changes_of_a_clustered_table() {
    (0..runs()).for_each(|seed| run(seed, Form::Clustered, 200_000, 40));
}

#[test]
fn random_changes_of_a_clustered_table_with_uniquifiers() {
    (0..runs()).for_each(|seed| run(seed, Form::Uniquified, 200_000, 40));
}

#[test]
fn values_of_several_megabytes() {
    run(1000, Form::Clustered, 6 << 20, 12);
}

/// How many seeds: more with EXTENTDB_LIVES.
fn runs() -> u64 {
    let lives = std::env::var("EXTENTDB_LIVES").ok().and_then(|lives| lives.parse().ok());
    lives.unwrap_or(4)
}

#[test]
fn a_crash_with_an_open_transaction_undoes_its_values() {
    for seed in 0..runs() {
        for form in FORMS {
            let disk = MemDisk::new();
            let spec = spec("lobs");
            let db = Database::create(&spec, on(&disk)).unwrap();
            create(&mut db.session(), "t", form);
            let mut work = Workload::new(seed, 100_000);
            let mut session = db.session();
            let table = session.table("t").unwrap();
            for _ in 0..6 {
                work.ended_transaction(&mut session, &table).unwrap();
            }
            let model = work.model.clone();
            work.transaction(&mut session, &table).unwrap();
            db.checkpoint().unwrap();
            work.transaction(&mut session, &table).unwrap();
            let disk = disk.crash(&mut SplitMix64::new(seed));
            let recovered = reopen(&disk, &spec.paths());
            work.model = model;
            work.assert_rows(&recovered, "t", &format!("seed {seed}, {form:?}"));
            close_and_check(recovered, &disk, &spec.paths());
        }
    }
}
