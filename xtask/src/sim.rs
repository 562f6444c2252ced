//! `cargo x sim`: builds the simulator and hands its arguments on.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::check::cargo_path;

/// Runs the simulations that the arguments name; fails with the first that does.
pub fn run(root: &Path, arguments: impl Iterator<Item = OsString>) -> Result<()> {
    let mut cargo = Command::new(cargo_path());
    cargo.args(["run", "--quiet", "--profile", "test", "--package", "extentdb-sim", "--"]);
    let status = cargo.args(arguments).current_dir(root).status().context("cannot start cargo")?;
    if !status.success() {
        bail!("the simulation ended with a failure");
    }
    Ok(())
}
