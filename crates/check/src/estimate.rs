//! ESTIMATEONLY: what a check would need (`docs/check.md` 13). The plan is made, and not a page
//! more is read.
//!
//! No tempdb is used, so its two figures are 0. The memory is what the plan holds, and what the
//! workers would.

use std::num::NonZeroUsize;

use extentdb_base::sync::thread;
use extentdb_reader::PageSource;

use crate::audit::part::UnitCounts;
use crate::finding::Finding;
use crate::options::Options;
use crate::plan::{PlanOutcome, make};
use crate::relation::UnitHashes;
use crate::scan::{Counters, Scan};
use crate::unit::Unit;

/// What a check would need.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// Name of the database.
    pub database: String,
    /// Why nothing can be checked: what was asked for is not there.
    pub refused: Option<Finding>,
    /// Pages that would be checked.
    pub pages: u64,
    /// Threads that would check them.
    pub workers: usize,
    /// What the memory is for, and how many bytes.
    pub memory: Vec<(&'static str, u64)>,
}

/// Makes the plan of a check and says what the check would need.
pub fn estimate(source: &dyn PageSource, options: &Options) -> Estimate {
    let PlanOutcome { plan, refused, .. } = make(source, options);
    let machine = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let workers = options.jobs.unwrap_or_else(machine).get();
    let counters = Counters::default();
    let scan = Scan::new(source, &plan, options, &counters);
    let mut bitmaps = 0;
    let mut pfs = 0;
    for maps in &plan.maps {
        let (of_bitmaps, of_pfs) = maps.memory_bytes();
        (bitmaps, pfs) = (bitmaps + of_bitmaps, pfs + of_pfs);
    }
    let units = plan.units.len() as u64;
    let per_worker = (size_of::<UnitCounts>() + size_of::<UnitHashes>()) as u64;
    let memory = vec![
        ("the owners of extents and pages", plan.owners.memory_bytes()),
        ("PFS bytes", pfs),
        ("GAM, SGAM and DIFF bits", bitmaps),
        ("allocation units", units * size_of::<Unit>() as u64),
        ("the sums of all workers", workers as u64 * units * per_worker),
        ("read buffers", scan.buffer_bytes(workers)),
    ];
    Estimate {
        database: plan.database.clone(),
        refused,
        pages: scan.plan().pages_planned,
        workers,
        memory,
    }
}

impl Estimate {
    /// All memory, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.iter().map(|(_, bytes)| bytes).sum()
    }
}
