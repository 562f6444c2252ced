//! `cargo x sim`: lives by their seeds.
#![forbid(unsafe_code)]

use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use extentdb_base::env::{Clock, SystemClock};
use extentdb_sim::{Failure, Kind, Life, Story, TextStory, live_and_keep, run_texts};

const USAGE: &str = "\
cargo x sim [--seed N | --seeds A..B] [--minutes M] [--openings K] [--tight] [--rich] [--indexed] [--altered]
            [--kind KIND] [--go-on] [--trace] [--keep DIR] [--texts OPERATIONS]

  --seed N       lives seed N; with --minutes, N and those behind it
  --seeds A..B   lives seeds A to B, B not included
  --minutes M    stops after so many minutes
  --openings K   how often each database is opened (default 5)
  --tight        in the smallest files there can be, which do not grow
  --rich         with statements that the first lives did not have
  --indexed      with indexes that come and go, half of the tables clustered
  --altered      with columns that come, go and change, filtered indexes, and those that are switched off
  --kind KIND    what goes wrong beyond what goes wrong in every life; with all kinds of statements:
                 torn           power cuts tear pages between sectors of 512 or 4,096 bytes
                 killed         the process dies instead of the power
                 full-disk      the disk is full, at openings and during statements
                 ddl            DDL in explicit transactions, rolled back for the most part, beside checkpoints
                 log-damage     sectors of the log of a crashed database are damaged
                 swapped        files of another database, or of another age
                 bad-page       one bad page, in closed databases and in crashed ones
                 mixed-extents  no free page of a mixed extent is out of reach after a close
  --go-on        after a failure, too; lists the seeds that failed in the end
  --trace        prints every step
  --keep DIR     leaves the files of each life there, and the rows that must be in them
  --texts N      instead: N statements per seed on text keys of many collations, with crashes";

/// What the command line asks for.
#[derive(Clone, Debug)]
struct Asked {
    seeds: Range<u64>,
    minutes: Option<u64>,
    openings: u64,
    is_tight: bool,
    is_rich: bool,
    is_indexed: bool,
    is_altered: bool,
    kind: Kind,
    is_loud: bool,
    goes_on: bool,
    keep: Option<PathBuf>,
    texts: Option<u64>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(asked) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    if let Some(operations) = asked.texts {
        return run_all_texts(&asked, operations);
    }
    match run(&asked) {
        Ok(Lived { lives, sum, failed }) if failed.is_empty() => {
            println!("{lives} lives: {}", told(&sum));
            ExitCode::SUCCESS
        }
        Ok(Lived { lives, sum, failed }) => {
            println!("{lives} lives: {}", told(&sum));
            println!("{} others failed: seeds {failed:?}", failed.len());
            ExitCode::FAILURE
        }
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// The workload on text keys, once per seed.
fn run_all_texts(asked: &Asked, operations: u64) -> ExitCode {
    let mut failed = Vec::new();
    for seed in asked.seeds.clone() {
        match run_texts(seed, operations, asked.openings) {
            Ok(TextStory { operations, duplicates, crashes, rows }) => println!(
                "seed {seed}: {operations} statements, {duplicates} refused as duplicates, {crashes} crashes, \
                 {rows} rows; the full check is clean"
            ),
            Err(what) => {
                println!("seed {seed}: FAILED: {what}");
                failed.push(seed);
                if !asked.goes_on {
                    break;
                }
            }
        }
    }
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
        kind: Kind::Plain,
        is_loud: false,
        goes_on: false,
        keep: None,
        texts: None,
    };
    let mut one = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--keep" => asked.keep = Some(PathBuf::from(rest.next()?)),
            "--texts" => asked.texts = Some(rest.next()?.parse().ok()?),
            "--tight" => asked.is_tight = true,
            "--rich" => asked.is_rich = true,
            "--indexed" => asked.is_indexed = true,
            "--altered" => asked.is_altered = true,
            "--kind" => asked.kind = Kind::of_name(rest.next()?)?,
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

/// What came of all lives.
#[derive(Debug, Default)]
struct Lived {
    lives: u64,
    sum: Story,
    /// Seeds of those that failed.
    failed: Vec<u64>,
}

/// Lives one after the other; the first that fails ends it, unless all are asked for.
fn run(asked: &Asked) -> Result<Lived, Box<Failure>> {
    let clock = SystemClock::new();
    let limit = asked.minutes.map(|minutes| Duration::from_secs(60 * minutes));
    let mut all = Lived::default();
    for seed in asked.seeds.clone() {
        if limit.is_some_and(|limit| clock.monotonic() >= limit) {
            break;
        }
        let Ok((lived, kept)) = std::panic::catch_unwind(|| live_and_keep(&life(asked, seed)))
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
        match lived {
            Ok(story) => {
                println!("seed {seed}: {}", told(&story));
                all.lives += 1;
                add(&mut all.sum, &story);
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

/// The life with this seed.
fn life(asked: &Asked, seed: u64) -> Life {
    let life = match asked.kind {
        Kind::Plain => Life {
            is_tight: asked.is_tight,
            is_rich: asked.is_rich,
            is_indexed: asked.is_indexed,
            is_altered: asked.is_altered,
            ..Life::of(seed)
        },
        kind => Life::of_kind(kind, seed),
    };
    Life {
        openings: asked.openings,
        is_loud: asked.is_loud,
        is_tight: asked.is_tight || life.is_tight,
        ..life
    }
}

fn add(sum: &mut Story, story: &Story) {
    sum.steps += story.steps;
    sum.commits += story.commits;
    sum.rollbacks += story.rollbacks;
    sum.full_logs += story.full_logs;
    sum.full_filegroups += story.full_filegroups;
    sum.lock_conflicts += story.lock_conflicts;
    sum.cuts += story.cuts;
    sum.faults += story.faults;
    sum.checks += story.checks;
    sum.damages += story.damages;
    sum.silent_losses += story.silent_losses;
}

fn told(story: &Story) -> String {
    let Story {
        steps,
        commits,
        rollbacks,
        full_logs,
        full_filegroups,
        lock_conflicts,
        cuts,
        ..
    } = story;
    let Story { faults, checks, damages, silent_losses, .. } = story;
    format!(
        "{steps} steps, {commits} commits, {rollbacks} rollbacks; refused: {full_logs} by full logs, \
         {full_filegroups} by full filegroups, {lock_conflicts} by locks; {cuts} power cuts, {faults} other faults, \
         {checks} full checks, {damages} damaged copies ({silent_losses} that no file can tell)"
    )
}
