//! Threads, locks and atomics: the one door to them for the storage core.
//!
//! Plain `std` today. A build with `--cfg shuttle` will put shuttle's versions here, so that a schedule can be replayed
//! from a seed; nobody below `sql` may therefore take them from anywhere else.

pub use std::sync::atomic;
pub use std::sync::mpsc;
pub use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, RwLock};
pub use std::thread;

/// Locks a mutex; a panic of another holder does not make the data unreachable, because every holder in this house
/// leaves the data valid between statements.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
