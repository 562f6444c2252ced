//! Bytes from a connection to messages, as they arrive.
//!
//! The caller owns the bytes it has read; the decoder takes what it can use and leaves the rest
//! with the caller. After PRELOGIN that matters: what follows the last packet of the handshake
//! belongs to the TLS layer.
//!
//! Invariants
//! - The memory of a message grows with the bytes that have arrived, never by a length that was
//!   only announced, and not past [`Limits::message_bytes_max`].
//! - After an error the stream has no known position any more: every further call fails.

use super::{HEADER_BYTES, PACKET_BYTES_DEFAULT, PacketHeader, PacketKind, Reset, status};
use crate::error::{Cause, DecodeError};

/// What a peer may send. Changed when a login is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest packet, header included.
    pub packet_bytes_max: u16,
    /// Largest message, headers not included. Messages that are handed out in parts have none.
    pub message_bytes_max: usize,
}

impl Limits {
    /// Before the login is complete: packets of 4,096 bytes, messages of 128 KiB.
    pub const BEFORE_LOGIN: Limits = Limits {
        packet_bytes_max: PACKET_BYTES_DEFAULT,
        message_bytes_max: 128 * 1024,
    };
}

/// How the rows of a bulk load are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BulkDelivery {
    /// As one message, within [`Limits::message_bytes_max`].
    #[default]
    Whole,
    /// As [`Event::BulkPart`], as they arrive.
    Parts,
}

/// What has arrived. The bytes of a part are those of the caller's input.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'i> {
    /// A whole message.
    Message(Message),
    /// A part of a bulk load.
    BulkPart {
        /// Bytes of packet bodies, cut where the input was cut.
        bytes: &'i [u8],
        /// What is to be reset first; set with the first part only.
        reset: Reset,
        /// True for the last part.
        is_last: bool,
    },
    /// The client gave up while sending: nothing of the message is to be executed, and what was
    /// done with parts of it is to be undone.
    Ignored {
        /// What the message would have been.
        kind: PacketKind,
    },
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it is.
    pub kind: PacketKind,
    /// What is to be reset before it is executed.
    pub reset: Reset,
    /// Session id of the first packet.
    pub spid: u16,
    /// The bodies of the packets.
    pub body: Vec<u8>,
}

/// Joins packets to messages.
#[derive(Debug)]
pub struct MessageDecoder {
    limits: Limits,
    bulk: BulkDelivery,
    /// Bytes of a header that is not complete.
    header: [u8; HEADER_BYTES],
    header_len: usize,
    /// The packet whose body is arriving, and what it lacks.
    packet: Option<PacketHeader>,
    body_left: usize,
    /// First header of the message that is arriving.
    first: Option<PacketHeader>,
    is_part_delivered: bool,
    message: Vec<u8>,
    /// Bytes taken from the connection so far.
    taken: usize,
    failure: Option<DecodeError>,
}

impl MessageDecoder {
    /// A decoder at the beginning of a connection.
    #[must_use]
    pub fn new(limits: Limits, bulk: BulkDelivery) -> MessageDecoder {
        MessageDecoder {
            limits,
            bulk,
            header: [0; HEADER_BYTES],
            header_len: 0,
            packet: None,
            body_left: 0,
            first: None,
            is_part_delivered: false,
            message: Vec::new(),
            taken: 0,
            failure: None,
        }
    }

    /// Sets other limits, from the next packet on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// True between messages: nothing of the next one has arrived.
    #[must_use]
    pub fn is_between_messages(&self) -> bool {
        self.first.is_none() && self.header_len == 0
    }

    /// The kind of the message that is arriving.
    #[must_use]
    pub fn arriving(&self) -> Option<PacketKind> {
        self.first.map(|header| header.kind)
    }

