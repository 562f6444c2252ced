//! What a session gives, as tokens.
//!
//! ```text
//! session ─▶ Response ─▶ TokenWriter ─▶ ClientStream: the socket, from the thread of the request
//! ```
//!
//! Invariants
//! - A DONE waits until it is known whether something follows: exactly one DONE of a response has
//!   no MORE, and it is the last token.
//! - The thread waits while the client does not read, so memory does not grow with a result; when
//!   the connection is gone it is told [`Gone`].

use extentdb_session::{
    ColumnInfo, ColumnOrigin, Done, Environment, Gone, Message, Origins, Output, OutputValue,
    Scope, StatementCode,
};
use extentdb_tds::token::{
    self, DoneKind, DoneStatus, EnvChange, MessageKind, ReturnValue, ReturnValueKind,
    ServerMessage, col_info, command,
};
use extentdb_tds::type_info::Nullability;
use extentdb_tds::{Column, ColumnFlags, Protocol, TokenWriter, TypeInfo};
use extentdb_types::Datum;

use crate::stream::ClientStream;

/// Bytes that are collected before they are sent.
const SEND_BYTES: usize = 16 * 1024;

/// An error from this severity on ends the connection.
const FATAL_SEVERITY: u8 = 20;

/// Sends a response.
pub(crate) struct Response<'r> {
    writer: TokenWriter,
    protocol: Protocol,
    server_name: &'r str,
    stream: &'r ClientStream,
    columns: Vec<Column>,
    waiting: Option<token::Done>,
    has_no_metadata: bool,
    /// The client was told of an error that ends the connection.
    is_severe: bool,
}

