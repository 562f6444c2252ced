//! The full check compared with peers and with itself: threads, indexes, computed columns, memory.
//!
//! ```text
//! FILE                      cached reads, full and physical check with one and two threads, memory
//! its first rows            PostgreSQL, SQLite, MariaDB
//! sales1, sales8            time of the same rows with one and with eight nonclustered indexes
//! sales-plain, -computed    time of the same rows with an index on plain and on computed columns
//! ```
//!
//! Every file lies in a folder that is deleted at the end.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bench::cached;
use bench::ours::{Checker, Data, Scope};
use bench::peers::rows::Rows;
use bench::peers::{Depth, Outcome, PEERS, PeerCheck, ProgramFolders, Setting};
use bench::report::{Measured, best_of, median};
use bench::target::{Limit, Target};
use clap::Args;
use extentdb_reader::{Database, OpenOptions};
use extentdb_template::{MakeOptions, Size, make};
use tempfile::TempDir;

/// Rows of `sales` in about 1 GB, which servers load in a minute and keep in memory.
const ROWS: u64 = 4_400_000;
const SEED: u64 = 1;
/// Memory that a check of 4 GB may take.
const MEMORY_MB: f64 = 128.0;

/// Options of `peers`.
#[derive(Args)]
pub(crate) struct PeersArgs {
    /// A data file of `extentdb make big.mdf --shape sales --size 4GB --seed 1`; without it, one of
    /// --rows rows is made
    file: Option<PathBuf>,
    /// Rows that peers get (the first of the file), and rows of the files whose indexes are
    /// compared
    #[arg(long, value_name = "N", default_value_t = ROWS)]
    rows: u64,
    /// Runs of each peer; the shortest counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: u32,
    /// Turns of two of our own runs; the shortest of each, and the median of their
    /// ratios count
    #[arg(long, value_name = "N", default_value_t = 9)]
    turns: u32,
    /// Where temporary databases are created: room for twice the rows, not on a slow device
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The program; by default the one built with this
    #[arg(long, value_name = "PROGRAM")]
    extentdb: Option<PathBuf>,
}

/// Everything in one run.
pub(crate) fn run(args: &PeersArgs) -> Result<()> {
    let parent = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::Builder::new().prefix("extentdb-bench-").tempdir_in(&parent);
    let bench = Bench {
        checker: Checker::find(args.extentdb.clone())?,
        folder: folder.with_context(|| parent.display().to_string())?,
        parent,
        rows: args.rows,
        runs: args.runs,
        turns: args.turns,
    };
    let file = match &args.file {
        Some(file) => file.clone(),
        None => bench.make("sales")?,
    };
    println!(
        "{}, cached; best of {} in turns, of {} for peers\n",
        file.display(),
        args.turns,
        args.runs
    );
    println!("{}", Measured::HEAD);
    let ours = bench.ours(&file)?;
    let peers = bench.peers(&file)?;
    let eight = bench.pair(["sales1", "sales8"])?;
    let computed = bench.pair(["sales-plain", "sales-computed"])?;
    println!("\n{}", Target::HEAD);
    let targets = targets(&ours, &peers, &eight, &computed);
    targets.iter().for_each(|target| println!("{}", target.to_line()));
    let missed = targets.iter().filter(|target| target.is_missed()).count();
    println!("\n{missed} of what must be reached not met");
    Ok(())
}

/// Our own runs over the file, with one thread and with two.
struct Ours {
    loops: Turns,
    full: Turns,
    physical: Turns,
}

/// Two runs that took turns, so that a disturbance meets both.
struct Turns {
    /// The shortest of each.
    best: [Measured; 2],
    /// Time of the second by that of the first, the median of all turns.
    ratio: f64,
}

impl Turns {
    /// Runs the two in turns and prints the result.
    fn take(turns: u32, mut run: impl FnMut(usize) -> Result<Measured>) -> Result<Turns> {
        let mut best = [run(0)?, run(1)?];
        let mut ratios = vec![ratio(&best)];
        for _ in 1..turns {
            let now = [run(0)?, run(1)?];
            ratios.push(ratio(&now));
            for (best, now) in best.iter_mut().zip(now) {
                if now.time < best.time {
                    *best = now;
                }
            }
        }
        Ok(Turns {
            best: best.map(printed),
            ratio: median(ratios).unwrap_or(f64::NAN),
        })
    }
}

