//! What may be asked of a check, under the names of DBCC CHECKDB where it has the option.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, ValueEnum};
use extentdb_check::{IoChoice, Options};

use crate::cli::Common;
use crate::measure::{duration, rate};

/// Options of a check.
#[derive(Args, Debug)]
pub(super) struct CheckOptions {
    /// PHYSICAL_ONLY: without ghost counts; errors and totals only
    #[arg(long)]
    physical_only: bool,
    /// NOINDEX: leave nonclustered indexes of user tables out
    #[arg(long)]
    no_index: bool,
    /// NO_INFOMSGS: errors and totals only
    #[arg(long)]
    no_infomsgs: bool,
    /// DATA_PURITY: are column values within their types?
    #[arg(long)]
    data_purity: bool,
    /// EXTENDED_LOGICAL_CHECKS: indexed views, XML and spatial indexes
    #[arg(long)]
    extended_logical_checks: bool,
    /// Only these tables
    #[arg(long, value_name = "TABLE")]
    table: Vec<String>,
    /// Only this filegroup
    #[arg(long, value_name = "NAME")]
    filegroup: Option<String>,
    /// ESTIMATEONLY: say what the check would need, and stop
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

/// `--io`.
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
    pub(super) fn for_check(&self, common: &Common) -> anyhow::Result<Options> {
        self.refuse_later_ones()?;
        let defaults = Options::default();
        Ok(Options {
            physical_only: self.physical_only,
            no_index: self.no_index,
            no_infomsgs: self.no_infomsgs || common.quiet,
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

    fn refuse_later_ones(&self) -> anyhow::Result<()> {
        let later = [
            (self.data_purity, "--data-purity is a logical check, which come with a later version"),
            (self.extended_logical_checks, "--extended-logical-checks come with a later version"),
            (!self.table.is_empty(), "--table: a check covers the whole database in this version"),
            (self.filegroup.is_some(), "--filegroup: a check covers the whole database in this version"),
            (
                self.estimate_only,
                "--estimate-only: no tempdb is used, and there is no estimate of memory yet",
            ),
            (self.state.is_some(), "--state: a run that was stopped cannot be continued in this version"),
        ];
        match later.into_iter().find(|(is_asked_for, _)| *is_asked_for) {
            Some((_, why)) => bail!("not supported: {why}"),
            None => Ok(()),
        }
    }
}