impl<'r> Response<'r> {
    /// Begins a response.
    pub(crate) fn begin(
        mut writer: TokenWriter,
        protocol: Protocol,
        server_name: &'r str,
        stream: &'r ClientStream,
    ) -> Response<'r> {
        writer.begin();
        Response {
            writer,
            protocol,
            server_name,
            stream,
            columns: Vec::new(),
            waiting: None,
            has_no_metadata: false,
            is_severe: false,
        }
    }

    /// Are the columns of the next request to be left out?
    pub(crate) fn set_no_metadata(&mut self, has_no_metadata: bool) {
        self.has_no_metadata = has_no_metadata;
    }

    /// Ends the response; `is_cut_short` says that its request did not come to its end. The writer
    /// goes on to the next one.
    pub(crate) fn end(mut self, is_cut_short: bool) -> TokenWriter {
        let last = match self.waiting.take() {
            Some(waiting) if !is_cut_short => waiting,
            waiting => {
                if let Some(waiting) = waiting {
                    self.write_done(waiting, DoneStatus::MORE);
                }
                let status = match (is_cut_short, self.is_severe) {
                    (true, true) => DoneStatus::ERROR.with(DoneStatus::SEVERE_ERROR),
                    (true, false) => DoneStatus::ERROR,
                    (false, _) => DoneStatus::FINAL,
                };
                token::Done {
                    kind: DoneKind::Statement,
                    status,
                    command: command::NONE,
                    rows: 0,
                }
            }
        };
        self.writer.done(last);
        self.writer.end();
        // Nobody is left to be told that nobody reads.
        let _ = self.send();
        self.writer
    }

    fn write_done(&mut self, done: token::Done, more: DoneStatus) {
        self.writer.done(token::Done { status: done.status.with(more), ..done });
    }

    /// Something follows what was done.
    fn go_on(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            self.write_done(waiting, DoneStatus::MORE);
        }
    }

    fn send_if_much(&mut self) -> Result<(), Gone> {
        if self.writer.ready().len() < SEND_BYTES { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> Result<(), Gone> {
        let ready = self.writer.ready();
        let bytes = ready.len();
        if bytes == 0 {
            return Ok(());
        }
        let sent = self.stream.write_all(ready);
        self.writer.consume(bytes);
        sent.map_err(|_| Gone)
    }

    fn server_message(&self, message: &Message) -> ServerMessage {
        ServerMessage {
            kind: if message.is_error() { MessageKind::Error } else { MessageKind::Info },
            number: message.number,
            state: message.state,
            class: message.severity,
            text: message.text.clone(),
            server: self.server_name.to_owned(),
            procedure: message.procedure.clone(),
            line: message.line,
        }
    }

    /// What cannot be said in the client's version is said in words.
    fn refuse(&mut self, what: &str) -> Result<(), Gone> {
        let text = format!("The value cannot be sent: {what}.");
        let message = Message {
            number: 40517,
            severity: 16,
            state: 1,
            procedure: String::new(),
            line: 1,
            text,
        };
        self.message(&message, false)
    }
}

impl Output for Response<'_> {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), Gone> {
        self.go_on();
        self.columns = columns.iter().map(|column| wire_column(column, &self.protocol)).collect();
        if self.has_no_metadata {
            self.writer.columns_as_before();
        } else if let Err(error) = self.writer.columns(&self.columns) {
            return self.refuse(&error.to_string());
        }
        self.send_if_much()
    }

    fn origins(&mut self, origins: &Origins) -> Result<(), Gone> {
        if self.has_no_metadata {
            return Ok(());
        }
        let tables =
            if origins.table.is_empty() { &[][..] } else { std::slice::from_ref(&origins.table) };
        let columns = origins.columns.iter().zip(self.columns.iter()).zip(1_u64..);
        let columns: Vec<_> =
            columns.map(|((origin, column), at)| wire_origin(origin, column, at)).collect();
        let written = self.writer.table_names(tables);
        match written.and_then(|()| self.writer.column_info(&columns)) {
            Ok(()) => self.send_if_much(),
            Err(error) => self.refuse(&error.to_string()),
        }
    }

    fn row(&mut self, values: &[Datum<'_>]) -> Result<(), Gone> {
        if let Err(error) = self.writer.row(&self.columns, values) {
            return self.refuse(&error.to_string());
        }
        self.send_if_much()
    }

    fn done(&mut self, done: Done) -> Result<(), Gone> {
        self.go_on();
        let mut status = DoneStatus::FINAL;
        for (is_set, bit) in [
            (done.is_error, DoneStatus::ERROR),
            (self.is_severe, DoneStatus::SEVERE_ERROR),
            (done.in_transaction, DoneStatus::IN_TRANSACTION),
            (done.count.is_some(), DoneStatus::COUNT),
        ] {
            if is_set {
                status = status.with(bit);
            }
        }
        self.waiting = Some(token::Done {
            kind: match done.scope {
                Scope::Batch => DoneKind::Statement,
                Scope::Procedure => DoneKind::InProcedure,
                Scope::ProcedureEnd => DoneKind::Procedure,
            },
            status,
            command: code(done.code),
            rows: done.count.unwrap_or(0),
        });
        self.send_if_much()
    }

    fn message(&mut self, message: &Message, is_urgent: bool) -> Result<(), Gone> {
        self.go_on();
        self.is_severe |= message.severity >= FATAL_SEVERITY;
        self.writer.message(&self.server_message(message));
        if is_urgent {
            self.writer.flush();
            return self.send();
        }
        self.send_if_much()
    }

    fn environment(&mut self, change: &Environment) -> Result<(), Gone> {
        self.go_on();
        let change = match change {
            Environment::Database { new, old } => {
                EnvChange::Database { new: new.clone(), old: old.clone() }
            }
            Environment::Language { new, old } => {
                EnvChange::Language { new: new.clone(), old: old.clone() }
            }
            Environment::Begin { descriptor } => EnvChange::Begin { descriptor: *descriptor },
            Environment::Commit { descriptor } => EnvChange::Commit { descriptor: *descriptor },
            Environment::Rollback { descriptor } => EnvChange::Rollback { descriptor: *descriptor },
            Environment::Reset => EnvChange::Reset,
        };
        match self.writer.env_change(&change) {
            Ok(()) => self.send_if_much(),
            Err(error) => self.refuse(&error.to_string()),
        }
    }

    fn return_status(&mut self, status: i32) -> Result<(), Gone> {
        self.go_on();
        self.writer.return_status(status);
        Ok(())
    }

    fn output_value(&mut self, value: &OutputValue) -> Result<(), Gone> {
        self.go_on();
        let token = ReturnValue {
            ordinal: value.ordinal,
            name: value.name.clone(),
            kind: match value.is_function {
                true => ReturnValueKind::Function,
                false => ReturnValueKind::Output,
            },
            user_type: 0,
            flags: ColumnFlags(0),
            type_info: TypeInfo::of(value.ty, Nullability::Nullable, &self.protocol),
            value: value.value.clone(),
        };
        match self.writer.return_value(&token) {
            Ok(()) => self.send_if_much(),
            Err(error) => self.refuse(&error.to_string()),
        }
    }
}

