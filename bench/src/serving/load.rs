//! Clients at the same time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::server::{POINT_ROWS, Server, Work};
use crate::report::timed;

/// Keys of inserts, unique in the process: both sides get the same ones in turns.
static NEXT_KEY: AtomicU64 = AtomicU64::new(1);

/// Statements per second by `clients`, each with a connection and a thread of its own.
///
/// # Errors
/// A client failed.
pub fn statements_per_second(
    server: &dyn Server,
    work: Work,
    clients: usize,
    time: Duration,
) -> Result<f64> {
    let is_over = AtomicBool::new(false);
    let barrier = Barrier::new(clients + 1);
    thread::scope(|scope| {
        let work_of = |client: usize| {
            let is_over = &is_over;
            let barrier = &barrier;
            scope.spawn(move || -> Result<u64> {
                let prepared = server.connect().and_then(|mut session| {
                    session.prepare(work)?;
                    Ok(session)
                });
                barrier.wait();
                let mut session = prepared?;
                let mut keys = Keys::of(client);
                let mut done = 0;
                while !is_over.load(Ordering::Relaxed) {
                    session.execute(keys.next(work))?;
                    done += 1;
                }
                Ok(done)
            })
        };
        let started: Vec<_> = (0..clients).map(work_of).collect();
        barrier.wait();
        let (elapsed, done) = timed(|| {
            thread::sleep(time);
            is_over.store(true, Ordering::Relaxed);
            started
                .into_iter()
                .map(|client| client.join().ok().context("a client")?)
                .sum::<Result<u64>>()
        });
        Ok(done? as f64 / elapsed.as_secs_f64())
    })
}

/// Connections per second, each logged in, asked for a row and closed; two at a time.
///
/// # Errors
/// A login or the query failed.
pub fn connections_per_second(server: &dyn Server, time: Duration) -> Result<f64> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let client = || {
            let is_over = &is_over;
            scope.spawn(move || -> Result<u64> {
                let mut done = 0;
                while !is_over.load(Ordering::Relaxed) {
                    server.connect()?.run("SELECT 1")?;
                    done += 1;
                }
                Ok(done)
            })
        };
        let (elapsed, done) = timed(|| {
            let clients = [client(), client()];
            thread::sleep(time);
            is_over.store(true, Ordering::Relaxed);
            clients
                .into_iter()
                .map(|client| client.join().ok().context("a client")?)
                .sum::<Result<u64>>()
        });
        Ok(done? as f64 / elapsed.as_secs_f64())
    })
}

/// Keys of one client.
pub(super) struct Keys {
    state: u64,
}

impl Keys {
    pub(super) fn of(client: usize) -> Keys {
        Keys { state: client as u64 + 1 }
    }

    fn next(&mut self, work: Work) -> i32 {
        if work == Work::Insert {
            return NEXT_KEY.fetch_add(1, Ordering::Relaxed) as i32;
        }
        self.below(POINT_ROWS) + 1
    }

    /// A random number below `bound`.
    pub(super) fn below(&mut self, bound: i32) -> i32 {
        // xorshift64
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % bound.max(1) as u64) as i32
    }
}
