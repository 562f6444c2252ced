//! Everything about the rows of a table that needs no other row, one column after the other: 8970, 7961, 2537, 2570, 5262.
//!
//! The loops only collect rows that are not as they should be; what is wrong with those is found out again, at leisure.

use super::column::{ColumnPlan, Content};
use super::computed::Batches;
use super::page::{PageRows, Row};
use super::plan::RowPlan;
use super::report;
use super::value::Range;
use crate::partial::Partial;
use crate::sound::Sound;

/// Looks at all rows of a page.
pub(super) fn verify_rows(
    page: &Sound<'_>,
    of_page: &PageRows<'_>,
    (rows, has_purity): (&RowPlan, bool),
    batches: &Batches,
    partial: &mut Partial,
) {
    verify_nulls(page, of_page, rows, partial);
    for column in columns(rows, &rows.limited) {
        let limit = usize::from(column.bytes_max);
        for (row, bytes) in wrong_rows(of_page, column, |bytes| bytes.len() <= limit) {
            let entry = page.entry_at(row.slot, of_page.record(row));
            report::too_long(page, &entry, column, bytes.len(), partial);
        }
    }
    for column in columns(rows, &rows.ranged).filter(|_| has_purity) {
        for (row, _) in out_of_range(of_page, column) {
            let entry = page.entry_at(row.slot, of_page.record(row));
            report::out_of_range(page, &entry, column, partial);
        }
    }
    for (column, expression) in &rows.persisted {
        verify_computed(page, of_page, (rows, *column, *expression), batches, partial);
    }
    if of_page.has_version_tags {
        for row in of_page.iter().filter(|row| row.has_version_tag()) {
            let entry = page.entry_at(row.slot, of_page.record(row));
            report::version_tag(page, &entry, &entry.record(), partial);
        }
    }
}

fn columns<'r>(rows: &'r RowPlan, places: &'r [u16]) -> impl Iterator<Item = &'r ColumnPlan> {
    places.iter().filter_map(|place| rows.columns.get(usize::from(*place)))
}

/// NULLs where none may be, and bytes where there should be NULL.
fn verify_nulls(page: &Sound<'_>, of_page: &PageRows<'_>, rows: &RowPlan, partial: &mut Partial) {
    for row in of_page.iter().filter(|row| rows.not_null.meets(of_page.bitmap(row))) {
        let entry = page.entry_at(row.slot, of_page.record(row));
        report::nulls(page, rows, &entry, &entry.record(), partial);
    }
    let mut filled: Vec<&Row> = Vec::new();
    for (null_bit, index) in &rows.nullable_variable {
        filled.extend(of_page.filled_nulls(*null_bit, *index));
    }
    filled.sort_unstable_by_key(|row| row.slot);
    filled.dedup_by_key(|row| row.slot);
    for row in filled {
        let entry = page.entry_at(row.slot, of_page.record(row));
        report::filled_nulls(page, rows, &entry, &entry.record(), partial);
    }
}

/// Rows whose value of a column is in the row and not right.
#[inline(always)]
fn wrong_rows<'r>(
    of_page: &PageRows<'r>,
    column: &'r ColumnPlan,
    is_right: impl Fn(&[u8]) -> bool,
) -> Vec<(&'r Row, &'r [u8])> {
    let mut wrong = Vec::new();
    of_page.each(column, |at, content| {
        if let Some(Content::Bytes(bytes)) = content
            && !is_right(bytes)
        {
            wrong.extend(of_page.get(at).map(|row| (row, bytes)));
        }
    });
    wrong
}

/// The types that most columns have get loops of their own.
fn out_of_range<'r>(of_page: &PageRows<'r>, column: &'r ColumnPlan) -> Vec<(&'r Row, &'r [u8])> {
    match column.range {
        Range::DateTime => wrong_rows(of_page, column, |bytes| Range::DateTime.allows(bytes)),
        Range::Utf16 => wrong_rows(of_page, column, |bytes| Range::Utf16.allows(bytes)),
        Range::Decimal { limit } => {
            wrong_rows(of_page, column, |bytes| Range::Decimal { limit }.allows(bytes))
        }
        range => wrong_rows(of_page, column, |bytes| range.allows(bytes)),
    }
}

/// A stored computed column against its expression: 2537. What is not certain is not judged.
fn verify_computed(
    page: &Sound<'_>,
    of_page: &PageRows<'_>,
    (rows, column, expression): (&RowPlan, u16, u16),
    batches: &Batches,
    partial: &mut Partial,
) {
    let Some(column) = rows.columns.get(usize::from(column)) else { return };
    of_page.each(column, |at, content| {
        let stored = match content {
            Some(Content::Null) => None,
            Some(Content::Bytes(bytes)) => Some(bytes),
            _ => return,
        };
        if let (Ok(computed), Some(row)) = (batches.value(expression, at), of_page.get(at))
            && computed != stored
        {
            let entry = page.entry_at(row.slot, of_page.record(row));
            report::computed(page, &entry, column, partial);
        }
    });
}
