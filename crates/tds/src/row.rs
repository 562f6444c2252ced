//! A row as a view over the bytes of a message: ROW, NBCROW, and rows of table-valued parameters.
//!
//! ```text
//! ROW     values, one after the other
//! NBCROW  a bit for each column, ⌈n/8⌉ bytes, bit i % 8 of byte i / 8 set = NULL; then the values
//!         of the other columns
//! ```

use extentdb_types::Datum;

use crate::column::{Column, ColumnFlags};
use crate::error::{Cause, DecodeError};
use crate::reader::ByteReader;
use crate::type_info::Place;
use crate::value::{ColumnMeasure, RawValue, RowMeasure, decode};

/// Which columns of a row have no value in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absence<'a> {
    /// All have one.
    None,
    /// NULL by the bitmap of an NBCROW.
    Bitmap(&'a [u8]),
    /// The columns with [`ColumnFlags::DEFAULT`] have their default.
    Defaults,
}

impl Absence<'_> {
    fn has(self, column: usize, flags: ColumnFlags) -> bool {
        match self {
            Absence::None => false,
            Absence::Bitmap(bits) => {
                bits.get(column / 8).is_some_and(|byte| byte >> (column % 8) & 1 == 1)
            }
            Absence::Defaults => flags.has(ColumnFlags::DEFAULT),
        }
    }
}

/// The columns of a row that is measured.
pub(crate) fn measured<'t>(
    columns: &'t [Column],
    absence: Absence<'_>,
    column: usize,
) -> ColumnMeasure<'t> {
    match columns.get(column) {
        None => ColumnMeasure::End,
        Some(found) if absence.has(column, found.flags) => ColumnMeasure::Absent,
        Some(found) => ColumnMeasure::Value(&found.type_info),
    }
}

/// A row, borrowed from its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowView<'a> {
    columns: &'a [Column],
    absence: Absence<'a>,
    bytes: &'a [u8],
    /// Offset of the bytes in the message.
    base: usize,
}

impl<'a> RowView<'a> {
    pub(crate) fn new(
        columns: &'a [Column],
        absence: Absence<'a>,
        bytes: &'a [u8],
        base: usize,
    ) -> RowView<'a> {
        RowView { columns, absence, bytes, base }
    }

    /// Reads the bytes of a row that is in memory as a whole.
    pub(crate) fn read<'r: 'a>(
        columns: &'a [Column],
        absence: Absence<'a>,
        reader: &mut ByteReader<'r>,
    ) -> Result<RowView<'a>, DecodeError> {
        let base = reader.position();
        let end = RowMeasure::default()
            .advance(reader.rest(), |column| measured(columns, absence, column));
        let cut = Cause::Truncated { needed: 1 };
        let bytes = reader.take(end.ok_or_else(|| reader.fail(cut))?)?;
        Ok(RowView { columns, absence, bytes, base })
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &'a [Column] {
        self.columns
    }

    /// The values in the order of the columns. An error is the last of them.
    #[must_use]
    pub fn values(&self) -> RowValues<'a> {
        RowValues {
            columns: self.columns,
            absence: self.absence,
            column: 0,
            reader: ByteReader::part(self.bytes, self.base),
        }
    }

    /// All values.
    pub fn to_values(&self) -> Result<Vec<Datum<'a>>, DecodeError> {
        let mut values = Vec::with_capacity(self.columns.len());
        self.decode_into(&mut values)?;
        Ok(values)
    }

    /// Appends all values to `out`, whose memory a caller with many rows uses again. After an error
    /// it has the values before it.
    pub fn decode_into(&self, out: &mut Vec<Datum<'a>>) -> Result<(), DecodeError> {
        out.reserve(self.columns.len());
        for value in self.values() {
            out.push(value?.decode()?);
        }
        Ok(())
    }
}

/// A value of a row with its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowValue<'a> {
    /// The column.
    pub column: &'a Column,
    /// The value; NULL where the row has none.
    pub raw: RawValue<'a>,
    /// True for a column of a table-valued parameter whose value is its default.
    pub is_default: bool,
    /// Offset of the value in the message.
    pub at: usize,
}

impl<'a> RowValue<'a> {
    /// The value as a [`Datum`].
    pub fn decode(&self) -> Result<Datum<'a>, DecodeError> {
        decode(&self.column.type_info, self.raw).map_err(|cause| DecodeError { at: self.at, cause })
    }
}

/// The values of a row.
#[derive(Debug, Clone)]
pub struct RowValues<'a> {
    columns: &'a [Column],
    absence: Absence<'a>,
    column: usize,
    reader: ByteReader<'a>,
}

impl<'a> Iterator for RowValues<'a> {
    type Item = Result<RowValue<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let column = self.columns.get(self.column)?;
        let is_absent = self.absence.has(self.column, column.flags);
        self.column += 1;
        let at = self.reader.position();
        let is_default = is_absent && self.absence == Absence::Defaults;
        if is_absent {
            return Some(Ok(RowValue { column, raw: RawValue::Null, is_default, at }));
        }
        let raw = RawValue::read(&column.type_info, Place::Column, &mut self.reader);
        if raw.is_err() {
            self.column = self.columns.len();
        }
        Some(raw.map(|raw| RowValue { column, raw, is_default, at }))
    }
}