fn ratio(pair: &[Measured; 2]) -> f64 {
    pair[1].time.as_secs_f64() / pair[0].time.as_secs_f64()
}

struct Bench {
    checker: Checker,
    folder: TempDir,
    parent: PathBuf,
    rows: u64,
    runs: u32,
    turns: u32,
}

impl Bench {
    /// A data file of a shape in our folder.
    fn make(&self, shape: &str) -> Result<PathBuf> {
        let path = self.folder.path().join(format!("{shape}.mdf"));
        if !path.exists() {
            let options = MakeOptions {
                shape: shape.to_owned(),
                size: Size::Rows(self.rows),
                seed: SEED,
            };
            make(&options, &[&path], &mut |_| {}).with_context(|| path.display().to_string())?;
        }
        Ok(path)
    }

    fn ours(&self, file: &Path) -> Result<Ours> {
        let rows = Rows::new(&open(file)?, u64::MAX).count();
        let bytes = std::fs::metadata(file)?.len();
        cached::plain(file, 2).context("warming the cache")?;
        let (time, result) = best_of(self.runs, || cached::plain(file, 2));
        result?;
        printed(Measured {
            what: "pread of 1 MiB, 2 threads".to_owned(),
            bytes,
            rows: None,
            time,
            peak: None,
        });
        let with_checksum = |at: usize| -> Result<Measured> {
            let (time, result) = best_of(1, || cached::with_checksum(file, at + 1));
            result?;
            let what = format!("pread + page checksum, {} thread(s)", at + 1);
            Ok(Measured { what, bytes, rows: None, time, peak: None })
        };
        let data = Data { name: &name_of(file), file, rows };
        let check =
            |scope| Turns::take(self.turns, |at| self.checker.measure(data, scope, at + 1, 1));
        Ok(Ours {
            loops: Turns::take(self.turns, with_checksum)?,
            full: check(Scope::Full)?,
            physical: check(Scope::Physical)?,
        })
    }

    /// Every installed peer. One that fails is reported and skipped, so that the others are not
    /// lost.
    fn peers(&self, file: &Path) -> Result<Vec<PeerCheck>> {
        let database = open(file)?;
        let rows = Rows::new(&database, self.rows);
        let folders = ProgramFolders::of_machine();
        let data = Data { name: &name_of(file), file, rows: 0 };
        let physical = || self.checker.measure(data, Scope::Physical, 2, 1);
        let interleaved: (&dyn Fn() -> Result<Measured>, u32) = (&physical, self.turns);
        let setting = Setting {
            folders: &folders,
            folder: &self.parent,
            runs: self.runs,
            interleaved,
        };
        let mut checks = Vec::new();
        for peer in PEERS {
            match (peer.measure)(&setting, &rows) {
                Ok(Outcome::Measured(measured)) => {
                    measured.iter().for_each(|check| drop(printed(check.measured.clone())));
                    checks.extend(measured);
                }
                Ok(Outcome::Missing(program)) => println!("{}", skipped(peer.name, program)),
                Err(error) => println!("FAILED: {}: {error:#}", peer.name),
            }
        }
        Ok(checks)
    }

