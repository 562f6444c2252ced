//! LOGIN7: who may in, and what is answered.
//!
//! The client is told 18456 with state 1 whatever is wrong; the log says which state it is.

use std::net::SocketAddr;
use std::time::Duration;

use extentdb_session::login::{ClientInfo, Refusal};
use extentdb_session::{Connection, Message};
use extentdb_tds::login::FeatureId;
use extentdb_tds::packet::{
    Message as Packet, PACKET_BYTES_DEFAULT, PacketWriter, negotiated_packet_bytes,
};
use extentdb_tds::token::{
    Done, DoneKind, DoneStatus, EnvChange, LoginAck, MessageKind, ServerMessage, command, login_ack,
};
use extentdb_tds::{EncodeError, Login, Protocol, TdsVersion, TokenWriter, WireCollation};

use crate::connections::{Admission, AdmissionLimits, Full};
use crate::listener::Shared;

/// Message of a login that fails.
const LOGIN_FAILED: i32 = 18456;
const LOGIN_SEVERITY: u8 = 14;
/// There are as many connections as there may be.
const TOO_MANY_CONNECTIONS: i32 = 17809;
const TOO_MANY_SEVERITY: u8 = 20;
const LANGUAGE: &str = "us_english";

/// A client that was let in, and the answer that tells it so.
pub(crate) struct Admitted {
    pub(crate) connection: Connection,
    pub(crate) admission: Admission,
    pub(crate) protocol: Protocol,
    pub(crate) writer: TokenWriter,
    pub(crate) answer: Vec<u8>,
}

/// A client that was not, what it is told, and when.
pub(crate) struct Rejected {
    pub(crate) answer: Vec<u8>,
    pub(crate) delay: Duration,
}

/// How the client is connected.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    pub(crate) was_encrypted: bool,
    pub(crate) is_encrypted: bool,
}

/// Answers LOGIN7. Blocks.
pub(crate) fn admit(
    packet: &Packet,
    link: Link,
    shared: &Shared,
) -> Result<Box<Admitted>, Rejected> {
    let login = Login::read(&packet.body).map_err(|error| {
        shared.log.logon(&format!("LOGIN7 is malformed: {error}. [CLIENT: {}]", link.peer.ip()));
        Rejected { answer: Vec::new(), delay: Duration::ZERO }
    })?;
    let version = login.version().unwrap_or(TdsVersion::V7_4);
    let reject = |refused: Refused| refused.rejected(&login, version, link, shared);
    verify(&login, link, shared).map_err(reject)?;
    let admission = let_in(&login, shared).map_err(reject)?;
    let client = client_info(&login, link);
    let connection = Connection::open(&shared.server, client).map_err(|message| {
        Refused {
            state: 38,
            reason: message.text.clone(),
            first: Some(message),
            counts: false,
        }
        .rejected(&login, version, link, shared)
    })?;
    shared.lockout.succeeded(link.peer.ip(), &login.user);
    let protocol = Protocol::new(version, connection.collation());
    let packets = PacketWriter::new(PACKET_BYTES_DEFAULT, connection.spid());
    let mut writer = TokenWriter::new(version, packets);
    let welcomed = welcome(&mut writer, &login, &connection, shared);
    welcomed.map_err(|_| Rejected { answer: Vec::new(), delay: Duration::ZERO })?;
    let mut answer = Vec::new();
    writer.packets().take_ready(&mut answer);
    writer.set_packet_bytes(negotiated_packet_bytes(login.packet_bytes));
    Ok(Box::new(Admitted { connection, admission, protocol, writer, answer }))
}

/// Why a login fails.
struct Refused {
    state: u8,
    reason: String,
    /// What is told before 18456.
    first: Option<Message>,
    /// Is it a failure that an attacker makes?
    counts: bool,
}

impl Refused {
    fn new(state: u8, reason: impl Into<String>) -> Refused {
        Refused { state, reason: reason.into(), first: None, counts: false }
    }

    fn rejected(self, login: &Login, version: TdsVersion, link: Link, shared: &Shared) -> Rejected {
        let address = link.peer.ip();
        let user = &login.user;
        let state = self.state;
        let reason = &self.reason;
        shared
            .log
            .logon(&format!("Error: {LOGIN_FAILED}, Severity: {LOGIN_SEVERITY}, State: {state}."));
        shared.log.logon(&format!(
            "Login failed for user '{user}'. Reason: {reason} [CLIENT: {address}]"
        ));
        let delay = if self.counts {
            shared.lockout.failed(address, user, shared.now())
        } else {
            Duration::ZERO
        };
        let text = format!("Login failed for user '{user}'.");
        let mut writer = TokenWriter::new(version, PacketWriter::new(PACKET_BYTES_DEFAULT, 0));
        writer.begin();
        let name = &shared.server.product().server_name;
        if let Some(first) = &self.first {
            writer.message(&error(first.number, first.severity, &first.text, name));
        }
        writer.message(&error(LOGIN_FAILED, LOGIN_SEVERITY, &text, name));
        let status = DoneStatus::ERROR;
        writer.done(Done {
            kind: DoneKind::Statement,
            status,
            command: command::NONE,
            rows: 0,
        });
        writer.end();
        let mut answer = Vec::new();
        writer.packets().take_ready(&mut answer);
        Rejected { answer, delay }
    }
}

fn error(number: i32, class: u8, text: &str, server: &str) -> ServerMessage {
    ServerMessage {
        kind: MessageKind::Error,
        number,
        state: 1,
        class,
        text: text.to_owned(),
        server: server.to_owned(),
        procedure: String::new(),
        line: 1,
    }
}

