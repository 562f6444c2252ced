//! Tables of files as providers of rows.
//!
//! A scan of the reader borrows the files; so it runs on a thread of its own, which shares them,
//! and hands over batches through a bounded channel. It ends when nobody takes them any more.
//!
//! Invariant: what a scan lost is noted when the rows after it are taken, not when they are read
//! ahead: equal queries lose equal rows.

use extentdb_base::sync::{Arc, mpsc, thread};
use extentdb_base::{ObjectId, Rid};
use extentdb_bind::provider::{RequestedColumn, RowBatch, RowProvider, RowStream};
use extentdb_catalog::{Fault, Table};
use extentdb_reader::{CheckedPages, Row, ScanError, TableScan, Value, stored_columns};
use extentdb_types::{Datum, SqlType};

use super::files::{Files, TableLosses};

/// Rows of a batch, at most.
const BATCH_ROWS: usize = 1024;
/// A batch whose values take more bytes than this is not filled up.
const BATCH_BYTES: usize = 1 << 20;
/// Batches that wait to be taken.
const BATCHES_AHEAD: usize = 2;
/// The longest value that is taken; in memory it has to be whole.
const VALUE_BYTES_MAX: usize = 64 << 20;

type Sent = Result<Piece, String>;

/// A part of a scan.
struct Piece {
    /// The rows; `None` at the end.
    batch: Option<RowBatch>,
    /// What could not be read so far.
    losses: TableLosses,
}

/// The rows of a table.
pub(super) struct TableRows {
    files: Arc<Files>,
    table: ObjectId,
    /// For each column of the provider, its id in the table.
    columns: Vec<i32>,
    lost: Lost,
}

/// What becomes of rows that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// They are left out, and noted.
    Noted,
    /// They end the query.
    Refused,
}

impl TableRows {
    pub(super) fn new(
        files: &Arc<Files>,
        table: &Table,
        columns: Vec<i32>,
        lost: Lost,
    ) -> TableRows {
        TableRows { files: files.clone(), table: table.id, columns, lost }
    }
}

impl RowProvider for TableRows {
    fn open(&self, columns: &[RequestedColumn]) -> Result<Box<dyn RowStream>, String> {
        let (sender, receiver) = mpsc::sync_channel(BATCHES_AHEAD);
        let wanted = |column: &RequestedColumn| {
            let id = self.columns.get(column.ordinal).copied()?;
            Some((id, *column))
        };
        let work = Work {
            files: self.files.clone(),
            table: self.table,
            columns: columns.iter().filter_map(wanted).collect(),
        };
        let thread = thread::Builder::new().name("scan".to_owned());
        let begun = thread.spawn(move || work.run(&sender));
        begun.map_err(|error| format!("a thread for a scan: {error}"))?;
        let files = self.files.clone();
        Ok(Box::new(Batches { files, table: self.table, receiver, lost: self.lost }))
    }

    fn row_estimate(&self) -> f64 {
        let catalog = self.files.catalog();
        let table = catalog.tables.get(&self.table);
        table.map_or(1.0, |table| catalog.row_count(table).max(1) as f64)
    }
}

/// What the thread has read.
struct Batches {
    files: Arc<Files>,
    table: ObjectId,
    receiver: mpsc::Receiver<Sent>,
    lost: Lost,
}

impl RowStream for Batches {
    fn next(&mut self) -> Result<Option<RowBatch>, String> {
        let Some(piece) = self.receiver.recv().ok().transpose()? else { return Ok(None) };
        if self.lost == Lost::Refused
            && let Some(part) = piece.losses.parts.first()
        {
            return Err(format!("{}: {}", piece.losses.table, part.why));
        }
        self.files.note(self.table, piece.losses);
        Ok(piece.batch)
    }
}

/// A scan, on its thread.
struct Work {
    files: Arc<Files>,
    table: ObjectId,
    /// Ids of columns in the table.
    columns: Vec<(i32, RequestedColumn)>,
}

/// A column of the batches.
struct ReadColumn {
    /// Position among the columns of the scan.
    position: usize,
    ty: SqlType,
    /// Stored form of the value at hand; `None` for NULL.
    value: Option<Vec<u8>>,
}

/// Why a row is not in a batch.
enum RowStop {
    /// It cannot be read.
    Fault(Fault),
    /// A value is too long for a query.
    TooLong,
}

impl From<Fault> for RowStop {
    fn from(fault: Fault) -> RowStop {
        RowStop::Fault(fault)
    }
}

impl Work {
    fn run(&self, sender: &mpsc::SyncSender<Sent>) {
        let done = self.scan(sender);
        if let Err(why) = done {
            // Who does not take the rows does not want to know why there are none, either.
            let _ = sender.send(Err(why));
        }
    }