fn wire_column(column: &ColumnInfo, protocol: &Protocol) -> Column {
    let nullability = if column.is_nullable { Nullability::Nullable } else { Nullability::NotNull };
    let mut wire = Column::of(&column.name, column.ty, nullability, protocol);
    // Of an expression and of an identity column it is known that they cannot be updated.
    let kind = match (column.is_computed, column.is_identity) {
        (true, _) => ColumnFlags::COMPUTED,
        (false, true) => ColumnFlags::IDENTITY,
        (false, false) => return wire,
    };
    wire.flags = ColumnFlags(wire.flags.0 & !ColumnFlags::UPDATEABLE_UNKNOWN.0).with(kind);
    wire
}

/// Ordinals have one byte: those of wide results begin again, and clients count for themselves.
fn wire_origin(origin: &ColumnOrigin, column: &Column, ordinal: u64) -> col_info::ColumnInfo {
    let (table, status, name) = match origin {
        ColumnOrigin::Column { name, is_key } => {
            (1, if *is_key { col_info::KEY } else { 0 }, Some(name))
        }
        ColumnOrigin::Expression => (0, col_info::EXPRESSION, None),
        ColumnOrigin::RowStatus => (0, col_info::EXPRESSION | col_info::HIDDEN, None),
    };
    col_info::ColumnInfo {
        ordinal: ordinal.to_le_bytes()[0],
        table,
        status,
        base_name: name.filter(|name| **name != column.name).cloned(),
    }
}

fn code(statement: StatementCode) -> u16 {
    match statement {
        StatementCode::Other => command::NONE,
        StatementCode::Select => command::SELECT,
        StatementCode::SelectInto => command::SELECT_INTO,
        StatementCode::Insert => command::INSERT,
        StatementCode::Update => command::UPDATE,
        StatementCode::Delete => command::DELETE,
        StatementCode::Merge => command::MERGE,
        StatementCode::BulkInsert => command::BULK_INSERT,
        StatementCode::Execute => command::EXECUTE,
        StatementCode::Begin => command::BEGIN,
        StatementCode::Commit => command::COMMIT,
        StatementCode::Rollback => command::ROLLBACK,
        StatementCode::Save => command::SAVE,
        StatementCode::CreateDatabase => command::CREATE_DATABASE,
        StatementCode::DropDatabase => command::DROP_DATABASE,
        StatementCode::CreateTable => command::CREATE_TABLE,
        StatementCode::AlterTable => command::ALTER_TABLE,
        StatementCode::DropTable => command::DROP_TABLE,
        StatementCode::CreateIndex => command::CREATE_INDEX,
        StatementCode::DropIndex => command::DROP_INDEX,
        StatementCode::CreateView => command::CREATE_VIEW,
        StatementCode::CreateProcedure => command::CREATE_PROCEDURE,
        StatementCode::DropProcedure => command::DROP_PROCEDURE,
        StatementCode::CreateTrigger => command::CREATE_TRIGGER,
    }
}
