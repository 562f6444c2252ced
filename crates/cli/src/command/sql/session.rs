//! A run: lines are gathered to batches, batches are sent, answers are shown.

use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context as _, bail};
use extentdb_client::Connection;

use super::command::{Command, HELP, OnError, command};
use super::quoting::Within;
use super::show::{Show, ShowStyle};
use super::variables::Variables;
use crate::interrupt::Interrupt;

/// Files within files.
const DEPTH_MAX: usize = 32;

/// A run.
pub(super) struct Session<'s> {
    pub(super) connection: Connection,
    pub(super) style: ShowStyle,
    pub(super) variables: Variables,
    pub(super) on_error: OnError,
    pub(super) interrupt: &'s Interrupt,
    pub(super) out: &'s mut dyn Write,
    batch: String,
    within: Within,
    /// Has a batch had an error?
    pub(super) has_failed: bool,
}

/// Does a run go on?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flow {
    Next,
    End,
}

impl<'s> Session<'s> {
    pub(super) fn new(
        connection: Connection,
        style: ShowStyle,
        interrupt: &'s Interrupt,
        out: &'s mut dyn Write,
    ) -> Session<'s> {
        Session {
            connection,
            style,
            variables: Variables::default(),
            on_error: OnError::default(),
            interrupt,
            out,
            batch: String::new(),
            within: Within::default(),
            has_failed: false,
        }
    }

    /// Number of the line that comes next in its batch, from 1.
    pub(super) fn line_number(&self) -> usize {
        self.batch.lines().count() + 1
    }

    /// Takes a line.
    ///
    /// # Errors
    /// A command is refused, a file cannot be read, the connection is broken.
    pub(super) fn line(&mut self, line: &str, depth: usize) -> anyhow::Result<Flow> {
        let found = if self.within == Within::Text { command(line)? } else { None };
        let Some(command) = found else {
            let line = self.variables.substituted(line)?;
            self.within = self.within.after(&line);
            self.batch.push_str(&line);
            self.batch.push('\n');
            return Ok(Flow::Next);
        };
        match command {
            Command::Go(count) => return self.go(count),
            Command::Quit => return Ok(Flow::End),
            Command::Read(path) => {
                let path = self.variables.substituted(&path)?;
                return self.file(Path::new(&path), depth + 1);
            }
            Command::SetVariable(name, Some(value)) => self.variables.set(&name, &value)?,
            Command::SetVariable(name, None) => self.variables.unset(&name),
            Command::ListVariables => {
                for line in self.variables.list() {
                    writeln!(self.out, "{line}")?;
                }
            }
            Command::List => self.out.write_all(self.batch.as_bytes())?,
            Command::Reset => self.batch.clear(),
            Command::OnError(on_error) => self.on_error = on_error,
            Command::Help => self.out.write_all(HELP.as_bytes())?,
        }
        self.out.flush()?;
        Ok(Flow::Next)
    }

    /// Takes the lines of a file.
    pub(super) fn file(&mut self, path: &Path, depth: usize) -> anyhow::Result<Flow> {
        if depth > DEPTH_MAX {
            bail!("{}: more than {DEPTH_MAX} files within each other", path.display());
        }
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let text = decoded(&text).with_context(|| format!("{}: no text", path.display()))?;
        self.text(&text, depth)
    }

    /// Takes the lines of a text.
    pub(super) fn text(&mut self, text: &str, depth: usize) -> anyhow::Result<Flow> {
        for line in text.lines() {
            if self.line(line, depth)? == Flow::End {
                return Ok(Flow::End);
            }
        }
        Ok(Flow::Next)
    }

    /// Runs what was typed.
    pub(super) fn go(&mut self, count: u32) -> anyhow::Result<Flow> {
        self.within = Within::default();
        let batch = std::mem::take(&mut self.batch);
        if batch.trim().is_empty() {
            return Ok(Flow::Next);
        }
        for _ in 0..count {
            if self.run(&batch)? == Flow::End {
                return Ok(Flow::End);
            }
        }
        Ok(Flow::Next)
    }

    fn run(&mut self, batch: &str) -> anyhow::Result<Flow> {
        let mut show = Show::new(&self.style, self.out);
        let mut written: io::Result<()> = Ok(());
        let interrupt = self.interrupt;
        self.connection.batch(batch, &mut |event| {
            written = show.event(&event);
            if written.is_err() || interrupt.stopped().is_some() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        written?;
        show.finish()?;
        self.has_failed |= show.has_error;
        let ends = show.has_error && self.on_error == OnError::Exit;
        Ok(if ends || interrupt.stopped().is_some() { Flow::End } else { Flow::Next })
    }
}

/// A script as text: UTF-8, or UTF-16 with its mark.
fn decoded(bytes: &[u8]) -> Option<String> {
    let units = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16(&units).ok()
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => units(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => units(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        _ => String::from_utf8(bytes.to_vec()).ok(),
    }
}
