//! The rows of a bulk load, as they arrive.
//!
//! ```text
//! BulkLoad packets ─▶ MessageReader ─▶ BulkDecoder ─▶ vectors of a batch ─▶ the load
//!                     the load pulls them while it runs
//! ```
//!
//! Invariants
//! - The thread that loads reads the connection: nobody watches it until the last part is here.
//! - What the load does not take is read and dropped before the response: the next message begins
//!   after it.
//! - Memory holds a part of the rows, however many there are.

use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_engine::Vector;
use extentdb_session::{BulkRows, RequestedColumn, RowBatch, RowProvider, RowStream, push_value};
use extentdb_tds::packet::Reset;
use extentdb_tds::request::{BulkDecoder, BulkEvent};
use extentdb_tds::value::RawValue;
use extentdb_tds::{Column, DecodeError, Protocol, RowValue, RowView};
use extentdb_types::{Collation, SqlType};

use crate::arguments::{Refused, of_any_length};
use crate::channel::Channel;
use crate::reader::{MessageReader, Part};
use crate::stream::Wait;

/// Bytes of a row of a bulk load at most.
const ROW_BYTES_MAX: usize = 64 << 20;
/// Rows of a batch at most.
const BATCH_ROWS: usize = 4096;

/// The beginning of a bulk load.
pub(crate) struct FirstPart {
    pub(crate) bytes: Vec<u8>,
    pub(crate) reset: Reset,
    pub(crate) is_last: bool,
}

/// Why rows stop before their end.
pub(crate) enum Fault {
    Malformed(DecodeError),
    /// The client gave up while it sent.
    Ignored,
    /// The connection is gone, or somebody has ended the request.
    Ended,
}

/// A bulk load that arrives.
pub(crate) struct Arriving {
    channel: Arc<Channel>,
    /// `None` when all parts are here.
    reader: Option<MessageReader>,
    decoder: BulkDecoder,
    collation: Collation,
    /// Nobody wants the rows any more.
    is_dropped: bool,
    fault: Option<Fault>,
}

/// Where the load lies while its rows are not read.
pub(crate) type Place = Arc<Mutex<Option<Arriving>>>;

impl Arriving {
    /// Begins to take a load.
    pub(crate) fn new(
        channel: Arc<Channel>,
        reader: MessageReader,
        first: &FirstPart,
        protocol: Protocol,
    ) -> Arriving {
        let mut decoder = BulkDecoder::new(protocol, ROW_BYTES_MAX);
        decoder.push(&first.bytes);
        let mut load = Arriving {
            channel,
            reader: Some(reader),
            decoder,
            collation: protocol.collation(),
            is_dropped: false,
            fault: None,
        };
        if first.is_last {
            load.complete();
        }
        load
    }

    /// Its columns, and its rows. A client that sends no rows has no columns either.
    pub(crate) fn begin(mut self, place: &Place) -> Result<BulkRows, Refused> {
        let columns = self.columns();
        *lock(place) = Some(self);
        Ok(BulkRows { columns: columns?, rows: Arc::new(Rows(place.clone())) })
    }

    fn columns(&mut self) -> Result<Vec<(String, SqlType)>, Refused> {
        loop {
            match self.decoder.next_event()? {
                Some(BulkEvent::Columns(all)) => {
                    let collation = self.collation;
                    return all.iter().map(|column| known_column(column, collation)).collect();
                }
                Some(_) => return Ok(Vec::new()),
                None => {}
            }
            if !self.pull() {
                return Ok(Vec::new());
            }
        }
    }

    /// Waits for the next part; false when there is none.
    fn pull(&mut self) -> bool {
        while let Some(reader) = &mut self.reader
            && self.fault.is_none()
        {
            let (decoder, is_dropped) = (&mut self.decoder, self.is_dropped);
            let part = reader.take_part(&self.channel.stream, Wait::Moment, &mut |part| {
                if !is_dropped {
                    decoder.push(part);
                }
            });
            match part {
                Ok(Part::Some) => return true,
                Ok(Part::Last) => {
                    self.complete();
                    return true;
                }
                Ok(Part::Ignored) => {
                    self.complete();
                    self.fault = Some(Fault::Ignored);
                }
                Ok(Part::NotYet) if !self.channel.must_stop(!is_dropped) => {}
                Ok(Part::NotYet | Part::End) | Err(_) => self.fault = Some(Fault::Ended),
            }
        }
        false
    }

    /// All parts are here: from now on others read the connection.
    fn complete(&mut self) {
        self.decoder.end();
        if let Some(reader) = self.reader.take() {
            self.channel.lend(reader);
        }
    }

