//! Scripts that run before connections are taken: the first error ends the start.

use std::path::{Path, PathBuf};

use extentdb_base::sync::Arc;
use extentdb_session::login::{ClientInfo, SA};
use extentdb_session::{Connection, Gone, Message, Output, Request, Server};

use crate::error::Error;
use crate::files;

/// Runs scripts, batch by batch.
pub(crate) fn run(server: &Arc<Server>, scripts: &[PathBuf]) -> Result<(), Error> {
    for path in scripts {
        let what = "the script does not exist".to_owned();
        let missing = || Error::Setting { name: path.display().to_string(), what };
        let text = files::read(path)?.ok_or_else(missing)?;
        run_script(server, path, &text)?;
    }
    Ok(())
}

fn run_script(server: &Arc<Server>, path: &Path, text: &str) -> Result<(), Error> {
    let failed = |message: &Message, line: u32| Error::Script {
        path: path.to_owned(),
        line: line + message.line,
        number: message.number,
        text: message.text.clone(),
    };
    let opened = Connection::open(server, ClientInfo::local(SA));
    let mut connection = opened.map_err(|message| failed(&message, 0))?;
    for batch in batches(text) {
        let mut errors = FirstError::default();
        for _ in 0..batch.count {
            connection.begin_request();
            extentdb_session::run(
                &mut connection,
                &Request::Batch(batch.text.to_owned()),
                None,
                &mut errors,
            );
        }
        if let Some(message) = &errors.0 {
            return Err(failed(message, batch.line));
        }
    }
    Ok(())
}

struct Batch<'t> {
    text: &'t str,
    /// Lines before it.
    line: u32,
    count: u32,
}

/// The batches between lines of GO.
fn batches(text: &str) -> Vec<Batch<'_>> {
    let mut batches = Vec::new();
    let mut start = 0;
    let mut end = 0;
    let mut line = 0;
    let mut first_line = 0;
    for piece in text.split_inclusive('\n') {
        let words: Vec<&str> = piece.split_whitespace().collect();
        line += 1;
        if words.first().is_some_and(|word| word.eq_ignore_ascii_case("go")) && words.len() <= 2 {
            let count = words.get(1).and_then(|count| count.parse().ok()).unwrap_or(1);
            batches.push(Batch { text: &text[start..end], line: first_line, count });
            start = end + piece.len();
            first_line = line;
        }
        end += piece.len();
    }
    batches.push(Batch {
        text: &text[start.min(text.len())..],
        line: first_line,
        count: 1,
    });
    batches.retain(|batch| !batch.text.trim().is_empty());
    batches
}

/// Keeps the first error.
#[derive(Default)]
struct FirstError(Option<Message>);

impl Output for FirstError {
    fn message(&mut self, message: &Message, _: bool) -> Result<(), Gone> {
        if message.is_error() {
            self.0.get_or_insert_with(|| message.clone());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::batches;

    #[test]
    fn a_script_is_cut_at_go() {
        let text = "select 1\nGO\nselect 2\nselect 3\ngo 3\n\nselect 4";
        let shown: Vec<_> =
            batches(text).iter().map(|it| (it.text.trim(), it.line, it.count)).collect();
        assert_eq!(shown, [("select 1", 0, 1), ("select 2\nselect 3", 2, 3), ("select 4", 5, 1)]);
    }
}
