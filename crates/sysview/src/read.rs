//! The rows of views and of functions: of those that are filled here, and of those that are empty.

use extentdb_types::Datum;

use crate::content::Content;
use crate::error::Error;
use crate::rows::Rows;
use crate::shape::View;
use crate::source::Source;
use crate::{feature, view};

impl View {
    /// Is it filled, rightly empty, or refused?
    #[must_use]
    pub fn content(&self) -> Content {
        if view::filled(self).is_some() || view::called(self).is_some() {
            Content::Filled
        } else if feature::absent(self.name).is_some() {
            Content::Empty
        } else {
            Content::Refused
        }
    }

    /// The rows, each with a value for each column; of a function see [`call`](Self::call).
    ///
    /// # Errors
    /// [`Error::Refused`] when the view is not filled; the database cannot be read.
    pub fn rows(&'static self, source: &Source<'_>) -> Result<Vec<Vec<Datum<'static>>>, Error> {
        match view::filled(self) {
            Some(fill) => {
                let mut rows = Rows::new(self);
                fill(source, &mut rows)?;
                Ok(rows.into_inner())
            }
            None if self.content() == Content::Empty => Ok(Vec::new()),
            None => Err(Rows::new(self).refused()),
        }
    }

    /// The rows that a function returns for its arguments. Those that are missing are NULL.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub fn call(
        &'static self,
        source: &Source<'_>,
        arguments: &[Datum<'_>],
    ) -> Result<Vec<Vec<Datum<'static>>>, Error> {
        match view::called(self) {
            Some(call) => {
                let mut rows = Rows::new(self);
                call(source, arguments, &mut rows)?;
                Ok(rows.into_inner())
            }
            None => self.rows(source),
        }
    }
}
