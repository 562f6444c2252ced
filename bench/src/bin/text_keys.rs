//! Text keys: inserts, an index build, seeks and the full check, each timed by itself.
//!
//! Uses nothing of the engine but its API, so that the same file measures an older version: build
//! both, and run them in turns (`bench/README.md`).
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "a bench measures time")]

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_check::{Control, Verdict};
use extentdb_engine::{
    ColumnSpec, Database, DatabaseSpec, IndexSpec, Options, Session, Table, TableSpec,
};
use extentdb_reader::{OpenOptions, OpenedFiles};
use extentdb_types::{Collation, Datum, SqlType};

/// Rows of a transaction.
const ROWS_AT_ONCE: u32 = 500;

/// Inserts, builds, seeks and checks with text keys.
#[derive(Parser)]
struct Asked {
    /// Rows of each table.
    #[arg(long, default_value_t = 50_000)]
    rows: u32,
    /// Checks that are timed together.
    #[arg(long, default_value_t = 5)]
    checks: u32,
}

/// A column of texts.
struct Case {
    name: &'static str,
    collation: &'static str,
    is_wide: bool,
}

const CASES: [Case; 3] = [
    Case {
        name: "nvarchar, Windows",
        collation: "Latin1_General_CI_AS",
        is_wide: true,
    },
    Case {
        name: "varchar, Windows",
        collation: "Latin1_General_CI_AS",
        is_wide: false,
    },
    Case {
        name: "varchar, SQL",
        collation: "SQL_Latin1_General_CP1_CI_AS",
        is_wide: false,
    },
];

fn main() -> Result<()> {
    let asked = Asked::parse();
    for case in &CASES {
        run(case, &asked)?;
    }
    Ok(())
}

fn run(case: &Case, asked: &Asked) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let spec = DatabaseSpec::new("texts", folder.path(), 64 << 20);
    let db = Database::create(&spec, Options { frames: 1 << 14, ..Options::default() })?;
    let mut session = db.session();
    let ty = case.ty()?;
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("name", ty).not_null(),
    ];
    let by_name = IndexSpec::new("by_name", &["name"]);
    let table = session.create_table(&TableSpec::heap("inserted", columns.clone()))?;
    session.create_index(&table, &by_name)?;
    timed(case, "insert", asked.rows, || fill(&mut session, &table, ty, asked.rows))?;
    let built = session.create_table(&TableSpec::heap("built", columns))?;
    fill(&mut session, &built, ty, asked.rows)?;
    timed(case, "build", asked.rows, || Ok(session.create_index(&built, &by_name).map(drop)?))?;
    timed(case, "seek", asked.rows, || seek(&mut session, &table, ty, asked.rows))?;
    drop((session, table, built));
    db.close()?;
    timed(case, "check", asked.rows * asked.checks, || {
        (0..asked.checks).try_for_each(|_| check(&spec))
    })
}

fn check(spec: &DatabaseSpec) -> Result<()> {
    let opened = OpenedFiles::open(&spec.paths().data, &OpenOptions::default())?;
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    let options = extentdb_check::Options::default();
    let report = extentdb_check::run(opened.source(), &options, &Control::new(&clock, &cancel));
    anyhow::ensure!(report.verdict == Verdict::Clean, "the check is not clean");
    Ok(())
}

fn timed(case: &Case, what: &str, rows: u32, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let began = Instant::now();
    let cpu_began = cpu_seconds().unwrap_or_default();
    work()?;
    let cpu = cpu_seconds().unwrap_or_default() - cpu_began;
    let per_row = |seconds: f64| seconds * 1e6 / f64::from(rows);
    let wall = began.elapsed().as_secs_f64();
    println!(
        "{}: {what} {:.2} us of CPU per row, {:.2} us",
        case.name,
        per_row(cpu),
        per_row(wall)
    );
    Ok(())
}

/// Processor time of all threads of the process, user and system; `None` where it is not available.
/// On a busy machine it is more reliable than the clock.
fn cpu_seconds() -> Option<f64> {
    /// `USER_HZ` of Linux on all machines that this is built for.
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}

fn fill(session: &mut Session<'_>, table: &Table, ty: SqlType, rows: u32) -> Result<()> {
    let mut rng = SplitMix64::new(7);
    for number in 0..rows {
        if number % ROWS_AT_ONCE == 0 {
            session.begin();
        }
        session.insert(table, &[Datum::Int(number as i32), name(&mut rng, ty)?])?;
        if number % ROWS_AT_ONCE == ROWS_AT_ONCE - 1 || number + 1 == rows {
            session.commit()?;
        }
    }
    Ok(())
}

fn seek(session: &mut Session<'_>, table: &Table, ty: SqlType, rows: u32) -> Result<()> {
    let mut rng = SplitMix64::new(7);
    let mut found = 0u32;
    for _ in 0..rows {
        let values = [name(&mut rng, ty)?];
        session.seek(table, "by_name", &values, &mut |_, _| {
            found += 1;
            ControlFlow::Break(())
        })?;
    }
    anyhow::ensure!(found == rows, "a row was not found");
    Ok(())
}

/// Names of ASCII letters, as most keys are.
fn name(rng: &mut SplitMix64, ty: SqlType) -> Result<Datum<'static>> {
    const FIRST: [&str; 8] =
        ["Anna", "Bernd", "Carla", "Dieter", "Emma", "Frank", "Greta", "Hanno"];
    let first = FIRST[rng.below(8) as usize];
    let text = format!("{first} {:06x} Street {}", rng.below(1 << 24), rng.below(100));
    let bytes: Vec<u8> = match ty {
        SqlType::NVarChar { .. } => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        _ => text.into_bytes(),
    };
    Ok(Datum::decode(&ty, &bytes)?.into_owned())
}

impl Case {
    fn ty(&self) -> Result<SqlType> {
        let collation = Collation::from_name(self.collation).context(self.collation)?;
        Ok(if self.is_wide {
            SqlType::NVarChar { len: Some(120), collation }
        } else {
            SqlType::VarChar { len: Some(60), collation }
        })
    }
}
