//! The result of a run: findings in order, totals, what was covered and what was not.

use std::time::Duration;

use extentdb_base::ObjectId;
use extentdb_messages::RepairLevel;

use crate::finding::{Finding, Totals};
use crate::options::Options;

mod json;
mod text;

/// How much of DBCC CHECKDB was run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// All of it.
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

/// What the run comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Everything that was asked for was checked, and nothing is wrong.
    Clean,
    /// Something is wrong.
    Damaged,
    /// Nothing wrong was found, but not everything that was asked for was checked.
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

    /// The exit code that the command line contract gives it.
    pub fn exit_code(self) -> u8 {
        match self {
            Verdict::Clean => 0,
            Verdict::Damaged => 2,
            Verdict::Incomplete => 3,
        }
    }
}

/// Something that was left out, and why.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NotChecked {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
    /// False for what is outside the scope of the run, or was left out by an option: it does not make the run incomplete.
    pub was_asked_for: bool,
}

/// What was covered.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Coverage {
    /// Pages that had to be checked: allocated, of objects that were not left out.
    pub pages_planned: u64,
    /// Pages that were.
    pub pages_checked: u64,
    /// Objects with pages among them.
    pub objects: u64,
    /// Nonclustered indexes whose rows were compared with their tables.
    pub indexes_compared: u64,
    /// Entries of those indexes.
    pub entries_compared: u64,
    /// What was left out.
    pub not_checked: Vec<NotChecked>,
}

/// Rows and pages of a table as the scan counted them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectSummary {
    /// Object id.
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

/// A file that was checked, as the caller knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// Its path.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, when it was asked for.
    pub sha256: Option<String>,
}

/// The result of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Name of the database; of its first file when the boot page cannot be read.
    pub database: String,
    /// What was run.
    pub scope: Scope,
    /// Options as given.
    pub options: Vec<&'static str>,
    /// Information messages are left out of the text.
    pub no_infomsgs: bool,
    /// What it comes to.
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
    /// Tables, in order.
    pub objects: Vec<ObjectSummary>,
    /// How long it took.
    pub elapsed: Duration,
    /// Bytes read by the scan.
    pub bytes: u64,
}

impl Report {
    /// A report of nothing yet.
    pub(crate) fn empty(options: &Options) -> Report {
        Report {
            database: String::new(),
            scope: Scope::Physical,
            options: options.names(),
            no_infomsgs: options.no_infomsgs || options.physical_only,
            verdict: Verdict::Incomplete,
            was_stopped: false,
            totals: Totals::default(),
            unowned: Totals::default(),
            repair: RepairLevel::None,
            coverage: Coverage::default(),
            findings: Vec::new(),
            findings_omitted: 0,
            notes: Vec::new(),
            objects: Vec::new(),
            elapsed: Duration::ZERO,
            bytes: 0,
        }
    }

    /// Millions of bytes per second of the whole run.
    pub fn mb_per_s(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.bytes as f64 / 1e6 / seconds } else { 0.0 }
    }

    /// Name of an object.
    pub fn object_name(&self, object: ObjectId) -> Option<&str> {
        self.objects.iter().find(|summary| summary.object == object).map(|summary| &*summary.name)
    }
}
