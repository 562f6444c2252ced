//! The values of one column.

use extentdb_format::record::uniform::array;
use extentdb_types::SqlType;
use extentdb_types::native::{self, NativeForm};

use super::bits::Bits;
use super::{Located, Rows};
use crate::error::Error;

/// How the values of a column are held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One bit each.
    Bit,
    /// Numbers.
    Native(NativeForm),
    /// As many bytes each.
    Fixed(usize),
    /// Offsets and bytes.
    Variable,
}

/// Values, NULL or not: that of a NULL is unspecified, and has no bytes in [`Values::Variable`].
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// bit.
    Bits(Bits),
    /// tinyint.
    U8(Vec<u8>),
    /// smallint.
    I16(Vec<i16>),
    /// int, smallmoney, date, smalldatetime.
    I32(Vec<i32>),
    /// bigint, money, datetime, time, datetime2.
    I64(Vec<i64>),
    /// decimal, numeric.
    I128(Vec<i128>),
    /// real.
    F32(Vec<f32>),
    /// float.
    F64(Vec<f64>),
    /// char, nchar, binary, uniqueidentifier, rowversion, datetimeoffset: bytes as stored.
    Fixed {
        /// Bytes of each value.
        width: usize,
        /// All values, one after the other.
        bytes: Vec<u8>,
    },
    /// All others: bytes as stored.
    Variable {
        /// Where each value begins, and where the last one ends.
        offsets: Vec<i32>,
        /// All values, one after the other.
        bytes: Vec<u8>,
    },
}

/// The values of one column.
#[derive(Clone, PartialEq, Debug)]
pub struct Vector {
    /// Their type, with the collation of texts.
    pub ty: SqlType,
    /// The values.
    pub values: Values,
    /// A bit for each value that is not NULL; `None` when no value is NULL.
    pub validity: Option<Bits>,
    /// A bit for each value that lies off its row: its bytes are the pointer to it. `None` when no
    /// value does.
    pub off_row: Option<Bits>,
    form: Form,
    len: usize,
}

impl Form {
    /// That of a type whose values lie in the fixed part of records, or in the variable part.
    pub(super) fn of(ty: &SqlType, is_fixed: bool) -> Form {
        match (NativeForm::of(ty), ty.fixed_bytes()) {
            _ if ty.is_bit() => Form::Bit,
            (Some(native), _) => Form::Native(native),
            (None, Some(bytes)) if is_fixed => Form::Fixed(bytes),
            _ => Form::Variable,
        }
    }

    /// Bytes of a stored value; `None` when they differ.
    fn stored_bytes(self) -> Option<usize> {
        match self {
            Form::Bit => Some(1),
            Form::Native(native) => Some(native_bytes(native)),
            Form::Fixed(bytes) => Some(bytes),
            Form::Variable => None,
        }
    }
}

fn native_bytes(native: NativeForm) -> usize {
    match native {
        NativeForm::U8 => 1,
        NativeForm::I16 => 2,
        NativeForm::Date => 3,
        NativeForm::I32 | NativeForm::F32 | NativeForm::SmallDateTime => 4,
        NativeForm::I64 | NativeForm::F64 | NativeForm::DateTime => 8,
        NativeForm::Time { bytes, .. } | NativeForm::Decimal { bytes } => bytes.into(),
        NativeForm::DateTime2 { bytes, .. } => usize::from(bytes) + 3,
    }
}

impl Vector {
    /// Without values yet. `is_fixed`: they lie in the fixed part of records.
    pub(super) fn new(ty: SqlType, form: Form) -> Vector {
        let values = match form {
            Form::Bit => Values::Bits(Bits::default()),
            Form::Native(NativeForm::U8) => Values::U8(Vec::new()),
            Form::Native(NativeForm::I16) => Values::I16(Vec::new()),
            Form::Native(NativeForm::I32 | NativeForm::Date | NativeForm::SmallDateTime) => {
                Values::I32(Vec::new())
            }
            Form::Native(NativeForm::F32) => Values::F32(Vec::new()),
            Form::Native(NativeForm::F64) => Values::F64(Vec::new()),
            Form::Native(NativeForm::Decimal { .. }) => Values::I128(Vec::new()),
            Form::Native(_) => Values::I64(Vec::new()),
            Form::Fixed(width) => Values::Fixed { width, bytes: Vec::new() },
            Form::Variable => Values::Variable { offsets: vec![0], bytes: Vec::new() },
        };
        Vector { ty, values, validity: None, off_row: None, form, len: 0 }
    }

    /// Of a column that rows do not have, and whose values are pushed one by one.
    pub fn computed(ty: SqlType) -> Vector {
        Vector::new(ty, Form::of(&ty, true))
    }

    /// Number of values, NULL among them.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How the values are held.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Is a value NULL?
    pub fn is_null(&self, row: usize) -> bool {
        self.validity.as_ref().is_some_and(|bits| !bits.get(row))
    }

