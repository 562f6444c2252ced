//! Rows: records against the catalogue, column values, and nonclustered indexes against their tables (`checkdb.md` B.4, B.5,
//! B.9 and D.7).
//!
//! ```text
//! rows of a table      8970, 7961, 2537, 2570, 5262 on the spot
//!                      one hash per column that some index holds, combined for each index: the expected side
//! entries of an index  the same hashes from what is stored there: the actual side
//! ```
//!
//! What healthy files contain
//! - Rows that were written before a column was added are shorter: the column is NULL, or the default it was added with.
//! - Dropped columns keep their bytes and their null bits, whatever they say.
//! - System base tables hold NULLs in columns that they call NOT NULL.
//! - Ghosts are on neither side. A forwarded row counts once, at its stub's place.

use extentdb_base::Rid;
use extentdb_catalog::access::LobReader;
use extentdb_format::record::RecordKind;
use extentdb_format::record::lob::LobPointer;
use extentdb_format::record::status::HAS_VERSION_TAG;
use extentdb_reader::{CheckedPages, PageSource};

use crate::hash::HashKey;
use crate::partial::Partial;
use crate::partial::wire::wire_structs;
use crate::plan::Plan;
use crate::relation::{Acc, Side};
use crate::sound::{Entry, Sound};

mod cells;
mod column;
mod computed;
mod cross;
mod describe;
mod plan;
mod recheck;
mod report;
mod value;

use cells::Cells;
use column::{ColumnPlan, Content};
use computed::Batches;
pub(crate) use cross::CrossNumber;
pub(crate) use plan::RowPlans;
use plan::{Input, RowPlan, Target};
pub(crate) use recheck::{Compared, verify_crosses};

/// A value pushed off its row is not longer than a row.
const OVERFLOW_BYTES_MAX: usize = 8192;

/// Sums of the two sides of each index, by its number.
#[derive(Clone, Default, Debug)]
pub struct CrossSums {
    sums: Vec<Acc>,
}

impl CrossSums {
    /// The sum of an index.
    pub fn get(&self, number: u32) -> Acc {
        self.sums.get(number as usize).copied().unwrap_or_default()
    }

    #[inline]
    fn state(&mut self, number: CrossNumber, side: Side, lanes: [u64; 2]) {
        let at = number as usize;
        if self.sums.len() <= at {
            self.sums.resize(at + 1, Acc::default());
        }
        if let Some(acc) = self.sums.get_mut(at) {
            match side {
                Side::Plus => acc.add(lanes),
                Side::Minus => acc.subtract(lanes),
            }
        }
    }

    /// Adds other sums.
    pub fn merge(&mut self, other: CrossSums) {
        if self.sums.len() < other.sums.len() {
            self.sums.resize(other.sums.len(), Acc::default());
        }
        for (own, other) in self.sums.iter_mut().zip(other.sums) {
            own.merge(other);
        }
    }
}

wire_structs! { CrossSums { sums } }

/// What one worker needs to look at rows.
pub(crate) struct RowFacts<'p> {
    plan: &'p Plan,
    hasher: RowHasher<'p>,
    is_physical: bool,
}

