//! A range in pieces for parallel scans, cut at separators above the leaves.

use extentdb_base::PageId;

use super::scan::KeyRange;
use super::{Tree, seek};
use crate::error::Error;

/// What is known of the tree down to some level.
struct Frontier {
    /// Pages of the level, in key order.
    pages: Vec<PageId>,
    /// Separators between their children.
    separators: Vec<Vec<u8>>,
    /// Are the children leaves?
    is_right_above_leaves: bool,
}

impl Tree {
    /// A range in about `pieces` pieces, in key order, none of them empty by the separators; fewer
    /// when it has fewer leaves. The pages of the levels above are read as far as they are needed.
    ///
    /// # Errors
    /// A page cannot be read, or the tree contradicts itself.
    pub fn partition(&self, range: &KeyRange, pieces: usize) -> Result<Vec<KeyRange>, Error> {
        let cuts = self.restarting(|version| self.try_cuts(range, pieces, version))?;
        let step = cuts.len().div_ceil(pieces.max(1)).max(1);
        let mut cuts: Vec<Vec<u8>> = cuts.into_iter().skip(step - 1).step_by(step).collect();
        cuts.retain(|cut| range.contains(cut));
        cuts.dedup();
        Ok(range.clone().cut_at(cuts))
    }

    /// Separators within a range, of the highest level that has enough of them. `None`: the
    /// structure has changed meanwhile.
    fn try_cuts(
        &self,
        range: &KeyRange,
        pieces: usize,
        version: u64,
    ) -> Result<Option<Vec<Vec<u8>>>, Error> {
        self.verify_whole()?;
        let mut pages = vec![self.unit.root()];
        if self.unit.root().is_none() {
            return Ok(Some(Vec::new()));
        }
        for _ in 0..seek::LEVELS_MAX {
            let Some(level) = self.frontier(range, &pages, version)? else { return Ok(None) };
            if level.is_right_above_leaves || level.separators.len() >= pieces {
                return Ok(Some(level.separators));
            }
            pages = level.pages;
        }
        Err(Error::Corrupt { page: self.unit.root(), what: "is deeper than a tree can be" })
    }

    /// What lies below the pages of a level, as far as it is in a range.
    fn frontier(
        &self,
        range: &KeyRange,
        pages: &[PageId],
        version: u64,
    ) -> Result<Option<Frontier>, Error> {
        let mut below = Frontier {
            pages: Vec::new(),
            separators: Vec::new(),
            is_right_above_leaves: true,
        };
        for (number, page) in pages.iter().enumerate() {
            let guard = self.read(*page);
            if self.version() != version {
                return Ok(None);
            }
            let guard = guard?;
            let node = self.node(*page, &guard)?;
            if node.is_leaf() {
                continue;
            }
            below.is_right_above_leaves = node.is_right_above_leaves();
            let first = node.child_slot(range.from())?;
            for slot in first..node.slot_count() {
                let mut key = Vec::new();
                // The first record of a level has no key.
                if slot > 0 || number > 0 {
                    node.key_into(slot, &mut key)?;
                }
                if slot > first && range.ends_before(&key) {
                    break;
                }
                if !below.pages.is_empty() {
                    below.separators.push(key);
                }
                below.pages.push(node.child(slot)?);
            }
        }
        Ok(Some(below))
    }
}
