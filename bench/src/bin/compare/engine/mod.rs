//! The storage engine: every part makes databases of its own and prints its table and its targets.
//!
//! ```text
//! lengths     10,000 rows of seven lengths: pages, PFS records, time
//! clients     1 … 64 threads into one heap
//! commits     1 and 64 committers and the device; one client's writes
//! bulk        one long transaction and its checkpoint
//! extents     extents per second, equal and unequal files
//! backends    commits and checkpoints by plain calls and by io_uring
//! ddl         create, insert and drop, with 0, 100 and 900 tables
//! lobs        long values, and the device beside them
//! loads       many rows by one statement beside single inserts
//! scans       tables read whole: rows, columnar batches, threads, and memory beside them
//! torn-pages  checkpoints and evictions with pages written twice and once
//! trees       tables with indexes: inserts, point selects, ranges, updates of indexed columns,
//!             index builds; five parts
//! ```

mod backends;
mod bulk;
mod clients;
mod commits;
mod ddl;
mod extents;
mod lengths;
mod loads;
mod lobs;
mod scans;
mod torn_pages;
mod trees;

use std::path::PathBuf;

use anyhow::Result;
use bench::peers::inserts::Inserts;
use bench::peers::trees::Trees;
use bench::peers::{measure_inserts, measure_trees};
use bench::target::Target;
use bench::workload::InsertWork;
use clap::{Args, ValueEnum};

/// Options of `engine`.
#[derive(Args)]
pub(crate) struct EngineArgs {
    /// Only these parts
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Section>,
    /// Leave the peers out
    #[arg(long)]
    alone: bool,
    /// Where databases are created: on the device to be measured
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Runs of what is timed; the shortest counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: u32,
    /// How much the parts about trees do, beside what takes some minutes
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    scale: f64,
}

/// A part of the run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Section {
    Lengths,
    Clients,
    Commits,
    Bulk,
    Extents,
    Backends,
    Ddl,
    Loads,
    Lobs,
    Scans,
    TornPages,
    TreesInsert,
    TreesSelect,
    TreesRange,
    TreesUpdate,
    TreesBuild,
}

/// The setting of all parts.
struct Setting {
    folder: PathBuf,
    runs: u32,
    scale: f64,
    is_alone: bool,
    peers: Vec<Inserts>,
    trees: Vec<Trees>,
}

impl Setting {
    /// The result of each peer for this work, by name.
    fn of_peers(
        &self,
        work: InsertWork,
    ) -> impl Iterator<Item = (&str, bench::peers::inserts::Inserted)> {
        self.peers.iter().filter_map(move |peer| Some((peer.name.as_str(), peer.of(work)?)))
    }
}

/// Runs a part and judges it.
type Run = fn(&Setting) -> Result<Vec<Target>>;

pub(crate) fn run(args: &EngineArgs) -> Result<()> {
    let folder = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let is_wanted = |part: Section| args.only.is_empty() || args.only.contains(&part);
    let mut works = Vec::new();
    if is_wanted(Section::Lengths) {
        works.extend(lengths::works());
    }
    if is_wanted(Section::Clients) {
        works.extend(clients::works());
    }
    if is_wanted(Section::Commits) {
        works.extend(commits::works());
    }
    let tree_parts =
        [Section::TreesInsert, Section::TreesSelect, Section::TreesRange, Section::TreesUpdate];
    let tree_parts = tree_parts.into_iter().filter(|part| is_wanted(*part));
    let tree_works: Vec<_> = tree_parts.flat_map(|part| trees::works(part, args.scale)).collect();
    let (peers, trees) = if args.alone {
        (Vec::new(), Vec::new())
    } else {
        (
            measure_inserts(&folder, &works, args.runs),
            measure_trees(&folder, &tree_works, args.runs),
        )
    };
    let EngineArgs { runs, scale, alone: is_alone, .. } = *args;
    let setting = Setting { folder, runs, scale, is_alone, peers, trees };
    let parts: [(Section, Run); 16] = [
        (Section::Lengths, lengths::run),
        (Section::Clients, clients::run),
        (Section::Commits, commits::run),
        (Section::Bulk, bulk::run),
        (Section::Extents, extents::run),
        (Section::Backends, backends::run),
        (Section::Ddl, ddl::run),
        (Section::Loads, loads::run),
        (Section::Lobs, lobs::run),
        (Section::Scans, scans::run),
        (Section::TornPages, torn_pages::run),
        (Section::TreesInsert, |setting| trees::run(setting, Section::TreesInsert)),
        (Section::TreesSelect, |setting| trees::run(setting, Section::TreesSelect)),
        (Section::TreesRange, |setting| trees::run(setting, Section::TreesRange)),
        (Section::TreesUpdate, |setting| trees::run(setting, Section::TreesUpdate)),
        (Section::TreesBuild, trees::build),
    ];
    let mut targets = Vec::new();
    for (_, run) in parts.iter().filter(|(part, _)| is_wanted(*part)) {
        targets.extend(run(&setting)?);
    }
    println!("\n{}", Target::HEAD);
    targets.iter().for_each(|target| println!("{}", target.to_line()));
    let missed = targets.iter().filter(|target| target.is_missed()).count();
    println!("\n{missed} of what must be reached not met");
    Ok(())
}

fn ms(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Prints the head of a Markdown table.
pub(crate) fn head(title: &str, columns: &[&str]) {
    println!("\n{title}\n\n| {} |\n|{}", columns.join(" | "), " --- |".repeat(columns.len()));
}
