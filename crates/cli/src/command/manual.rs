//! `completions` and `man`: what shells and `man` know about the command line, made from its
//! definition.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use clap_complete::Shell;

use crate::cli;
use crate::context::Context;
use crate::exit::Exit;
use crate::options::CommonOptions;

/// The name of the program.
const NAME: &str = "extentdb";

/// Options of `completions`.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

/// Options of `man`.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// The folder that gets a page for each verb
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

/// Prints the completions of a shell.
pub(crate) fn completions(args: &CompletionsArgs, context: &Context) -> anyhow::Result<Exit> {
    let mut output = context.output(&[])?;
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), NAME, &mut script);
    output.write_all(&script)?;
    output.finish()?;
    Ok(Exit::Done)
}

/// Writes the manual pages.
pub(crate) fn pages(args: &ManArgs) -> anyhow::Result<Exit> {
    let failed = || format!("cannot write to {}", args.folder.display());
    fs::create_dir_all(&args.folder).with_context(failed)?;
    // The version is left out: pages would change with every commit.
    let all = cli::command().version(None::<&str>).disable_help_subcommand(true);
    clap_mangen::generate_to(all, &args.folder).with_context(failed)?;
    Ok(Exit::Done)
}
