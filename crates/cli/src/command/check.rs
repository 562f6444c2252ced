//! `check`: DBCC CHECKDB over data files or a backup.
//!
//! Nothing is opened but the files themselves: a database whose boot page or catalog is gone is
//! checked as far as it can be. What was asked for and could not be checked makes the verdict
//! `incomplete`, never `clean`.

mod format;
mod inputs;
mod options;
pub(crate) mod parts;
mod several;
mod state;

use extentdb_base::sync::Arc;
use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use extentdb_base::PageId;
use extentdb_check::{
    Control, Finding, Location, LogUse, NotChecked, Options, Phase, Progress, Report, Verdict,
    estimate, run as check,
};
use extentdb_format::PageBuf;
use extentdb_format::allocation::file_header::FileHeaderView;
use extentdb_format::page::PageHeader;
use extentdb_format::page::PageType;
use extentdb_format::page::checksum::restore_torn;
use extentdb_reader::backup::{self, FindingKind, Findings};
use extentdb_reader::{
    Backup, Database, Error, LogState, OpenOptions, OpenedFiles, Origin, PageSource,
};
use extentdb_report::{estimate_to_json, estimate_to_text};

use crate::context::Context;
use crate::exit::Exit;
use crate::options::CommonOptions;
use crate::output::Output;
use format::{ReportFormat, ReportFormatArgs, TextStyle};
use options::CheckOptions;

/// Options of `check`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CheckArgs {
    /// Data files with their logs, backups, or folders of them; of one or several databases. - is a
    /// backup on stdin
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) options: CheckOptions,
    /// State the SHA-256 of every file in the report (JSON); without it the field is null
    #[arg(long)]
    hash: bool,
    #[command(flatten)]
    pub(super) format: ReportFormatArgs,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

impl CheckArgs {
    fn text_style(&self) -> TextStyle {
        TextStyle { options: self.options.text(), color: self.common.color }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &CheckArgs, context: &Context) -> anyhow::Result<Exit> {
    let groups = several::groups(args, context);
    match &groups[..] {
        [files] => run_one(&CheckArgs { files: files.clone(), ..args.clone() }, context),
        groups => several::run(args, groups, context),
    }
}

/// Checks one database.
fn run_one(args: &CheckArgs, context: &Context) -> anyhow::Result<Exit> {
    let options = args.options.for_check(&args.common, args.format.chosen())?;
    let output = context.output(&args.files)?;
    let opened = open(&args.files, context)?;
    refuse_encrypted(&opened, args, context)?;
    if args.options.estimates_only() {
        return write_estimate(&opened, &options, args.format.chosen(), output);
    }
    let opened = context.restart(opened)?;
    context.interrupt.stop_gracefully();
    let report = match args.options.state() {
        Some(state) => state::check(state, &opened, &options, context)?,
        None => with_recovered(&opened, &options, |source, options| {
            watched(context, |control| check(source, options, control))
        }),
    };
    finish(report, args, &opened, context, output)
}

/// Completes a report with what is known outside of the check, writes it, and says how it went.
pub(super) fn finish(
    mut report: Report,
    args: &CheckArgs,
    opened: &OpenedFiles,
    context: &Context,
    mut output: Output,
) -> anyhow::Result<Exit> {
    complete(&mut report, opened, context)?;
    let inputs = inputs::describe(&args.files, args.hash, context)?;
    args.format.chosen().write(&report, &inputs, args.text_style(), &mut output)?;
    if let Some(stop) = context.interrupt.stopped() {
        let kept = output.finish_incomplete()?;
        let saved = kept.map_or_else(String::new, |path| format!(": {}", path.display()));
        context.warn(&format!("interrupted, the result is incomplete{saved}"));
        return Ok(stop);
    }
    output.finish()?;
    Ok(exit_of(report.verdict))
}

/// Adds to a report what is known outside of the check; a check that was refused is no report.
fn complete(report: &mut Report, opened: &OpenedFiles, context: &Context) -> anyhow::Result<()> {
    if let Some(refused) = &report.refused {
        bail!("Msg {}, Level {}: {}", refused.error, refused.severity, refused.message);
    }
    add_what_reader_found(report, opened, context);
    if let Some(found) = opened.in_use() {
        let text = found.to_string();
        context.warn(&format!("{text}: what was found is not reported as damage"));
        report.withdraw(&text);
    }
    Ok(())
}

fn exit_of(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Clean => Exit::Done,
        Verdict::Damaged => Exit::Found,
        Verdict::Incomplete => Exit::Incomplete,
    }
}

/// Prints what a check would need; nothing was checked.
fn write_estimate(
    opened: &OpenedFiles,
    options: &Options,
    format: ReportFormat,
    mut output: Output,
) -> anyhow::Result<Exit> {
    let estimate = estimate(opened.source(), options);
    if let Some(refused) = &estimate.refused {
        bail!("Msg {}, Level {}: {}", refused.error, refused.severity, refused.message);
    }
    match format {
        ReportFormat::Text => output.write_all(estimate_to_text(&estimate).as_bytes())?,
        ReportFormat::Json => output.write_json(&estimate_to_json(&estimate))?,
        _ => bail!("an estimate is printed as text or json"),
    }
    output.finish()?;
    Ok(Exit::Done)
}

