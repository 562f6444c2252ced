//! The prompt, for a person at a terminal: `1> `, `2> `, as the lines of a batch are counted.
//!
//! The terminal edits lines; what was typed is kept in a plain file, `.extentdb_history` in the
//! home folder, or the one that EXTENTDB_HISTORY names. Passwords are typed there only by those who
//! type them as T-SQL; lines that hold the word are not kept.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use crate::context::Context;
use crate::exit::chain;

use super::session::{Flow, Session};

/// Name of the file of what was typed.
const HISTORY: &str = ".extentdb_history";

/// Takes lines to the end of the input.
pub(super) fn run(session: &mut Session<'_>, context: &Context) -> anyhow::Result<()> {
    let mut history = history();
    let mut lines = io::stdin().lock().lines();
    while context.interrupt.stopped().is_none() {
        write!(session.out, "{}> ", session.line_number())?;
        session.out.flush()?;
        let Some(line) = lines.next() else { break };
        let line = line?;
        keep(&mut history, &line);
        match session.line(&line, 0) {
            Ok(Flow::Next) => {}
            Ok(Flow::End) => break,
            // A mistyped command is no reason to end; a broken connection is.
            Err(error) if error.downcast_ref::<extentdb_client::Error>().is_none() => {
                context.warn(&chain(error.as_ref()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The file of what was typed, which nobody else may read; `None` where there can be none.
fn history() -> Option<File> {
    let named = std::env::var_os("EXTENTDB_HISTORY").map(PathBuf::from);
    let path = named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(HISTORY)))?;
    let mut options = File::options();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).ok()
}

fn keep(history: &mut Option<File>, line: &str) {
    if line.trim().is_empty() || line.to_lowercase().contains("password") {
        return;
    }
    if let Some(file) = history {
        // A history that cannot be written is missed by nobody at this moment.
        let _ = writeln!(file, "{line}");
    }
}
