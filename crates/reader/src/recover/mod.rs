//! Recovery in memory, as by a restart, of a database that was not closed cleanly or of a backup:
//! the analysis, redo and undo passes of ARIES. Redo repeats history up to the end of the log; undo
//! writes no compensation records, since nothing is written.
//!
//! ```text
//! boot page or backup header ── checkpoint LSN ──┐
//! .ldf, or log part of the backup ── records ────┤
//!                                                ▼
//!         analysis: transactions that were open      redo: pages as of the end of the log, undo
//!                                                                   │
//!         RecoverySummary ◀─────────────────────────────────────────┴──▶ OverlaySource
//! ```
//!
//! Then open transactions are rolled back, as by a restart; what cannot be undone is reported.
//! Nothing is written.
//!
//! Invariants
//! - A log is used only when it holds the begin record of the very checkpoint that the database
//!   names.
//! - A page is never guessed: one that a record does not follow on stays as it was before that
//!   record, and is named.
//! - Replay ends at the first block that is damaged or missing.

mod ahead;
mod redo;
mod state;
#[cfg(test)]
mod tests;
mod undo;

pub use state::LogState;

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::{AllocUnitId, Lsn, PageId, XactId};
use extentdb_format::PageBuf;
use extentdb_format::allocation::boot::{BootRecord, BootView};
use extentdb_format::log::reader::{LogEnd, LogTail, TailProof};
use extentdb_format::log::replay::{Analysis, Unfinished};
use extentdb_format::log::{ChainItem, LogBlock, LogBytes, LogReader, LogTime, Op};

use crate::backup_pages::Backup;
use crate::checked::check;
use crate::open::{OpenedFiles, Origin};
use crate::overlay::OverlaySource;
use crate::source::PageSource;
use ahead::AllocatedAhead;
use redo::{FormatPage, Redo};
use undo::OpenRecords;

/// Default memory for changed pages, in bytes.
pub const OVERLAY_BYTES: u64 = 1 << 30;
/// Pages that are reported, at most, because redo stopped on them; a damaged log could name all.
const STOPPED_MAX: usize = 100_000;

/// How to recover.
#[derive(Clone, Debug)]
pub struct RecoverOptions {
    /// Memory for changed pages.
    pub overlay_bytes: u64,
    /// The first record that does not count; transactions open there are rolled back.
    pub until: Option<Lsn>,
}

impl Default for RecoverOptions {
    fn default() -> Self {
        RecoverOptions { overlay_bytes: OVERLAY_BYTES, until: None }
    }
}

/// The result of recovery.
pub enum Recovery<'s> {
    /// It was closed cleanly: the files are complete.
    NotNeeded,
    /// No log, or none that belongs to these pages.
    WithoutLog {
        /// Why the given log cannot be used; `None` without one.
        why: Option<String>,
    },
    /// The log was replayed.
    Redone(Box<Recovered<'s>>),
}

/// A database as of the end of its log.
pub struct Recovered<'s> {
    /// The pages after redo and undo.
    pub source: OverlaySource<&'s dyn PageSource>,
    /// Counts and findings of the passes.
    pub summary: RecoverySummary,
}

/// Counts and findings of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoverySummary {
    /// The checkpoint from which on the log was replayed.
    pub checkpoint: Lsn,
    /// LSN after the last record that was used.
    pub end_lsn: Lsn,
    /// Records from the checkpoint on.
    pub records: u64,
    /// Changes redone on pages.
    pub changes: u64,
    /// Allocation units that replayed records name, as page headers do: their counters and the
    /// fullness of their pages may be brought up to date by a restart alone.
    pub units: BTreeSet<AllocUnitId>,
    /// Pages that differ from those on disk.
    pub pages_changed: u64,
    /// Transactions that were open at the end of the log.
    pub unfinished: Vec<UnfinishedTransaction>,
    /// Pages that a record could not be replayed on.
    pub stopped: Vec<StoppedPage>,
    /// More pages stopped than are listed.
    pub has_more_stopped: bool,
    /// Skipped operations that do not change pages.
    pub left_out: Vec<(Op, u64)>,
    /// Why the log was not used to its end.
    pub ends_early: Option<String>,
    /// Why it is not certain that the log reaches the stop that was asked for.
    pub stop_not_reached: Option<String>,
}

