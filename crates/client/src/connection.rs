//! A connection: login, batches, attention.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::ops::ControlFlow;
use std::time::Duration;

use extentdb_tds::column::ColumnSource;
use extentdb_tds::login::{Login, LoginFlags, Password};
use extentdb_tds::packet::{
    HEADER_BYTES, PACKET_BYTES_DEFAULT, PacketHeader, PacketKind, PacketWriter, status,
};
use extentdb_tds::prelogin::{Encryption, Prelogin, ProgramVersion};
use extentdb_tds::request::{Headers, SqlBatch};
use extentdb_tds::token::{
    Done, DoneStatus, EnvChange, MessageKind, ReturnValue, ServerMessage, Token, TokenDecoder,
};
use extentdb_tds::{Column, Protocol, TdsVersion};
use extentdb_types::{Collation, Datum};

use crate::error::Error;
use crate::tls::{self, Trust};
use crate::transport::Transport;

/// How often a caller is asked whether to go on.
const ASK: Duration = Duration::from_millis(100);
/// Largest token: a row with its values.
const TOKEN_BYTES_MAX: usize = 1 << 30;
/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;
/// Announce the database, which must exist; announce the language.
const OPTION_1: u8 = 0xE0;
/// The language must exist; QUOTED_IDENTIFIER and the others as ODBC sets them.
const OPTION_2: u8 = 0x03;

/// How to connect.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name or address.
    pub host: String,
    /// Port; 1433 without another one.
    pub port: u16,
    /// Login.
    pub user: String,
    /// Its password.
    pub password: String,
    /// Database; empty: that of the login.
    pub database: String,
    /// Name of this machine, as the server shows it.
    pub workstation: String,
    /// Name of the program, as the server shows it.
    pub application: String,
    /// How long to wait for the connection and the login.
    pub timeout: Duration,
    /// Whose certificates are taken.
    pub trust: Trust,
    /// What is encrypted.
    pub encryption: TlsScope,
}

/// What of a connection is encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TlsScope {
    /// Everything.
    #[default]
    All,
    /// The login: requests and rows are clear. For networks that nobody else reads.
    Login,
}

impl Options {
    /// The usual options.
    pub fn new(host: &str, user: &str, password: &str) -> Options {
        Options {
            host: host.to_owned(),
            port: 1433,
            user: user.to_owned(),
            password: password.to_owned(),
            database: String::new(),
            workstation: String::new(),
            application: "extentdb".to_owned(),
            timeout: Duration::from_secs(15),
            trust: Trust::default(),
            encryption: TlsScope::default(),
        }
    }
}

/// What a server answers, in its order.
#[derive(Debug)]
pub enum Event<'e> {
    /// The columns of the rows that follow.
    Columns(&'e [Column]),
    /// A row.
    Row(&'e [Datum<'e>]),
    /// An error or information.
    Message(&'e ServerMessage),
    /// A statement has ended; the number of its rows when there is one.
    Done(Option<u64>),
    /// A procedure gave its status.
    Status(i32),
    /// An output parameter of a procedure.
    Value(&'e ReturnValue<'e>),
    /// Nothing has arrived for a moment.
    Waiting,
}

/// A connection that is logged in.
pub struct Connection {
    transport: Transport,
    protocol: Protocol,
    packet_bytes: u16,
    /// Descriptor of the open transaction; 0 for none.
    transaction: u64,
    database: String,
    /// What was received and not read yet.
    input: Vec<u8>,
    /// Where the next bytes are received.
    buffer: Vec<u8>,
    is_ended: bool,
    /// Before that, a pause is the end.
    is_logged_in: bool,
    /// An attention was sent, and is not acknowledged.
    is_cancelling: bool,
}

/// Takes what a server answers; a break cancels the request.
pub(crate) type Take<'t> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 't;

impl Connection {
    /// Connects and logs in. What the server says of database and language is not told.
    ///
    /// # Errors
    /// The server cannot be reached, is not trusted, or does not take the login.
    pub fn open(options: &Options) -> Result<Connection, Error> {
        let (socket, address) = connect(options)?;
        let broken = Error::Broken;
        socket.set_nodelay(true).map_err(broken)?;
        socket.set_read_timeout(Some(options.timeout)).map_err(broken)?;
        let mut connection = Connection {
            transport: Transport::Clear(socket.try_clone().map_err(broken)?),
            protocol: Protocol::new(TdsVersion::V7_4, Collation::SQL_LATIN1_GENERAL_CP1_CI_AS),
            packet_bytes: PACKET_BYTES_DEFAULT,
            transaction: 0,
            database: String::new(),
            input: Vec::new(),
            buffer: vec![0; READ_BYTES],
            is_ended: false,
            is_logged_in: false,
            is_cancelling: false,
        };
        connection.prelogin(options.encryption)?;
        let tls = tls::client(&options.host, address.ip(), &options.trust)?;
        let clone = socket.try_clone().map_err(broken)?;
        connection.transport = Transport::encrypted(clone, tls)
            .map_err(|source| Error::Tls { host: options.host.clone(), source })?;
        connection.login(options, &socket)?;
        socket.set_read_timeout(Some(ASK)).map_err(broken)?;
        connection.is_logged_in = true;
        Ok(connection)
    }

