//! The shape of a row: how many columns its null bitmap knows, and where its fixed part ends
//! (`docs/check.md` 4).
//!
//! ```text
//! table then  a b c      row written then  fixed part to the end of c  bitmap of 3 columns
//! table now   a b c d e  row written now   fixed part to the end of e  bitmap of 5 columns
//! ```
//!
//! A row keeps the shape that its table had when it was written; columns that came later are NULL
//! in it, or have the default they were added with. Any other shape is wrong: 2537. A row without a
//! column that every row has: 8970.
//!
//! What is not judged
//! - A column at the end that nothing in the row shows to have been there: such rows are older than
//!   the column.
//! - A column that lies where a dropped column lay, in a row that has the dropped column: a new
//!   column may take over the bytes of a dropped one (observed in files of version 706 and later).
//! - Tables from SQL Server 2000, which dropped columns without a trace, and sysfiles1, whose rows
//!   follow no catalog.
//! - A length that the page itself expects: then it is the catalog that is not understood.

use extentdb_catalog::Catalog;
use extentdb_catalog::layout::{Compression, PhysicalColumn, RowLayout};
/// The only base table whose rows do not follow the layout in its catalog.
pub(crate) use extentdb_catalog::system::object::SYSFILES1;

use super::column::ColumnPlan;
use super::page::{PageRows, Row};
use super::report::{RowReport, ShapeFault};
use crate::finding::Findings;
use crate::sound::SoundPage;
use crate::unit::{Structure, Unit};

/// SQL Server 2012 was the first to add a NOT NULL column without rewriting all rows.
const ADDS_NOT_NULL_SINCE: u16 = 706;

/// The test of the number of columns.
const TEXT_OF_COLUMNS: &str = "columns of the record are those that it stores";

/// What a row shows of a column that its bitmap should know.
#[derive(Clone, Copy, Debug)]
enum Trace {
    /// A fixed part that ends here or later.
    FixedEnd(u16),
    /// More variable columns than this.
    Variable(u16),
}

/// The trace of a live column.
#[derive(Clone, Copy, Debug)]
struct TraceOf {
    null_bit: u16,
    trace: Trace,
    /// The null bit of the dropped column whose bytes it took over, the lowest one if there are
    /// several. A row that knows that column and not this one has the bytes of the dropped column
    /// there.
    reused: Option<u16>,
}

/// The shapes that rows of a table can have. The default is that nothing is known of them.
#[derive(Clone, Default, Debug)]
pub(super) struct Shape {
    /// Where the fixed part can end, ascending.
    fixed_ends: Vec<u16>,
    /// By null bit; without dropped columns.
    traces: Vec<TraceOf>,
    /// Null bits that every row has, with the place of the column.
    needed: Vec<(u16, u16)>,
    /// The highest null bit.
    columns_max: u16,
}

impl Shape {
    /// The shapes of the rows of a table; `columns` are those of the plan.
    pub(super) fn new(
        unit: &Unit,
        layout: &RowLayout,
        columns: &[ColumnPlan],
        catalog: &Catalog,
    ) -> Shape {
        if unit.fixed_ends.is_empty() || unit.is_from_2000() || unit.owner.object == SYSFILES1 {
            return Shape::default();
        }
        let live = || {
            layout.columns.iter().filter(|column| !column.is_dropped() && column.leaf.null_bit > 0)
        };
        let has_not_null = unit.owner.is_user && catalog.boot.version < ADDS_NOT_NULL_SINCE;
        let is_needed = |column: &&PhysicalColumn| {
            let is_key = unit.structure == Structure::Clustered && column.key_ordinal > 0;
            let has_default = catalog.added_default(unit.owner.partition, column).is_some();
            !column.is_uniquifier()
                && (is_key || (has_not_null && column.is_not_null() && !has_default))
        };
        let place = |id: i32| columns.iter().position(|column| column.id == id);
        let needed = live()
            .filter(is_needed)
            .filter_map(|column| Some((column.leaf.null_bit, place(column.column_id)? as u16)));
        Shape {
            fixed_ends: unit.fixed_ends.clone(),
            traces: live().filter_map(|column| trace_of(column, layout)).collect(),
            needed: needed.collect(),
            columns_max: live().map(|column| column.leaf.null_bit).max().unwrap_or(0),
        }
    }

    /// True when some row of the page does not have the shape that rows are written in now.
    #[inline]
    pub(super) fn is_unusual(&self, of_page: &PageRows<'_>, pminlen: u16) -> bool {
        let Some(end) = self.fixed_ends.last() else { return false };
        of_page.columns_min() < self.columns_max
            || of_page.fixed_ends() != (*end, *end)
            || pminlen != *end
    }

