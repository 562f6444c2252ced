//! `cargo x`: the one door to everything beyond cargo.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use xtask::{check, collation, deps, generate, hooks, house, shuttle, sim, tidy, views};

const USAGE: &str = "\
cargo x <task>

  check   everything a commit must pass: fmt, clippy, tidy, deps, quick tests
  tidy    the rules of the house that no compiler knows
  deps    the manifests against the floor table in ARCHITECTURE.md
  sim     simulation runs of databases: [--seed N | --seeds A..B] [--minutes M] [--openings K]
          [--tight] [--rich] [--indexed]
          [--trace] [--keep DIR]
  shuttle concurrent sessions and latches under seeded schedules: EXTENTDB_SCHEDULES=N
  gen     rewrites the rows of a new database from the sample of version 661 (EXTENTDB_SAMPLES)
  gen collation FOLDER    rewrites the tables of collations from the weights in FOLDER
  gen views FOLDER    rewrites the shapes of catalog views from the tables in FOLDER
  gen man rewrites the manual pages in docs/man from the command line's definition
  hooks   installs a git hook that runs `cargo x check` before each commit";

fn main() -> ExitCode {
    let root = house::root();
    let task = std::env::args().nth(1);
    let done = match task.as_deref() {
        Some("check") => check::run(&root),
        Some("tidy") => tidy::run(&root),
        Some("deps") => deps::run(&root),
        Some("sim") => sim::run(&root, std::env::args_os().skip(2)),
        Some("gen") => generate(&root),
        Some("shuttle") => shuttle::run(&root),
        Some("hooks") => hooks::install(&root),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn generate(root: &Path) -> anyhow::Result<()> {
    match (std::env::args().nth(2).as_deref(), std::env::args_os().nth(3)) {
        (None, _) => generate::rows(root),
        (Some("man"), _) => generate::man(root),
        (Some("collation"), Some(folder)) => collation::run(root, Path::new(&folder)),
        (Some("views"), Some(folder)) => views::run(root, Path::new(&folder)),
        (Some("views"), None) => anyhow::bail!("which folder holds the tables of the catalog?"),
        (Some("collation"), None) => anyhow::bail!("which folder holds the tables of weights?"),
        (Some(other), _) => {
            anyhow::bail!(
                "nothing generates {other}: man, views, collation, or nothing for the rows of a new \
                 database"
            )
        }
    }
}
