//! The shop of the story: a server of its own, and what clients tell it to do.
//!
//! Everything that is told follows from numbers, not from time or chance: the story is the same
//! whenever it is told.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, anyhow, bail};
use extentdb_client::{Connection, Event, Options};

use crate::grid::shown;
use crate::scratch::Running;

/// The data files, and how large they begin, in MB.
pub(super) const FILES: [(&str, u32); 3] = [("shop.mdf", 4), ("shop_2.ndf", 8), ("shop_3.ndf", 32)];
/// Its log.
pub(super) const LOG: &str = "shop_log.ldf";
/// The folder of the server's own databases, in that of the story.
const DATA: &str = "server";

/// A table with the orders from `@first` to `@last`, a thousand in each transaction.
pub(super) const TABLE: &str = "CREATE TABLE orders (id int NOT NULL, customer varchar(40) NOT NULL, \
    item varchar(40) NOT NULL, price money NOT NULL, ordered date NOT NULL, note varchar(200) NULL)";

/// A server that was started for the story.
pub(super) struct Server {
    process: Running,
    options: Options,
    /// Where it speaks; it must be able to.
    _said: BufReader<ChildStdout>,
}

/// The rows of a result as texts.
pub(super) type Rows = Vec<Vec<String>>;

impl Server {
    /// Starts a server on a free port of this machine; returns when it takes connections. Its first
    /// start sets the password.
    pub(super) fn start(folder: &Path, password: &str) -> anyhow::Result<Server> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut child = Command::new(program)
            .args(["serve", "--port", "0", "--address", "127.0.0.1", "--print-connection-strings"])
            .arg("--data")
            .arg(folder.join(DATA))
            .env("MSSQL_SA_PASSWORD", password)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the server")?;
        let said = child.stdout.take();
        let process = Running::new(child);
        let said = said.ok_or_else(|| anyhow!("the server says nothing"))?;
        let mut said = BufReader::new(said);
        let port = port(&mut said)?;
        let mut options = Options::new("127.0.0.1", "sa", password);
        options.port = port;
        Ok(Server { process, options, _said: said })
    }

    /// A connection to a database.
    pub(super) fn connect(&self, database: &str) -> anyhow::Result<Client> {
        let options = Options { database: database.to_owned(), ..self.options.clone() };
        Ok(Client(Connection::open(&options).context("cannot connect to the server")?))
    }

    /// kill -9
    pub(super) fn kill(self) -> anyhow::Result<()> {
        self.process.with(|child| child.kill().and_then(|()| child.wait()).map(|_| ()))?;
        Ok(())
    }

    /// Ends the server: it has written everything when this returns.
    pub(super) fn shut_down(self) -> anyhow::Result<()> {
        // The connection ends with the server.
        let _ = self.connect("master")?.run("SHUTDOWN");
        let status = self.process.with(Child::wait)?;
        if !status.success() {
            bail!("the server ended with {status}");
        }
        Ok(())
    }
}

/// A client of the server.
pub(super) struct Client(Connection);

impl Client {
    /// Runs a batch; its rows.
    pub(super) fn run(&mut self, text: &str) -> anyhow::Result<Rows> {
        let mut rows = Rows::new();
        let mut failed = None;
        self.0.batch(text, &mut |event| {
            match event {
                Event::Row(values) => rows.push(values.iter().map(shown).collect()),
                Event::Message(message) if message.class > 10 => {
                    failed.get_or_insert_with(|| message.text.clone());
                }
                _ => {}
            }
            ControlFlow::Continue(())
        })?;
        match failed {
            Some(text) => bail!("the server refused `{text}`"),
            None => Ok(rows),
        }
    }

    /// Inserts the orders of a range, in one transaction.
    pub(super) fn insert(&mut self, first: u32, last: u32) -> anyhow::Result<()> {
        self.run(&insert(first, last)).map(|_| ())
    }
}

/// The statement that creates the database, with its files in a folder.
pub(super) fn create(folder: &str) -> String {
    let file = |(name, mb): (&str, u32)| {
        let stem = name.split('.').next().unwrap_or(name);
        format!("(NAME = {stem}, FILENAME = '{folder}{name}', SIZE = {mb}MB)")
    };
    let files: Vec<String> = FILES.into_iter().map(file).collect();
    let log = format!("LOG ON (NAME = shop_log, FILENAME = '{folder}{LOG}', SIZE = 16MB)");
    format!("CREATE DATABASE shop ON {} {log}", files.join(", "))
}

/// Orders of a range, made of their numbers.
fn insert(first: u32, last: u32) -> String {
    format!(
        "INSERT orders SELECT value,
            CHOOSE((value * 5 + value / 7) % 8 + 1, 'Ada', 'Edgar', 'Grace', 'Jim', 'Barbara',
                'Rudolf', 'Pat', 'Charles'),
            CHOOSE((value + value / 11) % 6 + 1, 'pencil', 'notebook', 'ink, blue',
                'envelope, padded', 'chair', 'lamp'),
            CAST(100 + value % 9000 AS money) / 100, DATEADD(day, value / 300 % 365, '20110101'),
            NULLIF(REPLICATE('please wrap it as a present and leave it with the neighbours. ',
                value % 4), '')
        FROM GENERATE_SERIES({first}, {last})"
    )
}

/// The port that the server says it listens on.
fn port(said: &mut impl BufRead) -> anyhow::Result<u16> {
    for line in said.lines() {
        let line = line?;
        let after = line.split_once("-S localhost,").map(|(_, after)| after);
        if let Some(port) = after.and_then(|after| after.split(' ').next()) {
            return port.parse().with_context(|| format!("the server says {line}"));
        }
    }
    bail!("the server does not start")
}

/// A password that nobody knows.
pub(super) fn password() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("Aa1!{:016x}{:016x}", random(), random())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_in_the_first_connection_string() {
        let said = "sqlcmd       sqlcmd -S localhost,40123 -U sa -P 'x' -C\nADO.NET …\n";
        assert_eq!(port(&mut said.as_bytes()).unwrap(), 40_123);
        assert!(port(&mut "".as_bytes()).is_err());
    }

    #[test]
    fn passwords_differ() {
        assert_ne!(password(), password());
    }
}
