//! `check`.

use anyhow::bail;
use clap::Args;

use crate::cli::Common;
use crate::context::Context;
use crate::exit::Exit;

/// Options of `check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Runs the verb.
pub(crate) fn run(_args: &CheckArgs, _context: &Context) -> anyhow::Result<Exit> {
    bail!("not supported: check is not built yet")
}
