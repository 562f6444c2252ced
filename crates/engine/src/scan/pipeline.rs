//! Records to batches: what a scan does with the rows of a page, compiled once. It is immutable and
//! shared by all workers of a parallel scan.
//!
//! ```text
//! records ─ comparisons ─▶ ─ filter ─▶ ─ limit ─▶ columns that are stored, columns that are computed,
//!                                                 locators
//! ```
//!
//! A table with indexes may have two: one over its rows, and one over the entries of an index that
//! has all columns that are needed.

use extentdb_base::sync::Arc;
use extentdb_base::{PageId, Rid};
use extentdb_catalog::layout::Level;
use extentdb_expr::{Batch, EvalError, Program};
use extentdb_rowset::RowShape;
use extentdb_rowset::columnar::{
    ColumnBuilder, Comparison, Decoder, Located, PageRun, Projected, Rows, Vector,
};

use crate::catalog::{Address, Condition, Formula, Index, Storage, TableColumn};
use crate::error::{Error, Unsupported};
use crate::scan::batch::{BatchBuilder, RowLocators};
use crate::scan::spec::{Locators, ScanSpec};

/// The records that a pipeline reads.
#[derive(Clone, Debug)]
pub(crate) enum Records {
    /// Rows of the table.
    Rows,
    /// Entries of an index.
    Entries(Arc<Index>),
}

/// What a scan does with records.
#[derive(Debug)]
pub(crate) struct Pipeline {
    records: Records,
    storage: Arc<Storage>,
    comparisons: Vec<Comparison>,
    filter: Option<Filter>,
    decoder: Decoder,
    computed: Vec<Computed>,
    vectors: Vec<Vector>,
    locators: Locators,
}

/// A condition that rows must satisfy.
#[derive(Debug)]
struct Filter {
    condition: Condition,
    inputs: Decoder,
}

/// A column that records do not have.
#[derive(Debug)]
struct Computed {
    column: TableColumn,
    formula: Arc<Formula>,
    inputs: Decoder,
    to: usize,
}

/// A record that was read alone.
#[derive(Clone, Copy)]
pub(crate) struct LoneRow<'r> {
    pub(crate) record: &'r [u8],
    /// Where it is in a heap.
    pub(crate) rid: Option<Rid>,
}

impl Records {
    fn shape<'s>(&'s self, storage: &'s Storage) -> &'s RowShape {
        match self {
            Records::Rows => &storage.shape,
            Records::Entries(index) => index.tree().shape(),
        }
    }

    /// Where a column lies in the records.
    fn position(&self, storage: &Storage, number: usize) -> Option<usize> {
        match self {
            Records::Rows => {
                let column = storage.columns.get(number).filter(|column| column.is_stored());
                column.map(|column| column.at)
            }
            Records::Entries(index) => index.position_of(number),
        }
    }
}

impl Pipeline {
    /// Compiles a scan over records; `Ok(None)` when these have not all columns that it needs.
    ///
    /// # Errors
    /// There is no such column, it cannot be read, a comparison is not one of its column, or the
    /// filter cannot be evaluated.
    pub(crate) fn compile(
        storage: &Arc<Storage>,
        records: Records,
        spec: &ScanSpec<'_>,
    ) -> Result<Option<Pipeline>, Error> {
        let compiler = Compiler { storage, records: &records };
        let Some(comparisons) = compiler.comparisons(spec)? else { return Ok(None) };
        let Some(filter) = compiler.filter(spec)? else { return Ok(None) };
        let mut stored = Vec::new();
        let mut computed = Vec::new();
        for (to, number) in spec.columns.iter().enumerate() {
            let column = compiler.column(*number)?;
            match (records.position(storage, *number), &column.formula) {
                (Some(at), _) => stored.push(Projected { at, ty: column.ty, to }),
                (None, Some(formula)) if !column.is_stored() => {
                    let Some(one) = compiler.computed(column, formula, to)? else {
                        return Ok(None);
                    };
                    computed.push(one);
                }
                (None, _) => return Ok(None),
            }
        }
        let decoder = Decoder::new(records.shape(storage), &stored)?;
        let mut vectors: Vec<Vector> = Vec::new();
        let mut of_decoder = decoder.vectors().into_iter();
        for (to, number) in spec.columns.iter().enumerate() {
            let is_stored = stored.iter().any(|projected| projected.to == to);
            let own = if is_stored { of_decoder.next() } else { None };
            vectors.push(match own {
                Some(vector) => vector,
                None => Vector::computed(compiler.column(*number)?.ty),
            });
        }
        Ok(Some(Pipeline {
            records,
            storage: storage.clone(),
            comparisons,
            filter,
            decoder,
            computed,
            vectors,
            locators: spec.locators,
        }))
    }

