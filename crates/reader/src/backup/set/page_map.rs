//! Where each extent of the database lies in the backup set.
//!
//! The extents of a set are numbered in stored order: stripe by stripe, run by run. Per extent of
//! the database the map keeps its index and its number, 8 bytes; a number gives stripe and offset
//! through the list of runs.

use std::collections::BTreeMap;

use extentdb_base::size::EXTENT_BYTES;
use extentdb_base::sync::Arc;
use extentdb_base::{Extent, FileId};

use crate::backup::media::scan::DataRun;
use crate::backup::stream::BlockStream;

/// Extents of a set that follow each other in one stream.
struct ExtentRun {
    /// Number of the first.
    first: u32,
    stream: usize,
    data: DataRun,
}

/// The streams of a set, and the runs of extents in them.
pub(crate) struct Layout {
    streams: Vec<Arc<BlockStream>>,
    runs: Vec<ExtentRun>,
    extents: u32,
}

impl Layout {
    /// Numbers the extents of all runs; `Err` gives their count when it does not fit.
    pub(crate) fn new(parts: Vec<(Arc<BlockStream>, &[DataRun])>) -> Result<Self, u64> {
        let total = parts
            .iter()
            .flat_map(|(_, runs)| runs.iter())
            .map(|run| run.extents)
            .fold(0, u64::saturating_add);
        if total > u64::from(u32::MAX) {
            return Err(total);
        }
        let mut layout = Layout { streams: Vec::new(), runs: Vec::new(), extents: 0 };
        for (stream, runs) in parts {
            for data in runs {
                layout.runs.push(ExtentRun {
                    first: layout.extents,
                    stream: layout.streams.len(),
                    data: *data,
                });
                layout.extents += data.extents as u32;
            }
            layout.streams.push(stream);
        }
        Ok(layout)
    }

    /// Number of stored extents, repeated ones counted each time.
    pub(crate) fn extents(&self) -> u32 {
        self.extents
    }

    pub(crate) fn streams(&self) -> &[Arc<BlockStream>] {
        &self.streams
    }

    /// Stream and offset of an extent.
    pub(crate) fn locate(&self, number: u32) -> Option<(&BlockStream, u64)> {
        let run = self.run_of(number)?;
        let at = run.data.at + u64::from(number - run.first) * EXTENT_BYTES as u64;
        Some((self.streams.get(run.stream)?, at))
    }

    /// True when an extent is the first of its run: what lies before it in the set is not its
    /// neighbour.
    pub(crate) fn begins_a_run(&self, number: u32) -> bool {
        self.run_of(number).is_none_or(|run| run.first == number)
    }

    fn run_of(&self, number: u32) -> Option<&ExtentRun> {
        let next = self.runs.partition_point(|run| run.first <= number);
        self.runs.get(next.checked_sub(1)?)
    }
}

/// An extent of a file: its index, and its number in the set.
type Entry = (u32, u32);

/// Extents of the database to numbers of the set.
#[derive(Default)]
pub(crate) struct PageMap {
    files: BTreeMap<FileId, Vec<Entry>>,
}

impl PageMap {
    /// Notes where an extent lies. Needs [`PageMap::seal`] before it is found.
    pub(crate) fn add(&mut self, extent: Extent, number: u32) {
        self.files.entry(extent.file).or_default().push((extent.index, number));
    }

    /// Makes the map ready. Of an extent that was stored several times the last image stays;
    /// returns the number of removed ones.
    pub(crate) fn seal(&mut self) -> u64 {
        let mut repeats = 0;
        for entries in self.files.values_mut() {
            let before = entries.len();
            entries.sort_unstable();
            entries.dedup_by(|later, kept| {
                let is_same = later.0 == kept.0;
                if is_same {
                    kept.1 = later.1;
                }
                is_same
            });
            repeats += (before - entries.len()) as u64;
            entries.shrink_to_fit();
        }
        repeats
    }

    /// The number of an extent.
    pub(crate) fn find(&self, extent: Extent) -> Option<u32> {
        let entries = self.files.get(&extent.file)?;
        let at = entries.binary_search_by_key(&extent.index, |entry| entry.0).ok()?;
        entries.get(at).map(|entry| entry.1)
    }

    /// The files that have extents here.
    pub(crate) fn files(&self) -> impl Iterator<Item = FileId> {
        self.files.keys().copied()
    }

    /// The extents of a file, ascending.
    pub(crate) fn extents(
        &self,
        file: FileId,
    ) -> impl ExactSizeIterator<Item = Extent> + DoubleEndedIterator {
        let entries = self.files.get(&file).map_or(&[][..], Vec::as_slice);
        entries.iter().map(move |entry| Extent { file, index: entry.0 })
    }

    /// True when no extent was placed.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_image_of_an_extent_wins() {
        let mut map = PageMap::default();
        let extent = |file, index| Extent { file: FileId(file), index };
        for (number, at) in [extent(1, 0), extent(1, 1), extent(2, 0), extent(1, 0), extent(1, 9)]
            .iter()
            .enumerate()
        {
            map.add(*at, number as u32);
        }
        assert_eq!(map.seal(), 1);
        assert_eq!(map.find(extent(1, 0)), Some(3));
        assert_eq!(map.find(extent(1, 1)), Some(1));
        assert_eq!(map.find(extent(2, 0)), Some(2));
        assert_eq!(map.find(extent(2, 1)), None);
        assert_eq!(map.find(extent(3, 0)), None);
        let indexes: Vec<_> = map.extents(FileId(1)).map(|extent| extent.index).collect();
        assert_eq!(indexes, [0, 1, 9]);
    }
}
