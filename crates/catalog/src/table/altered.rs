//! Columns that are added, dropped and altered in a heap or clustered index that has rows: what
//! `sysrscols` says then.
//!
//! ```text
//! column added       after all others: in the last byte of bits while it has room, after the fixed
//!                    part, or as the last
//!                    variable column; with the next null bit. Rows of before end in front of it
//! column goes        its place and its null bit stay, under a number of its own
//! column gets longer its place stays, too
//! ```
//!
//! Dropped columns were observed in files of versions 655 to 852. Where a bit column goes that
//! is added later was not.

use extentdb_types::SqlType;

use super::definition::ColumnHistory;
use super::physical::{Draft, LayoutCursor, Source, draft_column};
use crate::layout::{PhysicalColumn, RowLayout, column_status};

/// What `sysrowsets` keeps about the leaf records of a heap or clustered index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafLengths {
    /// End of the fixed part.
    pub min_leaf: u16,
    /// The longest record there can be.
    pub max_leaf: u32,
    /// The highest null bit.
    pub max_null_bit: u16,
}

impl RowLayout {
    /// The same with a column after all others. `None`: the place of a column there is not
    /// understood.
    pub fn with_column(&self, id: i32, ty: SqlType, nullable: bool) -> Option<RowLayout> {
        let draft = Draft {
            source: Source::Column(id),
            ty,
            nullable,
            descending: false,
            key_ordinal: 0,
            history: ColumnHistory::default(),
        };
        let ordinal = self.columns.iter().map(|column| column.ordinal).max().unwrap_or(0) + 1;
        let mut column =
            draft_column(ordinal, &draft, true, LayoutCursor::after(self)?.take(&draft));
        column.leaf.null_bit = self.max_null_bit() + 1;
        let mut layout = self.clone();
        layout.columns.push(column);
        Some(layout)
    }

    /// The same with one column dropped.
    #[must_use]
    pub fn with_dropped(&self, id: i32) -> RowLayout {
        let is_free = |number: &i32| self.columns.iter().all(|column| column.column_id != *number);
        let number = (column_status::DROPPED_ID + 1..).find(is_free);
        let drop = |column: &mut PhysicalColumn| {
            column.column_id = number.unwrap_or(column_status::DROPPED_ID);
            column.status |= column_status::DROPPED;
        };
        self.changed(id, drop)
    }

    /// The same with another type in the place of a column, or with NULL allowed or not.
    #[must_use]
    pub fn with_type(&self, id: i32, ty: SqlType, nullable: bool) -> RowLayout {
        let change = |column: &mut PhysicalColumn| {
            (column.ti, column.collation_id) = ty.to_physical();
            column.ty = Some(ty);
            column.status &= !column_status::NOT_NULL;
            column.status |= if nullable { 0 } else { column_status::NOT_NULL };
        };
        self.changed(id, change)
    }

    fn changed(&self, id: i32, change: impl FnOnce(&mut PhysicalColumn)) -> RowLayout {
        let mut layout = self.clone();
        let is_it =
            |column: &&mut PhysicalColumn| column.column_id == id && !column.is_uniquifier();
        if let Some(column) = layout.columns.iter_mut().find(is_it) {
            change(column);
        }
        layout
    }

    fn max_null_bit(&self) -> u16 {
        self.columns.iter().map(|column| column.leaf.null_bit).max().unwrap_or(0)
    }

    /// Lengths of the leaf records of a heap or clustered index. `None`: the place of a column is
    /// not understood.
    pub fn leaf_lengths(&self, is_heap: bool) -> Option<LeafLengths> {
        let mut cursor = LayoutCursor::after(self)?;
        let max_null_bit = self.max_null_bit();
        let min_leaf = cursor.fixed_end();
        if is_heap {
            cursor.leave_room_to_move();
        }
        Some(LeafLengths {
            min_leaf,
            max_leaf: cursor.max_len(max_null_bit),
            max_null_bit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::ColumnOffset;

    fn layout(types: &[SqlType]) -> RowLayout {
        let empty = RowLayout { columns: Vec::new(), compression: Default::default() };
        (1..).zip(types).fold(empty, |layout, (id, ty)| layout.with_column(id, *ty, true).unwrap())
    }

    const TEXT: SqlType = SqlType::VarChar {
        len: Some(10),
        collation: extentdb_types::Collation(0x3400_D008),
    };

    #[test]
    fn columns_are_added_after_all_others() {
        let layout =
            layout(&[SqlType::Int, TEXT, SqlType::Bit, SqlType::BigInt, SqlType::Bit, TEXT]);
        let offsets: Vec<ColumnOffset> = layout.columns.iter().map(|column| column.leaf).collect();
        let column_offset = |offset, null_bit, bit| ColumnOffset { offset, null_bit, bit };
        let expected = [
            column_offset(4, 1, 0),
            column_offset(-1, 2, 0),
            column_offset(8, 3, 0),
            column_offset(9, 4, 0),
            column_offset(8, 5, 1),
            column_offset(-2, 6, 0),
        ];
        assert_eq!(offsets, expected);
        let lengths = layout.leaf_lengths(false).unwrap();
        // 17 fixed, 2 + 1 of the null bitmap, 2 + 4 for two ends, twice ten bytes.
        assert_eq!(
            lengths,
            LeafLengths { min_leaf: 17, max_leaf: 17 + 3 + 6 + 20, max_null_bit: 6 }
        );
        assert_eq!(layout.leaf_lengths(true).unwrap().max_leaf, 17 + 3 + 8 + 30);
    }

    #[test]
    fn a_ninth_bit_begins_another_byte() {
        let bits = layout(&[SqlType::Bit; 9]);
        assert_eq!((bits.columns[7].leaf.offset, bits.columns[7].leaf.bit), (4, 7));
        assert_eq!((bits.columns[8].leaf.offset, bits.columns[8].leaf.bit), (5, 0));
    }

    #[test]
    fn a_dropped_column_keeps_its_offset() {
        let before = layout(&[SqlType::Int, TEXT, SqlType::Int]);
        let after = before.with_dropped(2).with_dropped(1);
        let ids: Vec<i32> = after.columns.iter().map(|column| column.column_id).collect();
        assert_eq!(ids, [column_status::DROPPED_ID + 2, column_status::DROPPED_ID + 1, 3]);
        assert!(after.columns[1].is_dropped());
        let next = after.with_column(4, TEXT, false).unwrap();
        assert_eq!(next.columns[3].leaf, ColumnOffset { offset: -2, null_bit: 4, bit: 0 });
        assert_eq!(next.leaf_lengths(false).unwrap().min_leaf, 12);
    }
}
