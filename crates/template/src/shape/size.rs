//! The size of a database and its tables, and text to fill them with.

use extentdb_base::env::{Rng, SplitMix64};

use crate::Error;

/// The size of a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// Bytes of all files together.
    Bytes(u64),
    /// Rows of the main table.
    Rows(u64),
}

/// Bytes that the catalog of a small database takes, before the first row.
pub(crate) const CATALOG_BYTES: u64 = 2 << 20;

/// Rows of a table whose rows take `bytes_per_row` with all indexes, in a database of this size; a
/// little less than would fit, so that the files keep their size.
pub(crate) fn rows_for(size: Size, bytes_per_row: u64) -> u64 {
    match size {
        Size::Rows(rows) => rows,
        Size::Bytes(bytes) => {
            let room = bytes.saturating_sub(CATALOG_BYTES);
            // Maps take 1/8088 of a file, and each index leaves part of its last extent unused.
            (room - room / 256) / bytes_per_row
        }
    }
}

/// [`rows_for`] a table whose rows are numbered in an int column.
pub(crate) fn int_rows_for(size: Size, bytes_per_row: u64) -> Result<u64, Error> {
    let rows = rows_for(size, bytes_per_row);
    if rows > i32::MAX as u64 { Err(Error::TooManyRows { rows }) } else { Ok(rows) }
}

/// Letters and blanks.
pub(crate) fn letters(len: usize, rng: &mut SplitMix64) -> Vec<u8> {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz eats ";
    let mut out = Vec::with_capacity(len + 8);
    while out.len() < len {
        let bits = rng.next_u64();
        out.extend((0..8).map(|at| LETTERS[(bits >> (5 * at) & 31) as usize]));
    }
    out.truncate(len);
    out
}
