//! A client made of our own codec in the other direction, over real sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use extentdb_server::{ErrorLog, RunningServer, Settings, start};
use extentdb_tds::column::ColumnSource;
use extentdb_tds::login::{Login, LoginFlags, Password};
use extentdb_tds::packet::{
    BulkDelivery, Event, Limits, MessageDecoder, PACKET_BYTES_DEFAULT, PacketKind, PacketWriter,
    Reset,
};
use extentdb_tds::prelogin::{Encryption, Prelogin, ProgramVersion};
use extentdb_tds::request::{Headers, SqlBatch};
use extentdb_tds::token::{Token, TokenDecoder};
use extentdb_tds::{Protocol, TdsVersion};
use extentdb_types::{Collation, Datum, plain};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

pub(crate) const PASSWORD: &str = "yourStrong(!)Password";
const LATIN1: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
const LIMITS: Limits = Limits { packet_bytes_max: 32_767, message_bytes_max: 1 << 24 };

/// A server in memory on a free port.
pub(crate) fn server() -> RunningServer {
    server_with(|_| {})
}

pub(crate) fn server_with(change: impl FnOnce(&mut Settings)) -> RunningServer {
    let mut settings = Settings::new("/data");
    settings.is_ephemeral = true;
    settings.port = 0;
    settings.address = Some("127.0.0.1".parse().unwrap());
    settings.sa_password = Some(PASSWORD.to_owned());
    change(&mut settings);
    start(settings, &[], ErrorLog::kept().0).unwrap()
}

/// How a client wants to be connected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tls {
    /// No PRELOGIN at all.
    Bare,
    None,
    LoginOnly,
    All,
    Strict,
}

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A client.
pub(crate) struct Client {
    stream: Box<dyn Stream>,
    socket: TcpStream,
    protocol: Protocol,
    messages: MessageDecoder,
    /// Read and not decoded.
    input: Vec<u8>,
    pub(crate) descriptor: u64,
}

/// TLS inside PRELOGIN packets, as a client does it.
struct Wrapped {
    socket: TcpStream,
    is_wrapped: Arc<std::sync::atomic::AtomicBool>,
    left: Vec<u8>,
}

impl Read for Wrapped {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left.is_empty() {
            if !self.is_wrapped.load(std::sync::atomic::Ordering::SeqCst) {
                return self.socket.read(buffer);
            }
            let mut header = [0; 8];
            self.socket.read_exact(&mut header)?;
            let length = usize::from(u16::from_be_bytes([header[2], header[3]])) - 8;
            self.left.resize(length, 0);
            self.socket.read_exact(&mut self.left)?;
        }
        let count = buffer.len().min(self.left.len());
        buffer[..count].copy_from_slice(&self.left[..count]);
        self.left.drain(..count);
        Ok(count)
    }
}

impl Write for Wrapped {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.is_wrapped.load(std::sync::atomic::Ordering::SeqCst) {
            let length = (bytes.len() + 8) as u16;
            let [high, low] = length.to_be_bytes();
            self.socket.write_all(&[18, 1, high, low, 0, 0, 1, 0])?;
        }
        self.socket.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.socket.flush()
    }
}

/// Takes any certificate.
#[derive(Debug)]
struct Trusting;

impl rustls::client::danger::ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &[rustls::pki_types::CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        rustls::crypto::ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

fn tls_client(alpn: Option<&[u8]>) -> ClientConnection {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting))
        .with_no_client_auth();
    config.alpn_protocols = alpn.map(<[u8]>::to_vec).into_iter().collect();
    ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap()
}

impl Client {
    /// A client that is logged in as sa.
    pub(crate) fn connect(address: SocketAddr, version: TdsVersion, tls: Tls) -> Client {
        let (client, tokens) = Client::login(address, version, tls, "sa", PASSWORD);
        assert!(tokens.iter().any(|token| token.starts_with("LOGINACK")), "{tokens:?}");
        client
    }

