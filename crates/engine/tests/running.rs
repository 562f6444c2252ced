//! What a database does beside its statements: checkpoints that are due, frames that are freed in
//! time.

mod support;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use extentdb_engine::{Database, Options};
use extentdb_io::MemDisk;
use extentdb_telemetry::{Event, Recorder, WaitType, Waits};
use support::*;

/// Rows of about a kilobyte, one transaction each.
fn insert(db: &Database, name: &str, ids: std::ops::Range<i32>) {
    let mut session = db.session();
    let table = session.table(name).unwrap();
    for id in ids {
        session.insert(&table, &person(id, &"r".repeat(900))).unwrap();
    }
}

fn made(options: Options) -> Database {
    let db = Database::create(&spec("running"), options).unwrap();
    db.session().create_table(&people("people")).unwrap();
    db
}

fn checkpoints(events: &Recorder) -> usize {
    events.take().iter().filter(|event| matches!(event, Event::CheckpointEnd { .. })).count()
}

#[test]
fn background_thread_makes_due_checkpoints() {
    let disk = MemDisk::new();
    let events = Arc::new(Recorder::default());
    let waits = Arc::new(Waits::new());
    let options = Options {
        checkpoint_log_bytes: Some(64 << 10),
        events: events.clone(),
        waits: waits.clone(),
        ..on(&disk)
    };
    let db = made(options);
    checkpoints(&events);
    let mut seen = 0;
    let mut id = 0;
    db.run(|| {
        while seen < 5 {
            assert!(id < 1_000_000, "{seen} checkpoints after {id} rows");
            insert(&db, "people", id..id + 100);
            id += 100;
            seen += checkpoints(&events);
        }
    });
    assert!(waits.totals(WaitType::CheckpointQueue).waiting_tasks_count > 0);
    assert!(waits.totals(WaitType::LazyWriterSleep).waiting_tasks_count > 0);
    close_and_check(db, &disk, &spec("running").paths());
}

#[test]
fn background_thread_frees_frames_ahead_of_need() {
    let disk = MemDisk::new();
    let db = made(Options { frames: 64, checkpoint_log_bytes: None, ..on(&disk) });
    insert(&db, "people", 0..1000);
    assert_eq!(
        db.pool().stats().free_frames,
        0,
        "a pool of 64 pages is full of more than a hundred"
    );
    db.write_lazily().unwrap();
    assert!(db.pool().stats().free_frames >= 8);
    drop(db);
    let db = Database::open(&spec("running").paths(), on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.table("people").unwrap();
    assert_eq!(rows(&mut session, &table).len(), 1000);
}

/// Changes redone by a restart after a crash, when restarts shall take so long.
fn redone(target: Option<Duration>) -> u64 {
    let disk = MemDisk::new();
    let options = || Options {
        checkpoint_log_bytes: None,
        target_recovery: target,
        ..on(&disk)
    };
    let db = made(options());
    db.checkpoint().unwrap();
    insert(&db, "people", 0..400);
    drop(db);
    let db = Database::open(&spec("running").paths(), options()).unwrap();
    db.recovered().redone
}

#[test]
fn a_restart_has_no_more_to_redo_than_its_target_allows() {
    let all = redone(None);
    assert!(all > 400, "{all} changes redone");
    // Half of 20 ms are 20 pages of half a millisecond each, and seven of these rows fill one.
    let few = redone(Some(Duration::from_millis(20)));
    assert!(few < all / 2, "{few} of {all} changes redone");
}

#[test]
fn background_threads_end_with_the_database() {
    let disk = MemDisk::new();
    let db = made(on(&disk));
    let work = || db.run(|| panic!("the work is over"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
    db.run(|| {
        thread::scope(|scope| {
            for number in 0..3 {
                let db = &db;
                scope.spawn(move || insert(db, "people", number * 1000..number * 1000 + 50));
            }
        });
    });
    drop(db);
    let db = Database::open(&spec("running").paths(), on(&disk)).unwrap();
    assert!(!db.recovered().was_clean());
    let mut session = db.session();
    let table = session.table("people").unwrap();
    assert_eq!(rows(&mut session, &table).len(), 150);
}

/// Growths of files: pages, and the thread.
#[derive(Default, Debug)]
struct Growths(std::sync::Mutex<Vec<(u32, thread::ThreadId)>>);

impl extentdb_telemetry::EventSink for Growths {
    fn event(&self, event: &Event) {
        if let Event::FileGrowth { pages, .. } = event {
            self.0.lock().unwrap().push((*pages, thread::current().id()));
        }
    }
}

#[test]
fn files_grow_before_they_are_full() {
    let disk = MemDisk::new();
    let growths = Arc::new(Growths::default());
    let db = made(Options { events: growths.clone(), ..on(&disk) });
    // A new database grows to its size.
    growths.0.lock().unwrap().clear();
    let free = || db.space().files()[0].free_extents();
    let own = thread::current().id();
    db.run(|| {
        let mut id = 0;
        // With one extent left the file is low, and not full.
        while free() > 1 && growths.0.lock().unwrap().is_empty() {
            insert(&db, "people", id..id + 1);
            id += 1;
        }
        for _ in 0..1000 {
            if !growths.0.lock().unwrap().is_empty() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
    });
    let growths = growths.0.lock().unwrap();
    assert!(!growths.is_empty(), "nobody made the file longer");
    assert!(growths.iter().all(|(pages, by)| *pages > 0 && *by != own), "{growths:?} by {own:?}");
    assert!(free() > 1);
}

/// Pages by which a file becomes longer ahead of need when one extent of it is left.
fn grown_ahead(compatible_space: bool) -> u32 {
    let disk = MemDisk::new();
    let db = made(Options { compatible_space, ..on(&disk) });
    let pages = || db.space().files()[0].pages();
    let before = pages();
    while db.space().files()[0].free_extents() > 1 {
        insert(&db, "people", 0..1);
    }
    assert_eq!(pages(), before);
    db.grow_ahead().unwrap();
    pages() - before
}

#[test]
fn with_compatible_space_files_grow_when_they_are_full_only() {
    assert_eq!(grown_ahead(true), 0);
    assert!(grown_ahead(false) > 0);
}
