//! Sessions whose DDL is rolled back, beside one that makes checkpoints, switched wherever the seed
//! says: `RUSTFLAGS="--cfg shuttle"`, and a target folder of its own.
//!
//! Each transaction creates, truncates, indexes, rebuilds or drops, and is rolled back, to a
//! savepoint or as a whole; now and then it commits a row. Afterwards there is what was committed,
//! in memory and after a crash.
#![cfg(shuttle)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use extentdb_base::env::{Clock, Rng, SplitMix64};
use extentdb_base::sync::{Arc, thread};
use extentdb_engine::{
    Cause, ColumnSpec, Database, DatabaseSpec, Error, IndexSpec, Options, Session, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};
use shuttle::rand::Rng as _;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, MaxSteps, Runner};

const SESSIONS: u64 = 3;
const TRANSACTIONS: usize = 2;
const CHECKPOINTS: usize = 4;
/// Rows of each session's table at the beginning.
const ROWS: i32 = 3;

/// Time stands still.
#[derive(Debug)]
struct NoTime;

impl Clock for NoTime {
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn since_epoch(&self) -> Duration {
        Duration::from_secs(1_262_304_000)
    }
}

fn spec() -> DatabaseSpec {
    DatabaseSpec::new("ddl", "", 3 << 20)
}

fn options(disk: &MemDisk) -> Options {
    Options {
        clock: Arc::new(NoTime),
        frames: 96,
        checkpoint_log_bytes: None,
        target_recovery: None,
        ..Options::on(Arc::new(disk.clone()))
    }
}

fn columns() -> Vec<ColumnSpec> {
    vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("number", SqlType::Int).not_null(),
    ]
}

fn row(id: i32) -> [Datum<'static>; 2] {
    [Datum::Int(id), Datum::Int(-id)]
}

fn own_name(number: u64) -> String {
    format!("own{number}")
}

/// The files that every schedule begins with: a table with an index for each session.
fn beginning() -> &'static Vec<(PathBuf, Vec<u8>)> {
    static MADE: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
    MADE.get_or_init(|| {
        let disk = MemDisk::new();
        let db = Database::create(&spec(), options(&disk)).unwrap();
        let mut session = db.session();
        for number in 0..SESSIONS {
            let table =
                session.create_table(&TableSpec::heap(&own_name(number), columns())).unwrap();
            (0..ROWS).for_each(|id| drop(session.insert(&table, &row(id)).unwrap()));
            session.create_index(&table, &IndexSpec::new("i", &["id"])).unwrap();
        }
        drop(session);
        db.close().unwrap();
        disk.paths().into_iter().map(|path| (path.clone(), disk.contents(&path).unwrap())).collect()
    })
}

fn disk_at_beginning() -> MemDisk {
    let disk = MemDisk::new();
    beginning().iter().for_each(|(path, bytes)| disk.put(path, bytes.clone()));
    disk
}

/// Rows that a session committed; a victim of a deadlock tries again.
fn work(db: &Arc<Database>, number: u64, seed: u64) -> Result<i64, Error> {
    let mut rng = SplitMix64::new(seed);
    let mut session = db.session();
    let mut rows = i64::from(ROWS);
    for _ in 0..TRANSACTIONS {
        loop {
            let id = rows as i32;
            match transaction(&mut session, number, id, &mut rng) {
                Ok(is_committed) => {
                    rows += i64::from(is_committed);
                    break;
                }
                Err(error) if error.cause() == Cause::Lock => session.rollback()?,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(rows)
}

/// True when a row was committed.
fn transaction(
    session: &mut Session,
    number: u64,
    id: i32,
    rng: &mut SplitMix64,
) -> Result<bool, Error> {
    session.begin();
    let own = session.table(&own_name(number))?;
    let ends_at_savepoint = rng.below(3) == 0;
    if ends_at_savepoint {
        session.save("s")?;
    }
    match rng.below(5) {
        0 => {
            let table =
                session.create_table(&TableSpec::heap(&format!("new{number}"), columns()))?;
            session.insert(&table, &row(0))?;
        }
        1 => session.create_index(&own, &IndexSpec::new("j", &["number"]))?,
        2 => session.truncate_table(&own)?,
        3 => session.rebuild_index(&own, "i")?,
        _ => session.drop_table(&own)?,
    }
    if !ends_at_savepoint {
        session.rollback()?;
        return Ok(false);
    }
    session.rollback_to("s")?;
    let own = session.table(&own_name(number))?;
    session.insert(&own, &row(id))?;
    session.commit()?;
    Ok(true)
}

fn one_schedule() {
    let mut rng = SplitMix64::new(shuttle::rand::thread_rng().r#gen());
    let disk = disk_at_beginning();
    let db = Arc::new(Database::open(&spec().paths(), options(&disk)).unwrap());
    let checkpointer = {
        let db = db.clone();
        thread::spawn(move || {
            for _ in 0..CHECKPOINTS {
                db.checkpoint().unwrap();
                thread::yield_now();
            }
        })
    };
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let db = db.clone();
            let seed = rng.next_u64();
            thread::spawn(move || work(&db, number, seed).unwrap())
        })
        .collect();
    let rows: Vec<i64> = sessions.into_iter().map(|session| session.join().unwrap()).collect();
    checkpointer.join().unwrap();
    assert_counts(&db, &rows);
    let crashed = disk.kill(&mut rng);
    drop(db);
    let db = Database::open(&spec().paths(), options(&crashed)).unwrap();
    assert_counts(&db, &rows);
    db.close().unwrap();
    extentdb_sim::assert_sound(&crashed, &spec().paths());
}

fn assert_counts(db: &Arc<Database>, rows: &[i64]) {
    let counts: BTreeMap<String, i64> =
        db.tables().iter().map(|table| (table.name().to_owned(), table.row_count())).collect();
    let expected: BTreeMap<String, i64> =
        rows.iter().enumerate().map(|(number, rows)| (own_name(number as u64), *rows)).collect();
    assert_eq!(counts, expected);
}

fn explore(scheduler: impl Scheduler + 'static) {
    let mut config = Config::new();
    (config.stack_size, config.max_steps) = (4 << 20, MaxSteps::None);
    Runner::new(scheduler, config).run(one_schedule);
}

/// How many schedules: more with EXTENTDB_SCHEDULES.
fn schedules() -> usize {
    std::env::var("EXTENTDB_SCHEDULES").ok().and_then(|count| count.parse().ok()).unwrap_or(20)
}

#[test]
fn rolled_back_ddl_during_checkpoints_leaves_nothing() {
    explore(RandomScheduler::new_from_seed(1, schedules()));
}

#[test]
fn rolled_back_ddl_during_rare_checkpoints_leaves_nothing() {
    explore(PctScheduler::new_from_seed(1, 3, schedules()));
}
