//! A process is killed under load, on the real file system. What it had acknowledged is there; no
//! transaction is torn.
//!
//! The test starts itself as the process to be killed. Each commit that returned is written to a
//! pipe, which outlives it.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_engine::{Database, DatabaseSpec, Error, Options, Session};
use support::*;

const FOLDER: &str = "EXTENTDB_KILL_FOLDER";
const FIRST: &str = "EXTENTDB_KILL_FIRST";
const ROUNDS: &str = "EXTENTDB_KILLS";
const THREADS: i32 = 4;
const PER_THREAD: i32 = 100_000_000;
/// Transactions of one round, at most.
const PER_ROUND: i32 = 100_000;
/// Every fourth transaction also deletes what the last but one had inserted.
const TURN: i32 = 4;

fn spec_in(folder: &Path) -> DatabaseSpec {
    DatabaseSpec::new("killed", folder, 4 << 20)
}

fn options() -> Options {
    Options {
        frames: 256,
        checkpoint_log_bytes: Some(256 << 10),
        ..Options::default()
    }
}

/// Rows of a transaction: between one and five.
fn rows_of(number: i32) -> i32 {
    1 + number % 5
}

fn id_of(thread: i32, number: i32, row: i32) -> i32 {
    thread * PER_THREAD + number * 10 + row
}

/// Not a test of its own: the process that is killed.
#[test]
fn process_that_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let first: i32 = std::env::var(FIRST).unwrap().parse().unwrap();
    let db = Database::open(&spec_in(Path::new(&folder)).paths(), options()).unwrap();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let db = &db;
            scope.spawn(move || commit_without_end(db, thread, first));
        }
    });
}

fn commit_without_end(db: &Database, thread: i32, first: i32) {
    let mut session = db.session();
    let mut places = BTreeMap::new();
    for number in first..first + PER_ROUND {
        transaction(&mut session, thread, number, &mut places).unwrap();
        let line = format!("\nack {thread} {number}\n");
        std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
        std::io::stdout().flush().unwrap();
    }
}

fn transaction(
    session: &mut Session<'_>,
    thread: i32,
    number: i32,
    places: &mut BTreeMap<i32, extentdb_engine::Address>,
) -> Result<(), Error> {
    let table = session.table("people")?;
    session.begin();
    for row in 0..rows_of(number) {
        let id = id_of(thread, number, row);
        let at = session.insert(&table, &person(id, &"k".repeat((number * 37 % 900) as usize)))?;
        places.insert(id, at);
    }
    if number % TURN == TURN - 1 {
        for row in 0..rows_of(number - 2) {
            let at = places.remove(&id_of(thread, number - 2, row)).unwrap();
            session.delete(&table, &at)?;
        }
    }
    session.commit()
}

fn start(folder: &Path, first: i32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process_that_is_killed", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Lets it run for a while, kills it, and returns what it had acknowledged.
fn kill_after(time: Duration, mut child: Child) -> BTreeSet<(i32, i32)> {
    let output = child.stdout.take().unwrap();
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.filter_map(|line| acknowledged(&line)).collect::<BTreeSet<_>>()
        });
        thread::sleep(time);
        let is_at_work = child.try_wait().unwrap().is_none();
        // SIGKILL.
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_at_work, "it must still be at work");
        reader.join().unwrap()
    })
}

fn acknowledged(line: &str) -> Option<(i32, i32)> {
    let (thread, number) = line.strip_prefix("ack ")?.split_once(' ')?;
    Some((thread.parse().ok()?, number.parse().ok()?))
}

/// Rows found by thread and number of their transaction.
fn found(db: &Database) -> BTreeMap<(i32, i32), i32> {
    let mut session = db.session();
    let table = session.table("people").unwrap();
    let mut found = BTreeMap::new();
    for id in ids(&mut session, &table) {
        *found.entry((id / PER_THREAD, id % PER_THREAD / 10)).or_default() += 1;
    }
    found
}

fn assert_kept(found: &BTreeMap<(i32, i32), i32>, acknowledged: &BTreeSet<(i32, i32)>) {
    for ((thread, number), rows) in found {
        assert_eq!(*rows, rows_of(*number), "transaction {number} of thread {thread} is torn");
    }
    let is_deleted = |thread: i32, number: i32| {
        (number + 2) % TURN == TURN - 1 && found.contains_key(&(thread, number + 2))
    };
    for (thread, number) in acknowledged {
        let is_there = found.contains_key(&(*thread, *number));
        let is_deleted = is_deleted(*thread, *number);
        assert!(
            is_there != is_deleted,
            "transaction {number} of thread {thread}: lost, or half undone"
        );
    }
    for (thread, number) in found.keys() {
        assert!(
            !is_deleted(*thread, *number),
            "transaction {} of thread {thread} is torn",
            number + 2
        );
    }
}

#[test]
fn commits_of_a_killed_process_are_durable() {
    let rounds = std::env::var(ROUNDS).ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    let folder = tempfile::tempdir().unwrap();
    let spec = spec_in(folder.path());
    let db = Database::create(&spec, options()).unwrap();
    db.session().create_table(&people("people")).unwrap();
    db.close().unwrap();
    let mut rng = SplitMix64::new(4);
    let mut all = BTreeSet::new();
    for round in 0..rounds {
        let child = start(folder.path(), round * PER_ROUND);
        // On a busy machine none may have come to anything: the last one has all the time that
        // takes.
        let delay = if round + 1 == rounds && all.is_empty() { 10_000 } else { 40 };
        all.extend(kill_after(Duration::from_millis(delay + rng.below(500)), child));
        let db = Database::open(&spec.paths(), options()).unwrap();
        assert_kept(&found(&db), &all);
        db.close().unwrap();
        assert_sound(&spec.paths().data);
    }
    assert!(!all.is_empty(), "nothing was acknowledged in {rounds} rounds");
}
