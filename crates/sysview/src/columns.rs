//! What the columns of a view are told from: for each its name, and a function of an item.
//!
//! The order is that of the shape, whatever order they are put in here.

use crate::value::Value;

/// A function from an item to the value of a column.
pub(crate) type Tell<T> = fn(&T) -> Value;

/// The columns of a view over items.
pub(crate) struct Columns<T> {
    told: Vec<(&'static str, Tell<T>)>,
}

impl<T> Columns<T> {
    /// None yet.
    pub(crate) fn new() -> Columns<T> {
        Columns { told: Vec::new() }
    }

    /// A column that is told from the item.
    #[must_use]
    pub(crate) fn put(mut self, name: &'static str, tell: Tell<T>) -> Columns<T> {
        self.told.push((name, tell));
        self
    }

    /// Columns that are false, or 0.
    #[must_use]
    pub(crate) fn zero(self, names: &[&'static str]) -> Columns<T> {
        self.all(names, |_| 0.into())
    }

    /// Columns that are true, or 1.
    #[must_use]
    pub(crate) fn one(self, names: &[&'static str]) -> Columns<T> {
        self.all(names, |_| 1.into())
    }

    /// Columns that are NULL.
    #[must_use]
    pub(crate) fn null(self, names: &[&'static str]) -> Columns<T> {
        self.all(names, |_| Value::NULL)
    }

    fn all(mut self, names: &[&'static str], tell: Tell<T>) -> Columns<T> {
        self.told.extend(names.iter().map(|name| (*name, tell)));
        self
    }

    /// Names and functions.
    pub(crate) fn told(&self) -> &[(&'static str, Tell<T>)] {
        &self.told
    }
}
