//! The process that kills, opens and compares.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_base::sync::mpsc;
use extentdb_check::{Control, Options as CheckOptions, Verdict};
use extentdb_engine::Database;
use extentdb_io::{DurabilityMode, RealDisk};
use extentdb_reader::{OpenOptions, OpenedFiles};
use tempfile::TempDir;

use crate::child::{FIRST, FOLDER, MIX};
use crate::plan::{End, Mix, Parts, SESSIONS, plan};
use crate::rows::{create, options, read, spec};

/// How long the child may work before it is killed, at most.
const WORK_MILLIS_MAX: u64 = 250;
/// A kill that is meant for a checkpoint comes this long after its beginning, at most.
const CHECKPOINT_MICROS_MAX: u64 = 4000;
/// Events that wait to be looked at.
const EVENTS_MAX: usize = 16;
/// How long a checkpoint is waited for.
const CHECKPOINT_WAIT: Duration = Duration::from_millis(200);
/// How long it may take to open its files.
const START_MAX: Duration = Duration::from_secs(60);
/// Numbers of transactions of one round.
const PER_ROUND: i64 = 1_000_000;

/// A folder that stays when the test fails.
struct Folder(Option<TempDir>);

impl Folder {
    fn new() -> Folder {
        Folder(Some(match std::env::var_os("EXTENTDB_KILL_DIR") {
            Some(folder) => TempDir::new_in(folder).unwrap(),
            None => TempDir::new().unwrap(),
        }))
    }

    fn path(&self) -> &Path {
        self.0.as_ref().unwrap().path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if thread::panicking()
            && let Some(folder) = self.0.take()
        {
            eprintln!("the files are in {}", folder.keep().display());
        }
    }
}

/// When the child is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// After it has worked for so long.
    Any(Duration),
    /// The same, and then at a checkpoint: so long after its beginning.
    Checkpoint(Duration, Duration),
}

impl Moment {
    fn any(rng: &mut dyn Rng) -> Moment {
        let work = Duration::from_millis(rng.below(WORK_MILLIS_MAX));
        match rng.below(2) {
            0 => Moment::Any(work),
            _ => Moment::Checkpoint(work, Duration::from_micros(rng.below(CHECKPOINT_MICROS_MAX))),
        }
    }

    /// Returns when it has come.
    fn wait(self, events: &mpsc::Receiver<Event>) {
        let (Moment::Any(work) | Moment::Checkpoint(work, _)) = self;
        thread::sleep(work);
        if let Moment::Checkpoint(_, after) = self {
            // Those that are over.
            while events.try_recv().is_ok() {}
            let _ = events.recv_timeout(CHECKPOINT_WAIT);
            thread::sleep(after);
        }
    }
}

/// What the child says beside outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// It works now.
    Ready,
    /// It begins a checkpoint.
    Checkpoint,
}

/// An outcome that the child has told.
struct Reported {
    session: usize,
    number: i64,
    end: End,
}

/// All of it, so many times.
pub(crate) fn kill_again_and_again(kills: u64, mix: Mix, seed: u64) {
    let folder = Folder::new();
    create(folder.path());
    let report =
        RealDisk::new(DurabilityMode::Auto).report(&spec(folder.path()).paths().log).unwrap();
    eprintln!("durable by {:?} through {:?} ({})", report.chosen, report.backend, report.reason);
    let mut rng = SplitMix64::new(seed);
    let mut committed = vec![Parts::new(); SESSIONS as usize];
    let mut acknowledged = 0;
    for round in 0..kills {
        let first = round as i64 * PER_ROUND + 1;
        let child = start(folder.path(), first, mix);
        let reported = kill_at(Moment::any(&mut rng), child, round);
        acknowledged += reported.iter().filter(|reported| reported.end == End::Commit).count();
        let doubtful = follow(&mut committed, &reported, first, mix);
        verify(folder.path(), &mut committed, &doubtful, round);
    }
    eprintln!("{kills} kills, {acknowledged} transactions acknowledged");
    assert!(acknowledged > 0, "nothing was acknowledged");
}

fn start(folder: &Path, first: i64, mix: Mix) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process_that_is_killed", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(FIRST, first.to_string())
        .env(MIX, mix.name())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Lets it work for a while, kills it, and returns what it told.
fn kill_at(moment: Moment, mut child: Child, round: u64) -> Vec<Reported> {
    let output = child.stdout.take().unwrap();
    let (sender, events) = mpsc::sync_channel(EVENTS_MAX);
    let (has_started, child_output) = thread::scope(|scope| {
        let reader = scope.spawn(move || listen(output, &sender));
        let has_started = events.recv_timeout(START_MAX) == Ok(Event::Ready);
        moment.wait(&events);
        // SIGKILL.
        child.kill().unwrap();
        child.wait().unwrap();
        (has_started, reader.join().unwrap())
    });
    let ChildOutput { reported, failures } = child_output;
    assert!(
        failures.is_empty(),
        "kill {round}: the process failed before it was killed: {failures:#?}"
    );
    assert!(has_started, "kill {round}: the process did not begin to work");
    reported
}

