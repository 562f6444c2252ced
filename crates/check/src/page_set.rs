//! Exact sets of pages, kept as runs: what a partial result covers.

use extentdb_base::{FileId, PageId};

use crate::wire::wire_structs;

/// A run of pages of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct PageInterval {
    file: FileId,
    start: u32,
    end: u32,
}

/// Two partials cover the same page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("page {page} was scanned twice")]
pub struct Overlap {
    /// The first such page.
    pub page: PageId,
}

/// An exact set of pages, as runs.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct PageSet {
    runs: Vec<PageInterval>,
    /// Number of runs that were in order when the set was last sorted.
    normalized: usize,
}

impl PageSet {
    /// Adds the pages from `start` on and before `end`.
    pub(crate) fn add(&mut self, file: FileId, start: u32, end: u32) -> Result<(), Overlap> {
        if start < end {
            self.push(PageInterval { file, start, end });
        }
        self.normalize_when_long()
    }

    fn push(&mut self, run: PageInterval) {
        match self.runs.last_mut() {
            Some(last) if last.file == run.file && last.end == run.start => last.end = run.end,
            _ => self.runs.push(run),
        }
    }

    /// Adds another set.
    pub(crate) fn merge(&mut self, other: PageSet) -> Result<(), Overlap> {
        other.runs.into_iter().for_each(|run| self.push(run));
        self.normalize_when_long()
    }

    /// Runs come nearly in order from several threads; joining them now and then keeps the set
    /// small.
    fn normalize_when_long(&mut self) -> Result<(), Overlap> {
        if self.runs.len() > 2 * self.normalized + 256 { self.normalize() } else { Ok(()) }
    }

    fn normalize(&mut self) -> Result<(), Overlap> {
        self.runs.sort_unstable();
        let runs = std::mem::take(&mut self.runs);
        let mut overlap = Ok(());
        for run in runs {
            if let Some(last) = self.runs.last()
                && last.file == run.file
                && run.start < last.end
            {
                overlap =
                    overlap.and(Err(Overlap { page: PageId { file: run.file, page: run.start } }));
            }
            self.push(run);
        }
        self.normalized = self.runs.len();
        overlap
    }

    /// The runs in order: file, first page, first page after.
    pub(crate) fn runs(&mut self) -> Result<impl Iterator<Item = (FileId, u32, u32)>, Overlap> {
        self.normalize()?;
        Ok(self.runs.iter().map(|run| (run.file, run.start, run.end)))
    }
}

wire_structs! {
    PageInterval { file, start, end }
    PageSet { runs, normalized }
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};

    use super::*;

    const FILE: FileId = FileId(1);

    #[test]
    fn a_set_does_not_depend_on_the_order_of_its_runs() {
        let mut rng = SplitMix64::new(3);
        for _ in 0..50 {
            let mut runs: Vec<(u32, u32)> = (0..600).map(|i| (i * 8, i * 8 + 8)).collect();
            for i in (1..runs.len()).rev() {
                runs.swap(i, rng.below(i as u64 + 1) as usize);
            }
            let mut halves = [PageSet::default(), PageSet::default()];
            for (start, end) in runs {
                halves[rng.below(2) as usize].add(FILE, start, end).unwrap();
            }
            let [mut set, other] = halves;
            set.merge(other).unwrap();
            assert_eq!(set.runs().unwrap().collect::<Vec<_>>(), [(FILE, 0, 4800)]);
        }
    }
}
