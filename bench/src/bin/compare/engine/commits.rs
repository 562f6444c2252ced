//! 1 and 64 committers compared with the device, in turns, so that a disturbance meets both; and
//! what one client's commits cost.

use std::time::Duration;

use anyhow::Result;
use bench::engine::{DatabaseForm, Device, Lab};
use bench::target::{Limit, Target};
use bench::workload::InsertWork;
use extentdb_io::DurabilityMode;

use super::{Setting, head};

const ROW_BYTES: u16 = 50;
const ROUNDS: u32 = 9;
const DEVICE_WRITES: u32 = 50;
const FILE_BYTES: u64 = 64 << 20;
/// Inserts of the trace of seed 004.
const TRACED: u32 = 67;

fn work(clients: u32) -> InsertWork {
    InsertWork {
        clients,
        rows: if clients == 1 { 60 } else { 40 },
        per_commit: 1,
        row_bytes: ROW_BYTES,
    }
}

/// The work of peers.
pub(super) fn works() -> Vec<InsertWork> {
    [1, 64].map(work).into()
}

/// The middle one.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The result for a number of committers, medians of all rounds.
struct Committers {
    /// Microseconds of a commit, all clients together.
    time: f64,
    /// The same, divided by a durable write of the device in the same round.
    beside_device: f64,
    /// Microseconds of one flush, divided by a durable write of the device.
    flush_beside_device: f64,
    per_flush: f64,
    writes: u64,
    syncs: u64,
    fua: u64,
}

fn measure(
    setting: &Setting,
    durability: DurabilityMode,
    clients: u32,
    device: &mut Device,
) -> Result<Committers> {
    let lab = Lab::create(
        &setting.folder,
        &DatabaseForm { durability, ..DatabaseForm::of([FILE_BYTES]) },
    )?;
    let work = work(clients);
    let table = lab.table("t", ROW_BYTES)?;
    lab.insert(&table, work)?;
    let mut times = vec![];
    let mut ratios = vec![];
    let mut flushes = vec![];
    let mut groups = vec![];
    let mut writes = 0;
    let mut syncs = 0;
    let mut fua = 0;
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    for _ in 0..ROUNDS {
        let alone = micros(device.write_time(DEVICE_WRITES)?);
        let load = lab.insert(&table, work)?;
        let each = micros(load.time) / work.all_rows() as f64;
        let per_flush = work.all_rows() as f64 / load.flushes.max(1) as f64;
        times.push(each);
        ratios.push(each / alone);
        flushes.push(each * per_flush / alone);
        groups.push(per_flush);
        (writes, syncs, fua) =
            (writes + load.log.writes, syncs + load.log.syncs, fua + load.log.fua_writes);
    }
    Ok(Committers {
        time: median(times),
        beside_device: median(ratios),
        flush_beside_device: median(flushes),
        per_flush: median(groups),
        writes,
        syncs,
        fua,
    })
}

pub(super) fn run(setting: &Setting) -> Result<Vec<Target>> {
    let mut device = Device::create(&setting.folder)?;
    head(
        "Commits of one row each, beside one 4 KiB direct write and flush of the device",
        &[
            "committers",
            "mode",
            "commits/s",
            "µs each",
            ": device",
            "commits per flush",
            "flush : device",
            "log writes",
            "flushes of the device",
            "with FUA",
        ],
    );
    let mut targets = Vec::new();
    for (name, mode) in [("auto", DurabilityMode::Auto), ("fua", DurabilityMode::Fua)] {
        for clients in [1, 64] {
            let done = measure(setting, mode, clients, &mut device)?;
            println!(
                "| {clients} | {name} | {:.0} | {:.0} | {:.3} | {:.1} | {:.2} | {} | {} | {} |",
                1e6 / done.time,
                done.time,
                done.beside_device,
                done.per_flush,
                done.flush_beside_device,
                done.writes,
                done.syncs,
                done.fua
            );
            targets.extend(targets_of(clients, name, &done));
        }
    }
    for clients in [1, 64] {
        for (peer, done) in setting.of_peers(work(clients)) {
            let each = done.time.as_secs_f64() * 1e6 / work(clients).all_rows() as f64;
            println!("| {clients} | {peer} | {:.0} | {each:.0} | | | | | | |", 1e6 / each);
        }
    }
    targets.extend(traced(setting)?);
    Ok(targets)
}

fn targets_of(clients: u32, mode: &str, done: &Committers) -> Vec<Target> {
    let mut targets = Vec::new();
    if mode == "fua" {
        let what = format!("{clients} committer(s), mode FUA: flushes (G5.1)");
        targets.push(Target::new(what, "", Ok(done.syncs as f64)).must(Limit::AtMost(0.0)));
    } else if clients == 1 {
        let target = Target::new(
            "1 committer: commit : 4 KiB direct write + flush",
            "x",
            Ok(done.beside_device),
        );
        targets.push(target.must(Limit::AtMost(1.3)).goal(Limit::AtMost(1.1)));
    } else {
        let target = Target::new("64 committers: commits per flush (G5.5)", "", Ok(done.per_flush));
        targets.push(target.must(Limit::AtLeast(40.0)));
    }
    targets
}

/// The trace of the seed: single inserts of one client.
fn traced(setting: &Setting) -> Result<Vec<Target>> {
    let lab = Lab::create(&setting.folder, &DatabaseForm::of([FILE_BYTES]))?;
    let table = lab.table("t", ROW_BYTES)?;
    let work = InsertWork {
        clients: 1,
        rows: TRACED,
        per_commit: 1,
        row_bytes: ROW_BYTES,
    };
    lab.insert(&table, work)?;
    let before = lab.data_counters();
    let log = lab.insert(&table, work)?.log;
    let data = lab.data_counters();
    let calls = log.calls + data.calls - before.calls;
    println!(
        "\n{TRACED} inserts of one client: {} log writes, {} flushes, {} writes to data files; \
         SQL Server: 69 log writes, 59,137 system calls",
        log.writes,
        log.syncs,
        data.writes - before.writes
    );
    let line = |what: &str, value: u64| {
        Target::new(format!("{TRACED} inserts: {what} (G5.4)"), "", Ok(value as f64))
    };
    Ok(vec![
        line("log writes", log.writes).must(Limit::AtMost(67.0)),
        line("calls of the system on files", calls).must(Limit::AtMost(499.0)),
    ])
}