fn verify(login: &Login, link: Link, shared: &Shared) -> Result<(), Refused> {
    let address = link.peer.ip().to_canonical();
    let is_local = address.is_loopback();
    if let Some(what) = refused_way(login) {
        let first = Message {
            number: 18452,
            severity: LOGIN_SEVERITY,
            state: 1,
            procedure: String::new(),
            line: 1,
            text: format!("Login failed. {what} is not supported; use a SQL login."),
        };
        return Err(Refused { first: Some(first), ..Refused::new(1, format!("{what}.")) });
    }
    if !link.was_encrypted && !is_local && !shared.settings.allows_clear_text_login {
        let reason = "The password came in clear text (network.allowcleartextlogin).";
        return Err(Refused::new(58, reason));
    }
    if shared.lockout.is_locked(address, &login.user, shared.now()) {
        return Err(Refused::new(10, "Too many logins failed; the address has to wait."));
    }
    let verified = shared.server.with_logins(|logins| {
        let found = logins.verify(&login.user, login.password.text());
        found.map(|login| login.is_local_only)
    });
    match verified {
        Ok(true) if !is_local => {
            let reason = "The login has no strong password of its own and is local only.";
            Err(Refused { counts: true, ..Refused::new(11, reason) })
        }
        Ok(_) => Ok(()),
        Err(refusal) => Err(of_refusal(refusal)),
    }
}

/// Takes one of the connections that there may be. Only who has given his password does.
fn let_in(login: &Login, shared: &Shared) -> Result<Admission, Refused> {
    let limits = AdmissionLimits {
        all: shared.settings.connections_max,
        of_login: shared.settings.login_connections_max,
    };
    shared.connections.admit(&login.user, limits).map_err(|full| {
        let (of, most) = match full {
            Full::All => ("", limits.all),
            Full::Login => (" of this login", limits.of_login),
        };
        let reason = format!("There are {most} connections{of}, as many as there may be.");
        let first = Message {
            number: TOO_MANY_CONNECTIONS,
            severity: TOO_MANY_SEVERITY,
            state: 1,
            procedure: String::new(),
            line: 1,
            text: format!(
                "Could not connect because the maximum number of '{most}' user connections{of} has \
                 already been reached."
            ),
        };
        Refused { first: Some(first), ..Refused::new(10, reason) }
    })
}

fn of_refusal(refusal: Refusal) -> Refused {
    Refused {
        counts: true,
        ..Refused::new(refusal.state(), refusal.to_string())
    }
}

/// A way of logging in that is not there.
fn refused_way(login: &Login) -> Option<&'static str> {
    if login.wants_integrated_security() {
        return Some("Integrated authentication (SSPI)");
    }
    if login.feature(FeatureId::FederatedAuthentication).is_some() {
        return Some("Microsoft Entra authentication");
    }
    login.flags.changes_password().then_some("Changing the password at the login")
}

fn client_info(login: &Login, link: Link) -> ClientInfo {
    ClientInfo {
        login: login.user.clone(),
        host: login.host.clone(),
        application: login.application.clone(),
        library: login.library.clone(),
        process_id: login.process_id,
        database: login.database.clone(),
        requires_database: login.flags.requires_database() || !login.database.is_empty(),
        is_odbc: login.flags.is_odbc(),
        packet_bytes: negotiated_packet_bytes(login.packet_bytes).into(),
        client_address: Some(link.peer.ip().to_canonical().to_string()),
        local_address: Some(link.local.ip().to_canonical().to_string()),
        local_port: Some(link.local.port()),
        is_encrypted: link.is_encrypted,
    }
}

/// The tokens of a login, in the order that all clients take.
fn welcome(
    writer: &mut TokenWriter,
    login: &Login,
    connection: &Connection,
    shared: &Shared,
) -> Result<(), EncodeError> {
    let name = &shared.server.product().server_name;
    let info = |number: i32, state: u8, text: String| ServerMessage {
        kind: MessageKind::Info,
        state,
        class: 0,
        ..error(number, 0, &text, name)
    };
    let database = connection.database().to_owned();
    let collation = WireCollation::of(connection.collation()).to_bytes().to_vec();
    let packet_bytes = negotiated_packet_bytes(login.packet_bytes);
    let version = writer.version();
    let product = shared.server.product();
    let [major, minor, build, _] = product.version;
    writer.begin();
    writer.env_change(&EnvChange::Database { new: database.clone(), old: "master".to_owned() })?;
    writer.message(&info(5701, 2, format!("Changed database context to '{database}'.")));
    writer.env_change(&EnvChange::Collation { new: collation, old: Vec::new() })?;
    writer.env_change(&EnvChange::Language { new: LANGUAGE.to_owned(), old: String::new() })?;
    writer.message(&info(5703, 1, format!("Changed language setting to {LANGUAGE}.")));
    writer.login_ack(&LoginAck {
        interface: login_ack::INTERFACE_TSQL,
        tds_version: version.raw(),
        program: login_ack::PROGRAM.to_owned(),
        major: major as u8,
        minor: minor as u8,
        build,
    })?;
    writer.env_change(&EnvChange::PacketSize { new: packet_bytes, old: PACKET_BYTES_DEFAULT })?;
    if login.features.is_some() && version.has_feature_extensions() {
        writer.features(&[]);
    }
    let status = DoneStatus::FINAL;
    writer.done(Done {
        kind: DoneKind::Statement,
        status,
        command: command::NONE,
        rows: 0,
    });
    writer.end();
    Ok(())
}
