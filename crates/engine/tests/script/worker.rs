//! The thread of a session: it runs one job after the other, and may wait for locks.

use extentdb_base::sync::mpsc::{Receiver, SyncSender, sync_channel};
use extentdb_base::sync::thread::{self, JoinHandle};
use extentdb_base::sync::{Arc, lock};
use extentdb_engine::{Address, Database, Error, Row, Session};
use extentdb_txn::lock::{LockMode, Resource};

use super::cursors::Cursors;

/// What a job has done: what is printed, and rows that it has seen.
#[derive(Default)]
pub(super) struct Output {
    pub(super) lines: Vec<String>,
    pub(super) seen: Vec<SeenRow>,
}

/// A row at an address, for the names of locks.
pub(super) struct SeenRow {
    pub(super) table: String,
    pub(super) address: Address,
    pub(super) row: Row,
}

impl Output {
    pub(super) fn line(line: impl Into<String>) -> Output {
        Output { lines: vec![line.into()], seen: Vec::new() }
    }
}

pub(super) type Job = Box<dyn FnOnce(&mut Session) -> Result<Output, Error> + Send>;

/// A session on a thread of its own.
pub(super) struct Worker {
    jobs: Option<SyncSender<Job>>,
    pub(super) results: Receiver<Result<Output, Error>>,
    thread: Option<JoinHandle<()>>,
    /// It runs a job, or waits in one.
    pub(super) is_busy: bool,
    /// What it waits for, as it was printed.
    pub(super) waits: Option<(Resource, LockMode)>,
    /// Its waits end by themselves.
    pub(super) has_timeout: bool,
    pub(super) cursors: Cursors,
}

impl Worker {
    pub(super) fn start(db: Arc<Database>) -> Worker {
        let (jobs, todo) = sync_channel::<Job>(1);
        let (done, results) = sync_channel(1);
        #[expect(
            clippy::disallowed_methods,
            reason = "a session outlives the command that begins it, and is joined with the database"
        )]
        let thread = thread::spawn(move || {
            let mut session = db.session();
            for job in todo {
                if done.send(job(&mut session)).is_err() {
                    return;
                }
            }
        });
        Worker {
            jobs: Some(jobs),
            results,
            thread: Some(thread),
            is_busy: false,
            waits: None,
            has_timeout: false,
            cursors: Cursors::default(),
        }
    }

    pub(super) fn send(&mut self, job: Job) {
        self.is_busy = true;
        self.jobs.as_ref().and_then(|jobs| jobs.send(job).ok()).unwrap();
    }

    /// The session ends, and rolls its transaction back, when its job is done.
    pub(super) fn close(&mut self) {
        self.jobs = None;
        // A cursor keeps the files of its database open.
        lock(&self.cursors).clear();
    }

    pub(super) fn join(mut self) {
        self.close();
        self.thread.take().map(JoinHandle::join).transpose().unwrap();
    }
}
