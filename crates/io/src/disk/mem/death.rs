//! What the death of the process leaves of the writes that it did not see the end of.
//!
//! The page cache belongs to the system: what calls have copied into it survives the process. A
//! signal ends a copy between two of its pages.

use extentdb_base::env::Rng;
use extentdb_base::size::SECTOR_BYTES;

use super::bytes::Bytes;
use crate::disk::Durability;

/// A page of the page cache.
const CACHE_PAGE_BYTES: usize = 4096;

/// The writes in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Death(Vec<InFlightWrite>);

/// A write in flight.
#[derive(Clone, Debug)]
pub(super) struct InFlightWrite {
    pub(super) offset: usize,
    /// What was there before, as far as the file reached.
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
    /// Length of the file before.
    pub(super) old_len: usize,
    /// It is cut at a multiple of this.
    unit: usize,
    /// Its number when it has reached the live bytes.
    pub(super) number: Option<u64>,
}

/// Where a write can be cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Grain {
    /// Of a write: by its durability.
    Of(Durability),
    /// It is made or not.
    Whole,
}

impl Death {
    /// Notes a write that may not be made, or not as a whole. Its number is passed when it has been
    /// made.
    pub(super) fn note(bytes: &mut Bytes, offset: usize, after: Vec<u8>, grain: Grain) {
        let unit = match grain {
            Grain::Of(Durability::Deferred) => CACHE_PAGE_BYTES,
            Grain::Of(Durability::Through) => SECTOR_BYTES,
            Grain::Whole => after.len().max(1),
        };
        let old_len = bytes.live.len();
        let end = (offset + after.len()).min(old_len);
        let before = bytes.live.get(offset..end).unwrap_or(&[]).to_vec();
        bytes.death.0.push(InFlightWrite { offset, before, after, old_len, unit, number: None });
    }

    /// Is a write at this offset noted, and not made?
    pub(super) fn expects(&self, offset: usize) -> bool {
        self.0.iter().any(|piece| piece.offset == offset && piece.number.is_none())
    }

    /// The write at this offset has been made.
    pub(super) fn made(&mut self, offset: usize, number: u64) {
        if let Some(piece) =
            self.0.iter_mut().find(|piece| piece.offset == offset && piece.number.is_none())
        {
            piece.number = Some(number);
        }
    }

    /// All calls have returned.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Cuts the writes that were in flight. Of several each by itself.
pub(super) fn cut(bytes: &mut Bytes, rng: &mut dyn Rng) {
    for piece in std::mem::take(&mut bytes.death).0 {
        let len = piece.after.len();
        let units = len.div_ceil(piece.unit) as u64;
        let keep = len.min(rng.below(units + 1) as usize * piece.unit);
        match piece.number {
            Some(_) => bytes.undo_write_after(keep, &piece),
            None if keep > 0 => {
                bytes.write(piece.offset, &[&piece.after[..keep]]);
            }
            None => {}
        }
    }
}
