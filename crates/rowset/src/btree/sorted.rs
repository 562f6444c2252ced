//! Rows for a tree that is to be built: brought in any order, sorted by their keys.
//!
//! ```text
//! bytes   key │ record │ key │ record │ …        each made once, where it stays
//! rows    bytes of the key as a number, where key and record are        sorted in their place
//! ```
//!
//! The prefix that all keys share, as those of numbers and of generated names do, is counted while
//! rows are added, and the number is made of the bytes after it.

use extentdb_catalog::layout::Cell;
use extentdb_format::record::RecordBuilder;

use crate::error::Error;
use crate::layout::RowShape;

/// Rows to be sorted for a tree.
#[derive(Debug)]
pub struct Sorter<'s> {
    shape: &'s RowShape,
    builder: RecordBuilder,
    bytes: Vec<u8>,
    rows: Vec<Lies>,
    /// Bytes that all keys begin with.
    common: usize,
}

/// Rows in the order of their keys.
#[derive(Debug)]
pub struct SortedRows {
    bytes: Vec<u8>,
    rows: Vec<Lies>,
}

/// Where key and record of a row are.
#[derive(Clone, Copy, Debug)]
struct Lies {
    /// The first bytes of the key that are not common to all, which are all that most comparisons
    /// need.
    head: u64,
    start: usize,
    key: u32,
    record: u32,
}

impl<'s> Sorter<'s> {
    /// None yet, of rows of this shape.
    pub fn new(shape: &'s RowShape) -> Sorter<'s> {
        let builder = shape.leaf_builder();
        let bytes = Vec::new();
        let rows = Vec::new();
        Sorter { shape, builder, bytes, rows, common: usize::MAX }
    }

    /// Adds a row by its values, one per column of the layout, in its order.
    ///
    /// # Errors
    /// The values are not those of the columns, or too long together.
    pub fn add(&mut self, cells: &[Cell<'_>]) -> Result<(), Error> {
        let start = self.bytes.len();
        self.shape.push_key_of_cells(cells, &mut self.bytes)?;
        let record = self.bytes.len();
        self.shape.push_leaf_record(&mut self.builder, cells, &mut self.bytes)?;
        let key = (record - start) as u32;
        let record = (self.bytes.len() - record) as u32;
        let lies = Lies { head: 0, start, key, record };
        let first = self.rows.first().unwrap_or(&lies).key(&self.bytes);
        let same =
            first.iter().zip(lies.key(&self.bytes)).take(self.common).take_while(|(a, b)| a == b);
        self.common = same.count();
        self.rows.push(lies);
        Ok(())
    }

    /// The rows in key order; rows with equal keys are adjacent.
    pub fn sort(mut self) -> SortedRows {
        let bytes = self.bytes;
        let common = self.common;
        self.rows.iter_mut().for_each(|row| row.head = head_of(&row.key(&bytes)[common..]));
        let rest = |row: &Lies| &row.key(&bytes)[common..];
        self.rows.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| rest(a).cmp(rest(b))));
        SortedRows { bytes, rows: self.rows }
    }
}

impl SortedRows {
    /// The records of the rows.
    pub fn records(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.rows.iter().map(|lies| lies.record(&self.bytes))
    }

    /// The record of a row with a duplicate key.
    pub fn duplicate(&self) -> Option<&[u8]> {
        let is_same = |pair: &&[Lies]| {
            pair[0].head == pair[1].head && pair[0].key(&self.bytes) == pair[1].key(&self.bytes)
        };
        self.rows.windows(2).find(is_same).map(|pair| pair[1].record(&self.bytes))
    }
}

impl Lies {
    fn key(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.start + self.key as usize]
    }

    fn record(self, bytes: &[u8]) -> &[u8] {
        let start = self.start + self.key as usize;
        &bytes[start..start + self.record as usize]
    }
}

/// The first bytes of a key's rest as a number, padded with zeros: a prefix is not greater than
/// what it begins.
fn head_of(key: &[u8]) -> u64 {
    let mut head = [0; size_of::<u64>()];
    let len = key.len().min(head.len());
    head[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(head)
}
