//! Messages to packets: an output buffer in which headers are put between the bodies.
//!
//! ```text
//! ready: complete packets, to be sent  │ open packet
//! hdr body hdr body hdr body …         │ hdr(to be filled in) body …
//! ```
//!
//! A message is written as if it had no packets; [`PacketWriter::seal`] then puts the headers where
//! they belong. For a row that crosses a packet's end it moves the few bytes after the end; for a
//! large value it moves each byte once.
//!
//! Invariants
//! - All packets of a message but the last have the negotiated size, except where
//!   [`PacketWriter::flush`] asks for less.
//! - A message ends with exactly one packet that has the status bit for it.

use super::{HEADER_BYTES, PACKET_BYTES_MAX, PACKET_BYTES_MIN, PacketHeader, PacketKind, status};

/// Splits messages into packets in one buffer.
#[derive(Debug)]
pub struct PacketWriter {
    out: Vec<u8>,
    /// Offset of the open packet's header; the length of `out` between messages.
    open_at: usize,
    /// Is a message open?
    kind: Option<PacketKind>,
    /// Status bits of the first packet, until it is complete.
    first_status: u8,
    packet_bytes: usize,
    spid: u16,
    packet_id: u8,
}

impl PacketWriter {
    /// A writer of packets of `packet_bytes` (clamped to what can be negotiated) for the session
    /// `spid`; clients give 0.
    #[must_use]
    pub fn new(packet_bytes: u16, spid: u16) -> PacketWriter {
        let mut writer = PacketWriter {
            out: Vec::new(),
            open_at: 0,
            kind: None,
            first_status: 0,
            packet_bytes: 0,
            spid,
            packet_id: 0,
        };
        writer.set_packet_bytes(packet_bytes);
        writer
    }

    /// Sets the packet size, from the next packet on. After the login response.
    pub fn set_packet_bytes(&mut self, packet_bytes: u16) {
        let clamped = packet_bytes.clamp(PACKET_BYTES_MIN, PACKET_BYTES_MAX);
        self.packet_bytes = clamped.into();
    }

    /// The packet size.
    #[must_use]
    pub fn packet_bytes(&self) -> usize {
        self.packet_bytes
    }

    /// Begins a message; `first_status` are bits for its first packet (a reset). A message that is
    /// still open is ended first.
    pub fn begin(&mut self, kind: PacketKind, first_status: u8) {
        self.end();
        self.kind = Some(kind);
        self.first_status = first_status;
        self.packet_id = 1;
        self.out.extend([0; HEADER_BYTES]);
    }