    /// Two shapes with the same rows.
    fn pair(&self, names: [&'static str; 2]) -> Result<Turns> {
        let files = [self.make(names[0])?, self.make(names[1])?];
        let rows = Rows::new(&open(&files[0])?, u64::MAX).count();
        let turns = Turns::take(self.turns, |at| {
            self.checker.measure(
                Data { name: names[at], file: &files[at], rows },
                Scope::Full,
                2,
                1,
            )
        })?;
        for file in &files {
            std::fs::remove_file(file).with_context(|| file.display().to_string())?;
        }
        Ok(turns)
    }
}

fn open(file: &Path) -> Result<Database> {
    Ok(Database::open(&[file.to_path_buf()], &OpenOptions::default())?)
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Prints what was measured as soon as it is known.
fn printed(measured: Measured) -> Measured {
    println!("{}", measured.to_line());
    measured
}

fn skipped(peer: &str, program: &str) -> String {
    format!("SKIPPED: {peer} is not installed: {program} not found")
}

/// The lines of design.md §5 that this run can judge.
fn targets(ours: &Ours, peers: &[PeerCheck], eight: &Turns, computed: &Turns) -> Vec<Target> {
    let mut targets = against_peers(ours, peers);
    targets.extend(against_loop(ours));
    let pair = |names: &str, pair: &Turns| {
        let rows = pair.best[0].rows.unwrap_or(0);
        Target::new(
            format!("full check, 2 threads: time of {names}, {rows} rows each"),
            "x",
            Ok(pair.ratio),
        )
    };
    targets.push(pair("sales8 : sales1", eight).must(Limit::AtMost(2.0)));
    let computed = pair("sales-computed : sales-plain", computed);
    targets.push(computed.must(Limit::AtMost(1.3)).goal(Limit::AtMost(1.1)));
    let peak = ours.full.best.iter().map(|measured| measured.peak).max().flatten();
    let peak =
        peak.map(|bytes| bytes as f64 / 1e6).ok_or_else(|| "the system does not tell".to_owned());
    let what =
        format!("full check: most memory, {:.2} GB of files", ours.full.best[0].bytes as f64 / 1e9);
    targets.push(Target::new(what, "MB", peak).must(Limit::AtMost(MEMORY_MB)));
    targets
}

fn against_peers(ours: &Ours, peers: &[PeerCheck]) -> Vec<Target> {
    let [full, physical] = [&ours.full.best[1], &ours.physical.best[1]];
    let of =
        |depth| peers.iter().filter(move |check| check.depth == depth).map(|check| &check.measured);
    let best =
        |rate: fn(&Measured) -> f64| of(Depth::Full).max_by(|a, b| rate(a).total_cmp(&rate(b)));
    let against =
        |what: &str, peer: Option<&Measured>, rate: fn(&Measured) -> f64, ours: &Measured| {
            let name = peer.map_or("no peer", |peer| &peer.what);
            let ratio = peer.map(|peer| rate(ours) / rate(peer));
            let value = ratio.ok_or_else(|| "no peer was measured".to_owned());
            Target::new(format!("{what} : {name}"), "x", value)
        };
    let rows: fn(&Measured) -> f64 = |measured| measured.rows_per_s().unwrap_or(0.0);
    let bytes: fn(&Measured) -> f64 = Measured::gb_per_s;
    vec![
        against("GB/s: full check, 2 threads", best(bytes), bytes, full).must(Limit::AtLeast(10.0)),
        against("rows/s: full check, 2 threads", best(rows), rows, full),
        Target::new("full check, 2 threads, per core", "GB/s", Ok(full.gb_per_s() / 2.0))
            .goal(Limit::AtLeast(1.0)),
        against_checksums(peers).must(Limit::AtLeast(2.0)),
        Target::new(
            "physical check, 2 threads, per page and core",
            "µs",
            Ok(physical.ns_per_page() * 2.0 / 1e3),
        )
        .goal(Limit::AtMost(1.5)),
    ]
}

/// The physical check and `pg_checksums`, which took turns.
fn against_checksums(peers: &[PeerCheck]) -> Target {
    let check = peers.iter().find(|check| check.depth == Depth::Checksums);
    let name = check.map_or("no peer", |check| &check.measured.what);
    let ratio = check.and_then(|check| check.ratio);
    let value = ratio.ok_or_else(|| "no peer was measured".to_owned());
    Target::new(format!("GB/s: physical check, 2 threads : {name}, in turns"), "x", value)
}

fn against_loop(ours: &Ours) -> [Target; 2] {
    let full = 1.0 / ours.full.ratio;
    let physical = 1.0 / ours.physical.ratio;
    let reads = 1.0 / ours.loops.ratio;
    let what = format!(
        "1 → 2 threads: physical check {physical:.2} : loop of pread and checksum {reads:.2}"
    );
    [
        Target::new("1 → 2 threads: full check", "x", Ok(full))
            .must(Limit::AtLeast(1.7))
            .goal(Limit::AtLeast(1.9)),
        Target::new(what, "x", Ok(physical / reads)).must(Limit::AtLeast(0.95)),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn measured(what: &str, bytes: u64, rows: u64, ms: u64) -> Measured {
        let time = Duration::from_millis(ms);
        let peak = Some(40_000_000);
        Measured { what: what.to_owned(), bytes, rows: Some(rows), time, peak }
    }

    fn ours() -> Ours {
        let twice = |name, one, two| {
            turns([measured(name, GB, 4_000_000, one), measured(name, GB, 4_000_000, two)])
        };
        Ours {
            loops: twice("loop", 200, 100),
            full: twice("full", 1800, 1000),
            physical: twice("physical", 784, 400),
        }
    }

    fn turns(best: [Measured; 2]) -> Turns {
        Turns { ratio: ratio(&best), best }
    }

    fn pair(one: u64, other: u64) -> Turns {
        turns([measured("a", GB, 100, one), measured("b", 2 * GB, 100, other)])
    }

    fn full(what: &str, bytes: u64, ms: u64) -> PeerCheck {
        PeerCheck {
            depth: Depth::Full,
            measured: measured(what, bytes, 4_000_000, ms),
            ratio: None,
        }
    }

    const GB: u64 = 1_000_000_000;

    fn lines(peers: &[PeerCheck]) -> Vec<String> {
        let eight = pair(1000, 1900);
        let computed = pair(1000, 1400);
        targets(&ours(), peers, &eight, &computed).iter().map(Target::to_line).collect()
    }

    #[test]
    fn the_best_peer_counts_by_bytes_and_by_rows() {
        // The first writes twice the bytes for the same rows and is slower for it.
        let lines = lines(&[full("wide", 2 * GB, 15_000), full("tight", GB, 10_000)]);
        assert_eq!(
            lines[0],
            "| GB/s: full check, 2 threads : wide | 7.50 x | ≥ 10 x | **NOT MET** |  |  |"
        );
        assert_eq!(lines[1], "| rows/s: full check, 2 threads : tight | 10.0 x |  |  |  |  |");
    }

    #[test]
    fn without_peers_nothing_is_judged_against_them() {
        let lines = lines(&[]);
        assert!(lines[0].contains("no peer was measured | ≥ 10 x | not judged"), "{}", lines[0]);
        assert!(lines[3].contains("no peer was measured | ≥ 2 x | not judged"), "{}", lines[3]);
    }

    #[test]
    fn checksum_checks_are_not_compared_with_the_full_check() {
        let checksums = PeerCheck {
            depth: Depth::Checksums,
            ratio: Some(1.25),
            ..full("sums", GB, 500)
        };
        let lines = lines(&[full("peer", GB, 10_000), checksums]);
        assert!(lines[0].contains(": peer | 10.0 x | ≥ 10 x | met"), "{}", lines[0]);
        assert!(
            lines[3].contains(": sums, in turns | 1.25 x | ≥ 2 x | **NOT MET**"),
            "{}",
            lines[3]
        );
    }

    #[test]
    fn of_turns_the_shortest_and_the_median_ratio_count() {
        let mut times = [100, 200, 300, 330, 100, 190].into_iter();
        let run = |at: usize| Ok(measured(["a", "b"][at], GB, 100, times.next().unwrap()));
        let turns = Turns::take(3, run).unwrap();
        assert_eq!(turns.best.map(|best| best.time.as_millis()), [100, 190]);
        assert!((turns.ratio - 1.9).abs() < 1e-9, "{}", turns.ratio);
    }

    #[test]
    fn pairs_are_compared_by_the_time_of_the_same_rows() {
        let lines = lines(&[]);
        assert!(
            lines[7].contains("sales8 : sales1, 100 rows each | 1.90 x | ≤ 2 x | met"),
            "{}",
            lines[7]
        );
        assert!(
            lines[8].contains("1.40 x | ≤ 1.3 x | **NOT MET** | ≤ 1.1 x | not met"),
            "{}",
            lines[8]
        );
    }

    #[test]
    fn threads_and_memory_are_judged() {
        let lines = lines(&[]);
        assert!(
            lines[5].contains("full check | 1.80 x | ≥ 1.7 x | met | ≥ 1.9 x | not met"),
            "{}",
            lines[5]
        );
        assert!(lines[6].contains("| 0.98 x | ≥ 0.95 x | met"), "{}", lines[6]);
        assert!(lines[9].contains("1.00 GB of files | 40.0 MB | ≤ 128 MB | met"), "{}", lines[9]);
    }

    #[test]
    fn a_missing_peer_is_reported() {
        assert_eq!(
            skipped("MariaDB", "mariadbd"),
            "SKIPPED: MariaDB is not installed: mariadbd not found"
        );
    }
}
