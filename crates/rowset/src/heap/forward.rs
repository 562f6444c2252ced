//! Rows that live elsewhere: the record with a back pointer, and the record without.

use extentdb_base::Rid;
use extentdb_format::record::{Record, RecordBuilder, RecordKind};

/// What the records of a heap look like, as far as moving them needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapShape {
    /// End of the fixed part of a record: `pminlen` of its pages.
    pub pminlen: u16,
    /// Variable columns of the table: a back pointer follows them.
    pub variable_columns: u16,
}

/// The record as a forwarded one: the same columns, then the back pointer.
pub fn as_forwarded(record: &[u8], shape: HeapShape, home: Rid) -> Vec<u8> {
    let mut builder = columns_of(record, RecordKind::Forwarded, shape);
    builder.back_pointer(home);
    builder.to_vec()
}

fn columns_of(record: &[u8], kind: RecordKind, shape: HeapShape) -> RecordBuilder {
    let from = Record::parse_data(record);
    let end = from.fixed_end();
    let mut builder = RecordBuilder::data(kind, end);
    builder.status_b(from.status_b().unwrap_or(0));
    builder.fixed(
        from.fixed_start(),
        from.fixed(from.fixed_start(), end - from.fixed_start()).unwrap_or_default(),
    );
    if from.has_null_bitmap() {
        builder.columns(from.column_count());
        for bit in (1..=from.column_count()).filter(|bit| from.is_null(*bit) == Some(true)) {
            builder.null(bit);
        }
    }
    for column in 0..shape.variable_columns {
        match from.var(column) {
            Some(var) => builder.var(var.bytes, var.complex),
            None => builder.var(&[], false),
        };
    }
    builder
}

#[cfg(test)]
mod tests {
    use extentdb_base::PageId;

    use super::*;

    #[test]
    fn a_row_is_forwarded_and_moved_back_unchanged() {
        let shape = HeapShape { pminlen: 8, variable_columns: 3 };
        let mut builder = RecordBuilder::data(RecordKind::Primary, 8);
        builder.fixed(4, &[1, 2, 3, 4]).columns(5).null(3).null(5).var(b"one", false);
        let row = builder.to_vec();
        let home = Rid::new(PageId::new(3, 77), 5);
        let moved = as_forwarded(&row, shape, home);
        let record = Record::parse_data(&moved);
        assert_eq!((record.back_pointer(), record.fault()), (Some(home), None));
        assert_eq!(record.var(0).map(|var| var.bytes), Some(&b"one"[..]));
        assert_eq!((record.is_null(3), record.is_null(4)), (Some(true), Some(false)));
        let back = columns_of(&moved, RecordKind::Primary, shape).to_vec();
        assert_eq!(back, row);
    }
}
