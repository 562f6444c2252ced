//! `log`.

use anyhow::bail;
use clap::Args;

use crate::cli::Common;
use crate::context::Context;
use crate::exit::Exit;

/// Options of `log`.
#[derive(Args, Debug)]
pub(crate) struct LogArgs {
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Runs the verb.
pub(crate) fn run(_args: &LogArgs, _context: &Context) -> anyhow::Result<Exit> {
    bail!("not supported: log is not built yet")
}
