//! Tasks: what each thread of a session waits for right now, as `sys.dm_os_waiting_tasks` and
//! `sys.dm_exec_requests` show it.
//!
//! ```text
//! session ── enter ──▶ Tasks, the registry ◀── waiting: other threads, at any time
//! statement ─ work ──▶ task of this thread ◀── Waits::begin … end, of locks, latches, I/O
//! ```
//!
//! A wait is published by its accounting, on the thread that waits: the task is thread-local while
//! a statement runs, so latches and I/O need not know of sessions. That costs a statement one swap
//! of a thread-local, and nothing else unless it parks; a park then costs a short critical section,
//! a thousandth of it. Background threads have no task.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock, thread_local};
use extentdb_base::{DatabaseId, OwnerId, Resource, SessionId};

use crate::WaitType;

/// The tasks of all sessions of an instance.
#[derive(Default, Debug)]
pub struct Tasks {
    tasks: Mutex<BTreeMap<TaskId, Arc<Task>>>,
}

/// A thread that works for a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskId {
    /// The session that the thread works for.
    pub session: SessionId,
    /// `exec_context_id`: 0 for the session's own thread, from 1 for its parallel workers.
    pub context: u16,
}

/// What a task waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CurrentWait {
    /// The wait type.
    pub wait: WaitType,
    /// When the wait began, by the clock that times waits.
    pub since: Duration,
    /// What is waited for, where the wait tells it.
    pub resource: WaitResource,
    /// For a lock: an owner that blocked the request when the wait began. Others may block it by
    /// now; the lock table knows.
    pub blocker: Option<OwnerId>,
}

/// What a task waits for, beyond the wait type.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub enum WaitResource {
    /// The wait does not tell. Shown as an empty text.
    #[default]
    Untold,
    /// A lock that is requested.
    Lock {
        /// The database of the resource.
        database: DatabaseId,
        /// What is locked.
        resource: Resource,
    },
}

/// A task that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitingTask {
    /// Session and thread of the task that waits.
    pub id: TaskId,
    /// What it waits for.
    pub wait: CurrentWait,
}

/// A task of the registry.
#[derive(Debug)]
pub(crate) struct Task {
    /// The owner of the locks of the session's transaction; 0 when it has none.
    owner: AtomicU64,
    current: Mutex<Option<CurrentWait>>,
}

/// A task that is in the registry until this is dropped.
#[derive(Debug)]
pub struct TaskEntry {
    tasks: Arc<Tasks>,
    id: TaskId,
    task: Arc<Task>,
}

/// The thread works for a task until this is dropped; then it works again for the one before.
#[derive(Debug)]
#[must_use = "the thread works for the task only until this is dropped"]
pub struct AtWork {
    before: Option<Arc<Task>>,
    /// It belongs to its thread.
    not_send: PhantomData<*const ()>,
}

thread_local! {
    /// The task that this thread works for.
    static CURRENT: RefCell<Option<Arc<Task>>> = const { RefCell::new(None) };
}

impl Tasks {
    /// A registry that no task has entered.
    pub fn new() -> Self {
        Self::default()
    }

    /// Enters a task. The id must not be in use.
    pub fn enter(self: &Arc<Self>, id: TaskId) -> TaskEntry {
        let task = Arc::new(Task { owner: AtomicU64::new(0), current: Mutex::new(None) });
        let before = lock(&self.tasks).insert(id, task.clone());
        debug_assert!(before.is_none(), "{id:?} is in use");
        TaskEntry { tasks: self.clone(), id, task }
    }

    /// The tasks that wait, by session. Each is as it was at some moment of the call.
    pub fn waiting(&self) -> Vec<WaitingTask> {
        let tasks = lock(&self.tasks);
        let waits = tasks.iter().filter_map(|(id, task)| Some((*id, task.wait()?)));
        waits.map(|(id, wait)| WaitingTask { id, wait }).collect()
    }

    /// What a task waits for now.
    pub fn wait_of(&self, id: TaskId) -> Option<CurrentWait> {
        lock(&self.tasks).get(&id)?.wait()
    }

    /// The session whose transaction owns locks as `owner`; `None` for those of no session, as of
    /// deferred transactions.
    pub fn session_of(&self, owner: OwnerId) -> Option<SessionId> {
        let tasks = lock(&self.tasks);
        let is_owner =
            |task: &Task| owner != OwnerId(0) && task.owner.load(Ordering::Relaxed) == owner.0;
        tasks.iter().find(|(_, task)| is_owner(task)).map(|(id, _)| id.session)
    }
}

impl Task {
    fn wait(&self) -> Option<CurrentWait> {
        *lock(&self.current)
    }

