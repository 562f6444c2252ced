//! Runs of `extentdb check` as its users start it: a process from its start to its end.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::child;
use crate::report::{Measured, best_of};

/// The depth of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The full check, without options.
    Full,
    /// The check with `--physical-only`.
    Physical,
}

/// A data file.
#[derive(Clone, Copy)]
pub struct Data<'f> {
    /// Its name in a table.
    pub name: &'f str,
    /// Where it is.
    pub file: &'f Path,
    /// Rows of its tables.
    pub rows: u64,
}

/// The given program, or the one built with this one.
///
/// # Errors
/// It does not exist.
pub fn program(given: Option<PathBuf>) -> Result<PathBuf> {
    let built = || -> Result<PathBuf> {
        let name = format!("extentdb{}", std::env::consts::EXE_SUFFIX);
        Ok(std::env::current_exe()?.with_file_name(name))
    };
    let path = given.map_or_else(built, Ok)?;
    ensure!(
        path.is_file(),
        "{}: build it with the same profile: cargo build --release -p extentdb",
        path.display()
    );
    Ok(path)
}

/// Path of the `extentdb` binary to be measured.
pub struct Checker(PathBuf);

impl Checker {
    /// The given program, or the one built with this one.
    ///
    /// # Errors
    /// The program does not exist.
    pub fn find(given: Option<PathBuf>) -> Result<Checker> {
        program(given).map(Checker)
    }

    /// The shortest of several runs, and the memory of one more, which also brings the file into
    /// the page cache.
    ///
    /// # Errors
    /// The file is not clean: it would not be worth timing.
    pub fn measure(
        &self,
        data: Data<'_>,
        scope: Scope,
        threads: usize,
        runs: u32,
    ) -> Result<Measured> {
        let Data { name, file, rows } = data;
        let peak = child::peak_memory(&mut self.command(file, scope, threads))?;
        let (time, result) = best_of(runs, || child::run(&mut self.command(file, scope, threads)));
        result?;
        let option = if scope == Scope::Physical { " --physical-only" } else { "" };
        let what = format!("extentdb check{option} --jobs {threads}, {name}");
        let bytes = std::fs::metadata(file).with_context(|| file.display().to_string())?.len();
        Ok(Measured { what, bytes, rows: Some(rows), time, peak })
    }

    fn command(&self, file: &Path, scope: Scope, threads: usize) -> Command {
        let mut command = Command::new(&self.0);
        command.args(["check", "--quiet", "--progress", "never", "--io", "buffered"]);
        command.args(["--jobs", &threads.to_string()]);
        if scope == Scope::Physical {
            command.arg("--physical-only");
        }
        command.arg(file);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_follow_the_options() {
        let checker = Checker(PathBuf::from("extentdb"));
        let text = |scope, threads| {
            let command = checker.command(Path::new("a.mdf"), scope, threads);
            let args: Vec<_> =
                command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
            args[6..].join(" ")
        };
        assert_eq!(text(Scope::Full, 2), "--jobs 2 a.mdf");
        assert_eq!(text(Scope::Physical, 1), "--jobs 1 --physical-only a.mdf");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error =
            Checker::find(Some(PathBuf::from("no/such/extentdb"))).err().unwrap().to_string();
        assert!(error.contains("no/such/extentdb") && error.contains("cargo build"), "{error}");
    }
}
