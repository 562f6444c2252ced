//! Collectors: what the scan and second looks make of sound pages.

use crate::partial::Partial;
use crate::sound::{Linked, Sound};

/// What is made of sound pages. One worker has one; they are put together when the scan is over.
pub(crate) trait Facts: Send {
    /// Takes the facts of a page. `partial` is the worker's own.
    fn sound(&mut self, page: &Sound<'_>, partial: &mut Partial);

    /// Takes the links of a tree page whose records are not read.
    fn linked(&mut self, _page: &Linked<'_>, _partial: &mut Partial) {}

    /// Puts into the partial what was held back, when the last page was seen.
    fn finish(&mut self, _partial: &mut Partial) {}
}

/// Makes nothing of them.
pub(crate) struct NoFacts;

impl Facts for NoFacts {
    fn sound(&mut self, _: &Sound<'_>, _: &mut Partial) {}
}
