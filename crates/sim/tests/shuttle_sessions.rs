//! Sessions on threads whose schedule follows from a seed, with a power cut:
//! `RUSTFLAGS="--cfg shuttle"`, and a target folder of its own.
//!
//! Every lock, wait and atomic access is a point where another session may go on. Sessions insert,
//! change and delete rows of their own, and meet at two rows that all of them change, in any order.
//! An index has the long values, too, so that its pages are split all the time.
#![cfg(shuttle)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use extentdb_base::env::{Clock, Rng, SplitMix64};
use extentdb_base::sync::{Arc, thread};
use extentdb_engine::{
    Address, Cause, ColumnSpec, Database, DatabaseSpec, Error, IndexSpec, Options, Paths, Row,
    Session, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_types::{Collation, Datum, SqlType};
use shuttle::rand::Rng as _;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, MaxSteps, Runner};

const SESSIONS: i32 = 3;
const TRANSACTIONS: usize = 4;
const PER_SESSION: i32 = 1000;
/// Ids of the rows that all sessions change.
const SHARED: [i32; 2] = [1_000_000, 1_000_001];

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

type Rows = BTreeMap<i32, (Address, Row)>;

/// Events of all schedules together.
struct Counts {
    commits: AtomicUsize,
    deadlocks: AtomicUsize,
    cuts: AtomicUsize,
}

static COUNTS: Counts = Counts {
    commits: AtomicUsize::new(0),
    deadlocks: AtomicUsize::new(0),
    cuts: AtomicUsize::new(0),
};

/// A session's part of the model.
#[derive(Default)]
struct Owner {
    number: i32,
    next: i32,
    committed: Rows,
    in_doubt: Option<Rows>,
    /// Values that it gave, or may have given, to shared rows.
    given: BTreeSet<usize>,
}

fn text(len: usize) -> Datum<'static> {
    let ty = SqlType::VarChar { len: Some(8000), collation: Collation(0x3400_d008) };
    Datum::decode(&ty, &vec![b'x'; len]).unwrap().into_owned()
}

fn row(id: i32, len: usize) -> Row {
    vec![Datum::Int(id), text(len)]
}

fn spec() -> DatabaseSpec {
    DatabaseSpec::new("plan", "", 3 << 20)
}

fn options(disk: &MemDisk) -> Options {
    Options {
        clock: Arc::new(NoTime),
        frames: 48,
        checkpoint_log_bytes: Some(16 << 10),
        ..Options::on(Arc::new(disk.clone()))
    }
}

fn files(paths: &Paths) -> impl Iterator<Item = &std::path::PathBuf> {
    paths.data.iter().chain([&paths.log])
}

/// The files that every schedule begins with: a table with the shared rows.
fn beginning() -> &'static (Vec<Vec<u8>>, Vec<Address>) {
    static MADE: OnceLock<(Vec<Vec<u8>>, Vec<Address>)> = OnceLock::new();
    MADE.get_or_init(|| {
        let disk = MemDisk::new();
        let db = Database::create(&spec(), options(&disk)).unwrap();
        let mut session = db.session();
        let ty = SqlType::VarChar { len: Some(8000), collation: Collation(0x3400_d008) };
        let columns =
            vec![ColumnSpec::new("id", SqlType::Int).not_null(), ColumnSpec::new("name", ty)];
        let table = session.create_table(&TableSpec::heap("t", columns)).unwrap();
        let addresses =
            SHARED.iter().map(|id| session.insert(&table, &row(*id, 1)).unwrap()).collect();
        let index = IndexSpec {
            included: vec!["name".to_owned()],
            ..IndexSpec::new("by_id", &["id"])
        };
        session.create_index(&table, &index).unwrap();
        drop((session, table));
        db.close().unwrap();
        (files(&spec().paths()).map(|path| disk.contents(path).unwrap()).collect(), addresses)
    })
}

fn disk_at_beginning() -> MemDisk {
    let disk = MemDisk::new();
    for (path, bytes) in files(&spec().paths()).zip(&beginning().0) {
        disk.put(path, bytes.clone());
    }
    disk
}