    /// Takes bytes from the beginning of `input` up to the next event. `None` when all of them were
    /// taken and more are needed. The position of an error is that in the connection.
    pub fn decode<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<Event<'i>>, DecodeError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let result = self.next_event(input);
        if let Err(failure) = &result {
            self.failure = Some(failure.clone());
        }
        result
    }

    fn next_event<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<Event<'i>>, DecodeError> {
        loop {
            let Some(packet) = self.packet else {
                if !self.take_header(input)? {
                    return Ok(None);
                }
                continue;
            };
            let bytes = self.take(input, self.body_left);
            self.body_left -= bytes.len();
            let is_complete = self.body_left == 0;
            if is_complete {
                self.packet = None;
            }
            let is_last = is_complete && packet.status & status::END_OF_MESSAGE != 0;
            if let Some(event) = self.add(packet, bytes, is_last)? {
                return Ok(Some(event));
            }
            if !is_complete {
                return Ok(None);
            }
        }
    }

    /// Bytes of a body: part of the message, or an event of their own.
    fn add<'i>(
        &mut self,
        packet: PacketHeader,
        bytes: &'i [u8],
        is_last: bool,
    ) -> Result<Option<Event<'i>>, DecodeError> {
        const ENDS_IGNORED: u8 = status::END_OF_MESSAGE | status::IGNORE;
        if packet.status & ENDS_IGNORED == ENDS_IGNORED {
            if !is_last {
                return Ok(None);
            }
            self.end_message();
            return Ok(Some(Event::Ignored { kind: packet.kind }));
        }
        if packet.kind == PacketKind::BulkLoad && self.bulk == BulkDelivery::Parts {
            return Ok(self.bulk_part(bytes, is_last));
        }
        let found = self.message.len() + bytes.len();
        let max = self.limits.message_bytes_max;
        if found > max {
            let cause = Cause::Limit { field: "message", found: found as u64, max: max as u64 };
            return Err(DecodeError { at: self.taken, cause });
        }
        self.message.extend_from_slice(bytes);
        let Some(first) = self.first.filter(|_| is_last) else { return Ok(None) };
        let body = std::mem::take(&mut self.message);
        self.end_message();
        Ok(Some(Event::Message(Message {
            kind: first.kind,
            reset: Reset::from_status(first.status),
            spid: first.spid,
            body,
        })))
    }

    fn bulk_part<'i>(&mut self, bytes: &'i [u8], is_last: bool) -> Option<Event<'i>> {
        if bytes.is_empty() && !is_last {
            return None;
        }
        let is_first = !self.is_part_delivered;
        let first_status = self.first.map_or(0, |header| header.status);
        let reset = if is_first { Reset::from_status(first_status) } else { Reset::None };
        self.is_part_delivered = true;
        if is_last {
            self.end_message();
        }
        Some(Event::BulkPart { bytes, reset, is_last })
    }

    fn end_message(&mut self) {
        self.first = None;
        self.is_part_delivered = false;
        self.message.clear();
    }

    /// True when a header is complete and `packet` is set.
    fn take_header(&mut self, input: &mut &[u8]) -> Result<bool, DecodeError> {
        let bytes = self.take(input, HEADER_BYTES - self.header_len);
        for (to, from) in self.header.iter_mut().skip(self.header_len).zip(bytes) {
            *to = *from;
        }
        self.header_len += bytes.len();
        if self.header_len < HEADER_BYTES {
            return Ok(false);
        }
        self.header_len = 0;
        let packet = self.verified_header()?;
        self.body_left = usize::from(packet.length) - HEADER_BYTES;
        self.first.get_or_insert(packet);
        self.packet = Some(packet);
        Ok(true)
    }

    fn verified_header(&self) -> Result<PacketHeader, DecodeError> {
        let fail = |cause| DecodeError { at: self.taken.saturating_sub(HEADER_BYTES), cause };
        let [kind, _, length_high, length_low, ..] = self.header;
        let length = u16::from_be_bytes([length_high, length_low]);
        let other = if PacketKind::from_byte(kind).is_none() {
            Cause::Value { field: "packet type", found: kind.into() }
        } else {
            Cause::Value { field: "packet length", found: length.into() }
        };
        let packet = PacketHeader::from_bytes(self.header).ok_or_else(|| fail(other))?;
        let max = self.limits.packet_bytes_max;
        if length > max {
            return Err(fail(Cause::Limit {
                field: "packet",
                found: length.into(),
                max: max.into(),
            }));
        }
        if self.first.is_some_and(|first| first.kind != packet.kind) {
            return Err(fail(Cause::Value { field: "packet type", found: kind.into() }));
        }
        Ok(packet)
    }

    /// At most `len` bytes of the input.
    fn take<'i>(&mut self, input: &mut &'i [u8], len: usize) -> &'i [u8] {
        let len = len.min(input.len());
        let (taken, rest) = input.split_at_checked(len).unwrap_or((&[], input));
        *input = rest;
        self.taken += taken.len();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { packet_bytes_max: 4096, message_bytes_max: 100 };

    fn packet(kind: u8, status: u8, body: &[u8]) -> Vec<u8> {
        let length = (body.len() + 8) as u16;
        let mut bytes = vec![kind, status, 0, 0, 0, 51, 1, 0];
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes.extend(body);
        bytes
    }

    fn one(decoder: &mut MessageDecoder, mut bytes: &[u8]) -> Event<'static> {
        match decoder.decode(&mut bytes).unwrap().unwrap() {
            Event::Message(message) => Event::Message(message),
            Event::Ignored { kind } => Event::Ignored { kind },
            Event::BulkPart { .. } => unreachable!("no parts asked for"),
        }
    }

    #[test]
    fn a_message_is_the_bodies_of_its_packets_wherever_the_bytes_are_cut() {
        let mut bytes = packet(1, 8, b"abc");
        bytes.extend(packet(1, 0, b""));
        bytes.extend(packet(1, 1, b"def"));
        for cut in 0..bytes.len() {
            let mut decoder = MessageDecoder::new(LIMITS, BulkDelivery::Whole);
            let (mut before, after) = bytes.split_at(cut);
            assert_eq!(decoder.decode(&mut before).unwrap(), None);
            assert_eq!(decoder.is_between_messages(), cut == 0);
            let Event::Message(message) = one(&mut decoder, after) else { panic!() };
            assert_eq!(message.body, b"abcdef");
            assert_eq!(message.reset, Reset::Session);
            assert_eq!(message.spid, 51);
            assert!(decoder.is_between_messages());
        }
    }

    #[test]
    fn bytes_after_a_message_stay_with_the_caller() {
        let mut bytes = packet(18, 1, b"x");
        bytes.extend(b"TLS");
        let mut input = bytes.as_slice();
        let mut decoder = MessageDecoder::new(LIMITS, BulkDelivery::Whole);
        assert!(decoder.decode(&mut input).unwrap().is_some());
        assert_eq!(input, b"TLS");
    }

    #[test]
    fn an_ignored_message_is_not_handed_out() {
        let mut bytes = packet(1, 0, b"delete t");
        bytes.extend(packet(1, 3, b""));
        let mut decoder = MessageDecoder::new(LIMITS, BulkDelivery::Whole);
        let event = one(&mut decoder, &bytes);
        assert_eq!(event, Event::Ignored { kind: PacketKind::SqlBatch });
        let Event::Message(message) = one(&mut decoder, &packet(6, 1, b"")) else { panic!() };
        assert_eq!(message.kind, PacketKind::Attention);
        assert!(message.body.is_empty());
    }

    #[test]
    fn the_packet_that_gives_up_hands_out_no_part_wherever_it_is_cut() {
        let mut bytes = packet(7, 0, b"row");
        bytes.extend(packet(7, 3, b"half a row"));
        let mut decoder = MessageDecoder::new(LIMITS, BulkDelivery::Parts);
        let mut parts: Vec<u8> = Vec::new();
        for mut byte in bytes.chunks(1) {
            match decoder.decode(&mut byte).unwrap() {
                Some(Event::BulkPart { bytes, .. }) => parts.extend(bytes),
                Some(Event::Ignored { kind }) => assert_eq!(kind, PacketKind::BulkLoad),
                _ => {}
            }
        }
        assert_eq!(parts, b"row");
        assert!(decoder.is_between_messages());
    }

    #[test]
    fn bulk_rows_come_in_parts_without_a_limit() {
        let mut bytes = packet(7, 8, &[1; 80]);
        bytes.extend(packet(7, 0, &[2; 80]));
        bytes.extend(packet(7, 1, &[3; 80]));
        let mut decoder = MessageDecoder::new(LIMITS, BulkDelivery::Parts);
        let mut input = bytes.as_slice();
        let mut total = 0;
        let mut resets = 0;
        while let Some(event) = decoder.decode(&mut input).unwrap() {
            let Event::BulkPart { bytes, reset, is_last } = event else { panic!() };
            total += bytes.len();
            resets += usize::from(reset == Reset::Session);
            assert_eq!(is_last, total == 240);
        }
        assert_eq!((total, resets), (240, 1));
    }

    #[track_caller]
    fn refused(bytes: &[u8], at: usize) -> Cause {
        let mut decoder = MessageDecoder::new(LIMITS, BulkDelivery::Whole);
        let mut input = bytes;
        let error = decoder.decode(&mut input).unwrap_err();
        assert_eq!(error.at, at);
        let again = decoder.decode(&mut input).unwrap_err();
        assert_eq!(again, error, "a broken stream stays broken");
        error.cause
    }

    #[test]
    fn bad_packets_are_refused_by_name() {
        let unknown = Cause::Value { field: "packet type", found: 2 };
        assert_eq!(refused(&packet(2, 1, b""), 0), unknown);
        let short = Cause::Value { field: "packet length", found: 7 };
        assert_eq!(refused(&[1, 1, 0, 7, 0, 0, 0, 0], 0), short);
        let large = Cause::Limit { field: "packet", found: 0xFFFF, max: 4096 };
        assert_eq!(refused(&[1, 1, 0xFF, 0xFF, 0, 0, 0, 0], 0), large);
        let mut mixed = packet(1, 0, b"ab");
        mixed.extend(packet(3, 1, b""));
        assert_eq!(refused(&mixed, 10), Cause::Value { field: "packet type", found: 3 });
        let long = Cause::Limit { field: "message", found: 101, max: 100 };
        assert_eq!(refused(&packet(1, 0, &[0; 101]), 109), long);
    }
}
