//! A function of statements: its name, how many arguments it takes, who binds it.

use super::{BindResult, Binder, Value};

/// A function's arguments.
#[derive(Debug)]
pub(super) struct Arguments {
    /// What stands beside the list: the part of a date, a side of TRIM.
    pub(super) part: Option<String>,
    pub(super) values: Vec<Value>,
}

impl Arguments {
    /// An argument; the literal NULL is the caller's to type.
    pub(super) fn get(&self, at: usize) -> Option<&Value> {
        self.values.get(at)
    }
}

type Bind = fn(&mut Binder<'_>, Arguments) -> BindResult;

/// A function of the table.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) least: usize,
    pub(super) most: usize,
    pub(super) bind: Bind,
}

pub(super) const fn entry(name: &'static str, least: usize, most: usize, bind: Bind) -> Entry {
    Entry { name, least, most, bind }
}

/// Most arguments of functions that take any number.
pub(super) const MANY: usize = 254;
