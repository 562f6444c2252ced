//! `damage`.

use anyhow::bail;
use clap::Args;

use crate::cli::Common;
use crate::context::Context;
use crate::exit::Exit;

/// Options of `damage`.
#[derive(Args, Debug)]
pub(crate) struct DamageArgs {
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Runs the verb.
pub(crate) fn run(_args: &DamageArgs, _context: &Context) -> anyhow::Result<Exit> {
    bail!("not supported: damage is not built yet")
}
