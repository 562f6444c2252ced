//! `demo`.

use anyhow::bail;
use clap::Args;

use crate::cli::Common;
use crate::context::Context;
use crate::exit::Exit;

/// Options of `demo`.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Runs the verb.
pub(crate) fn run(_args: &DemoArgs, _context: &Context) -> anyhow::Result<Exit> {
    bail!("not supported: demo is not built yet")
}
