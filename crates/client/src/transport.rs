//! The bytes of a connection: clear, or within TLS.
//!
//! While TLS is negotiated its records travel in PRELOGIN packets ([`Wrapped`]); afterwards they
//! are bare, and hold the packets.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use extentdb_tds::packet::{HEADER_BYTES, PacketHeader, PacketKind, status};
use rustls::{ClientConnection, StreamOwned};

/// Bytes of a packet during the handshake.
const HANDSHAKE_PACKET_BYTES: usize = 4_096;

/// A connection.
pub(crate) enum Transport {
    Clear(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, Wrapped>>),
}

impl Transport {
    /// Negotiates TLS within packets.
    pub(crate) fn encrypted(socket: TcpStream, tls: ClientConnection) -> io::Result<Transport> {
        let wrapped = Wrapped { socket, is_wrapped: true, left: Vec::new(), held: Vec::new() };
        let mut stream = StreamOwned::new(tls, wrapped);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        stream.sock.flush()?;
        stream.sock.is_wrapped = false;
        Ok(Transport::Tls(Box::new(stream)))
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Transport::Clear(socket) => socket.write_all(bytes),
            Transport::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Clear(socket) => socket.read(buffer),
            Transport::Tls(stream) => stream.read(buffer),
        }
    }
}

/// A socket whose bytes are in PRELOGIN packets for a while.
pub(crate) struct Wrapped {
    socket: TcpStream,
    is_wrapped: bool,
    /// What was read of a packet and not taken.
    left: Vec<u8>,
    /// What is written and not sent.
    held: Vec<u8>,
}

impl Wrapped {
    fn next_packet(&mut self) -> io::Result<()> {
        let mut bytes = [0; HEADER_BYTES];
        self.socket.read_exact(&mut bytes)?;
        let header = PacketHeader::from_bytes(bytes)
            .filter(|header| header.kind == PacketKind::Prelogin)
            .ok_or_else(|| io::Error::other("the server does not negotiate TLS"))?;
        self.left.resize(usize::from(header.length) - HEADER_BYTES, 0);
        self.socket.read_exact(&mut self.left)
    }
}

impl Read for Wrapped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.is_wrapped && self.left.is_empty() {
            return self.socket.read(buffer);
        }
        if self.left.is_empty() {
            self.flush()?;
            self.next_packet()?;
        }
        let count = self.left.as_slice().read(buffer)?;
        self.left.drain(..count);
        Ok(count)
    }
}

impl Write for Wrapped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_wrapped {
            return self.socket.write(bytes);
        }
        self.held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        for body in self.held.chunks(HANDSHAKE_PACKET_BYTES - HEADER_BYTES) {
            let header = PacketHeader {
                kind: PacketKind::Prelogin,
                status: status::END_OF_MESSAGE,
                length: (body.len() + HEADER_BYTES) as u16,
                spid: 0,
                packet_id: 1,
            };
            self.socket.write_all(&header.to_bytes())?;
            self.socket.write_all(body)?;
        }
        self.held.clear();
        self.socket.flush()
    }
}