/// A transaction that was open at the end of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedTransaction {
    /// Transaction id in the log.
    pub id: XactId,
    /// Name in its BEGIN record.
    pub name: String,
    /// When it began, by the server's clock.
    pub begin_time: Option<LogTime>,
    /// Prepared: a coordinator decides how it ends.
    pub is_prepared: bool,
    /// Its changes of pages.
    pub records: u64,
    /// Allocation units that it changed, as page headers name them.
    pub units: BTreeSet<AllocUnitId>,
    /// Pages that it changed, and those that maps it changed are about.
    pub pages: BTreeSet<PageId>,
    /// Why some of its changes remain; `None` = completely rolled back.
    pub not_undone: Option<String>,
}

/// A page that a record could not be replayed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoppedPage {
    /// The page on which redo stopped.
    pub page: PageId,
    /// Its unit, as the record names it.
    pub unit: AllocUnitId,
    /// The state in which it stays; `None` when it could not be read.
    pub page_lsn: Option<Lsn>,
    /// LSN of the record that could not be redone.
    pub lsn: Lsn,
    /// Operation of the record.
    pub operation: Op,
    /// Why the record could not be redone.
    pub why: String,
}

/// Why recovery was aborted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The changed pages exceed the memory limit.
    #[error(
        "the log changes more than {pages} pages, which is all that may be held in memory ({bytes} bytes)"
    )]
    OverlayFull {
        /// Pages that were changed.
        pages: usize,
        /// The memory limit in bytes.
        bytes: u64,
    },
    /// The log cannot be read.
    #[error("the log cannot be read: {0}")]
    Log(String),
}

/// Recovers the opened files, if they need it.
///
/// # Errors
/// The log cannot be read, or changes more pages than may be held.
pub fn recover<'s>(
    opened: &'s OpenedFiles,
    options: &RecoverOptions,
) -> Result<Recovery<'s>, RecoverError> {
    match opened.origin() {
        Origin::Backup(backup) => recover_backup(opened.source(), backup, options),
        Origin::Files => recover_files(opened, options),
    }
}

fn recover_backup<'s>(
    source: &'s dyn PageSource,
    backup: &Backup,
    options: &RecoverOptions,
) -> Result<Recovery<'s>, RecoverError> {
    let boot = boot_record(source);
    let log = backup.log();
    if log.map().by_sequence().is_empty() {
        let why = Some("the backup carries no log".to_owned());
        return Ok(Recovery::WithoutLog { why });
    }
    let first = backup.log_sets().next().unwrap_or(&backup.set);
    let checkpoint = first.header().checkpoint_lsn;
    let until = backup.stop.as_ref().and_then(|stop| stop.until);
    let options = RecoverOptions { until, ..options.clone() };
    let mut recovery = recover_with(source, &log, checkpoint, boot.as_ref(), &options)?;
    if let Recovery::Redone(recovered) = &mut recovery {
        let stop = backup.stop.as_ref();
        recovered.summary.stop_not_reached = stop.and_then(|stop| stop.not_reached.clone());
    }
    Ok(recovery)
}

fn recover_files<'s>(
    opened: &'s OpenedFiles,
    options: &RecoverOptions,
) -> Result<Recovery<'s>, RecoverError> {
    let source = opened.source();
    match (boot_record(source), opened.logs()) {
        (Some(boot), _) if boot.status.is_clean() => Ok(Recovery::NotNeeded),
        (Some(_), []) => Ok(Recovery::WithoutLog { why: None }),
        (Some(boot), [log]) => {
            let failed = |error: extentdb_io::Error| RecoverError::Log(error.to_string());
            let reader = LogReader::open(log).map_err(failed)?;
            let outcome = recover_with(source, &reader, boot.checkpoint_lsn, Some(&boot), options)?;
            Ok(match outcome {
                Recovery::WithoutLog { why: Some(why) } => {
                    let why = Some(format!("{}: {why}", log.path().display()));
                    Recovery::WithoutLog { why }
                }
                other => other,
            })
        }
        (Some(_), logs) => Ok(in_several_files(logs.len())),
        (None, logs) => {
            let why = (!logs.is_empty()).then(|| "the boot page cannot be read".to_owned());
            Ok(Recovery::WithoutLog { why })
        }
    }
}

fn in_several_files(logs: usize) -> Recovery<'static> {
    let why = format!("the log lies in {logs} files, and only one can be replayed");
    Recovery::WithoutLog { why: Some(why) }
}

/// The boot page as it is on disk.
pub(crate) fn boot_record(source: &dyn PageSource) -> Option<BootRecord> {
    let mut page = PageBuf::zeroed();
    source.read(PageId::BOOT, &mut page).ok()?;
    check(PageId::BOOT, &mut page).ok()?;
    let view = BootView::new(&page);
    view.record().filter(|_| view.faults().is_empty())
}

