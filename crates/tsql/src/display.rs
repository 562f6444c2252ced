//! Trees as canonical T-SQL: names in brackets, keywords in capitals, parentheses where the tree
//! needs them.
//!
//! Invariant: what a query or an expression is displayed as parses to the same tree.

use std::fmt::{self, Display, Formatter};

mod condition;
mod dml;
mod expression;
mod hint;
mod name;
mod query;
mod table_source;

/// Items with a separator between them.
struct Joined<'a, T> {
    items: &'a [T],
    separator: &'static str,
}

impl<T: Display> Display for Joined<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (at, item) in self.items.iter().enumerate() {
            if at > 0 {
                f.write_str(self.separator)?;
            }
            write!(f, "{item}")?;
        }
        Ok(())
    }
}

fn comma<T>(items: &[T]) -> Joined<'_, T> {
    Joined { items, separator: ", " }
}

fn blank<T>(items: &[T]) -> Joined<'_, T> {
    Joined { items, separator: " " }
}

/// A part with a text before and after it, or nothing.
struct Optional<'a, T> {
    before: &'static str,
    part: Option<&'a T>,
    after: &'static str,
}

impl<T: Display> Display for Optional<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.part {
            Some(part) => write!(f, "{}{part}{}", self.before, self.after),
            None => Ok(()),
        }
    }
}

fn optional<'a, T>(
    before: &'static str,
    part: Option<&'a T>,
    after: &'static str,
) -> Optional<'a, T> {
    Optional { before, part, after }
}

/// A list with a text before and after it; nothing when it is empty.
struct List<'a, T> {
    before: &'static str,
    items: &'a [T],
    after: &'static str,
}

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.items.is_empty() {
            return Ok(());
        }
        write!(f, "{}{}{}", self.before, comma(self.items), self.after)
    }
}

fn list<'a, T>(before: &'static str, items: &'a [T], after: &'static str) -> List<'a, T> {
    List { before, items, after }
}

/// A text when it holds.
fn flag(is_set: bool, text: &'static str) -> &'static str {
    if is_set { text } else { "" }
}
