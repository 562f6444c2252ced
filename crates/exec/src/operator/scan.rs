//! Readings of tables: scans and ranges of indexes, as the engine gives them in columns.

use std::ops::Bound;

use extentdb_base::Rid;
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Access as EngineAccess, Address, ColumnBatch, ColumnComparison, Database, Error as EngineError,
    Locators, ParallelScan, Range, Scan as EngineScan, ScanSpec, Session, Table, Vector,
};
use extentdb_plan::physical::{Access, Expression, IndexRange, Scan};
use extentdb_types::{Datum, SqlType};

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::{Context, OuterValues};
use crate::error::Error;
use crate::evaluate::Evaluator;
use crate::operator::Operator;

/// A reading of a table.
pub(crate) struct TableScan {
    plan: Arc<Scan>,
    comparisons: Vec<Evaluator>,
    range: Option<RangeValues>,
    /// Rows for which it is not true are left out, and their locks given back.
    condition: Option<Evaluator>,
    scan: Option<Box<EngineScan>>,
}

/// The values of a range of an index.
struct RangeValues {
    equal: Vec<Evaluator>,
    from: Option<(Evaluator, bool)>,
    to: Option<(Evaluator, bool)>,
}

/// A range of an index, with its values.
struct KeyBounds {
    from: Bound<Vec<Datum<'static>>>,
    to: Bound<Vec<Datum<'static>>>,
}

impl TableScan {
    pub(crate) fn new(plan: &Arc<Scan>) -> TableScan {
        let range = match &plan.access {
            Access::Whole => None,
            Access::Range(range) => Some(RangeValues {
                equal: range.equal.iter().map(Evaluator::new).collect(),
                from: bound_evaluator(&range.from),
                to: bound_evaluator(&range.to),
            }),
        };
        TableScan {
            comparisons: plan.comparisons.iter().map(|it| Evaluator::new(&it.value)).collect(),
            plan: plan.clone(),
            range,
            condition: None,
            scan: None,
        }
    }

    /// The rows for which a condition is true: where rows are to be changed, the others are not
    /// kept locked.
    pub(crate) fn filtered(plan: &Arc<Scan>, condition: &Expression) -> TableScan {
        TableScan {
            condition: Some(Evaluator::new(condition)),
            ..TableScan::new(plan)
        }
    }

    /// The rows of a batch that are wanted.
    fn wanted(
        &mut self,
        batch: Batch,
        scan: &EngineScan,
        context: &mut Context<'_>,
    ) -> Result<Batch, Error> {
        let Some(condition) = &mut self.condition else { return Ok(batch) };
        let selected = condition.selection(&batch, &context.outer)?;
        if selected.len() == batch.rows {
            return Ok(batch);
        }
        let mut wanted = selected.iter().peekable();
        let rejected = (0..batch.rows as u32).filter(|row| wanted.next_if_eq(&row).is_none());
        let places = batch.columns.last();
        let rejected: Vec<Address> =
            rejected.filter_map(|row| address(places?.bytes(row as usize))).collect();
        within(context.session()?, &self.plan.table.database, |session| {
            Ok(scan.release_rows(session, &rejected)?)
        })?;
        Ok(batch.take(&selected))
    }

    /// A scan for several threads; `None` when no row can satisfy it.
    pub(crate) fn open_parallel(
        &mut self,
        context: &mut Context<'_>,
    ) -> Result<Option<ParallelScan>, Error> {
        self.begin_in(context, &|session, table, spec| session.open_parallel_scan(table, spec))
    }

    /// Begins in the database of the table.
    fn begin_in<T>(
        &mut self,
        context: &mut Context<'_>,
        open: OpenScan<'_, T>,
    ) -> Result<Option<T>, Error> {
        let database = self.plan.table.database.clone();
        let outer = std::mem::take(&mut context.outer);
        let session = context.session();
        let begun = session
            .and_then(|own| within(own, &database, |session| self.begin(session, &outer, open)));
        context.outer = outer;
        begun
    }

