//! The power fails at any call of the disk while rows with values off them change: what was
//! acknowledged is there again, nothing else, and the files are sound.

mod support;

use std::path::Path;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_engine::{Database, Error};
use extentdb_io::MemDisk;
use support::lobs::*;
use support::*;

/// A table whose rows were acknowledged, and perhaps one transaction more.
struct Life {
    work: Workload,
    committed: Model,
    in_doubt: Option<Model>,
}

impl Life {
    /// Transactions until the power fails.
    fn run(&mut self, db: &Arc<Database>, transactions: usize) -> Result<(), Error> {
        let mut session = db.session();
        let table = session.table("t")?;
        for _ in 0..transactions {
            self.work.transaction(&mut session, &table)?;
            if self.work.rng.below(5) == 0 {
                session.rollback()?;
                self.work.model = self.committed.clone();
                let (_, places) = found(&mut session, &table);
                self.work.places = places;
            } else {
                self.in_doubt = Some(self.work.model.clone());
                session.commit()?;
                self.in_doubt = None;
                self.committed = self.work.model.clone();
            }
            if self.work.rng.below(10) == 0 {
                db.checkpoint()?;
            }
        }
        Ok(())
    }

    fn assert_kept(&mut self, db: &Arc<Database>, what: &str) {
        let mut session = db.session();
        let table = session.table("t").unwrap();
        let (model, places) = found(&mut session, &table);
        if self.in_doubt.take().is_some_and(|doubtful| doubtful == model) {
            self.committed.clone_from(&model);
        }
        assert_same(&self.committed, &model, what);
        self.work.model = model;
        self.work.places = places;
    }
}

fn live(seed: u64, form: Form) {
    let what = format!("seed {seed}, {form:?}");
    let unit_of =
        |path: &Path| if path.extension().is_some_and(|e| e == "ldf") { 512 } else { 8192 };
    let mut rng = SplitMix64::new(seed ^ 0xdead_beef);
    let mut disk = MemDisk::new();
    let spec = spec("life");
    let paths = spec.paths();
    let db = Database::create(&spec, on(&disk)).unwrap();
    create(&mut db.session(), "t", form);
    db.close().unwrap();
    let work = Workload::new(seed, 60_000);
    let mut life = Life { work, committed: Model::new(), in_doubt: None };
    for _ in 0..4 {
        // The power may fail during recovery, too.
        disk.fail_after(rng.below(60));
        if let Ok(db) = Database::open(&paths, on(&disk)) {
            disk.fail_after(u64::MAX);
            life.assert_kept(&db, &what);
            disk.fail_after(rng.below(200));
            let _ = life.run(&db, 40);
            drop(db);
        }
        disk = disk.crash_by(&mut rng, &unit_of);
    }
    let db = Database::open(&paths, on(&disk)).unwrap_or_else(|e| panic!("{what}: {e:?}"));
    life.assert_kept(&db, &what);
    db.close().unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let folder = tempfile::tempdir().unwrap();
    let files = files_of(&disk, &paths, folder.path());
    assert_sound(&files);
    assert_same(&life.committed, &found_by_reader(&files, "t"), &what);
}

#[test]
fn crash_at_any_disk_call_keeps_committed_values() {
    for seed in 0..lives() {
        live(seed, FORMS[seed as usize % FORMS.len()]);
    }
}

/// How many lives: more with EXTENTDB_LIVES.
fn lives() -> u64 {
    std::env::var("EXTENTDB_LIVES").ok().and_then(|lives| lives.parse().ok()).unwrap_or(16)
}