    /// Is a message open?
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.kind.is_some()
    }

    /// Where the body of the open message is appended to. Nothing before its end may be changed.
    #[inline]
    pub fn body(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Completes the packets that are full. Cheap when there is none.
    #[inline]
    pub fn seal(&mut self) {
        if self.out.len() - self.open_at > self.packet_bytes
            && let Some(kind) = self.kind
        {
            self.seal_full(kind);
        }
    }

    fn seal_full(&mut self, kind: PacketKind) {
        let payload = self.packet_bytes - HEADER_BYTES;
        let end = self.out.len();
        let body = end - self.open_at - HEADER_BYTES;
        // Full packets; at least one byte stays for the last one.
        let full = (body - 1) / payload;
        self.out.resize(end + full * HEADER_BYTES, 0);
        for piece in (1..=full).rev() {
            let from = self.open_at + HEADER_BYTES + piece * payload;
            let to = (from + payload).min(end);
            self.out.copy_within(from..to, from + piece * HEADER_BYTES);
        }
        for _ in 0..full {
            self.put_header(kind, self.packet_bytes, 0);
            self.open_at += self.packet_bytes;
        }
    }

    /// Completes the open packet although it is not full, so that the peer sees what is written so
    /// far. The message goes on. Does nothing when the packet has no body.
    pub fn flush(&mut self) {
        self.seal();
        let open_bytes = self.out.len() - self.open_at;
        if let Some(kind) = self.kind
            && open_bytes > HEADER_BYTES
        {
            self.put_header(kind, open_bytes, 0);
            self.open_at = self.out.len();
            self.out.extend([0; HEADER_BYTES]);
        }
    }

    /// Ends the message. Does nothing when none is open.
    pub fn end(&mut self) {
        self.end_with(status::END_OF_MESSAGE);
    }

    /// Ends the message and says that it is to be ignored: a client gives up while sending.
    pub fn end_ignored(&mut self) {
        self.end_with(status::END_OF_MESSAGE | status::IGNORE);
    }

    fn end_with(&mut self, last_status: u8) {
        self.seal();
        if let Some(kind) = self.kind.take() {
            self.put_header(kind, self.out.len() - self.open_at, last_status);
            self.open_at = self.out.len();
        }
    }

    fn put_header(&mut self, kind: PacketKind, length: usize, status: u8) {
        let header = PacketHeader {
            kind,
            status: status | self.first_status,
            // At most the packet size, which is below 32,768.
            length: length as u16,
            spid: self.spid,
            packet_id: self.packet_id,
        };
        if let Some(bytes) = self.out.get_mut(self.open_at..)
            && let Some(place) = bytes.first_chunk_mut::<HEADER_BYTES>()
        {
            *place = header.to_bytes();
        }
        self.first_status = 0;
        self.packet_id = self.packet_id.wrapping_add(1);
    }

    /// Complete packets, to be sent. The caller decides when it has too many.
    #[must_use]
    pub fn ready(&self) -> &[u8] {
        self.out.get(..self.open_at).unwrap_or(&[])
    }

    /// Removes `bytes` that were sent from the beginning of [`PacketWriter::ready`].
    pub fn consume(&mut self, bytes: usize) {
        let bytes = bytes.min(self.open_at);
        self.out.drain(..bytes);
        self.open_at -= bytes;
    }

    /// Releases the memory of the buffer when all of it was sent: for sessions that go idle.
    pub fn release_memory(&mut self) {
        if self.out.is_empty() {
            self.out = Vec::new();
        }
    }

    /// Moves the complete packets to the end of `to`.
    pub fn take_ready(&mut self, to: &mut Vec<u8>) {
        to.extend_from_slice(self.ready());
        self.consume(self.open_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{BulkDelivery, Event, Limits, MessageDecoder};

    const LIMITS: Limits = Limits { packet_bytes_max: 32_767, message_bytes_max: 1 << 24 };

    fn joined(bytes: &[u8]) -> Vec<u8> {
        let mut decoder = MessageDecoder::new(LIMITS, BulkDelivery::Whole);
        let mut input = bytes;
        let Some(Event::Message(message)) = decoder.decode(&mut input).unwrap() else { panic!() };
        assert!(input.is_empty());
        message.body
    }

    #[test]
    fn any_body_is_joined_again_whatever_its_size_and_the_steps_it_is_written_in() {
        for packet_bytes in [512u16, 513, 4096, 32_767] {
            let payload = usize::from(packet_bytes) - HEADER_BYTES;
            for size in [0, 1, payload - 1, payload, payload + 1, 3 * payload, 10 * payload + 7] {
                for step in [1, 7, 600, 100_000] {
                    let body: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
                    let mut writer = PacketWriter::new(packet_bytes, 0);
                    writer.begin(PacketKind::Rpc, 0);
                    for part in body.chunks(step) {
                        writer.body().extend(part);
                        writer.seal();
                    }
                    writer.end();
                    assert_eq!(joined(writer.ready()), body, "{packet_bytes} {size} {step}");
                }
            }
        }
    }

    #[test]
    fn all_packets_but_the_last_are_full_and_numbered() {
        let mut writer = PacketWriter::new(512, 51);
        writer.begin(PacketKind::SqlBatch, status::RESET);
        writer.body().extend([7; 1200]);
        writer.end();
        let bytes = writer.ready();
        let headers = [0, 512, 1024].map(|at| bytes[at..at + 8].to_vec());
        assert_eq!(headers[0], [1, 8, 2, 0, 0, 51, 1, 0]);
        assert_eq!(headers[1], [1, 0, 2, 0, 0, 51, 2, 0]);
        assert_eq!(headers[2], [1, 1, 0, 200, 0, 51, 3, 0]);
        assert_eq!(bytes.len(), 1224);
    }

    #[test]
    fn what_is_sent_leaves_the_buffer_while_the_message_goes_on() {
        let mut writer = PacketWriter::new(512, 1);
        let mut sent = Vec::new();
        let mut body = Vec::new();
        writer.begin(PacketKind::TabularResult, 0);
        for at in 0..2000u32 {
            writer.body().extend(at.to_le_bytes());
            body.extend(at.to_le_bytes());
            writer.seal();
            if at % 100 == 99 {
                writer.flush();
            }
            let ready = writer.ready().len().min(300);
            sent.extend_from_slice(&writer.ready()[..ready]);
            writer.consume(ready);
        }
        writer.end();
        writer.take_ready(&mut sent);
        assert_eq!(joined(&sent), body);
        assert!(writer.ready().is_empty());
    }

    #[test]
    fn an_empty_message_is_one_packet() {
        let mut writer = PacketWriter::new(4096, 0);
        writer.begin(PacketKind::Attention, 0);
        writer.end();
        assert_eq!(writer.ready(), [6, 1, 0, 8, 0, 0, 1, 0]);
        writer.end();
        assert_eq!(writer.ready().len(), 8, "ending twice sends nothing");
        writer.release_memory();
        assert_eq!(writer.ready().len(), 8, "what was not sent stays");
        writer.consume(8);
        writer.release_memory();
        assert_eq!(writer.out.capacity(), 0);
    }
}
