//! Pages with ghosts since their last cleanup.

use std::collections::BTreeSet;
use std::ops::Bound;

use extentdb_base::PageId;

/// Pages with ghosts. They are cleaned in turns, so that those whose ghosts must stay for a while
/// do not keep the others waiting.
#[derive(Debug)]
pub(crate) struct GhostPages {
    pages: BTreeSet<PageId>,
    /// The last page of the last turn.
    last: PageId,
}

impl Default for GhostPages {
    fn default() -> GhostPages {
        GhostPages { pages: BTreeSet::new(), last: PageId::NONE }
    }
}

impl GhostPages {
    pub(crate) fn insert(&mut self, page: PageId) {
        self.pages.insert(page);
    }

    pub(crate) fn remove(&mut self, page: &PageId) {
        self.pages.remove(page);
    }

    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }

    /// The pages of the next turn, at most `most`: after those of the last one, then from the
    /// beginning.
    pub(crate) fn next(&mut self, most: usize) -> Vec<PageId> {
        let after = (Bound::Excluded(self.last), Bound::Unbounded);
        let before = (Bound::Unbounded, Bound::Included(self.last));
        let pages = self.pages.range(after).chain(self.pages.range(before));
        let pages: Vec<PageId> = pages.take(most).copied().collect();
        self.last = pages.last().copied().unwrap_or(PageId::NONE);
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_its_turn() {
        let mut ghosts = GhostPages::default();
        for page in [3, 1, 2] {
            ghosts.insert(PageId::new(1, page));
        }
        let mut turn =
            |most| -> Vec<u32> { ghosts.next(most).into_iter().map(|page| page.page).collect() };
        assert_eq!(turn(2), [1, 2]);
        assert_eq!(turn(2), [3, 1]);
        assert_eq!(turn(9), [2, 3, 1]);
    }
}
