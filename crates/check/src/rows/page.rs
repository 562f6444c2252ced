//! The rows of one page, made ready for loops over one column at a time.
//!
//! ```text
//! first  one loop over the records: where the parts of each lie, and what all of them have in
//!        common
//! then   one loop per column; its place, type and null bit are settled before the loop begins
//! ```
//!
//! A row that is older than a column, or ends inside it, makes the column go the general way:
//! [`ColumnPlan::of`], row by row. Both ways give the same contents; the tests hold them against
//! each other.

use extentdb_base::Rid;
use extentdb_format::record::RecordKind;
use extentdb_format::record::row::{BACK_POINTER_TAG, COMPLEX_COLUMN};
use extentdb_format::record::status::{HAS_NULL_BITMAP, HAS_VARIABLE, HAS_VERSION_TAG};

use super::cells::{Cells, u16_at};
use super::column::{ColumnPlan, ColumnPosition, Content};
use crate::sound::{SoundPage, with_spans};
use crate::spans::{RecordSpan, RecordSpans};

/// Kinds of records that are rows or entries: no ghosts, no stubs.
const ROWS: u8 = 1 << RecordKind::Primary as u8
    | 1 << RecordKind::Forwarded as u8
    | 1 << RecordKind::Index as u8;

/// What is tested of a variable column of every row.
#[derive(Clone, Copy, Debug)]
pub(super) struct VariableRule {
    pub(super) index: u16,
    pub(super) null_bit: u16,
    pub(super) bytes_max: usize,
    pub(super) is_even: bool,
    pub(super) is_empty_when_null: bool,
}

/// What is done with the content of a column of each row. A trait and not a closure, so that every
/// loop has it inside.
pub(super) trait Visit<'r> {
    /// Takes the content for the row of a number; `None` where the fixed part ends inside of it.
    fn visit(&mut self, at: usize, content: Option<Content<'r>>);
}

/// Where the parts of a row lie; but for `start`, from its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub(super) slot: u16,
    status: u8,
    start: u32,
    end: u16,
    fixed_end: u16,
    /// Columns that the null bitmap knows; 0 = there is no bitmap.
    columns: u16,
    /// The array of end offsets.
    ends: u16,
    variables: u16,
}

impl Row {
    /// `None` for what is no row. `pminlen` counts for index entries.
    #[inline(always)]
    fn read(bytes: &[u8], span: impl RecordSpan, pminlen: usize) -> Option<Row> {
        let record = bytes.get(span.start()..span.end())?;
        let status = *record.first()?;
        let kind = status >> 1 & 7;
        if ROWS >> kind & 1 == 0 {
            return None;
        }
        let fixed_end = if kind == RecordKind::Index as u8 { pminlen } else { u16_at(record, 2) };
        let mut columns = 0;
        let mut at = fixed_end;
        if status & HAS_NULL_BITMAP != 0 {
            columns = u16_at(record, fixed_end);
            at += 2 + columns.div_ceil(8);
        }
        let variables = if status & HAS_VARIABLE != 0 { u16_at(record, at) } else { 0 };
        Some(Row {
            slot: span.slot(),
            status,
            start: span.start() as u32,
            end: record.len() as u16,
            fixed_end: fixed_end as u16,
            columns: columns as u16,
            ends: (at + 2) as u16,
            variables: variables as u16,
        })
    }

    pub(super) fn is_forwarded(&self) -> bool {
        self.status >> 1 & 7 == RecordKind::Forwarded as u8
    }

    /// Without one, nothing is said of columns.
    pub(super) fn has_bitmap(&self) -> bool {
        self.status & HAS_NULL_BITMAP != 0
    }

    /// Columns that the null bitmap knows.
    pub(super) fn columns(&self) -> u16 {
        self.columns
    }

    pub(super) fn fixed_end(&self) -> u16 {
        self.fixed_end
    }

    /// Variable columns that are stored.
    pub(super) fn variables(&self) -> u16 {
        self.variables
    }

