//! What a run is asked to do, and how it is watched and stopped.

use std::num::{NonZeroU64, NonZeroUsize};
use std::ops::Range;
use std::time::Duration;

use extentdb_base::FileId;
use extentdb_base::env::Clock;
use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::AtomicBool;

pub use extentdb_io::IoChoice;
use extentdb_reader::RecoverySummary;

use crate::hash::HashKey;

/// Pages of a chunk by default: 4 MiB.
pub(crate) const CHUNK_PAGES: u32 = 512;
/// Bytes for runs of leaves, per worker, by default: about 800,000 runs.
pub(crate) const RUN_BUDGET: usize = 64 << 20;
/// Findings that a run keeps by default. What comes after them in the order of the report is only
/// counted.
pub(crate) const FINDINGS_MAX: usize = 100_000;

/// Which part of the database is checked.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum ScopeChoice {
    /// All of it: CHECKDB.
    #[default]
    Database,
    /// One table with all its indexes: CHECKTABLE.
    Table {
        /// Its schema; `None` = whatever schema has a table of this name.
        schema: Option<String>,
        /// Its name, compared as the collation of the database says.
        name: String,
    },
    /// One filegroup, by name or number: its allocation, and every table in it. CHECKFILEGROUP.
    Filegroup(String),
}

impl ScopeChoice {
    /// The DBCC command that does this.
    pub fn command(&self) -> &'static str {
        match self {
            ScopeChoice::Database => "CHECKDB",
            ScopeChoice::Table { .. } => "CHECKTABLE",
            ScopeChoice::Filegroup(_) => "CHECKFILEGROUP",
        }
    }
}

/// Pages of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageRange {
    /// File id, as in `sys.database_files`.
    pub file: FileId,
    /// Page numbers. An extent belongs to the range that its first page is in.
    pub pages: Range<u32>,
}

/// What is known of the log of a database.
#[derive(Clone, Debug, Default)]
pub enum LogUse {
    /// None was needed, or none was searched for.
    #[default]
    None,
    /// The database was not closed cleanly, and no log was given.
    Missing,
    /// It was given and is of no use: why.
    Unusable(String),
    /// The source is the database as of the end of its log.
    Redone(Arc<RecoverySummary>),
}

/// The options of a run. The names are those of DBCC CHECKDB where it has the option.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only the checks of PHYSICAL_ONLY: without ghost counts.
    pub physical_only: bool,
    /// NOINDEX: nonclustered indexes of user tables are not read.
    pub no_index: bool,
    /// NO_INFOMSGS: the text report holds errors and totals only.
    pub no_infomsgs: bool,
    /// DATA_PURITY: column values are checked in databases older than SQL Server 2005, too.
    pub data_purity: bool,
    /// EXTENDED_LOGICAL_CHECKS: stored computed columns are computed again.
    pub extended_logical_checks: bool,
    /// Which part of the database is checked.
    pub scope: ScopeChoice,
    /// Keep a map of the extents and what is wrong with them in the report.
    pub map: bool,
    /// Keep samples of the speed and the number of findings over time in the report.
    pub timeline: bool,
    /// Threads that check pages; `None` = as many as the machine has.
    pub jobs: Option<NonZeroUsize>,
    /// Through the page cache or past it.
    pub io: IoChoice,
    /// Most bytes per second that are read.
    pub max_rate: Option<NonZeroU64>,
    /// The run stops itself after this time, incomplete.
    pub time_limit: Option<Duration>,
    /// Most findings that the report holds; the others are counted.
    pub max_errors: usize,
    /// Pages of a chunk. The report does not depend on it.
    pub chunk_pages: u32,
    /// Bytes that each worker may keep of runs of leaves; an index that needs more is compared in a
    /// pass of its own.
    pub run_budget: usize,
    /// Look at a whole unit again when something does not balance, even when its sketches name
    /// what. For tests: the findings are the same.
    pub force_rescan: bool,
    /// Key of all hashes; `None` = a new one. Partials from several processes must share it.
    pub hash_key: Option<HashKey>,
    /// What is known of the log.
    pub log: LogUse,
    /// Why a part of the pages is not there, such as "stripe 2 of 2 is not given". Nothing can then
    /// be said about what belongs together: the pages that are there are audited one by one, and no
    /// page is blamed for being absent.
    pub missing_part: Option<String>,
    /// Name of the database, for when its boot page cannot be read; without it the name of the
    /// first file.
    pub database: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            physical_only: false,
            no_index: false,
            no_infomsgs: false,
            data_purity: false,
            extended_logical_checks: false,
            scope: ScopeChoice::Database,
            map: false,
            timeline: false,
            jobs: None,
            io: IoChoice::Auto,
            max_rate: None,
            time_limit: None,
            max_errors: FINDINGS_MAX,
            chunk_pages: CHUNK_PAGES,
            run_budget: RUN_BUDGET,
            force_rescan: false,
            hash_key: None,
            log: LogUse::None,
            missing_part: None,
            database: None,
        }
    }
}

impl Options {
    /// Names of the DBCC options that are set, as they follow WITH.
    pub fn names(&self) -> Vec<&'static str> {
        let all = [
            (self.physical_only, "physical_only"),
            (self.no_index, "noindex"),
            (self.no_infomsgs, "no_infomsgs"),
            (self.data_purity, "data_purity"),
            (self.extended_logical_checks, "extended_logical_checks"),
        ];
        all.into_iter().filter_map(|(is_set, name)| is_set.then_some(name)).collect()
    }
}

/// The outside world of a run: time, the request to stop, and the receiver of progress.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Time, for rates, limits and the elapsed time of the report.
    pub clock: &'a dyn Clock,
    /// Set by the caller to stop: the run ends within a second with what it has.
    pub cancel: &'a AtomicBool,
    /// Called several times a second, by one thread at a time.
    pub progress: Option<&'a (dyn Fn(&Progress) + Sync)>,
}

impl<'a> Control<'a> {
    /// A control that reports no progress.
    pub fn new(clock: &'a dyn Clock, cancel: &'a AtomicBool) -> Self {
        Control { clock, cancel, progress: None }
    }
}

/// What a run is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Catalog and allocation maps.
    Plan,
    /// All allocated pages.
    Scan,
    /// Links between pages.
    Verify,
}

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// What it is doing.
    pub phase: Phase,
    /// Pages that will be checked; 0 before they are known.
    pub pages_planned: u64,
    /// Pages checked since the start.
    pub pages_checked: u64,
    /// Bytes read since the start.
    pub bytes_read: u64,
    /// Findings so far.
    pub findings: u64,
    /// Time since the start.
    pub elapsed: Duration,
}
