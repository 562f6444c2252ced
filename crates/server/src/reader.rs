//! Messages from a connection, as they arrive.
//!
//! Invariant: a read that is given up loses nothing; what has arrived stays for the next one.

use std::io;

use extentdb_tds::packet::{BulkDelivery, Event, Limits, Message, MessageDecoder};
use tokio::io::{AsyncRead, AsyncReadExt};

const READ_BYTES: usize = 8 * 1024;

/// Joins bytes to messages.
pub(crate) struct MessageReader {
    decoder: MessageDecoder,
    buffer: Vec<u8>,
    taken: usize,
}

/// What has arrived.
pub(crate) enum Arrived {
    Message(Message),
    /// The client gave up while it sent.
    Ignored,
    /// The connection has ended.
    End,
}

impl MessageReader {
    pub(crate) fn new() -> MessageReader {
        MessageReader {
            decoder: MessageDecoder::new(Limits::BEFORE_LOGIN, BulkDelivery::Whole),
            buffer: Vec::new(),
            taken: 0,
        }
    }

    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.decoder.set_limits(limits);
    }

    /// The next message.
    pub(crate) async fn next(
        &mut self,
        from: &mut (impl AsyncRead + Unpin),
    ) -> io::Result<Arrived> {
        loop {
            if let Some(arrived) = self.decode()? {
                return Ok(arrived);
            }
            self.buffer.clear();
            self.taken = 0;
            self.buffer.reserve(READ_BYTES);
            if from.read_buf(&mut self.buffer).await? == 0 {
                return Ok(Arrived::End);
            }
        }
    }

    fn decode(&mut self) -> io::Result<Option<Arrived>> {
        let mut input = &self.buffer[self.taken..];
        let before = input.len();
        let event = self.decoder.decode(&mut input);
        let arrived = match event {
            Ok(Some(Event::Message(message))) => Some(Arrived::Message(message)),
            Ok(Some(_)) => Some(Arrived::Ignored),
            Ok(None) => None,
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        };
        let left = input.len();
        self.taken += before - left;
        Ok(arrived)
    }
}