    /// Does a value lie off its row?
    pub fn is_off_row(&self, row: usize) -> bool {
        self.off_row.as_ref().is_some_and(|bits| bits.get(row))
    }

    /// The bytes of a value that is held as bytes; empty for others.
    pub fn bytes(&self, row: usize) -> &[u8] {
        let found = match &self.values {
            Values::Fixed { width, bytes } => bytes.get(row * width..(row + 1) * width),
            Values::Variable { offsets, bytes } => match offsets.get(row..row + 2) {
                Some([from, to]) => bytes.get(*from as usize..*to as usize),
                _ => None,
            },
            _ => None,
        };
        found.unwrap_or_default()
    }

    /// Appends the stored bytes of a value that is not NULL: the way back from
    /// [`push_stored`](Self::push_stored). A bit is 0 or 1.
    pub fn stored_bytes(&self, row: usize, out: &mut Vec<u8>) {
        match (&self.values, self.form) {
            (Values::Bits(bits), _) => out.push(u8::from(bits.get(row))),
            (Values::F32(values), _) => {
                out.extend(values.get(row).copied().unwrap_or_default().to_le_bytes());
            }
            (Values::F64(values), _) => {
                out.extend(values.get(row).copied().unwrap_or_default().to_le_bytes());
            }
            (Values::I32(values), Form::Native(NativeForm::I32)) => {
                out.extend(values.get(row).copied().unwrap_or_default().to_le_bytes());
            }
            (Values::I64(values), Form::Native(NativeForm::I64)) => {
                out.extend(values.get(row).copied().unwrap_or_default().to_le_bytes());
            }
            (_, Form::Native(form)) => native::push_stored(form, self.integer(row), out),
            _ => out.extend_from_slice(self.bytes(row)),
        }
    }

    /// A value that is held as an integer; 0 for others.
    fn integer(&self, row: usize) -> i128 {
        let found = match &self.values {
            Values::U8(values) => values.get(row).map(|value| i128::from(*value)),
            Values::I16(values) => values.get(row).map(|value| i128::from(*value)),
            Values::I32(values) => values.get(row).map(|value| i128::from(*value)),
            Values::I64(values) => values.get(row).map(|value| i128::from(*value)),
            Values::I128(values) => values.get(row).copied(),
            _ => None,
        };
        found.unwrap_or_default()
    }

    /// Bytes of all values of variable length.
    pub(super) fn variable_bytes(&self) -> usize {
        if let Values::Variable { bytes, .. } = &self.values { bytes.len() } else { 0 }
    }

    /// Appends a value by its stored bytes, or NULL.
    ///
    /// # Errors
    /// There are more or less of them than the type has.
    pub fn push_stored(&mut self, value: Option<&[u8]>) -> Result<(), Error> {
        let Some(bytes) = value else {
            self.push_nulls(1);
            return Ok(());
        };
        if self.form.stored_bytes().is_some_and(|expected| expected != bytes.len()) {
            return Err(Error::Record { what: "a value has another length than its type" });
        }
        if let Values::Variable { offsets, bytes: all } = &mut self.values {
            all.extend_from_slice(bytes);
            offsets.push(all.len() as i32);
        } else {
            let rows = &[Located { start: 0, slot: 0 }];
            self.gather(Rows { bytes, rows }, 0, 1);
        }
        self.note_valid(1);
        Ok(())
    }

    /// Appends the pointer to a value that lies off its row.
    pub(super) fn push_off_row(&mut self, pointer: &[u8]) -> Result<(), Error> {
        let row = self.len;
        if self.form != Form::Variable {
            return Err(Error::Record { what: "a value of a fixed type lies off its row" });
        }
        self.push_stored(Some(pointer))?;
        self.note_off_row(row);
        Ok(())
    }

    /// The value of this row lies off it.
    pub(super) fn note_off_row(&mut self, row: usize) {
        let bits = self.off_row.get_or_insert_default();
        bits.extend(row.saturating_sub(bits.len()), false);
        bits.push(true);
    }

    /// Makes the bits as long as the vector.
    pub(super) fn finish(mut self) -> Vector {
        let len = self.len;
        if let Some(bits) = &mut self.off_row {
            bits.extend(len.saturating_sub(bits.len()), false);
        }
        self
    }

    /// Appends `rows` NULLs.
    pub(super) fn push_nulls(&mut self, rows: usize) {
        let len = self.len + rows;
        match &mut self.values {
            Values::Bits(bits) => bits.extend(rows, false),
            Values::U8(values) => values.resize(len, 0),
            Values::I16(values) => values.resize(len, 0),
            Values::I32(values) => values.resize(len, 0),
            Values::I64(values) => values.resize(len, 0),
            Values::I128(values) => values.resize(len, 0),
            Values::F32(values) => values.resize(len, 0.0),
            Values::F64(values) => values.resize(len, 0.0),
            Values::Fixed { width, bytes } => bytes.resize(len * *width, 0),
            Values::Variable { offsets, bytes } => offsets.resize(len + 1, bytes.len() as i32),
        }
        self.validity().extend(rows, false);
        self.len = len;
    }