    fn scan(&self, sender: &mpsc::SyncSender<Sent>) -> Result<(), String> {
        let catalog = self.files.catalog();
        let Some(table) = catalog.tables.get(&self.table) else {
            return Err("a table that the catalog has lost".to_owned());
        };
        let pages = CheckedPages::new(self.files.database.source());
        let refused = |error: ScanError| error.to_string().replace("not supported: ", "");
        let mut scan = TableScan::new(&pages, catalog, table).map_err(refused)?;
        let losses = self.batches(table, &mut scan, sender)?;
        let _ = sender.send(Ok(Piece { batch: None, losses }));
        Ok(())
    }

    fn batches(
        &self,
        table: &Table,
        scan: &mut TableScan<'_>,
        sender: &mpsc::SyncSender<Sent>,
    ) -> Result<TableLosses, String> {
        let mut losses = TableLosses::of(table.full_name());
        let mut columns = self.read_columns(table)?;
        let requested: Vec<RequestedColumn> = self.columns.iter().map(|(_, it)| *it).collect();
        let mut batch = RowBatch::empty(&requested);
        let mut bytes = 0;
        while let Some(row) = scan.next_row() {
            let row = match row {
                Ok(row) => row,
                Err(fault) => {
                    losses.add(&fault, None);
                    continue;
                }
            };
            match read_row(&row, &mut columns) {
                Ok(read) => bytes += read,
                Err(RowStop::Fault(fault)) => {
                    losses.add(&fault, Some(row.rid));
                    continue;
                }
                Err(RowStop::TooLong) => {
                    return Err(format!("a value of more than 64 MiB in {}", table.full_name()));
                }
            }
            append(&columns, &mut batch)?;
            if batch.rows < BATCH_ROWS && bytes < BATCH_BYTES {
                continue;
            }
            losses.absent_pages = scan.absent_pages();
            let full = std::mem::replace(&mut batch, RowBatch::empty(&requested));
            let piece = Piece { batch: Some(full), losses: losses.clone() };
            if sender.send(Ok(piece)).is_err() {
                return Ok(losses);
            }
            bytes = 0;
        }
        losses.absent_pages = scan.absent_pages();
        if batch.rows > 0 {
            let _ = sender.send(Ok(Piece { batch: Some(batch), losses: losses.clone() }));
        }
        Ok(losses)
    }

    fn read_columns(&self, table: &Table) -> Result<Vec<ReadColumn>, String> {
        let stored = stored_columns(table);
        let read = |(id, column): &(i32, RequestedColumn)| {
            let position = stored.iter().position(|stored| stored.id == *id);
            let position = position.ok_or_else(|| {
                let name = table.column(*id).map_or("?", |column| &column.name);
                format!("column {name} of {}, which is computed and not stored", table.full_name())
            })?;
            Ok(ReadColumn { position, ty: column.ty, value: None })
        };
        self.columns.iter().map(read).collect()
    }
}

/// Reads the values of a row, all of them or none; the number of bytes.
fn read_row(row: &Row<'_>, columns: &mut [ReadColumn]) -> Result<usize, RowStop> {
    let mut bytes = 0;
    for column in columns {
        let mut room = column.value.take().unwrap_or_default();
        room.clear();
        match row.value(column.position)? {
            Value::Datum(Datum::Null) => continue,
            Value::Datum(datum) => {
                let fault = |error| value_fault(row.rid, &format!("{error}"));
                datum.encode(&column.ty, &mut room).map_err(fault)?;
            }
            Value::Lob(mut value) => {
                while value.reader.read_chunk(&mut room)? {
                    if room.len() > VALUE_BYTES_MAX {
                        return Err(RowStop::TooLong);
                    }
                }
            }
        }
        let expected = column.ty.fixed_bytes().filter(|_| !column.ty.is_bit());
        if expected.is_some_and(|expected| expected != room.len()) {
            return Err(value_fault(row.rid, "it has another length than its type").into());
        }
        bytes += room.len();
        column.value = Some(room);
    }
    Ok(bytes)
}

fn value_fault(rid: Rid, why: &str) -> Fault {
    Fault::Lob { rid, what: format!("a value for a query: {why}") }
}

fn append(columns: &[ReadColumn], batch: &mut RowBatch) -> Result<(), String> {
    for (column, vector) in columns.iter().zip(&mut batch.columns) {
        let pushed = vector.push_stored(column.value.as_deref());
        pushed.map_err(|error| error.to_string())?;
    }
    batch.rows += 1;
    Ok(())
}
