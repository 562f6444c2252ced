//! What may be asked of a check, under the names of DBCC CHECKDB where it has the option.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use clap::{Args, ValueEnum};
use extentdb_check::{IoChoice, Options, ScopeChoice};
use extentdb_messages::lookup;
use extentdb_report::TextOptions;

use super::format::ReportFormat;
use crate::measure::{duration, rate};
use crate::names::parse_exact;
use crate::options::CommonOptions;

/// Options of a check.
#[derive(Args, Clone, Debug)]
pub(crate) struct CheckOptions {
    /// PHYSICAL_ONLY: without ghost counts; errors and totals only
    #[arg(long)]
    physical_only: bool,
    /// NOINDEX: leave nonclustered indexes of user tables out
    #[arg(long)]
    no_index: bool,
    /// NO_INFOMSGS: errors and totals only
    #[arg(long)]
    no_infomsgs: bool,
    /// ALL_ERRORMSGS: print every message as text, not only ten of each number
    #[arg(long)]
    all_errormsgs: bool,
    /// Print as text what no check looks at, too
    #[arg(long)]
    verbose: bool,
    /// DATA_PURITY: are column values within their types?
    #[arg(long)]
    data_purity: bool,
    /// EXTENDED_LOGICAL_CHECKS: indexed views, XML and spatial indexes
    #[arg(long)]
    extended_logical_checks: bool,
    /// CHECKTABLE: only this table with all its indexes
    #[arg(long, value_name = "TABLE", conflicts_with = "filegroup")]
    table: Option<String>,
    /// CHECKFILEGROUP: only this filegroup, by name or number
    #[arg(long, value_name = "NAME")]
    filegroup: Option<String>,
    /// ESTIMATEONLY: say what memory the check would need, and check nothing
    #[arg(long)]
    estimate_only: bool,
    /// Most findings to list; the others are counted
    #[arg(long, value_name = "N")]
    max_errors: Option<usize>,
    /// Most bytes to read in a second, such as 400MB/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    max_rate: Option<NonZeroU64>,
    /// Stop after this time, such as 90s or 2h; the verdict is then incomplete
    #[arg(long, value_name = "TIME", value_parser = duration)]
    time_limit: Option<Duration>,
    /// Keep the state of a run that stops in this file, and go on from it
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Read through the page cache or past it; auto decides by what is cached
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    io: Io,
}

/// How the file is read, `--io`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Io {
    /// Buffered when the file is mostly in the page cache, else direct.
    #[default]
    Auto,
    /// Past the page cache.
    Direct,
    /// Through the page cache.
    Buffered,
}

impl CheckOptions {
    /// The options of the checker; what it cannot do yet is refused, not left out in silence.
    pub(crate) fn for_check(
        &self,
        common: &CommonOptions,
        format: ReportFormat,
    ) -> anyhow::Result<Options> {
        self.refuse_contradictions()?;
        let shows_pictures = format == ReportFormat::Html;
        let defaults = Options::default();
        Ok(Options {
            physical_only: self.physical_only,
            no_index: self.no_index,
            no_infomsgs: self.no_infomsgs || common.quiet,
            data_purity: self.data_purity,
            extended_logical_checks: self.extended_logical_checks,
            scope: self.scope()?,
            map: shows_pictures,
            timeline: shows_pictures,
            jobs: NonZeroUsize::new(common.jobs()),
            io: match self.io {
                Io::Auto => IoChoice::Auto,
                Io::Direct => IoChoice::Direct,
                Io::Buffered => IoChoice::Buffered,
            },
            max_rate: self.max_rate,
            time_limit: self.time_limit,
            max_errors: self.max_errors.unwrap_or(defaults.max_errors),
            ..defaults
        })
    }

    /// How much the text report says.
    pub(super) fn text(&self) -> TextOptions {
        TextOptions { all_errormsgs: self.all_errormsgs, verbose: self.verbose }
    }

    /// Where the state of a run that stops is kept.
    pub(super) fn state(&self) -> Option<&Path> {
        self.state.as_deref()
    }

    /// Is it only asked what a check would need?
    pub(super) fn estimates_only(&self) -> bool {
        self.estimate_only
    }

    fn scope(&self) -> anyhow::Result<ScopeChoice> {
        Ok(match (&self.table, &self.filegroup) {
            (Some(table), _) => {
                let (schema, name) = parse_exact(table)?;
                ScopeChoice::Table { schema, name }
            }
            (None, Some(filegroup)) => ScopeChoice::Filegroup(filegroup.clone()),
            (None, None) => ScopeChoice::Database,
        })
    }

    fn refuse_contradictions(&self) -> anyhow::Result<()> {
        if self.physical_only && self.data_purity {
            /// "The '%ls' and '%ls' options are not allowed on the same statement."
            const BOTH: u32 = 2559;
            let text =
                lookup(BOTH).map(|it| it.format(&["PHYSICAL_ONLY".into(), "DATA_PURITY".into()]));
            bail!("Msg {BOTH}, Level 16: {}", text.and_then(Result::ok).unwrap_or_default());
        }
        Ok(())
    }
}
