//! Threads, locks and atomics: the one door to them for the storage core.
//!
//! Plain `std`, or, in a build with `--cfg shuttle`, shuttle's versions: then every access to them
//! is a point where another thread may run, and a seed decides which. No crate below `sql` uses
//! locks, threads or atomics from anywhere else.

use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

#[cfg(not(shuttle))]
pub use self::native::*;
#[cfg(shuttle)]
pub use self::replayed::*;
pub use std::sync::OnceLock;

#[cfg(not(shuttle))]
mod native {
    pub use std::sync::{
        Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak, atomic,
        mpsc,
    };
    pub use std::thread;
}

/// Primitives whose schedule follows from a seed.
#[cfg(shuttle)]
mod replayed {
    pub use shuttle::sync::{
        Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak, mpsc,
    };

    /// Atomics, all of them sequentially consistent.
    pub mod atomic {
        pub use shuttle::sync::atomic::*;
        // Under a total order of all accesses a fence has nothing to do.
        pub use std::sync::atomic::fence;
    }

    /// Threads of the operating system, or of the test scheduler.
    pub mod thread {
        pub use shuttle::thread::*;
        pub use std::thread::{available_parallelism, panicking};
    }
}

/// Locks a mutex; a panic of another holder does not make the data unreachable, because every
/// holder leaves the data valid between statements.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks a mutex that is free, and does not wait for one that is not.
pub fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Waits until `condvar` is notified, or for no reason at all: the caller looks again at what it
/// waits for.
pub fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Waits while `waiting` says so, at most for `timeout`. The caller sees by the data whether it was
/// in vain.
pub fn wait_at_most<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    timeout: Duration,
    waiting: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'a, T> {
    let outcome = condvar.wait_timeout_while(guard, timeout, waiting);
    outcome.unwrap_or_else(PoisonError::into_inner).0
}

/// Takes a lock for reading; like [`lock`], it does not mind a panic of another holder.
pub fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a lock for writing; like [`lock`], it does not mind a panic of another holder.
pub fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
