//! The server as a process of its own, which is killed.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use extentdb_client::{Connection, Options};

use super::command;

const PASSWORD: &str = "yourStrong(!)Password";

/// Lines of connection strings.
const STRINGS: usize = 6;

/// A server over a folder.
pub(crate) struct Process {
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl Process {
    /// Starts it and waits until it takes connections.
    pub(crate) fn start(folder: &Path) -> Process {
        let data = folder.to_str().unwrap();
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join("server.log"))
            .unwrap();
        let mut child =
            command(["serve", "--data", data, "--port", "0", "--print-connection-strings"])
                .env("MSSQL_SA_PASSWORD", PASSWORD)
                .env("MSSQL_IP_ADDRESS", "127.0.0.1")
                .stdout(Stdio::piped())
                .stderr(log)
                .spawn()
                .unwrap();
        // All lines are read, so that the server can write them.
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().take(STRINGS);
        let lines: Vec<String> = lines.map(Result::unwrap).collect();
        let Some(first) = lines.first() else {
            panic!("the server does not start: {}", said(folder));
        };
        // sqlcmd -S localhost,PORT -U …
        let port = first.split(',').nth(1).and_then(|rest| rest.split(' ').next());
        let port = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{first}"));
        Process { child, port, folder: folder.to_owned() }
    }

    /// A connection, in the database when it is there.
    pub(crate) fn connect(&self, database: &str) -> Connection {
        let mut options = self.options();
        options.database = database.to_owned();
        Connection::open(&options).unwrap_or_else(|error| {
            panic!("{error}: {error:?}\n{}", said(&self.folder));
        })
    }

    /// How to log in.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::new("127.0.0.1", "sa", PASSWORD);
        options.port = self.port;
        options
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Its memory, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
    }

    /// Ends it at once: SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it in order.
    pub(crate) fn stop(mut self) {
        let mut connection = self.connect("");
        // The connection may end before its answer.
        let _ = connection.batch("SHUTDOWN", &mut |_| std::ops::ControlFlow::Continue(()));
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {}", said(&self.folder));
    }
}

fn said(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("server.log")).unwrap_or_default()
}
