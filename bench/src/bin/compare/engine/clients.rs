//! 1 … 64 threads insert short rows into one heap: in one file and in four, compared with
//! PostgreSQL with as many clients.

use std::time::Duration;

use anyhow::Result;
use bench::engine::{DatabaseForm, Lab};
use bench::report::median;
use bench::target::{Limit, Target};
use bench::workload::InsertWork;

use super::{Setting, head};

const CLIENTS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
const ROW_BYTES: u16 = 50;
const PER_COMMIT: u32 = 1000;
/// Rows of all clients together, in whole transactions of each.
const ROWS: u32 = 128_000;
const AUTOCOMMIT_ROWS: u32 = 1024;
const FILE_BYTES: u64 = 256 << 20;

fn work(clients: u32) -> InsertWork {
    let rows = (ROWS / clients).next_multiple_of(PER_COMMIT);
    InsertWork { clients, rows, per_commit: PER_COMMIT, row_bytes: ROW_BYTES }
}

fn autocommit(clients: u32) -> InsertWork {
    let rows = (AUTOCOMMIT_ROWS / clients).max(32);
    InsertWork { clients, rows, per_commit: 1, row_bytes: ROW_BYTES }
}

/// The work of peers.
pub(super) fn works() -> Vec<InsertWork> {
    CLIENTS.iter().flat_map(|clients| [work(*clients), autocommit(*clients)]).collect()
}

fn rate(work: InsertWork, time: Duration) -> f64 {
    work.all_rows() as f64 / time.as_secs_f64()
}

/// Turns of all numbers of clients over one file and four: a single pair is not significant on a
/// machine that changes its pace.
const TURNS: u32 = 11;

/// The result for one number of clients.
#[derive(Default)]
struct Point {
    clients: u32,
    /// Rates of all turns, over one file and over four.
    rates: [Vec<f64>; 2],
    /// Of all turns over one file: number, and the longest.
    waits: (u64, Duration),
    postgres: Option<f64>,
}

impl Point {
    /// The best rate of as many runs as peers have.
    fn best(&self, at: usize, runs: u32) -> f64 {
        self.rates[at].iter().take(runs as usize).copied().fold(0.0, f64::max)
    }

    /// Four files by one.
    fn ratio(&self) -> f64 {
        let [one, four] = &self.rates;
        middle(one.iter().zip(four).map(|(one, four)| four / one))
    }

    /// How much slower this is than another one, in percent.
    fn fall(&self, from: &Point) -> f64 {
        100.0
            * (1.0
                - middle(self.rates[0].iter().zip(&from.rates[0]).map(|(own, other)| own / other)))
    }

    /// Runs another turn.
    fn turn(&mut self, labs: [&Lab; 2], work: InsertWork) -> Result<()> {
        let turn = self.rates[0].len();
        // The order alternates: the state left by the previous run must not always affect the same
        // one.
        for at in if turn.is_multiple_of(2) { [0, 1] } else { [1, 0] } {
            let lab = labs[at];
            let table = lab
                .table(&format!("t{}_{}_{turn}", work.clients, work.per_commit), work.row_bytes)?;
            let load = lab.insert(&table, work)?;
            lab.db.checkpoint()?;
            self.rates[at].push(rate(work, load.time));
            if at == 0 {
                self.waits =
                    (self.waits.0 + load.latch_waits.0, self.waits.1.max(load.latch_waits.1));
            }
        }
        Ok(())
    }
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    median(values.collect()).unwrap_or(f64::NAN)
}

