//! Which bits of a record carry information.
//!
//! The space of a NULL fixed column, the bits of a shared byte that belong to no column, the high
//! bits of the null bitmap and bytes of the fixed part that no column claims hold whatever was
//! there before. A comparison of two records must not look at them, and a writer may leave anything
//! in them.

use extentdb_format::record::Record;

use super::{Cell, Level, PhysicalColumn, RowLayout, cell};

impl RowLayout {
    /// A mask over the record's bytes: a set bit is information.
    pub fn defined_bits(&self, record: &Record<'_>, level: Level) -> Vec<u8> {
        let mut mask = vec![0xff; record.len()];
        fill(&mut mask, record.fixed_start(), record.fixed_end(), 0);
        for column in &self.columns {
            mark_fixed(&mut mask, record, column, level);
        }
        if level == Level::Interior {
            fill(&mut mask, record.fixed_end().saturating_sub(6), record.fixed_end(), 0xff);
        }
        mask_bitmap(&mut mask, record);
        mask
    }
}

fn fill(mask: &mut [u8], start: usize, end: usize, value: u8) {
    if let Some(range) = mask.get_mut(start..end) {
        range.fill(value);
    }
}

fn mark_fixed(mask: &mut [u8], record: &Record<'_>, column: &PhysicalColumn, level: Level) {
    let column_offset = match level {
        Level::Leaf => column.leaf,
        Level::Interior => column.interior,
    };
    let Ok(offset) = usize::try_from(column_offset.offset) else { return };
    match cell(record, column, level) {
        Ok(Cell::Bit(_)) => {
            if let Some(byte) = mask.get_mut(offset) {
                *byte |= 1 << (column_offset.bit & 7);
            }
        }
        Ok(Cell::Bytes(bytes)) => fill(mask, offset, offset + bytes.len(), 0xff),
        _ => {}
    }
}

fn mask_bitmap(mask: &mut [u8], record: &Record<'_>) {
    let count = usize::from(record.column_count());
    let bytes = record.null_bitmap().len();
    // The bitmap follows the fixed part and its own count.
    let last = record.fixed_end() + 2 + bytes;
    if let Some(byte) = last.checked_sub(1).and_then(|at| mask.get_mut(at))
        && record.has_null_bitmap()
        && !count.is_multiple_of(8)
    {
        *byte = (1 << (count % 8)) - 1;
    }
}
