//! Sparse vectors: the one complex column that holds the values of all sparse columns of a row.
//!
//! ```text
//! offset size
//!      0    2 5: this is a sparse vector
//!      2    2 number of values
//!      4   2n column ids, as in sys.columns
//!   4+2n   2n end offsets from the start of the vector; bit 15 = the value is a pointer structure
//!   4+4n      values, in the form of their types
//! ```
//!
//! Only columns that are not NULL are in it; a row without any has no vector. Fixed-length types
//! are stored like the others.
//!
//! Unverified: no sample has sparse columns. From public descriptions; that bit 15 marks pointers
//! here, too, is inferred from the other offset arrays.

use super::row::{COMPLEX_COLUMN, VarColumn};

/// First two bytes of a sparse vector.
pub const SPARSE_VECTOR: u16 = 5;
const HEADER_BYTES: usize = 4;
/// Bytes that a column takes besides its value.
const ENTRY_BYTES: usize = 4;

/// What is wrong with a sparse vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SparseFault {
    /// It does not begin with 5.
    Kind {
        /// The first two bytes; `None` when there are fewer.
        found: Option<u16>,
    },
    /// The two arrays do not fit.
    Arrays {
        /// Number of values it claims.
        count: u16,
        /// Bytes there are.
        limit: usize,
    },
    /// A value ends before it begins or after the vector.
    EndOffset {
        /// Place in the arrays, from 0.
        entry: u16,
        /// Its end offset.
        end: usize,
        /// The smallest there could be.
        start: usize,
        /// Bytes there are.
        limit: usize,
    },
}

/// A sparse vector that is read. With a fault, the values before it can still be read.
#[derive(Clone, Copy, Debug)]
pub struct SparseVector<'a> {
    bytes: &'a [u8],
    /// Entries in the arrays.
    stored: u16,
    /// Entries whose values can be read.
    count: u16,
    fault: Option<SparseFault>,
}

impl<'a> SparseVector<'a> {
    /// Is this complex column a sparse vector?
    pub fn is_one(bytes: &[u8]) -> bool {
        u16_at(bytes, 0) == Some(SPARSE_VECTOR)
    }

    /// Reads a complex column as a sparse vector.
    pub fn parse(bytes: &'a [u8]) -> SparseVector<'a> {
        let mut vector = SparseVector { bytes, stored: 0, count: 0, fault: None };
        vector.fault = vector.read_arrays().err();
        vector
    }

    fn read_arrays(&mut self) -> Result<(), SparseFault> {
        let found = u16_at(self.bytes, 0);
        if found != Some(SPARSE_VECTOR) {
            return Err(SparseFault::Kind { found });
        }
        let limit = self.bytes.len();
        let count = u16_at(self.bytes, 2).unwrap_or(u16::MAX);
        let mut start = HEADER_BYTES + ENTRY_BYTES * usize::from(count);
        if start > limit {
            return Err(SparseFault::Arrays { count, limit });
        }
        self.stored = count;
        for entry in 0..count {
            let end = usize::from(self.raw_end(entry).unwrap_or(0) & !COMPLEX_COLUMN);
            if end < start || end > limit {
                return Err(SparseFault::EndOffset { entry, end, start, limit });
            }
            start = end;
            self.count = entry + 1;
        }
        Ok(())
    }

    fn raw_end(&self, entry: u16) -> Option<u16> {
        u16_at(self.bytes, HEADER_BYTES + 2 * (usize::from(self.stored) + usize::from(entry)))
    }

    /// What does not add up.
    pub fn fault(&self) -> Option<SparseFault> {
        self.fault
    }

    /// Number of values that can be read.
    pub fn len(&self) -> u16 {
        self.count
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Column id and value of an entry, from 0.
    pub fn entry(&self, entry: u16) -> Option<(u16, VarColumn<'a>)> {
        if entry >= self.count {
            return None;
        }
        let column = u16_at(self.bytes, HEADER_BYTES + 2 * usize::from(entry))?;
        let raw = self.raw_end(entry)?;
        let start = match entry.checked_sub(1) {
            Some(before) => usize::from(self.raw_end(before)? & !COMPLEX_COLUMN),
            None => HEADER_BYTES + ENTRY_BYTES * usize::from(self.stored),
        };
        let bytes = self.bytes.get(start..usize::from(raw & !COMPLEX_COLUMN))?;
        Some((column, VarColumn { bytes, complex: raw & COMPLEX_COLUMN != 0 }))
    }

    /// Column id and value of each entry, in stored order.
    pub fn entries(&self) -> impl Iterator<Item = (u16, VarColumn<'a>)> {
        let vector = *self;
        (0..self.count).filter_map(move |entry| vector.entry(entry))
    }

    /// The value of a column; `None` = NULL.
    pub fn value(&self, column_id: u16) -> Option<VarColumn<'a>> {
        self.entries().find(|(column, _)| *column == column_id).map(|(_, value)| value)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_le_bytes(*b))
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};

