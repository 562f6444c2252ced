//! Clients that work at the same time until the server is killed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use extentdb_client::Connection;

use crate::program::answer::{ask, rows};
use crate::program::process::Process;
use crate::transactions::{Draw, Kind, next};
use crate::{Level, Scale};

const DEADLOCK_VICTIM: i32 = 1205;
const UPDATE_CONFLICT: i32 = 3960;

/// What a client knows of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// The server has said that it is done.
    Acknowledged,
    /// The connection ended before.
    Unknown,
}

/// A transaction that a client has run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ran {
    pub(crate) kind: Kind,
    pub(crate) tag: u64,
    pub(crate) outcome: Outcome,
}

/// The work of a client.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) done: Vec<Ran>,
    pub(crate) deadlocks: u32,
    pub(crate) conflicts: u32,
    /// Errors that no transaction may have.
    pub(crate) failures: Vec<String>,
}

/// Runs clients for a time and kills the server under them.
pub(crate) fn run_and_kill(
    process: Process,
    level: Level,
    scale: &Scale,
    round: u64,
    time: Duration,
) -> Vec<Tally> {
    let is_killed = AtomicBool::new(false);
    thread::scope(|scope| {
        let connections: Vec<Connection> =
            (0..scale.clients).map(|_| process.connect("tpcc")).collect();
        let work = |(client, connection): (usize, Connection)| {
            let is_killed = &is_killed;
            scope.spawn(move || client_work(connection, level, scale, round, client, is_killed))
        };
        let clients: Vec<_> = connections.into_iter().enumerate().map(work).collect();
        thread::sleep(time);
        is_killed.store(true, Ordering::SeqCst);
        process.kill();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

fn client_work(
    mut connection: Connection,
    level: Level,
    scale: &Scale,
    round: u64,
    client: usize,
    is_killed: &AtomicBool,
) -> Tally {
    let name = level.name();
    let settings =
        format!("SET XACT_ABORT ON SET NOCOUNT ON SET TRANSACTION ISOLATION LEVEL {name}");
    let mut tally = Tally::default();
    let first = (round << 16 | client as u64) << 32;
    let mut draw = Draw(first);
    rows(&mut connection, &settings);
    for number in 1.. {
        let tag = first | number;
        if !run(&mut connection, &mut draw, scale, tag, &mut tally) {
            break;
        }
    }
    if !is_killed.load(Ordering::SeqCst) {
        tally.failures.push("the connection ended before the server was killed".to_owned());
    }
    tally
}

/// Runs a transaction until it is neither victim nor in conflict; false at the end of the
/// connection.
fn run(
    connection: &mut Connection,
    draw: &mut Draw,
    scale: &Scale,
    tag: u64,
    tally: &mut Tally,
) -> bool {
    let transaction = next(draw, scale, tag);
    let kind = transaction.kind;
    loop {
        let Some(answer) = ask(connection, &transaction.text) else {
            tally.done.push(Ran { kind, tag, outcome: Outcome::Unknown });
            return false;
        };
        match answer.errors.first() {
            None => {
                tally.done.push(Ran { kind, tag, outcome: Outcome::Acknowledged });
                return true;
            }
            Some((DEADLOCK_VICTIM, _)) => tally.deadlocks += 1,
            Some((UPDATE_CONFLICT, _)) => tally.conflicts += 1,
            Some((number, text)) => {
                tally.failures.push(format!("{kind:?}: {number} {text}"));
                tally.done.push(Ran { kind, tag, outcome: Outcome::Unknown });
                return false;
            }
        }
    }
}