pub(super) fn run(setting: &Setting) -> Result<Vec<Target>> {
    let one = Lab::create(&setting.folder, &DatabaseForm::of([FILE_BYTES]))?;
    let four = Lab::create(&setting.folder, &DatabaseForm::of([FILE_BYTES / 4; 4]))?;
    let columns = [
        "clients",
        "1 file",
        "4 files",
        "4 : 1, median",
        "latch waits, 1 file",
        "longest, µs",
        "PostgreSQL",
        "ours : PostgreSQL",
    ];
    let mut tables = Vec::new();
    for (title, work) in [
        (
            "Rows per second into one heap, transactions of 1000 rows of 50 bytes",
            work as fn(u32) -> InsertWork,
        ),
        ("Rows per second into one heap, each row its own transaction", autocommit),
    ] {
        head(title, &columns);
        let mut points = CLIENTS.map(|clients| Point { clients, ..Point::default() });
        for _ in 0..TURNS.max(setting.runs) {
            for point in &mut points {
                point.turn([&one, &four], work(point.clients))?;
            }
        }
        for point in &mut points {
            let work = work(point.clients);
            let postgres = setting.of_peers(work).find(|(name, _)| name.starts_with("PostgreSQL"));
            point.postgres = postgres.map(|(_, done)| rate(work, done.time));
            println!("{}", line(point, setting.runs));
        }
        tables.push(points);
    }
    let mut targets = Vec::new();
    for (points, what) in tables.iter().zip(["transactions of 1000", "autocommit"]) {
        targets.extend(targets_of(points, what, setting.runs));
    }
    targets.extend(
        tables.first().map(|points| files_and_time(points, setting.runs)).into_iter().flatten(),
    );
    Ok(targets)
}

fn line(point: &Point, runs: u32) -> String {
    let Point { clients, waits: (waits, longest), postgres, .. } = point;
    let one = point.best(0, runs);
    let four = point.best(1, runs);
    let ratio = point.ratio();
    let (theirs, beside) = match postgres {
        Some(theirs) => (format!("{theirs:.0}"), format!("{:.2}", one / theirs)),
        None => ("–".to_owned(), "–".to_owned()),
    };
    let longest = longest.as_micros();
    format!(
        "| {clients} | {one:.0} | {four:.0} | {ratio:.2} | {waits} | {longest} | {theirs} | {beside} |"
    )
}

fn targets_of(points: &[Point], what: &str, runs: u32) -> Vec<Target> {
    let least = |values: &mut dyn Iterator<Item = f64>| {
        values.reduce(f64::min).ok_or_else(|| "nothing to compare".to_owned())
    };
    let beside = least(&mut points.iter().filter_map(|p| Some(p.best(0, runs) / p.postgres?)));
    // Every point compared with each of fewer clients.
    let pairs = points
        .iter()
        .enumerate()
        .flat_map(|(at, point)| points[..at].iter().map(|fewer| point.fall(fewer)));
    let fall = pairs.fold(0.0, f64::max);
    let waits: u64 = points.iter().map(|p| p.waits.0).sum();
    let line = |name: &str, unit, value| Target::new(format!("{what}: {name}"), unit, value);
    vec![
        line("rows/s : PostgreSQL, the worst point", "x", beside).must(Limit::AtLeast(1.0)),
        line("page latch waits of all points, PFS among them (G2.4)", "", Ok(waits as f64))
            .must(Limit::AtMost(0.0)),
        line("deepest fall with more clients (G2.5)", "%", Ok(fall)).goal(Limit::AtMost(10.0)),
    ]
}

/// What depends on the device when every row waits for it is judged by long transactions only.
fn files_and_time(points: &[Point], runs: u32) -> [Target; 2] {
    let files = points.iter().map(|p| 100.0 * (p.ratio() - 1.0).abs()).fold(0.0, f64::max);
    let at_64 = points.last().map_or(f64::NAN, |p| 1e6 / p.best(0, runs));
    [
        Target::new("µs per row at 64 clients (G2.5)", "µs", Ok(at_64)).must(Limit::AtMost(148.9)),
        Target::new("rows/s of 4 files beside 1, the largest difference (G2.6)", "%", Ok(files))
            .must(Limit::AtMost(5.0)),
    ]
}
