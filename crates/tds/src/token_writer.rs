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
use crate::value::{write_large_end, write_large_part, write_large_start, write_value};
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

    /// Sets the version: when LOGIN7 has said it, before the login is answered.
    pub fn set_version(&mut self, version: TdsVersion) {
        self.version = version;
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

    /// Begins a ROW whose values are written one by one: [`TokenWriter::cell`] or
    /// [`TokenWriter::begin_large`] for each column.
    pub fn begin_row(&mut self) {
        self.add(|out| out.push(row::TOKEN));
    }

    /// The next value of the row. After an error the row is not complete: the response can only be
    /// cut off.
    pub fn cell(&mut self, column: &Column, value: &Datum<'_>) -> Result<(), EncodeError> {
        self.add(|out| write_value(&column.type_info, Place::Column, value, out))
    }

    /// Begins a large value of a row, which is written in parts: of a (max) type, xml, a CLR type,
    /// or text, ntext and image. `bytes` is its length; only the types that
    /// [are sent in chunks](crate::TypeInfo::is_plp) do without.
    pub fn begin_large(&mut self, column: &Column, bytes: Option<u64>) -> Result<(), EncodeError> {
        self.add(|out| write_large_start(&column.type_info, bytes, out))
    }

    /// A part of the large value. The caller can send what is ready between parts.
    pub fn large_part(&mut self, column: &Column, bytes: &[u8]) {
        self.add(|out| write_large_part(&column.type_info, bytes, out));
    }

    /// Ends the large value. The parts of a value whose length was said must add up to it.
    pub fn end_large(&mut self, column: &Column) {
        self.add(|out| write_large_end(&column.type_info, out));
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

#[cfg(test)]
mod tests {
    use extentdb_types::{Collation, NText};

    use super::*;
    use crate::packet::{BulkDelivery, Event, Limits, MessageDecoder};
    use crate::token::{DoneKind, DoneStatus, Token, TokenDecoder};
    use crate::type_info::Nullability;
    use crate::{Protocol, TypeInfo};

    const LATIN1: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
    const SEND_BYTES: usize = 4096;

    fn columns(version: TdsVersion) -> [Column; 2] {
        let protocol = Protocol::new(version, LATIN1);
        let column = |ty| Column::new("c", TypeInfo::of(ty, Nullability::Nullable, &protocol));
        [column(SqlType::NVarChar { len: None, collation: LATIN1 }), column(SqlType::Int)]
    }

    /// Sends what is ready once it is more than the caller wants in memory.
    fn send(writer: &mut TokenWriter, sent: &mut Vec<u8>) {
        if writer.ready().len() >= SEND_BYTES {
            sent.extend_from_slice(writer.ready());
            writer.consume(writer.ready().len());
        }
    }

    #[test]
    fn a_value_larger_than_the_memory_of_the_writer_is_sent_in_parts() {
        let text = NText::from_text(&"0123456789".repeat(10_000));
        for (version, length) in [
            (TdsVersion::V7_4, None),
            (TdsVersion::V7_4, Some(text.bytes.len() as u64)),
            (TdsVersion::V7_1, Some(text.bytes.len() as u64)),
        ] {
            let columns = columns(version);
            let mut writer = TokenWriter::new(version, PacketWriter::new(512, 51));
            let mut sent = Vec::new();
            writer.begin();
            writer.columns(&columns).unwrap();
            writer.begin_row();
            writer.begin_large(&columns[0], length).unwrap();
            for part in text.bytes.chunks(1001) {
                writer.large_part(&columns[0], part);
                send(&mut writer, &mut sent);
                assert!(writer.ready().len() < SEND_BYTES + 2048);
            }
            writer.end_large(&columns[0]);
            writer.cell(&columns[1], &Datum::Int(5)).unwrap();
            writer.end();
            sent.extend_from_slice(writer.ready());

            let limits = Limits { packet_bytes_max: 512, message_bytes_max: 1 << 20 };
            let mut messages = MessageDecoder::new(limits, BulkDelivery::Whole);
            let mut input = sent.as_slice();
            let Some(Event::Message(message)) = messages.decode(&mut input).unwrap() else {
                panic!()
            };
            let protocol = Protocol::new(version, LATIN1);
            let mut tokens = TokenDecoder::new(protocol, ColumnSource::Result, 1 << 20);
            tokens.push(&message.body);
            assert!(matches!(tokens.next_token(), Ok(Some(Token::Columns(_)))));
            let Ok(Some(Token::Row(row))) = tokens.next_token() else { panic!() };
            let expected = [Datum::NChar(text.clone()), Datum::Int(5)];
            assert_eq!(row.to_values().unwrap(), expected, "{version:?}");
        }
    }

    #[test]
    fn an_old_client_must_be_told_the_length_first() {
        let columns = columns(TdsVersion::V7_1);
        let mut writer = TokenWriter::new(TdsVersion::V7_1, PacketWriter::new(512, 51));
        writer.begin();
        let error = writer.begin_large(&columns[0], None).unwrap_err();
        assert_eq!(error, EncodeError::NotInVersion { what: "a value of unknown length" });
        let error = writer.begin_large(&columns[1], Some(4)).unwrap_err();
        assert!(matches!(error, EncodeError::TypeMismatch { .. }));
    }

    #[test]
    fn a_flush_makes_a_message_visible_before_the_statement_ends() {
        let mut writer = TokenWriter::new(TdsVersion::V7_4, PacketWriter::new(4096, 51));
        writer.begin();
        writer.return_status(0);
        assert!(writer.ready().is_empty());
        writer.flush();
        assert_eq!(writer.ready().len(), 8 + 5);
        assert_eq!(writer.ready()[1], 0, "the message goes on");
        writer.flush();
        assert_eq!(writer.ready().len(), 13, "nothing new, no packet");
        let kind = DoneKind::Statement;
        writer.done(Done { kind, status: DoneStatus::FINAL, command: 0, rows: 0 });
        writer.end();
        assert_eq!(writer.ready().len(), 13 + 8 + 13);
        assert_eq!(writer.ready()[14], 1);
    }
}
