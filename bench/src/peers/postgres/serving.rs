//! PostgreSQL that listens on a port, for clients of ours.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};

use super::{Cluster, Safety};
use crate::report::timed;
use crate::serving::Server as _;
use crate::serving::postgres::Postgres;

/// Attempts to log in, and the time between two.
const LOOKS: u32 = 10_000;
const LOOK: Duration = Duration::from_millis(3);

/// Settings of a server that is to be fast and safe; two workers for each query: one for each core.
const SETTINGS: [&str; 7] = [
    "listen_addresses=127.0.0.1",
    "max_connections=200",
    "work_mem=256MB",
    "effective_cache_size=8GB",
    "random_page_cost=1.1",
    "max_parallel_workers_per_gather=2",
    "statement_timeout=300s",
];

/// Runs `work` with a server below `folder`, whose buffers have `memory` bytes, and gives the time
/// from its start to the first login, too.
///
/// # Errors
/// It does not start, or `work` fails.
pub fn serve<T>(
    bin: &Path,
    folder: &Path,
    memory: u64,
    work: impl FnOnce(&Postgres, Duration) -> Result<T>,
) -> Result<T> {
    let cluster = Cluster::create(bin, folder)?;
    let name = format!("PostgreSQL {}", cluster.version()?);
    // The port of a socket that is closed again is free for a while.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let port_setting = format!("port={port}");
    let mut settings = SETTINGS.to_vec();
    settings.push(&port_setting);
    let (time, server) = timed(|| -> Result<_> {
        let server = cluster.spawn(memory, Safety::DurableCommits, &settings)?;
        let postgres = Postgres { name, port, process: server.child.id() };
        wait_for_login(&postgres)?;
        Ok((server, postgres))
    });
    let (server, postgres) = server?;
    let done = work(&postgres, time)?;
    server.stop()?;
    Ok(done)
}

fn wait_for_login(postgres: &Postgres) -> Result<()> {
    for _ in 0..LOOKS {
        if postgres.connect().is_ok() {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
    bail!("PostgreSQL does not get ready")
}
