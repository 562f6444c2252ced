//! The result of a run: findings in order, totals, what was covered and what was not.

use std::time::Duration;

use extentdb_base::{FileId, ObjectId};
use extentdb_messages::RepairLevel;

use crate::coverage::{Coverage, NotChecked};
use crate::finding::{Finding, Totals};
use crate::options::Options;

mod map;
mod timeline;

pub use map::{CellFaults, CellOwner, ExtentMap, ExtentRun, FileExtents};
pub use timeline::{Sample, Timeline};

/// How much of DBCC CHECKDB was run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Scope {
    /// All of it.
    #[default]
    Full,
    /// Pages, records, allocation and the structure of indexes.
    Physical,
}

impl Scope {
    /// As in the JSON report.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Full => "full",
            Scope::Physical => "physical",
        }
    }
}

/// The verdict of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Verdict {
    /// Everything that was asked for was checked, and nothing is wrong.
    Clean,
    /// Something is wrong.
    Damaged,
    /// Nothing wrong was found, but not everything that was asked for was checked.
    #[default]
    Incomplete,
}

impl Verdict {
    /// As in the JSON report.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Clean => "clean",
            Verdict::Damaged => "damaged",
            Verdict::Incomplete => "incomplete",
        }
    }
}

/// Rows and pages of a table as the scan counted them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectSummary {
    /// Object id of the table.
    pub object: ObjectId,
    /// `sys.name` for system tables, the plain name for user tables.
    pub name: String,
    /// User objects come after system objects.
    pub is_user: bool,
    /// Rows of the heap or clustered index, ghosts excluded.
    pub rows: u64,
    /// Data pages of the heap or leaf of the clustered index.
    pub pages: u64,
    /// Errors of the object.
    pub totals: Totals,
}

/// A data file as the page source knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataFile {
    /// File id, as in `sys.database_files`.
    pub id: FileId,
    /// The file it was read from: its own, or the first of a backup.
    pub path: String,
    /// Page n lies at byte 8192 n of that file. False for backups.
    pub is_plain: bool,
}

/// The result of a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Name of the database; of its first file when the boot page cannot be read.
    pub database: String,
    /// Its id when it was last open.
    pub database_id: i32,
    /// Its data files.
    pub files: Vec<DataFile>,
    /// The DBCC command that does the same.
    pub command: &'static str,
    /// The table or filegroup that the run was limited to.
    pub target: Option<String>,
    /// Why nothing was checked: the table or filegroup asked for cannot be, 2501 and the like.
    pub refused: Option<Finding>,
    /// What was run.
    pub scope: Scope,
    /// Options as given.
    pub options: Vec<&'static str>,
    /// Information messages are left out of the text.
    pub no_infomsgs: bool,
    /// Damaged when anything was found; clean only when nothing was left out.
    pub verdict: Verdict,
    /// True when it was stopped before its end.
    pub was_stopped: bool,
    /// Errors as DBCC counts them.
    pub totals: Totals,
    /// Of those, what belongs to no object.
    pub unowned: Totals,
    /// Repair level that removes everything that can be removed.
    pub repair: RepairLevel,
    /// What was covered.
    pub coverage: Coverage,
    /// Everything wrong, in order.
    pub findings: Vec<Finding>,
    /// Findings that are counted but not listed, because there are too many.
    pub findings_omitted: u64,
    /// What is worth knowing and not wrong.
    pub notes: Vec<Finding>,
    /// What Service Broker has, as number of the message and count: 9675, 9676, 9667, 9668, 9669,
    /// 9674, 9670.
    pub broker_counts: Vec<(u32, u64)>,
    /// Tables, in order.
    pub objects: Vec<ObjectSummary>,
    /// Whose the extents are and what is wrong with them, when it was asked for.
    pub map: Option<ExtentMap>,
    /// Speed and findings over time, when it was asked for.
    pub timeline: Vec<Sample>,
    /// How long it took.
    pub elapsed: Duration,
    /// Bytes read by the scan.
    pub bytes: u64,
}

impl Report {
    /// A report of nothing yet.
    pub fn empty(options: &Options) -> Report {
        Report {
            command: options.scope.command(),
            scope: if options.physical_only { Scope::Physical } else { Scope::Full },
            options: options.names(),
            no_infomsgs: options.no_infomsgs || options.physical_only,
            ..Report::default()
        }
    }

    /// Takes all findings out of the report, because what was read is no evidence: `why` names the
    /// file that was in use. The run is incomplete.
    pub fn withdraw(&mut self, why: &str) {
        let count = self.findings.len() as u64 + self.findings_omitted;
        let what = match count {
            0 => "the database".to_owned(),
            count => format!("the database: {count} findings are left out"),
        };
        self.coverage.not_checked.insert(0, NotChecked::asked(what, why));
        self.findings.clear();
        self.findings_omitted = 0;
        self.totals = Totals::default();
        self.unowned = Totals::default();
        self.repair = RepairLevel::None;
        self.objects.iter_mut().for_each(|object| object.totals = Totals::default());
        self.map = None;
        self.verdict = Verdict::Incomplete;
    }

    /// Millions of bytes per second of the whole run.
    pub fn mb_per_s(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.bytes as f64 / 1e6 / seconds } else { 0.0 }
    }

    /// Name of an object.
    pub fn object_name(&self, object: ObjectId) -> Option<&str> {
        // In the order of the report: system objects first, then by id.
        let find = |is_user| {
            self.objects.binary_search_by_key(&(is_user, object), |it| (it.is_user, it.object)).ok()
        };
        let at = find(true).or_else(|| find(false))?;
        self.objects.get(at).map(|summary| summary.name.as_str())
    }
}
