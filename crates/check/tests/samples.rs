//! Real files: whatever they contain, they are healthy.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, IoChoice, Options, Report, Verdict, run};
use extentdb_reader::{OpenOptions, Opened};

/// The folder with the samples; `None`, loudly, when it is not there.
fn samples() -> Option<PathBuf> {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")),
        PathBuf::from,
    );
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: no samples at {}", folder.display());
    None
}

fn healthy_files() -> Vec<PathBuf> {
    let Some(folder) = samples() else { return Vec::new() };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        let is_database = path.extension().is_some_and(|ext| ext == "mdf" || ext == "bak");
        is_database && !path.to_string_lossy().contains("stripe")
    });
    files.sort();
    files
}

fn check(path: &PathBuf, options: &Options) -> Report {
    let opened = Opened::open(std::slice::from_ref(path), &OpenOptions::default()).unwrap();
    let (clock, cancel) = (SystemClock::new(), AtomicBool::new(false));
    let mut report = run(opened.source(), options, &Control::new(&clock, &cancel));
    report.elapsed = Duration::ZERO;
    report
}

#[test]
fn healthy_files_have_no_findings_and_are_covered() {
    for path in healthy_files() {
        let report = check(&path, &Options::default());
        assert_eq!(report.findings, [], "{}\n{}", path.display(), report.to_text());
        assert_eq!(report.verdict, Verdict::Clean, "{}\n{}", path.display(), report.to_text());
        let coverage = &report.coverage;
        assert!(coverage.pages_planned > 150 && coverage.pages_checked == coverage.pages_planned);
        assert!(coverage.objects > 20, "{}", report.to_text());
    }
}

#[test]
fn the_report_does_not_depend_on_threads_chunks_or_the_way_of_reading() {
    let mut rng = SplitMix64::new(11);
    for path in healthy_files() {
        let whole = check(&path, &Options::default());
        for jobs in [1, 2, 7] {
            for io in [IoChoice::Buffered, IoChoice::Direct] {
                let jobs = NonZeroUsize::new(jobs);
                let options = Options { jobs, io, chunk_pages: rng.below(200) as u32, ..Options::default() };
                let mut report = check(&path, &options);
                // Gaps between chunks are read or not, as chunks are cut.
                report.bytes = whole.bytes;
                assert_eq!(report, whole, "{} {options:?}", path.display());
            }
        }
    }
}
