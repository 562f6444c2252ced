//! `extentdb`: reads, proves and exports SQL Server files on any machine.
//!
//! ```text
//! cli      what may be typed            command/  one file per verb
//! context  what every verb is handed    output    where the result goes: stdout, or a file that
//!                                                 appears when it is whole
//! progress the line on stderr           interrupt Ctrl-C and SIGTERM
//! exit     exit codes and the last line of a failure        names     of tables, as typed and as
//!                                                                     T-SQL writes them
//! scratch  files that must not outlive the process              inputs    from what was typed to
//!                                                                         files of databases
//! suggest  names that may have been meant                      terminal  its width, and colours
//! ```
//!
//! Invariants
//! - stdout carries the result, stderr everything else.
//! - Input files are opened read-only, and no output ever replaces one of them.
//! - The exit code is one of [`exit::Exit`]'s, whatever happens.

#![forbid(unsafe_code)]

mod cli;
mod command;
mod context;
mod exit;
mod grid;
mod inputs;
mod interrupt;
mod measure;
mod names;
mod options;
mod output;
mod progress;
mod scratch;
mod suggest;
mod terminal;

use std::process::ExitCode;

use crate::exit::Exit;

fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    let exit_zero = cli.verb.common().is_some_and(|common| common.exit_zero);
    match command::run(cli.verb) {
        Ok(Exit::Found) if exit_zero => Exit::Done.into(),
        Ok(exit) => exit.into(),
        Err(error) if exit::is_broken_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            exit::report(&error);
            Exit::Failed.into()
        }
    }
}