    /// The current database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// Runs a batch. When `take` breaks, the batch is cancelled and the rest of its answer read.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn batch(&mut self, text: &str, take: &mut Take<'_>) -> Result<(), Error> {
        let mut body = Vec::new();
        SqlBatch::write(&self.headers(), text, self.protocol.version(), &mut body);
        self.send(PacketKind::SqlBatch, &body)?;
        self.answer(take)
    }

    fn prelogin(&mut self, scope: TlsScope) -> Result<(), Error> {
        let prelogin = Prelogin {
            version: ProgramVersion::default(),
            encryption: Some(match scope {
                TlsScope::All => Encryption::On,
                TlsScope::Login => Encryption::Off,
            }),
            mars: Some(false),
            ..Prelogin::default()
        };
        let mut body = Vec::new();
        prelogin.write(&mut body)?;
        self.send(PacketKind::Prelogin, &body)?;
        let mut answer = Vec::new();
        loop {
            let (is_last, length) = self.packet(&mut |_| ControlFlow::Continue(()))?;
            answer.extend(self.input.drain(..length).skip(HEADER_BYTES));
            if is_last {
                break;
            }
        }
        match Prelogin::read(&answer)?.encryption {
            Some(Encryption::On | Encryption::Required) => Ok(()),
            Some(Encryption::Off) if scope == TlsScope::Login => Ok(()),
            _ => Err(Error::NotEncrypted),
        }
    }

    fn login(&mut self, options: &Options, socket: &TcpStream) -> Result<(), Error> {
        let login = Login {
            tds_version: self.protocol.version().raw(),
            flags: LoginFlags {
                option1: OPTION_1,
                option2: OPTION_2,
                ..LoginFlags::default()
            },
            user: options.user.clone(),
            password: Password::new(&options.password),
            host: options.workstation.clone(),
            application: options.application.clone(),
            server: options.host.clone(),
            library: "extentdb".to_owned(),
            database: options.database.clone(),
            ..Login::default()
        };
        let mut body = Vec::new();
        login.write(&mut body)?;
        self.send(PacketKind::Login, &body)?;
        if options.encryption == TlsScope::Login {
            self.transport = Transport::Clear(socket.try_clone().map_err(Error::Broken)?);
        }
        let mut refused = None;
        let mut is_done = false;
        let answered = self.answer(&mut |event| {
            match event {
                Event::Message(message) if message.kind == MessageKind::Error => {
                    refused.get_or_insert_with(|| Box::new(message.clone()));
                }
                Event::Done(_) => is_done = true,
                _ => {}
            }
            ControlFlow::Continue(())
        });
        match refused {
            Some(message) => Err(Error::Login(message)),
            None if is_done => answered,
            None => answered.and(Err(Error::Ended)),
        }
    }

    pub(crate) fn send(&mut self, kind: PacketKind, body: &[u8]) -> Result<(), Error> {
        let mut packets = self.packets();
        packets.begin(kind, 0);
        packets.body().extend_from_slice(body);
        packets.end();
        self.send_packets(&mut packets)
    }

    pub(crate) fn packets(&self) -> PacketWriter {
        PacketWriter::new(self.packet_bytes, 0)
    }

    /// Sends the packets that are complete.
    pub(crate) fn send_packets(&mut self, packets: &mut PacketWriter) -> Result<(), Error> {
        if self.is_ended {
            return Err(Error::Ended);
        }
        let ready = packets.ready();
        let bytes = ready.len();
        self.transport.send(ready).map_err(Error::Broken)?;
        packets.consume(bytes);
        Ok(())
    }

    pub(crate) fn protocol(&self) -> Protocol {
        self.protocol
    }

    pub(crate) fn headers(&self) -> Headers {
        Headers::of_transaction(self.transaction)
    }

    /// Reads an answer to its end.
    pub(crate) fn answer(&mut self, take: &mut Take<'_>) -> Result<(), Error> {
        let mut tokens = TokenDecoder::new(self.protocol, ColumnSource::Result, TOKEN_BYTES_MAX);
        self.is_cancelling = false;
        loop {
            let (is_last, length) = self.packet(take)?;
            tokens.push(self.input.get(HEADER_BYTES..length).unwrap_or_default());
            self.input.drain(..length);
            if is_last {
                tokens.end();
            }
            let mut is_acknowledged = false;
            while let Some(token) = tokens.next_token()? {
                if let Token::Done(Done { status, .. }) = &token {
                    is_acknowledged |= status.has(DoneStatus::ATTENTION);
                }
                let is_told = !self.is_cancelling || matches!(token, Token::EnvChange(_));
                if is_told && self.told(&token, take)?.is_break() {
                    self.cancel()?;
                }
            }
            if is_last && (!self.is_cancelling || is_acknowledged) {
                return Ok(());
            }
            if is_last {
                // The answer was complete; the acknowledgement is a message of its own.
                tokens = TokenDecoder::new(self.protocol, ColumnSource::Result, TOKEN_BYTES_MAX);
            }
        }
    }

    /// Asks the server to end the batch.
    fn cancel(&mut self) -> Result<(), Error> {
        if self.is_cancelling {
            return Ok(());
        }
        self.is_cancelling = true;
        self.send(PacketKind::Attention, &[])
    }

    /// Hands a token on.
    fn told(&mut self, token: &Token<'_>, take: &mut Take<'_>) -> Result<ControlFlow<()>, Error> {
        Ok(match token {
            Token::Columns(columns) | Token::ColumnsAsBefore(columns) => {
                take(Event::Columns(columns))
            }
            Token::Row(row) => take(Event::Row(&row.to_values()?)),
            Token::Message(message) => take(Event::Message(message)),
            Token::Done(done) => {
                take(Event::Done(done.status.has(DoneStatus::COUNT).then_some(done.rows)))
            }
            Token::ReturnStatus(status) => take(Event::Status(*status)),
            Token::ReturnValue(value) => take(Event::Value(value)),
            Token::EnvChange(change) => {
                self.changed(change);
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        })
    }

    fn changed(&mut self, change: &EnvChange) {
        match change {
            EnvChange::Begin { descriptor } => self.transaction = *descriptor,
            EnvChange::Commit { .. }
            | EnvChange::Rollback { .. }
            | EnvChange::TransactionEnded { .. } => self.transaction = 0,
            EnvChange::PacketSize { new, .. } => self.packet_bytes = *new,
            EnvChange::Database { new, .. } => self.database.clone_from(new),
            _ => {}
        }
    }

    /// Waits for the next packet of an answer, which is at the beginning of the input then: is it
    /// the last one, and its length.
    fn packet(&mut self, take: &mut Take<'_>) -> Result<(bool, usize), Error> {
        self.fill(HEADER_BYTES, take)?;
        let header = self.input.first_chunk::<HEADER_BYTES>().copied();
        let header = header.and_then(PacketHeader::from_bytes);
        let foreign = || Error::Broken(io::Error::other("the server does not speak TDS"));
        let header = header.ok_or_else(foreign)?;
        let length = usize::from(header.length);
        self.fill(length, take)?;
        Ok((header.status & status::END_OF_MESSAGE != 0, length))
    }

    /// Receives until `bytes` bytes are there.
    fn fill(&mut self, bytes: usize, take: &mut Take<'_>) -> Result<(), Error> {
        while self.input.len() < bytes {
            match self.transport.receive(&mut self.buffer) {
                Ok(0) => {
                    self.is_ended = true;
                    return Err(Error::Ended);
                }
                Ok(count) => {
                    self.input.extend_from_slice(self.buffer.get(..count).unwrap_or_default());
                }
                Err(error) if is_pause(&error) && self.is_logged_in => {
                    if take(Event::Waiting).is_break() {
                        self.cancel()?;
                    }
                }
                Err(error) => {
                    self.is_ended = true;
                    return Err(Error::Broken(error));
                }
            }
        }
        Ok(())
    }
}

fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

fn connect(options: &Options) -> Result<(TcpStream, SocketAddr), Error> {
    let host = &options.host;
    let failed = |source| Error::Connect { address: format!("{host},{}", options.port), source };
    let addresses = (host.as_str(), options.port).to_socket_addrs().map_err(failed)?;
    let mut last = Error::NoAddress { host: host.clone() };
    for address in addresses {
        match TcpStream::connect_timeout(&address, options.timeout) {
            Ok(socket) => return Ok((socket, address)),
            Err(error) => last = failed(error),
        }
    }
    Err(last)
}
