//! The variable part of a record: a count, the lengths, the elements.
//!
//! ```text
//! offset        size     field
//! fixed_len        2     count
//!             2 each     lengths
//!                        padding to 4
//!                        element 0, padding to 4, element 1, padding to 4 …
//! ```
//!
//! Offsets are counted from the record's start, which is aligned to 4.

use std::borrow::Cow;
use std::ops::Range;

use smallvec::SmallVec;

use crate::log::field::{Field, write_chunk};

/// Elements of a record, borrowed.
pub type Slices<'a> = Vec<&'a [u8]>;

/// Elements about to be written.
pub(crate) type ElementList<'a> = SmallVec<[Cow<'a, [u8]>; 6]>;

/// The next multiple of 4.
const fn align4(offset: usize) -> usize {
    (offset + 3) & !3
}

/// Reads the elements that start at `at`, and where the record ends; `None` when they do not fit.
pub(super) fn read_elements(bytes: &[u8], at: usize) -> Option<(Slices<'_>, usize)> {
    let count = usize::from(u16::read(bytes, at)?);
    let lengths = bytes.get(at + 2..)?.get(..2 * count)?;
    let mut next = align4(at + 2 + 2 * count);
    let mut slices = Slices::with_capacity(count);
    for length in lengths.chunks_exact(2) {
        let length = usize::from(u16::read(length, 0)?);
        slices.push(bytes.get(next..)?.get(..length)?);
        next = align4(next + length);
    }
    // The padding of the last element may be cut off by the end of the records.
    Some((slices, next.min(bytes.len())))
}

/// The bytes between the elements that belong to none of them.
pub(super) fn padding(slices: &Slices<'_>, at: usize, len: usize) -> SmallVec<[Range<usize>; 4]> {
    let mut ranges = SmallVec::new();
    let mut next = at + 2 + 2 * slices.len();
    let mut pad = |from: usize| {
        let to = align4(from).min(len);
        if from < to {
            ranges.push(from..to);
        }
        align4(from)
    };
    next = pad(next);
    for slice in slices {
        next = pad(next + slice.len());
    }
    ranges
}

/// Bytes that a record with these elements has.
pub(crate) fn elements_bytes(fixed_len: usize, elements: &ElementList<'_>) -> usize {
    let start = align4(fixed_len + 2 + 2 * elements.len());
    elements.iter().fold(start, |end, element| align4(end + element.len()))
}

/// Writes count, lengths and elements at `at`; padding is left as it is. Counts and lengths have
/// been checked to fit their 16 bits by the builder.
pub(crate) fn write_elements(bytes: &mut [u8], at: usize, elements: &ElementList<'_>) {
    (elements.len() as u16).write(bytes, at);
    let mut next = align4(at + 2 + 2 * elements.len());
    for (i, element) in elements.iter().enumerate() {
        (element.len() as u16).write(bytes, at + 2 + 2 * i);
        write_chunk(bytes, next, element);
        next = align4(next + element.len());
    }
}
