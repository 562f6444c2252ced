//! Seed 002: 10,000 rows of seven lengths from one client into a heap of uniform extents.

use std::time::Duration;

use anyhow::Result;
use bench::engine::{DatabaseForm, HeapFacts, Lab, ideal_pages, mixed_work};
use bench::target::{Limit, Target};
use bench::workload::InsertWork;
use extentdb_engine::Placement;

use super::{Setting, head, ms};

const ROWS: u32 = 10_000;
/// Length, and what SQL Server needed by the seed: milliseconds, PFS records, pages.
const SEED: [(u16, f64, u64, u64); 7] = [
    (100, 157.0, 563, 149),
    (200, 414.0, 1397, 271),
    (500, 441.0, 3199, 777),
    (1000, 595.0, 5916, 1436),
    (2000, 920.0, 10_625, 3339),
    (3000, 1138.0, 16_069, 5004),
    (4000, 1459.0, 16_260, 5000),
];
/// Rows of the customers of the seed, by bytes.
const SHORT_ROW: u16 = 50;
/// Rows where each waits for the device.
const FEW: u32 = 500;
/// Data files never grow meanwhile.
const FILE_BYTES: u64 = 256 << 20;
/// Rows of the work of mixed kinds.
const MIXED_ROWS: usize = 20_000;

struct LengthResult {
    facts: HeapFacts,
    pfs: u64,
    records: u64,
    time: Duration,
}

fn work(row_bytes: u16, per_commit: u32) -> InsertWork {
    InsertWork { clients: 1, rows: ROWS, per_commit, row_bytes }
}

/// The work of peers.
pub(super) fn works() -> Vec<InsertWork> {
    SEED.iter().map(|(bytes, ..)| work(*bytes, ROWS)).collect()
}

/// The best time of several runs, each into a table of its own; its pages and records after a
/// checkpoint.
fn measure(setting: &Setting, placement: Placement, work: InsertWork) -> Result<LengthResult> {
    let lab = Lab::create(
        &setting.folder,
        &DatabaseForm { placement, ..DatabaseForm::of([FILE_BYTES]) },
    )?;
    let mut best: Option<LengthResult> = None;
    let runs = if work.is_autocommit() { 1 } else { setting.runs };
    for run in 0..runs {
        let table = lab.table(&format!("t{run}"), work.row_bytes)?;
        lab.db.checkpoint()?;
        let from = lab.db.log().last();
        let load = lab.insert(&table, work)?;
        let (pfs, records) = lab.pfs_records(from)?;
        let measured = LengthResult {
            facts: lab.heap_facts(&table)?,
            pfs,
            records,
            time: load.time,
        };
        if best.as_ref().is_none_or(|best| measured.time < best.time) {
            best = Some(measured);
        }
    }
    best.ok_or_else(|| anyhow::anyhow!("no runs"))
}

pub(super) fn run(setting: &Setting) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    head(
        "10,000 heap rows in one transaction, one client",
        &[
            "bytes",
            "pages",
            "ideal",
            "fill, %",
            "PFS records",
            "log records",
            "ms",
            "SQL Server: pages, PFS, ms",
            "by PFS: pages, PFS, ms",
        ],
    );
    for (bytes, seed_ms, seed_pfs, seed_pages) in SEED {
        let packed = measure(setting, Placement::Packed, work(bytes, ROWS))?;
        let by_pfs = measure(setting, Placement::ByPfs, work(bytes, ROWS))?;
        let ideal = ideal_pages(ROWS.into(), bytes.into());
        println!(
            "| {bytes} | {} | {ideal} | {:.2} | {} | {} | {:.1} | {seed_pages}, {seed_pfs}, {seed_ms} | {}, {}, {:.1} |",
            packed.facts.pages,
            packed.facts.fill,
            packed.pfs,
            packed.records,
            ms(packed.time),
            by_pfs.facts.pages,
            by_pfs.pfs,
            ms(by_pfs.time)
        );
        targets.extend(targets_of(bytes, &packed, ideal, seed_ms));
    }
    of_peers(setting);
    targets.extend(autocommit(setting)?);
    Ok(targets)
}

fn targets_of(bytes: u16, measured: &LengthResult, ideal: u64, seed_ms: f64) -> [Target; 3] {
    let line = |what: &str, unit, value: f64| {
        Target::new(format!("{bytes} bytes: {what}"), unit, Ok(value))
    };
    let per_extent = (ideal.div_ceil(8) + 2) as f64;
    [
        line("pages (G2.1)", "", measured.facts.pages as f64)
            .must(Limit::AtMost((ideal + 1) as f64)),
        line("PFS records (G2.2)", "", measured.pfs as f64)
            .must(Limit::AtMost(ideal as f64))
            .goal(Limit::AtMost(per_extent)),
        line("time (G2.3)", "ms", ms(measured.time))
            .must(Limit::AtMost(seed_ms))
            .goal(Limit::AtMost((seed_ms / 3.0).floor())),
    ]
}

fn of_peers(setting: &Setting) {
    if setting.peers.is_empty() {
        return;
    }
    head(
        "The same rows in peers, one transaction, no index",
        &["peer", "bytes", "ms", "MB of the table"],
    );
    for (bytes, ..) in SEED {
        for (name, done) in setting.of_peers(work(bytes, ROWS)) {
            println!(
                "| {name} | {bytes} | {:.1} | {:.1} |",
                ms(done.time),
                done.bytes as f64 / 1e6
            );
        }
    }
}

/// A transaction for each row; rows as short as customers; rows of all kinds.
fn autocommit(setting: &Setting) -> Result<Vec<Target>> {
    let mut short = None;
    head(
        "Rows that are each their own transaction, one client",
        &["bytes", "rows", "pages", "PFS records", "log records", "ms"],
    );
    for (bytes, rows) in [(SHORT_ROW, ROWS), (100, FEW), (1000, FEW), (4000, FEW)] {
        let done = measure(setting, Placement::Packed, InsertWork { rows, ..work(bytes, 1) })?;
        let LengthResult { facts, pfs, records, time } = done;
        println!("| {bytes} | {rows} | {} | {pfs} | {records} | {:.0} |", facts.pages, ms(time));
        if bytes == SHORT_ROW {
            short = Some(pfs as f64);
        }
    }
    let lab = Lab::create(&setting.folder, &DatabaseForm::of([FILE_BYTES]))?;
    let mixed = mixed_work(&lab, MIXED_ROWS, 1)?;
    println!(
        "\n{MIXED_ROWS} rows of 15 to 1,015 bytes, then as many random inserts, updates and deletes: \
         {} rows on {} pages; packed: {}",
        mixed.rows, mixed.pages, mixed.ideal
    );
    let over = 100.0 * (mixed.pages as f64 / mixed.ideal as f64 - 1.0);
    Ok(vec![
        Target::new(
            "10,000 short rows: PFS records (G2.7)",
            "",
            short.ok_or_else(|| "not measured".to_owned()),
        )
        .must(Limit::AtMost(14.0)),
        Target::new(
            "inserts and deletes of rows of all lengths: pages above packed (G2.8)",
            "%",
            Ok(over),
        )
        .must(Limit::AtMost(5.0)),
    ])
}
