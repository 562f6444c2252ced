//! `make`.

use anyhow::bail;
use clap::Args;

use crate::cli::Common;
use crate::context::Context;
use crate::exit::Exit;

/// Options of `make`.
#[derive(Args, Debug)]
pub(crate) struct MakeArgs {
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Runs the verb.
pub(crate) fn run(_args: &MakeArgs, _context: &Context) -> anyhow::Result<Exit> {
    bail!("not supported: make is not built yet")
}
