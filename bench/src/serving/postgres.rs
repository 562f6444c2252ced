//! PostgreSQL as a server of clients.

use std::io::BufRead;

use anyhow::{Context, Result};

use super::server::{Server, Session, Work};
use super::table::Table;
use super::tpch;
use super::wire::Wire;

/// A server that listens on a port.
pub struct Postgres {
    /// Name and version.
    pub name: String,
    /// Port on the loopback address.
    pub port: u16,
    /// The first process.
    pub process: u32,
}

impl Server for Postgres {
    fn name(&self) -> &str {
        &self.name
    }

    fn connect(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(Wire::connect(self.port, "postgres", "postgres")?))
    }

    fn memory(&self) -> Result<u64> {
        let mut sum = super::ours::proportional_bytes(self.process)?;
        let children = format!("/proc/{0}/task/{0}/children", self.process);
        let children = std::fs::read_to_string(&children).context(children)?;
        for child in children.split_whitespace() {
            sum += super::ours::proportional_bytes(child.parse()?)?;
        }
        Ok(sum)
    }

    fn dialect(&self, query: &str) -> String {
        tpch::standard(query)
    }
}

impl Session for Wire {
    fn run(&mut self, text: &str) -> Result<u64> {
        self.query(text)
    }

    fn prepare(&mut self, work: Work) -> Result<()> {
        Wire::prepare(self, &work.statement("$1"))
    }

    fn execute(&mut self, number: i32) -> Result<()> {
        Wire::execute(self, number)
    }

    fn load(&mut self, table: &Table, rows: &mut dyn BufRead) -> Result<u64> {
        self.copy(&table.name, rows)
    }
}
