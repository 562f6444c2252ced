//! Commits and checkpoints with each backend of the real disk, in turns, so that a disturbance
//! meets all.

use anyhow::Result;
use bench::engine::{BackendFile, DatabaseForm, Lab};
use bench::target::{Limit, Target};
use bench::workload::InsertWork;
use extentdb_io::{Backend, DurabilityMode, Fill, RealDisk};

use super::commits::median;
use super::{Setting, head};

const BACKENDS: [Backend; 3] = [Backend::Plain, Backend::Auto, Backend::Uring];
const ROUNDS_OF_COMMITS: u64 = 15;
/// Fewer: each writes 60 MiB.
const ROUNDS_OF_CHECKPOINTS: u64 = 5;
const COMMITS: u32 = 20;
const ROW_BYTES: u16 = 50;

/// Medians of all rounds: microseconds of plain writes, and the ratio of each backend.
struct Line {
    what: &'static str,
    plain: f64,
    ratios: [f64; 3],
}

/// Measures one thing with each backend, round by round, and prints the line.
fn measure(
    what: &'static str,
    rounds: u64,
    mut once: impl FnMut(usize, u64) -> Result<std::time::Duration>,
) -> Result<Line> {
    let mut plain = Vec::new();
    let mut ratios = [const { Vec::new() }; 3];
    for round in 0..=rounds {
        let mut times = [0.0; 3];
        // Each goes first in a third of the rounds.
        for turn in 0..BACKENDS.len() {
            let backend = (turn + round as usize) % BACKENDS.len();
            times[backend] = once(backend, round)?.as_secs_f64() * 1e6;
        }
        // The first round is for warming up.
        if round > 0 {
            plain.push(times[0]);
            ratios.iter_mut().zip(times).for_each(|(ratios, time)| ratios.push(time / times[0]));
        }
    }
    let line = Line { what, plain: median(plain), ratios: ratios.map(median) };
    println!("| {what} | {:.0} | {:.2} | {:.2} |", line.plain, line.ratios[1], line.ratios[2]);
    Ok(line)
}

fn commits(setting: &Setting, what: &'static str, mode: DurabilityMode) -> Result<Line> {
    let files = BACKENDS.map(|backend| BackendFile::log(&setting.folder, mode, backend));
    let mut files: Vec<BackendFile> = files.into_iter().collect::<Result<_>>()?;
    measure(what, ROUNDS_OF_COMMITS, |backend, _| files[backend].commit_time(COMMITS))
}

fn engine_commits(
    setting: &Setting,
    what: &'static str,
    durability: DurabilityMode,
) -> Result<Line> {
    let lab = |backend| {
        Lab::create(
            &setting.folder,
            &DatabaseForm { durability, backend, ..DatabaseForm::of([64 << 20]) },
        )
    };
    let labs: Vec<Lab> = BACKENDS.map(lab).into_iter().collect::<Result<_>>()?;
    let tables: Vec<_> = labs.iter().map(|lab| lab.table("t", ROW_BYTES)).collect::<Result<_>>()?;
    let work = InsertWork {
        clients: 1,
        rows: COMMITS,
        per_commit: 1,
        row_bytes: ROW_BYTES,
    };
    measure(what, ROUNDS_OF_COMMITS, |backend, _| {
        Ok(labs[backend].insert(&tables[backend], work)?.time / COMMITS)
    })
}

fn checkpoints(setting: &Setting, what: &'static str, mode: DurabilityMode) -> Result<Line> {
    let files =
        BACKENDS.map(|backend| BackendFile::data(&setting.folder, mode, backend, Fill::Zeros));
    let mut files: Vec<BackendFile> = files.into_iter().collect::<Result<_>>()?;
    measure(what, ROUNDS_OF_CHECKPOINTS, |backend, round| files[backend].checkpoint_time(round))
}

fn first_checkpoints(setting: &Setting, what: &'static str, mode: DurabilityMode) -> Result<Line> {
    measure(what, ROUNDS_OF_CHECKPOINTS, |backend, round| {
        BackendFile::data(&setting.folder, mode, BACKENDS[backend], Fill::Hole)?
            .checkpoint_time(round)
    })
}

pub(super) fn run(setting: &Setting) -> Result<Vec<Target>> {
    use DurabilityMode::{ForcedFlush, Fua};
    head(
        "Backends of the real disk, each beside the plain way in the same round",
        &["what", "plain, µs", "auto : plain", "uring : plain"],
    );
    commits(setting, "log block of 4 KiB, forced flush", ForcedFlush)?;
    commits(setting, "log block of 4 KiB, FUA", Fua)?;
    engine_commits(setting, "1 committer of the engine, forced flush", ForcedFlush)?;
    engine_commits(setting, "1 committer of the engine, FUA", Fua)?;
    let again = [
        checkpoints(setting, "checkpoint of 20 MiB of random pages, forced flush", ForcedFlush)?,
        checkpoints(setting, "checkpoint of 20 MiB of random pages, FUA", Fua)?,
    ];
    first_checkpoints(setting, "the same into a hole, forced flush", ForcedFlush)?;
    first_checkpoints(setting, "the same into a hole, FUA", Fua)?;
    say_refusal(setting)?;
    let target = |line: &Line| {
        Target::new(format!("{}: auto : plain", line.what), "x", Ok(line.ratios[1]))
            .goal(Limit::AtMost(1.0))
    };
    Ok(again.iter().map(target).collect())
}

/// Without io_uring all three are the same; that must not pass for a result.
fn say_refusal(setting: &Setting) -> Result<()> {
    let file = tempfile::Builder::new().prefix("extentdb-backend-").tempfile_in(&setting.folder)?;
    let disk = RealDisk::new(DurabilityMode::Auto).with_backend(Backend::Uring);
    if let Some(refusal) = disk.report(file.path())?.refusal {
        println!("\nSKIPPED: all three are the plain way: {refusal}");
    }
    Ok(())
}