    /// The next rows; `None` at their end, or at a fault.
    fn rows(&mut self, columns: &[RequestedColumn]) -> Result<Option<RowBatch>, String> {
        let mut batch = RowBatch::empty(columns);
        let places = places_by_ordinal(columns);
        let mut bytes = Vec::new();
        while batch.rows < BATCH_ROWS && self.fault.is_none() {
            let taken = match self.decoder.next_event() {
                Ok(Some(BulkEvent::Row(row))) => push_row(&mut batch, &places, &row, &mut bytes)?,
                Ok(Some(BulkEvent::Columns(_))) => Ok(()),
                Ok(Some(BulkEvent::Done)) => break,
                Ok(None) => {
                    if !self.pull() {
                        break;
                    }
                    Ok(())
                }
                Err(error) => Err(error),
            };
            self.fault = taken.err().map(Fault::Malformed);
        }
        Ok((batch.rows > 0).then_some(batch))
    }

    /// Reads and drops what is left of the message; says why its rows have stopped.
    pub(crate) fn finish(mut self) -> Option<Fault> {
        let mut first = self.fault.take();
        self.is_dropped = true;
        while self.pull() {}
        if let Some(reader) = self.reader.take() {
            // Nothing more comes, or nobody waits for it.
            self.channel.lend(reader);
        }
        if matches!(self.fault, Some(Fault::Ended)) {
            first = self.fault;
        }
        first
    }
}

fn known_column(column: &Column, collation: Collation) -> Result<(String, SqlType), Refused> {
    let ty = column.type_info.to_sql_type(collation);
    let ty = ty.ok_or(Refused::NotSupported("a type in a bulk load"))?;
    Ok((column.name.to_string(), of_any_length(ty)))
}

/// Ordinals of the message and the columns of a batch that get their values, in the order of the
/// message.
fn places_by_ordinal(columns: &[RequestedColumn]) -> Vec<(usize, usize)> {
    let mut places: Vec<(usize, usize)> =
        columns.iter().enumerate().map(|(place, column)| (column.ordinal, place)).collect();
    places.sort_unstable();
    places
}

/// Appends a row; the inner error is one of its bytes.
fn push_row(
    batch: &mut RowBatch,
    places: &[(usize, usize)],
    row: &RowView<'_>,
    bytes: &mut Vec<u8>,
) -> Result<Result<(), DecodeError>, String> {
    let mut places = places.iter().peekable();
    for (ordinal, value) in row.values().enumerate() {
        let value = match value {
            Ok(value) => value,
            Err(error) => return Ok(Err(error)),
        };
        while let Some((_, place)) = places.next_if(|(wanted, _)| *wanted == ordinal) {
            if let Some(vector) = batch.columns.get_mut(*place)
                && let Err(error) = push(vector, &value, bytes)?
            {
                return Ok(Err(error));
            }
        }
    }
    batch.rows += 1;
    Ok(Ok(()))
}

/// Appends a value, by its bytes where these are the stored ones.
fn push(
    vector: &mut Vector,
    value: &RowValue<'_>,
    bytes: &mut Vec<u8>,
) -> Result<Result<(), DecodeError>, String> {
    if let RawValue::Bytes(raw) = value.raw
        && value.column.type_info.is_as_stored()
        && vector.push_plain_bytes(raw)
    {
        return Ok(Ok(()));
    }
    match value.decode() {
        Ok(value) => push_value(vector, &value, bytes).map(Ok),
        Err(error) => Ok(Err(error)),
    }
}

/// The rows of a load that lies at its place.
struct Rows(Place);

/// The rows of a load on their way.
struct RowsOnTheirWay {
    place: Place,
    load: Option<Arriving>,
    columns: Vec<RequestedColumn>,
}

impl RowProvider for Rows {
    fn open(&self, columns: &[RequestedColumn]) -> Result<Box<dyn RowStream>, String> {
        let load = lock(&self.0).take();
        if load.is_none() {
            return Err("the rows of a bulk load twice".to_owned());
        }
        Ok(Box::new(RowsOnTheirWay { place: self.0.clone(), load, columns: columns.to_vec() }))
    }
}

impl RowStream for RowsOnTheirWay {
    fn next(&mut self) -> Result<Option<RowBatch>, String> {
        let Some(load) = &mut self.load else { return Ok(None) };
        let batch = load.rows(&self.columns)?;
        if load.fault.is_some() {
            // The load ends without a word of its own.
            load.channel.interrupt();
            return Err("rows that have not arrived".to_owned());
        }
        Ok(batch)
    }
}

impl Drop for RowsOnTheirWay {
    fn drop(&mut self) {
        *lock(&self.place) = self.load.take();
    }
}
