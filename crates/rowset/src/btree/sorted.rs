//! Rows for a tree that is to be built: added in any order, sorted by their keys.
//!
//! Known algorithm: external merge sort. Rows that fit in memory are sorted there:
//!
//! ```text
//! bytes   key │ record │ key │ record │ …        each made once, where it stays
//! rows    bytes of the key as a number, where key and record are        sorted in their place
//! ```
//!
//! The prefix that all keys share, as those of numbers and of generated names do, is counted while
//! rows are added, and the number is made of the bytes after it. A sorter with a memory limit
//! writes what it holds as a sorted [run](super::runs) when the limit is reached, and the runs are
//! merged when they are read.

use extentdb_catalog::layout::Cell;
use extentdb_format::record::RecordBuilder;

use super::runs::{Runs, SortStore, VisitSorted};
use crate::error::Error;
use crate::layout::RowShape;

/// Rows to be sorted for a tree.
#[derive(Debug)]
pub struct Sorter<'s> {
    shape: &'s RowShape,
    builder: RecordBuilder,
    rows: RowsInMemory,
    spill: Option<Spill>,
}

/// Where rows go that memory is not to hold.
#[derive(Debug)]
struct Spill {
    /// Bytes that the rows in memory may take.
    memory: usize,
    runs: Runs,
}

/// Rows in the order of their keys.
#[derive(Debug)]
pub struct SortedRows {
    rows: RowsInMemory,
    /// All rows, when memory does not hold them.
    runs: Option<Runs>,
}

#[derive(Debug, Default)]
struct RowsInMemory {
    bytes: Vec<u8>,
    rows: Vec<Lies>,
    /// Bytes that all keys begin with; of no meaning without rows.
    common: usize,
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
    /// None yet, of rows of this shape; all of them stay in memory.
    pub fn new(shape: &'s RowShape) -> Sorter<'s> {
        let builder = shape.leaf_builder();
        Sorter { shape, builder, rows: RowsInMemory::default(), spill: None }
    }

    /// The same with at most `memory` bytes of rows in memory; the others are in `store`.
    #[must_use]
    pub fn with_memory_limit(self, memory: usize, store: Box<dyn SortStore>) -> Sorter<'s> {
        // Vectors take up to twice what is in them.
        let spill = Spill { memory: memory / 2, runs: Runs::new(store) };
        Sorter { spill: Some(spill), ..self }
    }

    /// Adds a row by its values, one per column of the layout, in its order.
    ///
    /// # Errors
    /// The values are not those of the columns, or too long together; the store is full.
    pub fn add(&mut self, cells: &[Cell<'_>]) -> Result<(), Error> {
        let RowsInMemory { bytes, .. } = &mut self.rows;
        let start = bytes.len();
        self.shape.push_key_of_cells(cells, bytes)?;
        let record = bytes.len();
        self.shape.push_leaf_record(&mut self.builder, cells, bytes)?;
        self.rows.push(start, record);
        match &mut self.spill {
            Some(spill) if self.rows.size() >= spill.memory => {
                self.rows.sort();
                spill.runs.write(self.rows.iter())?;
                self.rows.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The rows in key order; rows with equal keys are adjacent.
    ///
    /// # Errors
    /// The store is full.
    pub fn sort(mut self) -> Result<SortedRows, Error> {
        self.rows.sort();
        let Some(Spill { mut runs, .. }) = self.spill.filter(|spill| !spill.runs.is_empty()) else {
            return Ok(SortedRows { rows: self.rows, runs: None });
        };
        runs.write(self.rows.iter())?;
        Ok(SortedRows { rows: RowsInMemory::default(), runs: Some(runs) })
    }
}

impl RowsInMemory {
    /// A row whose key and record have been appended to the bytes.
    fn push(&mut self, start: usize, record: usize) {
        let lies = Lies {
            head: 0,
            start,
            key: (record - start) as u32,
            record: (self.bytes.len() - record) as u32,
        };
        let common = if self.rows.is_empty() { usize::MAX } else { self.common };
        let first = self.rows.first().unwrap_or(&lies).key(&self.bytes);
        let same = first.iter().zip(lies.key(&self.bytes)).take(common).take_while(|(a, b)| a == b);
        self.common = same.count();
        self.rows.push(lies);
    }

    fn size(&self) -> usize {
        self.bytes.len() + self.rows.len() * size_of::<Lies>()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    fn sort(&mut self) {
        let RowsInMemory { bytes, rows, common } = self;
        let (bytes, common) = (&*bytes, *common);
        rows.iter_mut().for_each(|row| row.head = head_of(&row.key(bytes)[common..]));
        let rest = |row: &Lies| &row.key(bytes)[common..];
        rows.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| rest(a).cmp(rest(b))));
    }

    /// Keys and records of the rows.
    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.rows.iter().map(|row| (row.key(&self.bytes), row.record(&self.bytes)))
    }
}

impl SortedRows {
    /// The records of the rows, when all of them are in memory.
    pub(super) fn in_memory(&self) -> Option<impl Iterator<Item = &[u8]>> {
        self.runs.is_none().then(|| self.rows.iter().map(|(_, record)| record))
    }

    /// Visits the rows in key order, by key and record.
    ///
    /// # Errors
    /// Those of `visit`; the store cannot be read.
    pub fn each<E: From<Error>>(&self, visit: VisitSorted<'_, E>) -> Result<(), E> {
        if let Some(runs) = &self.runs {
            return runs.merge(visit);
        }
        self.rows.iter().try_for_each(|(key, record)| visit(key, record))
    }

    /// The record of a row with a duplicate key. Rows that memory does not hold are read for this.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn duplicate(&self) -> Result<Option<Vec<u8>>, Error> {
        if self.runs.is_none() {
            return Ok(self.rows.duplicate().map(<[u8]>::to_vec));
        }
        let mut before: Option<Vec<u8>> = None;
        let mut found = None;
        self.each::<Error>(&mut |key, record| {
            if found.is_none() && before.as_deref() == Some(key) {
                found = Some(record.to_vec());
            }
            let before = before.get_or_insert_default();
            before.clear();
            before.extend_from_slice(key);
            Ok(())
        })?;
        Ok(found)
    }
}

impl RowsInMemory {
    fn duplicate(&self) -> Option<&[u8]> {
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
