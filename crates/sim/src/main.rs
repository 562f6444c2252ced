//! `cargo x sim`: simulation runs by their seeds.
#![forbid(unsafe_code)]

use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use extentdb_base::env::{Clock, SystemClock};
use extentdb_sim::{
    Failure, RunConfig, RunKind, RunReport, ServerReport, SnapshotReport, TextReport, run_and_keep,
    run_servers, run_snapshots, run_texts,
};

const USAGE: &str = "\
cargo x sim [--seed N | --seeds A..B] [--minutes M] [--openings K] [--tight] [--rich]
            [--indexed] [--altered]
            [--kind KIND] [--go-on] [--trace] [--keep DIR] [--texts OPERATIONS]
            [--snapshots OPERATIONS] [--servers STEPS]

  --seed N       runs seed N; with --minutes, N and the following ones
  --seeds A..B   runs seeds A to B, B not included
  --minutes M    stops after M minutes
  --openings K   how often each database is opened (default 5)
  --tight        in the smallest files, which do not grow
  --rich         with the statements of the second generation
  --indexed      with CREATE INDEX and DROP INDEX, half of the tables clustered
  --altered      with ALTER TABLE of columns, filtered and disabled indexes
  --kind KIND    a fault beyond those of every run; with all kinds of statements:
                 torn           power cuts tear pages between sectors of 512 or 4,096 bytes
                 killed         the process dies instead of the power
                 full-disk      the disk is full, at openings and during statements
                 ddl            DDL in explicit transactions, mostly rolled back, during checkpoints
                 log-damage     sectors of the log of a crashed database are damaged
                 swapped        files of another database, or of an earlier time
                 bad-page       one bad page, in closed databases and in crashed ones
                 mixed-extents  SGAM marks every mixed extent with a free page after a close
                 lobs           tables with values off their rows
  --go-on        continues after a failure; lists the failed seeds at the end
  --trace        prints every step
  --keep DIR     writes the files of each run there, and the rows that must be in them
  --texts N      instead: N statements per seed on text keys of many collations, with crashes
  --snapshots N  instead: N statements per seed of readers with snapshots beside writers, with
                 power cuts
  --servers N    instead: N steps per seed of a server with several databases, tempdb, files that
                 are added and removed, cancelled statements and power cuts";

