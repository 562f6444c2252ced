//! Whole runs compared with the device and with peers; see the README of this folder.

mod engine;
mod full;
mod server;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use bench::report::{best_of, line};
use bench::{cached, peers};
use clap::{Parser, Subcommand};
use extentdb_base::env::SystemClock;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, IoChoice, Options, Report, Verdict};
use extentdb_reader::{OpenOptions, OpenedFiles, PageSource};

/// Both sides measured in one run.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    run: Comparison,
}

#[derive(Subcommand)]
enum Comparison {
    /// Physical check of a cached file compared with plain reads and pg_checksums.
    Physical {
        /// A data file, for example of `extentdb make big.mdf --shape sales --size 4GB`.
        file: PathBuf,
        /// Folder in which a PostgreSQL cluster of the same size is created and deleted; without it
        /// that side is left out.
        #[arg(long)]
        pg_dir: Option<PathBuf>,
    },
    /// Full check of a cached file compared with PostgreSQL, SQLite and MariaDB with the same rows;
    /// indexes; memory.
    Peers(full::PeersArgs),
    /// Storage engine: rows, clients, commits and extents compared with the device, PostgreSQL,
    /// SQLite and MariaDB.
    Engine(engine::EngineArgs),
    /// `extentdb serve` and PostgreSQL over their own protocols: starts, statements, loads, TPC-H.
    Server(server::ServerArgs),
    /// Physical check with direct reads compared with fio.
    Device {
        /// A data file.
        file: PathBuf,
    },
    /// Decoding of a compressed backup.
    Backup {
        /// A compressed backup.
        file: PathBuf,
    },
}

fn main() -> Result<()> {
    match Args::parse().run {
        Comparison::Physical { file, pg_dir } => physical(&file, pg_dir.as_deref()),
        Comparison::Peers(args) => full::run(&args),
        Comparison::Engine(args) => engine::run(&args),
        Comparison::Server(args) => server::run(&args),
        Comparison::Device { file } => device(&file),
        Comparison::Backup { file } => backup(&file),
    }
}

/// A clean check of the file; anything else would not be worth timing.
fn check(file: &Path, jobs: usize, io: IoChoice) -> Result<(Duration, Report)> {
    let opened = OpenedFiles::open(&[file.to_path_buf()], &OpenOptions::default())?;
    let options = Options {
        jobs: NonZeroUsize::new(jobs),
        io,
        physical_only: true,
        ..Options::default()
    };
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    let (time, report) = best_of(3, || {
        extentdb_check::run(opened.source(), &options, &Control::new(&clock, &cancel))
    });
    anyhow::ensure!(report.verdict != Verdict::Damaged, "the file is damaged");
    Ok((time, report))
}

fn physical(file: &Path, pg_dir: Option<&Path>) -> Result<()> {
    let bytes = std::fs::metadata(file)?.len();
    println!("{}: {:.2} GB, cached; best of 3 each", file.display(), bytes as f64 / 1e9);
    cached::plain(file, 2).context("warming the cache")?;
    let plain = line(
        "pread 1 MiB, 2 threads (cached read)",
        bytes,
        best_of(3, || cached::plain(file, 2)).0,
        None,
    );
    let mut loops = [0.0; 2];
    let mut checks = [0.0; 2];
    for threads in [1, 2] {
        let (time, read) = best_of(3, || cached::with_checksum(file, threads));
        read?;
        loops[threads - 1] =
            line(&format!("pread + page checksum, {threads} thread(s)"), bytes, time, Some(plain));
    }
    for threads in [1, 2] {
        let (time, _) = check(file, threads, IoChoice::Buffered)?;
        checks[threads - 1] =
            line(&format!("physical check, {threads} thread(s)"), bytes, time, Some(plain));
    }
    println!("scaling 1 → 2: check {:.2}, loop {:.2}", checks[1] / checks[0], loops[1] / loops[0]);
    phases(file, bytes)?;
    against_checksums(pg_dir, bytes, checks[1], plain)
}

fn against_checksums(pg_dir: Option<&Path>, bytes: u64, check: f64, plain: f64) -> Result<()> {
    let folders = peers::ProgramFolders::of_machine();
    match (peers::postgres::programs(&folders), pg_dir) {
        (Some(bin), Some(dir)) => {
            let measured = peers::postgres::checksums_of_size(bin, dir, bytes, 3)?;
            let pg = line(&measured.what, measured.bytes, measured.time, Some(plain));
            println!("physical check beside pg_checksums: {:.2} x", check / pg);
        }
        (None, _) => {
            println!("SKIPPED: PostgreSQL is not installed: {} not found", peers::postgres::MISSING)
        }
        (_, None) => println!("SKIPPED: pg_checksums, no --pg-dir given"),
    }
    Ok(())
}

/// The time of one thread by phase: reading, checksum, everything else of the check.
fn phases(file: &Path, bytes: u64) -> Result<()> {
    let quarter = 1 << 18;
    let (read, result) = best_of(3, || {
        cached::read_all(file, 1, quarter, |bytes| {
            std::hint::black_box(bytes);
        })
    });
    result?;
    let (summed, result) = best_of(3, || cached::with_checksum(file, 1));
    result?;
    let (checked, _) = check(file, 1, IoChoice::Buffered)?;
    let per_page = |time: Duration| time.as_nanos() as f64 / (bytes as f64 / 8192.0);
    let read = per_page(read);
    let summed = per_page(summed);
    let checked = per_page(checked);
    println!(
        "ns per page, one thread: read {read:.0}, checksum {:.0}, audit and maps {:.0}, together {checked:.0}",
        summed - read,
        checked - summed
    );
    Ok(())
}

fn device(file: &Path) -> Result<()> {
    let bytes = std::fs::metadata(file)?.len();
    let fio = peers::fio_read(file)?;
    match fio {
        Some(rate) => println!("fio, 1 MiB, io_uring, depth 8, direct: {:.2} GB/s", rate / 1e9),
        None => println!("SKIPPED: fio is not installed"),
    }
    let (time, _) = check(file, 2, IoChoice::Direct)?;
    line("physical check, direct reads, 2 threads", bytes, time, fio.map(|rate| rate / 1e9));
    Ok(())
}

fn backup(file: &Path) -> Result<()> {
    let opened = OpenedFiles::open(&[file.to_path_buf()], &OpenOptions::default())?;
    let source = opened.source();
    let (time, bytes) = best_of(5, || read_extents(source));
    line("compressed backup, all extents, 1 thread", bytes?, time, None);
    Ok(())
}

fn read_extents(source: &dyn PageSource) -> Result<u64> {
    use extentdb_base::{Extent, size::EXTENT_BYTES};
    let mut buf = vec![0; EXTENT_BYTES];
    let mut bytes = 0;
    for file in source.files() {
        for index in 0..file.pages / 8 {
            let extent = Extent { file: file.id, index };
            if source.is_stored(extent) {
                source.read_run(extent.first_page(), &mut buf)?;
                bytes += buf.len() as u64;
            }
        }
    }
    Ok(bytes)
}
