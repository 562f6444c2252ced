//! `cargo x gen`: `crates/catalog/src/table/rows.tsv` out of the system tables of a real database.
//! `cargo x gen man`: the manual pages in `docs/man`.
//!
//! The work on the rows is done by a test of the engine that is otherwise ignored, beside the one
//! that compares the file with the same database: what is written and what is compared cannot
//! differ.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::check::cargo_path;

/// The manual pages, written by the program itself: it knows its verbs.
pub fn man(root: &Path) -> Result<()> {
    let mut cargo = Command::new(cargo_path());
    cargo.args(["run", "--quiet", "--package", "extentdb", "--", "man", "docs/man"]);
    let status = cargo.current_dir(root).status().context("cannot start cargo")?;
    if !status.success() {
        bail!("docs/man was not written");
    }
    Ok(())
}

/// The rows of a new database.
///
/// # Errors
/// There are no samples.
pub fn rows(root: &Path) -> Result<()> {
    let mut cargo = Command::new(cargo_path());
    cargo.args(["test", "--quiet", "--package", "extentdb-engine", "--lib", "--"]);
    cargo.args(["--ignored", "--exact", "tests::template::write_rows_tsv"]);
    let status = cargo.current_dir(root).status().context("cannot start cargo")?;
    if !status.success() {
        bail!("rows.tsv was not written");
    }
    Ok(())
}
