//! A heap from many rows: page after page, each written once.
//!
//! ```text
//! records ──▶ one page of them ──full──▶ pages as for any append (append.rs), then a system
//!                                        transaction: INSERT_ROWS of all of them
//! ```
//!
//! One log record has all rows of a page, which is what makes it faster than inserts one by one.
//! As in [`crate::btree::Tree::build`] the rows do not belong to the caller's transaction, so that
//! its rollback removes no row: the unit must be one that the transaction has created, which is
//! freed with its row in `sysallocunits`, and nobody else may use the heap.

use extentdb_base::size::PAGE_BODY_BYTES;
use extentdb_base::sync::MutexGuard;
use extentdb_catalog::layout::Cell;
use extentdb_change::change;
use extentdb_format::log::payload::row::{InsertRows, RowPart};
use extentdb_format::log::{Context, Op, Payload};
use extentdb_format::record::RecordBuilder;
use extentdb_txn::{RecordOwner, Transaction};

use super::append::{Appender, free_bytes};
use super::insert::{SLOT_BYTES, footprint};
use super::{Heap, rid, too_long};
use crate::Error;
use crate::layout::RowShape;

/// Fills a heap that the transaction has created.
pub struct HeapBuilder<'h> {
    heap: &'h Heap,
    shape: &'h RowShape,
    form: RecordBuilder,
    appender: MutexGuard<'h, Appender>,
    /// The records of the next page, one after another, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// What they take of a page, with their slots.
    taken: usize,
}

impl Heap {
    /// Takes rows of this shape for the heap, whose unit the transaction has created.
    ///
    /// # Errors
    /// [`Error::NotEmpty`]: it has pages.
    pub fn builder<'h>(&'h self, shape: &'h RowShape) -> Result<HeapBuilder<'h>, Error> {
        if !self.unit.first_iam().is_none() {
            return Err(Error::NotEmpty { unit: self.unit.id() });
        }
        Ok(HeapBuilder {
            heap: self,
            shape,
            form: shape.leaf_builder(),
            appender: self.appender(0),
            bytes: Vec::with_capacity(PAGE_BODY_BYTES),
            ends: Vec::new(),
            taken: 0,
        })
    }
}

impl HeapBuilder<'_> {
    /// Adds a row by its values, one per column of the layout, in its order.
    ///
    /// # Errors
    /// The values are not those of the columns, or too long together; the page before it could not
    /// be written.
    pub fn add(&mut self, tx: &mut Transaction, cells: &[Cell<'_>]) -> Result<(), Error> {
        let start = self.bytes.len();
        self.shape.push_leaf_record(&mut self.form, cells, &mut self.bytes)?;
        let len = self.bytes.len() - start;
        too_long(len)?;
        let bytes = footprint(len) + SLOT_BYTES;
        if self.taken + bytes > PAGE_BODY_BYTES {
            let record = self.bytes.split_off(start);
            self.write(tx)?;
            self.bytes.extend_from_slice(&record);
        }
        self.ends.push(self.bytes.len());
        self.taken += bytes;
        Ok(())
    }

    /// Writes the rows that are left.
    ///
    /// # Errors
    /// The page could not be written.
    pub fn end(mut self, tx: &mut Transaction) -> Result<(), Error> {
        self.write(tx)
    }

    /// Writes a page of rows.
    fn write(&mut self, tx: &mut Transaction) -> Result<(), Error> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let count = self.ends.len() as i64;
        self.heap.unit.count_rows(count);
        let written = self.write_page(tx);
        if written.is_err() {
            self.heap.unit.count_rows(-count);
        }
        self.bytes.clear();
        self.ends.clear();
        self.taken = 0;
        written
    }

    fn write_page(&mut self, tx: &mut Transaction) -> Result<(), Error> {
        let heap = self.heap;
        let mut page = heap.next_page(tx, &mut self.appender)?;
        let id = page.id();
        let fixed = RowPart { partition_id: heap.unit.hobt(), ..RowPart::default() };
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let rows = starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end]).collect();
        let insert = InsertRows { fixed, rows, ..InsertRows::default() };
        heap.space.in_system_of(tx, &heap.unit, "BulkInsert", |system| {
            let payload = Payload::InsertRows(insert);
            change(
                RecordOwner::Change(system),
                &mut page,
                Op::INSERT_ROWS,
                Context::HEAP,
                payload,
            )?;
            Ok(())
        })?;
        let left = free_bytes(&page);
        drop(page);
        heap.note_first_row(rid(id, 0), self.appender.noted)?;
        heap.retire(&mut self.appender, left);
        Ok(())
    }
}
