//! Collectors: what the scan and second passes make of sound pages.

use crate::partial::Partial;
use crate::sound::{LinkedPage, SoundPage};

/// What is collected from sound pages. Each worker has a collector of its own.
pub(crate) trait Collector: Send {
    /// Collects the facts of a page. `partial` is the worker's own.
    fn sound(&mut self, page: &SoundPage<'_>, partial: &mut Partial);

    /// Collects the links of a tree page whose records are not read.
    fn linked(&mut self, _page: &LinkedPage<'_>, _partial: &mut Partial) {}

    /// Adds what was held back to the partial, after the last page.
    fn finish(&mut self, _partial: &mut Partial) {}
}

pub(crate) struct NoCollector;

impl Collector for NoCollector {
    fn sound(&mut self, _: &SoundPage<'_>, _: &mut Partial) {}
}
