//! Rows as Parquet.
//!
//! | SQL Server | Arrow | note |
//! | --- | --- | --- |
//! | bit | Boolean | |
//! | tinyint, smallint, int, bigint | UInt8, Int16, Int32, Int64 | |
//! | decimal, numeric | Decimal128(p, s) | |
//! | money, smallmoney | Decimal128(19, 4), Decimal128(10, 4) | |
//! | float, real | Float64, Float32 | |
//! | date | Date32 | |
//! | time | Time64: microseconds to scale 6, else nanoseconds | |
//! | datetime, smalldatetime | Timestamp of microseconds | 1/300 s rounded to ms as everywhere |
//! | datetime2 to scale 6 | Timestamp of microseconds | |
//! | datetimeoffset to scale 6 | the same in UTC, and `<name>_offset`: minutes, Int16 | |
//! | datetime2(7), datetimeoffset(7) | Utf8, ISO 8601 | `--timestamps us`: as to scale 6, lost digits counted |
//! | char and nchar types, uniqueidentifier, xml | Utf8 | unpaired surrogates as `--surrogates` says |
//! | binary types, rowversion, geometry, geography, other UDT | Binary | rowversion big-endian, UDTs as stored |
//! | hierarchyid | Utf8, the path | `0x…` where the bytes are none |
//! | sql_variant | Utf8, and `<name>_type`: the base type, Utf8 | |
//!
//! Every column may be NULL, whatever the catalog says: damaged files hold NULL in columns that
//! should not have it.
//!
//! Rows are gathered into batches and handed to the writer, which keeps one row group in memory; a
//! row group ends at a number of rows or bytes, so memory does not grow with the table. A single
//! value has to be whole: the longest that is taken is 64 MiB.

mod column;

use std::io;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use extentdb_base::sync::Arc;
use extentdb_catalog::Fault;
use extentdb_reader::Value;
use extentdb_types::{Datum, SqlType};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::counted::Counted;
use super::encode::WHOLE_BYTES_MAX;
use super::head::ColumnHead;
use super::outcome::Loss;
use super::select::OutputRow;
use super::sink::RowStop;
use super::style::Style;
use super::surrogate::{Settled, settle};
use super::table::{RowWriter, WrittenTable};
use crate::interrupt::Interrupt;
use column::ColumnBuilder;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;
/// A batch whose values take more than this is not filled up.
const BATCH_BYTES: usize = 16 << 20;
/// A row group ends here.
const GROUP_BYTES: usize = 64 << 20;

/// Writes the rows of one table.
pub(super) struct ParquetRows<'a> {
    columns: Vec<ParquetColumn>,
    schema: Arc<Schema>,
    writer: ArrowWriter<Counted<'a>>,
    interrupt: &'a Interrupt,
    rows: usize,
    bytes: usize,
    style: &'a Style,
}

struct ParquetColumn {
    name: String,
    builder: ColumnBuilder,
    loss: Loss,
}

impl<'a> ParquetRows<'a> {
    pub(super) fn new(
        style: &'a Style,
        selected: &[ColumnHead],
        interrupt: &'a Interrupt,
        out: Counted<'a>,
    ) -> anyhow::Result<Self> {
        let column = |column: &ColumnHead| {
            let name = column.name.clone();
            let Some(ty) = column.ty else {
                anyhow::bail!("not supported: column {name} has unknown type {}", column.xtype);
            };
            let builder = ColumnBuilder::new(ty, style.timestamps);
            Ok(ParquetColumn { name, builder, loss: Loss::default() })
        };
        let columns = selected.iter().map(column).collect::<anyhow::Result<Vec<_>>>()?;
        let fields = columns.iter().flat_map(fields);
        let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("extentdb {}", env!("CARGO_PKG_VERSION")))
            .build();
        let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties))?;
        Ok(ParquetRows { columns, schema, writer, interrupt, rows: 0, bytes: 0, style })
    }

    /// All values of a row, or none.
    fn values<'r>(&self, row: &'r OutputRow<'_, '_>) -> Result<Vec<Datum<'r>>, RowStop> {
        let mut values = Vec::with_capacity(self.columns.len());
        for position in 0..self.columns.len() {
            if self.interrupt.stopped().is_some() {
                return Err(RowStop::Interrupted);
            }
            values.push(match row.value(position)? {
                Value::Datum(datum) => datum,
                Value::Lob(value) => {
                    whole(value.ty, value.reader.read_to_vec(WHOLE_BYTES_MAX)?, row)?
                }
            });
        }
        Ok(values)
    }

    fn flush(&mut self) -> io::Result<()> {
        let arrays: Vec<ArrayRef> =
            self.columns.iter_mut().flat_map(|column| column.builder.finish()).collect();
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(self.rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options);
        self.writer.write(&batch.map_err(io::Error::other)?).map_err(io_error)?;
        if self.writer.in_progress_size() > GROUP_BYTES {
            self.writer.flush().map_err(io_error)?;
        }
        self.rows = 0;
        self.bytes = 0;
        Ok(())
    }
}

impl RowWriter for ParquetRows<'_> {
    fn write_row(&mut self, row: &OutputRow<'_, '_>, _number: u64) -> Result<(), RowStop> {
        let values = self.values(row)?;
        // All values of the row before any of them: a refused one leaves no trace.
        let settled: Vec<Settled<'_>> =
            values.iter().map(|value| settle(value, self.style)).collect::<Result<_, RowStop>>()?;
        for (column, value) in self.columns.iter_mut().zip(&settled) {
            let appended = column.builder.append(&value.datum);
            self.bytes += appended.bytes;
            column.loss.add(appended.loss);
            column.loss.add(Loss::characters(value.changed));
        }
        self.rows += 1;
        if self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _rows: u64, _is_complete: bool) -> io::Result<WrittenTable> {
        if self.rows > 0 {
            self.flush()?;
        }
        let losses = self.columns.iter().map(|column| column.loss).collect();
        let (bytes, sha256) = self.writer.into_inner().map_err(io_error)?.finish()?;
        Ok(WrittenTable { bytes, sha256, losses })
    }
}

fn fields(column: &ParquetColumn) -> Vec<Field> {
    let types = column.builder.types();
    types
        .into_iter()
        .map(|(suffix, ty)| Field::new(format!("{}{suffix}", column.name), ty, true))
        .collect()
}

/// A long value as a datum of its own.
fn whole(ty: SqlType, bytes: Vec<u8>, row: &OutputRow<'_, '_>) -> Result<Datum<'static>, Fault> {
    let lob = |source| Fault::Lob { rid: row.rid(), what: format!("{source}") };
    Datum::decode(&ty, &bytes).map(Datum::into_owned).map_err(lob)
}

/// Errors of the output keep their kind: a closed pipe is not told as a failure.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::other(source),
        },
        other => io::Error::other(other),
    }
}
