//! The length of a row whose bytes are still arriving.
//!
//! A row can hold values of up to 2 GiB. Reading it again from its beginning with each packet would
//! cost the square of its length, so the position is kept: each byte is passed once.

use super::layout::{TIMESTAMP_BYTES, ValueLayout};
use super::plp;
use crate::error::DecodeError;
use crate::reader::ByteReader;
use crate::type_info::{Place, TypeInfo};

/// How far into a row, or a single value, its length is known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowMeasure {
    /// Offset of the next length field; may be past the bytes that have arrived.
    at: usize,
    /// The value that begins there, or goes on there.
    column: usize,
    is_in_plp: bool,
}

impl RowMeasure {
    /// A measure of values that begin at an offset.
    pub(crate) fn starting_at(at: usize) -> RowMeasure {
        RowMeasure { at, ..RowMeasure::default() }
    }

    /// The end of the row in `bytes`, which begin where they did before. `None`: more are needed.
    /// `types` gives the type of a column, `None` past the last one.
    pub(crate) fn advance<'t>(
        &mut self,
        bytes: &[u8],
        types: impl Fn(usize) -> ColumnMeasure<'t>,
    ) -> Option<usize> {
        loop {
            let info = match types(self.column) {
                ColumnMeasure::End => return (self.at <= bytes.len()).then_some(self.at),
                ColumnMeasure::Absent => {
                    self.column += 1;
                    continue;
                }
                ColumnMeasure::Value(info) => info,
            };
            let mut reader = ByteReader::new(bytes.get(self.at..)?);
            self.pass(info, &mut reader).ok()?;
        }
    }

    /// Passes a value, or one chunk of it.
    fn pass(&mut self, info: &TypeInfo, reader: &mut ByteReader<'_>) -> Result<(), DecodeError> {
        let len = match ValueLayout::of(info, Place::Column) {
            ValueLayout::Nothing => 0,
            ValueLayout::Fixed(len) => len,
            ValueLayout::Byte => usize::from(reader.u8()?),
            ValueLayout::Short => {
                let len = reader.u16()?;
                if len == u16::MAX { 0 } else { usize::from(len) }
            }
            ValueLayout::Variant => reader.length_u32()?,
            ValueLayout::LongText => {
                let len = reader.u32()?;
                if len == u32::MAX { 0 } else { len as usize }
            }
            ValueLayout::TextPointer => {
                let pointer = reader.u8()?;
                if pointer == 0 {
                    0
                } else {
                    reader.take(usize::from(pointer) + TIMESTAMP_BYTES)?;
                    reader.length_u32()?
                }
            }
            ValueLayout::Plp => return self.pass_plp(reader),
        };
        self.at = self.at.saturating_add(reader.position()).saturating_add(len);
        self.column += 1;
        Ok(())
    }

    fn pass_plp(&mut self, reader: &mut ByteReader<'_>) -> Result<(), DecodeError> {
        if !self.is_in_plp {
            self.is_in_plp = reader.u64()? != plp::NULL;
            self.column += usize::from(!self.is_in_plp);
            self.at += reader.position();
            return Ok(());
        }
        let len = reader.length_u32()?;
        if len == 0 {
            self.is_in_plp = false;
            self.column += 1;
        }
        self.at = self.at.saturating_add(reader.position()).saturating_add(len);
        Ok(())
    }
}

/// A column of a row that is measured.
pub(crate) enum ColumnMeasure<'t> {
    /// The row has a value of this type for it.
    Value(&'t TypeInfo),
    /// It is NULL by the bitmap, or has its default.
    Absent,
    /// The columns have ended.
    End,
}
