//! Known faults in databases of our own and in copies of real files: each is named, with its place, and nothing else is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use extentdb_base::env::SystemClock;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, Options, Report, Verdict, run};
use extentdb_format::page::PageHeader;
use extentdb_format::page::header::FLAG_CHECKSUM;
use extentdb_reader::{OpenOptions, Opened};
use extentdb_synth::{Kind, MakeOptions, Size, Truth, applicable, damage, make};

fn check(files: &[PathBuf]) -> Report {
    let opened = Opened::open(files, &OpenOptions::default()).unwrap();
    let (clock, cancel) = (SystemClock::new(), AtomicBool::new(false));
    run(opened.source(), &Options::default(), &Control::new(&clock, &cancel))
}

fn paths(files: &[PathBuf]) -> Vec<&Path> {
    files.iter().map(PathBuf::as_path).collect()
}

/// A database of a shape, in so many files.
fn made(folder: &Path, shape: &str, bytes: u64, files: usize) -> Vec<PathBuf> {
    let files: Vec<PathBuf> = (0..files).map(|at| folder.join(format!("{shape}-{at}.mdf"))).collect();
    let options = MakeOptions { shape: shape.to_owned(), size: Size::Bytes(bytes), seed: 7 };
    make(&options, &paths(&files), &mut |_| {}).unwrap();
    files
}

/// Every expected number, nothing that is neither expected nor permitted, and the place of the fault.
fn judge(report: &Report, truth: &Truth) {
    let found: BTreeSet<u32> = report.findings.iter().map(|finding| finding.error).collect();
    let mut expected: BTreeSet<u32> = truth.expected.iter().copied().collect();
    let allowed: BTreeSet<u32> = truth.expected.iter().chain(&truth.permitted).copied().collect();
    if truth.kind == Kind::IamLostExtent {
        // The extent may hold the end of the leaf level: then no page misses its reference.
        expected.remove(&8978);
    }
    let what = || format!("{} seed {} at {}\n{}", truth.kind, truth.seed, truth.page, report.to_text());
    assert!(found.is_superset(&expected), "not all of {expected:?} are reported: {}", what());
    assert!(found.is_subset(&allowed), "more than {allowed:?} is reported: {}", what());
    assert_eq!(report.verdict, Verdict::Damaged, "{}", what());
    let names_page = |finding: &extentdb_check::Finding| finding.place.page == Some(truth.page);
    let is_about_neighbour = matches!(truth.kind, Kind::SiblingLink | Kind::PreviousLink);
    let names_neighbour = |finding: &extentdb_check::Finding| finding.related.contains(&truth.page);
    assert!(
        report.findings.iter().any(|it| names_page(it) || (is_about_neighbour && names_neighbour(it))),
        "the page of the fault is not named: {}",
        what()
    );
    if let Some(slot) = truth.slot.filter(|_| truth.kind != Kind::FlippedByte) {
        let names_slot =
            |finding: &&extentdb_check::Finding| finding.place.slot.is_some_and(|it| it.0 == slot);
        assert!(report.findings.iter().any(|it| names_slot(&it)), "{}", what());
    }
}

fn has_checksum(files: &[PathBuf], truth: &Truth) -> bool {
    let [file] = files else { return true };
    let bytes = std::fs::read(file).unwrap();
    let page = &bytes[truth.page.page as usize * 8192..][..8192];
    PageHeader::of(page.first_chunk().unwrap()).flag_bits.get() & FLAG_CHECKSUM != 0
}

fn every_fault_of(files: &[PathBuf], seeds: std::ops::Range<u64>) {
    let clean = check(files);
    assert_eq!(clean.findings, [], "{}", clean.to_text());
    assert_eq!(clean.verdict, Verdict::Clean, "{}", clean.to_text());
    let kinds = applicable(&paths(files)).unwrap();
    assert!(kinds.len() >= 10, "{kinds:?}");
    for kind in kinds {
        for seed in seeds.clone() {
            let folder = tempfile::tempdir().unwrap();
            let outputs: Vec<PathBuf> =
                (0..files.len()).map(|at| folder.path().join(at.to_string())).collect();
            let truth = damage(&paths(files), &paths(&outputs), kind, seed).unwrap();
            if matches!(kind, Kind::FlippedByte | Kind::TornSector) && !has_checksum(&outputs, &truth) {
                // Torn-page bits say nothing about the bytes between them, nor about a sector with the same signature.
                continue;
            }
            judge(&check(&outputs), &truth);
        }
    }
}

#[test]
fn every_fault_in_a_database_of_two_files_is_named() {
    let folder = tempfile::tempdir().unwrap();
    every_fault_of(&made(folder.path(), "demo", 8 << 20, 2), 0..6);
}

#[test]
fn every_fault_in_a_tree_of_several_levels_is_named() {
    let folder = tempfile::tempdir().unwrap();
    every_fault_of(&made(folder.path(), "sales", 24 << 20, 1), 10..12);
}

#[test]
fn every_fault_in_a_copy_of_a_real_file_is_named() {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")),
        PathBuf::from,
    );
    for name in ["northwind-2008.mdf", "northwind-from-2000.mdf"] {
        let file = folder.join(name);
        if !file.exists() {
            eprintln!("SKIPPED: no samples at {}", folder.display());
            return;
        }
        every_fault_of(&[file], 0..4);
    }
}

#[test]
fn a_missing_secondary_file_is_named_and_its_pages_are_not_damage() {
    let folder = tempfile::tempdir().unwrap();
    let files = made(folder.path(), "demo", 8 << 20, 2);
    let report = check(&files[..1]);
    assert_eq!(report.findings, [], "{}", report.to_text());
    assert_eq!(report.verdict, Verdict::Incomplete);
    let missing = report.coverage.not_checked.iter().find(|it| it.what.starts_with("file 3 "));
    assert_eq!(
        missing.map(|it| it.why.as_str()),
        Some("it was not given"),
        "{:?}",
        report.coverage.not_checked
    );
    // Without the primary file there is no catalogue: pages are audited by themselves.
    let report = check(&files[1..]);
    assert_eq!(report.findings, [], "{}", report.to_text());
    assert_eq!(report.verdict, Verdict::Incomplete);
    assert!(
        report.coverage.pages_checked > 0 && report.coverage.pages_checked == report.coverage.pages_planned
    );
}
