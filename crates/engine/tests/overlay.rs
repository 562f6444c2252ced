//! The checker looks at a copy that was not closed, with its log, and sees what a restart would
//! make of it.

mod support;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, LogUse, Options as CheckOptions, Verdict};
use extentdb_engine::{Database, Paths};
use extentdb_io::MemDisk;
use extentdb_reader::recover::{RecoverOptions, Recovered, Recovery, recover};
use extentdb_reader::{OpenOptions, OpenedFiles};
use support::*;

/// The files of a disk in a folder, and what the checker says of them.
fn check_copy(disk: &MemDisk, paths: &Paths) -> (extentdb_check::Report, usize, u64) {
    let folder = tempfile::tempdir().unwrap();
    let files = paths.data.iter().chain([&paths.log]).map(|path| {
        let to = folder.path().join(path.file_name().unwrap());
        std::fs::write(&to, disk.contents(path).unwrap()).unwrap();
        to
    });
    let files: Vec<_> = files.collect();
    let opened = OpenedFiles::open(&files, &OpenOptions::default()).unwrap();
    let Ok(Recovery::Redone(recovered)) = recover(&opened, &RecoverOptions::default()) else {
        panic!("the log was not used");
    };
    let Recovered { source, summary } = *recovered;
    assert!(
        summary.unfinished.iter().all(|open| open.not_undone.is_none()),
        "{:#?}",
        summary.unfinished
    );
    let open = summary.unfinished.len();
    let changes = summary.changes;
    let clock = extentdb_base::env::SystemClock::new();
    let cancel = AtomicBool::new(false);
    let options = CheckOptions {
        log: LogUse::Redone(Arc::new(summary)),
        ..CheckOptions::default()
    };
    (extentdb_check::run(&source, &options, &Control::new(&clock, &cancel)), open, changes)
}

#[test]
fn check_of_a_copy_rolls_open_transactions_back() {
    for seed in 0..8 {
        let mut rng = SplitMix64::new(seed);
        let disk = MemDisk::new();
        let spec = spec("copy");
        let db = Database::create(&spec, on(&disk)).unwrap();
        let mut session = db.session();
        let table = session.create_table(&people("people")).unwrap();
        let places: Vec<_> = (0..300)
            .map(|id| {
                session.insert(&table, &person(id, &"p".repeat(rng.below(400) as usize))).unwrap()
            })
            .collect();
        db.checkpoint().unwrap();
        session.begin();
        for id in 300..400 {
            session.insert(&table, &person(id, &"q".repeat(rng.below(900) as usize))).unwrap();
        }
        for (id, place) in (0..).zip(&places).step_by(7) {
            session
                .update(&table, place, &person(id, &"r".repeat(rng.below(1500) as usize)))
                .unwrap();
        }
        for place in places.iter().skip(3).step_by(11) {
            session.delete(&table, place).unwrap();
        }
        let other = session.create_table(&people("other")).unwrap();
        session.insert(&other, &person(1, "one")).unwrap();
        // Everything that was done is in the log, and some of it on the pages.
        db.log().flush_all().unwrap();
        if seed % 2 == 0 {
            db.pool().write_dirty().unwrap();
        }
        let (report, open, changes) = check_copy(&disk, &spec.paths());
        assert_eq!(open, 1);
        assert!(changes > 0 || seed % 2 == 0);
        let findings: Vec<String> =
            report.findings.iter().take(10).map(|f| format!("{f:?}")).collect();
        assert!(findings.is_empty(), "seed {seed}: {findings:#?}");
        assert_ne!(report.verdict, Verdict::Damaged);
        session.rollback().unwrap();
    }
}
