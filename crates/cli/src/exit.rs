//! Exit codes, and how a failure is told.
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | done, nothing wrong |
//! | 1 | the job could not be done: usage, I/O, not supported |
//! | 2 | done, and damage or a difference was found |
//! | 3 | something that was asked for was not done, nothing wrong was found |
//! | 130, 143 | interrupted: Ctrl-C, SIGTERM |

use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Done, nothing wrong.
    Done,
    /// Could not do the job.
    Failed,
    /// Done; damage or a difference was found.
    Found,
    /// Something that was asked for was not done.
    Incomplete,
    /// Stopped by this signal.
    Interrupted(u8),
}

impl Exit {
    /// The code of the process.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Found => 2,
            Exit::Incomplete => 3,
            Exit::Interrupted(signal) => 128 + signal,
        }
    }

    /// The worse of two ends: interrupted, then found, then incomplete.
    pub(crate) fn and(self, other: Exit) -> Exit {
        let rank = |exit: Exit| match exit {
            Exit::Done => 0,
            Exit::Incomplete => 1,
            Exit::Found => 2,
            Exit::Failed => 3,
            Exit::Interrupted(_) => 4,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// What clap has to say: help and version are results, everything else is a usage error.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // Nothing can be done about a closed stream here.
    let _ = error.print();
    if error.use_stderr() { Exit::Failed.into() } else { Exit::Done.into() }
}

/// Prints an error with its causes as one line.
pub(crate) fn report(error: &anyhow::Error) {
    say(&chain(error.as_ref()));
}

/// A line on stderr, on top of a progress line that may be there.
pub(crate) fn say(text: &str) {
    let mut stderr = io::stderr().lock();
    let clear = if stderr.is_terminal() { "\r\x1b[K" } else { "" };
    // A closed stderr wants no messages.
    let _ = writeln!(stderr, "{clear}extentdb: {text}");
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    let mut next = Some(error);
    let mut last = String::new();
    while let Some(error) = next {
        let text = error.to_string();
        // Transparent wrappers repeat what they wrap.
        if text != last {
            let separator = if line.is_empty() { "" } else { ": " };
            line.push_str(separator);
            line.push_str(&text);
        }
        (last, next) = (text, error.source());
    }
    line.replace(['\n', '\r'], " ")
}

/// True when the reader of stdout went away: it has seen enough, which is not our error.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_wins_over_incomplete_and_a_signal_over_both() {
        assert_eq!(Exit::Incomplete.and(Exit::Found), Exit::Found);
        assert_eq!(Exit::Found.and(Exit::Incomplete), Exit::Found);
        assert_eq!(Exit::Done.and(Exit::Incomplete), Exit::Incomplete);
        assert_eq!(Exit::Found.and(Exit::Interrupted(2)).code(), 130);
        assert_eq!(Exit::Interrupted(15).and(Exit::Found).code(), 143);
    }

    #[test]
    fn causes_stand_in_one_line_and_are_not_repeated() {
        let cause = io::Error::other("disk\non fire");
        let error = anyhow::Error::new(cause).context("cannot open x.mdf");
        assert_eq!(chain(error.as_ref()), "cannot open x.mdf: disk on fire");
    }
}
