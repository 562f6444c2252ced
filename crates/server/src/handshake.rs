//! From the first byte to LOGIN7: PRELOGIN, and TLS in one of its ways.
//!
//! | first byte | |
//! |---|---|
//! | 0x12 | PRELOGIN: TDS 7.x |
//! | 0x10 | LOGIN7 at once: an old client without TLS |
//! | 0x16 | TLS below everything: TDS 8.0, PRELOGIN comes inside |

use std::io;
use std::net::SocketAddr;

use extentdb_tds::packet::{Message, PACKET_BYTES_DEFAULT, PacketKind, PacketWriter};
use extentdb_tds::prelogin::{
    Encryption, Prelogin, ProgramVersion, ServerEncryption, TlsScope, negotiate,
};
use extentdb_tds::{TdsVersion, TokenWriter};
use tokio::io::AsyncWriteExt;

use crate::listener::Shared;
use crate::reader::{Arrived, MessageReader};
use crate::transport::{Transport, Wire};

const TLS_HANDSHAKE: u8 = 0x16;

/// A client that has said who it is.
pub(crate) struct Greeted {
    pub(crate) transport: Transport,
    pub(crate) reader: MessageReader,
    /// LOGIN7.
    pub(crate) login: Message,
    /// LOGIN7 came inside TLS.
    pub(crate) was_encrypted: bool,
}

/// Talks up to LOGIN7; `None` when the client leaves or is shown out.
pub(crate) async fn greet(
    wire: Wire,
    peer: SocketAddr,
    shared: &Shared,
) -> io::Result<Option<Greeted>> {
    let mut reader = MessageReader::new();
    let mut transport = match wire.first_byte().await? {
        None => return Ok(None),
        Some(TLS_HANDSHAKE) => Transport::Tls(Box::new(shared.tls.strict.accept(wire).await?)),
        Some(_) => Transport::Clear(wire),
    };
    let Arrived::Message(first) = reader.next(&mut transport).await? else { return Ok(None) };
    if first.kind == PacketKind::Login {
        return Ok(Some(greeted(transport, reader, first)));
    }
    if first.kind != PacketKind::Prelogin {
        return Ok(None);
    }
    let scope = answer(&mut transport, &first, peer, shared).await?;
    let Some(scope) = scope else { return Ok(None) };
    if scope != TlsScope::None && !transport.is_encrypted() {
        transport = encrypted(transport, shared).await?;
    }
    let Arrived::Message(login) = reader.next(&mut transport).await? else { return Ok(None) };
    if login.kind != PacketKind::Login {
        return Ok(None);
    }
    let mut greeted = greeted(transport, reader, login);
    if scope == TlsScope::LoginOnly {
        greeted.transport = greeted.transport.without_tls();
    }
    Ok(Some(greeted))
}

fn greeted(transport: Transport, reader: MessageReader, login: Message) -> Greeted {
    let was_encrypted = transport.is_encrypted();
    Greeted { transport, reader, login, was_encrypted }
}

/// Answers PRELOGIN; how much is encrypted, `None` when the client asks for too little.
async fn answer(
    transport: &mut Transport,
    message: &Message,
    peer: SocketAddr,
    shared: &Shared,
) -> io::Result<Option<TlsScope>> {
    let invalid = |error: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidData, error.to_string())
    };
    let client = Prelogin::read(&message.body).map_err(|error| invalid(&error))?;
    let negotiation = negotiate(client.encryption, shared.encryption(client.encryption, peer));
    let is_strict = transport.is_encrypted();
    let answer = if is_strict { Encryption::On } else { negotiation.answer };
    let [major, minor, build, sub_build] = shared.server.product().version;
    let version = ProgramVersion { major: major as u8, minor: minor as u8, build, sub_build };
    let mut body = Vec::new();
    client.answer(version, answer).write(&mut body).map_err(|error| invalid(&error))?;
    let packets = PacketWriter::new(PACKET_BYTES_DEFAULT, 0);
    let mut writer = TokenWriter::new(TdsVersion::V7_4, packets);
    writer.begin();
    writer.packets().body().extend_from_slice(&body);
    writer.end();
    transport.write_all(writer.ready()).await?;
    transport.flush().await?;
    if is_strict {
        return Ok(Some(TlsScope::All));
    }
    Ok(negotiation.is_acceptable.then_some(negotiation.scope))
}

async fn encrypted(transport: Transport, shared: &Shared) -> io::Result<Transport> {
    let Transport::Clear(mut wire) = transport else { return Ok(transport) };
    wire.wrap();
    let mut stream = shared.tls.wrapped.accept(wire).await?;
    stream.flush().await?;
    stream.get_mut().0.unwrap_tls();
    Ok(Transport::Tls(Box::new(stream)))
}

impl Shared {
    /// What the server wants of this client.
    pub(crate) fn encryption(
        &self,
        client: Option<Encryption>,
        peer: SocketAddr,
    ) -> ServerEncryption {
        let is_clear = matches!(client, None | Some(Encryption::NotSupported));
        let is_risky = is_clear && !peer.ip().to_canonical().is_loopback();
        if self.settings.forces_encryption || (is_risky && !self.settings.allows_clear_text_login) {
            ServerEncryption::Forced
        } else {
            ServerEncryption::Available
        }
    }
}
