//! Servers: `extentdb serve` and PostgreSQL over their own protocols, taking turns.
//!
//! ```text
//! start   a process to its first login, idle memory, connections
//! points  prepared selects, inserts and updates of single rows
//! bulk    rows loaded
//! tpch    the 22 queries
//! readers readers beside writers whose transactions stay open
//! limit   the most memory under a limit that the data do not fit into
//! memory  the same selects in this process
//! ```

mod bulk;
mod limit;
mod points;
mod readers;
mod start;
mod tpch;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use bench::ours::program;
use bench::peers::{ProgramFolders, postgres};
use bench::serving::postgres::Postgres;
use bench::serving::{Server, in_process, ours::Ours};
use bench::target::{Limit, Target};
use clap::{Args, ValueEnum};

/// Options of `server`.
#[derive(Args)]
pub(crate) struct ServerArgs {
    /// Only these parts
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Section>,
    /// Leave the peers out
    #[arg(long)]
    alone: bool,
    /// Where databases are created: on the device to be measured
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The program to be measured; by default the one built with this one
    #[arg(long, value_name = "FILE")]
    extentdb: Option<PathBuf>,
    /// Seconds of each measurement of clients
    #[arg(long, value_name = "N", default_value_t = 3)]
    seconds: u64,
    /// Turns of each measurement: the median counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    turns: u32,
    /// Scale of TPC-H
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    scale: f64,
    /// Memory of each side for pages, twice as much for ours altogether
    #[arg(long, value_name = "MB", default_value_t = 2048)]
    memory: u64,
    /// Only these queries of TPC-H
    #[arg(long, value_delimiter = ',')]
    query: Vec<usize>,
}

/// A part of the run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Section {
    Start,
    Points,
    Bulk,
    Tpch,
    Readers,
    Limit,
    Memory,
}

/// The setting of all parts.
struct Setting<'s> {
    program: PathBuf,
    folder: PathBuf,
    time: Duration,
    turns: u32,
    scale: f64,
    queries: &'s [usize],
    memory_mb: u64,
}

/// The servers that take turns, ours first.
type Servers<'s> = [&'s dyn Server];

const TARGET_STATEMENTS: f64 = 50_000.0;

pub(crate) fn run(args: &ServerArgs) -> Result<()> {
    let setting = Setting {
        program: program(args.extentdb.clone())?,
        folder: args.dir.clone().unwrap_or_else(std::env::temp_dir),
        time: Duration::from_secs(args.seconds),
        turns: args.turns.max(1),
        scale: args.scale,
        queries: &args.query,
        memory_mb: args.memory,
    };
    let folders = ProgramFolders::of_machine();
    let peer = postgres::programs(&folders).filter(|_| !args.alone);
    if peer.is_none() && !args.alone {
        println!("SKIPPED: PostgreSQL is not installed: {} not found", postgres::MISSING);
    }
    for program in ["mariadbd", "mysqld"] {
        if folders.find(program).is_some() {
            println!("SKIPPED: MariaDB: {program} is there, and its protocol is not spoken here");
        }
    }
    if folders.find("mariadbd").or_else(|| folders.find("mysqld")).is_none() {
        println!("SKIPPED: MariaDB is not installed: mariadbd not found");
    }
    let mut targets = Vec::new();
    match peer {
        Some(bin) => {
            let memory = setting.memory_mb << 20;
            postgres::serve(bin, &setting.folder, memory, |postgres, started| {
                targets = parts(args, &setting, Some((postgres, started)))?;
                Ok(())
            })?;
        }
        None => targets = parts(args, &setting, None)?,
    }
    println!("\n{}", Target::HEAD);
    targets.iter().for_each(|target| println!("{}", target.to_line()));
    let missed = targets.iter().filter(|target| target.is_missed()).count();
    println!("\n{missed} of what must be reached not met");
    Ok(())
}

fn parts(
    args: &ServerArgs,
    setting: &Setting<'_>,
    peer: Option<(&Postgres, Duration)>,
) -> Result<Vec<Target>> {
    let is_wanted = |part: Section| args.only.is_empty() || args.only.contains(&part);
    let mut targets = Vec::new();
    if is_wanted(Section::Memory) {
        targets.push(in_memory(setting)?);
    }
    if is_wanted(Section::Start) {
        targets.extend(start::run(setting, peer)?);
    }
    if is_wanted(Section::Limit) {
        targets.extend(limit::run(setting)?);
    }
    let of_servers = [Section::Points, Section::Bulk, Section::Tpch, Section::Readers];
    let wants_servers = of_servers.into_iter().any(is_wanted);
    if !wants_servers {
        return Ok(targets);
    }
    let folder =
        tempfile::Builder::new().prefix("extentdb-serving-").tempdir_in(&setting.folder)?;
    let mut ours = Ours::start(&setting.program, folder.path(), Some(setting.memory_mb * 2))?;
    ours.create_database()?;
    let mut servers: Vec<&dyn Server> = vec![&ours];
    servers.extend(peer.map(|(postgres, _)| postgres as &dyn Server));
    if is_wanted(Section::Points) {
        targets.extend(points::run(setting, &servers)?);
    }
    if is_wanted(Section::Bulk) {
        targets.extend(bulk::run(setting, &servers)?);
    }
    if is_wanted(Section::Tpch) {
        targets.extend(tpch::run(setting, &servers)?);
    }
    // Last: the others are measured without row versions.
    if is_wanted(Section::Readers) {
        targets.extend(readers::run(setting, &servers)?);
    }
    drop(servers);
    ours.stop()?;
    Ok(targets)
}

fn in_memory(setting: &Setting<'_>) -> Result<Target> {
    let rate = in_process::point_selects_per_second(setting.time)?;
    println!("\nin this process, one thread: {rate:.0} prepared point selects/s");
    let what = "in-process prepared point selects of a core";
    Ok(Target::new(what, "/s", Ok(rate)).must(Limit::AtLeast(TARGET_STATEMENTS)))
}

/// Ours : the peer's; why not when there is no peer.
fn ratio(values: &[f64]) -> Result<f64, String> {
    match values {
        [ours, peer, ..] => Ok(ours / peer),
        _ => Err("no peer was measured".to_owned()),
    }
}
