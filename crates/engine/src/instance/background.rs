//! The background threads of a server: one set for all databases.
//!
//! ```text
//! checkpointer, lazy writer, growth, ghost cleanup ── each ──▶ the databases in service, in turn
//! ```
//!
//! What each thread does is in [`database::background`](crate::database::background). A database
//! leaves service when the turns that may know of it have ended: then nobody here holds its files.

use std::collections::BTreeMap;

use extentdb_base::DatabaseId;
use extentdb_base::env::Clock;
use extentdb_base::sync::thread::{self, JoinHandle};
use extentdb_base::sync::{Arc, Mutex, Weak, lock};
use extentdb_telemetry::Waits;

use super::BackgroundWork;
use crate::database::Database;
use crate::database::background::{BackgroundTask, POLL, TASKS};
use crate::database::options::Options;
use crate::database::wake_up::WakeUps;

/// The threads; they end when this is dropped.
pub(super) struct Workers {
    shared: Arc<Shared>,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    databases: Mutex<BTreeMap<DatabaseId, Weak<Database>>>,
    /// One for each thread, held while it works through the databases.
    turns: [Mutex<()>; TASKS.len()],
    wake_ups: Arc<WakeUps>,
    waits: Arc<Waits>,
    clock: Arc<dyn Clock>,
}

impl Workers {
    pub(super) fn start(
        wake_ups: Arc<WakeUps>,
        options: &Options,
        background: BackgroundWork,
    ) -> Workers {
        let threads = match background {
            BackgroundWork::Threads => TASKS.len(),
            BackgroundWork::Sessions => 0,
        };
        if threads > 0 {
            wake_ups.begin();
        }
        let shared = Arc::new(Shared {
            databases: Mutex::default(),
            turns: Default::default(),
            wake_ups,
            waits: options.waits.clone(),
            clock: options.clock.clone(),
        });
        let run = |number: usize| {
            let shared = shared.clone();
            #[expect(clippy::disallowed_methods, reason = "they are joined by `stop`, or the drop")]
            thread::spawn(move || shared.run(&TASKS[number], number))
        };
        let handles = (0..threads).map(run).collect();
        Workers { shared, handles: Mutex::new(handles) }
    }

    /// From now on the threads work for this database, too.
    pub(super) fn add(&self, id: DatabaseId, db: &Arc<Database>) {
        lock(&self.shared.databases).insert(id, Arc::downgrade(db));
    }

    /// From now on they do not; when this returns, none of them holds the database.
    pub(super) fn remove(&self, id: DatabaseId) {
        lock(&self.shared.databases).remove(&id);
        self.shared.turns.iter().for_each(|turn| drop(lock(turn)));
    }

    /// Ends the threads.
    pub(super) fn stop(&self) {
        self.shared.wake_ups.end();
        for handle in std::mem::take(&mut *lock(&self.handles)) {
            // A panic of a thread was reported where it happened; the databases stay usable.
            let _ = handle.join();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self, task: &BackgroundTask, number: usize) {
        let wake_up = (task.wake_up)(&self.wake_ups);
        loop {
            let wait = self.waits.begin(task.idle, self.clock.monotonic());
            let goes_on = wake_up.wait(POLL);
            wait.end(self.clock.monotonic(), None);
            if !goes_on {
                return;
            }
            let _turn = lock(&self.turns[number]);
            let databases: Vec<Weak<Database>> = lock(&self.databases).values().cloned().collect();
            for db in databases.iter().filter_map(Weak::upgrade) {
                // What one turn could not do, the next may.
                let _ = (task.work)(&db);
            }
        }
    }
}
