//! Taking a tree apart: cutting a part out of it, and removing all of it.

use super::build::{Part, TreeBuilder, links_of};
use super::pages::Work;
use super::path::parts_of;
use crate::Error;

/// What stays of a record: bytes from its start, and those from an offset on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kept {
    /// Bytes at the start; `None` when the open records have nothing of it.
    pub(super) left: Option<u64>,
    /// The first byte that is kept after the cut.
    pub(super) right: Option<u64>,
}

impl Work<'_, '_> {
    /// Cuts a part out of the children of a record or root: what is on the left stays open in the
    /// builder, what is on the right becomes its tail, everything else is removed.
    pub(super) fn cut(
        &mut self,
        builder: &mut TreeBuilder,
        level: usize,
        parts: &[Part],
        kept: Kept,
    ) -> Result<(), Error> {
        let left = kept.left.and_then(|left| find(parts, left.saturating_sub(1)));
        let right = kept.right.and_then(|right| find(parts, right));
        let first_cut = left.map_or(0, |(index, _)| index + 1);
        let last_cut = right.map_or(parts.len(), |(index, _)| index);
        if let Some((index, _)) = left {
            builder.level(level).parts.extend_from_slice(&parts[..index]);
        }
        if let Some((index, _)) = right {
            let tail = &mut builder.tail.parts;
            tail.resize_with(tail.len().max(level + 1), Vec::new);
            tail[level] = parts[index + 1..].to_vec();
        }
        if first_cut < last_cut {
            self.remove_parts(builder.blob_id, level, &parts[first_cut..last_cut])?;
        }
        let offset_in = |found: Option<(usize, u64)>, offset: Option<u64>| {
            found.zip(offset).map(|((_, start), offset)| offset - start)
        };
        let inner_left = offset_in(left, kept.left);
        let inner_right = offset_in(right, kept.right);
        match (left, right) {
            (Some((index, _)), Some((other, _))) if index == other => {
                let kept = Kept { left: inner_left, right: inner_right };
                self.cut_part(builder, level, parts[index], kept)
            }
            _ => {
                if let Some((index, _)) = left {
                    let kept = Kept { left: inner_left, right: None };
                    self.cut_part(builder, level, parts[index], kept)?;
                }
                if let Some((index, _)) = right {
                    let kept = Kept { left: None, right: inner_right };
                    self.cut_part(builder, level, parts[index], kept)?;
                }
                Ok(())
            }
        }
    }

    /// Cuts a child, which is a data record below level 0.
    fn cut_part(
        &mut self,
        builder: &mut TreeBuilder,
        level: usize,
        part: Part,
        kept: Kept,
    ) -> Result<(), Error> {
        let Some(below) = level.checked_sub(1) else { return self.cut_data(builder, part, kept) };
        let links = self.unit.links_of_internal(builder.blob_id, part, below as u16)?;
        if kept.left.is_some() {
            builder.level(below).at = Some(part.target);
        } else {
            self.remove(part.target)?;
        }
        self.cut(builder, below, &parts_of(&links), kept)
    }

    fn cut_data(&mut self, builder: &mut TreeBuilder, part: Part, kept: Kept) -> Result<(), Error> {
        self.unit.with_data(builder.blob_id, part, |data| {
            if let Some(left) = kept.left {
                builder.data = data[..left as usize].to_vec();
            }
            if let Some(right) = kept.right {
                builder.tail.data = data[right as usize..].to_vec();
            }
        })?;
        if kept.left.is_some() {
            builder.fragment = Some(part.target);
        } else {
            self.remove(part.target)?;
        }
        Ok(())
    }

    /// Removes parts with everything below them.
    pub(super) fn remove_parts(
        &mut self,
        blob_id: u64,
        level: usize,
        parts: &[Part],
    ) -> Result<(), Error> {
        let links = links_of(parts);
        let mut ahead = extentdb_base::PageId::NONE;
        for (index, part) in parts.iter().enumerate() {
            match level.checked_sub(1) {
                None => {
                    let page = part.target.page;
                    if page.file != ahead.file || page.page >= ahead.page {
                        ahead = self.unit.read_ahead(&links[index..]);
                    }
                    self.unit.with_data(blob_id, *part, |_| ())?;
                }
                Some(below) => {
                    let links = self.unit.links_of_internal(blob_id, *part, below as u16)?;
                    self.remove_parts(blob_id, below, &parts_of(&links))?;
                }
            }
            self.remove(part.target)?;
        }
        Ok(())
    }
}

/// The part that has the byte at an offset, and where it starts.
fn find(parts: &[Part], offset: u64) -> Option<(usize, u64)> {
    let mut start = 0;
    for (index, part) in parts.iter().enumerate() {
        if offset < start + part.len {
            return Some((index, start));
        }
        start += part.len;
    }
    None
}
