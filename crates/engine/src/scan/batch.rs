//! Columnar batches: what scans and seeks return.

use extentdb_base::{PageId, Rid};
use extentdb_rowset::columnar::{ColumnBuilder, Located, Vector};

use crate::catalog::Address;

/// Rows as columns.
#[derive(Debug)]
pub struct ColumnBatch {
    /// Number of rows.
    pub rows: usize,
    /// The columns, in the order of the projection.
    pub columns: Vec<Vector>,
    /// What leads to the rows, where it was asked for.
    pub locators: Option<RowLocators>,
}

/// What leads to the rows of a batch. An update or delete by them finds the row that was read,
/// wherever it is by then, unless its clustered key was changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowLocators {
    /// Of rows of a heap.
    Rids(Vec<Rid>),
    /// Sort keys of rows of a clustered table.
    Keys {
        /// Where each key begins, and where the last one ends.
        offsets: Vec<i32>,
        /// All keys, one after the other.
        bytes: Vec<u8>,
    },
}

impl ColumnBatch {
    /// What leads to a row; `None` when it was not asked for, or there is no such row.
    pub fn address(&self, row: usize) -> Option<Address> {
        match self.locators.as_ref()? {
            RowLocators::Rids(rids) => rids.get(row).copied().map(Address::Rid),
            RowLocators::Keys { offsets, bytes } => {
                let [from, to] = offsets.get(row..row + 2)? else { return None };
                bytes.get(*from as usize..*to as usize).map(|key| Address::Key(key.into()))
            }
        }
    }
}

impl RowLocators {
    pub(crate) fn of_heap() -> RowLocators {
        RowLocators::Rids(Vec::new())
    }

    pub(crate) fn of_keys() -> RowLocators {
        RowLocators::Keys { offsets: vec![0], bytes: Vec::new() }
    }

    /// Appends rows at their own places.
    pub(crate) fn push_rids(&mut self, page: PageId, rows: &[Located]) {
        if let RowLocators::Rids(rids) = self {
            rids.extend(rows.iter().map(|row| Rid::new(page, row.slot)));
        }
    }

    pub(crate) fn push(&mut self, address: &Address) {
        match (self, address) {
            (RowLocators::Rids(rids), Address::Rid(rid)) => rids.push(*rid),
            (RowLocators::Keys { offsets, bytes }, Address::Key(key)) => {
                bytes.extend_from_slice(key);
                offsets.push(bytes.len() as i32);
            }
            // A table has rows of one kind.
            _ => {}
        }
    }
}

/// A batch that grows.
#[derive(Debug)]
pub(crate) struct BatchBuilder {
    pub(crate) columns: ColumnBuilder,
    pub(crate) locators: Option<RowLocators>,
    /// Of a seek: the key that each row was found by.
    pub(crate) ordinals: Option<Vec<u32>>,
    /// Rows that may be added.
    pub(crate) left: usize,
}

impl BatchBuilder {
    pub(crate) fn rows(&self) -> usize {
        self.columns.rows()
    }

    /// Is a batch of this many rows complete?
    pub(crate) fn is_full(&self, rows: usize) -> bool {
        self.rows() >= rows || self.left == 0 || self.columns.is_full()
    }

    pub(crate) fn finish(self) -> ColumnBatch {
        ColumnBatch {
            rows: self.columns.rows(),
            columns: self.columns.finish(),
            locators: self.locators,
        }
    }
}
