//! `extentdb serve` as a server of clients.

use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use extentdb_client::{
    BulkColumn, Connection, Datum, Event, Handle, MessageKind, Options, Parameter, SqlType,
    TlsScope,
};

use crate::child;

use super::process::{processor_time, proportional_bytes};
use super::server::{Server, Session, Work};
use super::table::{Table, Type};

const PASSWORD: &str = "yourStrong(!)Password";
/// Lines of connection strings.
const STRINGS: usize = 6;

/// A server as a process of its own; killed on drop.
pub struct Ours {
    child: Child,
    port: u16,
    database: String,
}

impl Ours {
    /// Starts `program` over a folder and waits until it listens. `memory_mb`: its limit.
    ///
    /// # Errors
    /// It does not start: its log is in the folder.
    pub fn start(program: &Path, folder: &Path, memory_mb: Option<u64>) -> Result<Ours> {
        let log = std::fs::File::create(folder.join("server.log"))?;
        let mut command = Command::new(program);
        command.args(["serve", "--port", "0", "--address", "127.0.0.1"]);
        command.arg("--print-connection-strings").arg("--data").arg(folder.join("data"));
        command.env("MSSQL_SA_PASSWORD", PASSWORD);
        if let Some(megabytes) = memory_mb {
            command.env("MSSQL_MEMORY_LIMIT_MB", megabytes.to_string());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
        let said = child.stdout.take().context("no output")?;
        // All lines are read, so that the server can write them.
        let mut lines = Vec::new();
        for line in BufReader::new(said).lines().take(STRINGS) {
            lines.push(line?);
        }
        let first = lines.first().map(String::as_str).unwrap_or_default();
        let port = first.split(',').nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        let Some(port) = port else {
            let log = std::fs::read_to_string(folder.join("server.log"))?;
            bail!("extentdb serve does not start: {first}\n{log}");
        };
        Ok(Ours { child, port, database: "master".to_owned() })
    }

    /// Creates the database that sessions use.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create_database(&mut self) -> Result<()> {
        self.connect()?.run("CREATE DATABASE bench")?;
        self.database = "bench".to_owned();
        Ok(())
    }

    /// The most memory it has held, in bytes; `None` where the system does not tell.
    pub fn peak_memory(&self) -> Option<u64> {
        child::peak_of(self.child.id())
    }

    /// Ends it in order.
    ///
    /// # Errors
    /// It does not end well.
    pub fn stop(mut self) -> Result<()> {
        let mut session = self.connect()?;
        // The connection may end before its answer.
        let _ = session.run("SHUTDOWN");
        let status = self.child.wait()?;
        anyhow::ensure!(status.success(), "extentdb serve: {status}");
        Ok(())
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server for Ours {
    fn name(&self) -> &str {
        "ExtentDB"
    }

    fn connect(&self) -> Result<Box<dyn Session>> {
        let mut options = Options::new("127.0.0.1", "sa", PASSWORD);
        options.port = self.port;
        options.database.clone_from(&self.database);
        options.encryption = TlsScope::Login;
        let connection = Connection::open(&options)?;
        Ok(Box::new(OurSession { connection, statement: None }))
    }

    fn memory(&self) -> Result<u64> {
        proportional_bytes(self.child.id())
    }

    fn processor_time(&self) -> Result<Duration> {
        processor_time(self.child.id())
    }

    fn use_row_versions(&self) -> Result<()> {
        let text = format!("ALTER DATABASE {} SET READ_COMMITTED_SNAPSHOT ON", self.database);
        self.connect()?.run(&text).map(drop)
    }

    fn dialect(&self, query: &str) -> String {
        query.to_owned()
    }
}

struct OurSession {
    connection: Connection,
    statement: Option<Handle>,
}

impl OurSession {
    fn verified(failed: Option<String>, rows: u64) -> Result<u64> {
        failed.map_or(Ok(rows), |text| bail!("{text}"))
    }
}

impl Session for OurSession {
    fn run(&mut self, text: &str) -> Result<u64> {
        let mut rows = 0;
        let mut failed = None;
        self.connection.batch(text, &mut |event| {
            taken(&event, &mut rows, &mut failed);
            ControlFlow::Continue(())
        })?;
        OurSession::verified(failed, rows)
    }

    fn prepare(&mut self, work: Work) -> Result<()> {
        let handle = self.connection.prepare("@id int", &work.statement("@id"))?;
        self.statement = Some(handle);
        Ok(())
    }

    fn execute(&mut self, number: i32) -> Result<()> {
        let statement = self.statement.context("nothing is prepared")?;
        let parameters = [Parameter::of(SqlType::Int, Datum::Int(number))];
        let mut rows = 0;
        let mut failed = None;
        self.connection.execute(statement, &parameters, &mut |event| {
            taken(&event, &mut rows, &mut failed);
            ControlFlow::Continue(())
        })?;
        OurSession::verified(failed, rows).map(drop)
    }

    fn load(&mut self, table: &Table, rows: &mut dyn BufRead) -> Result<u64> {
        let column = |(name, ty): &(String, Type)| BulkColumn {
            name: name.clone(),
            ty: ty.to_sql_type(),
            is_nullable: true,
        };
        let columns: Vec<BulkColumn> = table.columns.iter().map(column).collect();
        let statement = table.insert_bulk();
        let mut line = String::new();
        let mut failed = None;
        let sum = self.connection.bulk_load(&statement, &columns, |load| {
            loop {
                line.clear();
                match rows.read_line(&mut line) {
                    Ok(0) => return Ok(()),
                    Ok(_) => match table.values(line.trim_end_matches('\n')) {
                        Some(values) => load.row(&values)?,
                        None => failed = Some(anyhow::anyhow!("{line}")),
                    },
                    Err(error) => {
                        failed = Some(error.into());
                        return Ok(());
                    }
                }
            }
        })?;
        failed.map_or(Ok(sum), Err)
    }
}

fn taken(event: &Event<'_>, rows: &mut u64, failed: &mut Option<String>) {
    match event {
        Event::Row(_) => *rows += 1,
        Event::Message(message) if message.kind == MessageKind::Error => {
            failed.get_or_insert_with(|| format!("{}: {}", message.number, message.text));
        }
        _ => {}
    }
}
