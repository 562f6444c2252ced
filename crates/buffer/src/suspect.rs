//! Suspect pages: those that could not be read soundly (824). Operations on their object fail, all
//! others continue.
//!
//! A page leaves the list when it is read soundly, or formatted.

use std::collections::BTreeMap;

use extentdb_base::PageId;
use extentdb_base::sync::atomic::{AtomicUsize, Ordering};
use extentdb_base::sync::{Mutex, lock};

use crate::PageFault;

/// A page that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SuspectPage {
    /// Page that could not be read.
    pub page: PageId,
    /// What was wrong with it last.
    pub fault: PageFault,
    /// Number of failed requests.
    pub errors: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Suspects {
    pages: Mutex<BTreeMap<PageId, SuspectPage>>,
    /// Number of suspect pages: mostly none, and then the mutex is not locked.
    count: AtomicUsize,
}

impl Suspects {
    /// The page could not be read. True when it is met for the first time.
    pub(crate) fn note(&self, page: PageId, fault: PageFault) -> bool {
        let mut pages = lock(&self.pages);
        let suspect = pages.entry(page).or_insert(SuspectPage { page, fault, errors: 0 });
        suspect.fault = fault;
        suspect.errors += 1;
        let is_new = suspect.errors == 1;
        self.count.store(pages.len(), Ordering::Release);
        is_new
    }

    /// The page is sound.
    pub(crate) fn clear(&self, page: PageId) {
        if self.count.load(Ordering::Acquire) > 0 {
            let mut pages = lock(&self.pages);
            pages.remove(&page);
            self.count.store(pages.len(), Ordering::Release);
        }
    }

    pub(crate) fn all(&self) -> Vec<SuspectPage> {
        lock(&self.pages).values().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_suspect_until_it_is_read_soundly() {
        let suspects = Suspects::default();
        let page = PageId::new(1, 7);
        assert!(suspects.note(page, PageFault::Zeroed));
        assert!(!suspects.note(page, PageFault::Torn { sectors: 2 }));
        assert_eq!(
            suspects.all(),
            [SuspectPage { page, fault: PageFault::Torn { sectors: 2 }, errors: 2 }]
        );
        suspects.clear(PageId::new(1, 8));
        suspects.clear(page);
        assert!(suspects.all().is_empty());
    }
}
