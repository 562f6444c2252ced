//! Building a tree from the left to the right, with one open record on each level.
//!
//! ```text
//! level 2   links to internal records of level 1      open   ┐
//! level 1   links to internal records of level 0      open   ├ the right edge of the tree
//! level 0   links to data records                     open   │
//! data      bytes of the next data record             open   ┘
//! tail      what follows after the new bytes, when the value is changed in the middle
//! ```
//!
//! Known algorithm: bulk loading of a B-tree. An open record takes twice what a record holds before
//! the first half of it is written: where something follows, two records share evenly what one does
//! not hold, as after a split; at the end of the value the last record has the rest, and the next
//! append fills it. An open record that stood in the tree before the change keeps its place.

use extentdb_base::Rid;
use extentdb_format::page::PageType;
use extentdb_format::record::lob::{
    DATA_BYTES_MAX, INTERNAL_LINKS_MAX, LobLink, ROOT_LINKS_MAX, SMALL_ROOT_DATA_MAX, write_data,
    write_internal,
};

use super::pages::Work;
use crate::Error;

const LINKS_MAX: usize = INTERNAL_LINKS_MAX as usize;

/// A part of the value: its length and the record it begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) len: u64,
    pub(super) target: Rid,
}

/// The links of a record from its parts.
pub(super) fn links_of(parts: &[Part]) -> Vec<LobLink> {
    let mut end = 0;
    let link = |part: &Part| {
        end += part.len;
        LobLink { end, target: part.target }
    };
    parts.iter().map(link).collect()
}

/// An open internal record, or the root.
#[derive(Debug, Default)]
pub(super) struct OpenRecord {
    pub(super) parts: Vec<Part>,
    /// Where it stood before the change; the root has none.
    pub(super) at: Option<Rid>,
}

/// What is left of a value after the part that is replaced.
#[derive(Debug, Default)]
pub(super) struct Tail {
    pub(super) data: Vec<u8>,
    /// Parts that stay as they are, by the level of the record that lists them.
    pub(super) parts: Vec<Vec<Part>>,
}

/// How an open record that holds too much is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Share {
    /// The first one is full.
    Full,
    /// Both have the same.
    Even,
}

impl Share {
    /// How much of `held`, which is at most twice `most`, the first record gets.
    fn first(self, held: usize, most: usize) -> usize {
        match self {
            _ if held <= most => held,
            Share::Full => most,
            Share::Even => held.div_ceil(2),
        }
    }
}

/// A tree without its root.
#[derive(Debug)]
pub(super) enum Built {
    /// A value short enough for a small root.
    Small(Vec<u8>),
    /// The links of the root.
    Tree { level: u16, parts: Vec<Part> },
}

/// Builds a tree.
#[derive(Debug)]
pub(super) struct TreeBuilder {
    pub(super) blob_id: u64,
    pub(super) data: Vec<u8>,
    /// Where the open data record stood before the change.
    pub(super) fragment: Option<Rid>,
    levels: Vec<OpenRecord>,
    pub(super) tail: Tail,
}

impl TreeBuilder {
    pub(super) fn new(blob_id: u64) -> TreeBuilder {
        TreeBuilder {
            blob_id,
            data: Vec::new(),
            fragment: None,
            levels: Vec::new(),
            tail: Tail::default(),
        }
    }

    /// The open record of a level.
    pub(super) fn level(&mut self, level: usize) -> &mut OpenRecord {
        if self.levels.len() <= level {
            self.levels.resize_with(level + 1, OpenRecord::default);
        }
        &mut self.levels[level]
    }

