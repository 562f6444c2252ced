//! A database with threads of its own.
//!
//! ```text
//! checkpointer   every 100 ms, or when a commit rings: is a checkpoint due?       CHECKPOINT_QUEUE while it waits
//! lazy writer    every 100 ms: frees frames when few are free                    LAZYWRITER_SLEEP
//! ```
//!
//! A database without them does the same work in its sessions: deterministic, and enough for tools and simulations. With them a
//! commit only rings the bell. It makes the checkpoint itself when the log is so full that waiting would mean error 9002.
//!
//! Invariants
//! - What the threads do, sessions do or can ask for, too: nothing happens here only.
//! - They have ended before the database is closed.

use std::ops::Deref;
use std::time::Duration;

use extentdb_base::sync::thread::{self, JoinHandle};
use extentdb_base::sync::{Arc, Condvar, Mutex, lock, wait_at_most};
use extentdb_telemetry::WaitType;

use crate::database::Database;
use crate::error::Error;

const POLL: Duration = Duration::from_millis(100);

/// What a background thread waits for.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    state: Mutex<Rung>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rung {
    has_work: bool,
    is_over: bool,
}

impl Bell {
    /// There is work.
    pub(crate) fn ring(&self) {
        let mut state = lock(&self.state);
        if !state.has_work {
            state.has_work = true;
            self.changed.notify_all();
        }
    }

    fn end(&self) {
        lock(&self.state).is_over = true;
        self.changed.notify_all();
    }

    /// Waits for work, at most so long. False when it is over.
    fn wait(&self, most: Duration) -> bool {
        let state = lock(&self.state);
        let mut state = wait_at_most(&self.changed, state, most, |rung| !rung.has_work && !rung.is_over);
        state.has_work = false;
        !state.is_over
    }
}

/// The bells of a database's threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bells {
    pub(crate) checkpoint: Arc<Bell>,
    pub(crate) lazy: Arc<Bell>,
}

/// A database whose checkpoints and lazy writes are made by threads. See the module.
#[derive(Debug)]
pub struct Running {
    // Taken apart by `close` only.
    database: Option<Arc<Database>>,
    bells: Bells,
    threads: Vec<JoinHandle<()>>,
}

impl Database {
    /// Frees frames before somebody has to wait for one; what has changed in them is written. One turn of the lazy writer.
    ///
    /// # Errors
    /// A write failed: the database is offline then.
    pub fn write_lazily(&self) -> Result<(), Error> {
        self.verify_online()?;
        // As many as read-ahead may ask for at once, in a pool that is large enough for that.
        const FREE_FRAMES: usize = 256;
        self.pool.sweep(FREE_FRAMES.min(self.options.frames / 8))?;
        Ok(())
    }

    /// Starts its threads. They end with [`Running::close`], or when the value is dropped.
    pub fn run(mut self) -> Running {
        let bells = Bells::default();
        self.bells = Some(bells.clone());
        let database = Arc::new(self);
        let threads = vec![
            thread::spawn({
                let (database, bell) = (database.clone(), bells.checkpoint.clone());
                // An error has taken the database offline; there is nobody else to tell.
                move || database.work(&bell, WaitType::CheckpointQueue, Database::make_due_checkpoint)
            }),
            thread::spawn({
                let (database, bell) = (database.clone(), bells.lazy.clone());
                move || database.work(&bell, WaitType::LazyWriterSleep, Database::write_lazily)
            }),
        ];
        Running { database: Some(database), bells, threads }
    }

    /// Does `task` again and again, until it is over or fails.
    fn work(&self, bell: &Bell, idle: WaitType, task: fn(&Database) -> Result<(), Error>) {
        let now = || self.options.clock.monotonic();
        loop {
            let wait = self.options.waits.begin(idle, now());
            let goes_on = bell.wait(POLL);
            wait.end(now(), None);
            if !goes_on || task(self).is_err() {
                break;
            }
        }
    }
}

impl Running {
    /// Ends the threads and closes the database.
    ///
    /// # Errors
    /// As for [`Database::close`].
    pub fn close(mut self) -> Result<(), Error> {
        self.stop();
        match self.database.take().and_then(Arc::into_inner) {
            Some(database) => database.close(),
            // Nobody else can hold it: it is lent by reference only, and the threads have ended.
            None => Err(Error::Offline),
        }
    }

    fn stop(&mut self) {
        self.bells.checkpoint.end();
        self.bells.lazy.end();
        for thread in self.threads.drain(..) {
            // A panic has been reported by the thread; what it was about to do is done by the close or by the next restart.
            let _ = thread.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Deref for Running {
    type Target = Database;

    fn deref(&self) -> &Database {
        match &self.database {
            Some(database) => database,
            None => unreachable!("it is taken by close, which takes the value"),
        }
    }
}
