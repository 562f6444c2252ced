//! Memory that statements keep rows in while they sort, group and join; what does not fit goes to
//! work files beside tempdb.

use extentdb_base::sync::Arc;
use extentdb_engine::Instance;
use extentdb_exec::{Memory, MemoryPool, WorkArea};

/// How much memory statements keep rows in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Bytes of all statements together.
    pub server: usize,
    /// Bytes of one statement.
    pub statement: usize,
}

impl Default for MemoryLimits {
    fn default() -> MemoryLimits {
        MemoryLimits { server: 1 << 30, statement: 256 << 20 }
    }
}

/// The memory of a server's statements.
#[derive(Debug)]
pub(crate) struct WorkMemory {
    pool: Arc<MemoryPool>,
    statement: usize,
    area: Arc<WorkArea>,
}

impl WorkMemory {
    pub(crate) fn new(instance: &Instance) -> WorkMemory {
        let options = instance.options();
        let limits = MemoryLimits::default();
        WorkMemory {
            pool: MemoryPool::new(limits.server),
            statement: limits.statement,
            area: WorkArea::new(options.database.disk.clone(), &options.data),
        }
    }

    /// Statements that begin from now on have these limits.
    pub(crate) fn limit(&mut self, limits: MemoryLimits) {
        self.pool = MemoryPool::new(limits.server);
        self.statement = limits.statement;
    }

    /// That of one statement.
    pub(crate) fn of_statement(&self) -> Memory {
        Memory::new(&self.pool, self.statement, &self.area)
    }
}
