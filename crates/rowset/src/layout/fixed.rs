//! Keys of fixed columns, read in place: no record is parsed for them, and no key is built only to
//! be compared.
//!
//! ```text
//! record   10 00 │ 0c 00 │ 39 05 00 00 … │ column count, null bitmap │ …
//!                          └─────────┘ 01 80 00 05 39, as types::key_order has it
//! ```
//!
//! Invariants
//! - What is read here is what [`RowShape::key_into`] makes of the whole record. A record that
//!   needs a closer look (NULL, a column that its row does not have, a form of its own) is left to
//!   that.
//! - What follows the key is not checked: the reader of the row checks the record.

use std::cmp::Ordering;

use extentdb_catalog::layout::{Level, PhysicalColumn, RowLayout};
use extentdb_format::record::FixedPart;
use extentdb_types::key_order::{FixedForm, fixed_form};

use super::{LevelShape, RowShape, column_offset};

/// What a sort key of a value begins with.
const IS_VALUE: u8 = 1;

/// Offsets of the columns of a key in the records of one level, when all of them are fixed and have
/// sort keys of fixed length.
#[derive(Clone, Debug)]
pub(super) struct FixedKey {
    parts: Vec<KeyField>,
    /// Where the last of them ends.
    end: usize,
    /// Bytes of the null bitmap with bits of theirs, and those bits.
    nulls: Vec<(usize, u8)>,
    /// The highest of their null bits.
    null_bits: u16,
    /// End of the fixed part; `None` where records say it themselves.
    fixed_end: Option<u16>,
}

/// A column of the key.
#[derive(Clone, Copy, Debug)]
struct KeyField {
    offset: usize,
    bytes: usize,
    form: FixedForm,
    is_descending: bool,
    /// Bits in which a value of one word differs from its sort key.
    inverted: u64,
}

impl FixedKey {
    /// Of the records of a level; `None` when some column is of another kind.
    pub(super) fn of(
        layout: &RowLayout,
        key: &[usize],
        level: Level,
        form: &LevelShape,
    ) -> Option<FixedKey> {
        if key.is_empty() {
            return None;
        }
        let columns: Vec<&PhysicalColumn> = key.iter().map(|at| &layout.columns[*at]).collect();
        let parts: Vec<KeyField> =
            columns.iter().map(|column| KeyField::of(column, level)).collect::<Option<_>>()?;
        let mut nulls: Vec<(usize, u8)> = Vec::new();
        for bit in
            columns.iter().filter_map(|column| column_offset(column, level).null_bit.checked_sub(1))
        {
            let byte = usize::from(bit / 8);
            let mask = 1 << (bit % 8);
            match nulls.iter_mut().find(|(own, _)| *own == byte) {
                Some((_, bits)) => *bits |= mask,
                None => nulls.push((byte, mask)),
            }
        }
        let null_bits =
            columns.iter().map(|column| column_offset(column, level).null_bit).max().unwrap_or(0);
        let end = parts.iter().map(|part| part.offset + part.bytes).max().unwrap_or(0);
        let fixed_end = form.is_index.then_some(form.fixed_end);
        Some(FixedKey { parts, end, nulls, null_bits, fixed_end })
    }

    /// Appends the key of the record that `bytes` begin with; false when it needs a closer look,
    /// and then nothing is appended.
    #[must_use]
    pub(super) fn push(&self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let Some(fixed) = self.fixed_part(bytes) else { return false };
        out.reserve(self.end + self.parts.len());
        for part in &self.parts {
            let Some(value) = fixed.get(part.offset..part.offset + part.bytes) else {
                return false;
            };
            let flip = part.flip();
            out.push(IS_VALUE ^ flip);
            let start = out.len();
            match part.form {
                FixedForm::AsIs => out.extend(value.iter().map(|byte| byte ^ flip)),
                FixedForm::Reversed | FixedForm::Signed => {
                    out.extend(value.iter().rev().map(|byte| byte ^ flip));
                }
            }
            if let (FixedForm::Signed, Some(first)) = (part.form, out.get_mut(start)) {
                *first ^= 0x80;
            }
        }
        true
    }

