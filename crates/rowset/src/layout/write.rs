//! Values to records.

use extentdb_base::PageId;
use extentdb_base::size::ROW_BYTES_MAX;
use extentdb_catalog::layout::{Cell, ColumnOffset, Level, PhysicalColumn};
use extentdb_format::record::{Record, RecordBuilder, RecordKind};

use super::{RowShape, column_offset};
use crate::error::Error;

/// Bytes of a usual record besides its fixed part and null bitmap.
const ROOM_FOR_HEADS: usize = 8;
/// Bytes of a number of columns, and of the end of a variable column.
const COUNT_BYTES: usize = 2;

impl RowShape {
    /// A leaf record of these values, one per column of the layout, in its order; a dropped column
    /// has NULL.
    ///
    /// # Errors
    /// The values are not those of the columns, or too long together.
    pub fn leaf_record(&self, cells: &[Cell<'_>]) -> Result<Vec<u8>, Error> {
        // The counts of the null bitmap and the variable part follow the fixed part; for more the
        // buffer grows.
        let mut out = Vec::with_capacity(
            usize::from(self.leaf.fixed_end + self.leaf.null_bits / 8) + ROOM_FOR_HEADS,
        );
        self.push_leaf_record(&mut self.leaf_builder(), cells, &mut out)?;
        Ok(out)
    }

    /// What makes leaf records.
    pub(crate) fn leaf_builder(&self) -> RecordBuilder {
        let fixed_end = usize::from(self.leaf.fixed_end);
        if self.is_base {
            RecordBuilder::data(RecordKind::Primary, fixed_end)
        } else {
            RecordBuilder::index(RecordKind::Index, fixed_end)
        }
    }

    /// Appends a leaf record to `out`, by a builder for leaf records.
    pub(crate) fn push_leaf_record(
        &self,
        builder: &mut RecordBuilder,
        cells: &[Cell<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let expected = self.layout.columns.len();
        if cells.len() != expected {
            return Err(Error::Columns { expected, found: cells.len() });
        }
        builder.clear();
        self.fill(builder, cells, Level::Leaf, self.leaf.null_bits)?;
        let start = out.len();
        builder.write(out);
        match out.len() - start {
            0..=ROW_BYTES_MAX => Ok(()),
            bytes => Err(Error::RowTooLong { bytes, most: ROW_BYTES_MAX }),
        }
    }

    /// Bytes of a leaf record whose variable columns have these lengths, given by their index in
    /// the layout; what is too long for a record is counted, too.
    pub fn leaf_bytes(&self, len_of: impl Fn(usize) -> usize) -> usize {
        let lens: Vec<usize> = self.leaf.variable.iter().map(|at| len_of(*at)).collect();
        let stored = lens.iter().rposition(|len| *len > 0).map_or(0, |last| last + 1);
        let null_bits = usize::from(self.leaf.null_bits);
        let bitmap = if null_bits == 0 { 0 } else { COUNT_BYTES + null_bits.div_ceil(8) };
        let variable = if stored == 0 { 0 } else { COUNT_BYTES + COUNT_BYTES * stored };
        usize::from(self.leaf.fixed_end) + bitmap + variable + lens.iter().sum::<usize>()
    }

    /// The separator record of `child`, whose first row is the leaf record given.
    ///
    /// # Errors
    /// The record does not add up.
    pub fn separator(&self, leaf: &Record<'_>, child: PageId) -> Result<Vec<u8>, Error> {
        let mut builder =
            RecordBuilder::index(RecordKind::Index, usize::from(self.interior.fixed_end));
        let cells = self.cells(leaf, Level::Leaf)?;
        self.fill(&mut builder, &cells, Level::Interior, self.interior.null_bits)?;
        Ok(builder.child(child).to_vec())
    }

    /// The first record of the leftmost page of a level: it has no key, and real ones have neither
    /// null bitmap nor variable columns, whatever the others have.
    pub fn first_separator(&self, child: PageId) -> Vec<u8> {
        RecordBuilder::index(RecordKind::Index, usize::from(self.interior.fixed_end))
            .child(child)
            .to_vec()
    }

    /// The key of a leaf record as it is logged with a change of the row: an index record of the
    /// key columns with a null bitmap and without a child page. It holds the values, not their sort
    /// keys, so that a log is read by any later version.
    ///
    /// # Errors
    /// The record does not add up.
    pub fn key_image(&self, leaf: &Record<'_>) -> Result<Vec<u8>, Error> {
        let mut builder =
            RecordBuilder::index(RecordKind::Index, usize::from(self.key_image_end()));
        let cells = self.cells(leaf, Level::Leaf)?;
        self.fill(&mut builder, &cells, Level::Interior, self.key.len() as u16)?;
        Ok(builder.to_vec())
    }

    /// End of the fixed part of a key image.
    pub(super) fn key_image_end(&self) -> u16 {
        self.interior.fixed_end - PageId::BYTES as u16
    }

    /// Puts the values into a record; those of columns that the level does not have are passed
    /// over.
    fn fill(
        &self,
        builder: &mut RecordBuilder,
        cells: &[Cell<'_>],
        level: Level,
        null_bits: u16,
    ) -> Result<(), Error> {
        if null_bits > 0 {
            builder.columns(null_bits);
        }
        for (column, cell) in self.layout.columns.iter().zip(cells) {
            fill_fixed(builder, column, cell, column_offset(column, level))?;
        }
        for at in &self.form(level).variable {
            let cell = cells.get(*at).unwrap_or(&Cell::Null);
            match cell {
                Cell::Bytes(bytes) => builder.var(bytes, false),
                Cell::Complex(bytes) => builder.var(bytes, true),
                Cell::Null | Cell::Missing | Cell::Bit(_) => builder.var(&[], false),
            };
        }
        Ok(())
    }
}

/// Writes a fixed column or a null bit, and checks that the value is one of the column.
fn fill_fixed(
    builder: &mut RecordBuilder,
    column: &PhysicalColumn,
    cell: &Cell<'_>,
    column_offset: ColumnOffset,
) -> Result<(), Error> {
    let wrong = |bytes| Err(Error::Value { column_id: column.column_id, bytes });
    if column_offset.offset == 0 {
        return Ok(());
    }
    let is_bit = column.ty.is_some_and(|ty| ty.is_bit());
    match cell {
        Cell::Null | Cell::Missing if column_offset.null_bit == 0 => wrong(None),
        Cell::Null | Cell::Missing => {
            builder.null(column_offset.null_bit);
            Ok(())
        }
        Cell::Bit(value) if is_bit => {
            builder.fixed_bit(
                column_offset.offset.unsigned_abs().into(),
                column_offset.bit,
                *value,
            );
            Ok(())
        }
        Cell::Bytes(bytes) if !is_bit && fits(column, column_offset.offset, bytes.len()) => {
            if column_offset.offset > 0 {
                builder.fixed(column_offset.offset.unsigned_abs().into(), bytes);
            }
            Ok(())
        }
        Cell::Complex(_) if column_offset.offset < 0 => Ok(()),
        Cell::Bit(_) => wrong(None),
        Cell::Bytes(bytes) | Cell::Complex(bytes) => wrong(Some(bytes.len())),
    }
}

/// Can the column hold `bytes` bytes?
fn fits(column: &PhysicalColumn, offset: i16, bytes: usize) -> bool {
    let Some(ty) = column.ty else { return false };
    match ty.fixed_bytes() {
        Some(fixed) if offset > 0 => bytes == fixed,
        // A uniquifier of 0 has no bytes.
        Some(fixed) => bytes == fixed || bytes == 0,
        None => ty.max_bytes().is_none_or(|most| bytes <= most),
    }
}