    /// Appends bytes to the value.
    pub(super) fn push(&mut self, work: &mut Work<'_, '_>, mut bytes: &[u8]) -> Result<(), Error> {
        while self.data.len() + bytes.len() >= 2 * DATA_BYTES_MAX {
            if self.data.is_empty() {
                let (first, rest) = bytes.split_at(DATA_BYTES_MAX);
                self.put_data(work, first)?;
                bytes = rest;
            } else {
                let missing = DATA_BYTES_MAX.saturating_sub(self.data.len());
                let (first, rest) = bytes.split_at(missing);
                self.data.extend_from_slice(first);
                bytes = rest;
                self.close_data(work, Share::Full)?;
            }
        }
        self.data.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes the first data record of what is open.
    fn close_data(&mut self, work: &mut Work<'_, '_>, share: Share) -> Result<(), Error> {
        let mut data = std::mem::take(&mut self.data);
        let first = share.first(data.len(), DATA_BYTES_MAX);
        if first > 0 {
            self.put_data(work, &data[..first])?;
        }
        data.drain(..first);
        self.data = data;
        Ok(())
    }

    /// Writes all open data.
    fn close_all_data(&mut self, work: &mut Work<'_, '_>, share: Share) -> Result<(), Error> {
        while !self.data.is_empty() {
            self.close_data(work, share)?;
        }
        if let Some(at) = self.fragment.take() {
            work.remove(at)?;
        }
        Ok(())
    }

    fn put_data(&mut self, work: &mut Work<'_, '_>, data: &[u8]) -> Result<(), Error> {
        let record = write_data(self.blob_id, data);
        let target = work.put(self.fragment.take(), PageType::TextMix, &record)?;
        self.push_part(work, 0, Part { len: data.len() as u64, target })
    }

    fn push_part(
        &mut self,
        work: &mut Work<'_, '_>,
        level: usize,
        part: Part,
    ) -> Result<(), Error> {
        let open = self.level(level);
        open.parts.push(part);
        if open.parts.len() >= 2 * LINKS_MAX {
            self.close(work, level, LINKS_MAX)?;
        }
        Ok(())
    }

    /// Writes an internal record of the first `count` parts of a level.
    fn close(&mut self, work: &mut Work<'_, '_>, level: usize, count: usize) -> Result<(), Error> {
        let blob_id = self.blob_id;
        let open = self.level(level);
        let parts: Vec<Part> = open.parts.drain(..count).collect();
        let at = open.at.take();
        let links = links_of(&parts);
        let len = links.last().map_or(0, |link| link.end);
        let record = write_internal(blob_id, INTERNAL_LINKS_MAX, level as u16, &links);
        let target = work.put(at, PageType::TextTree, &record)?;
        self.push_part(work, level + 1, Part { len, target })
    }

    /// Writes all of a level.
    fn close_all(
        &mut self,
        work: &mut Work<'_, '_>,
        level: usize,
        share: Share,
    ) -> Result<(), Error> {
        loop {
            let held = self.level(level).parts.len();
            if held == 0 {
                break;
            }
            self.close(work, level, share.first(held, LINKS_MAX))?;
        }
        if let Some(at) = self.level(level).at.take() {
            work.remove(at)?;
        }
        Ok(())
    }

    /// Appends what followed the part that was replaced.
    fn push_tail(&mut self, work: &mut Work<'_, '_>) -> Result<(), Error> {
        let tail = std::mem::take(&mut self.tail);
        self.push(work, &tail.data)?;
        for (level, parts) in tail.parts.into_iter().enumerate() {
            if parts.is_empty() {
                continue;
            }
            self.close_all_data(work, Share::Even)?;
            for below in 0..level {
                self.close_all(work, below, Share::Even)?;
            }
            for part in parts {
                self.push_part(work, level, part)?;
            }
        }
        Ok(())
    }

    /// Writes what is open, up to the root. With `may_be_small`, a value of at most
    /// [`SMALL_ROOT_DATA_MAX`] bytes is returned instead.
    pub(super) fn finish(
        mut self,
        work: &mut Work<'_, '_>,
        may_be_small: bool,
    ) -> Result<Built, Error> {
        self.push_tail(work)?;
        let has_parts = self.levels.iter().any(|open| !open.parts.is_empty());
        let small = (may_be_small && !has_parts && self.data.len() <= SMALL_ROOT_DATA_MAX)
            .then(|| std::mem::take(&mut self.data));
        self.close_all_data(work, Share::Full)?;
        let mut level = 0;
        while !self.is_root(level) {
            self.close_all(work, level, Share::Full)?;
            level += 1;
        }
        let parts = std::mem::take(&mut self.level(level).parts);
        for open in self.levels.drain(..).filter_map(|open| open.at) {
            work.remove(open)?;
        }
        Ok(small.map_or(Built::Tree { level: level as u16, parts }, Built::Small))
    }

    /// Can the parts of this level be the links of the root?
    fn is_root(&self, level: usize) -> bool {
        let above = self.levels.iter().skip(level + 1);
        let own = self.levels.get(level).map_or(0, |open| open.parts.len());
        own <= usize::from(ROOT_LINKS_MAX) && above.map(|open| open.parts.len()).sum::<usize>() == 0
    }
}
