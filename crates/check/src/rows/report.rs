//! What is reported for single rows of a table.

use extentdb_format::record::Record;
use extentdb_messages::Arg;

use super::column::{ColumnPlan, ColumnPosition};
use super::page::{PageRows, Row};
use crate::finding::{Finding, Findings, page_arg};
use crate::sound::{Entry, SoundPage};

/// A test of a row's shape that failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShapeFault {
    pub(super) text: &'static str,
    pub(super) values: (u16, u16),
}

/// What is reported of one row.
pub(super) struct RowReport<'r> {
    page: &'r SoundPage<'r>,
    entry: Entry<'r>,
    findings: &'r mut Findings,
}

impl<'r> RowReport<'r> {
    pub(super) fn new(
        page: &'r SoundPage<'r>,
        rows: &PageRows<'r>,
        row: &Row,
        findings: &'r mut Findings,
    ) -> RowReport<'r> {
        RowReport {
            page,
            entry: page.entry_at(row.slot, rows.record(row)),
            findings,
        }
    }

    pub(super) fn record(&self) -> Record<'r> {
        self.entry.record()
    }

    fn push(&mut self, error: u32, state: u8, args: impl IntoIterator<Item = Arg<'static>>) {
        let location = self.page.unit.at(self.page.id).slot(self.entry.slot);
        self.findings.push(Finding::new(error, location, args).state(state));
    }

    fn row_args(&self) -> [Arg<'static>; 2] {
        [page_arg(self.page.id), self.entry.slot.into()]
    }

    /// A message that begins with unit, page and slot.
    fn of_row(&mut self, error: u32, state: u8, args: impl IntoIterator<Item = Arg<'static>>) {
        let args = self.page.unit.args().into_iter().chain(self.row_args()).chain(args);
        self.push(error, state, args);
    }

    /// 8970: a column that must not be NULL is.
    #[cold]
    pub(super) fn null(&mut self, column: &ColumnPlan) {
        self.of_row(8970, 1, [column.name.to_string().into()]);
    }

    /// 8970: a column that every row has is missing from its bitmap.
    #[cold]
    pub(super) fn missing(&mut self, column: &ColumnPlan) {
        self.of_row(8970, 2, [column.name.to_string().into()]);
    }

    /// 2537: a row of no shape that its table ever had.
    #[cold]
    pub(super) fn shape_fault(&mut self, shape_fault: ShapeFault) {
        let (found, expected) = shape_fault.values;
        self.of_row(2537, 3, [shape_fault.text.into(), found.into(), expected.into()]);
    }

    /// 7961: a variable column is NULL and holds bytes.
    #[cold]
    pub(super) fn filled_nulls(&mut self, columns: &[ColumnPlan]) {
        let record = self.record();
        for column in columns {
            let ColumnPosition::Variable { index } = column.place else { continue };
            let is_filled = || record.var(index).is_some_and(|var| !var.bytes.is_empty());
            let is_judged = !column.is_not_null && !column.keeps_bytes_when_null();
            if is_judged && record.is_null(column.null_bit) == Some(true) && is_filled() {
                self.of_row(7961, 1, [column.name.to_string().into()]);
            }
        }
    }

    /// 2537: a value in the row is longer than its column allows.
    #[cold]
    pub(super) fn too_long(&mut self, column: &ColumnPlan, bytes: usize) {
        let test = format!("length of column {} <= its maximum", column.name);
        self.of_row(2537, 1, [test.into(), (bytes as i64).into(), column.bytes_max.into()]);
    }

    /// 2570: the name of the type stands without its length, as DBCC prints it.
    #[cold]
    pub(super) fn out_of_range(&mut self, column: &ColumnPlan) {
        let ty = column.ty.to_string();
        let ty = ty.split('(').next().unwrap_or_default().to_owned();
        let args = self.row_args().into_iter().chain(self.page.unit.args());
        self.push(2570, 1, args.chain([column.name.to_string().into(), ty.into()]));
    }

    /// 2537: a stored computed column is not what its expression gives.
    #[cold]
    pub(super) fn computed(&mut self, column: &ColumnPlan) {
        let test = format!("computed column {} has the value of its expression", column.name);
        self.of_row(2537, 2, [test.into(), 0i64.into(), 1i64.into()]);
    }

    /// 5262: a versioning tag without a sequence number that leads somewhere.
    ///
    /// That the pointer comes first is public, but not verified. The other way round, the tag of a
    /// row without older versions looks like a pointer into file 0, which there is not.
    #[cold]
    pub(super) fn version_tag(&mut self) {
        let Some(tag) = self.record().version_tag() else { return };
        let leads_somewhere = tag.previous.page.file.0 != 0 && tag.previous.page.page != 0;
        if tag.sequence.iter().all(|byte| *byte == 0) && leads_somewhere {
            self.of_row(5262, 1, [page_arg(tag.previous.page), tag.previous.slot.0.into()]);
        }
    }
}
