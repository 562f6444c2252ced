//! What may be typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use extentdb_base::sync::OnceLock;
use extentdb_format::allocation::boot::DatabaseVersion;

use crate::command;
use crate::options::CommonOptions;

/// Reads, proves and exports SQL Server files on any machine.
///
/// Input files are opened read-only, always. No telemetry; no network access but for `serve`, which
/// listens, and `sql`, which connects. Exit codes: 0 done; 1 the job could not be done; 2 damage or
/// a difference was found; 3 something that was asked for was not done; 130 or 143 interrupted.
#[derive(Parser, Debug)]
#[command(name = "extentdb", version = version(), max_term_width = 110, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Common options that a verb takes and has no use for: its help leaves them out.
const NOT_IN_HELP: [(&str, &[&str]); 13] = [
    ("info", &["color"]),
    ("tables", &["color", "progress"]),
    ("schema", &["color", "progress"]),
    ("export", &["color"]),
    ("query", &["color", "progress"]),
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
    /// Runs a SELECT over the files of a database or a backup
    Query(command::query::QueryArgs),
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
    #[cfg(feature = "server")]
    Demo(command::demo::DemoArgs),
    /// Serves databases over the protocol of SQL Server
    #[cfg(feature = "server")]
    Serve(command::serve::ServeArgs),
    /// Runs T-SQL on a server, as sqlcmd does
    #[cfg(feature = "server")]
    Sql(command::sql::SqlArgs),
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
            Verb::Query(args) => Some(&mut args.files),
            Verb::Page(args) => Some(&mut args.files),
            Verb::Log(args) => Some(&mut args.files),
            Verb::Check(args) => Some(&mut args.files),
            _ => None,
        }
    }

    /// The options that all verbs share.
    pub(crate) fn common(&self) -> Option<&CommonOptions> {
        Some(match self {
            Verb::Info(args) => &args.common,
            Verb::Tables(args) => &args.common,
            Verb::Schema(args) => &args.common,
            Verb::Export(args) => &args.common,
            Verb::Query(args) => &args.common,
            Verb::Page(args) => &args.common,
            Verb::Log(args) => &args.common,
            Verb::Check(args) => &args.common,
            Verb::CheckPartial(args) => &args.check.common,
            Verb::CheckMerge(args) => &args.check.common,
            Verb::Explain(args) => &args.common,
            Verb::Make(args) => &args.common,
            Verb::Damage(args) => &args.common,
            #[cfg(feature = "server")]
            Verb::Demo(args) => &args.common,
            #[cfg(feature = "server")]
            Verb::Serve(args) => &args.common,
            #[cfg(feature = "server")]
            Verb::Sql(args) => &args.common,
            Verb::Completions(args) => &args.common,
            Verb::Man(args) => &args.common,
            Verb::Other(_) => return None,
        })
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
