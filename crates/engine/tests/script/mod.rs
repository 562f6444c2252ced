//! Runs goldenscripts: sessions against each other, statement by statement, with the expected
//! output beneath. How to read and add one: README.md of this crate.
//!
//! ```text
//! script ── goldenscript ──▶ runner ── job ──▶ thread of a session ──▶ Session
//!                              │ ▲                   │
//!                              │ └── output, rows ───┘ or it waits: LockManager::locks
//!                              └──▶ names   keys, rows and transactions by their names
//! ```

mod cursors;
mod names;
mod runner;
mod statement;
mod syntax;
mod words;
mod worker;

use std::path::{Path, PathBuf};

use runner::{OTHER_SESSION, Runner};

/// The folder of all scripts.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")
}

/// Runs a script; its output must be the expected one. With `UPDATE_GOLDENFILES=1` it becomes it.
pub(crate) fn run(name: &str) {
    let path = folder().join(name).with_extension("script");
    let script = std::fs::read_to_string(&path).unwrap();
    let output = goldenscript::generate(&mut Runner::new(), &script).unwrap();
    let output = without_prefixes(&output);
    if std::env::var_os("UPDATE_GOLDENFILES").is_some() {
        std::fs::write(&path, output).unwrap();
        return;
    }
    let differs = script.lines().zip(output.lines()).position(|(old, new)| old != new);
    let at = differs.unwrap_or(script.lines().count().min(output.lines().count()));
    let found = output.lines().skip(at.saturating_sub(5)).take(12).collect::<Vec<_>>().join("\n");
    assert!(script == output, "{name}: line {} differs; found:\n{found}", at + 1);
}

/// Lines about another session than the one whose command it was begin with that session's name.
fn without_prefixes(output: &str) -> String {
    let lines = output.split('\n');
    let own = |line: &'_ str| line.rsplit(OTHER_SESSION).next().unwrap_or_default().to_owned();
    lines.map(own).collect::<Vec<_>>().join("\n")
}
