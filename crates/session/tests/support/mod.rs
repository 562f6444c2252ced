//! A connection over databases in memory, whose output is lines of text.

#[allow(dead_code, reason = "not every test has golden files")]
pub(crate) mod blocks;
#[allow(dead_code, reason = "not every test describes objects")]
pub(crate) mod describe;
#[allow(dead_code, reason = "not every test draws")]
pub(crate) mod draw;
#[allow(dead_code, reason = "not every test runs scripts with commands")]
pub(crate) mod story;

use std::fmt::Write;
use std::sync::Arc;

use extentdb_engine::{Instance, InstanceOptions, Options};
use extentdb_io::MemDisk;
use extentdb_session::login::{ClientInfo, Logins};
use extentdb_session::{
    Argument, ColumnInfo, Connection, Done, Environment, Gone, Message, NoHooks, Output,
    OutputValue, ProcedureCall, Product, Request, Scope, Server,
};
use extentdb_types::{Datum, plain};

/// A server in memory.
pub(crate) fn server() -> Arc<Server> {
    server_of(512)
}

/// A server in memory with so many pages in its buffer.
pub(crate) fn server_of(frames: usize) -> Arc<Server> {
    let options = Options { frames, ..Options::on(Arc::new(MemDisk::new())) };
    let options = InstanceOptions { tempdb_files: 1, ..InstanceOptions::new("/data", options) };
    let instance = Instance::start(options).unwrap();
    Server::new(instance, Product::default(), Logins::default(), Arc::new(NoHooks))
}

/// A connection as ODBC makes it.
pub(crate) fn connect(server: &Arc<Server>) -> Connection {
    Connection::open(server, ClientInfo::local("sa")).unwrap()
}

/// Runs a batch; what it gives.
pub(crate) fn batch(connection: &mut Connection, text: &str) -> String {
    ask(connection, &Request::Batch(text.to_owned()))
}

/// Calls a procedure.
#[allow(dead_code, reason = "not every test calls one")]
pub(crate) fn call(connection: &mut Connection, name: &str, arguments: Vec<Argument>) -> String {
    let call = ProcedureCall { name: name.to_owned(), arguments, has_no_metadata: false };
    ask(connection, &Request::Procedure(call))
}

/// Runs a request.
pub(crate) fn ask(connection: &mut Connection, request: &Request) -> String {
    let mut lines = Lines::default();
    connection.begin_request();
    extentdb_session::run(connection, request, None, &mut lines);
    lines.0.trim_end().to_owned()
}

/// Output as text, one token a line; ends of statements are not told.
#[derive(Default)]
pub(crate) struct Lines(pub(crate) String);

pub(crate) fn shown(value: &Datum<'_>) -> String {
    let mut text = String::new();
    match value {
        Datum::Null => text.push_str("NULL"),
        Datum::Variant(inner) => text.push_str(&shown(&inner.value)),
        other => {
            plain::write_plain(other, &mut text).unwrap();
        }
    }
    text
}

impl Output for Lines {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), Gone> {
        let column = |column: &ColumnInfo| {
            let null = if column.is_nullable { "null" } else { "not null" };
            format!("{} {} {null}", column.name, column.ty).trim_start().to_owned()
        };
        let columns: Vec<String> = columns.iter().map(column).collect();
        writeln!(self.0, "[{}]", columns.join(", ")).unwrap();
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> Result<(), Gone> {
        let values: Vec<String> = values.iter().map(shown).collect();
        writeln!(self.0, "{}", values.join(" | ")).unwrap();
        Ok(())
    }

    fn done(&mut self, done: Done) -> Result<(), Gone> {
        if done.scope == Scope::ProcedureEnd {
            writeln!(self.0, "end of procedure").unwrap();
        }
        Ok(())
    }

    fn message(&mut self, message: &Message, _: bool) -> Result<(), Gone> {
        let Message { number, severity, state, line, text, .. } = message;
        writeln!(self.0, "{number}.{severity}.{state} line {line}: {text}").unwrap();
        Ok(())
    }

    fn environment(&mut self, change: &Environment) -> Result<(), Gone> {
        let text = match change {
            Environment::Begin { .. } => "begin".to_owned(),
            Environment::Commit { .. } => "commit".to_owned(),
            Environment::Rollback { .. } => "rollback".to_owned(),
            Environment::Database { new, old } => format!("{old} -> {new}"),
            Environment::Language { new, .. } => format!("language {new}"),
            Environment::Reset => "reset".to_owned(),
        };
        writeln!(self.0, "<{text}>").unwrap();
        Ok(())
    }

    fn return_status(&mut self, status: i32) -> Result<(), Gone> {
        writeln!(self.0, "status {status}").unwrap();
        Ok(())
    }

    fn output_value(&mut self, value: &OutputValue) -> Result<(), Gone> {
        writeln!(self.0, "output {} {} {}", value.ordinal, value.ty, shown(&value.value)).unwrap();
        Ok(())
    }
}