/// The arguments of the command line.
#[derive(Clone, Debug)]
struct Asked {
    seeds: Range<u64>,
    minutes: Option<u64>,
    openings: u64,
    is_tight: bool,
    is_rich: bool,
    is_indexed: bool,
    is_altered: bool,
    kind: RunKind,
    is_loud: bool,
    goes_on: bool,
    keep: Option<PathBuf>,
    texts: Option<u64>,
    snapshots: Option<u64>,
    servers: Option<u64>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(asked) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    if let Some(operations) = asked.texts {
        return run_each(&asked, |seed| text_run(seed, operations, asked.openings));
    }
    if let Some(operations) = asked.snapshots {
        return run_each(&asked, |seed| snapshot_run(seed, operations));
    }
    if let Some(steps) = asked.servers {
        return run_each(&asked, |seed| server_run(seed, steps));
    }
    match run(&asked) {
        Ok(Totals { runs, sum, failed }) if failed.is_empty() => {
            println!("{runs} runs: {}", summary(&sum));
            ExitCode::SUCCESS
        }
        Ok(Totals { runs, sum, failed }) => {
            println!("{runs} runs: {}", summary(&sum));
            println!("{} others failed: seeds {failed:?}", failed.len());
            ExitCode::FAILURE
        }
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs each seed as long as there is time, to the first failure or, with `--go-on`, to the end;
/// `run` says what it has done.
fn run_each(asked: &Asked, run: impl Fn(u64) -> Result<String, String>) -> ExitCode {
    let mut failed = false;
    let clock = SystemClock::new();
    let begun = clock.monotonic();
    let limit = asked.minutes.map(|minutes| Duration::from_secs(60 * minutes));
    let has_time = || limit.is_none_or(|limit| clock.monotonic() - begun < limit);
    for seed in asked.seeds.clone().take_while(|_| has_time()) {
        match run(seed) {
            Ok(done) => println!("seed {seed}: {done}; the full check is clean"),
            Err(what) => {
                println!("seed {seed}: FAILED: {what}");
                failed = true;
                if !asked.goes_on {
                    break;
                }
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// A server of several databases.
fn server_run(seed: u64, steps: u64) -> Result<String, String> {
    let report = run_servers(seed, steps)?;
    let ServerReport {
        distributed,
        statements,
        cancelled,
        killed,
        temporary,
        extra,
        power_cuts,
    } = report;
    Ok(format!(
        "{statements} statements, {cancelled} cancelled, {distributed} transactions over two \
         databases, {killed} sessions killed, {temporary} temporary tables, {extra} changes of a \
         database and its files, {power_cuts} power cuts"
    ))
}

/// Row versions.
fn snapshot_run(seed: u64, operations: u64) -> Result<String, String> {
    let report = run_snapshots(seed, operations)?;
    let SnapshotReport { readings, changes, conflicts, power_cuts, versions } = report;
    Ok(format!(
        "{readings} readings, {changes} changes, {conflicts} update conflicts, {power_cuts} power \
         cuts, {versions} versions"
    ))
}

/// The workload on text keys.
fn text_run(seed: u64, operations: u64, openings: u64) -> Result<String, String> {
    let TextReport { operations, duplicates, crashes, rows } =
        run_texts(seed, operations, openings)?;
    Ok(format!(
        "{operations} statements, {duplicates} refused as duplicates, {crashes} crashes, {rows} rows"
    ))
}

fn parse(arguments: &[String]) -> Option<Asked> {
    let mut asked = Asked {
        seeds: 0..20,
        minutes: None,
        openings: 5,
        is_tight: false,
        is_rich: false,
        is_indexed: false,
        is_altered: false,
        kind: RunKind::Plain,
        is_loud: false,
        goes_on: false,
        keep: None,
        texts: None,
        snapshots: None,
        servers: None,
    };
    let mut one = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--keep" => asked.keep = Some(PathBuf::from(rest.next()?)),
            "--texts" => asked.texts = Some(rest.next()?.parse().ok()?),
            "--snapshots" => asked.snapshots = Some(rest.next()?.parse().ok()?),
            "--servers" => asked.servers = Some(rest.next()?.parse().ok()?),
            "--tight" => asked.is_tight = true,
            "--rich" => asked.is_rich = true,
            "--indexed" => asked.is_indexed = true,
            "--altered" => asked.is_altered = true,
            "--kind" => asked.kind = RunKind::of_name(rest.next()?)?,
            "--go-on" => asked.goes_on = true,
            "--trace" => asked.is_loud = true,
            "--seed" => one = Some(rest.next()?.parse::<u64>().ok()?),
            "--seeds" => {
                let (from, to) = rest.next()?.split_once("..")?;
                asked.seeds = from.parse().ok()?..to.parse().ok()?;
            }
            "--minutes" => asked.minutes = Some(rest.next()?.parse().ok()?),
            "--openings" => asked.openings = rest.next()?.parse().ok()?,
            _ => return None,
        }
    }
    if let Some(seed) = one {
        asked.seeds = seed..if asked.minutes.is_some() { u64::MAX } else { seed.saturating_add(1) };
    } else if asked.minutes.is_some() && asked.seeds == (0..20) {
        asked.seeds = 0..u64::MAX;
    }
    Some(asked)
}

/// Totals of all runs.
#[derive(Debug, Default)]
struct Totals {
    runs: u64,
    sum: RunReport,
    /// Seeds of those that failed.
    failed: Vec<u64>,
}

/// Runs the seeds one after the other, to the first failure or, with `--go-on`, to the end.
fn run(asked: &Asked) -> Result<Totals, Box<Failure>> {
    let clock = SystemClock::new();
    let limit = asked.minutes.map(|minutes| Duration::from_secs(60 * minutes));
    let mut all = Totals::default();
    for seed in asked.seeds.clone() {
        if limit.is_some_and(|limit| clock.monotonic() >= limit) {
            break;
        }
        let Ok((outcome, kept)) = std::panic::catch_unwind(|| run_and_keep(&config(asked, seed)))
        else {
            println!("seed {seed}: a panic");
            all.failed.push(seed);
            if asked.goes_on { continue } else { break }
        };
        if let Some(folder) = &asked.keep
            && let Err(error) = kept.write(&folder.join(format!("seed-{seed}")))
        {
            eprintln!("cannot keep the files of seed {seed}: {error}");
        }
        match outcome {
            Ok(report) => {
                println!("seed {seed}: {}", summary(&report));
                all.runs += 1;
                add(&mut all.sum, &report);
            }
            Err(failure) if asked.goes_on => {
                println!("seed {seed}: FAILED: {}", failure.what);
                all.failed.push(seed);
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(all)
}

/// The parameters of the run with this seed.
fn config(asked: &Asked, seed: u64) -> RunConfig {
    let config = match asked.kind {
        RunKind::Plain => RunConfig {
            is_tight: asked.is_tight,
            is_rich: asked.is_rich,
            is_indexed: asked.is_indexed,
            is_altered: asked.is_altered,
            ..RunConfig::of(seed)
        },
        kind => RunConfig::of_kind(kind, seed),
    };
    RunConfig {
        openings: asked.openings,
        is_loud: asked.is_loud,
        is_tight: asked.is_tight || config.is_tight,
        ..config
    }
}

fn add(sum: &mut RunReport, report: &RunReport) {
    sum.steps += report.steps;
    sum.commits += report.commits;
    sum.rollbacks += report.rollbacks;
    sum.full_logs += report.full_logs;
    sum.full_filegroups += report.full_filegroups;
    sum.lock_conflicts += report.lock_conflicts;
    sum.cuts += report.cuts;
    sum.faults += report.faults;
    sum.checks += report.checks;
    sum.damages += report.damages;
    sum.silent_losses += report.silent_losses;
}

fn summary(report: &RunReport) -> String {
    let RunReport {
        steps,
        commits,
        rollbacks,
        full_logs,
        full_filegroups,
        lock_conflicts,
        cuts,
        ..
    } = report;
    let RunReport { faults, checks, damages, silent_losses, .. } = report;
    format!(
        "{steps} steps, {commits} commits, {rollbacks} rollbacks; refused: {full_logs} by full logs, \
         {full_filegroups} by full filegroups, {lock_conflicts} by locks; {cuts} power cuts, {faults} other faults, \
         {checks} full checks, {damages} damaged copies ({silent_losses} lost writes not detectable)"
    )
}