impl Owner {
    fn run(&mut self, db: &Arc<Database>, rng: &mut SplitMix64) -> Result<(), Error> {
        let mut session = db.session();
        for _ in 0..TRANSACTIONS {
            while let Err(error) = self.transaction(&mut session, rng) {
                match error.cause() {
                    // The victim of a deadlock.
                    Cause::Lock => {
                        COUNTS.deadlocks.fetch_add(1, Relaxed);
                        session.rollback()?;
                    }
                    _ => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn transaction(&mut self, session: &mut Session, rng: &mut SplitMix64) -> Result<(), Error> {
        session.begin();
        let table = session.table("t")?;
        let mut rows = self.committed.clone();
        for _ in 0..1 + rng.below(3) {
            let id = self.number * PER_SESSION + self.next;
            let len = rng.below(3000) as usize;
            self.next += 1;
            let at = session.insert(&table, &row(id, len))?;
            rows.insert(id, (at, row(id, len)));
        }
        let chosen = rng.below(rows.len() as u64) as usize;
        if let Some((id, at)) = rows.iter().nth(chosen).map(|(id, (at, _))| (*id, at.clone())) {
            if rng.below(2) == 0 {
                session.delete(&table, &at)?;
                rows.remove(&id);
            } else {
                let len = rng.below(5000) as usize;
                session.update(&table, &at, &row(id, len))?;
                rows.insert(id, (at, row(id, len)));
            }
        }
        let first = rng.below(2) as usize;
        for at in [first, 1 - first] {
            let len = rng.below(4000) as usize;
            self.given.insert(len);
            session.update(&table, &beginning().1[at], &row(SHARED[at], len))?;
        }
        if rng.below(4) == 0 {
            return session.rollback();
        }
        self.in_doubt = Some(rows.clone());
        session.commit()?;
        COUNTS.commits.fetch_add(1, Relaxed);
        self.in_doubt = None;
        self.committed = rows;
        Ok(())
    }
}

/// One schedule: transactions to a power cut or to the end; recovery; comparison.
fn one_schedule() {
    let mut rng = SplitMix64::new(shuttle::rand::thread_rng().r#gen());
    let disk = disk_at_beginning();
    let db = Arc::new(Database::open(&spec().paths(), options(&disk)).unwrap());
    if rng.below(4) != 0 {
        disk.fail_after(rng.below(150));
    }
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let db = db.clone();
            let disk = disk.clone();
            let seed = rng.next_u64();
            thread::spawn(move || {
                let mut owner = Owner { number, ..Owner::default() };
                if let Err(error) = owner.run(&db, &mut SplitMix64::new(seed)) {
                    assert!(disk.is_dark(), "{error:?}");
                }
                owner
            })
        })
        .collect();
    let owners: Vec<Owner> = sessions.into_iter().map(|session| session.join().unwrap()).collect();
    drop(db);
    COUNTS.cuts.fetch_add(usize::from(disk.is_dark()), Relaxed);
    let unit_of =
        |path: &Path| if path.extension().is_some_and(|e| e == "ldf") { 512 } else { 8192 };
    let disk = disk.crash_by(&mut rng, &unit_of);
    let db = Database::open(&spec().paths(), options(&disk)).unwrap();
    compare(&db, &owners);
    db.close().unwrap();
    extentdb_sim::assert_sound(&disk, &spec().paths());
}

fn compare(db: &Arc<Database>, owners: &[Owner]) {
    let mut found = Rows::new();
    let mut session = db.session();
    let table = session.table("t").unwrap();
    let scanned = session.scan(&table, &mut |at, row| {
        let Datum::Int(id) = row[0] else { panic!("no id") };
        found.insert(id, (at, row));
        ControlFlow::Continue(())
    });
    scanned.unwrap();
    for owner in owners {
        let range = owner.number * PER_SESSION..(owner.number + 1) * PER_SESSION;
        let theirs: Rows = found.range(range).map(|(id, stored)| (*id, stored.clone())).collect();
        let is_right = theirs == owner.committed || owner.in_doubt.as_ref() == Some(&theirs);
        assert!(is_right, "session {}: {:?} found", owner.number, theirs.keys());
    }
    let given: BTreeSet<usize> =
        owners.iter().flat_map(|owner| owner.given.iter().copied()).chain([1]).collect();
    for id in SHARED {
        let is_given = given.iter().any(|len| found[&id].1 == row(id, *len));
        assert!(is_given, "shared row {id} has a value that nobody gave it");
    }
}

fn explore(scheduler: impl Scheduler + 'static) {
    let mut config = Config::new();
    (config.stack_size, config.max_steps) = (4 << 20, MaxSteps::None);
    Runner::new(scheduler, config).run(one_schedule);
    // Schedules in which nothing happens prove nothing.
    let met = [&COUNTS.commits, &COUNTS.deadlocks, &COUNTS.cuts].map(|count| count.load(Relaxed));
    assert!(met.iter().all(|count| *count > 0), "commits, deadlocks, power cuts: {met:?}");
}

/// How many schedules: more with EXTENTDB_SCHEDULES.
fn schedules() -> usize {
    std::env::var("EXTENTDB_SCHEDULES").ok().and_then(|count| count.parse().ok()).unwrap_or(60)
}

#[test]
fn sessions_lose_nothing_under_random_schedules() {
    explore(RandomScheduler::new(schedules()));
}

#[test]
fn sessions_lose_nothing_under_schedules_with_few_switches() {
    explore(PctScheduler::new(3, schedules()));
}
