//! A stream of tokens as its bytes arrive: what a client does, and a server with a bulk load.
//!
//! Invariants
//! - A token is handed out once, when all of it has arrived; until then nothing of it is.
//! - Each byte of a row is passed once, however the bytes are cut.
//! - The buffer holds what has arrived and was not handed out, up to a limit.

use super::{
    ColumnInfo, Done, DoneKind, EnvChange, FedAuthInfo, LoginAck, MessageKind, ReturnValue,
    ServerMessage, SessionState, col_info, col_metadata, done, env_change, feature_ext_ack,
    fed_auth_info, login_ack, message, nbc_row, order, return_status, return_value, row,
    session_state, sspi, tab_name,
};
use crate::column::{Column, ColumnSource};
use crate::error::{Cause, DecodeError};
use crate::login::Feature;
use crate::protocol::Protocol;
use crate::reader::ByteReader;
use crate::row::{Absence, RowView, measured};
use crate::value::RowMeasure;

/// Tokens above this size are not tried again with each piece that arrives.
const EAGER_BYTES: usize = 256 * 1024;

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub enum Token<'a> {
    /// COLMETADATA.
    Columns(&'a [Column]),
    /// COLMETADATA without columns: those of the result before.
    ColumnsAsBefore(&'a [Column]),
    /// ROW or NBCROW.
    Row(RowView<'a>),
    /// DONE, DONEPROC or DONEINPROC.
    Done(Done),
    /// ERROR or INFO.
    Message(ServerMessage),
    /// ENVCHANGE.
    EnvChange(EnvChange),
    /// LOGINACK.
    LoginAck(LoginAck),
    /// RETURNSTATUS.
    ReturnStatus(i32),
    /// RETURNVALUE.
    ReturnValue(ReturnValue<'a>),
    /// ORDER: ordinals of columns.
    Order(Vec<u16>),
    /// TABNAME: names in their parts.
    TableNames(Vec<Vec<String>>),
    /// COLINFO.
    ColumnInfo(Vec<ColumnInfo>),
    /// FEATUREEXTACK.
    Features(Vec<Feature>),
    /// SESSIONSTATE.
    SessionState(SessionState),
    /// FEDAUTHINFO.
    FedAuthInfo(Vec<FedAuthInfo>),
    /// SSPI.
    Sspi(Vec<u8>),
}

/// Reads tokens from bytes that are pushed.
#[derive(Debug)]
pub struct TokenDecoder {
    protocol: Protocol,
    source: ColumnSource,
    buffer: Vec<u8>,
    /// Offset in the buffer of the next token.
    start: usize,
    /// Bytes dropped from the buffer so far.
    dropped: usize,
    token_bytes_max: usize,
    columns: Option<Vec<Column>>,
    /// The row at `start` as far as it is known.
    measure: Option<RowMeasure>,
    /// Bytes that a large token must have before it is tried again.
    retry_bytes: usize,
    is_at_end: bool,
}

impl TokenDecoder {
    /// A decoder at the beginning of a message. A token may have `token_bytes_max` bytes.
    #[must_use]
    pub fn new(protocol: Protocol, source: ColumnSource, token_bytes_max: usize) -> TokenDecoder {
        TokenDecoder {
            protocol,
            source,
            buffer: Vec::new(),
            start: 0,
            dropped: 0,
            token_bytes_max,
            columns: None,
            measure: None,
            retry_bytes: 0,
            is_at_end: false,
        }
    }

    /// Adds bytes of the message.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.dropped += self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Says that the message is complete: from now on a token that lacks bytes is an error.
    pub fn end(&mut self) {
        self.is_at_end = true;
        self.retry_bytes = 0;
    }

    /// The columns of the current result.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        self.columns.as_deref().unwrap_or(&[])
    }

    /// Offset of the next token from the beginning of the message.
    #[must_use]
    pub fn position(&self) -> usize {
        self.dropped + self.start
    }

    /// The first byte of the next token.
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.buffer.get(self.start).copied()
    }

    /// The next token; `None` when it has not arrived, or at the end. An error comes again with
    /// each further call.
    pub fn next_token(&mut self) -> Result<Option<Token<'_>>, DecodeError> {
        match self.peek() {
            None => Ok(None),
            Some(row::TOKEN) => self.next_row(0),
            Some(nbc_row::TOKEN) => self.next_row(nbc_row::bitmap_bytes(self.columns().len())),
            Some(col_metadata::TOKEN) => self.next_columns(),
            Some(token) => self.next_other(token),
        }
    }

    fn next_row(&mut self, bitmap: usize) -> Result<Option<Token<'_>>, DecodeError> {
        let at = self.position();
        let bytes = self.buffer.get(self.start..).unwrap_or(&[]);
        let no_columns = DecodeError { at, cause: Cause::NoColumns };
        let columns = self.columns.as_deref().ok_or(no_columns)?;
        let values_at = 1 + bitmap;
        let Some(bits) = bytes.get(1..values_at) else {
            return self.verify_waiting(1).map(|()| None);
        };
        let absence = if bitmap == 0 { Absence::None } else { Absence::Bitmap(bits) };
        let measure = self.measure.get_or_insert(RowMeasure::starting_at(values_at));
        let Some(end) = measure.advance(bytes, |column| measured(columns, absence, column)) else {
            return self.verify_waiting(1).map(|()| None);
        };
        self.measure = None;
        self.start += end;
        let values = bytes.get(values_at..end).unwrap_or(&[]);
        Ok(Some(Token::Row(RowView::new(columns, absence, values, at + values_at))))
    }

    fn next_columns(&mut self) -> Result<Option<Token<'_>>, DecodeError> {
        let Some(mut reader) = self.token_reader() else { return Ok(None) };
        match col_metadata::read(&mut reader, &self.protocol, self.source) {
            Ok(columns) => {
                let end = reader.position();
                self.pass(end);
                let is_new = columns.is_some();
                if is_new {
                    self.columns = columns;
                }
                let columns = self.columns.as_deref().unwrap_or(&[]);
                Ok(Some(if is_new {
                    Token::Columns(columns)
                } else {
                    Token::ColumnsAsBefore(columns)
                }))
            }
            Err(error) => self.wait(error).map(|()| None),
        }
    }

    fn next_other(&mut self, token: u8) -> Result<Option<Token<'_>>, DecodeError> {
        let arrived = self.buffer.len() - self.start;
        if arrived < self.retry_bytes {
            return Ok(None);
        }
        let base = self.dropped + self.start;
        let bytes = self.buffer.get(self.start..).unwrap_or(&[]);
        let mut reader = ByteReader::part(bytes, base);
        let _ = reader.u8();
        match read_other(token, &mut reader, &self.protocol) {
            Ok(token) => {
                self.start += reader.position() - base;
                self.retry_bytes = 0;
                Ok(Some(token))
            }
            Err(error) if error.is_incomplete() && !self.is_at_end => {
                self.verify_waiting(1)?;
                self.retry_bytes = retry_bytes(arrived);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// A reader past the first byte of the next token; `None` when it is too early to try again.
    fn token_reader(&self) -> Option<ByteReader<'_>> {
        let bytes = self.buffer.get(self.start..)?;
        if bytes.len() < self.retry_bytes {
            return None;
        }
        let mut reader = ByteReader::part(bytes, self.position());
        reader.u8().ok()?;
        Some(reader)
    }

    fn pass(&mut self, end: usize) {
        self.start = end - self.dropped;
        self.retry_bytes = 0;
    }

    /// After an error: more bytes may help.
    fn wait(&mut self, error: DecodeError) -> Result<(), DecodeError> {
        if !error.is_incomplete() || self.is_at_end {
            return Err(error);
        }
        self.verify_waiting(1)?;
        self.retry_bytes = retry_bytes(self.buffer.len() - self.start);
        Ok(())
    }

    /// A token that is not complete: more must be able to come, and it may not be too large.
    fn verify_waiting(&self, needed: usize) -> Result<(), DecodeError> {
        let at = self.position();
        if self.is_at_end {
            return Err(DecodeError { at, cause: Cause::Truncated { needed } });
        }
        let found = (self.buffer.len() - self.start) as u64;
        let max = self.token_bytes_max as u64;
        if found > max {
            return Err(DecodeError { at, cause: Cause::Limit { field: "token", found, max } });
        }
        Ok(())
    }
}