    pub(crate) fn publish(&self, wait: Option<CurrentWait>) {
        *lock(&self.current) = wait;
    }

    /// The task that this thread works for.
    pub(crate) fn current() -> Option<Arc<Task>> {
        CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
    }
}

impl TaskEntry {
    /// The session of the task.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// The owner of the locks of the session's transaction; `None` when it has ended.
    pub fn set_owner(&self, owner: Option<OwnerId>) {
        self.task.owner.store(owner.map_or(0, |owner| owner.0), Ordering::Relaxed);
    }

    /// From now on this thread works for the task: its waits are those of the task.
    pub fn work(&self) -> AtWork {
        let task = Some(self.task.clone());
        let before = CURRENT.with(|current| current.replace(task));
        AtWork { before, not_send: PhantomData }
    }
}

impl Drop for TaskEntry {
    fn drop(&mut self) {
        lock(&self.tasks.tasks).remove(&self.id);
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let before = self.before.take();
        // A thread that ends has no current task.
        let _ = CURRENT.try_with(|current| current.replace(before));
    }
}

impl fmt::Display for WaitResource {
    /// `wait_resource` of `sys.dm_exec_requests`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitResource::Untold => Ok(()),
            WaitResource::Lock { database, resource } => {
                f.write_str(&resource.wait_text(*database))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use extentdb_base::ObjectId;

    use super::*;
    use crate::Waits;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn task(session: u16) -> TaskId {
        TaskId { session: SessionId(session), context: 0 }
    }

    #[test]
    fn a_wait_is_shown_while_it_lasts_and_its_thread_works_for_the_task() {
        let waits = Waits::new();
        let tasks = Arc::new(Tasks::new());
        let entry = tasks.enter(task(51));
        waits.begin(WaitType::PageLatchEx, MS(1)).end(MS(2), None);
        let at_work = entry.work();
        assert_eq!(tasks.waiting(), []);
        let wait = waits.begin(WaitType::PageLatchEx, MS(3));
        let shown = CurrentWait {
            wait: WaitType::PageLatchEx,
            since: MS(3),
            resource: WaitResource::Untold,
            blocker: None,
        };
        assert_eq!(tasks.waiting(), [WaitingTask { id: task(51), wait: shown }]);
        assert_eq!(tasks.wait_of(task(51)), Some(shown));
        wait.end(MS(4), None);
        assert_eq!(tasks.waiting(), []);
        drop(at_work);
        let wait = waits.begin(WaitType::WriteLog, MS(5));
        assert_eq!(tasks.waiting(), [], "the thread works for nobody");
        wait.end(MS(6), None);
    }

    #[test]
    fn a_lock_wait_tells_resource_and_blocker() {
        let waits = Waits::new();
        let tasks = Arc::new(Tasks::new());
        let entry = tasks.enter(task(51));
        let _at_work = entry.work();
        let resource = WaitResource::Lock {
            database: DatabaseId(6),
            resource: Resource::Object(ObjectId(77)),
        };
        let wait = waits.begin_on(WaitType::LockX, MS(3), resource, Some(OwnerId(9)));
        let [shown] = tasks.waiting()[..] else { panic!("{tasks:?}") };
        assert_eq!(shown.wait.resource.to_string(), "OBJECT: 6:77:0");
        assert_eq!(shown.wait.blocker, Some(OwnerId(9)));
        wait.end(MS(4), None);
    }

    #[test]
    fn a_thread_may_work_for_another_task_in_between() {
        let waits = Waits::new();
        let tasks = Arc::new(Tasks::new());
        let entries = [51, 52].map(|session| tasks.enter(task(session)));
        let _first = entries[0].work();
        let second = entries[1].work();
        let wait = waits.begin(WaitType::WriteLog, MS(1));
        assert_eq!(tasks.waiting()[0].id, task(52));
        wait.end(MS(2), None);
        drop(second);
        let wait = waits.begin(WaitType::WriteLog, MS(3));
        assert_eq!(tasks.waiting()[0].id, task(51));
        drop(wait);
        assert_eq!(tasks.waiting(), [], "a wait that is given up is shown no longer");
    }

    #[test]
    fn an_owner_leads_to_its_session_until_it_ends() {
        let tasks = Arc::new(Tasks::new());
        let entry = tasks.enter(task(51));
        assert_eq!(tasks.session_of(OwnerId(0)), None);
        entry.set_owner(Some(OwnerId(7)));
        assert_eq!(tasks.session_of(OwnerId(7)), Some(SessionId(51)));
        entry.set_owner(None);
        assert_eq!(tasks.session_of(OwnerId(7)), None);
        entry.set_owner(Some(OwnerId(8)));
        drop(entry);
        assert_eq!(tasks.session_of(OwnerId(8)), None);
    }
}
