//! Bytes of a connection: clear, inside TLS, or, while TLS 7.x shakes hands, TLS inside of PRELOGIN
//! packets.
//!
//! ```text
//! Raw      socket as it is
//! Wrapped  read:  header 8 (type 18), then its body; or a bare TLS record, which some clients send
//!          write: collected until a flush, then one message of PRELOGIN packets: some clients
//!                 read one message for each that they have written
//! ```
//!
//! Invariants
//! - In Wrapped nothing is read past the packet or record at hand: what follows the handshake is
//!   still in the socket when the wrapping ends.
//! - What was collected is sent before the flush ends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use extentdb_tds::packet::{HEADER_BYTES, PacketHeader, PacketKind, status};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::stream::ClientStream;

/// Largest body of a packet before the login.
const BODY_BYTES: usize = 4096 - HEADER_BYTES;
/// First bytes of TLS records: change of cipher, alert, handshake, application data.
const TLS_RECORDS: std::ops::RangeInclusive<u8> = 0x14..=0x17;
const RECORD_HEADER_BYTES: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Raw,
    Wrapped,
}

/// A socket, which may wrap what is written and unwrap what is read.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: TcpStream,
    mode: Mode,
    header: Vec<u8>,
    /// Bytes of a header that the reader has still to get: a bare record keeps its own.
    handed: usize,
    body_left: usize,
    /// Written since the last flush, not wrapped yet.
    flight: Vec<u8>,
    /// To be sent.
    out: Vec<u8>,
    sent: usize,
    packet_id: u8,
}

impl Wire {
    pub(crate) fn new(socket: TcpStream) -> Wire {
        Wire {
            socket,
            mode: Mode::Raw,
            header: Vec::new(),
            handed: 0,
            body_left: 0,
            flight: Vec::new(),
            out: Vec::new(),
            sent: 0,
            packet_id: 0,
        }
    }

    /// From now on TLS comes and goes in PRELOGIN packets.
    pub(crate) fn wrap(&mut self) {
        self.mode = Mode::Wrapped;
    }

    /// The handshake is done: from now on TLS comes as it is.
    pub(crate) fn unwrap_tls(&mut self) {
        self.mode = Mode::Raw;
    }

    /// The first byte that the client sends, which stays in the socket; `None` at the end.
    pub(crate) async fn first_byte(&self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        let count = self.socket.peek(&mut byte).await?;
        Ok((count > 0).then_some(byte[0]))
    }

    fn read_wrapped(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.body_left == 0 && self.handed == 0 {
            let mut one = [0];
            let mut next = ReadBuf::new(&mut one);
            ready!(Pin::new(&mut self.socket).poll_read(context, &mut next))?;
            let [byte] = next.filled() else { return Poll::Ready(Ok(())) };
            self.header.push(*byte);
            self.take_header()?;
        }
        if self.handed > 0 {
            let start = self.header.len() - self.handed;
            let count = self.handed.min(buffer.remaining());
            buffer.put_slice(&self.header[start..start + count]);
            self.handed -= count;
            if self.handed == 0 {
                self.header.clear();
            }
            return Poll::Ready(Ok(()));
        }
        // Through memory of our own: the part must not reach past the packet.
        let mut memory = [0; BODY_BYTES];
        let most = self.body_left.min(buffer.remaining()).min(BODY_BYTES);
        let mut part = ReadBuf::new(&mut memory[..most]);
        ready!(Pin::new(&mut self.socket).poll_read(context, &mut part))?;
        buffer.put_slice(part.filled());
        self.body_left -= part.filled().len();
        Poll::Ready(Ok(()))
    }

    /// Looks at the header bytes so far.
    fn take_header(&mut self) -> io::Result<()> {
        let refused = || io::Error::new(io::ErrorKind::InvalidData, "no TLS in a PRELOGIN packet");
        match self.header.as_slice() {
            [first, .., high, low]
                if TLS_RECORDS.contains(first) && self.header.len() == RECORD_HEADER_BYTES =>
            {
                self.body_left = usize::from(u16::from_be_bytes([*high, *low]));
                self.handed = RECORD_HEADER_BYTES;
            }
            [first, ..] if TLS_RECORDS.contains(first) => {}
            header if header.len() == HEADER_BYTES => {
                let bytes = <[u8; HEADER_BYTES]>::try_from(header).map_err(|_| refused())?;
                let header = PacketHeader::from_bytes(bytes).ok_or_else(refused)?;
                if header.kind != PacketKind::Prelogin {
                    return Err(refused());
                }
                self.body_left = usize::from(header.length) - HEADER_BYTES;
                self.header.clear();
            }
            _ => {}
        }
        Ok(())
    }

    /// The flight as one message.
    fn wrap_flight(&mut self) {
        let flight = std::mem::take(&mut self.flight);
        let mut bodies = flight.chunks(BODY_BYTES).peekable();
        while let Some(body) = bodies.next() {
            self.packet_id = self.packet_id.wrapping_add(1);
            let header = PacketHeader {
                kind: PacketKind::Prelogin,
                status: if bodies.peek().is_none() { status::END_OF_MESSAGE } else { 0 },
                length: (body.len() + HEADER_BYTES) as u16,
                spid: 0,
                packet_id: self.packet_id,
            };
            self.out.extend(header.to_bytes());
            self.out.extend_from_slice(body);
        }
    }

    fn send_collected(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.wrap_flight();
        while self.sent < self.out.len() {
            let rest = &self.out[self.sent..];
            let count = ready!(Pin::new(&mut self.socket).poll_write(context, rest))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += count;
        }
        self.out.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let is_left = self.body_left > 0 || self.handed > 0;
        if self.mode == Mode::Raw && !is_left {
            return Pin::new(&mut self.socket).poll_read(context, buffer);
        }
        self.read_wrapped(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.mode == Mode::Raw && self.out.is_empty() {
            return Pin::new(&mut self.socket).poll_write(context, bytes);
        }
        if self.mode == Mode::Raw {
            ready!(self.send_collected(context))?;
            return Pin::new(&mut self.socket).poll_write(context, bytes);
        }
        self.flight.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.send_collected(context))?;
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.send_collected(context))?;
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

/// A connection, clear or inside TLS.
pub(crate) enum Transport {
    Clear(Wire),
    Tls(Box<TlsStream<Wire>>),
}

impl Transport {
    /// Ends TLS without a word: what follows is clear.
    pub(crate) fn without_tls(self) -> Transport {
        match self {
            Transport::Tls(stream) => Transport::Clear(stream.into_inner().0),
            clear => clear,
        }
    }

    /// After the login: for the thread that runs requests.
    pub(crate) fn into_stream(self) -> io::Result<ClientStream> {
        let (wire, tls) = match self {
            Transport::Clear(wire) => (wire, None),
            Transport::Tls(stream) => {
                let (wire, tls) = stream.into_inner();
                (wire, Some(Box::new(tls)))
            }
        };
        ClientStream::new(wire.socket.into_std()?, tls)
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self, Transport::Tls(_))
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Clear(wire) => Pin::new(wire).poll_read(context, buffer),
            Transport::Tls(stream) => Pin::new(&mut **stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Clear(wire) => Pin::new(wire).poll_write(context, bytes),
            Transport::Tls(stream) => Pin::new(&mut **stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Clear(wire) => Pin::new(wire).poll_flush(context),
            Transport::Tls(stream) => Pin::new(&mut **stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Clear(wire) => Pin::new(wire).poll_shutdown(context),
            Transport::Tls(stream) => Pin::new(&mut **stream).poll_shutdown(context),
        }
    }
}
