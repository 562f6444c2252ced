//! Readers beside writers whose transactions stay open for a while.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::load::Keys;
use super::server::{POINT_ROWS, RANGE_ROWS, Server, Work};
use crate::report::timed;

/// Rows that a writer changes in a transaction.
const CHANGED_ROWS: i32 = 100;
/// How long a writer keeps a transaction open whose rows are changed.
pub const HOLD: Duration = Duration::from_millis(20);

/// What readers and writers did.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// Reads per second of all readers.
    pub reads: f64,
    /// The 99th percentile of the times of reads.
    pub slow_read: Duration,
    /// Transactions per second of all writers.
    pub writes: f64,
    /// The 99th percentile of the times of UPDATE statements.
    pub slow_write: Duration,
}

/// Who takes part.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// Each sums ranges of the table, one after another.
    pub readers: usize,
    /// Each changes rows of its own part of the table and keeps the transaction open for
    /// [`HOLD`].
    pub writers: usize,
}

/// All of them for some time.
///
/// # Errors
/// A client failed.
pub fn beside(server: &dyn Server, crowd: Crowd, time: Duration) -> Result<Beside> {
    let Crowd { readers, writers } = crowd;
    let is_over = AtomicBool::new(false);
    let barrier = Barrier::new(readers + writers + 1);
    let is_over = &is_over;
    let barrier = &barrier;
    thread::scope(|scope| {
        let readers: Vec<_> = (0..readers)
            .map(|number| scope.spawn(move || read(server, number, barrier, is_over)))
            .collect();
        let share = POINT_ROWS / writers.max(1) as i32;
        let writers: Vec<_> = (0..writers as i32)
            .map(|number| {
                let first = number * share + 1;
                scope.spawn(move || write(server, first, share, barrier, is_over))
            })
            .collect();
        barrier.wait();
        let (elapsed, done) = timed(|| -> Result<_> {
            thread::sleep(time);
            is_over.store(true, Ordering::Relaxed);
            let mut reads = Vec::new();
            for reader in readers {
                reads.extend(reader.join().ok().context("a reader")??);
            }
            let mut writes = Vec::new();
            for writer in writers {
                writes.extend(writer.join().ok().context("a writer")??);
            }
            Ok((reads, writes))
        });
        let (reads, writes) = done?;
        let rate = |times: &[Duration]| times.len() as f64 / elapsed.as_secs_f64();
        Ok(Beside {
            reads: rate(&reads),
            writes: rate(&writes),
            slow_read: slow(reads),
            slow_write: slow(writes),
        })
    })
}

/// The 99th percentile; zero of none.
fn slow(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() * 99 / 100).copied().unwrap_or_default()
}

fn read(
    server: &dyn Server,
    number: usize,
    barrier: &Barrier,
    is_over: &AtomicBool,
) -> Result<Vec<Duration>> {
    let prepared = server.connect().and_then(|mut session| {
        session.prepare(Work::Range)?;
        Ok(session)
    });
    barrier.wait();
    let mut session = prepared?;
    let mut keys = Keys::of(number);
    let mut times = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let first = keys.below(POINT_ROWS - RANGE_ROWS) + 1;
        let (time, done) = timed(|| session.execute(first));
        done?;
        times.push(time);
    }
    Ok(times)
}

fn write(
    server: &dyn Server,
    first: i32,
    share: i32,
    barrier: &Barrier,
    is_over: &AtomicBool,
) -> Result<Vec<Duration>> {
    let session = server.connect();
    barrier.wait();
    let mut session = session?;
    let mut keys = Keys::of(first as usize);
    let mut times = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let from = first + keys.below(share - CHANGED_ROWS);
        let to = from + CHANGED_ROWS - 1;
        session.run("BEGIN TRANSACTION")?;
        let (time, done) = timed(|| {
            session.run(&format!("UPDATE points SET k = k + 1 WHERE id BETWEEN {from} AND {to}"))
        });
        done?;
        times.push(time);
        thread::sleep(HOLD);
        session.run("COMMIT")?;
    }
    Ok(times)
}