    pub(super) fn has_version_tag(&self) -> bool {
        self.status & HAS_VERSION_TAG != 0
    }
}

/// Entries of an index that have no variable columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entries {
    /// Of a fixed part only.
    Bare,
    /// Of a fixed part and a null bitmap.
    WithBitmap,
}

impl Entries {
    /// What the status of an entry says; `None` for others.
    #[inline]
    pub(super) fn of(status: u8) -> Option<Entries> {
        let is_even = status >> 1 & 7 == RecordKind::Index as u8 && status & HAS_VARIABLE == 0;
        let has_bitmap = status & HAS_NULL_BITMAP != 0;
        is_even.then_some(if has_bitmap { Entries::WithBitmap } else { Entries::Bare })
    }
}

/// The rows of a page.
#[derive(Clone, Copy)]
pub(super) struct PageRows<'a> {
    bytes: &'a [u8],
    rows: &'a [Row],
    /// Fewest and most columns that a null bitmap knows.
    columns: (u16, u16),
    /// Least and greatest end of a fixed part.
    fixed_ends: (u16, u16),
    pub(super) has_version_tags: bool,
}

impl<'a> PageRows<'a> {
    /// Finds the rows; `memory` is used for one page after the other.
    #[inline]
    pub(super) fn read(page: &SoundPage<'a>, memory: &'a mut Vec<Row>) -> PageRows<'a> {
        with_spans!(page.records(), |bytes, spans| {
            PageRows::of(bytes, spans, page.pminlen(), memory)
        })
    }

    #[inline]
    fn of(
        bytes: &'a [u8],
        spans: impl RecordSpans,
        pminlen: usize,
        memory: &'a mut Vec<Row>,
    ) -> PageRows<'a> {
        memory.clear();
        let mut columns = (u16::MAX, 0);
        let mut fixed_ends = (u16::MAX, 0);
        let mut status = 0;
        memory.extend(spans.iter().filter_map(|span| Row::read(bytes, span, pminlen)).inspect(
            |row| {
                columns = (columns.0.min(row.columns), columns.1.max(row.columns));
                fixed_ends = (fixed_ends.0.min(row.fixed_end), fixed_ends.1.max(row.fixed_end));
                status |= row.status;
            },
        ));
        PageRows {
            bytes,
            rows: memory,
            columns,
            fixed_ends,
            has_version_tags: status & HAS_VERSION_TAG != 0,
        }
    }

    /// Fewest columns that a null bitmap knows.
    #[inline]
    pub(super) fn columns_min(&self) -> u16 {
        self.columns.0
    }

    /// Least and greatest end of a fixed part.
    #[inline]
    pub(super) fn fixed_ends(&self) -> (u16, u16) {
        self.fixed_ends
    }

    /// Number of rows.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// All of them, in slot order.
    #[inline]
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &'a Row> + use<'a> {
        self.rows.iter()
    }

    /// The bytes of a row.
    #[inline]
    pub(super) fn record(&self, row: &Row) -> &'a [u8] {
        let start = row.start as usize;
        self.bytes.get(start..start + usize::from(row.end)).unwrap_or_default()
    }

    /// The parts of a row.
    #[inline]
    pub(super) fn cells(&self, row: &Row) -> Cells<'a> {
        Cells::new(self.record(row), usize::from(row.fixed_end))
    }

    /// The null bitmap of a row; empty when the page ends before.
    #[inline]
    pub(super) fn bitmap(&self, row: &Row) -> &'a [u8] {
        let start = row.start as usize + usize::from(row.fixed_end) + 2;
        self.bytes.get(start..start + usize::from(row.columns.div_ceil(8))).unwrap_or_default()
    }

    /// The first 64 bits of all null bitmaps: those that are set in some row.
    #[inline]
    pub(super) fn null_bits(&self) -> u64 {
        let mut all = 0;
        for row in self.rows {
            let at = row.start as usize + usize::from(row.fixed_end) + 2;
            let bits = self
                .bytes
                .get(at..)
                .and_then(<[u8]>::first_chunk)
                .map_or(u64::MAX, |b| u64::from_le_bytes(*b));
            all |= bits & !(u64::MAX.unbounded_shl(row.columns.into()));
        }
        all
    }

    /// True when a variable column of some row is NULL and holds bytes, or has more or an uneven
    /// number of them.
    #[inline]
    pub(super) fn is_unusual(&self, column: &VariableRule) -> bool {
        let null_bit =
            if self.columns.1 == 0 || !column.is_empty_when_null { 0 } else { column.null_bit };
        let mut is_unusual = false;
        for row in self.rows {
            let len = self.variable(row, column.index).0.len();
            let is_null = null_bit > 0 && null_bit <= row.columns && self.is_null(row, null_bit);
            is_unusual |= len > column.bytes_max
                || (is_null && len > 0)
                || (column.is_even && !len.is_multiple_of(2));
        }
        is_unusual
    }

    /// True when all rows know a column of their bitmap, or none has a bitmap.
    fn know(&self, null_bit: u16) -> bool {
        null_bit == 0 || self.columns.1 == 0 || self.columns.0 >= null_bit
    }

    /// The bit of a column that all rows know.
    #[inline(always)]
    fn is_null(&self, row: &Row, null_bit: u16) -> bool {
        let bit = usize::from(null_bit.wrapping_sub(1));
        let at = row.start as usize + usize::from(row.fixed_end) + 2 + bit / 8;
        self.bytes.get(at).is_some_and(|byte| byte >> (bit % 8) & 1 != 0)
    }

    /// A variable column with its complex bit; trailing empty ones are not stored.
    #[inline(always)]
    fn variable(&self, row: &Row, index: u16) -> (&'a [u8], bool) {
        if index >= row.variables {
            return (&[], false);
        }
        let record = row.start as usize;
        let ends = usize::from(row.ends);
        let index = usize::from(index);
        let raw = |index: usize| u16_at(self.bytes, record + ends + 2 * index);
        let complex = usize::from(COMPLEX_COLUMN);
        let end = raw(index);
        let start = match index {
            0 => ends + 2 * usize::from(row.variables),
            _ => raw(index - 1) & !complex,
        };
        let bytes = self.bytes.get(record + start..record + (end & !complex)).unwrap_or_default();
        (bytes, end & complex != 0)
    }

    /// True when the last variable column leads back to the stub of the row, or did so once.
    pub(super) fn ends_with_back_pointer(&self, row: &Row) -> bool {
        let last = row.variables.checked_sub(1).map(|last| self.variable(row, last));
        last.is_some_and(|(bytes, is_complex)| {
            let is_long_enough = bytes.len() == BACK_POINTER_TAG.len() + Rid::BYTES;
            is_complex && is_long_enough && bytes.starts_with(&BACK_POINTER_TAG)
        })
    }

    /// Shows the content of a column of every row, in order.
    #[inline(always)]
    pub(super) fn each<'r>(&self, column: &'r ColumnPlan, visit: &mut impl Visit<'r>)
    where
        'a: 'r,
    {
        let null_bit = if self.columns.1 == 0 { 0 } else { column.null_bit };
        let is_known = self.know(null_bit) && !column.is_uniquifier();
        match column.place {
            ColumnPosition::Fixed { at, bytes } if is_known && at + bytes <= self.fixed_ends.0 => {
                match bytes {
                    4 => self.fixed::<4>(at, null_bit, visit),
                    8 => self.fixed::<8>(at, null_bit, visit),
                    _ => self.each_known(null_bit, visit, |row| {
                        let start = row.start as usize + usize::from(at);
                        Some(Content::Bytes(self.bytes.get(start..start + usize::from(bytes))?))
                    }),
                }
            }
            ColumnPosition::Variable { index } if is_known => {
                self.each_known(null_bit, visit, |row| {
                    Some(match self.variable(row, index) {
                        (bytes, true) => Content::Complex(bytes),
                        (bytes, false) => Content::Bytes(bytes),
                    })
                });
            }
            _ => {
                for (at, row) in self.rows.iter().enumerate() {
                    visit.visit(at, column.of(&self.cells(row)));
                }
            }
        }
    }

    /// The values of a column as little-endian words, and their bytes, when all rows have it in
    /// their fixed part and none is NULL: `nulls` are the [`null_bits`](PageRows::null_bits).
    pub(super) fn words(
        &self,
        column: &ColumnPlan,
        nulls: u64,
        to: &mut Vec<u64>,
    ) -> Option<usize> {
        let ColumnPosition::Fixed { at, bytes: bytes @ 1..=8 } = column.place else { return None };
        let has_null = match column.null_bit.checked_sub(1) {
            Some(bit @ 0..64) => nulls >> bit & 1 != 0,
            Some(_) => true,
            None => false,
        };
        if has_null || !self.know(column.null_bit) || at + bytes > self.fixed_ends.0 {
            return None;
        }
        let mask = u64::MAX >> (64 - 8 * u32::from(bytes));
        to.resize(self.rows.len(), 0);
        for (row, to) in self.rows.iter().zip(to) {
            let word = self.bytes.get(row.start as usize + usize::from(at)..)?.first_chunk()?;
            *to = u64::from_le_bytes(*word) & mask;
        }
        Some(usize::from(bytes))
    }

    #[inline(always)]
    fn fixed<'r, const BYTES: usize>(&self, at: u16, null_bit: u16, visit: &mut impl Visit<'r>)
    where
        'a: 'r,
    {
        self.each_known(null_bit, visit, |row| {
            let start = row.start as usize + usize::from(at);
            let bytes: &[u8; BYTES] = self.bytes.get(start..)?.first_chunk()?;
            Some(Content::Bytes(bytes))
        });
    }

    /// A column that all rows know.
    #[inline(always)]
    fn each_known<'r>(
        &self,
        null_bit: u16,
        visit: &mut impl Visit<'r>,
        value: impl Fn(&Row) -> Option<Content<'r>>,
    ) {
        for (at, row) in self.rows.iter().enumerate() {
            if null_bit > 0 && self.is_null(row, null_bit) {
                visit.visit(at, Some(Content::Null));
            } else {
                visit.visit(at, value(row));
            }
        }
    }

    /// Rows in which a variable column is NULL and holds bytes all the same.
    #[inline]
    pub(super) fn filled_nulls(&self, null_bit: u16, index: u16) -> impl Iterator<Item = &'a Row> {
        let rows = if self.columns.1 == 0 || null_bit == 0 { &[] } else { self.rows };
        rows.iter().filter(move |row| {
            null_bit <= row.columns
                && self.is_null(row, null_bit)
                && !self.variable(row, index).0.is_empty()
        })
    }
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};
    use extentdb_format::record::RecordBuilder;
    use extentdb_types::SqlType;

    use super::*;
    use crate::rows::column::tests::column;
    use crate::spans::Span;

    /// A page body of random rows: of one shape, or with some that are older and shorter.
    fn rows(rng: &mut SplitMix64) -> (Vec<u8>, Vec<Span>) {
        let mut bytes = Vec::new();
        let is_mixed = rng.below(2) == 0;
        let fixed_end = 26 + rng.below(4) as usize;
        let columns = 6 + rng.below(4) as u16;
        let spans = (0..rng.below(12) as u16).map(|slot| {
            let older = if is_mixed && rng.below(3) == 0 { rng.below(20) as usize } else { 0 };
            let columns = columns.saturating_sub(older as u16 / 3).max(1);
            let kind = [RecordKind::Primary, RecordKind::Forwarded, RecordKind::GhostData];
            let kind = kind[if rng.below(4) == 0 { rng.below(3) as usize } else { 0 }];
            let mut builder = RecordBuilder::data(kind, fixed_end - older);
            builder.columns(columns);
            (1..=columns).filter(|_| rng.below(5) == 0).collect::<Vec<_>>().into_iter().for_each(
                |bit| {
                    builder.null(bit);
                },
            );
            for at in 4..fixed_end - older {
                builder.fixed(at, &[rng.next_u64() as u8]);
            }
            for _ in 0..rng.below(4) {
                let value: Vec<u8> = (0..rng.below(9)).map(|n| n as u8).collect();
                builder.var(&value, rng.below(5) == 0);
            }
            let record = builder.to_vec();
            let start = bytes.len() as u16;
            bytes.extend_from_slice(&record);
            Span { slot, start, end: bytes.len() as u16 }
        });
        let spans = spans.collect();
        (bytes, spans)
    }

    struct Listed<'r>(Vec<Option<Content<'r>>>);

    impl<'r> Visit<'r> for Listed<'r> {
        fn visit(&mut self, at: usize, content: Option<Content<'r>>) {
            assert_eq!(at, self.0.len());
            self.0.push(content);
        }
    }

    #[test]
    fn a_column_of_all_rows_is_the_column_of_each_row() {
        let mut rng = SplitMix64::new(21);
        let columns = [
            column(SqlType::Int, 4, 1),
            column(SqlType::BigInt, 8, 2),
            column(SqlType::SmallInt, 16, 0),
            column(SqlType::UniqueIdentifier, 10, 5),
            column(SqlType::Bit, 25, 3),
            column(SqlType::VarBinary { len: Some(8) }, -1, 4),
            column(SqlType::VarBinary { len: Some(8) }, -2, 6),
            column(SqlType::Int, -3, 7),
        ];
        let mut memory = Vec::new();
        let mut seen = 0;
        let mut in_words = 0;
        for _ in 0..5_000 {
            let (bytes, spans) = rows(&mut rng);
            let page = PageRows::of(&bytes, spans.as_slice(), 0, &mut memory);
            let nulls = page.null_bits();
            let mut words = Vec::new();
            for column in &columns {
                let Listed(at_once) = {
                    let mut listed = Listed(Vec::new());
                    page.each(column, &mut listed);
                    listed
                };
                let one_by_one: Vec<_> =
                    page.iter().map(|row| column.of(&page.cells(row))).collect();
                assert_eq!(at_once, one_by_one, "{column:?}");
                seen += at_once.len();
                if let Some(bytes) = page.words(column, nulls, &mut words) {
                    let words: Vec<_> = words.iter().map(|word| word.to_le_bytes()).collect();
                    let contents = words.iter().map(|word| Some(Content::Bytes(&word[..bytes])));
                    assert_eq!(at_once, contents.collect::<Vec<_>>(), "{column:?}");
                    assert!(words.iter().all(|word| word[bytes..].iter().all(|byte| *byte == 0)));
                    in_words += words.len();
                }
            }
            let expected = spans.iter().filter(|span| {
                RecordKind::of(bytes[usize::from(span.start)]) != RecordKind::GhostData
            });
            assert!(page.iter().map(|row| row.slot).eq(expected.map(|span| span.slot)));
        }
        assert!(seen > 100_000 && in_words > 5_000, "{seen}, {in_words} in words");
    }

    #[test]
    fn filled_nulls_are_those_of_the_cells() {
        let mut rng = SplitMix64::new(22);
        let mut memory = Vec::new();
        let mut found = 0;
        for _ in 0..5_000 {
            let (bytes, spans) = rows(&mut rng);
            let page = PageRows::of(&bytes, spans.as_slice(), 0, &mut memory);
            for (null_bit, index) in [(1, 0), (4, 1), (9, 2)] {
                let slots: Vec<u16> =
                    page.filled_nulls(null_bit, index).map(|row| row.slot).collect();
                let is_filled = |row: &&Row| {
                    let cells = page.cells(row);
                    cells.is_null(null_bit) == Some(true) && !cells.variable(index).0.is_empty()
                };
                assert!(
                    page.iter().filter(is_filled).map(|row| row.slot).eq(slots.iter().copied())
                );
                found += slots.len();
            }
        }
        assert!(found > 1_000, "{found}");
    }
}
