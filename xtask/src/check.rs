//! `cargo x check`: everything a commit must pass, quick things first.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{deps, tidy};

/// Crates whose tests take seconds. The rest belongs to `cargo test --workspace`.
const QUICK: [&str; 8] = ["base", "messages", "types", "kernel", "expr", "format", "io", "catalog"];

/// Runs all steps; stops at the first that fails.
pub fn run(root: &Path) -> Result<()> {
    component(root, "fmt", &["fmt", "--all", "--check"])?;
    tidy::run(root)?;
    deps::run(root)?;
    component(
        root,
        "clippy",
        &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"],
    )?;

    let packages: Vec<String> = QUICK.iter().map(|name| format!("extentdb-{name}")).collect();
    let mut args = vec!["test", "--quiet"];
    for package in &packages {
        args.extend(["-p", package]);
    }
    cargo(root, &args)
}

/// Runs a step whose tool may not be installed; its absence is said aloud and nothing else.
fn component(root: &Path, name: &str, args: &[&str]) -> Result<()> {
    let probe = Command::new(cargo_path())
        .args([name, "--version"])
        .current_dir(root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: cargo {name} is not installed (rustup component add {name})");
        return Ok(());
    }
    cargo(root, args)
}

fn cargo(root: &Path, args: &[&str]) -> Result<()> {
    println!("cargo {}", args.join(" "));
    let status = Command::new(cargo_path())
        .args(args)
        .current_dir(root)
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("cargo {} failed", args.join(" "));
    }
    Ok(())
}

/// The cargo that started this program, so that the toolchain stays the same.
pub(crate) fn cargo_path() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