    /// Do both make the same vectors?
    pub(crate) fn is_like(&self, other: &Pipeline) -> bool {
        let forms =
            |pipeline: &Pipeline| -> Vec<_> { pipeline.vectors.iter().map(Vector::form).collect() };
        forms(self) == forms(other)
    }

    /// An empty batch, which takes `left` rows.
    pub(crate) fn builder(&self, left: usize) -> BatchBuilder {
        let locators = match self.locators {
            Locators::Omitted => None,
            Locators::Delivered if self.storage.base.heap().is_some() => {
                Some(RowLocators::of_heap())
            }
            Locators::Delivered => Some(RowLocators::of_keys()),
        };
        BatchBuilder {
            columns: ColumnBuilder::new(self.vectors.clone()),
            locators,
            ordinals: None,
            left,
        }
    }

    /// Appends the rows of a page that are not left out.
    pub(crate) fn take_page(
        &self,
        run: PageRun<'_>,
        scratch: &mut Batch,
        to: &mut BatchBuilder,
    ) -> Result<(), Error> {
        let PageRun { page, bytes, rows } = run;
        let alike = self.comparisons.first().and_then(|first| first.alike(bytes, rows));
        for comparison in &self.comparisons {
            comparison.retain(bytes, alike.as_ref(), rows)?;
        }
        if let Some(filter) = self.filter.as_ref().filter(|_| !rows.is_empty()) {
            filter.retain(bytes, rows, scratch)?;
        }
        rows.truncate(to.left);
        to.left -= rows.len();
        let rows = Rows { bytes, rows };
        self.decoder.decode(rows, &mut to.columns)?;
        for computed in &self.computed {
            computed.push(rows, scratch, &mut to.columns)?;
        }
        if let Some(locators) = &mut to.locators {
            self.push_locators(page, rows, locators)?;
        }
        Ok(())
    }

    /// Appends a row that was read alone.
    pub(crate) fn take_row(
        &self,
        row: LoneRow<'_>,
        scratch: &mut Batch,
        to: &mut BatchBuilder,
    ) -> Result<(), Error> {
        let rid = row.rid.unwrap_or(Rid::new(PageId::NONE, 0));
        let rows = &mut vec![Located { start: 0, slot: rid.slot.0 }];
        self.take_page(PageRun { page: rid.page, bytes: row.record, rows }, scratch, to)
    }

    fn push_locators(
        &self,
        page: PageId,
        rows: Rows<'_>,
        to: &mut RowLocators,
    ) -> Result<(), Error> {
        match &self.records {
            Records::Rows if self.storage.base.heap().is_some() => to.push_rids(page, rows.rows),
            Records::Rows => {
                for row in rows.rows {
                    let record = self.storage.shape.leaf(record_of(rows.bytes, row));
                    let key = self.storage.shape.key(&record, Level::Leaf)?;
                    to.push(&Address::Key(key.into()));
                }
            }
            Records::Entries(index) => {
                for row in rows.rows {
                    let entry = record_of(rows.bytes, row);
                    to.push(&index.address(entry, &self.storage.shape)?);
                }
            }
        }
        Ok(())
    }
}

fn record_of<'b>(bytes: &'b [u8], row: &Located) -> &'b [u8] {
    bytes.get(usize::from(row.start)..).unwrap_or_default()
}

/// Finds the columns that a scan needs in its records.
struct Compiler<'s> {
    storage: &'s Arc<Storage>,
    records: &'s Records,
}

