//! Values of one row in their disk form.

use std::fmt;
use std::ops::Range;

use extentdb_base::sync::Arc;

/// A value of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell<'a> {
    /// The column is NULL.
    Null,
    /// A bit, which shares its byte with other bits.
    Bit(bool),
    /// The disk form of a value.
    Bytes(&'a [u8]),
    /// The disk form of a value that is to lie off the row.
    Lob(&'a [u8]),
    /// A long value that is to lie off the row, made when it is written.
    Stream(&'a LobStream),
    /// What leads to such a value once it is stored.
    Pointer(&'a [u8]),
}

/// Writes the bytes of a value that begin at an offset.
type FillBytes = Arc<dyn Fn(u64, &mut [u8]) + Send + Sync>;

/// A value as a function from offset to bytes: it is never in memory as a whole.
#[derive(Clone)]
pub struct LobStream {
    len: u64,
    fill: FillBytes,
}

impl LobStream {
    /// A value of `len` bytes. `fill` gets an offset and a part of the value to write; parts may
    /// have any size.
    pub fn new(len: u64, fill: impl Fn(u64, &mut [u8]) + Send + Sync + 'static) -> Self {
        LobStream { len, fill: Arc::new(fill) }
    }

    /// Bytes of the value.
    pub fn byte_len(&self) -> u64 {
        self.len
    }

    /// Writes the part that begins at `offset`.
    pub fn read(&self, offset: u64, part: &mut [u8]) {
        (self.fill)(offset, part);
    }
}

impl fmt::Debug for LobStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LobStream({} bytes)", self.len)
    }
}

impl PartialEq for LobStream {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && Arc::ptr_eq(&self.fill, &other.fill)
    }
}

impl Eq for LobStream {}

#[derive(Clone, Debug)]
enum Slot {
    Null,
    Bit(bool),
    Bytes(Range<usize>),
    Lob(Range<usize>),
    Stream(LobStream),
    Pointer(Range<usize>),
}

/// The values of a row, in the order of column ids. One serves many rows: [`clear`](Self::clear)
/// keeps the memory.
#[derive(Clone, Debug, Default)]
pub struct RowValues {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
}

impl RowValues {
    /// Starts a row without values.
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
            Some(Slot::Bytes(range)) => Cell::Bytes(self.part(range)),
            Some(Slot::Lob(range)) => Cell::Lob(self.part(range)),
            Some(Slot::Stream(stream)) => Cell::Stream(stream),
            Some(Slot::Pointer(range)) => Cell::Pointer(self.part(range)),
        }
    }

    /// Ranges are made when their bytes are appended, and nothing is ever cut off.
    fn part(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// Appends NULL as the value of the next column.
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

    /// Appends a value of a (max) type that is to lie off the row. Values of text, ntext and image
    /// always do: for them this is the same as [`raw`](Self::raw).
    pub fn lob(&mut self, bytes: &[u8]) -> &mut Self {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.slots.push(Slot::Lob(start..self.bytes.len()));
        self
    }

    /// Appends a long value of a (max) type, text, ntext or image, which is made while it is
    /// written.
    pub fn lob_stream(&mut self, stream: LobStream) -> &mut Self {
        self.slots.push(Slot::Stream(stream));
        self
    }

    /// Replaces a value by what leads to it.
    pub fn set_pointer(&mut self, at: usize, pointer: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(pointer);
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = Slot::Pointer(start..self.bytes.len());
        }
    }

    /// Replaces a value by NULL.
    pub fn set_null(&mut self, at: usize) {
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = Slot::Null;
        }
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

    /// Appends a smallmoney value, in 1/10000.
    pub fn smallmoney(&mut self, value: i32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends a real.
    pub fn real(&mut self, value: f32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends a date: days since 0001-01-01.
    pub fn date(&mut self, days: u32) -> &mut Self {
        let [a, b, c, _] = days.to_le_bytes();
        self.raw(&[a, b, c])
    }

    /// Appends a datetime2(7): days since 0001-01-01, and 100 ns since midnight.
    pub fn datetime2(&mut self, days: u32, ticks: u64) -> &mut Self {
        let mut bytes = [0; 8];
        bytes[..5].copy_from_slice(&ticks.to_le_bytes()[..5]);
        bytes[5..].copy_from_slice(&days.to_le_bytes()[..3]);
        self.raw(&bytes)
    }

    /// Appends a datetime: days since 1900-01-01, ticks of 1/300 s.
    pub fn datetime(&mut self, days: i32, ticks: u32) -> &mut Self {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&ticks.to_le_bytes());
        bytes[4..].copy_from_slice(&days.to_le_bytes());
        self.raw(&bytes)
    }

    /// Appends char or varchar text; ASCII, so that it means the same in every code page. The
    /// caller pads char.
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
