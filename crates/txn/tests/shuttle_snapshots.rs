//! Commits, snapshots and their cleaning under schedules that follow from a seed:
//! `RUSTFLAGS="--cfg shuttle"`, and a target folder of its own.
#![cfg(shuttle)]

use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, thread};
use extentdb_base::{SessionId, XactId};
use extentdb_txn::versions::{Commits, SnapshotKind, TakenSnapshot};

fn explore(test: impl Fn() + Clone + Send + Sync + 'static) {
    shuttle::check_random(test.clone(), 1_000);
    shuttle::check_pct(test, 1_000, 3);
}

fn id(number: u32) -> XactId {
    XactId { high: 0, low: number }
}

fn snapshot(commits: &Arc<Commits>, session: u16) -> Arc<TakenSnapshot> {
    Arc::new(commits.snapshot(SessionId(session), SnapshotKind::Statement, Duration::ZERO))
}

#[test]
fn a_commit_in_two_databases_is_seen_in_both_or_in_none() {
    explore(|| {
        let commits = Commits::new();
        let first = commits.enter_database();
        let second = commits.enter_database();
        let writers = [first.begin(id(1)), second.begin(id(1))];
        let committer = {
            let commits = commits.clone();
            thread::spawn(move || commits.commit(writers))
        };
        let cleaner = {
            let commits = commits.clone();
            thread::spawn(move || {
                commits.clean();
                commits.clean();
            })
        };
        for session in 51..53 {
            let taken = snapshot(&commits, session);
            let here = taken.within(&first, id(9)).sees(id(1));
            let there = taken.within(&second, id(9)).sees(id(1));
            assert_eq!(here, there);
            assert_eq!(taken.within(&first, id(9)).sees(id(1)), here, "asked again");
        }
        committer.join().unwrap();
        cleaner.join().unwrap();
        assert!(snapshot(&commits, 60).within(&first, id(9)).sees(id(1)));
    });
}

#[test]
fn a_reader_that_has_copied_a_record_of_a_rolled_back_writer_does_not_see_it() {
    explore(|| {
        let commits = Commits::new();
        let db = commits.enter_database();
        // The tag of a record: 0 before the writer and after its undo.
        let tag = Arc::new(AtomicU64::new(0));
        let writer = {
            let db = db.clone();
            let tag = tag.clone();
            thread::spawn(move || {
                let writer = db.begin(id(5));
                tag.store(5, Ordering::SeqCst);
                tag.store(0, Ordering::SeqCst);
                drop(writer);
            })
        };
        let cleaner = {
            let commits = commits.clone();
            thread::spawn(move || drop(commits.clean()))
        };
        let taken = snapshot(&commits, 51);
        let copied = tag.load(Ordering::SeqCst);
        if copied != 0 {
            assert!(!taken.within(&db, id(9)).sees(id(copied as u32)));
        }
        writer.join().unwrap();
        cleaner.join().unwrap();
    });
}

#[test]
fn what_is_removed_is_seen_by_every_snapshot() {
    explore(|| {
        let commits = Commits::new();
        let db = commits.enter_database();
        let writer = db.begin(id(5));
        let committer = {
            let commits = commits.clone();
            thread::spawn(move || {
                commits.commit([writer]);
                commits.clean();
            })
        };
        let taken = snapshot(&commits, 51);
        let reader = taken.within(&db, id(9));
        let is_seen = reader.sees(id(5));
        if db.is_seen_by_all(id(5)) {
            assert!(taken.within(&db, id(9)).sees(id(5)));
        }
        committer.join().unwrap();
        commits.clean();
        assert_eq!(taken.within(&db, id(9)).sees(id(5)), is_seen);
        assert_eq!(db.is_seen_by_all(id(5)), is_seen);
    });
}