impl Compiler<'_> {
    fn column(&self, number: usize) -> Result<&TableColumn, Error> {
        let columns = &self.storage.columns;
        let missing = Error::Columns { expected: columns.len(), found: number };
        columns.get(number).ok_or(missing)
    }

    fn comparisons(&self, spec: &ScanSpec<'_>) -> Result<Option<Vec<Comparison>>, Error> {
        let mut comparisons = Vec::with_capacity(spec.comparisons.len());
        for comparison in spec.comparisons {
            let column = self.column(comparison.column)?;
            if !Comparison::is_native(&column.ty) {
                return Err(column.refused("values of its type are compared by a filter"));
            }
            let Some(at) = self.records.position(self.storage, comparison.column) else {
                return Ok(None);
            };
            let mut stored = Vec::new();
            let encoded = comparison.value.encode(&column.ty, &mut stored);
            encoded.map_err(|error| column.refused(error.to_string()))?;
            let projected = Projected { at, ty: column.ty, to: 0 };
            let shape = self.records.shape(self.storage);
            comparisons.push(Comparison::new(shape, projected, comparison.op, &stored)?);
        }
        Ok(Some(comparisons))
    }

    /// `None` when the records have not all of its columns.
    fn filter(&self, spec: &ScanSpec<'_>) -> Result<Option<Option<Filter>>, Error> {
        let Some(text) = spec.filter else { return Ok(Some(None)) };
        let condition = Condition::compile(text, &self.storage.columns)
            .map_err(|why| Unsupported::ScanFilter { why })?;
        let inputs = self.inputs(condition.columns())?;
        Ok(inputs.map(|inputs| Some(Filter { condition, inputs })))
    }

    fn computed(
        &self,
        column: &TableColumn,
        formula: &Arc<Formula>,
        to: usize,
    ) -> Result<Option<Computed>, Error> {
        formula.program(column)?;
        let inputs = self.inputs(formula.columns())?;
        let column = column.clone();
        let formula = formula.clone();
        Ok(inputs.map(|inputs| Computed { column, formula, inputs, to }))
    }

    /// Reads columns by their ids.
    fn inputs(&self, ids: &[i32]) -> Result<Option<Decoder>, Error> {
        let mut projected = Vec::with_capacity(ids.len());
        for (to, id) in ids.iter().enumerate() {
            let number = self.storage.columns.iter().position(|column| column.id == *id);
            let at = number
                .and_then(|number| Some((number, self.records.position(self.storage, number)?)));
            let Some((number, at)) = at else { return Ok(None) };
            projected.push(Projected { at, ty: self.column(number)?.ty, to });
        }
        Ok(Some(Decoder::new(self.records.shape(self.storage), &projected)?))
    }
}

/// Gives a batch the inputs of a program from records.
fn push_inputs<'b>(inputs: &'b Decoder, rows: Rows<'b>, batch: &mut Batch) -> Result<(), Error> {
    let mut values = Vec::with_capacity(rows.rows.len());
    for input in 0..inputs.len() {
        values.clear();
        inputs.stored(input, rows, &mut values)?;
        batch.push_column(input, &values);
    }
    batch.end_rows(rows.rows.len());
    Ok(())
}

impl Filter {
    fn retain(
        &self,
        bytes: &[u8],
        rows: &mut Vec<Located>,
        batch: &mut Batch,
    ) -> Result<(), Error> {
        let predicate = self.condition.predicate();
        batch.reset(predicate);
        push_inputs(&self.inputs, Rows { bytes, rows }, batch)?;
        predicate.run(batch);
        let mut failed = None;
        let mut number = 0;
        rows.retain(|_| {
            let truth = batch.truth(number);
            number += 1;
            truth
                .inspect_err(|error| failed = failed.or(Some(*error)))
                .is_ok_and(|it| it == Some(true))
        });
        failed.map_or(Ok(()), |error| Err(undecided(error)))
    }
}

fn undecided(error: EvalError) -> Error {
    if error.is_undecided() {
        Unsupported::UndecidedScanFilter { why: error }.into()
    } else {
        Error::Filter { why: error.to_string() }
    }
}

impl Computed {
    fn push(&self, rows: Rows<'_>, batch: &mut Batch, to: &mut ColumnBuilder) -> Result<(), Error> {
        let program: &Program = self.formula.program(&self.column)?;
        batch.reset(program);
        push_inputs(&self.inputs, rows, batch)?;
        program.run(batch);
        let Some(vector) = to.vector(self.to) else { return Ok(()) };
        for row in 0..rows.rows.len() {
            let value = self.formula.result(&self.column, batch, row)?;
            vector.push_stored(value)?;
        }
        Ok(())
    }
}