    /// The validity bits, made for all values before.
    fn validity(&mut self) -> &mut Bits {
        let len = self.len;
        self.validity.get_or_insert_with(|| Bits::filled(len, true))
    }

    /// `rows` values were appended, none of them NULL.
    pub(super) fn note_valid(&mut self, rows: usize) {
        if let Some(bits) = &mut self.validity {
            bits.extend(rows, true);
        }
        self.len += rows;
    }

    /// A value was appended for each of the items.
    pub(super) fn note_validity<T>(&mut self, items: &[T], is_valid: impl Fn(&T) -> bool) {
        self.validity().push_all(items, is_valid);
        self.len += items.len();
    }

    /// Appends the values at an offset of each record, of all forms but [`Form::Variable`]. A bit
    /// is the one in `mask`.
    pub(super) fn gather(&mut self, rows: Rows<'_>, offset: usize, mask: u8) {
        let at = |row: &Located| usize::from(row.start) + offset;
        match &mut self.values {
            Values::Bits(out) => {
                out.push_all(rows.rows, |row| array::<1>(rows.bytes, at(row))[0] & mask != 0);
            }
            Values::U8(out) => gather(rows, offset, out, u8::from_le_bytes),
            Values::I16(out) => gather(rows, offset, out, i16::from_le_bytes),
            Values::I32(out) => gather_i32(rows, offset, out, self.form),
            Values::I64(out) => gather_i64(rows, offset, out, self.form),
            Values::I128(out) => gather_i128(rows, offset, out, self.form),
            Values::F32(out) => gather(rows, offset, out, f32::from_le_bytes),
            Values::F64(out) => gather(rows, offset, out, f64::from_le_bytes),
            Values::Fixed { width, bytes } => {
                bytes.reserve(rows.rows.len() * *width);
                for row in rows.rows {
                    let from = at(row);
                    match rows.bytes.get(from..from + *width) {
                        Some(value) => bytes.extend_from_slice(value),
                        None => bytes.resize(bytes.len() + *width, 0),
                    }
                }
            }
            Values::Variable { .. } => {}
        }
    }
}

/// Appends what `read` makes of the bytes at an offset of each record.
#[inline(always)]
pub(super) fn gather<const N: usize, T>(
    rows: Rows<'_>,
    offset: usize,
    out: &mut Vec<T>,
    read: impl Fn([u8; N]) -> T,
) {
    let value = |row: &Located| read(array(rows.bytes, usize::from(row.start) + offset));
    out.extend(rows.rows.iter().map(value));
}

fn gather_i32(rows: Rows<'_>, offset: usize, out: &mut Vec<i32>, form: Form) {
    match form {
        Form::Native(NativeForm::Date) => gather(rows, offset, out, native::date),
        Form::Native(NativeForm::SmallDateTime) => {
            gather(rows, offset, out, native::smalldatetime);
        }
        _ => gather(rows, offset, out, i32::from_le_bytes),
    }
}

fn gather_i64(rows: Rows<'_>, offset: usize, out: &mut Vec<i64>, form: Form) {
    match form {
        Form::Native(NativeForm::DateTime) => gather(rows, offset, out, native::datetime),
        Form::Native(NativeForm::Time { bytes: 3, unit }) => {
            gather(rows, offset, out, |bytes: [u8; 3]| native::time(bytes, unit));
        }
        Form::Native(NativeForm::Time { bytes: 4, unit }) => {
            gather(rows, offset, out, |bytes: [u8; 4]| native::time(bytes, unit));
        }
        Form::Native(NativeForm::Time { unit, .. }) => {
            gather(rows, offset, out, |bytes: [u8; 5]| native::time(bytes, unit));
        }
        Form::Native(NativeForm::DateTime2 { bytes: 3, unit }) => {
            gather(rows, offset, out, |bytes: [u8; 6]| native::datetime2(bytes, unit));
        }
        Form::Native(NativeForm::DateTime2 { bytes: 4, unit }) => {
            gather(rows, offset, out, |bytes: [u8; 7]| native::datetime2(bytes, unit));
        }
        Form::Native(NativeForm::DateTime2 { unit, .. }) => {
            gather(rows, offset, out, |bytes: [u8; 8]| native::datetime2(bytes, unit));
        }
        _ => gather(rows, offset, out, i64::from_le_bytes),
    }
}

fn gather_i128(rows: Rows<'_>, offset: usize, out: &mut Vec<i128>, form: Form) {
    match form {
        Form::Native(NativeForm::Decimal { bytes: 5 }) => {
            gather(rows, offset, out, native::decimal::<5>);
        }
        Form::Native(NativeForm::Decimal { bytes: 9 }) => {
            gather(rows, offset, out, native::decimal::<9>);
        }
        Form::Native(NativeForm::Decimal { bytes: 13 }) => {
            gather(rows, offset, out, native::decimal::<13>);
        }
        _ => gather(rows, offset, out, native::decimal::<17>),
    }
}
