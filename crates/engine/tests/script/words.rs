//! The words of a command, taken one after the other.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;

use goldenscript::{Argument, Command};

/// Why a command of a script cannot be run. An error of the engine is no such error, but output.
#[derive(Debug)]
pub(super) struct Syntax(pub(super) String);

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Syntax {}

pub(super) fn syntax<T>(what: impl Into<String>) -> Result<T, Syntax> {
    Err(Syntax(what.into()))
}

/// Arguments that are left of a command.
pub(super) struct Words(VecDeque<Argument>);

impl Words {
    pub(super) fn of(command: &Command) -> Words {
        Words(command.args.iter().cloned().collect())
    }

    /// The next word.
    pub(super) fn word(&mut self) -> Result<String, Syntax> {
        match self.0.pop_front() {
            Some(Argument::Positional(word)) => Ok(word),
            found => syntax(format!("a word, and not {found:?}")),
        }
    }

    /// Takes the next word when it is this one.
    pub(super) fn take(&mut self, expected: &str) -> bool {
        let is_it = matches!(self.0.front(), Some(Argument::Positional(word)) if word == expected);
        if is_it {
            self.0.pop_front();
        }
        is_it
    }

    /// `on` or `off`.
    pub(super) fn switch(&mut self) -> Result<bool, Syntax> {
        match self.word()?.as_str() {
            "on" => Ok(true),
            "off" => Ok(false),
            found => syntax(format!("on or off, and not {found}")),
        }
    }

    pub(super) fn expect(&mut self, expected: &str) -> Result<(), Syntax> {
        if self.take(expected) { Ok(()) } else { syntax(format!("{expected} is missing")) }
    }

    /// `key=value` pairs up to the next word.
    pub(super) fn pairs(&mut self) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        while let Some(Argument::KeyValue(key, value)) = self.0.front().cloned() {
            pairs.push((key, value));
            self.0.pop_front();
        }
        pairs
    }

    /// The value of a `key=value` pair, wherever it stands.
    pub(super) fn option(&mut self, name: &str) -> Option<String> {
        let is_it = |it: &Argument| matches!(it, Argument::KeyValue(key, _) if key == name);
        let at = self.0.iter().position(is_it)?;
        match self.0.remove(at) {
            Some(Argument::KeyValue(_, value)) => Some(value),
            _ => None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn end(&self) -> Result<(), Syntax> {
        match self.0.front() {
            None => Ok(()),
            Some(more) => syntax(format!("nothing more, and not {more:?}")),
        }
    }
}

/// Splits a definition into words; what stands in brackets stays together.
pub(super) fn split(text: &str) -> VecDeque<String> {
    let mut words = VecDeque::from([String::new()]);
    let mut depth = 0;
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if letter == ' ' && depth == 0 {
            words.push_back(String::new());
        } else if let Some(word) = words.back_mut() {
            word.push(letter);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The names in a list: `(a, b)` or `a, b`.
pub(super) fn list(text: &str) -> Vec<String> {
    let inner = text.trim().trim_start_matches('(').trim_end_matches(')');
    inner.split(',').map(|name| name.trim().to_owned()).collect()
}