/// All that the child said.
#[derive(Default)]
struct ChildOutput {
    reported: Vec<Reported>,
    failures: Vec<String>,
}

/// Reads until the child is dead.
fn listen(output: ChildStdout, events: &mpsc::SyncSender<Event>) -> ChildOutput {
    let mut child_output = ChildOutput::default();
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        match line.split_once(' ') {
            Some(("ack", rest)) => child_output.reported.extend(parse(rest)),
            Some(("fail", rest)) => child_output.failures.push(rest.to_owned()),
            // Where nobody waits for it, an event is lost.
            _ if line == "ready" => drop(events.try_send(Event::Ready)),
            _ if line == "checkpoint" => drop(events.try_send(Event::Checkpoint)),
            _ => {}
        }
    }
    child_output
}

fn parse(line: &str) -> Option<Reported> {
    let mut words = line.split(' ');
    let session = words.next()?.parse().ok()?;
    let number = words.next()?.parse().ok()?;
    let end = if words.next()? == "commit" { End::Commit } else { End::Rollback };
    Some(Reported { session, number, end })
}

/// What the outcomes make of the model. Returns what each session has if its last transaction
/// became permanent untold.
fn follow(committed: &mut [Parts], reported: &[Reported], first: i64, mix: Mix) -> Vec<Parts> {
    let mut next = vec![first; committed.len()];
    for Reported { session, number, end } in reported {
        assert_eq!(*number, next[*session], "the outcomes of session {session} come in order");
        next[*session] += 1;
        if *end == End::Commit {
            committed[*session] = plan(mix, *session as u64, *number, &committed[*session]).after;
        }
    }
    let doubtful = committed.iter().enumerate().map(|(session, parts)| {
        let plan = plan(mix, session as u64, next[session], parts);
        if plan.end == End::Commit { plan.after } else { parts.clone() }
    });
    doubtful.collect()
}

/// Opens and compares; closes and checks; opens and compares again.
fn verify(folder: &Path, committed: &mut [Parts], doubtful: &[Parts], round: u64) {
    let paths = spec(folder).paths();
    for opening in 1..=2 {
        let opened = Database::open(&paths, options());
        let db = opened
            .unwrap_or_else(|error| panic!("kill {round}, opening {opening}: {error}: {error:?}"));
        let found = read(&db).unwrap_or_else(|error| panic!("kill {round}, reading: {error:?}"));
        for (session, own) in found.into_iter().enumerate() {
            let found = without_empty(own.parts);
            if found == without_empty(doubtful[session].clone()) && opening == 1 {
                committed[session] = doubtful[session].clone();
            }
            let expected = without_empty(committed[session].clone());
            assert!(
                found == expected,
                "kill {round}, session {session}: {}",
                difference(&expected, &found)
            );
        }
        db.close().unwrap_or_else(|error| panic!("kill {round}, closing: {error:?}"));
        if opening == 1 {
            assert_sound(&paths.data, round);
        }
    }
}

/// A shared table in which a session has no row is as good as none.
fn without_empty(mut parts: Parts) -> Parts {
    parts.retain(|table, part| table.starts_with("own") || !part.rows.is_empty());
    parts
}

fn difference(expected: &Parts, found: &Parts) -> String {
    let tables: Vec<_> = expected.keys().chain(found.keys()).collect();
    for table in tables {
        let expected = expected.get(table);
        let found = found.get(table);
        if expected == found {
            continue;
        }
        let (Some(expected), Some(found)) = (expected, found) else {
            return format!("table {table}: {expected:?} expected, {found:?} found");
        };
        let ids: Vec<_> = expected.rows.keys().chain(found.rows.keys()).collect();
        let other = ids.into_iter().find(|id| expected.rows.get(id) != found.rows.get(id));
        return match other {
            Some(id) => {
                let values = (expected.rows.get(id), found.rows.get(id));
                format!("row {id} of {table}: {:?} expected, {:?} found", values.0, values.1)
            }
            None => format!(
                "indexes {:?} of {table} expected, {:?} found",
                expected.indexes, found.indexes
            ),
        };
    }
    "nothing differs".to_owned()
}

fn assert_sound(files: &[PathBuf], round: u64) {
    let opened = OpenedFiles::open(files, &OpenOptions::default()).unwrap();
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    let report = extentdb_check::run(
        opened.source(),
        &CheckOptions::default(),
        &Control::new(&clock, &cancel),
    );
    let findings: Vec<String> =
        report.findings.iter().take(8).map(|finding| format!("{finding:?}")).collect();
    assert!(
        report.findings.is_empty() && report.verdict == Verdict::Clean,
        "kill {round}: {:?} {findings:#?}",
        report.verdict
    );
}
