//! The memory that operators keep rows in: a limit for each statement, and one for all of them.
//!
//! ```text
//! MemoryPool    all statements of the server
//!   └ Memory    one statement: its limit, what it uses, where it spills
//!       └ Reservation    one operator: what it uses, released when it is dropped
//! ```
//!
//! Nobody waits for memory: an operator that is refused more writes to a work file what it keeps.
//! Invariants
//! - What a pool counts is what the reservations of its statements hold.
//! - An operator is refused only where it can spill; one that cannot get smaller takes what it
//!   needs and is counted with it.

use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::{AtomicUsize, Ordering};

use crate::spill::WorkArea;

/// What all statements of a server may use together.
#[derive(Debug)]
pub struct MemoryPool {
    /// Bytes.
    limit: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl MemoryPool {
    /// A pool of `limit` bytes.
    pub fn new(limit: usize) -> Arc<MemoryPool> {
        Arc::new(MemoryPool { limit, used: AtomicUsize::new(0), peak: AtomicUsize::new(0) })
    }

    /// Bytes that are in use.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Most bytes that were in use at once.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }
}

/// What one statement may use.
#[derive(Clone, Debug)]
pub struct Memory {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// That of the server, and of the login where it has a limit of its own.
    pools: Vec<Arc<MemoryPool>>,
    /// Bytes.
    limit: usize,
    used: AtomicUsize,
    area: Option<Arc<WorkArea>>,
}

impl Memory {
    /// For a statement: at most `limit` bytes of the pool; what does not fit goes to work files.
    pub fn new(pool: &Arc<MemoryPool>, limit: usize, area: &Arc<WorkArea>) -> Memory {
        Memory::of(vec![pool.clone()], limit, Some(area.clone()))
    }

    /// The same, within another pool, too.
    #[must_use]
    pub fn within(&self, pool: &Arc<MemoryPool>) -> Memory {
        let shared = &self.shared;
        let pools = shared.pools.iter().chain([pool]).cloned().collect();
        Memory::of(pools, shared.limit, shared.area.clone())
    }

    /// Without a limit, and without work files.
    pub fn unlimited() -> Memory {
        Memory::of(Vec::new(), usize::MAX, None)
    }

    fn of(pools: Vec<Arc<MemoryPool>>, limit: usize, area: Option<Arc<WorkArea>>) -> Memory {
        let used = AtomicUsize::new(0);
        Memory { shared: Arc::new(Shared { pools, limit, used, area }) }
    }

    /// Where what does not fit goes.
    pub(crate) fn area(&self) -> Option<&Arc<WorkArea>> {
        self.shared.area.as_ref()
    }

    /// Nothing yet.
    pub(crate) fn reservation(&self) -> Reservation {
        Reservation { memory: self.clone(), bytes: 0 }
    }
}

/// What an operator uses of the memory of its statement.
#[derive(Debug)]
pub(crate) struct Reservation {
    memory: Memory,
    bytes: usize,
}

impl Reservation {
    /// Asks for `bytes` in all. False: there are not so many, and the operator spills.
    #[must_use]
    pub(crate) fn resize(&mut self, bytes: usize) -> bool {
        let shared = &self.memory.shared;
        if bytes > self.bytes && shared.area.is_some() {
            let more = bytes - self.bytes;
            let is_over = |used: &AtomicUsize, limit: usize| {
                used.load(Ordering::Relaxed).saturating_add(more) > limit
            };
            if is_over(&shared.used, shared.limit)
                || shared.pools.iter().any(|pool| is_over(&pool.used, pool.limit))
            {
                return false;
            }
        }
        self.set(bytes);
        true
    }

    /// Takes `bytes` in all without asking: the operator cannot do with less.
    pub(crate) fn set(&mut self, bytes: usize) {
        let shared = &self.memory.shared;
        let pools = shared.pools.iter().map(|pool| &pool.used);
        for used in pools.chain([&shared.used]) {
            if bytes >= self.bytes {
                used.fetch_add(bytes - self.bytes, Ordering::Relaxed);
            } else {
                used.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
            }
        }
        for pool in &shared.pools {
            pool.peak.fetch_max(pool.used(), Ordering::Relaxed);
        }
        self.bytes = bytes;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use extentdb_io::MemDisk;

    use super::*;

    fn area() -> Arc<WorkArea> {
        WorkArea::new(Arc::new(MemDisk::new()), "/work")
    }

    #[test]
    fn a_statement_is_refused_more_than_its_limit() {
        let pool = MemoryPool::new(1000);
        let memory = Memory::new(&pool, 100, &area());
        let mut one = memory.reservation();
        let mut other = memory.reservation();
        assert!(one.resize(60));
        assert!(!other.resize(50));
        assert!(other.resize(40));
        assert!(one.resize(20) && other.resize(80));
        assert_eq!(pool.used(), 100);
        drop(one);
        other.set(500);
        assert_eq!(pool.used(), 500);
        drop(other);
        assert_eq!(pool.used(), 0);
    }

    #[test]
    fn statements_are_refused_more_than_the_pool() {
        let pool = MemoryPool::new(100);
        let one = Memory::new(&pool, 80, &area());
        let other = Memory::new(&pool, 80, &area());
        let mut first = one.reservation();
        let mut second = other.reservation();
        assert!(first.resize(80));
        assert!(!second.resize(30));
        drop(first);
        assert!(second.resize(30));
    }

    #[test]
    fn statements_of_a_login_are_refused_more_than_its_pool() {
        let server = MemoryPool::new(1000);
        let login = MemoryPool::new(50);
        let memory = || Memory::new(&server, 100, &area()).within(&login);
        let (one, other) = (memory(), memory());
        let mut first = one.reservation();
        let mut second = other.reservation();
        assert!(first.resize(30));
        assert!(!second.resize(30));
        assert_eq!((server.used(), login.used()), (30, 30));
        assert!(Memory::new(&server, 100, &area()).reservation().resize(60));
        drop(first);
        assert!(second.resize(50));
        assert_eq!(login.peak(), 50);
    }

    #[test]
    fn without_work_files_nothing_is_refused() {
        let mut all = Memory::unlimited().reservation();
        assert!(all.resize(usize::MAX / 2));
    }
}
