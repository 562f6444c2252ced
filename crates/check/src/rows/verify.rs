//! Everything about the rows of a table that needs no other row, one column after the other: 8970,
//! 7961, 2537, 2570, 5262.
//!
//! Two times: the loops of [`is_unusual`] only say whether there is anything on the page, and
//! [`report`] finds out what, at leisure. Whatever the second would report, the first must notice;
//! the tests hold them against each other.

use super::column::{ColumnPlan, ColumnPosition, Content};
use super::computed::Batches;
use super::page::{PageRows, Row, Visit};
use super::plan::RowPlan;
use super::report::RowReport;
use super::value::{Range, resembles_ciphertext};
use crate::finding::Findings;
use crate::sound::SoundPage;

/// Looks at all rows of a page.
pub(super) fn verify_rows(
    page: &SoundPage<'_>,
    of_page: &PageRows<'_>,
    rows: &RowPlan,
    has_purity: bool,
    batches: &Batches,
    findings: &mut Findings,
) {
    if is_unusual(of_page, rows, has_purity) {
        report_nulls(page, of_page, rows, findings);
        report_values(page, of_page, rows, has_purity, findings);
    }
    if rows.shape.is_unusual(of_page, page.header().fixed_len.get()) {
        rows.shape.report(page, of_page, &rows.columns, findings);
    }
    for (column, expression) in &rows.persisted {
        verify_computed(page, of_page, rows, *column, *expression, batches, findings);
    }
    if of_page.has_version_tags {
        for row in of_page.iter().filter(|row| row.has_version_tag()) {
            let mut report = RowReport::new(page, of_page, row, findings);
            report.version_tag();
        }
    }
}

fn columns<'r>(rows: &'r RowPlan, places: &'r [u16]) -> impl Iterator<Item = &'r ColumnPlan> {
    places.iter().filter_map(|place| rows.columns.get(usize::from(*place)))
}

/// True when some value of the page is NULL, too long or out of range and must not be; or when that
/// is not certain.
fn is_unusual(of_page: &PageRows<'_>, rows: &RowPlan, has_purity: bool) -> bool {
    of_page.null_bits() & rows.not_null.first_bits() != 0
        || (rows.not_null.is_long()
            && of_page.iter().any(|row| rows.not_null.meets(of_page.bitmap(row))))
        || rows.variable.iter().any(|rule| of_page.is_unusual(rule))
        || (has_purity
            && columns(rows, &rows.ranged).any(|column| is_out_of_range(of_page, column)))
}

/// The types that most columns have get loops of their own.
fn is_out_of_range(of_page: &PageRows<'_>, column: &ColumnPlan) -> bool {
    match column.range {
        Range::DateTime => is_any_wrong(of_page, column, |bytes| Range::DateTime.allows(bytes)),
        Range::Utf16 if matches!(column.place, ColumnPosition::Variable { .. }) => false,
        Range::Utf16 => is_any_wrong(of_page, column, |bytes| Range::Utf16.allows(bytes)),
        Range::Decimal { limit } => {
            is_any_wrong(of_page, column, |bytes| Range::Decimal { limit }.allows(bytes))
        }
        range => is_any_wrong(of_page, column, |bytes| range.allows(bytes)),
    }
}

#[inline(always)]
fn is_any_wrong(
    of_page: &PageRows<'_>,
    column: &ColumnPlan,
    is_right: impl Fn(&[u8]) -> bool,
) -> bool {
    let mut test = Test { is_right, is_wrong: false };
    of_page.each(column, &mut test);
    test.is_wrong
}

/// Tests values that lie in their rows.
struct Test<F> {
    is_right: F,
    is_wrong: bool,
}

impl<'r, F: Fn(&[u8]) -> bool> Visit<'r> for Test<F> {
    #[inline(always)]
    fn visit(&mut self, _: usize, content: Option<Content<'r>>) {
        if let Some(Content::Bytes(bytes)) = content {
            self.is_wrong |= !(self.is_right)(bytes);
        }
    }
}

/// NULLs where none may be, and bytes where there should be NULL.
#[cold]
fn report_nulls(
    page: &SoundPage<'_>,
    of_page: &PageRows<'_>,
    rows: &RowPlan,
    findings: &mut Findings,
) {
    for row in of_page.iter().filter(|row| rows.not_null.meets(of_page.bitmap(row))) {
        let mut report = RowReport::new(page, of_page, row, findings);
        let record = report.record();
        let is_null = |column: &&ColumnPlan| {
            rows.not_null.has(column.null_bit) && record.is_null(column.null_bit) == Some(true)
        };
        for column in rows.columns.iter().filter(is_null) {
            report.null(column);
        }
    }
    let rules = rows.variable.iter().filter(|rule| rule.is_empty_when_null);
    let mut filled: Vec<&Row> =
        rules.flat_map(|rule| of_page.filled_nulls(rule.null_bit, rule.index)).collect();
    filled.sort_unstable_by_key(|row| row.slot);
    filled.dedup_by_key(|row| row.slot);
    for row in filled {
        let mut report = RowReport::new(page, of_page, row, findings);
        report.filled_nulls(&rows.columns);
    }
}

/// Values that are too long or out of range.
#[cold]
fn report_values(
    page: &SoundPage<'_>,
    of_page: &PageRows<'_>,
    rows: &RowPlan,
    has_purity: bool,
    findings: &mut Findings,
) {
    for row in of_page.iter() {
        let cells = of_page.cells(row);
        let mut report = RowReport::new(page, of_page, row, findings);
        for column in &rows.columns {
            let Some(Content::Bytes(bytes)) = column.of(&cells) else { continue };
            if resembles_ciphertext(bytes) {
                continue;
            }
            let is_variable = matches!(column.place, ColumnPosition::Variable { .. });
            if is_variable && bytes.len() > usize::from(column.bytes_max) {
                report.too_long(column, bytes.len());
            }
            if has_purity && !column.range.allows(bytes) {
                report.out_of_range(column);
            }
        }
    }
}

/// A stored computed column against its expression: 2537. What is not certain is not judged.
fn verify_computed(
    page: &SoundPage<'_>,
    of_page: &PageRows<'_>,
    rows: &RowPlan,
    column: u16,
    expression: u16,
    batches: &Batches,
    findings: &mut Findings,
) {
    let Some(column) = rows.columns.get(usize::from(column)) else { return };
    for (at, row) in of_page.iter().enumerate() {
        let stored = match column.of(&of_page.cells(row)) {
            Some(Content::Null) => None,
            Some(Content::Bytes(bytes)) => Some(bytes),
            _ => continue,
        };
        if batches.value(expression, at).is_ok_and(|computed| computed != stored) {
            let mut report = RowReport::new(page, of_page, row, findings);
            report.computed(column);
        }
    }
}
