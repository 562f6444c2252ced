//! Tells the program from which commit and for which machine it is built, for `--version`.

use std::process::Command;

fn main() {
    let commit = std::env::var("EXTENTDB_COMMIT")
        .ok()
        .or_else(commit)
        .unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=EXTENTDB_COMMIT={commit}");
    let target = std::env::var("TARGET").unwrap_or_else(|_| "unknown".to_owned());
    println!("cargo::rustc-env=EXTENTDB_TARGET={target}");
    println!("cargo::rerun-if-env-changed=EXTENTDB_COMMIT");
    // A commit changes the log of HEAD. Files that are not there would make every build run this
    // again.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        .filter(|log| std::path::Path::new(log).exists())
    {
        println!("cargo::rerun-if-changed={log}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// The commit; `None` without git, or outside of a repository of our own.
fn commit() -> Option<String> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let here =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    // Sources that were unpacked in the repository of somebody else are of no commit of it.
    let is_ours = std::path::Path::new(&top).canonicalize().is_ok_and(|top| top == here);
    if is_ours { git(&["rev-parse", "--short=12", "HEAD"]) } else { None }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