/// Opens what there is: a missing stripe makes the check incomplete.
pub(super) fn open(files: &[PathBuf], context: &Context) -> anyhow::Result<OpenedFiles> {
    let opened = match context.open(files) {
        Err(Error::Backup(backup::Error::MissingStripes { .. })) => {
            let options = OpenOptions { allow_missing_stripes: true, ..context.options() };
            OpenedFiles::open(files, &options)?
        }
        opened => opened?,
    };
    if opened.is_log_only() {
        bail!("this is a log file, which has no pages to check; `extentdb log` shows its records");
    }
    Ok(opened)
}

/// What the headers of a backup add to the options: the name of the database, and what is missing
/// of it.
fn with_backup(options: Options, opened: &OpenedFiles) -> Options {
    let Origin::Backup(backup) = opened.origin() else { return options };
    let name = &backup.set.header().database_name;
    let missing = backup.set.missing_families();
    Options {
        database: (!name.is_empty()).then(|| name.clone()),
        missing_part: (!missing.is_empty()).then(|| backup.family.describe_missing()),
        ..options
    }
}

/// The pages of an encrypted database are noise: a check would report every one of them. What the
/// encryption columns of a file header hold is not known for every version, so the catalog
/// decides.
fn refuse_encrypted(
    opened: &OpenedFiles,
    args: &CheckArgs,
    context: &Context,
) -> anyhow::Result<()> {
    let source = opened.source();
    let says_so = source.files().iter().any(|file| {
        let mut page = PageBuf::zeroed();
        let at = PageId { file: file.id, page: 0 };
        if source.read(at, &mut page).is_err()
            || PageHeader::of(&page).kind() != PageType::FileHeader
        {
            return false;
        }
        restore_torn(&mut page);
        FileHeaderView::new(&page).header().is_encrypted()
    });
    if !says_so {
        return Ok(());
    }
    match Database::from_opened(open(&args.files, context)?) {
        Err(error @ Error::Encrypted { .. }) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Does something with a database that was restarted in memory, knowing what became of its log.
pub(super) fn with_recovered<R>(
    opened: &OpenedFiles,
    options: &Options,
    work: impl FnOnce(&dyn PageSource, &Options) -> R,
) -> R {
    let options = &with_backup(options.clone(), opened);
    let log = match (&options.missing_part, &opened.restart().log) {
        (Some(why), _) => LogUse::Unusable(why.clone()),
        (None, LogState::NotReplayed | LogState::Closed) => LogUse::None,
        (None, LogState::Missing) => LogUse::Missing,
        (None, LogState::Unusable(why)) => LogUse::Unusable(why.clone()),
        (None, LogState::Replayed(summary)) => LogUse::Redone(Arc::clone(summary)),
    };
    work(opened.source(), &Options { log, ..options.clone() })
}

/// Does something with a progress line, to be stopped by the user.
pub(super) fn watched<R>(context: &Context, work: impl FnOnce(&Control<'_>) -> R) -> R {
    let progress = context.progress("check", 0);
    let watch = |now: &Progress| {
        let note = match (now.phase, now.findings) {
            (Phase::Plan, _) => "phase plan: catalog and allocation maps".to_owned(),
            (Phase::Scan, findings) => format!("phase scan, findings: {findings}"),
            (Phase::Verify, findings) => format!("phase verify, findings: {findings}"),
        };
        progress.show(now.pages_checked, now.pages_planned, now.bytes_read, &note);
    };
    let mut control = Control::new(&*context.clock, context.interrupt.flag());
    control.progress = Some(&watch);
    work(&control)
}

/// What was found and left out before the first page was looked at.
fn add_what_reader_found(report: &mut Report, opened: &OpenedFiles, context: &Context) {
    for log in opened.logs() {
        let what = format!("log file {} by itself", log.path().display());
        let why = "its records are used when the data files were not closed cleanly".to_owned();
        report.coverage.not_checked.push(NotChecked { what, why, was_asked_for: false });
    }
    if let Origin::Backup(backup) = opened.origin() {
        add_backup_findings(report, backup, context);
    }
}

fn add_backup_findings(report: &mut Report, backup: &Backup, context: &Context) {
    backup.chain().for_each(|set| add_set_findings(report, set.findings(), context));
}

fn add_set_findings(report: &mut Report, findings: &Findings, context: &Context) {
    for finding in findings.kept() {
        match &finding.what {
            FindingKind::MissingStripe { family, families } => {
                let what = format!("stripe {family} of {families} of the backup");
                context.warn(&format!("{what} is not given"));
                let why = "it is not given".to_owned();
                report.coverage.not_checked.push(NotChecked { what, why, was_asked_for: true });
                if report.verdict == Verdict::Clean {
                    report.verdict = Verdict::Incomplete;
                }
            }
            FindingKind::UnverifiedVersion => context.warn(&finding.to_string()),
            _ => {
                let path = finding.path.display().to_string();
                let mut reported = Finding::new(3241, Location::default(), [path.as_str().into()]);
                reported.message += &format!(" At byte {}: {}.", finding.offset, finding.what);
                report.findings.push(reported);
                report.verdict = Verdict::Damaged;
            }
        }
    }
    report.findings_omitted += findings.more();
}
