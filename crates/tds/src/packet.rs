//! Packets: pieces of messages with a header of eight bytes.
//!
//! ```text
//! offset size field
//!      0    1 kind      client: 1 batch, 3 RPC, 6 attention, 7 bulk load, 8 federated token,
//!                       14 transaction manager, 16 LOGIN7, 17 SSPI, 18 PRELOGIN; server: 4
//!      1    1 status    1 last packet, 2 ignore the message, 8 reset, 16 reset but keep the
//!                       transaction
//!      2    2 length    big-endian, header included
//!      4    2 spid      big-endian: the server's session id; clients send 0
//!      6    1 packet id counts up modulo 256; not looked at
//!      7    1 window    0
//! ```
//!
//! A message is the bodies of its packets, joined, up to the one with status 1.
//! [`MessageDecoder`] joins, [`PacketWriter`] splits.

mod decoder;
mod writer;

pub use decoder::{BulkDelivery, Event, Limits, Message, MessageDecoder};
pub use writer::PacketWriter;

/// Bytes of a packet header.
pub const HEADER_BYTES: usize = 8;
/// Smallest packet size that can be negotiated.
pub const PACKET_BYTES_MIN: u16 = 512;
/// Largest packet size that can be negotiated.
pub const PACKET_BYTES_MAX: u16 = 32_767;
/// Packet size until the login is answered, and for clients that ask for 0.
pub const PACKET_BYTES_DEFAULT: u16 = 4_096;

const _: () = assert!(PACKET_BYTES_MIN as usize > HEADER_BYTES, "a packet has room for a body");

/// The packet size for a client that asks for `wanted` in LOGIN7; 0 means the default.
#[must_use]
pub fn negotiated_packet_bytes(wanted: u32) -> u16 {
    if wanted == 0 {
        return PACKET_BYTES_DEFAULT;
    }
    let most = u32::from(PACKET_BYTES_MAX);
    // The clamp keeps it in the range of u16.
    wanted.clamp(PACKET_BYTES_MIN.into(), most) as u16
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// SQL batch.
    SqlBatch,
    /// Remote procedure calls.
    Rpc,
    /// What a server answers.
    TabularResult,
    /// Request to stop the running one.
    Attention,
    /// Rows for INSERT BULK.
    BulkLoad,
    /// Token of federated authentication.
    FederatedToken,
    /// Transaction manager request.
    TransactionManager,
    /// LOGIN7.
    Login,
    /// SSPI data.
    Sspi,
    /// PRELOGIN, and TLS records during the handshake of TDS 7.x.
    Prelogin,
}

impl PacketKind {
    /// The kind of a first byte.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<PacketKind> {
        Some(match byte {
            1 => PacketKind::SqlBatch,
            3 => PacketKind::Rpc,
            4 => PacketKind::TabularResult,
            6 => PacketKind::Attention,
            7 => PacketKind::BulkLoad,
            8 => PacketKind::FederatedToken,
            14 => PacketKind::TransactionManager,
            16 => PacketKind::Login,
            17 => PacketKind::Sspi,
            18 => PacketKind::Prelogin,
            _ => return None,
        })
    }

    /// The first byte.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            PacketKind::SqlBatch => 1,
            PacketKind::Rpc => 3,
            PacketKind::TabularResult => 4,
            PacketKind::Attention => 6,
            PacketKind::BulkLoad => 7,
            PacketKind::FederatedToken => 8,
            PacketKind::TransactionManager => 14,
            PacketKind::Login => 16,
            PacketKind::Sspi => 17,
            PacketKind::Prelogin => 18,
        }
    }
}

/// Bits of the status byte.
pub mod status {
    /// Last packet of the message.
    pub const END_OF_MESSAGE: u8 = 0x01;
    /// The client gave up while sending: the message is to be ignored. Only with
    /// [`END_OF_MESSAGE`].
    pub const IGNORE: u8 = 0x02;
    /// Reset the session before the request.
    pub const RESET: u8 = 0x08;
    /// Reset the session but keep its transaction.
    pub const RESET_KEEP_TRANSACTION: u8 = 0x10;
}

/// What is to be reset before a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reset {
    /// Nothing.
    #[default]
    None,
    /// The session; its transaction is rolled back.
    Session,
    /// The session, but its transaction stays open.
    KeepTransaction,
}

impl Reset {
    /// By the status byte of a message's first packet. With both bits set the transaction stays.
    #[must_use]
    pub fn from_status(status: u8) -> Reset {
        if status & status::RESET_KEEP_TRANSACTION != 0 {
            Reset::KeepTransaction
        } else if status & status::RESET != 0 {
            Reset::Session
        } else {
            Reset::None
        }
    }

    /// The status bits.
    #[must_use]
    pub fn status(self) -> u8 {
        match self {
            Reset::None => 0,
            Reset::Session => status::RESET,
            Reset::KeepTransaction => status::RESET_KEEP_TRANSACTION,
        }
    }
}

/// A packet header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketHeader {
    /// What the message is.
    pub kind: PacketKind,
    /// Bits of [`status`].
    pub status: u8,
    /// Bytes of the packet with its header.
    pub length: u16,
    /// Session id of the server.
    pub spid: u16,
    /// Number of the packet modulo 256.
    pub packet_id: u8,
}

impl PacketHeader {
    /// The header as bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let [length_high, length_low] = self.length.to_be_bytes();
        let [spid_high, spid_low] = self.spid.to_be_bytes();
        [
            self.kind.byte(),
            self.status,
            length_high,
            length_low,
            spid_high,
            spid_low,
            self.packet_id,
            0,
        ]
    }

    /// The header of eight bytes; `None` for an unknown kind or a length below the header's own.
    #[must_use]
    pub fn from_bytes(bytes: [u8; HEADER_BYTES]) -> Option<PacketHeader> {
        let [kind, status, length_high, length_low, spid_high, spid_low, packet_id, _] = bytes;
        let length = u16::from_be_bytes([length_high, length_low]);
        let header = PacketHeader {
            kind: PacketKind::from_byte(kind)?,
            status,
            length,
            spid: u16::from_be_bytes([spid_high, spid_low]),
            packet_id,
        };
        (usize::from(length) >= HEADER_BYTES).then_some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_the_worked_example() {
        let bytes = [0x04, 0x01, 0x00, 0x29, 0x00, 0x33, 0x01, 0x00];
        let header = PacketHeader::from_bytes(bytes).unwrap();
        assert_eq!(header.kind, PacketKind::TabularResult);
        assert_eq!(header.length, 41);
        assert_eq!(header.spid, 51);
        assert_eq!(header.to_bytes(), bytes);
    }

    #[test]
    fn a_length_below_the_header_is_no_packet() {
        assert_eq!(PacketHeader::from_bytes([1, 1, 0, 7, 0, 0, 0, 0]), None);
        assert_eq!(PacketHeader::from_bytes([2, 1, 0, 8, 0, 0, 0, 0]), None);
    }

    #[test]
    fn packet_sizes_are_clamped() {
        let cases = [(0, 4096), (1, 512), (8000, 8000), (100_000, 32_767), (u32::MAX, 32_767)];
        for (wanted, negotiated) in cases {
            assert_eq!(negotiated_packet_bytes(wanted), negotiated);
        }
    }

    #[test]
    fn every_kind_has_its_byte() {
        for byte in 0..=255 {
            if let Some(kind) = PacketKind::from_byte(byte) {
                assert_eq!(kind.byte(), byte);
            }
        }
    }
}
