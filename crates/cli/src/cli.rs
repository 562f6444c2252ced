//! What may be typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use extentdb_base::sync::OnceLock;
use extentdb_format::allocation::boot::DatabaseVersion;
use extentdb_reader::backup::StopAt;

use crate::command;
use crate::terminal::Color;

/// Reads, proves and exports SQL Server files on any machine.
///
/// Input files are opened read-only, always. No telemetry, no network access. Exit codes: 0 done; 1
/// the job could not be done; 2 damage or a difference was found; 3 something that was asked for
/// was not done; 130 or 143 interrupted.
#[derive(Parser, Debug)]
#[command(name = "extentdb", version = version(), max_term_width = 110, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// The verb.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Common options that a verb takes and has no use for: its help leaves them out.
const NOT_IN_HELP: [(&str, &[&str]); 12] = [
    ("info", &["color"]),
    ("tables", &["color", "progress"]),
    ("schema", &["color", "progress"]),
    ("export", &["color"]),
    ("page", &["color", "progress"]),
    ("log", &["color", "no_siblings"]),
    ("explain", &["color", "progress", "jobs", "set", "no_siblings", "exit_zero"]),
    ("make", &["color", "jobs", "set", "no_siblings", "exit_zero"]),
    ("damage", &["color", "jobs", "set", "no_siblings", "exit_zero"]),
    ("demo", &["color", "progress", "jobs", "set", "no_siblings", "exit_zero"]),
    ("completions", &["color", "progress", "jobs", "set", "no_siblings", "exit_zero"]),
    ("man", &["color", "progress", "jobs", "set", "no_siblings", "exit_zero", "output", "force"]),
];

/// The command line, with the help of each verb as it is shown.
pub(crate) fn command() -> clap::Command {
    let hide = |verb: clap::Command, options: &[&'static str]| {
        options.iter().fold(verb, |verb, option| verb.mut_arg(*option, |option| option.hide(true)))
    };
    NOT_IN_HELP.iter().fold(Cli::command(), |program, (verb, options)| {
        program.mut_subcommand(*verb, |verb| hide(verb, options))
    })
}

/// Reads the command line of this process.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&command().try_get_matches()?)
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Says what a database file, log or backup is and holds
    Info(command::info::InfoArgs),
    /// Lists tables with columns, types, indexes, rows and pages
    Tables(command::tables::TablesArgs),
    /// Prints the CREATE statements of everything in a database
    Schema(command::schema::SchemaArgs),
    /// Writes the rows of tables as JSON lines, CSV or SQL
    Export(command::export::ExportArgs),
    /// Shows one page
    Page(command::page::PageArgs),
    /// Shows the records of a transaction log
    Log(command::log::LogArgs),
    /// Checks a database as DBCC CHECKDB does
    Check(command::check::CheckArgs),
    /// Checks a part of a database for check-merge
    #[command(hide = true)]
    CheckPartial(command::check::parts::PartialArgs),
    /// Adds up what check-partial found
    #[command(hide = true)]
    CheckMerge(command::check::parts::MergeArgs),
    /// Says what a message number means
    Explain(command::explain::ExplainArgs),
    /// Builds a valid database to try things on
    Make(command::make::MakeArgs),
    /// Makes one known fault in a copy of a file
    Damage(command::damage::DamageArgs),
    /// The first five minutes, on a database of its own
    Demo(command::demo::DemoArgs),
    /// Prints the completions of a shell
    Completions(command::manual::CompletionsArgs),
    /// Writes the manual pages into a folder
    #[command(hide = true)]
    Man(command::manual::ManArgs),
    /// Verbs of later versions, and typing errors.
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

impl Verb {
    /// The input files that may be compressed or stdin, and that may have siblings.
    pub(crate) fn inputs_mut(&mut self) -> Option<&mut Vec<PathBuf>> {
        match self {
            Verb::Info(args) => Some(&mut args.files),
            Verb::Tables(args) => Some(&mut args.files),
            Verb::Schema(args) => Some(&mut args.files),
            Verb::Export(args) => Some(&mut args.files),
            Verb::Page(args) => Some(&mut args.files),
            Verb::Log(args) => Some(&mut args.files),
            Verb::Check(args) => Some(&mut args.files),
            _ => None,
        }
    }

    /// The options that all verbs share.
    pub(crate) fn common(&self) -> Option<&Common> {
        Some(match self {
            Verb::Info(args) => &args.common,
            Verb::Tables(args) => &args.common,
            Verb::Schema(args) => &args.common,
            Verb::Export(args) => &args.common,
            Verb::Page(args) => &args.common,
            Verb::Log(args) => &args.common,
            Verb::Check(args) => &args.common,
            Verb::CheckPartial(args) => &args.check.common,
            Verb::CheckMerge(args) => &args.check.common,
            Verb::Explain(args) => &args.common,
            Verb::Make(args) => &args.common,
            Verb::Damage(args) => &args.common,
            Verb::Demo(args) => &args.common,
            Verb::Completions(args) => &args.common,
            Verb::Man(args) => &args.common,
            Verb::Other(_) => return None,
        })
    }
}

/// Options of every verb.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Common {
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
    pub(crate) progress: When,
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

impl Common {
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
pub(crate) enum When {
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
    format: Format,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// Text for people or JSON for programs.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Format {
    #[default]
    Text,
    Json,
}

impl FormatArgs {
    /// True for JSON.
    pub(crate) fn is_json(self) -> bool {
        self.json || self.format == Format::Json
    }
}

/// Version, machine, and the file versions that can be read.
fn version() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let oldest = DatabaseVersion::OLDEST_READ;
        let newest = DatabaseVersion::NEWEST_VERIFIED;
        format!(
            "{} (commit {}) for {}\nreads {oldest} to {newest}; newer versions by their own description",
            env!("CARGO_PKG_VERSION"),
            env!("EXTENTDB_COMMIT"),
            env!("EXTENTDB_TARGET"),
        )
    })
}
