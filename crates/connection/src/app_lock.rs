//! Locks of applications: sp_getapplock and sp_releaseapplock.
//!
//! Invariants
//! - Two sessions do not hold conflicting modes of a resource of a database.
//! - What a transaction holds ends with it, what a session holds with the session or its reset.
//!
//! Where we differ: cycles among them are not looked for; a timeout ends them.

use std::time::Duration;

use extentdb_base::cancel::Cancellation;
use extentdb_base::sync::{Mutex, lock};

/// Between two looks at a lock that somebody else holds.
const POLL: Duration = Duration::from_millis(2);

/// Mode of an application lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "variants are modes of locks")]
pub enum AppLockMode {
    IntentShared,
    Shared,
    Update,
    IntentExclusive,
    Exclusive,
}

impl AppLockMode {
    /// The mode of a name, in any case.
    pub fn named(name: &str) -> Option<AppLockMode> {
        let modes = [
            ("IntentShared", AppLockMode::IntentShared),
            ("Shared", AppLockMode::Shared),
            ("Update", AppLockMode::Update),
            ("IntentExclusive", AppLockMode::IntentExclusive),
            ("Exclusive", AppLockMode::Exclusive),
        ];
        modes.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, mode)| *mode)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            AppLockMode::IntentShared => "IntentShared",
            AppLockMode::Shared => "Shared",
            AppLockMode::Update => "Update",
            AppLockMode::IntentExclusive => "IntentExclusive",
            AppLockMode::Exclusive => "Exclusive",
        }
    }

    fn conflicts(self, other: AppLockMode) -> bool {
        use AppLockMode::{Exclusive, IntentExclusive, IntentShared, Shared, Update};
        match (self, other) {
            (Exclusive, _) | (_, Exclusive) => true,
            (IntentShared, _) | (_, IntentShared) => false,
            (Shared, Shared | Update) | (Update, Shared) => false,
            (IntentExclusive, IntentExclusive) => false,
            (Shared | Update | IntentExclusive, _) => true,
        }
    }
}

/// What ends an application lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "variants are owners")]
pub enum AppLockOwner {
    Transaction,
    Session,
}

/// A lock as it is asked for and released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppLock {
    /// Database that it is of.
    pub database: String,
    /// Name, compared as bytes.
    pub resource: String,
    /// Session that holds it.
    pub session: u16,
    /// What ends it.
    pub owner: AppLockOwner,
}

/// How a request for a lock ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppLockOutcome {
    /// It was free.
    Granted,
    /// It was not free at first.
    GrantedAfterWait,
    /// The time was over.
    TimedOut,
    /// The request was cancelled.
    Cancelled,
}

#[derive(Debug)]
struct Held {
    lock: AppLock,
    mode: AppLockMode,
}

impl Held {
    /// Does it keep another session from a lock?
    fn excludes(&self, wanted: &AppLock, mode: AppLockMode) -> bool {
        self.lock.session != wanted.session
            && self.lock.resource == wanted.resource
            && self.lock.database == wanted.database
            && self.mode.conflicts(mode)
    }
}

/// The application locks of a server.
#[derive(Debug, Default)]
pub struct AppLocks {
    held: Mutex<Vec<Held>>,
}

impl AppLocks {
    /// Takes a lock, or waits for it; `timeout` is `None` for ever.
    pub fn acquire(
        &self,
        wanted: &AppLock,
        mode: AppLockMode,
        timeout: Option<Duration>,
        cancellation: &Cancellation,
    ) -> AppLockOutcome {
        let mut waited = Duration::ZERO;
        loop {
            if self.try_acquire(wanted, mode) {
                return match waited {
                    Duration::ZERO => AppLockOutcome::Granted,
                    _ => AppLockOutcome::GrantedAfterWait,
                };
            }
            if timeout.is_some_and(|timeout| waited >= timeout) {
                return AppLockOutcome::TimedOut;
            }
            if cancellation.sleep(POLL).is_err() {
                return AppLockOutcome::Cancelled;
            }
            waited += POLL;
        }
    }

    /// The mode in which its owner holds a lock, the strongest one.
    pub fn mode(&self, own: &AppLock) -> Option<AppLockMode> {
        let held = lock(&self.held);
        held.iter().filter(|it| it.lock == *own).map(|it| it.mode).max()
    }

    /// Could a lock be had now?
    pub fn is_free(&self, wanted: &AppLock, mode: AppLockMode) -> bool {
        !lock(&self.held).iter().any(|other| other.excludes(wanted, mode))
    }

    fn try_acquire(&self, wanted: &AppLock, mode: AppLockMode) -> bool {
        let mut held = lock(&self.held);
        if held.iter().any(|other| other.excludes(wanted, mode)) {
            return false;
        }
        held.push(Held { lock: wanted.clone(), mode });
        true
    }

    /// Gives a lock back once; false when it is not held.
    pub fn release(&self, own: &AppLock) -> bool {
        let mut held = lock(&self.held);
        let last = held.iter().rposition(|it| it.lock == *own);
        last.map(|at| held.remove(at)).is_some()
    }

    /// The session, or its transaction, has ended.
    pub(crate) fn end(&self, session: u16, owner: Option<AppLockOwner>) {
        let is_ended =
            |it: &Held| it.lock.session == session && owner.is_none_or(|own| it.lock.owner == own);
        lock(&self.held).retain(|it| !is_ended(it));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app_lock(session: u16, owner: AppLockOwner) -> AppLock {
        AppLock { database: "d".into(), resource: "r".into(), session, owner }
    }

    #[test]
    fn an_exclusive_lock_excludes_other_sessions_until_its_owner_ends() {
        let locks = AppLocks::default();
        let cancellation = Cancellation::default();
        let first = app_lock(1, AppLockOwner::Transaction);
        let second = app_lock(2, AppLockOwner::Session);
        let take =
            |lock: &AppLock, mode| locks.acquire(lock, mode, Some(Duration::ZERO), &cancellation);
        assert_eq!(take(&first, AppLockMode::Exclusive), AppLockOutcome::Granted);
        assert_eq!(take(&first, AppLockMode::Exclusive), AppLockOutcome::Granted);
        assert_eq!(take(&second, AppLockMode::Shared), AppLockOutcome::TimedOut);
        assert!(locks.release(&first));
        assert_eq!(take(&second, AppLockMode::Shared), AppLockOutcome::TimedOut);
        locks.end(1, Some(AppLockOwner::Transaction));
        assert_eq!(take(&second, AppLockMode::Shared), AppLockOutcome::Granted);
        assert_eq!(take(&first, AppLockMode::Update), AppLockOutcome::Granted);
        assert_eq!(take(&first, AppLockMode::IntentExclusive), AppLockOutcome::TimedOut);
        assert!(!locks.release(&app_lock(3, AppLockOwner::Session)));
    }
}
