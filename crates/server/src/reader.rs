//! Messages from a connection, as they arrive.
//!
//! Invariant: a read that is given up loses nothing; what has arrived stays for the next one.

use std::io;

use extentdb_tds::packet::{BulkDelivery, Event, Limits, Message, MessageDecoder, PacketKind};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::bulk::FirstPart;
use crate::stream::{ClientStream, Wait};

/// What is read at a time; more when the client sends much.
const READ_BYTES: usize = 8 * 1024;
const READ_BYTES_MAX: usize = 256 * 1024;

/// Joins bytes to messages.
pub(crate) struct MessageReader {
    decoder: MessageDecoder,
    /// Bytes of the last read, from `taken` to `filled` not decoded yet.
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
}

/// What has arrived of a bulk load.
pub(crate) enum Part {
    Some,
    /// The last part.
    Last,
    /// The client gave up while it sent.
    Ignored,
    /// Nothing within the time that a read waits.
    NotYet,
    /// The connection has ended.
    End,
}

/// What has arrived.
pub(crate) enum Arrived {
    Message(Message),
    /// The rows of a bulk load begin.
    BulkLoad(FirstPart),
    /// The client gave up while it sent.
    Ignored,
    /// The connection has ended.
    End,
}

impl Arrived {
    /// Does the client want the request at hand to end?
    pub(crate) fn is_attention(&self) -> bool {
        matches!(self, Arrived::Message(message) if message.kind == PacketKind::Attention)
    }
}

impl MessageReader {
    pub(crate) fn new() -> MessageReader {
        MessageReader {
            decoder: MessageDecoder::new(Limits::BEFORE_LOGIN, BulkDelivery::Parts),
            buffer: Vec::new(),
            taken: 0,
            filled: 0,
        }
    }

    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.decoder.set_limits(limits);
    }

    /// The next message of a connection that has not logged in.
    pub(crate) async fn next(
        &mut self,
        from: &mut (impl AsyncRead + Unpin),
    ) -> io::Result<Arrived> {
        loop {
            if let Some(arrived) = self.decode()? {
                return Ok(arrived);
            }
            let count = from.read(self.room()).await?;
            if count == 0 {
                return Ok(Arrived::End);
            }
            self.filled = count;
        }
    }

    /// The next message; `None` when it is not there within the time that a read waits.
    pub(crate) fn take(&mut self, from: &ClientStream, wait: Wait) -> io::Result<Option<Arrived>> {
        loop {
            if let Some(arrived) = self.decode()? {
                return Ok(Some(arrived));
            }
            match from.read(self.room(), wait) {
                Ok(0) => return Ok(Some(Arrived::End)),
                Ok(count) => self.filled = count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// The next part of a bulk load that has begun; `each` gets its bytes.
    pub(crate) fn take_part(
        &mut self,
        from: &ClientStream,
        wait: Wait,
        each: &mut dyn FnMut(&[u8]),
    ) -> io::Result<Part> {
        loop {
            let event = self.decode_event(&mut |event| match event {
                Event::BulkPart { bytes, is_last, .. } => {
                    each(bytes);
                    if is_last { Part::Last } else { Part::Some }
                }
                // Packets of a message are of one kind.
                Event::Message(_) | Event::Ignored { .. } => Part::Ignored,
            })?;
            if let Some(part) = event {
                return Ok(part);
            }
            match from.read(self.room(), wait) {
                Ok(0) => return Ok(Part::End),
                Ok(count) => self.filled = count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Part::NotYet);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives back what a connection that waits does not need.
    pub(crate) fn rest(&mut self) {
        if self.taken == self.filled {
            (self.taken, self.filled) = (0, 0);
            self.buffer = Vec::new();
        }
    }

    /// Where the next read goes, after all of the one before was decoded.
    fn room(&mut self) -> &mut [u8] {
        let is_full = self.filled == self.buffer.len();
        if is_full && self.buffer.len() < READ_BYTES_MAX {
            self.buffer.resize((self.buffer.len() * 2).max(READ_BYTES), 0);
        }
        (self.taken, self.filled) = (0, 0);
        &mut self.buffer
    }

    fn decode(&mut self) -> io::Result<Option<Arrived>> {
        self.decode_event(&mut |event| match event {
            Event::Message(message) => Arrived::Message(message),
            Event::BulkPart { bytes, reset, is_last } => {
                Arrived::BulkLoad(FirstPart { bytes: bytes.to_vec(), reset, is_last })
            }
            Event::Ignored { .. } => Arrived::Ignored,
        })
    }

    fn decode_event<T>(&mut self, each: &mut dyn FnMut(Event<'_>) -> T) -> io::Result<Option<T>> {
        let mut input = self.buffer.get(self.taken..self.filled).unwrap_or_default();
        let before = input.len();
        let event = self.decoder.decode(&mut input);
        let event = event.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let event = event.map(each);
        self.taken += before - input.len();
        Ok(event)
    }
}
