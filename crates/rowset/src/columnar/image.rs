//! Vectors as bytes, for files that the process that writes them reads again: what does not fit
//! into memory.
//!
//! ```text
//! flags     1: has validity bits, 2: in the form of fixed columns
//! validity  a bit for each row
//! values    numbers with their lowest byte first; bits; bytes; offsets, then bytes
//! ```
//!
//! The form is of one run of the program: it has no version and no checksum.

use extentdb_types::SqlType;

use crate::columnar::Bits;
use crate::columnar::vector::{Form, Values, Vector};

const HAS_VALIDITY: u8 = 1;
const IS_FIXED: u8 = 2;

impl Vector {
    /// Appends its bytes; values off their rows have been replaced by whole ones.
    pub fn write_image(&self, out: &mut Vec<u8>) {
        debug_assert!(self.off_row.is_none(), "a pointer outlives its statement");
        let mut flags = 0;
        if self.validity.is_some() {
            flags |= HAS_VALIDITY;
        }
        if self.form() == Form::of(&self.ty, true) {
            flags |= IS_FIXED;
        }
        out.push(flags);
        if let Some(validity) = &self.validity {
            out.extend_from_slice(validity.bytes());
        }
        match &self.values {
            Values::Bits(own) => out.extend_from_slice(own.bytes()),
            Values::U8(own) => out.extend_from_slice(own),
            Values::I16(own) => write(own, i16::to_le_bytes, out),
            Values::I32(own) => write(own, i32::to_le_bytes, out),
            Values::I64(own) => write(own, i64::to_le_bytes, out),
            Values::I128(own) => write(own, i128::to_le_bytes, out),
            Values::F32(own) => write(own, f32::to_le_bytes, out),
            Values::F64(own) => write(own, f64::to_le_bytes, out),
            Values::Fixed { bytes, .. } => out.extend_from_slice(bytes),
            Values::Variable { offsets, bytes } => {
                write(offsets, i32::to_le_bytes, out);
                out.extend_from_slice(bytes);
            }
        }
    }

    /// Takes a vector of `rows` values from the beginning of `bytes`; `None` where they end before.
    pub fn read_image(ty: SqlType, rows: usize, bytes: &mut &[u8]) -> Option<Vector> {
        let [flags] = take_array(bytes)?;
        let validity = match flags & HAS_VALIDITY != 0 {
            true => Some(take_bits(rows, bytes)?),
            false => None,
        };
        let mut vector = Vector::new(ty, Form::of(&ty, flags & IS_FIXED != 0));
        match &mut vector.values {
            Values::Bits(own) => *own = take_bits(rows, bytes)?,
            Values::U8(own) => own.extend_from_slice(bytes.split_off(..rows)?),
            Values::I16(own) => read(rows, bytes, i16::from_le_bytes, own)?,
            Values::I32(own) => read(rows, bytes, i32::from_le_bytes, own)?,
            Values::I64(own) => read(rows, bytes, i64::from_le_bytes, own)?,
            Values::I128(own) => read(rows, bytes, i128::from_le_bytes, own)?,
            Values::F32(own) => read(rows, bytes, f32::from_le_bytes, own)?,
            Values::F64(own) => read(rows, bytes, f64::from_le_bytes, own)?,
            Values::Fixed { width, bytes: own } => {
                own.extend_from_slice(bytes.split_off(..rows * *width)?);
            }
            Values::Variable { offsets, bytes: own } => {
                offsets.clear();
                read(rows + 1, bytes, i32::from_le_bytes, offsets)?;
                let end = usize::try_from(*offsets.last()?).ok()?;
                own.extend_from_slice(bytes.split_off(..end)?);
            }
        }
        vector.note_valid(rows);
        vector.validity = validity;
        Some(vector)
    }
}

fn write<T: Copy, const N: usize>(values: &[T], bytes: impl Fn(T) -> [u8; N], out: &mut Vec<u8>) {
    out.reserve(values.len() * N);
    values.iter().for_each(|value| out.extend_from_slice(&bytes(*value)));
}

fn read<T, const N: usize>(
    count: usize,
    bytes: &mut &[u8],
    value: impl Fn([u8; N]) -> T,
    out: &mut Vec<T>,
) -> Option<()> {
    let (own, _) = bytes.split_off(..count * N)?.as_chunks::<N>();
    out.extend(own.iter().map(|own| value(*own)));
    Some(())
}

fn take_array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    bytes.split_off(..N)?.try_into().ok()
}

fn take_bits(rows: usize, bytes: &mut &[u8]) -> Option<Bits> {
    let mut bits = Bits::default();
    let mut left = rows;
    for byte in bytes.split_off(..rows.div_ceil(8))? {
        let count = left.min(8);
        bits.push_word(u64::from(*byte), count);
        left -= count;
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    use extentdb_types::Collation;

    use super::*;

    fn pushed(ty: SqlType, form: Form, values: &[Option<&[u8]>]) -> Vector {
        let mut vector = Vector::new(ty, form);
        values.iter().for_each(|value| vector.push_stored(*value).unwrap());
        vector
    }

    #[test]
    fn vectors_of_all_forms_are_read_as_they_were_written() {
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        let varchar = SqlType::VarChar { len: Some(9), collation };
        let decimal = SqlType::Decimal { precision: 38, scale: 2 };
        let cases: Vec<(SqlType, Vec<Option<&[u8]>>)> = vec![
            (SqlType::Bit, vec![Some(&[1]), None, Some(&[0]), Some(&[1])]),
            (SqlType::TinyInt, vec![Some(&[7]), Some(&[255])]),
            (SqlType::SmallInt, vec![Some(&[1, 2]), None]),
            (SqlType::Int, vec![None, Some(&[1, 2, 3, 4])]),
            (SqlType::BigInt, vec![Some(&[1, 2, 3, 4, 5, 6, 7, 8])]),
            (SqlType::Real, vec![Some(&[1, 2, 3, 4])]),
            (SqlType::Float, vec![Some(&[1, 2, 3, 4, 5, 6, 7, 64]), None]),
            (decimal, vec![Some(&[1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])]),
            (SqlType::UniqueIdentifier, vec![Some(&[3; 16]), None]),
            (varchar, vec![Some(b"abc"), Some(b""), None, Some(b"d")]),
            (varchar, vec![]),
        ];
        for (ty, values) in cases {
            for form in [Form::of(&ty, true), Form::of(&ty, false)] {
                let vector = pushed(ty, form, &values);
                let mut bytes = Vec::new();
                vector.write_image(&mut bytes);
                bytes.push(99);
                let mut rest = bytes.as_slice();
                assert_eq!(Vector::read_image(ty, values.len(), &mut rest), Some(vector), "{ty}");
                assert_eq!(rest, [99]);
                if !values.is_empty() {
                    let mut short = &bytes[..bytes.len() - 2];
                    assert_eq!(Vector::read_image(ty, values.len(), &mut short), None, "{ty}");
                }
            }
        }
    }
}
