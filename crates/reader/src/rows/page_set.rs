//! A set of pages as a sparse bitmap: one bit per page, in blocks.

use std::collections::HashMap;

use extentdb_base::{FileId, PageId};

/// Pages that share a block of bits: 512 bytes of them.
const PAGES_PER_BLOCK: u32 = 4096;
const WORDS: usize = PAGES_PER_BLOCK as usize / 64;

/// Pages, each once.
#[derive(Default)]
pub(super) struct PageSet {
    blocks: HashMap<(FileId, u32), Box<[u64; WORDS]>>,
}

impl PageSet {
    /// Adds a page. False when the set already has it.
    pub(super) fn insert(&mut self, page: PageId) -> bool {
        let block = self.blocks.entry((page.file, page.page / PAGES_PER_BLOCK));
        let block = block.or_insert_with(|| Box::new([0; WORDS]));
        let bit = page.page % PAGES_PER_BLOCK;
        let Some(word) = block.get_mut((bit / 64) as usize) else { return false };
        let mask = 1 << (bit % 64);
        let is_new = *word & mask == 0;
        *word |= mask;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_new_once_in_each_file() {
        let mut set = PageSet::default();
        for page in [0, 63, 64, 4095, 4096, u32::MAX] {
            assert!(set.insert(PageId::new(1, page)), "{page}");
            assert!(!set.insert(PageId::new(1, page)), "{page}");
            assert!(set.insert(PageId::new(3, page)), "{page}");
        }
    }
}
