//! Memory that statements keep rows in while they sort, group and join; what does not fit goes to
//! work files beside tempdb.

use std::collections::HashMap;

use extentdb_base::sync::{Arc, Weak};
use extentdb_engine::Instance;
use extentdb_exec::{Memory, MemoryPool, WorkArea};

/// How much memory statements keep rows in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Bytes of all statements together.
    pub server: usize,
    /// Bytes of one statement.
    pub statement: usize,
    /// Bytes of all statements of one login together; `None` for no limit of their own.
    pub login: Option<usize>,
}

impl Default for MemoryLimits {
    fn default() -> MemoryLimits {
        MemoryLimits { server: 1 << 30, statement: 256 << 20, login: None }
    }
}

/// The memory of a server's statements.
#[derive(Debug)]
pub(crate) struct WorkMemory {
    pool: Arc<MemoryPool>,
    limits: MemoryLimits,
    /// By the name of the login.
    logins: HashMap<String, Weak<MemoryPool>>,
    area: Arc<WorkArea>,
}

impl WorkMemory {
    pub(crate) fn new(instance: &Instance) -> WorkMemory {
        let options = instance.options();
        let limits = MemoryLimits::default();
        WorkMemory {
            pool: MemoryPool::new(limits.server),
            limits,
            logins: HashMap::new(),
            area: WorkArea::new(options.database.disk.clone(), &options.data),
        }
    }

    /// Statements that begin from now on have these limits.
    pub(crate) fn limit(&mut self, limits: MemoryLimits) {
        self.pool = MemoryPool::new(limits.server);
        self.limits = limits;
        self.logins.clear();
    }

    /// That of one statement of a login's connection, which holds the pool of its login.
    pub(crate) fn of_statement(&self, login: Option<&Arc<MemoryPool>>) -> Memory {
        let memory = Memory::new(&self.pool, self.limits.statement, &self.area);
        login.map_or(memory.clone(), |pool| memory.within(pool))
    }

    /// The memory of a login, where it has a limit.
    pub(crate) fn of_login(&mut self, login: &str) -> Option<Arc<MemoryPool>> {
        let limit = self.limits.login?;
        if let Some(pool) = self.logins.get(login).and_then(Weak::upgrade) {
            return Some(pool);
        }
        self.logins.retain(|_, pool| pool.strong_count() > 0);
        let pool = MemoryPool::new(limit);
        self.logins.insert(login.to_owned(), Arc::downgrade(&pool));
        Some(pool)
    }
}