    /// How the key of the record that `bytes` begin with compares with another one; `None` when
    /// that needs a closer look.
    pub(super) fn compare(&self, bytes: &[u8], key: &[u8]) -> Option<Ordering> {
        let fixed = self.fixed_part(bytes)?;
        let mut rest = key;
        for part in &self.parts {
            let value = fixed.get(part.offset..part.offset + part.bytes)?;
            let Some((first, rest_after)) = rest.split_first() else {
                return Some(Ordering::Greater);
            };
            match (IS_VALUE ^ part.flip()).cmp(first) {
                Ordering::Equal => {}
                other => return Some(other),
            }
            // A key that ends within a column is a bound, made to be greater than others.
            let (sought, rest_after) = rest_after.split_at_checked(part.bytes)?;
            match part.compare(value, sought) {
                Ordering::Equal => rest = rest_after,
                other => return Some(other),
            }
        }
        Some(if rest.is_empty() { Ordering::Equal } else { Ordering::Less })
    }

    /// The fixed part of a record all of whose key columns are there and not NULL.
    fn fixed_part<'r>(&self, bytes: &'r [u8]) -> Option<&'r [u8]> {
        let FixedPart { fixed, nulls } = FixedPart::of(bytes, self.fixed_end)?;
        if let Some((count, bitmap)) = nulls.filter(|_| self.null_bits > 0) {
            let is_set =
                |(byte, mask): &(usize, u8)| bitmap.get(*byte).is_none_or(|own| own & mask != 0);
            if count < self.null_bits || self.nulls.iter().any(is_set) {
                return None;
            }
        }
        (self.end <= fixed.len()).then_some(fixed)
    }
}

impl KeyField {
    fn of(column: &PhysicalColumn, level: Level) -> Option<KeyField> {
        let ty = column.ty?;
        let offset = column_offset(column, level).offset;
        let form = fixed_form(&ty)?;
        let bytes = ty
            .fixed_bytes()
            .filter(|bytes| form != FixedForm::Signed || *bytes <= size_of::<u64>())?;
        let offset = usize::try_from(offset).ok().filter(|offset| *offset > 0)?;
        let is_descending = column.is_descending();
        let bits = |byte: u8| (0..bytes.min(8)).fold(0, |word, _| word << 8 | u64::from(byte));
        let sign = if form == FixedForm::Signed { 0x80 << (8 * (bytes - 1)) } else { 0 };
        let inverted = sign ^ bits(if is_descending { 0xff } else { 0 });
        Some(KeyField { offset, bytes, form, is_descending, inverted })
    }

    /// What the bytes of its sort key are combined with.
    fn flip(self) -> u8 {
        if self.is_descending { 0xff } else { 0 }
    }

    /// Compares a value with as many bytes of a sort key.
    fn compare(self, value: &[u8], sought: &[u8]) -> Ordering {
        let flip = self.flip();
        match self.form {
            FixedForm::AsIs => value.iter().map(|byte| byte ^ flip).cmp(sought.iter().copied()),
            // Numbers of one word are compared as such.
            _ if self.bytes <= size_of::<u64>() => {
                (little_endian(value) ^ self.inverted).cmp(&big_endian(sought))
            }
            FixedForm::Reversed | FixedForm::Signed => {
                value.iter().rev().map(|byte| byte ^ flip).cmp(sought.iter().copied())
            }
        }
    }
}

/// A number of up to 8 bytes, the lowest first. The lengths of int and bigint take one load.
#[inline]
fn little_endian(bytes: &[u8]) -> u64 {
    match (bytes.as_array(), bytes.as_array()) {
        (Some(int), _) => u32::from_le_bytes(*int).into(),
        (_, Some(bigint)) => u64::from_le_bytes(*bigint),
        _ => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// The same, the highest first.
#[inline]
fn big_endian(bytes: &[u8]) -> u64 {
    match (bytes.as_array(), bytes.as_array()) {
        (Some(int), _) => u32::from_be_bytes(*int).into(),
        (_, Some(bigint)) => u64::from_be_bytes(*bigint),
        _ => bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

impl RowShape {
    /// How the key of the record that `bytes` begin with, in a leaf or above, compares with another
    /// one, where that is seen at once.
    #[inline]
    pub(crate) fn compare_fixed(&self, bytes: &[u8], level: Level, key: &[u8]) -> Option<Ordering> {
        self.form(level).key.as_ref()?.compare(bytes, key)
    }

    /// The key of the record at the start of `bytes`; overwrites `out`. False where it cannot be
    /// read in place.
    #[inline]
    pub(crate) fn fixed_key_into(&self, bytes: &[u8], level: Level, out: &mut Vec<u8>) -> bool {
        out.clear();
        self.form(level).key.as_ref().is_some_and(|key| key.push(bytes, out))
    }
}
