//! What system views show of the server, its logins and connections.
//!
//! A connection notes what it is when a request begins and ends; views read the notes of all
//! connections, from any thread.

use std::time::Duration;

use extentdb_base::SessionId;
use extentdb_base::sync::lock;
use extentdb_sysview::{
    ConnectionFacts, Facts, LoginFacts, RequestFacts, ServerFacts, SessionFacts,
};
use extentdb_types::{DateTime, Guid};

use crate::connection::Connection;
use crate::function::clock;
use crate::login::{SA, ServerRoles};
use crate::notes::Notes;
use crate::request::Isolation;
use crate::server::Server;

/// TDS 7.4, as LOGINACK tells it.
const PROTOCOL: i32 = 0x7400_0004;

impl Connection {
    /// Notes that a request begins.
    pub fn note_begin(&self) {
        let now = clock::since_epoch(self);
        let mut notes = lock(&self.notes);
        notes.is_running = true;
        notes.began = now;
    }

    /// Notes which statement runs.
    pub fn note_statement(&self, command: &'static str) {
        let mut notes = lock(&self.notes);
        notes.command = command;
        notes.nesting = self.nesting;
        notes.transactions = self.transaction.count;
    }

    /// Notes that a request has ended, and what it has left.
    pub fn note_end(&self) {
        let now = clock::since_epoch(self);
        let mut notes = lock(&self.notes);
        notes.is_running = false;
        notes.ended = Some(now);
        notes.rowcount = self.rowcount;
        notes.error = self.error;
        notes.transactions = self.transaction.count;
        if notes.options != self.options {
            notes.context_info.clone_from(&self.options.context_info);
            notes.options = self.options.clone();
        }
    }
}

/// A server as views ask about it.
pub struct ServerView<'s>(pub &'s Server);

impl Facts for ServerView<'_> {
    fn server(&self) -> ServerFacts {
        ServerFacts {
            name: self.0.product.server_name.clone(),
            started: datetime(self.0.started),
            ..ServerFacts::default()
        }
    }

    fn session(&self, id: SessionId) -> Option<SessionFacts> {
        self.0.sessions.notes(id).map(|notes| notes.session())
    }

    fn connection(&self, id: SessionId) -> Option<ConnectionFacts> {
        self.0.sessions.notes(id).map(|notes| notes.connection(id))
    }

    fn request(&self, id: SessionId) -> Option<RequestFacts> {
        let now = self.0.instance.options().database.clock.since_epoch();
        self.0.sessions.notes(id)?.request(now)
    }

    fn logins(&self) -> Vec<LoginFacts> {
        self.0.with_logins(|logins| {
            let mut all = vec![LoginFacts::sa()];
            let others = logins.all().iter().filter(|login| !login.name.eq_ignore_ascii_case(SA));
            for login in others {
                let roles = ServerRoles::FIXED.iter().filter(|own| login.roles.has(own.0));
                let date = |(days, ticks): (i32, u32)| {
                    DateTime::new(days, ticks).unwrap_or(DateTime::BASE)
                };
                all.push(LoginFacts {
                    name: login.name.clone(),
                    id: login.id,
                    sid: login.sid.clone(),
                    is_disabled: !login.is_enabled,
                    database: login.database.clone(),
                    dates: login.dates.map(|[made, changed]| (date(made), date(changed))),
                    roles: roles.map(|own| own.1).collect(),
                });
            }
            all
        })
    }
}

fn datetime(time: Duration) -> DateTime {
    clock::datetime_of(time).unwrap_or(DateTime::BASE)
}

fn filled(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

impl Notes {
    fn session(&self) -> SessionFacts {
        let Notes { client, options, .. } = self;
        SessionFacts {
            login_time: datetime(self.connected),
            host_name: filled(&client.host),
            program_name: filled(&client.application),
            host_process_id: i32::try_from(client.process_id).ok(),
            client_interface_name: filled(&client.library),
            login_name: client.login.clone(),
            original_login_name: client.login.clone(),
            is_running: self.is_running,
            context_info: self.context_info.clone(),
            cpu_time_ms: 0,
            last_request_start_time: datetime(self.began),
            last_request_end_time: self.ended.map(datetime),
            text_size: options.textsize,
            language: options.language.clone(),
            date_format: options.dateformat.to_owned(),
            date_first: options.datefirst,
            quoted_identifier: options.quoted_identifier,
            arithabort: options.arithabort,
            ansi_null_dflt_on: options.ansi_null_dflt_on,
            ansi_defaults: false,
            ansi_warnings: options.ansi_warnings,
            ansi_padding: options.ansi_padding,
            ansi_nulls: options.ansi_nulls,
            concat_null_yields_null: options.concat_null_yields_null,
            isolation_level: isolation_level(options.isolation),
            lock_timeout: options.lock_timeout,
            deadlock_priority: options.deadlock_priority,
            row_count: self.rowcount,
            prev_error: self.error,
            open_transaction_count: i32::try_from(self.transactions).unwrap_or(i32::MAX),
        }
    }

    /// What runs; `None` when nothing does.
    fn request(&self, now: Duration) -> Option<RequestFacts> {
        let elapsed = now.saturating_sub(self.began).as_millis();
        self.is_running.then(|| RequestFacts {
            start_time: datetime(self.began),
            command: self.command.to_owned(),
            elapsed_ms: i32::try_from(elapsed).unwrap_or(i32::MAX),
            cpu_time_ms: 0,
            row_count: self.rowcount,
            nest_level: i32::try_from(self.nesting).unwrap_or(i32::MAX),
            statement_offsets: None,
        })
    }

    fn connection(&self, id: SessionId) -> ConnectionFacts {
        let client = &self.client;
        let mut guid = [0; 16];
        let (own, _) = guid.split_at_mut(2);
        own.copy_from_slice(&id.0.to_le_bytes());
        ConnectionFacts {
            connect_time: datetime(self.connected),
            net_transport: "TCP".to_owned(),
            protocol_version: PROTOCOL,
            is_encrypted: client.is_encrypted,
            packet_bytes: i32::try_from(client.packet_bytes).unwrap_or(i32::MAX),
            client_address: client.client_address.clone(),
            client_port: None,
            local_address: client.local_address.clone(),
            local_port: client.local_port,
            id: Guid(guid),
            reads: None,
            writes: None,
            last_read: Some(datetime(self.began)),
            last_write: self.ended.map(datetime),
        }
    }
}

/// As `sys.dm_exec_sessions` numbers them.
fn isolation_level(isolation: Isolation) -> u8 {
    match isolation {
        Isolation::ReadUncommitted => 1,
        Isolation::RepeatableRead => 3,
        Isolation::Serializable => 4,
        Isolation::Snapshot => 5,
        _ => 2,
    }
}
