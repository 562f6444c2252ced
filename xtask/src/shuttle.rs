//! `cargo x shuttle`: the tests whose schedule of threads follows from a seed.
//!
//! They are built with `--cfg shuttle`, in which all locks, waits and atomics are those of the
//! scheduler: in a target folder of their own, so that the usual build is not thrown away.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::check::cargo_path;

/// Tests by package: a file of their own, or those of the library with this word in their path.
const TESTS: [(&str, [&str; 2]); 9] = [
    ("extentdb-base", ["--test", "shuttle_cancel"]),
    ("extentdb-wal", ["--test", "shuttle_flush"]),
    ("extentdb-buffer", ["--test", "shuttle_latch"]),
    ("extentdb-txn", ["--test", "shuttle_locks"]),
    ("extentdb-txn", ["--test", "shuttle_snapshots"]),
    ("extentdb-rowset", ["--lib", "shuttle"]),
    ("extentdb-sim", ["--test", "shuttle_sessions"]),
    ("extentdb-sim", ["--test", "shuttle_ddl"]),
    ("extentdb-sim", ["--test", "shuttle_runs"]),
];

/// Builds and runs them; fails with the first that does.
pub fn run(root: &Path) -> Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| OsString::from("target"));
    for (package, tests) in TESTS {
        let mut cargo = Command::new(cargo_path());
        cargo.args(["test", "--package", package]).args(tests);
        cargo
            .env("RUSTFLAGS", "--cfg shuttle")
            .env("CARGO_TARGET_DIR", Path::new(&target).join("shuttle"));
        let status = cargo.current_dir(root).status().context("cannot start cargo")?;
        if !status.success() {
            bail!("{} of {package} failed", tests[1]);
        }
    }
    Ok(())
}
