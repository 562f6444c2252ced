//! Bulk load: INSERT BULK, then the rows in a message of their own.

use std::ops::ControlFlow;

use extentdb_tds::Column;
use extentdb_tds::column::ColumnSource;
use extentdb_tds::packet::{PacketKind, PacketWriter};
use extentdb_tds::token::{Done, DoneKind, DoneStatus, col_metadata, command, row};
use extentdb_tds::type_info::Nullability;
use extentdb_types::{Datum, SqlType};

use crate::call::keep_first_error;
use crate::connection::{Connection, Event};
use crate::error::Error;

/// Packets are sent when there are as many bytes of them.
const SEND_BYTES: usize = 128 << 10;

/// A column of the rows that are loaded.
#[derive(Clone, Debug)]
pub struct BulkColumn {
    /// Its name.
    pub name: String,
    /// Its type on the wire.
    pub ty: SqlType,
    /// May it be NULL?
    pub is_nullable: bool,
}

/// Takes the rows of a bulk load.
pub struct BulkRows<'c> {
    connection: &'c mut Connection,
    packets: PacketWriter,
    columns: Vec<Column>,
}

impl BulkRows<'_> {
    /// Sends a row.
    ///
    /// # Errors
    /// The connection is broken, or a value does not fit its column.
    pub fn row(&mut self, values: &[Datum<'_>]) -> Result<(), Error> {
        row::write(&self.columns, values, self.packets.body())?;
        self.packets.seal();
        if self.packets.ready().len() < SEND_BYTES {
            return Ok(());
        }
        self.connection.send_packets(&mut self.packets)
    }
}

impl Connection {
    /// Loads rows by `statement`, an INSERT BULK with these columns; how many were loaded.
    ///
    /// # Errors
    /// The connection is broken, the server refuses the statement or a row, or `rows` fails.
    pub fn bulk_load(
        &mut self,
        statement: &str,
        columns: &[BulkColumn],
        rows: impl FnOnce(&mut BulkRows<'_>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        self.verified_batch(statement)?;
        let protocol = self.protocol();
        let of = |column: &BulkColumn| {
            let nullability =
                if column.is_nullable { Nullability::Nullable } else { Nullability::NotNull };
            Column::of(&column.name, column.ty, nullability, &protocol)
        };
        let columns: Vec<Column> = columns.iter().map(of).collect();
        let mut packets = self.packets();
        packets.begin(PacketKind::BulkLoad, 0);
        let source = ColumnSource::BulkLoad;
        col_metadata::write(&columns, protocol.version(), source, packets.body())?;
        let mut load = BulkRows { connection: self, packets, columns };
        let given = rows(&mut load);
        let mut packets = load.packets;
        if given.is_err() {
            packets.end_ignored();
        } else {
            let end = Done {
                kind: DoneKind::Statement,
                status: DoneStatus::FINAL,
                command: command::NONE,
                rows: 0,
            };
            end.write(protocol.version(), packets.body());
            packets.end();
        }
        self.send_packets(&mut packets)?;
        given?;
        self.counted_answer()
    }

    /// Runs a batch whose errors end it.
    ///
    /// # Errors
    /// The connection is broken, or the server reports an error: the first one.
    pub fn verified_batch(&mut self, text: &str) -> Result<(), Error> {
        let mut refused = None;
        self.batch(text, &mut |event| {
            if let Event::Message(message) = event {
                keep_first_error(message, &mut refused);
            }
            ControlFlow::Continue(())
        })?;
        refused.map_or(Ok(()), |message| Err(Error::Refused(message)))
    }

    fn counted_answer(&mut self) -> Result<u64, Error> {
        let mut refused = None;
        let mut count = 0;
        self.answer(&mut |event| {
            match event {
                Event::Message(message) => keep_first_error(message, &mut refused),
                Event::Done(rows) => count += rows.unwrap_or(0),
                _ => {}
            }
            ControlFlow::Continue(())
        })?;
        refused.map_or(Ok(count), |message| Err(Error::Refused(message)))
    }
}
