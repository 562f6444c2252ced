//! The rows of INSERT BULK: COLMETADATA, ROWs, DONE, as they arrive.
//!
//! Nothing precedes the columns. The statement decides which columns are filled, these columns how
//! the rows are written. The clients of FreeTDS send no DONE: the rows end with the message. A
//! client that gives up says so with the status of its last packet
//! ([`Event::Ignored`](crate::packet::Event::Ignored)).

use crate::column::{Column, ColumnSource};
use crate::error::{Cause, DecodeError};
use crate::protocol::Protocol;
use crate::row::RowView;
use crate::token::{Token, TokenDecoder, col_metadata, done, row};

/// What has arrived of a bulk load.
#[derive(Debug, Clone, PartialEq)]
pub enum BulkEvent<'a> {
    /// The columns; once, first.
    Columns(&'a [Column]),
    /// A row.
    Row(RowView<'a>),
    /// The end; once, last: a DONE, or the end of the message after a whole row.
    Done,
}

/// SqlClient and what follows it end with a DONE whose count has the four bytes of before 7.2.
const SHORT_DONE: Cause = Cause::Truncated { needed: 4 };

/// Reads the message of a bulk load from bytes that are pushed.
#[derive(Debug)]
pub struct BulkDecoder {
    tokens: TokenDecoder,
    has_columns: bool,
    is_at_end: bool,
    is_done: bool,
    /// The DONE of four bytes fewer was seen, which stays in the buffer.
    is_short: bool,
}

impl BulkDecoder {
    /// A decoder at the beginning of the message. A row may have `row_bytes_max` bytes.
    #[must_use]
    pub fn new(protocol: Protocol, row_bytes_max: usize) -> BulkDecoder {
        BulkDecoder {
            tokens: TokenDecoder::new(protocol, ColumnSource::BulkLoad, row_bytes_max),
            has_columns: false,
            is_at_end: false,
            is_done: false,
            is_short: false,
        }
    }

    /// Adds bytes of the message.
    pub fn push(&mut self, bytes: &[u8]) {
        self.tokens.push(bytes);
    }

    /// Says that the message is complete.
    pub fn end(&mut self) {
        self.is_at_end = true;
        self.tokens.end();
    }

    /// True when the end of the rows was handed out.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        self.tokens.columns()
    }

    /// What comes next; `None` when it has not arrived, or after the end.
    pub fn next_event(&mut self) -> Result<Option<BulkEvent<'_>>, DecodeError> {
        if self.is_short {
            return Ok(None);
        }
        let Some(token) = self.tokens.peek() else { return Ok(self.end_of_message()) };
        let is_expected = match token {
            col_metadata::TOKEN => !self.has_columns,
            row::TOKEN | done::DONE_TOKEN => self.has_columns && !self.is_done,
            _ => false,
        };
        let at = self.tokens.position();
        if !is_expected {
            return Err(DecodeError { at, cause: Cause::Token { token } });
        }
        let next = match self.tokens.next_token() {
            Err(error) if token == done::DONE_TOKEN && error.cause == SHORT_DONE => {
                self.is_done = true;
                self.is_short = true;
                return Ok(Some(BulkEvent::Done));
            }
            next => next?,
        };
        Ok(match next {
            Some(Token::Columns(columns)) => {
                self.has_columns = true;
                Some(BulkEvent::Columns(columns))
            }
            Some(Token::Row(row)) => Some(BulkEvent::Row(row)),
            Some(Token::Done(_)) => {
                self.is_done = true;
                Some(BulkEvent::Done)
            }
            Some(_) => return Err(DecodeError { at, cause: Cause::NoColumns }),
            None => None,
        })
    }

    /// All that has arrived was handed out: the end, when nothing more can come.
    fn end_of_message(&mut self) -> Option<BulkEvent<'static>> {
        let is_end = self.is_at_end && self.has_columns && !self.is_done;
        self.is_done |= is_end;
        is_end.then_some(BulkEvent::Done)
    }
}
