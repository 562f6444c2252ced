//! Owners of locks: numbers that are unique in an instance.

use extentdb_base::OwnerId;
use extentdb_base::sync::atomic::{AtomicU64, Ordering};

/// Hands out owners. The databases of an instance share one, because they share a lock manager.
#[derive(Default, Debug)]
pub struct Owners(AtomicU64);

impl Owners {
    /// The first owner is 1.
    pub fn new() -> Self {
        Self::default()
    }

    /// An owner that nobody has had before.
    pub fn draw(&self) -> OwnerId {
        OwnerId(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
