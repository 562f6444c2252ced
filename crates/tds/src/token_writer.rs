//! What a server writes: tokens into packets.
//!
//! ```text
//! begin ─▶ columns ─▶ row ─▶ row ─▶ … ─▶ done ─▶ end
//!                      │
//!                      └─ ready().len() > what the caller wants in memory: send, consume
//! ```
//!
//! Invariants
//! - The writer remembers version, packet size and the bytes that were not sent; nothing about
//!   results. The order of tokens is the caller's.
//! - A token that cannot be written leaves no bytes.
//! - A row's bytes are written where they are sent from.

use extentdb_types::{Datum, SqlType};

use crate::column::{Column, ColumnSource};
use crate::error::EncodeError;
use crate::login::Feature;
use crate::packet::{PacketKind, PacketWriter};
use crate::token::{
    ColumnInfo, Done, EnvChange, FedAuthInfo, LoginAck, ReturnValue, ServerMessage, SessionState,
    col_info, col_metadata, feature_ext_ack, fed_auth_info, nbc_row, order, return_status, row,
    sspi, tab_name,
};
use crate::type_info::Place;
use crate::value::{write_plp_chunk, write_plp_end, write_plp_start, write_value};
use crate::version::TdsVersion;

/// Writes responses.
#[derive(Debug)]
pub struct TokenWriter {
    packets: PacketWriter,
    version: TdsVersion,
}

impl TokenWriter {
    /// A writer for a session of `version`.
    #[must_use]
    pub fn new(version: TdsVersion, packets: PacketWriter) -> TokenWriter {
        TokenWriter { packets, version }
    }

    /// The version.
    #[must_use]
    pub fn version(&self) -> TdsVersion {
        self.version
    }

    /// Begins a response.
    pub fn begin(&mut self) {
        self.packets.begin(PacketKind::TabularResult, 0);
    }

    /// Ends the response.
    pub fn end(&mut self) {
        self.packets.end();
    }

    /// Makes all that is written so far ready to be sent, in a packet that is not full.
    pub fn flush(&mut self) {
        self.packets.flush();
    }

    /// Complete packets, to be sent.
    #[must_use]
    pub fn ready(&self) -> &[u8] {
        self.packets.ready()
    }

    /// Removes what was sent from [`TokenWriter::ready`].
    pub fn consume(&mut self, bytes: usize) {
        self.packets.consume(bytes);
    }

    /// Sets the packet size, between responses.
    pub fn set_packet_bytes(&mut self, packet_bytes: u16) {
        self.packets.set_packet_bytes(packet_bytes);
    }

    /// The packets.
    pub fn packets(&mut self) -> &mut PacketWriter {
        &mut self.packets
    }

    /// Appends a token and completes full packets.
    #[inline]
    fn add<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let result = write(self.packets.body());
        self.packets.seal();
        result
    }

    /// COLMETADATA.
    pub fn columns(&mut self, columns: &[Column]) -> Result<(), EncodeError> {
        let version = self.version;
        self.add(|out| col_metadata::write(columns, version, ColumnSource::Result, out))
    }

    /// COLMETADATA without columns.
    pub fn columns_as_before(&mut self) {
        self.add(col_metadata::write_none);
    }

    /// ROW.
    #[inline]
    pub fn row(&mut self, columns: &[Column], values: &[Datum<'_>]) -> Result<(), EncodeError> {
        self.add(|out| row::write(columns, values, out))
    }

    /// ROW from values as rows and expressions hold them; `None` = NULL.
    #[inline]
    pub fn row_from_stored(
        &mut self,
        columns: &[Column],
        types: &[SqlType],
        values: &[Option<&[u8]>],
    ) -> Result<(), EncodeError> {
        self.add(|out| row::write_from_stored(columns, types, values, out))
    }

    /// NBCROW; for versions before 7.3.B a ROW.
    pub fn nbc_row(&mut self, columns: &[Column], values: &[Datum<'_>]) -> Result<(), EncodeError> {
        if !self.version.has_nbc_row() {
            return self.row(columns, values);
        }
        self.add(|out| nbc_row::write(columns, values, out))
    }

    /// Begins a ROW whose values are written one by one: [`TokenWriter::cell`] or the chunks of a
    /// large value, for each column.
    pub fn begin_row(&mut self) {
        self.add(|out| out.push(row::TOKEN));
    }

    /// The next value of the row. After an error the row is not complete: the response can only be
    /// cut off.
    pub fn cell(&mut self, column: &Column, value: &Datum<'_>) -> Result<(), EncodeError> {
        self.add(|out| write_value(&column.type_info, Place::Column, value, out))
    }

    /// Begins a value of a column whose type [is sent in chunks](crate::TypeInfo::is_plp); `None`
    /// when its length is not known.
    pub fn begin_chunks(&mut self, bytes: Option<u64>) {
        self.add(|out| write_plp_start(bytes, out));
    }

    /// A chunk of the value. The caller can send what is ready between chunks.
    pub fn chunk(&mut self, bytes: &[u8]) {
        self.add(|out| write_plp_chunk(bytes, out));
    }

    /// Ends the value.
    pub fn end_chunks(&mut self) {
        self.add(write_plp_end);
    }

    /// DONE, DONEPROC or DONEINPROC.
    pub fn done(&mut self, done: Done) {
        let version = self.version;
        self.add(|out| done.write(version, out));
    }

    /// ERROR or INFO.
    pub fn message(&mut self, message: &ServerMessage) {
        let version = self.version;
        self.add(|out| message.write(version, out));
    }

    /// ENVCHANGE.
    pub fn env_change(&mut self, change: &EnvChange) -> Result<(), EncodeError> {
        self.add(|out| change.write(out))
    }

    /// LOGINACK.
    pub fn login_ack(&mut self, ack: &LoginAck) -> Result<(), EncodeError> {
        self.add(|out| ack.write(out))
    }

    /// RETURNSTATUS.
    pub fn return_status(&mut self, status: i32) {
        self.add(|out| return_status::write(status, out));
    }

    /// RETURNVALUE.
    pub fn return_value(&mut self, value: &ReturnValue<'_>) -> Result<(), EncodeError> {
        let version = self.version;
        self.add(|out| value.write(version, out))
    }

    /// ORDER.
    pub fn order(&mut self, ordinals: &[u16]) -> Result<(), EncodeError> {
        self.add(|out| order::write(ordinals, out))
    }

    /// TABNAME.
    pub fn table_names(&mut self, tables: &[Vec<String>]) -> Result<(), EncodeError> {
        self.add(|out| tab_name::write(tables, out))
    }

    /// COLINFO.
    pub fn column_info(&mut self, columns: &[ColumnInfo]) -> Result<(), EncodeError> {
        self.add(|out| col_info::write(columns, out))
    }

    /// FEATUREEXTACK.
    pub fn features(&mut self, features: &[Feature]) {
        self.add(|out| feature_ext_ack::write(features, out));
    }

    /// SESSIONSTATE.
    pub fn session_state(&mut self, state: &SessionState) {
        self.add(|out| state.write(out));
    }

    /// FEDAUTHINFO.
    pub fn fed_auth_info(&mut self, pieces: &[FedAuthInfo]) {
        self.add(|out| fed_auth_info::write(pieces, out));
    }

    /// SSPI.
    pub fn sspi(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.add(|out| sspi::write(bytes, out))
    }
}