    /// A client and what its login was answered.
    pub(crate) fn login(
        address: SocketAddr,
        version: TdsVersion,
        tls: Tls,
        user: &str,
        password: &str,
    ) -> (Client, Vec<String>) {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.set_nodelay(true).unwrap();
        let mut client = Client {
            input: Vec::new(),
            stream: Box::new(socket.try_clone().unwrap()),
            socket,
            protocol: Protocol::new(version, LATIN1),
            messages: MessageDecoder::new(LIMITS, BulkDelivery::Whole),
            descriptor: 0,
        };
        if tls == Tls::Strict {
            let stream = client.socket.try_clone().unwrap();
            client.stream = Box::new(StreamOwned::new(tls_client(Some(b"tds/8.0")), stream));
        }
        if tls != Tls::Bare {
            client.prelogin(tls);
        }
        let plain = (tls == Tls::LoginOnly).then(|| client.socket.try_clone().unwrap());
        client.send_login(user, password);
        if let Some(plain) = plain {
            client.stream = Box::new(plain);
        }
        let answer = client.receive();
        let tokens = answer.map(|body| client.tokens(&body)).unwrap_or_default();
        (client, tokens)
    }

    fn prelogin(&mut self, tls: Tls) {
        let encryption = match tls {
            Tls::None | Tls::Bare => Encryption::NotSupported,
            Tls::LoginOnly => Encryption::Off,
            Tls::All | Tls::Strict => Encryption::On,
        };
        let prelogin = Prelogin {
            version: ProgramVersion { major: 17, ..ProgramVersion::default() },
            encryption: Some(encryption),
            mars: Some(true),
            ..Prelogin::default()
        };
        let mut body = Vec::new();
        prelogin.write(&mut body).unwrap();
        self.send(PacketKind::Prelogin, Reset::None, &body);
        let answer = Prelogin::read(&self.receive().unwrap()).unwrap();
        assert_eq!(answer.mars, Some(false));
        assert_eq!(answer.encryption, Some(encryption));
        if matches!(tls, Tls::LoginOnly | Tls::All) {
            let is_wrapped = Arc::new(std::sync::atomic::AtomicBool::new(true));
            let socket = self.socket.try_clone().unwrap();
            let wrapped = Wrapped { socket, is_wrapped: is_wrapped.clone(), left: Vec::new() };
            let mut stream = StreamOwned::new(tls_client(None), wrapped);
            while stream.conn.is_handshaking() {
                stream.conn.complete_io(&mut stream.sock).unwrap();
            }
            is_wrapped.store(false, std::sync::atomic::Ordering::SeqCst);
            self.stream = Box::new(stream);
        }
    }

    fn send_login(&mut self, user: &str, password: &str) {
        let login = Login {
            tds_version: self.protocol.version().raw(),
            flags: LoginFlags { option1: 0xE0, option2: 0x03, ..LoginFlags::default() },
            user: user.to_owned(),
            password: Password::new(password),
            host: "here".to_owned(),
            application: "test".to_owned(),
            ..Login::default()
        };
        let mut body = Vec::new();
        login.write(&mut body).unwrap();
        self.send(PacketKind::Login, Reset::None, &body);
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, kind: PacketKind, reset: Reset, body: &[u8]) {
        let mut packets = PacketWriter::new(PACKET_BYTES_DEFAULT, 0);
        packets.begin(kind, reset.status());
        packets.body().extend_from_slice(body);
        packets.end();
        let mut bytes = Vec::new();
        packets.take_ready(&mut bytes);
        // A server that has hung up is seen when its answer is read.
        let _ = self.stream.write_all(&bytes).and_then(|()| self.stream.flush());
    }

    /// Sends packets as they are.
    #[allow(dead_code, reason = "not every test uses all of this module")]
    pub(crate) fn send_packets(&mut self, packets: &mut PacketWriter) {
        let mut bytes = Vec::new();
        packets.take_ready(&mut bytes);
        self.stream.write_all(&bytes).and_then(|()| self.stream.flush()).unwrap();
    }

    /// Sends a batch in one packet that says to ignore it.
    pub(crate) fn send_ignored(&mut self, text: &str) {
        const IGNORE: u8 = 0x2;
        const STATUS: usize = 1;
        let mut body = Vec::new();
        let headers = Headers::of_transaction(self.descriptor);
        SqlBatch::write(&headers, text, self.protocol.version(), &mut body);
        let mut packets = PacketWriter::new(PACKET_BYTES_DEFAULT, 0);
        packets.begin(PacketKind::SqlBatch, Reset::None.status());
        packets.body().extend_from_slice(&body);
        packets.end();
        let mut bytes = Vec::new();
        packets.take_ready(&mut bytes);
        bytes[STATUS] |= IGNORE;
        self.stream.write_all(&bytes).and_then(|()| self.stream.flush()).unwrap();
    }

