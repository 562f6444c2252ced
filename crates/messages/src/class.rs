//! Classes of messages: groups that a check treats alike, a column of `messages.tsv`.

use crate::parse;

/// A group of messages. A message may be in several.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// Compares several pages or objects: a transaction in flight may explain it.
    Across,
    /// Counters and classes of fullness, which a restart recomputes and no log record restores.
    Counter,
    /// Compares keys, of one page or of two.
    Keys,
    /// What an allocated page without content is reported as.
    Unformatted,
    /// System tables against each other.
    Catalog,
    /// An index or table lacks pages: its rows are not compared.
    LostPages,
    /// Records of a page could not be parsed.
    Crack,
    /// A rule about single pages and rows, withdrawn when most of a unit violates it.
    Rule,
    /// A broken link between pages: follows from a neighbour that could not be used.
    Link,
    /// About the database, not about an object or page.
    Database,
    /// About an allocation map page.
    Map,
}

/// The classes of a message, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Classes(u16);

impl Classes {
    /// True when the message is in the class.
    pub const fn has(self, class: Class) -> bool {
        self.0 & 1 << class as u16 != 0
    }

    /// Names separated by commas; `-` for none.
    pub(crate) const fn read(mut field: &'static str) -> Classes {
        let mut classes = Classes(0);
        while !field.is_empty() && field.as_bytes()[0] != b'-' {
            let (name, rest) = parse::split_once(field, b',');
            classes.0 |= 1 << read_class(name) as u16;
            field = rest;
        }
        classes
    }
}

const fn read_class(name: &str) -> Class {
    match name.as_bytes() {
        b"across" => Class::Across,
        b"counter" => Class::Counter,
        b"keys" => Class::Keys,
        b"unformatted" => Class::Unformatted,
        b"catalog" => Class::Catalog,
        b"lost_pages" => Class::LostPages,
        b"crack" => Class::Crack,
        b"rule" => Class::Rule,
        b"link" => Class::Link,
        b"database" => Class::Database,
        b"map" => Class::Map,
        _ => panic!("an unknown class of messages"),
    }
}
