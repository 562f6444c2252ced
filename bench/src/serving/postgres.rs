//! PostgreSQL as a server of clients.

use std::io::BufRead;
use std::time::Duration;

use anyhow::Result;

use super::process::{children, processor_time, proportional_bytes};
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
        let mut sum = proportional_bytes(self.process)?;
        for child in children(self.process)? {
            sum += proportional_bytes(child)?;
        }
        Ok(sum)
    }

    fn processor_time(&self) -> Result<Duration> {
        let mut sum = processor_time(self.process)?;
        for child in children(self.process)? {
            // A connection may have ended since: its time is in the next sum.
            sum += processor_time(child).unwrap_or_default();
        }
        Ok(sum)
    }

    fn use_row_versions(&self) -> Result<()> {
        // It has no other way.
        Ok(())
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