impl<'p> RowFacts<'p> {
    pub(crate) fn new(plan: &'p Plan, source: &'p dyn PageSource, is_physical: bool) -> RowFacts<'p> {
        RowFacts { plan, hasher: RowHasher::new(plan, source), is_physical }
    }

    /// The rows of a page.
    #[inline]
    pub(crate) fn page(&mut self, page: &Sound<'_>, partial: &mut Partial) {
        if self.is_physical || !page.is_leaf {
            return;
        }
        let Some(rows) = self.plan.rows.get(page.index) else { return };
        self.hasher.evaluate(page, rows);
        for (row, entry) in page.entries().filter(is_row).enumerate() {
            let cells = cells(page, &entry);
            if rows.is_base {
                self.verify_row(page, rows, &entry, &cells, partial);
                for (column, expression) in &rows.persisted {
                    self.verify_computed(page, rows, (&entry, row), &cells, (*column, *expression), partial);
                }
            }
            let (crosses, unread) = (&mut partial.crosses, &mut partial.unread_crosses);
            self.hasher.row(page, rows, (&entry, row), &cells, |cross, side, lanes| match lanes {
                Some(lanes) => crosses.state(cross, side, lanes),
                None => _ = unread.insert(cross),
            });
        }
    }

    /// A stored computed column against its expression: 2537. What is not certain is not judged.
    fn verify_computed(
        &self,
        page: &Sound<'_>,
        rows: &RowPlan,
        (entry, row): (&Entry<'_>, usize),
        cells: &Cells<'_>,
        (column, expression): (u16, u16),
        partial: &mut Partial,
    ) {
        let Some(column) = rows.columns.get(usize::from(column)) else { return };
        let stored = match column.of(cells) {
            Some(Content::Null) => None,
            Some(Content::Bytes(bytes)) => Some(bytes),
            _ => return,
        };
        match self.hasher.batches.value(expression, row) {
            Ok(computed) if computed != stored => report::computed(page, entry, column, partial),
            _ => {}
        }
    }

    /// Everything about a row of the table that needs no other row.
    #[inline]
    fn verify_row(
        &self,
        page: &Sound<'_>,
        rows: &RowPlan,
        entry: &Entry<'_>,
        cells: &Cells<'_>,
        partial: &mut Partial,
    ) {
        if rows.not_null.meets(cells.bitmap()) {
            report::nulls(page, rows, entry, &entry.record(), partial);
        }
        let is_filled = |(null_bit, index): &(u16, u16)| {
            cells.is_null(*null_bit) == Some(true) && !cells.variable(*index).0.is_empty()
        };
        if rows.nullable_variable.iter().any(is_filled) {
            report::filled_nulls(page, rows, entry, &entry.record(), partial);
        }
        for column in rows.limited.iter().filter_map(|place| rows.columns.get(usize::from(*place))) {
            if let Some(Content::Bytes(bytes)) = column.of(cells)
                && bytes.len() > usize::from(column.bytes_max)
            {
                report::too_long(page, entry, column, bytes.len(), partial);
            }
        }
        if self.plan.rows.has_purity {
            for column in rows.ranged.iter().filter_map(|place| rows.columns.get(usize::from(*place))) {
                if let Some(Content::Bytes(bytes)) = column.of(cells)
                    && !column.range.allows(bytes)
                {
                    report::out_of_range(page, entry, column, partial);
                }
            }
        }
        if entry.bytes.first().is_some_and(|status| status & HAS_VERSION_TAG != 0) {
            report::version_tag(page, entry, &entry.record(), partial);
        }
    }
}

/// The parts of a row or entry.
#[inline(always)]
fn cells<'a>(page: &Sound<'_>, entry: &Entry<'a>) -> Cells<'a> {
    match entry.kind() {
        RecordKind::Index => Cells::new(entry.bytes, page.pminlen()),
        _ => Cells::data(entry.bytes),
    }
}

/// Rows and entries: no ghosts, no stubs.
#[inline]
fn is_row(entry: &Entry<'_>) -> bool {
    matches!(entry.kind(), RecordKind::Primary | RecordKind::Forwarded | RecordKind::Index)
}

/// Turns rows into the lanes of the indexes they belong to.
pub(super) struct RowHasher<'p> {
    key: &'p HashKey,
    pages: CheckedPages<'p>,
    /// One per hashed column of the row at hand; `None` = it could not be read.
    hashes: Vec<Option<u64>>,
    batches: Batches,
}

