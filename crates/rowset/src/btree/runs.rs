//! Sorted runs of rows in pages of a [`SortStore`], and their merge: the half of an external merge
//! sort that is not in memory.
//!
//! ```text
//! run      key length u32 │ record length u32 │ key │ record │ …    in pages, rows reach over
//! merge    the least of the next keys of all runs, from a heap      one page of each in memory
//! ```
//!
//! Invariants
//! - A run is written once, in key order, and its pages are numbered one after the other.
//! - A merge holds a page, and the row that reaches over its end, of each run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Debug;
use std::ops::Range;

use crate::error::Error;

/// Bytes of a page of a [`SortStore`].
pub const SORT_PAGE_BYTES: usize = 8000;
/// Lengths of key and record before a row.
const PREFIX_BYTES: usize = 8;

/// Receives key and record of a sorted row.
pub type VisitSorted<'v, E> = &'v mut dyn FnMut(&[u8], &[u8]) -> Result<(), E>;

/// Where sorted runs are kept that memory does not hold. Their pages are freed when it is dropped.
pub trait SortStore: Debug + Send {
    /// Keeps a page of at most [`SORT_PAGE_BYTES`] bytes. The first page has number 0.
    ///
    /// # Errors
    /// [`Error::SortStore`]: there is no room.
    fn push(&mut self, bytes: &[u8]) -> Result<(), Error>;

    /// Appends the bytes of a page to `out`.
    ///
    /// # Errors
    /// [`Error::SortStore`]: the page cannot be read.
    fn read(&self, page: u32, out: &mut Vec<u8>) -> Result<(), Error>;
}

/// Sorted runs in their store.
#[derive(Debug)]
pub(super) struct Runs {
    store: Box<dyn SortStore>,
    pages: u32,
    runs: Vec<Range<u32>>,
}

impl Runs {
    pub(super) fn new(store: Box<dyn SortStore>) -> Runs {
        Runs { store, pages: 0, runs: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Writes a run of rows in key order.
    pub(super) fn write<'r>(
        &mut self,
        rows: impl Iterator<Item = (&'r [u8], &'r [u8])>,
    ) -> Result<(), Error> {
        let first = self.pages;
        let mut bytes = Vec::new();
        for (key, record) in rows {
            bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&(record.len() as u32).to_le_bytes());
            bytes.extend_from_slice(key);
            bytes.extend_from_slice(record);
            let whole = bytes.len() - bytes.len() % SORT_PAGE_BYTES;
            for page in bytes[..whole].chunks(SORT_PAGE_BYTES) {
                self.push(page)?;
            }
            bytes.drain(..whole);
        }
        if !bytes.is_empty() {
            self.push(&bytes)?;
        }
        self.runs.push(first..self.pages);
        Ok(())
    }

    fn push(&mut self, page: &[u8]) -> Result<(), Error> {
        self.store.push(page)?;
        self.pages += 1;
        Ok(())
    }

    /// Visits the rows of all runs in key order, by key and record.
    pub(super) fn merge<E: From<Error>>(&self, visit: VisitSorted<'_, E>) -> Result<(), E> {
        let mut readers: Vec<RunReader> = self.runs.iter().cloned().map(RunReader::new).collect();
        let mut heads = BinaryHeap::with_capacity(readers.len());
        for (number, reader) in readers.iter_mut().enumerate() {
            if reader.advance(&*self.store)? {
                heads.push(Reverse((reader.key().to_vec(), number)));
            }
        }
        while let Some(Reverse((mut key, number))) = heads.pop() {
            let reader = &mut readers[number];
            visit(&key, reader.record())?;
            if reader.advance(&*self.store)? {
                key.clear();
                key.extend_from_slice(reader.key());
                heads.push(Reverse((key, number)));
            }
        }
        Ok(())
    }
}

/// Reads a run, row after row.
struct RunReader {
    pages: Range<u32>,
    bytes: Vec<u8>,
    /// The row in `bytes`.
    key: Range<usize>,
    record: Range<usize>,
}

impl RunReader {
    fn new(pages: Range<u32>) -> RunReader {
        RunReader { pages, bytes: Vec::new(), key: 0..0, record: 0..0 }
    }

    fn key(&self) -> &[u8] {
        &self.bytes[self.key.clone()]
    }

    fn record(&self) -> &[u8] {
        &self.bytes[self.record.clone()]
    }

    /// Goes to the next row; false at the end of the run.
    fn advance(&mut self, store: &dyn SortStore) -> Result<bool, Error> {
        let mut at = self.record.end;
        if !self.fill(store, &mut at, PREFIX_BYTES)? {
            return Ok(false);
        }
        let length_at = |at: usize| {
            let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
        };
        let key = length_at(at);
        let record = length_at(at + 4);
        if !self.fill(store, &mut at, PREFIX_BYTES + key + record)? {
            return Ok(false);
        }
        let start = at + PREFIX_BYTES;
        self.key = start..start + key;
        self.record = start + key..start + key + record;
        Ok(true)
    }

    /// Reads on until `bytes` bytes lie from `at` on, which moves to the front then; false when the
    /// run ends before.
    fn fill(&mut self, store: &dyn SortStore, at: &mut usize, bytes: usize) -> Result<bool, Error> {
        while self.bytes.len() < *at + bytes {
            let Some(page) = self.pages.next() else { return Ok(false) };
            self.bytes.drain(..*at);
            *at = 0;
            store.read(page, &mut self.bytes)?;
        }
        Ok(true)
    }
}
