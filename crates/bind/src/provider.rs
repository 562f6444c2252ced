//! Rows that are made when a statement runs: system views, tables of files that are only read.
//!
//! Invariant: a stream gives the requested columns in the requested order, and only those. It holds
//! a batch or two, whatever the number of rows, unless its rows are in memory anyway
//! ([`KeptRows`]).

use extentdb_base::sync::Arc;
use extentdb_engine::Vector;
use extentdb_types::{Datum, SqlType};

/// Rows of a batch, about.
const BATCH_ROWS: usize = 1024;

/// Rows that a system view is assumed to have.
const VIEW_ROWS: f64 = 200.0;

/// Makes rows.
pub trait RowProvider: Send + Sync {
    /// Begins to give the rows, with the values of these columns alone.
    ///
    /// # Errors
    /// Text of why there are none.
    fn open(&self, columns: &[RequestedColumn]) -> Result<Box<dyn RowStream>, String>;

    /// Rows that are expected.
    fn row_estimate(&self) -> f64 {
        VIEW_ROWS
    }
}

/// Rows on their way, batch by batch.
pub trait RowStream: Send {
    /// The next rows, at least one; `None` at the end.
    ///
    /// # Errors
    /// Text of why the rest is missing.
    fn next(&mut self) -> Result<Option<RowBatch>, String>;
}

/// Makes the rows of a function of the system.
pub trait CallProvider: Send + Sync {
    /// The rows for these arguments.
    ///
    /// # Errors
    /// Text of why there are none.
    fn rows(&self, arguments: &[Datum<'static>]) -> Result<Vec<Vec<Datum<'static>>>, String>;
}

/// A column that is read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RequestedColumn {
    /// Its number among the columns of the provider.
    pub ordinal: usize,
    /// Its type.
    pub ty: SqlType,
}

/// Some rows, as columns.
#[derive(Clone, PartialEq, Debug)]
pub struct RowBatch {
    /// Number of rows.
    pub rows: usize,
    /// The requested columns.
    pub columns: Vec<Vector>,
}

impl RowBatch {
    /// Without rows yet.
    pub fn empty(columns: &[RequestedColumn]) -> RowBatch {
        let columns = columns.iter().map(|column| Vector::computed(column.ty)).collect();
        RowBatch { rows: 0, columns }
    }
}

/// Rows that are in memory, with the values of all columns.
pub struct KeptRows {
    rows: Arc<[Vec<Datum<'static>>]>,
    /// How many of them were given.
    given: usize,
    columns: Vec<RequestedColumn>,
}

impl KeptRows {
    /// The rows, of which these columns are given.
    pub fn new(
        rows: impl Into<Arc<[Vec<Datum<'static>>]>>,
        columns: &[RequestedColumn],
    ) -> KeptRows {
        KeptRows { rows: rows.into(), given: 0, columns: columns.to_vec() }
    }
}

impl RowStream for KeptRows {
    fn next(&mut self) -> Result<Option<RowBatch>, String> {
        let mut batch = RowBatch::empty(&self.columns);
        let mut bytes = Vec::new();
        for row in self.rows.iter().skip(self.given).take(BATCH_ROWS) {
            for (vector, column) in batch.columns.iter_mut().zip(&self.columns) {
                push_value(vector, row.get(column.ordinal).unwrap_or(&Datum::Null), &mut bytes)?;
            }
            batch.rows += 1;
        }
        self.given += batch.rows;
        Ok((batch.rows > 0).then_some(batch))
    }
}

/// Appends a value to a column; `bytes` is room for its stored form.
///
/// # Errors
/// It is none of the column's type.
pub fn push_value(
    column: &mut Vector,
    value: &Datum<'_>,
    bytes: &mut Vec<u8>,
) -> Result<(), String> {
    if column.push_plain(value) {
        return Ok(());
    }
    bytes.clear();
    let pushed = if value.is_null() {
        column.push_stored(None)
    } else {
        value.encode(&column.ty, bytes).map_err(|error| error.to_string())?;
        column.push_stored(Some(bytes))
    };
    pushed.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_rows_are_given_in_batches_of_the_requested_columns() {
        let row = |number: i32| vec![Datum::Int(number), Datum::Null, Datum::BigInt(7)];
        let columns = [
            RequestedColumn { ordinal: 2, ty: SqlType::BigInt },
            RequestedColumn { ordinal: 0, ty: SqlType::Int },
        ];
        let count = BATCH_ROWS as i32 + 1;
        let mut stream = KeptRows::new((0..count).map(row).collect::<Vec<_>>(), &columns);
        let first = stream.next().unwrap().unwrap();
        assert_eq!((first.rows, first.columns.len()), (BATCH_ROWS, 2));
        let last = stream.next().unwrap().unwrap();
        let mut stored = Vec::new();
        last.columns[1].stored_bytes(0, &mut stored);
        assert_eq!((last.rows, stored), (1, (count - 1).to_le_bytes().to_vec()));
        assert_eq!(stream.next().unwrap(), None);
    }
}