    /// The scan from its beginning; `None` when no row can satisfy it.
    fn begin<T>(
        &mut self,
        session: &mut Session,
        outer: &OuterValues,
        open: OpenScan<'_, T>,
    ) -> Result<Option<T>, Error> {
        let mut comparisons = Vec::new();
        for (own, value) in self.plan.comparisons.iter().zip(&mut self.comparisons) {
            let value = value.datum(outer)?;
            if value.is_null() {
                return Ok(None);
            }
            comparisons.push(ColumnComparison { column: own.ordinal, op: own.op, value });
        }
        let bounds = match (&self.plan.access, &mut self.range) {
            (Access::Range(range), Some(values)) => match values.bounds(range, outer)? {
                Some(bounds) => Some((range, bounds)),
                None => return Ok(None),
            },
            _ => None,
        };
        let hints = self.plan.table.hints;
        let access = match &bounds {
            None => EngineAccess::Table(hints),
            Some((range, bounds)) => EngineAccess::Range(Range {
                index: &range.index,
                from: as_slice(&bounds.from),
                to: as_slice(&bounds.to),
                backward: range.is_backward,
                hints,
            }),
        };
        let spec = ScanSpec {
            access,
            columns: &self.plan.ordinals,
            comparisons: &comparisons,
            filter: None,
            sample: self.plan.table.sample,
            limit: None,
            locators: if self.plan.has_locator { Locators::Delivered } else { Locators::Omitted },
        };
        Ok(Some(open(session, &self.plan.table.table, &spec)?))
    }
}

impl Operator for TableScan {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.scan = self.begin_in(context, &|session, table, spec| {
            session.open_scan(table, spec).map(Box::new)
        })?;
        Ok(())
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        let Some(mut scan) = self.scan.take() else { return Ok(None) };
        loop {
            let found = within(context.session()?, &self.plan.table.database, |session| {
                Ok(scan.next_batch(session, BATCH_ROWS)?)
            })?;
            let Some(found) = found else { return Ok(None) };
            let batch = batch(&self.plan, found, &|at, vector| scan.whole_values(at, vector))?;
            let batch = self.wanted(batch, &scan, context)?;
            if batch.rows > 0 {
                self.scan = Some(scan).filter(|scan| !scan.is_over());
                return Ok(Some(batch));
            }
        }
    }
}

/// Opens a scan of a table.
type OpenScan<'o, T> =
    &'o dyn Fn(&mut Session, &Arc<Table>, &ScanSpec<'_>) -> Result<T, EngineError>;

/// What an engine's scan found, with whole values.
pub(crate) fn batch(
    plan: &Scan,
    found: ColumnBatch,
    whole: &dyn Fn(usize, &Vector) -> Result<Vector, EngineError>,
) -> Result<Batch, Error> {
    let rows = found.rows;
    let locators = plan.has_locator.then(|| places(&found)).transpose()?;
    let mut columns = Vec::with_capacity(found.columns.len() + 1);
    for (vector, ordinal) in found.columns.into_iter().zip(&plan.ordinals) {
        columns.push(match &vector.off_row {
            Some(_) => whole(*ordinal, &vector)?,
            None => vector,
        });
    }
    columns.extend(locators);
    Ok(Batch { rows, columns })
}

/// Works in a database, and returns to the one that was current.
///
/// # Errors
/// Those of the work; the database is not online.
pub fn within<T>(
    session: &mut Session,
    database: &Arc<Database>,
    work: impl FnOnce(&mut Session) -> Result<T, Error>,
) -> Result<T, Error> {
    if Arc::ptr_eq(session.database(), database) {
        return work(session);
    }
    let current = session.database().clone();
    session.use_database(database)?;
    let done = work(session);
    session.use_database(&current)?;
    done
}