    /// Sends a batch.
    pub(crate) fn send_batch(&mut self, text: &str, reset: Reset) {
        let mut body = Vec::new();
        let headers = Headers::of_transaction(self.descriptor);
        SqlBatch::write(&headers, text, self.protocol.version(), &mut body);
        self.send(PacketKind::SqlBatch, reset, &body);
    }

    /// A batch and its answer, one token a line.
    pub(crate) fn batch(&mut self, text: &str) -> Vec<String> {
        self.send_batch(text, Reset::None);
        self.answer()
    }

    /// The next answer.
    pub(crate) fn answer(&mut self) -> Vec<String> {
        let body = self.receive().expect("an answer");
        self.tokens(&body)
    }

    /// The body of the next message; `None` at the end.
    pub(crate) fn receive(&mut self) -> Option<Vec<u8>> {
        loop {
            let read = std::mem::take(&mut self.input);
            let mut input = &read[..];
            let event = self.messages.decode(&mut input).unwrap();
            self.input = input.to_vec();
            if let Some(Event::Message(message)) = event {
                return Some(message.body);
            }
            let mut bytes = [0; 4096];
            let count = self.stream.read(&mut bytes).ok().filter(|count| *count > 0)?;
            self.input.extend_from_slice(&bytes[..count]);
        }
    }

    fn tokens(&mut self, body: &[u8]) -> Vec<String> {
        let mut decoder = TokenDecoder::new(self.protocol, ColumnSource::Result, 1 << 24);
        decoder.push(body);
        decoder.end();
        let mut lines = Vec::new();
        let mut descriptor = self.descriptor;
        while let Some(token) = decoder.next_token().unwrap() {
            lines.push(line(&token, &mut descriptor));
        }
        self.descriptor = descriptor;
        lines
    }

    pub(crate) fn protocol(&self) -> Protocol {
        self.protocol
    }
}

fn line(token: &Token<'_>, descriptor: &mut u64) -> String {
    use extentdb_tds::token::EnvChange;
    match token {
        Token::Columns(columns) => {
            let names: Vec<String> = columns
                .iter()
                .map(|it| format!("{} {} {:#x}", it.name, it.type_info.name(), it.flags.0))
                .collect();
            format!("COLUMNS {}", names.join(", "))
        }
        Token::Row(row) => {
            let values = row.to_values().unwrap();
            let values: Vec<String> = values.iter().map(shown).collect();
            format!("ROW {}", values.join(" | "))
        }
        Token::Done(done) => {
            format!("{:?} {:#x} {:#x} {}", done.kind, done.status.0, done.command, done.rows)
        }
        Token::Message(message) => {
            let it = message;
            format!(
                "{:?} {}.{}.{} line {}: {}",
                it.kind, it.number, it.class, it.state, it.line, it.text
            )
        }
        Token::EnvChange(change) => {
            match change {
                EnvChange::Begin { descriptor: new } => *descriptor = *new,
                EnvChange::Commit { .. } | EnvChange::Rollback { .. } => *descriptor = 0,
                _ => {}
            }
            let text = format!("{change:?}");
            format!("ENV {}", text.split(' ').next().unwrap())
        }
        Token::LoginAck(ack) => format!("LOGINACK {:#x} {}", ack.tds_version, ack.program),
        Token::ReturnStatus(status) => format!("STATUS {status}"),
        Token::ReturnValue(value) => {
            format!("VALUE {} {} {}", value.ordinal, value.name, shown(&value.value))
        }
        other => {
            let text = format!("{other:?}");
            text.split(['(', ' ']).next().unwrap().to_owned()
        }
    }
}

fn shown(value: &Datum<'_>) -> String {
    let mut text = String::new();
    match value {
        Datum::Null => text.push_str("NULL"),
        other => {
            plain::write_plain(other, &mut text).unwrap();
        }
    }
    text
}
