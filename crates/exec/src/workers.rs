//! Threads beside that of a session: how many there may be, and that they have ended before its
//! statement does.
//!
//! ```text
//! WorkerPool      all statements of the server: so many threads at once
//!   └ Workers     one statement: how many it may ask for; the teams that run
//!       └ Team    the threads of one operator
//! ```
//!
//! Invariants
//! - Threads read under the locks of the session's statement: those of [`Workers`] have ended when
//!   it is dropped, which is before the statement ends.
//! - Nobody waits for a thread to be free: where there is none, the session does the work itself.

use extentdb_base::sync::atomic::{AtomicUsize, Ordering};
use extentdb_base::sync::{Arc, thread};

use crate::error::Error;

/// How many threads all statements of a server may use at once.
#[derive(Debug)]
pub struct WorkerPool {
    limit: usize,
    used: AtomicUsize,
}

/// Threads that a statement may use.
#[derive(Default)]
pub struct Workers {
    pool: Option<Arc<WorkerPool>>,
    most: usize,
    teams: Vec<Team>,
    last: usize,
}

/// Threads that a statement was granted; given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Grant {
    pool: Arc<WorkerPool>,
    count: usize,
}

/// The threads of one operator.
struct Team {
    number: usize,
    stop: Box<dyn Fn()>,
    threads: Vec<thread::JoinHandle<()>>,
    _grant: Grant,
}

impl WorkerPool {
    /// `limit` threads.
    pub fn new(limit: usize) -> Arc<WorkerPool> {
        Arc::new(WorkerPool { limit, used: AtomicUsize::new(0) })
    }

    /// Threads that run.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The most of `wanted` threads that are free.
    fn grant(self: &Arc<WorkerPool>, wanted: usize) -> Grant {
        let mut count = 0;
        let take = |used: usize| {
            count = wanted.min(self.limit.saturating_sub(used));
            Some(used + count)
        };
        // Never refused: `take` gives a number always.
        let _ = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        Grant { pool: self.clone(), count }
    }
}

impl Workers {
    /// At most `most` threads of a pool for each operator.
    pub fn new(pool: &Arc<WorkerPool>, most: usize) -> Workers {
        Workers { pool: Some(pool.clone()), most, ..Workers::default() }
    }

    /// Threads for an operator; `None`: it does without.
    pub(crate) fn grant(&self) -> Option<Grant> {
        let grant = self.pool.as_ref()?.grant(self.most);
        Some(grant).filter(|grant| grant.count > 1)
    }

    /// Runs each of `work` in a thread. `stop` makes them end soon. The number of the team.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn start(
        &mut self,
        grant: Grant,
        stop: Box<dyn Fn()>,
        work: Vec<Box<dyn FnOnce() + Send>>,
    ) -> Result<usize, Error> {
        self.last += 1;
        let number = self.last;
        let mut team = Team { number, stop, threads: Vec::new(), _grant: grant };
        for work in work {
            let spawned = thread::Builder::new().name("query".to_owned()).spawn(work);
            let spawned = spawned
                .map_err(|error| Error::NotSupported(format!("a thread for a query: {error}")))?;
            team.threads.push(spawned);
        }
        self.teams.push(team);
        Ok(number)
    }

    /// Stops a team, and waits for the end of its threads.
    pub(crate) fn end(&mut self, number: usize) {
        self.teams.retain(|team| team.number != number);
    }
}

impl Grant {
    /// How many.
    pub(crate) fn count(&self) -> usize {
        self.count
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.pool.used.fetch_sub(self.count, Ordering::Relaxed);
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        (self.stop)();
        for thread in self.threads.drain(..) {
            // One that panicked has told its exchange.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_granted_while_there_are_some() {
        let pool = WorkerPool::new(5);
        let workers = Workers::new(&pool, 4);
        let first = workers.grant().unwrap();
        assert_eq!((first.count(), pool.used()), (4, 4));
        // One thread is no help.
        assert!(workers.grant().is_none());
        assert_eq!(pool.used(), 4);
        drop(first);
        assert_eq!(pool.used(), 0);
        assert!(Workers::new(&pool, 1).grant().is_none());
        assert!(Workers::default().grant().is_none());
    }

    #[test]
    fn a_statement_ends_after_its_threads() {
        let pool = WorkerPool::new(2);
        let mut workers = Workers::new(&pool, 2);
        let grant = workers.grant().unwrap();
        let is_stopped = Arc::new(AtomicUsize::new(0));
        let ended = Arc::new(AtomicUsize::new(0));
        let work = |_| -> Box<dyn FnOnce() + Send> {
            let (is_stopped, ended) = (is_stopped.clone(), ended.clone());
            Box::new(move || {
                while is_stopped.load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
                ended.fetch_add(1, Ordering::SeqCst);
            })
        };
        let all = (0..2).map(work).collect();
        let stop = is_stopped.clone();
        workers.start(grant, Box::new(move || stop.store(1, Ordering::SeqCst)), all).unwrap();
        drop(workers);
        assert_eq!((ended.load(Ordering::SeqCst), pool.used()), (2, 0));
    }
}