    use super::*;

    /// A published example: column 3 = int 3, column 6 = int 1234.
    const EXAMPLE: [u8; 20] = [5, 0, 2, 0, 3, 0, 6, 0, 16, 0, 20, 0, 3, 0, 0, 0, 0xd2, 4, 0, 0];

    fn value(bytes: &[u8]) -> VarColumn<'_> {
        VarColumn { bytes, complex: false }
    }

    /// Appends a vector of these columns, which should ascend. False, and nothing appended, when it
    /// would be longer than end offsets can say.
    fn write_sparse_vector(columns: &[(u16, VarColumn<'_>)], out: &mut Vec<u8>) -> bool {
        let values: usize = columns.iter().map(|(_, value)| value.bytes.len()).sum();
        let start = HEADER_BYTES + ENTRY_BYTES * columns.len();
        if start + values >= usize::from(COMPLEX_COLUMN) {
            return false;
        }
        out.extend_from_slice(&SPARSE_VECTOR.to_le_bytes());
        out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
        for (column, _) in columns {
            out.extend_from_slice(&column.to_le_bytes());
        }
        let mut end = start;
        for (_, value) in columns {
            end += value.bytes.len();
            let flag = if value.complex { COMPLEX_COLUMN } else { 0 };
            out.extend_from_slice(&(end as u16 | flag).to_le_bytes());
        }
        for (_, value) in columns {
            out.extend_from_slice(value.bytes);
        }
        true
    }

    #[test]
    fn the_published_example_reads_and_writes() {
        let vector = SparseVector::parse(&EXAMPLE);
        assert_eq!(vector.fault(), None);
        let three = 3i32.to_le_bytes();
        let many = 1234i32.to_le_bytes();
        assert_eq!(vector.entries().collect::<Vec<_>>(), [(3, value(&three)), (6, value(&many))]);
        assert_eq!((vector.value(6), vector.value(4)), (Some(value(&many)), None));
        let mut out = Vec::new();
        assert!(write_sparse_vector(&[(3, value(&three)), (6, value(&many))], &mut out));
        assert_eq!(out, EXAMPLE);
    }

    #[test]
    fn any_columns_survive() {
        let mut rng = SplitMix64::new(1);
        for _ in 0..2_000 {
            let values: Vec<(u16, Vec<u8>, bool)> = (0..rng.below(12) as u16)
                .map(|i| {
                    (
                        3 * i,
                        (0..rng.below(40)).map(|_| rng.next_u64() as u8).collect(),
                        rng.below(4) == 0,
                    )
                })
                .collect();
            let columns: Vec<_> = values
                .iter()
                .map(|(id, bytes, complex)| (*id, VarColumn { bytes, complex: *complex }))
                .collect();
            let mut out = Vec::new();
            assert!(write_sparse_vector(&columns, &mut out));
            let vector = SparseVector::parse(&out);
            assert_eq!((vector.fault(), vector.is_empty()), (None, columns.is_empty()));
            assert_eq!(vector.entries().collect::<Vec<_>>(), columns);
        }
        let long = vec![0; 40_000];
        assert!(!write_sparse_vector(&[(1, value(&long))], &mut Vec::new()));
    }

    #[test]
    fn damage_leaves_the_values_before_it_readable() {
        let mut bytes = EXAMPLE;
        bytes[10] = 21;
        let vector = SparseVector::parse(&bytes);
        assert_eq!(
            vector.fault(),
            Some(SparseFault::EndOffset { entry: 1, end: 21, start: 16, limit: 20 })
        );
        assert_eq!(
            (vector.len(), vector.entry(0).map(|(id, _)| id), vector.entry(1)),
            (1, Some(3), None)
        );
        assert_eq!(
            SparseVector::parse(&EXAMPLE[..11]).fault(),
            Some(SparseFault::Arrays { count: 2, limit: 11 })
        );
        assert_eq!(
            SparseVector::parse(&[4, 0]).fault(),
            Some(SparseFault::Kind { found: Some(4) })
        );
        assert!(!SparseVector::is_one(&[5]));
        let mut rng = SplitMix64::new(2);
        for _ in 0..20_000 {
            let mut bytes = EXAMPLE;
            for _ in 0..=rng.below(3) {
                bytes[rng.below(20) as usize] = rng.next_u64() as u8;
            }
            let vector = SparseVector::parse(&bytes[..rng.below(21) as usize]);
            assert_eq!(vector.entries().count(), usize::from(vector.len()));
        }
    }
}
