//! Options that several verbs share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use extentdb_reader::backup::StopAt;

use crate::terminal::Color;

/// Options of every verb.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Common options")]
pub(crate) struct CommonOptions {
    /// Write the result to a file, which appears when it is whole; devices and pipes are written
    /// through
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an output file that exists; the new one takes its owner and mode
    #[arg(long)]
    pub(crate) force: bool,
    /// Threads to use (default: one per processor)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Show progress on stderr: auto = a line that moves on a terminal, a plain line every 10 s
    /// elsewhere
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) progress: ProgressMode,
    /// Colour the verdict: auto = on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,
    /// Only the result and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Take only the files given: do not look for others of the database in their folder
    #[arg(long)]
    pub(crate) no_siblings: bool,
    /// Which backup set of a file with several, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) set: Option<u32>,
    /// Backups: where the chain of log backups ends. Transactions that committed after this time of
    /// the server (2026-05-02T21:05:00) are rolled back; an LSN is the last record that counts
    #[arg(long, value_name = "TIME|LSN", value_parser = stop_at)]
    pub(crate) stop_at: Option<StopAt>,
    /// Exit 0 where it would be 2: damage is only reported
    #[arg(long)]
    pub(crate) exit_zero: bool,
}

impl CommonOptions {
    /// Threads to use.
    pub(crate) fn jobs(&self) -> usize {
        let machine = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.jobs.map_or_else(machine, usize::from)
    }
}

/// A time, or an LSN as `log` prints it or as RESTORE does.
fn stop_at(text: &str) -> Result<StopAt, String> {
    let lsn = || text.strip_prefix("lsn:").unwrap_or(text).parse().map(StopAt::Lsn);
    let both =
        |_| "neither a time such as 2026-05-02T21:05:00 nor an LSN such as 00000031:000000b4:0003";
    text.parse().map(StopAt::Time).or_else(|_| lsn()).map_err(|error| both(error).to_owned())
}

/// When to show progress.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ProgressMode {
    /// When the command takes long.
    #[default]
    Auto,
    /// From the start, at least once a second.
    Always,
    /// Not at all.
    Never,
}

/// `--format text|json` of the verbs that describe.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct FormatArgs {
    /// How to print the result
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// Text for people or JSON for programs.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ReportFormat {
    #[default]
    Text,
    Json,
}

impl FormatArgs {
    /// True for JSON.
    pub(crate) fn is_json(self) -> bool {
        self.json || self.format == ReportFormat::Json
    }
}