/// Replays a log over a source, from the checkpoint on.
///
/// # Errors
/// As [`recover`].
pub fn recover_with<'s, L: LogBytes>(
    source: &'s dyn PageSource,
    reader: &LogReader<L>,
    checkpoint: Lsn,
    boot: Option<&BootRecord>,
    options: &RecoverOptions,
) -> Result<Recovery<'s>, RecoverError>
where
    L::Error: std::fmt::Display,
{
    let mut pass = Pass {
        analysis: Analysis::new(),
        ahead: AllocatedAhead::default(),
        redo: Redo::new(source, boot, options),
        checkpoint,
        until: options.until,
        has_begun: false,
        end: checkpoint,
        last: checkpoint,
        records: 0,
        has_marks: false,
    };
    let outcome = pass.run(reader).map_err(|error| match error {
        PassError::Recover(error) => error,
        PassError::Read(error) => RecoverError::Log(error.to_string()),
    })?;
    Ok(match outcome {
        PassOutcome::Foreign(why) => Recovery::WithoutLog { why: Some(why) },
        PassOutcome::Done(ends_early) => {
            let left = pass.undo(reader, options, ends_early.as_deref());
            pass.ahead.settle(&mut pass.redo);
            Recovery::Redone(Box::new(pass.into_recovered(source, ends_early, &left)))
        }
    })
}

/// One pass over the log.
struct Pass<'s> {
    analysis: Analysis,
    ahead: AllocatedAhead,
    redo: Redo<'s>,
    checkpoint: Lsn,
    /// The first record that does not count.
    until: Option<Lsn>,
    /// The checkpoint's record has been seen.
    has_begun: bool,
    end: Lsn,
    /// The last record used.
    last: Lsn,
    records: u64,
    /// Blocks of this log bear durable marks.
    has_marks: bool,
}

enum PassError<E> {
    Recover(RecoverError),
    Read(E),
}

enum PassOutcome {
    /// The log is not that of these pages.
    Foreign(String),
    /// Used to its end, or up to what is told.
    Done(Option<String>),
}

impl<'s> Pass<'s> {
    fn run<L: LogBytes>(
        &mut self,
        reader: &LogReader<L>,
    ) -> Result<PassOutcome, PassError<L::Error>> {
        for item in reader.chain() {
            match item.map_err(PassError::Read)? {
                ChainItem::Block(block) => {
                    if let Some(outcome) = self.block(&block).map_err(PassError::Recover)? {
                        return Ok(outcome);
                    }
                }
                ChainItem::Gap(_) if self.has_begun => {
                    return Ok(PassOutcome::Done(Some(format!(
                        "the log has a gap after {}",
                        self.end
                    ))));
                }
                // A transaction open before the gap may have ended in it.
                ChainItem::Gap(_) => self.analysis = Analysis::new(),
                ChainItem::End(end) => {
                    if !self.has_begun {
                        return Ok(PassOutcome::Foreign(self.not_found()));
                    }
                    self.end = end.lsn;
                    return Ok(PassOutcome::Done(
                        self.ends_early(reader, &end).map_err(PassError::Read)?,
                    ));
                }
            }
        }
        Ok(PassOutcome::Foreign(self.not_found()))
    }

    /// What says that the log went on past its end. What lies there is judged only where blocks
    /// have durable marks: other engines write several blocks at a time.
    fn ends_early<L: LogBytes>(
        &self,
        reader: &LogReader<L>,
        end: &LogEnd,
    ) -> Result<Option<String>, L::Error> {
        let tail = if self.has_marks { reader.tail(end)? } else { LogTail::default() };
        if let Some(proof) = tail.proof {
            let LogEnd { lsn, reason, .. } = end;
            let TailProof { by, durable } = proof;
            return Ok(Some(format!(
                "log block {lsn} is damaged ({reason}); block {by} says that the log was durable up to {durable}"
            )));
        }
        if let Some(damage) = tail.damage {
            return Ok(Some(format!("the log is damaged at {}: {}", damage.lsn, damage.fault)));
        }
        let lost = reader.leftovers(end)?.first_lost;
        Ok(lost.map(|lost| format!("log block {} is damaged; the log goes on at {lost}", end.lsn)))
    }

    fn not_found(&self) -> String {
        let Pass { checkpoint, .. } = self;
        format!(
            "it does not hold the last checkpoint, {checkpoint}: it belongs to other files or to another copy"
        )
    }

