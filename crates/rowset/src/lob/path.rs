//! The way from the root of a value to the fragment at an offset.

use extentdb_base::{PageId, Rid};
use extentdb_format::record::lob::{LobContent, LobLink, LobNode, LobRecord};

use super::LobUnit;
use super::build::Part;
use super::error::damaged;
use crate::Error;

/// Pages of one hint to the pool.
const READ_AHEAD_PAGES: usize = 64;
/// Deeper than any value: internal records have hundreds of links.
const LEVELS_MAX: u16 = 16;

/// A data record and the part of the value that it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fragment {
    pub(super) at: Rid,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// A record on the way.
#[derive(Debug)]
struct Step {
    start: u64,
    end: u64,
    level: u16,
    /// Ends count from `start`.
    links: Vec<LobLink>,
}

/// A position in a tree: the records from the root down to level 0.
#[derive(Debug)]
pub(super) struct Path {
    blob_id: u64,
    steps: Vec<Step>,
    /// The page after the last one that was read ahead.
    ahead: PageId,
}

impl Path {
    /// At the root.
    pub(super) fn new(blob_id: u64, level: u16, links: Vec<LobLink>) -> Path {
        let end = links.last().map_or(0, |link| link.end);
        let root = Step { start: 0, end, level, links };
        Path { blob_id, steps: vec![root], ahead: PageId::NONE }
    }

    /// Bytes of the value.
    pub(super) fn value_len(&self) -> u64 {
        self.steps.first().map_or(0, |root| root.end)
    }

    /// The fragment that has the byte at this offset; `None` past the end.
    pub(super) fn fragment_at(
        &mut self,
        unit: &LobUnit,
        offset: u64,
    ) -> Result<Option<Fragment>, Error> {
        while self.steps.len() > 1
            && self.steps.last().is_some_and(|step| !(step.start..step.end).contains(&offset))
        {
            self.steps.pop();
        }
        loop {
            let Some(step) = self.steps.last() else { return Ok(None) };
            let index = step.links.partition_point(|link| step.start + link.end <= offset);
            let Some(link) = step.links.get(index).copied() else { return Ok(None) };
            let before = index.checked_sub(1).and_then(|index| step.links.get(index));
            let start = step.start + before.map_or(0, |link| link.end);
            let end = step.start + link.end;
            if let Some(below) = step.level.checked_sub(1) {
                let part = Part { len: end - start, target: link.target };
                let links = unit.links_of_internal(self.blob_id, part, below)?;
                self.steps.push(Step { start, end, level: below, links });
            } else {
                if !is_in_run(link.target.page, self.ahead) {
                    self.ahead = unit.read_ahead(&step.links[index..]);
                }
                return Ok(Some(Fragment { at: link.target, start, end }));
            }
        }
    }
}

/// Was the page read ahead with the others up to `end`?
fn is_in_run(page: PageId, end: PageId) -> bool {
    page.file == end.file && page.page < end.page && page.page + READ_AHEAD_PAGES as u32 >= end.page
}

impl LobUnit {
    /// Reads pages ahead that follow each other from the first link on; returns the page after
    /// them.
    pub(super) fn read_ahead(&self, links: &[LobLink]) -> PageId {
        let Some(first) = links.first().map(|link| link.target.page) else { return PageId::NONE };
        let follows =
            (first.page..).zip(links.iter().take(READ_AHEAD_PAGES)).take_while(|(page, link)| {
                link.target.page == PageId { file: first.file, page: *page }
            });
        let count = follows.count() as u32;
        if count > 1 {
            self.space.pool().read_ahead(first, count);
        }
        PageId { file: first.file, page: first.page + count }
    }

    /// The links of an internal record that its parent says has this part of the value.
    pub(super) fn links_of_internal(
        &self,
        blob_id: u64,
        part: Part,
        level: u16,
    ) -> Result<Vec<LobLink>, Error> {
        self.with_record(part.target, |record| {
            verify_owner(&record, blob_id, part.target)?;
            let LobContent::Links(node) = record.content() else {
                return Err(damaged(part.target, "a link does not lead to an internal record"));
            };
            let links = sound_links(node, part.target)?;
            let len = links.last().map_or(0, |link| link.end);
            if node.level != level || len != part.len {
                return Err(damaged(part.target, "level or length of a record are not its link's"));
            }
            Ok(links)
        })
    }

    /// Calls `read` with the bytes of a data record that has this part of the value.
    pub(super) fn with_data<T>(
        &self,
        blob_id: u64,
        part: Part,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Error> {
        self.with_record(part.target, |record| {
            verify_owner(&record, blob_id, part.target)?;
            match record.content() {
                LobContent::Data(data) if data.len() as u64 == part.len => Ok(read(data)),
                LobContent::Data(_) => {
                    Err(damaged(part.target, "the length of a fragment is not its link's"))
                }
                _ => Err(damaged(part.target, "a link of level 0 does not lead to data")),
            }
        })
    }
}

/// The bits of a blob id that an in-row root has.
fn verify_owner(record: &LobRecord<'_>, blob_id: u64, at: Rid) -> Result<(), Error> {
    if super::root::blob_id_of(record.blob_id() ^ blob_id) == 0 {
        Ok(())
    } else {
        Err(damaged(at, "a record belongs to another value"))
    }
}

/// The links of a record, whose parts all have bytes.
pub(super) fn sound_links(node: LobNode<'_>, at: Rid) -> Result<Vec<LobLink>, Error> {
    let links: Vec<LobLink> = node.links().collect();
    verify_links(&links, node.level, at)?;
    Ok(links)
}

/// Has every part bytes, so that a record that leads back to itself is not followed?
pub(super) fn verify_links(links: &[LobLink], level: u16, at: Rid) -> Result<(), Error> {
    let is_sound = links.is_sorted_by(|a, b| a.end < b.end)
        && links.first().is_none_or(|first| first.end > 0)
        && level < LEVELS_MAX;
    if is_sound { Ok(()) } else { Err(damaged(at, "the links of a record are not in order")) }
}

/// The parts that links lead to.
pub(super) fn parts_of(links: &[LobLink]) -> Vec<Part> {
    let mut before = 0;
    let part = |link: &LobLink| {
        let len = link.end - before;
        before = link.end;
        Part { len, target: link.target }
    };
    links.iter().map(part).collect()
}
