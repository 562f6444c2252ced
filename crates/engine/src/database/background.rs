//! Background threads of a database while its owner works with it.
//!
//! ```text
//! checkpointer   every 100 ms, or when a commit wakes it: is a checkpoint due?  CHECKPOINT_QUEUE
//! lazy writer    every 100 ms: frees frames when few are free  LAZYWRITER_SLEEP
//! growth         when few extents are left: grows files ahead of need, and writes
//!                zeros into space that was never written  SLEEP_TASK
//! ghost cleanup  every 100 ms: removes ghost records that no snapshot needs  SLEEP_TASK
//! statistics     every 100 ms, or when a session asks: builds them, when they are stale, too
//!                SLEEP_TASK
//! log writer     when half of the log buffers are full: writes them, so that no session has to
//!                LOGMGR_QUEUE
//! ```
//!
//! A database without them does the same work in its sessions, but for the ghost cleanup, which is
//! left to the close, and for statistics, which are built by those who ask: deterministic, and
//! enough for tools and simulations. With them a commit only notifies the checkpointer. It makes
//! the checkpoint itself when the log is so full that waiting would mean error 9002.
//!
//! Invariants
//! - What the threads do, sessions do or can ask for, too: nothing happens here only.
//! - They have ended when `run` returns, or unwinds.

use std::time::Duration;

use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::thread;
use extentdb_telemetry::WaitType;

use crate::database::Database;
use crate::database::wake_up::{WakeUp, WakeUps};
use crate::error::Error;

pub(crate) const POLL: Duration = Duration::from_millis(100);

/// What a background thread does for a database, again and again.
pub(crate) struct BackgroundTask {
    /// What wakes it before its time.
    pub(crate) wake_up: fn(&WakeUps) -> &WakeUp,
    /// How it waits.
    pub(crate) idle: WaitType,
    /// One turn.
    pub(crate) work: fn(&Database) -> Result<(), Error>,
}

/// The tasks, one thread each.
pub(crate) const TASKS: [BackgroundTask; 6] = [
    BackgroundTask {
        wake_up: |all| &all.checkpoint,
        idle: WaitType::CheckpointQueue,
        work: Database::make_due_checkpoint,
    },
    BackgroundTask {
        wake_up: |all| &all.lazy,
        idle: WaitType::LazyWriterSleep,
        work: Database::write_lazily,
    },
    BackgroundTask {
        wake_up: |all| &all.growth,
        idle: WaitType::SleepTask,
        work: Database::grow_ahead,
    },
    BackgroundTask {
        wake_up: |all| &all.ghosts,
        idle: WaitType::SleepTask,
        work: Database::clean_some_ghosts,
    },
    BackgroundTask {
        wake_up: |all| &all.statistics,
        idle: WaitType::SleepTask,
        work: Database::maintain_statistics,
    },
    BackgroundTask {
        wake_up: |all| &all.log,
        idle: WaitType::LogManagerQueue,
        work: Database::write_log_ahead,
    },
];

/// Clears the running flag when the threads have ended.
struct Running<'b>(&'b WakeUps);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.is_running.store(false, Ordering::Release);
    }
}

/// Ends the threads, whatever ends the work.
struct StopThreads<'b>(&'b WakeUps);

impl Drop for StopThreads<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Database {
    /// Frees frames before a session has to wait for one; what has changed in them is written. One
    /// turn of the lazy writer.
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

    /// Writes log blocks when half of the log buffers are full. One turn of the log writer.
    ///
    /// # Errors
    /// The write failed: the database is offline then.
    pub fn write_log_ahead(&self) -> Result<(), Error> {
        self.log.write_if_half_full()?;
        Ok(())
    }

    /// Makes files longer in filegroups that are nearly full, so that no session has to. With
    /// compatible space they grow when they are full and not before: trace flag 1165 shows it.
    ///
    /// # Errors
    /// The database is offline.
    pub fn grow_ahead(&self) -> Result<(), Error> {
        self.verify_online()?;
        if !self.options.compatible_space {
            self.space.grow_ahead();
        }
        self.space.zero_ahead()?;
        Ok(())
    }

    /// Runs `work`, and meanwhile the threads that make checkpoints, free frames, let files grow,
    /// write the log ahead, and remove ghosts. One call at a time: inside of another one it is
    /// `work` and nothing else.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        if !self.wake_ups.begin() {
            return work();
        }
        let _running = Running(&self.wake_ups);
        thread::scope(|scope| {
            let _over = StopThreads(&self.wake_ups);
            for task in &TASKS {
                scope.spawn(|| self.work(task));
            }
            work()
        })
    }

    /// Does a task again and again, until it is over or the database is offline.
    fn work(&self, task: &BackgroundTask) {
        let now = || self.options.clock.monotonic();
        loop {
            let wait = self.options.waits.begin(task.idle, now());
            let goes_on = (task.wake_up)(&self.wake_ups).wait(POLL) && self.verify_online().is_ok();
            wait.end(now(), None);
            // What one turn could not do, the next may: a full disk is cleared, an outage ends the
            // loop above.
            let _ = if goes_on { (task.work)(self) } else { break };
        }
    }
}
