//! Runs the program as a user would, on the sample files where they are.

#![allow(dead_code, reason = "every test binary uses its own part")]

#[cfg(feature = "server")]
pub(crate) mod answer;
#[cfg(feature = "server")]
pub(crate) mod process;
#[cfg(unix)]
pub(crate) mod signal;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a run ended.
pub(crate) struct Run {
    /// Exit code; -1 for a signal.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The output, when the run ended with this code.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> String {
        assert_eq!(self.code, code, "stderr: {}", self.stderr);
        self.stdout
    }

    /// What was said on stderr, when the run ended with this code.
    #[track_caller]
    pub(crate) fn complaint(self, code: i32) -> String {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self.stderr
    }
}

/// The program with its arguments.
pub(crate) fn command<I: IntoIterator<Item = A>, A: AsRef<OsStr>>(arguments: I) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_extentdb"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub(crate) fn extentdb<I: IntoIterator<Item = A>, A: AsRef<OsStr>>(arguments: I) -> Run {
    let output = command(arguments).output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A sample file; without the samples the test says so and ends.
pub(crate) fn sample(name: &str) -> Option<PathBuf> {
    there(samples().join(name))
}

/// A file of the further samples, which lie in the folder `more-samples` beside the samples.
pub(crate) fn more_sample(name: &str) -> Option<PathBuf> {
    there(samples().join("../more-samples").join(name))
}

fn samples() -> PathBuf {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples");
    std::env::var_os("EXTENTDB_SAMPLES").map_or_else(|| PathBuf::from(default), PathBuf::from)
}

fn there(path: PathBuf) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path);
    }
    eprintln!("SKIPPED: no samples: {} is not there", path.display());
    None
}

/// All samples that hold a whole database.
pub(crate) const DATABASES: [&str; 8] = [
    "bookshop-2008r2.mdf",
    "crud-2012.mdf",
    "northwind-2008.mdf",
    "northwind-from-2000.mdf",
    "pubs-2008.mdf",
    "northwind-2014.bak",
    "pubs-2012.bak",
    "tsql2012-compressed.bak",
];

/// Runs a verb on one file.
pub(crate) fn on(verb: &str, file: &Path, rest: &[&str]) -> Run {
    let mut arguments = vec![OsStr::new(verb), file.as_os_str()];
    arguments.extend(rest.iter().map(OsStr::new));
    extentdb(arguments)
}