impl RangeValues {
    /// The bounds; `None` when a value is NULL, so that no row is meant.
    fn bounds(
        &mut self,
        range: &IndexRange,
        outer: &OuterValues,
    ) -> Result<Option<KeyBounds>, Error> {
        let mut equal = Vec::new();
        for (value, matches_null) in self.equal.iter_mut().zip(&range.nulls_match) {
            let value = value.datum(outer)?;
            if value.is_null() && !matches_null {
                return Ok(None);
            }
            equal.push(value);
        }
        let (Some(from), Some(to)) =
            (side(&mut self.from, &equal, outer)?, side(&mut self.to, &equal, outer)?)
        else {
            return Ok(None);
        };
        let is_open = |bound: &Bound<_>| matches!(bound, Bound::Unbounded);
        let whole = |equal: &Vec<Datum<'static>>| match equal.is_empty() {
            true => Bound::Unbounded,
            false => Bound::Included(equal.clone()),
        };
        // NULLs are beside the values that a bound alone leaves open.
        let null = |mut equal: Vec<Datum<'static>>| {
            equal.push(Datum::Null);
            Bound::Excluded(equal)
        };
        let (from, to) = match (is_open(&from), is_open(&to)) {
            (true, true) => (whole(&equal), whole(&equal)),
            (false, true) if range.is_descending => (from, null(equal)),
            (false, true) => (from, whole(&equal)),
            (true, false) if range.is_descending => (whole(&equal), to),
            (true, false) => (null(equal), to),
            (false, false) => (from, to),
        };
        Ok(Some(KeyBounds { from, to }))
    }
}

/// A bound; `None` when its value is NULL.
fn side(
    value: &mut Option<(Evaluator, bool)>,
    equal: &[Datum<'static>],
    outer: &OuterValues,
) -> Result<Option<Bound<Vec<Datum<'static>>>>, Error> {
    let Some((value, is_included)) = value else { return Ok(Some(Bound::Unbounded)) };
    let value = value.datum(outer)?;
    if value.is_null() {
        return Ok(None);
    }
    let mut all = equal.to_vec();
    all.push(value);
    Ok(Some(if *is_included { Bound::Included(all) } else { Bound::Excluded(all) }))
}

fn bound_evaluator(bound: &Option<(Expression, bool)>) -> Option<(Evaluator, bool)> {
    bound.as_ref().map(|(value, is_included)| (Evaluator::new(value), *is_included))
}

fn as_slice<'b>(bound: &'b Bound<Vec<Datum<'static>>>) -> Bound<&'b [Datum<'b>]> {
    match bound {
        Bound::Included(values) => Bound::Included(values.as_slice()),
        Bound::Excluded(values) => Bound::Excluded(values.as_slice()),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// The places of the rows of a batch, as values.
fn places(found: &ColumnBatch) -> Result<Vector, Error> {
    let mut places = Vector::computed(SqlType::VarBinary { len: None });
    for row in 0..found.rows {
        let bytes = found.address(row).map(|address| place(&address));
        let pushed = places.push_stored(bytes.as_deref());
        pushed.map_err(|error| Error::NotSupported(error.to_string()))?;
    }
    Ok(places)
}

/// An address as bytes: a RID has eight of them behind a zero, a key stands behind a one.
pub(crate) fn place(address: &Address) -> Vec<u8> {
    match address {
        Address::Rid(rid) => {
            let mut bytes = vec![0];
            bytes.extend(rid.page.page.to_le_bytes());
            bytes.extend(rid.page.file.0.to_le_bytes());
            bytes.extend(rid.slot.0.to_le_bytes());
            bytes
        }
        Address::Key(key) => {
            let mut bytes = vec![1];
            bytes.extend_from_slice(key);
            bytes
        }
    }
}

/// The address that bytes stand for.
pub fn address(bytes: &[u8]) -> Option<Address> {
    match bytes.split_first()? {
        (0, rid) => {
            let (page, rest) = rid.split_first_chunk::<4>()?;
            let (file, rest) = rest.split_first_chunk::<2>()?;
            let (slot, _) = rest.split_first_chunk::<2>()?;
            let page =
                extentdb_base::PageId::new(u16::from_le_bytes(*file), u32::from_le_bytes(*page));
            Some(Address::Rid(Rid::new(page, u16::from_le_bytes(*slot))))
        }
        (1, key) => Some(Address::Key(key.into())),
        _ => None,
    }
}
