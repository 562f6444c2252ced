//! Records of one form: those whose status, fixed part and null bitmap are laid out alike, so that
//! a column is at the same offset in all of them.
//!
//! ```text
//! records    A A A A B B A A        A, B: status, fixed end, column count
//! runs       ───────┤───┤───        each read column by column
//! ```
//!
//! Invariants
//! - A form is taken from a record that reaches to the end of its null bitmap; whatever is read by
//!   it from another place of the bytes is zero where they end.
//! - The variable part is verified column by column, as it is read.

use super::row::{COMPLEX_COLUMN, FixedPart, VarColumn};
use super::status::HAS_VARIABLE;

/// How the fixed part and the null bitmap of a record are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordForm {
    fixed_end: u16,
    /// Columns that the null bitmap counts; `None` without one.
    columns: Option<u16>,
}

/// The end offsets of a variable column do not add up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadVariable;

impl RecordForm {
    /// That of the record at `start`. `fixed_end` of an index record is its page's `pminlen`; a
    /// data record has its own. `None` for a stub, a compressed record, and one that is cut short.
    #[inline]
    pub fn of(bytes: &[u8], start: usize, fixed_end: Option<u16>) -> Option<RecordForm> {
        let part = FixedPart::of(bytes.get(start..)?, fixed_end)?;
        let fixed_end = part.fixed.len() as u16;
        let columns = match part.nulls {
            None => None,
            Some((columns, bitmap)) if bitmap.len() >= usize::from(columns).div_ceil(8) => {
                Some(columns)
            }
            Some(_) => return None,
        };
        Some(RecordForm { fixed_end, columns })
    }

    /// End of the fixed part.
    pub fn fixed_end(&self) -> usize {
        usize::from(self.fixed_end)
    }

    /// Was the record written with the column of this null bit? True without a null bitmap, and for
    /// a column that has no bit.
    pub fn has_column(&self, null_bit: u16) -> bool {
        self.columns.is_none_or(|columns| null_bit <= columns)
    }

    /// The null bits of the first 64 columns: the lowest is that of null bit 1.
    #[inline]
    pub fn null_word(&self, bytes: &[u8], start: usize) -> u64 {
        let Some(columns) = self.columns else { return 0 };
        let at = start + usize::from(self.fixed_end) + 2;
        let word = match bytes.get(at..at + 8) {
            Some(_) => u64::from_le_bytes(array(bytes, at)),
            None => {
                let rest = bytes.get(at..).unwrap_or_default();
                rest.iter().take(8).rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
            }
        };
        if columns >= 64 { word } else { word & !(u64::MAX << columns) }
    }

    /// Is the column of this null bit (from 1) NULL?
    #[inline]
    pub fn is_null(&self, bytes: &[u8], start: usize, null_bit: u16) -> bool {
        let (Some(columns), Some(bit)) = (self.columns, null_bit.checked_sub(1)) else {
            return false;
        };
        let at = start + usize::from(self.fixed_end) + 2 + usize::from(bit / 8);
        bit < columns && bytes.get(at).is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
    }

    /// A variable column, from 0; `None` when it is not stored: trailing empty columns are not.
    ///
    /// # Errors
    /// It ends before it begins, or past the bytes.
    #[inline]
    pub fn variable<'b>(
        &self,
        bytes: &'b [u8],
        start: usize,
        column: u16,
    ) -> Result<Option<VarColumn<'b>>, BadVariable> {
        let record = bytes.get(start..).ok_or(BadVariable)?;
        if record.first().is_none_or(|status| status & HAS_VARIABLE == 0) {
            return Ok(None);
        }
        let bitmap = self.columns.map_or(0, |columns| 2 + usize::from(columns).div_ceil(8));
        let counted_at = usize::from(self.fixed_end) + bitmap;
        let count = u16::from_le_bytes(array(record, counted_at));
        if column >= count {
            return Ok(None);
        }
        let ends_at = counted_at + 2;
        let end =
            |column: u16| u16::from_le_bytes(array(record, ends_at + 2 * usize::from(column)));
        let from = match column.checked_sub(1) {
            Some(before) => usize::from(end(before) & !COMPLEX_COLUMN),
            None => ends_at + 2 * usize::from(count),
        };
        let own = end(column);
        let value = record.get(from..usize::from(own & !COMPLEX_COLUMN)).ok_or(BadVariable)?;
        Ok(Some(VarColumn { bytes: value, complex: own & COMPLEX_COLUMN != 0 }))
    }
}

/// The bytes at an offset; zeros where they end before.
#[inline(always)]
pub fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    match bytes.get(at..).and_then(<[u8]>::first_chunk::<N>) {
        Some(found) => *found,
        None => [0; N],
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Record, RecordBuilder, RecordKind};
    use super::*;

    fn record(columns: u16, nulls: &[u16], variable: &[&[u8]]) -> Vec<u8> {
        let mut builder = RecordBuilder::data(RecordKind::Primary, 8);
        builder.fixed(4, &[1, 2, 3, 4]).columns(columns);
        nulls.iter().for_each(|bit| {
            builder.null(*bit);
        });
        variable.iter().for_each(|bytes| {
            builder.var(bytes, bytes.len() == 5);
        });
        builder.to_vec()
    }

    #[test]
    fn a_form_reads_what_the_record_has() {
        for (columns, nulls) in [(3, vec![2]), (70, vec![1, 64, 65, 70]), (64, vec![64])] {
            let variable: [&[u8]; 3] = [b"one", b"", b"three"];
            let one = record(columns, &nulls, &variable);
            let bytes = [&[9; 7][..], &one].concat();
            let form = RecordForm::of(&bytes, 7, None).unwrap();
            let parsed = Record::parse_data(&one);
            assert_eq!(form.fixed_end(), parsed.fixed_end());
            assert!(form.has_column(columns) && !form.has_column(columns + 1));
            for bit in 1..=columns {
                let expected = parsed.is_null(bit) == Some(true);
                assert_eq!(form.is_null(&bytes, 7, bit), expected);
                if bit <= 64 {
                    assert_eq!(form.null_word(&bytes, 7) >> (bit - 1) & 1 == 1, expected);
                }
            }
            for column in 0..4 {
                assert_eq!(form.variable(&bytes, 7, column), Ok(parsed.var(column)));
            }
        }
    }

    #[test]
    fn what_is_cut_short_has_no_form() {
        let one = record(9, &[], &[b"text"]);
        for end in 0..one.len() {
            let form = RecordForm::of(&one[..end], 0, None);
            assert_eq!(form.is_some(), end >= 12, "{end}");
            if let Some(form) = form {
                assert!(form.variable(&one[..end], 0, 0).is_err() || end < 14);
            }
        }
    }
}
