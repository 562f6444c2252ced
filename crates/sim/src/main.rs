//! `cargo x sim`: lives by their seeds.
#![forbid(unsafe_code)]

use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use extentdb_base::env::{Clock, SystemClock};
use extentdb_sim::{Failure, Life, Story, live_and_keep};

const USAGE: &str = "\
cargo x sim [--seed N | --seeds A..B] [--minutes M] [--openings K] [--tight] [--rich] [--indexed] [--altered]
            [--trace] [--keep DIR]

  --seed N       lives seed N; with --minutes, N and those behind it
  --seeds A..B   lives seeds A to B, B not included
  --minutes M    stops after so many minutes
  --openings K   how often each database is opened (default 5)
  --tight        in the smallest files there can be, which do not grow
  --rich         with statements that the first lives did not have
  --indexed      with indexes that come and go, half of the tables clustered
  --altered      with columns that come, go and change, filtered indexes, and those that are switched off
  --trace        prints every step
  --keep DIR     leaves the files of each life there, and the rows that must be in them";

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
    is_loud: bool,
    keep: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(asked) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    match run(&asked) {
        Ok((lives, sum)) => {
            println!("{lives} lives: {}", told(&sum));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
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
        is_loud: false,
        keep: None,
    };
    let mut one = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--keep" => asked.keep = Some(PathBuf::from(rest.next()?)),
            "--tight" => asked.is_tight = true,
            "--rich" => asked.is_rich = true,
            "--indexed" => asked.is_indexed = true,
            "--altered" => asked.is_altered = true,
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

/// Lives one after the other; the first that fails ends it.
fn run(asked: &Asked) -> Result<(u64, Story), Box<Failure>> {
    let clock = SystemClock::new();
    let limit = asked.minutes.map(|minutes| Duration::from_secs(60 * minutes));
    let (mut lives, mut sum) = (0, Story::default());
    for seed in asked.seeds.clone() {
        if limit.is_some_and(|limit| clock.monotonic() >= limit) {
            break;
        }
        let Asked { openings, is_tight, is_rich, is_indexed, is_altered, is_loud, .. } = *asked;
        let (lived, kept) =
            live_and_keep(&Life { seed, openings, is_tight, is_rich, is_indexed, is_altered, is_loud });
        if let Some(folder) = &asked.keep
            && let Err(error) = kept.write(&folder.join(format!("seed-{seed}")))
        {
            eprintln!("cannot keep the files of seed {seed}: {error}");
        }
        let story = lived?;
        println!("seed {seed}: {}", told(&story));
        lives += 1;
        add(&mut sum, &story);
    }
    Ok((lives, sum))
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
    let Story { steps, commits, rollbacks, full_logs, full_filegroups, lock_conflicts, cuts, .. } = story;
    let Story { faults, checks, damages, silent_losses, .. } = story;
    format!(
        "{steps} steps, {commits} commits, {rollbacks} rollbacks; refused: {full_logs} by full logs, \
         {full_filegroups} by full filegroups, {lock_conflicts} by locks; {cuts} power cuts, {faults} other faults, \
         {checks} full checks, {damages} damaged copies ({silent_losses} that no file can tell)"
    )
}
