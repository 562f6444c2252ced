//! Values of one row in their disk form.

use std::ops::Range;

/// A value of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell<'a> {
    /// NULL.
    Null,
    /// A bit.
    Bit(bool),
    /// The disk form of a value.
    Bytes(&'a [u8]),
    /// The disk form of a value that is to lie off the row.
    Lob(&'a [u8]),
    /// What leads to such a value once it is stored.
    Pointer(&'a [u8]),
}

#[derive(Clone, Debug)]
enum Slot {
    Null,
    Bit(bool),
    Bytes(Range<usize>),
    Lob(Range<usize>),
    Pointer(Range<usize>),
}

/// The values of a row, in the order of column ids. One serves many rows: [`clear`](Self::clear) keeps the memory.
#[derive(Clone, Debug, Default)]
pub struct RowValues {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
}

impl RowValues {
    /// No values.
    pub fn new() -> Self {
        RowValues::default()
    }

    /// Forgets the values.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.slots.clear();
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True without values.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// A value by position, from 0; NULL beyond the last.
    #[inline]
    pub fn cell(&self, at: usize) -> Cell<'_> {
        match self.slots.get(at) {
            None | Some(Slot::Null) => Cell::Null,
            Some(Slot::Bit(value)) => Cell::Bit(*value),
            Some(Slot::Bytes(range)) => Cell::Bytes(&self.bytes[range.clone()]),
            Some(Slot::Lob(range)) => Cell::Lob(&self.bytes[range.clone()]),
            Some(Slot::Pointer(range)) => Cell::Pointer(&self.bytes[range.clone()]),
        }
    }

    /// Appends NULL.
    pub fn null(&mut self) -> &mut Self {
        self.slots.push(Slot::Null);
        self
    }

    /// Appends a bit.
    pub fn bit(&mut self, value: bool) -> &mut Self {
        self.slots.push(Slot::Bit(value));
        self
    }

    /// Appends a value by its disk form: binary types, or a value encoded elsewhere.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.slots.push(Slot::Bytes(start..self.bytes.len()));
        self
    }

    /// Appends a value of a (max) type that is to lie off the row: 1 to 40,200 bytes.
    pub fn lob(&mut self, bytes: &[u8]) -> &mut Self {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.slots.push(Slot::Lob(start..self.bytes.len()));
        self
    }

    /// Replaces values that lie off the row by what `store` returns for them.
    pub(super) fn store_lobs<E>(
        &mut self,
        mut store: impl FnMut(&[u8]) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        for at in 0..self.slots.len() {
            if let Slot::Lob(range) = &self.slots[at] {
                let pointer = store(&self.bytes[range.clone()])?;
                let start = self.bytes.len();
                self.bytes.extend_from_slice(&pointer);
                self.slots[at] = Slot::Pointer(start..self.bytes.len());
            }
        }
        Ok(())
    }

    /// Appends a tinyint.
    pub fn tinyint(&mut self, value: u8) -> &mut Self {
        self.raw(&[value])
    }

    /// Appends a smallint.
    pub fn smallint(&mut self, value: i16) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends an int.
    pub fn int(&mut self, value: i32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends a bigint.
    pub fn bigint(&mut self, value: i64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends a money value, in 1/10000.
    pub fn money(&mut self, value: i64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends a float.
    pub fn float(&mut self, value: f64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends a decimal of up to 9 digits precision, scaled.
    pub fn decimal9(&mut self, scaled: i32) -> &mut Self {
        let mut bytes = [0; 5];
        bytes[0] = u8::from(scaled >= 0);
        bytes[1..].copy_from_slice(&scaled.unsigned_abs().to_le_bytes());
        self.raw(&bytes)
    }

    /// Appends a decimal of 10 to 19 digits precision, scaled.
    pub fn decimal19(&mut self, scaled: i64) -> &mut Self {
        let mut bytes = [0; 9];
        bytes[0] = u8::from(scaled >= 0);
        bytes[1..].copy_from_slice(&scaled.unsigned_abs().to_le_bytes());
        self.raw(&bytes)
    }

    /// Appends a datetime: days since 1900-01-01, ticks of 1/300 s.
    pub fn datetime(&mut self, days: i32, ticks: u32) -> &mut Self {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&ticks.to_le_bytes());
        bytes[4..].copy_from_slice(&days.to_le_bytes());
        self.raw(&bytes)
    }

    /// Appends char or varchar text; ASCII, so that it means the same in every code page. The caller pads char.
    pub fn text(&mut self, text: &str) -> &mut Self {
        debug_assert!(text.is_ascii());
        self.raw(text.as_bytes())
    }

    /// Appends nchar or nvarchar text. The caller pads nchar.
    pub fn ntext(&mut self, text: &str) -> &mut Self {
        let start = self.bytes.len();
        self.bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        self.slots.push(Slot::Bytes(start..self.bytes.len()));
        self
    }
}