impl<'p> RowHasher<'p> {
    pub(super) fn new(plan: &'p Plan, source: &'p dyn PageSource) -> RowHasher<'p> {
        let pages = CheckedPages::new(source);
        RowHasher { key: &plan.key, pages, hashes: Vec::new(), batches: Batches::default() }
    }

    /// Evaluates the expressions of a table over the rows of a page; to be called before its rows are asked for.
    #[inline]
    pub(super) fn evaluate(&mut self, page: &Sound<'_>, rows: &RowPlan) {
        if rows.expressions.is_empty() {
            return;
        }
        let mut batches = std::mem::take(&mut self.batches);
        let all = || page.entries().filter(is_row).map(|entry| (cells(page, &entry), page.rid(entry.slot)));
        batches.run(rows, self, all);
        self.batches = batches;
    }

    /// Hands the lanes of a row to `state`, once for each index; no lanes when a value of it could not be read. `row` counts
    /// the rows of the page.
    #[inline]
    pub(super) fn row(
        &mut self,
        page: &Sound<'_>,
        rows: &RowPlan,
        (entry, row): (&Entry<'_>, usize),
        cells: &Cells<'_>,
        mut state: impl FnMut(CrossNumber, Side, Option<[u64; 2]>),
    ) {
        if rows.targets.is_empty() {
            return;
        }
        let rid = page.rid(entry.slot);
        self.hashes.clear();
        for place in &rows.hashed {
            let column = rows.columns.get(usize::from(*place));
            self.hashes.push(column.and_then(|column| self.column(column, cells, rid)));
        }
        let home = match entry.kind() {
            RecordKind::Forwarded => entry.record().back_pointer().unwrap_or(rid),
            _ => rid,
        };
        let side = if rows.is_base { Side::Plus } else { Side::Minus };
        for target in &rows.targets {
            match target.filter.map(|filter| self.batches.passes(filter, row)) {
                Some(Ok(false)) => {}
                Some(Err(_)) => state(target.cross, side, None),
                None | Some(Ok(true)) => {
                    let combined = self.combine(target, home, row);
                    state(target.cross, side, combined.map(|combined| self.key.row(combined)));
                }
            }
        }
    }

    #[inline]
    fn combine(&self, target: &Target, home: Rid, row: usize) -> Option<u64> {
        target.inputs.iter().try_fold(0u64, |sum, (input, multiplier)| {
            let hash = match input {
                Input::Column(place) => *self.hashes.get(usize::from(*place))?,
                Input::Rid => Some(self.fixed(&home.to_bytes())),
                Input::Computed(expression) => self.computed(*expression, row),
            };
            Some(sum.wrapping_add(hash?.wrapping_mul(*multiplier)))
        })
    }

    /// The hash of a value that is not in the row.
    fn computed(&self, expression: u16, row: usize) -> Option<u64> {
        match self.batches.value(expression, row) {
            Ok(Some(bytes)) => Some(self.fixed(bytes)),
            Ok(None) => Some(self.key.word(NULL_WORD)),
            Err(_) => None,
        }
    }

    /// The hash of a column. `None` when its value lies off the row and cannot be read.
    #[inline]
    fn column(&self, column: &ColumnPlan, cells: &Cells<'_>, rid: Rid) -> Option<u64> {
        match column.of(cells)? {
            Content::Null => Some(self.key.word(NULL_WORD)),
            Content::Bytes(bytes) => Some(self.fixed(bytes)),
            Content::Complex(pointer) => Some(self.fixed(&self.off_row(column, pointer, rid)?)),
        }
    }

    /// Values of up to eight bytes are numbers; their length is that of the type, or goes into the hash.
    #[inline]
    fn fixed(&self, bytes: &[u8]) -> u64 {
        match *bytes {
            [a, b, c, d] => self.key.word(u64::from(u32::from_le_bytes([a, b, c, d]))),
            [a, b, c, d, e, f, g, h] => self.key.word(u64::from_le_bytes([a, b, c, d, e, f, g, h])),
            _ => self.key.bytes(bytes),
        }
    }

    /// A value that was pushed off its row, which its index may hold in the row.
    #[cold]
    fn off_row(&self, column: &ColumnPlan, pointer: &[u8], rid: Rid) -> Option<Vec<u8>> {
        let pointer = LobPointer::parse(pointer, column.ty.is_lob());
        let reader = LobReader::new(&self.pages, rid, &pointer).ok()?;
        reader.read_to_vec(OVERFLOW_BYTES_MAX).ok()
    }
}

/// No value of four bytes; one of eight is met with a chance of 2^-64.
const NULL_WORD: u64 = 0x6e75_6c6c_9d3f_c1e5;