/// How many bytes a token that lacks some must have to be tried again. A large one waits for an
/// eighth more, so that its parts are not read over and over.
fn retry_bytes(arrived: usize) -> usize {
    if arrived < EAGER_BYTES { 0 } else { arrived + arrived / 8 }
}

fn read_other<'a>(
    token: u8,
    reader: &mut ByteReader<'a>,
    protocol: &Protocol,
) -> Result<Token<'a>, DecodeError> {
    let version = protocol.version();
    Ok(match token {
        done::DONE_TOKEN => Token::Done(Done::read(DoneKind::Statement, reader, version)?),
        done::DONE_PROC_TOKEN => Token::Done(Done::read(DoneKind::Procedure, reader, version)?),
        done::DONE_IN_PROC_TOKEN => {
            Token::Done(Done::read(DoneKind::InProcedure, reader, version)?)
        }
        message::ERROR_TOKEN => {
            Token::Message(ServerMessage::read(MessageKind::Error, reader, version)?)
        }
        message::INFO_TOKEN => {
            Token::Message(ServerMessage::read(MessageKind::Info, reader, version)?)
        }
        env_change::TOKEN => Token::EnvChange(EnvChange::read(reader)?),
        login_ack::TOKEN => Token::LoginAck(LoginAck::read(reader)?),
        return_status::TOKEN => Token::ReturnStatus(return_status::read(reader)?),
        return_value::TOKEN => Token::ReturnValue(ReturnValue::read(reader, protocol)?),
        order::TOKEN => Token::Order(order::read(reader)?),
        tab_name::TOKEN => Token::TableNames(tab_name::read(reader)?),
        col_info::TOKEN => Token::ColumnInfo(col_info::read(reader)?),
        feature_ext_ack::TOKEN => Token::Features(feature_ext_ack::read(reader)?),
        session_state::TOKEN => Token::SessionState(SessionState::read(reader)?),
        fed_auth_info::TOKEN => Token::FedAuthInfo(fed_auth_info::read(reader)?),
        sspi::TOKEN => Token::Sspi(sspi::read(reader)?),
        _ => return Err(reader.fail_before(1, Cause::Token { token })),
    })
}
