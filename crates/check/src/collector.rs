//! Collectors: what the scan and second looks make of sound pages.

use crate::partial::Partial;
use crate::sound::{LinkedPage, SoundPage};

/// What is made of sound pages. One worker has one; they are put together when the scan is over.
pub(crate) trait Collector: Send {
    /// Takes the facts of a page. `partial` is the worker's own.
    fn sound(&mut self, page: &SoundPage<'_>, partial: &mut Partial);

    /// Takes the links of a tree page whose records are not read.
    fn linked(&mut self, _page: &LinkedPage<'_>, _partial: &mut Partial) {}

    /// Puts into the partial what was held back, when the last page was seen.
    fn finish(&mut self, _partial: &mut Partial) {}
}

/// Makes nothing of them.
pub(crate) struct NoCollector;

impl Collector for NoCollector {
    fn sound(&mut self, _: &SoundPage<'_>, _: &mut Partial) {}
}