    /// Takes the records of a block; an outcome when the log is not to be read further.
    fn block(&mut self, block: &LogBlock) -> Result<Option<PassOutcome>, RecoverError> {
        let faults = block.buf.faults();
        let is_needed =
            (block.lsn.vlf, block.lsn.block) >= (self.checkpoint.vlf, self.checkpoint.block);
        if let (Some(fault), true) = (faults.first(), is_needed) {
            return Ok(Some(if self.has_begun {
                PassOutcome::Done(Some(format!("log block {} is damaged: {fault}", block.lsn)))
            } else {
                PassOutcome::Foreign(format!(
                    "log block {} with the last checkpoint is damaged",
                    block.lsn
                ))
            }));
        }
        // Every block that ExtentDB writes begins with a durable mark, no block of SQL Server has
        // one.
        let is_marked =
            block.buf.view().record(1).is_some_and(|first| first.header().op == Op::DURABLE_MARK);
        let format = if is_marked { FormatPage::Always } else { FormatPage::UnlessDone };
        for (lsn, record) in block.buf.view().records() {
            if self.until.is_some_and(|until| lsn >= until) {
                return Ok(Some(PassOutcome::Done(None)));
            }
            self.analysis.add(lsn, &record);
            if lsn < self.checkpoint {
                continue;
            }
            if !self.has_begun && (lsn != self.checkpoint || record.header().op != Op::BEGIN_CKPT) {
                return Ok(Some(PassOutcome::Foreign(self.not_found())));
            }
            self.has_begun = true;
            if record.header().op == Op::DURABLE_MARK {
                self.has_marks = true;
                continue;
            }
            self.records += 1;
            (self.end, self.last) = (lsn, lsn);
            self.ahead.add(&record);
            self.redo.apply(lsn, &record, format)?;
        }
        Ok(None)
    }

    /// Rolls back open transactions. Returns those with remaining changes, with the reason.
    fn undo<L: LogBytes>(
        &mut self,
        reader: &LogReader<L>,
        options: &RecoverOptions,
        ends_early: Option<&str>,
    ) -> BTreeMap<XactId, String> {
        let open: BTreeSet<XactId> = self.analysis.unfinished().keys().copied().collect();
        let all = |why: &str| open.iter().map(|xact| (*xact, why.to_owned())).collect();
        if open.is_empty() {
            return BTreeMap::new();
        }
        if ends_early.is_some() {
            return all("the log was not read to its end");
        }
        let mut records = OpenRecords::default();
        let begins =
            self.analysis.unfinished().values().map(|open| open.begin.unwrap_or(Lsn::ZERO)).min();
        for item in reader.chain() {
            let Ok(ChainItem::Block(block)) = item else { continue };
            for (lsn, record) in block.buf.view().records() {
                let is_open =
                    Some(lsn) >= begins && lsn <= self.last && open.contains(&record.header().xact);
                if is_open && !records.add(lsn, &record, options.overlay_bytes) {
                    return all("it made more changes than are kept in memory");
                }
            }
        }
        let prepared = self.analysis.unfinished().iter().filter(|(_, open)| open.is_prepared);
        let mut left: BTreeMap<XactId, String> = prepared
            .map(|(xact, _)| (*xact, "a coordinator elsewhere decides how it ends".to_owned()))
            .collect();
        left.extend(records.undo(&mut self.redo, &left.keys().copied().collect()));
        left
    }

    fn into_recovered(
        mut self,
        source: &'s dyn PageSource,
        ends_early: Option<String>,
        left: &BTreeMap<XactId, String>,
    ) -> Recovered<'s> {
        let left_out = self.analysis.left_out().iter().map(|(op, count)| (*op, *count)).collect();
        let unfinished = self
            .analysis
            .into_unfinished()
            .into_iter()
            .map(|(id, open)| named(id, open, left))
            .collect();
        let changes = self.redo.changes;
        let units = std::mem::take(&mut self.redo.units);
        let (pages, stopped) = self.redo.finish();
        let has_more_stopped = stopped.len() > STOPPED_MAX;
        let summary = RecoverySummary {
            checkpoint: self.checkpoint,
            end_lsn: self.end,
            records: self.records,
            changes,
            units,
            pages_changed: pages.len() as u64,
            unfinished,
            stopped: stopped.into_iter().take(STOPPED_MAX).collect(),
            has_more_stopped,
            left_out,
            ends_early,
            stop_not_reached: None,
        };
        Recovered { source: OverlaySource::new(source, pages), summary }
    }
}

fn named(id: XactId, open: Unfinished, left: &BTreeMap<XactId, String>) -> UnfinishedTransaction {
    UnfinishedTransaction {
        id,
        name: open.name,
        begin_time: open.begin_time,
        is_prepared: open.is_prepared,
        records: open.records,
        units: open.units,
        pages: open.pages,
        not_undone: left.get(&id).cloned(),
    }
}