    /// Looks at the rows of an unusual page.
    #[cold]
    pub(super) fn report(
        &self,
        page: &SoundPage<'_>,
        of_page: &PageRows<'_>,
        columns: &[ColumnPlan],
        findings: &mut Findings,
    ) {
        let mut sound_before = None;
        for row in of_page.iter().filter(|row| row.has_bitmap()) {
            let shape = (row.columns(), row.fixed_end(), row.variables());
            if sound_before == Some(shape) {
                continue;
            }
            let mut report = RowReport::new(page, of_page, row, findings);
            let mut missing = self.needed.iter().filter(|(bit, _)| *bit > row.columns()).peekable();
            if missing.peek().is_some() {
                let names = missing.filter_map(|(_, place)| columns.get(usize::from(*place)));
                names.for_each(|column| report.missing(column));
            } else if let Some(shape_fault) = self.shape_fault(page, of_page, row) {
                report.shape_fault(shape_fault);
            } else {
                sound_before = Some(shape);
            }
        }
    }

    /// The test that a row fails, with its values.
    fn shape_fault(
        &self,
        page: &SoundPage<'_>,
        of_page: &PageRows<'_>,
        row: &Row,
    ) -> Option<ShapeFault> {
        let known = row.columns();
        let fixed_end = row.fixed_end();
        if self.fixed_ends.binary_search(&fixed_end).is_err() {
            let text = "fixed length of the record is one that its table had";
            let is_expected = fixed_end == page.header().fixed_len.get();
            return (!is_expected).then_some(ShapeFault {
                text,
                values: (fixed_end, page.header().fixed_len.get()),
            });
        }
        // The back pointer of a forwarded record is one variable column more.
        let extra = u16::from(of_page.ends_with_back_pointer(row));
        let variables = row.variables().saturating_sub(extra);
        let shows = |trace: &Trace| match trace {
            Trace::FixedEnd(end) => fixed_end >= *end,
            Trace::Variable(index) => variables > *index,
        };
        let lacks = |trace: &Trace| matches!(trace, Trace::FixedEnd(end) if fixed_end < *end);
        let is_wrong = |of: &&TraceOf| {
            if of.null_bit > known {
                shows(&of.trace) && of.reused.is_none_or(|dropped| dropped > known)
            } else {
                lacks(&of.trace)
            }
        };
        let wrong = self.traces.iter().find(is_wrong);
        wrong.map(|of| ShapeFault { text: TEXT_OF_COLUMNS, values: (known, of.null_bit) })
    }
}

/// Entries of an index that do not know a column which is never NULL. No column is ever added to an
/// index.
#[cold]
pub(super) fn report_short_entries(
    page: &SoundPage<'_>,
    of_page: &PageRows<'_>,
    columns: &[ColumnPlan],
    findings: &mut Findings,
) {
    if page.unit.compression != Compression::None {
        return;
    }
    for row in of_page.iter().filter(|row| row.has_bitmap()) {
        let cells = of_page.cells(row);
        let is_missing =
            |column: &&ColumnPlan| column.null_bit > row.columns() && column.of(&cells).is_none();
        if let Some(missing) = columns.iter().find(is_missing) {
            let mut report = RowReport::new(page, of_page, row, findings);
            let shape_fault = ShapeFault {
                text: TEXT_OF_COLUMNS,
                values: (row.columns(), missing.null_bit),
            };
            report.shape_fault(shape_fault);
        }
    }
}

fn trace_of(column: &PhysicalColumn, layout: &RowLayout) -> Option<TraceOf> {
    let dropped =
        layout.columns.iter().filter(|other| other.is_dropped() && overlaps(column, other));
    Some(TraceOf {
        null_bit: column.leaf.null_bit,
        trace: trace(column)?,
        reused: dropped.map(|other| other.leaf.null_bit).min(),
    })
}

/// True for columns that share bytes of the fixed part, or an entry of the variable part.
fn overlaps(column: &PhysicalColumn, other: &PhysicalColumn) -> bool {
    if column.leaf.offset <= 0 || other.leaf.offset <= 0 {
        return column.leaf.offset == other.leaf.offset && column.leaf.offset != 0;
    }
    let end = |column| crate::unit::fixed_column_end(column).unwrap_or(u16::MAX);
    let start = |column: &PhysicalColumn| column.leaf.offset.unsigned_abs();
    start(column) < end(other) && start(other) < end(column)
}

/// Bits share their bytes, so that they leave no trace of their own.
fn trace(column: &PhysicalColumn) -> Option<Trace> {
    if column.is_sparse() || column.ty.is_some_and(|ty| ty.is_bit()) {
        return None;
    }
    match column.leaf.offset {
        offset if offset < 0 => Some(Trace::Variable(offset.unsigned_abs() - 1)),
        _ => crate::unit::fixed_column_end(column).map(Trace::FixedEnd),
    }
}
