//! The rows of one leaf, copied into one buffer.

use extentdb_base::{PageId, Rid};

use super::{Row, page};
use crate::columnar::Located;

/// Room that is taken at once for the rows of a leaf when there is more than one.
const ROOM: usize = 4096;

/// The rows of one leaf, in the order of the scan.
#[derive(Clone, Debug)]
pub struct LeafRows {
    page: PageId,
    /// Their records, concatenated in slot order.
    bytes: Vec<u8>,
    rows: Vec<Lies>,
    is_settled: bool,
}

/// Where a row is among the bytes, and where it was.
#[derive(Clone, Copy, Debug)]
struct Lies {
    start: u32,
    end: u32,
    slot: u16,
}

/// A row of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowRef<'l> {
    /// Its record; [`RowShape::decode`](crate::RowShape::decode) reads it.
    pub bytes: &'l [u8],
    /// Its RID when it was read.
    pub at: Rid,
}

/// The furthest that a record begins from the first one of its piece.
const PIECE_MAX: u32 = u16::MAX as u32;

/// Some of the rows of a leaf, and the bytes that they are in.
pub(super) struct Piece<'l> {
    bytes: &'l [u8],
    rows: &'l [Lies],
    base: u32,
}

impl Piece<'_> {
    /// Their records.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// Where each record is among the bytes.
    pub(super) fn located(&self) -> impl Iterator<Item = Located> {
        let located =
            |lies: &Lies| Located { start: (lies.start - self.base) as u16, slot: lies.slot };
        self.rows.iter().map(located)
    }
}

impl RowRef<'_> {
    /// Is it a ghost, the record of a deleted row?
    pub fn is_ghost(&self) -> bool {
        page::is_ghost(self.bytes)
    }

    /// The same with bytes of its own.
    pub fn to_row(self) -> Row {
        Row { bytes: self.bytes.to_vec(), at: self.at }
    }
}

impl LeafRows {
    /// No transaction that is open can have changed the leaf: the rows are committed, and there are
    /// no ghosts among them.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Number of rows of the leaf.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Rows in key order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = RowRef<'_>> + ExactSizeIterator {
        self.rows.iter().map(|lies| RowRef {
            bytes: &self.bytes[lies.start as usize..lies.end as usize],
            at: Rid::new(self.page, lies.slot),
        })
    }

    /// The page that they were copied from.
    pub fn page(&self) -> PageId {
        self.page
    }

    /// The rows in pieces of records that 16 bits lead to: one piece, but where older versions of
    /// rows are longer than a page is.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let mut rest = self.rows.as_slice();
        std::iter::from_fn(move || {
            // Offsets grow, or fall in a scan against the order.
            let first = rest.first()?.start;
            let is_near = |lies: &&Lies| lies.start.abs_diff(first) <= PIECE_MAX;
            let (rows, after) = rest.split_at(rest.iter().take_while(is_near).count());
            let base = first.min(rows.last()?.start);
            rest = after;
            Some(Piece { bytes: self.bytes.get(base as usize..)?, rows, base })
        })
    }

    /// No rows yet, with room for `rows` of them.
    pub(super) fn of(page: PageId, most: usize, is_settled: bool) -> LeafRows {
        let bytes = Vec::with_capacity(if most > 1 { ROOM } else { 0 });
        LeafRows { page, bytes, rows: Vec::with_capacity(most), is_settled }
    }

    pub(super) fn push(&mut self, slot: u16, row: &[u8]) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(row);
        self.rows.push(Lies { start, end: self.bytes.len() as u32, slot });
    }

    pub(super) fn reverse(&mut self) {
        self.rows.reverse();
    }
}
