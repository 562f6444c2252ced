//! Known faults in databases of our own and in copies of real files: each is named, with its place,
//! and nothing else is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, Finding, Options, Report, Verdict, run};
use extentdb_faults::{Harmless, Kind, Truth, applicable, damage, harmless};
use extentdb_format::page::PageHeader;
use extentdb_format::page::header::FLAG_CHECKSUM;
use extentdb_messages::RepairLevel;
use extentdb_reader::{OpenOptions, OpenedFiles};
use extentdb_report::to_text;
use extentdb_template::{MakeOptions, SHAPES, Size, make};

/// How a database is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Full,
    PhysicalOnly,
    NoIndex,
}

const MODES: [Mode; 3] = [Mode::Full, Mode::PhysicalOnly, Mode::NoIndex];

impl Mode {
    fn options(self) -> Options {
        Options {
            physical_only: self == Mode::PhysicalOnly,
            no_index: self == Mode::NoIndex,
            // Files from SQL Server 2000 are not checked for it unless asked.
            data_purity: self != Mode::PhysicalOnly,
            ..Options::default()
        }
    }

    /// What must be reported, and of what one must be.
    fn expected(self, truth: &Truth) -> (&[u32], &[u32]) {
        match self {
            Mode::Full => (&truth.expected, &truth.any_of),
            Mode::PhysicalOnly => (&truth.expected_physical, &truth.any_of_physical),
            Mode::NoIndex => (&truth.expected_no_index, &truth.any_of_no_index),
        }
    }
}

fn check(files: &[PathBuf]) -> Report {
    check_in(Mode::Full, files)
}

fn check_in(mode: Mode, files: &[PathBuf]) -> Report {
    let opened = OpenedFiles::open(files, &OpenOptions::default()).unwrap();
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    run(opened.source(), &mode.options(), &Control::new(&clock, &cancel))
}

fn paths(files: &[PathBuf]) -> Vec<&Path> {
    files.iter().map(PathBuf::as_path).collect()
}

/// A database of a shape, in so many files.
fn made(folder: &Path, shape: &str, bytes: u64, files: usize) -> Vec<PathBuf> {
    let files: Vec<PathBuf> =
        (0..files).map(|at| folder.join(format!("{shape}-{at}.mdf"))).collect();
    let options = MakeOptions { shape: shape.to_owned(), size: Size::Bytes(bytes), seed: 7 };
    make(&options, &paths(&files), &mut |_| {}).unwrap();
    files
}

/// Every expected number, one of those of which one must be, nothing that is neither expected nor
/// permitted, and the place of the fault. What is wrong with the report, if anything.
fn judge(report: &Report, truth: &Truth, mode: Mode) -> Result<(), String> {
    let (expected, any_of) = mode.expected(truth);
    let found: BTreeSet<u32> = report.findings.iter().map(|finding| finding.error).collect();
    let allowed: BTreeSet<u32> =
        expected.iter().chain(any_of).chain(&truth.permitted).copied().collect();
    let fail = |what: String| {
        let Truth { kind, seed, page, slot, object_id, .. } = truth;
        let lines = lines_of(report);
        Err(format!(
            "{kind} seed {seed} {mode:?} at {page} {slot:?} of {object_id}: {what}\n{lines}"
        ))
    };
    if let Some(missing) = expected.iter().find(|number| !found.contains(number)) {
        return fail(format!("{missing} of {expected:?} is not reported"));
    }
    if !any_of.is_empty() && !any_of.iter().any(|number| found.contains(number)) {
        return fail(format!("none of {any_of:?} is reported"));
    }
    if let Some(more) = found.iter().find(|number| !allowed.contains(number)) {
        return fail(format!("{more} is more than {allowed:?}"));
    }
    if !expected.is_empty() {
        if report.verdict != Verdict::Damaged {
            return fail(format!("the verdict is {:?}", report.verdict));
        }
        judge_place(report, truth)
            .and_then(|()| judge_repair(report, truth, mode))
            .or_else(fail)?;
    }
    Ok(())
}

/// Kinds of which the numbers do not tell the repair: the catalog says "either" of the first two,
/// slots that are exchanged look like a key that is wrong, keys of rows beyond a separator like a
/// wrong separator, and a row that became a ghost like a wrong count.
const REPAIR_IS_OPEN: [Kind; 7] = [
    Kind::UpperFlippedByte,
    Kind::RootFlippedByte,
    Kind::SlotsExchanged,
    Kind::KeyRaisedLast,
    Kind::KeyLoweredFirst,
    Kind::KeyDoubledAcross,
    Kind::RecordGhost,
];

/// The highest repair level of what must be reported is that of the catalog of faults.
fn judge_repair(report: &Report, truth: &Truth, mode: Mode) -> Result<(), String> {
    let (expected, any_of) = mode.expected(truth);
    let due = report
        .findings
        .iter()
        .filter(|it| expected.contains(&it.error) || any_of.contains(&it.error));
    let level = due.map(|finding| finding.repair).max().unwrap_or(RepairLevel::None);
    let is_open = REPAIR_IS_OPEN.contains(&truth.kind) && level > RepairLevel::None;
    if !is_open && level.to_string() != truth.repair.name() {
        return Err(format!("{level} is the repair level, not {}", truth.repair.name()));
    }
    Ok(())
}

/// The first findings, a line each.
fn lines_of(report: &Report) -> String {
    let line = |it: &Finding| {
        format!("    {} {:?} {:?} {}", it.error, it.location.page, it.location.slot, it.message)
    };
    report.findings.iter().take(12).map(line).collect::<Vec<_>>().join("\n")
}

/// Some finding is about the page of the fault or names it, one of them about its slot, and the
/// table is named.
fn judge_place(report: &Report, truth: &Truth) -> Result<(), String> {
    let names_page =
        |it: &Finding| it.location.page == Some(truth.page) || it.related.contains(&truth.page);
    // Of a row and an entry that do not match, the one that is left is named; of a value that its
    // row forgot, the nodes.
    let is_cross = |it: &Finding| matches!(it.error, 8951 | 8952 | 8955 | 8956 | 8964);
    // What the catalog says of a whole table has no page.
    let has_pages = report.findings.iter().any(|it| it.location.page.is_some() && !is_cross(it));
    if has_pages && !report.findings.iter().any(names_page) {
        return Err("the page of the fault is not named".to_owned());
    }
    let names_object =
        |it: &Finding| it.location.owner.is_none_or(|owner| owner.object == truth.object_id);
    if !report.findings.iter().any(names_object) {
        return Err("the table of the fault is not named".to_owned());
    }
    let has_slots =
        |it: &Finding| it.location.slot.is_some() && it.location.page == Some(truth.page);
    let names_slot = |it: &Finding| it.location.slot.map(|slot| slot.0) == truth.slot;
    let is_about_row = truth.slot.is_some() && report.findings.iter().any(has_slots);
    if is_about_row && !report.findings.iter().any(names_slot) {
        return Err("the slot of the fault is not named".to_owned());
    }
    Ok(())
}

fn has_checksum(files: &[PathBuf], truth: &Truth) -> bool {
    let [file] = files else { return true };
    let bytes = std::fs::read(file).unwrap();
    let page = &bytes[truth.page.page as usize * 8192..][..8192];
    PageHeader::of(page.first_chunk().unwrap()).flag_bits.get() & FLAG_CHECKSUM != 0
}

/// Every fault that the database has something for, in every mode; the kinds that there were.
fn every_fault_of(files: &[PathBuf], seeds: std::ops::Range<u64>) -> Vec<Kind> {
    let (kinds, failures) = faults_of(files, seeds, |_| true);
    assert!(
        failures.is_empty(),
        "{} of {} kinds\n{}",
        failures.len(),
        kinds.len(),
        failures.join("\n")
    );
    kinds
}

/// The same for some kinds; the kinds that there were, and what is wrong.
fn faults_of(
    files: &[PathBuf],
    seeds: std::ops::Range<u64>,
    is_wanted: impl Fn(Kind) -> bool,
) -> (Vec<Kind>, Vec<String>) {
    for mode in MODES {
        let clean = check_in(mode, files);
        assert_eq!(clean.findings, [], "{mode:?} {}", to_text(&clean));
        assert_eq!(clean.verdict, Verdict::Clean, "{mode:?} {}", to_text(&clean));
    }
    let mut kinds = applicable(&paths(files)).unwrap();
    kinds.retain(|kind| is_wanted(*kind));
    let mut failures = Vec::new();
    for &kind in &kinds {
        for seed in seeds.clone() {
            let folder = tempfile::tempdir().unwrap();
            let outputs: Vec<PathBuf> =
                (0..files.len()).map(|at| folder.path().join(at.to_string())).collect();
            let truth = damage(&paths(files), &paths(&outputs), kind, seed).unwrap();
            if matches!(kind, Kind::FlippedByte | Kind::TornSector)
                && !has_checksum(&outputs, &truth)
            {
                // Torn-page bits say nothing about the bytes between them, nor about a sector with
                // the same signature.
                continue;
            }
            failures.extend(
                MODES
                    .iter()
                    .filter_map(|mode| judge(&check_in(*mode, &outputs), &truth, *mode).err()),
            );
        }
    }
    (kinds, failures)
}

/// What the catalog of faults says must not be noticed: garbage that nobody owns, separators
/// without their rows, letters of another case, ghosts.
#[test]
fn harmless_changes_are_not_reported() {
    let folder = tempfile::tempdir().unwrap();
    let files = made(folder.path(), "fixture", 12 << 20, 1);
    for kind in Harmless::ALL {
        for seed in 0..4 {
            let output = folder.path().join(format!("{}-{seed}", kind.name()));
            let changes = harmless(&paths(&files), &[&output], kind, seed).unwrap();
            assert!(!changes.is_empty(), "{}", kind.name());
            for mode in MODES {
                let report = check_in(mode, std::slice::from_ref(&output));
                assert_eq!(
                    report.findings,
                    [],
                    "{} seed {seed} {mode:?}\n{}",
                    kind.name(),
                    to_text(&report)
                );
                assert_eq!(report.verdict, Verdict::Clean, "{} {mode:?}", kind.name());
            }
        }
    }
}

/// Two faults of different groups, one after the other: the second must find its place in a damaged
/// database, and what the check says is about one of them at least.
#[test]
fn two_faults_of_different_groups_are_found_together() {
    let folder = tempfile::tempdir().unwrap();
    let files = made(folder.path(), "fixture", 12 << 20, 1);
    let kinds = applicable(&paths(&files)).unwrap();
    let mut rng = SplitMix64::new(2);
    let mut pick = || kinds[rng.below(kinds.len() as u64) as usize];
    let mut both = 0;
    let mut tried = 0;
    while tried < 120 {
        let first = pick();
        let second = pick();
        if first.group() == second.group() {
            continue;
        }
        tried += 1;
        let scratch = tempfile::tempdir().unwrap();
        let one = scratch.path().join("one");
        let two = scratch.path().join("two");
        let truth = damage(&paths(&files), &[&one], first, tried).unwrap();
        let Ok(other) = damage(&[&one], &[&two], second, tried) else { continue };
        both += 1;
        let is_due = |truth: &Truth| !truth.expected.is_empty();
        let report = check(&[two]);
        let lines = || lines_of(&report);
        let is_found = report.verdict == Verdict::Damaged && !report.findings.is_empty();
        assert!(
            is_found || !(is_due(&truth) || is_due(&other)),
            "{first} and {second}\n{}",
            lines()
        );
        let numbers = |it: &Truth| [&it.expected[..], &it.any_of, &it.permitted].concat();
        let all = [numbers(&truth), numbers(&other)].concat();
        let is_named = report.findings.iter().any(|finding| all.contains(&finding.error));
        assert!(is_named || report.findings.is_empty(), "{first} and {second}\n{}", lines());
    }
    // A database without boot page or catalog has no place for a second fault.
    assert!(both > 90, "{both} of {tried}");
}

#[test]
fn every_fault_in_the_fixture_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let kinds = every_fault_of(&made(folder.path(), "fixture", 12 << 20, 1), 0..3);
    assert!(kinds.len() > 100, "{} kinds: {kinds:?}", kinds.len());
}

/// Partitions, compression, filegroups, computed columns, filtered indexes, versions, values pushed
/// off their rows, trees of values: the shapes that have them, and the groups of the catalog that
/// they make a difference to.
#[test]
fn every_fault_that_takes_another_shape_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut found = BTreeSet::new();
    let mut failures = Vec::new();
    let shapes: [(&str, u64, &[u16]); 6] = [
        ("compressed", 6 << 20, &[1, 9]),
        ("computed", 6 << 20, &[7]),
        ("history", 6 << 20, &[3, 4]),
        ("lob", 8 << 20, &[5]),
        ("partitioned", 8 << 20, &[6, 7]),
        ("wide", 6 << 20, &[5, 8]),
    ];
    for (shape, bytes, groups) in shapes {
        let count = SHAPES.iter().find(|known| known.name == shape).map_or(1, |known| known.files);
        let files = made(folder.path(), shape, bytes, count);
        let (kinds, failed) = faults_of(&files, 0..2, |kind| groups.contains(&kind.group()));
        found.extend(kinds);
        failures.extend(failed.into_iter().map(|failure| format!("{shape} {failure}")));
    }
    assert!(failures.is_empty(), "{} of {found:?}\n{}", failures.len(), failures.join("\n"));
    assert!(found.len() > 70, "{} kinds: {found:?}", found.len());
}

/// Numbers that a full check and one without indexes report.
fn numbers_after(files: &[PathBuf], kind: Kind, seed: u64) -> BTreeSet<u32> {
    let folder = tempfile::tempdir().unwrap();
    let outputs: Vec<PathBuf> =
        (0..files.len()).map(|at| folder.path().join(at.to_string())).collect();
    damage(&paths(files), &paths(&outputs), kind, seed).unwrap();
    let reports = [Mode::Full, Mode::NoIndex].map(|mode| check_in(mode, &outputs));
    reports.iter().flat_map(|report| report.findings.iter().map(|finding| finding.error)).collect()
}

#[test]
fn compressed_pages_are_no_damage_without_a_catalog() {
    let folder = tempfile::tempdir().unwrap();
    let files = made(folder.path(), "compressed", 4 << 20, 1);
    assert_eq!(numbers_after(&files, Kind::BootFlippedByte, 1), BTreeSet::from([5250]));
}

#[test]
fn pages_that_an_index_lacks_by_its_iam_chain_are_missing_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let files = made(folder.path(), "partitioned", 8 << 20, 4);
    for seed in 0..4 {
        let chain = numbers_after(&files, Kind::IamPageType, seed);
        assert!(chain.is_subset(&BTreeSet::from([2576, 7965, 8905, 8906, 8946])), "{chain:?}");
        let owners = numbers_after(&files, Kind::IamFilegroup, seed);
        assert!(owners.contains(&8996) && !owners.contains(&8951), "{owners:?}");
    }
}

#[test]
fn every_fault_in_a_database_of_two_files_is_named() {
    let folder = tempfile::tempdir().unwrap();
    every_fault_of(&made(folder.path(), "demo", 8 << 20, 2), 0..2);
}

#[test]
fn every_fault_in_a_tree_of_several_levels_is_named() {
    let folder = tempfile::tempdir().unwrap();
    every_fault_of(&made(folder.path(), "sales", 24 << 20, 1), 10..11);
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
        every_fault_of(&[file], 0..2);
    }
}

#[test]
fn a_missing_secondary_file_is_named_and_its_pages_are_not_damage() {
    let folder = tempfile::tempdir().unwrap();
    let files = made(folder.path(), "demo", 8 << 20, 2);
    let report = check(&files[..1]);
    assert_eq!(report.findings, [], "{}", to_text(&report));
    assert_eq!(report.verdict, Verdict::Incomplete);
    let missing = report.coverage.not_checked.iter().find(|it| it.what.starts_with("file 3 "));
    assert_eq!(
        missing.map(|it| it.why.as_str()),
        Some("it was not given"),
        "{:?}",
        report.coverage.not_checked
    );
    // Without the primary file there is no catalog: pages are audited by themselves.
    let report = check(&files[1..]);
    assert_eq!(report.findings, [], "{}", to_text(&report));
    assert_eq!(report.verdict, Verdict::Incomplete);
    assert!(
        report.coverage.pages_checked > 0
            && report.coverage.pages_checked == report.coverage.pages_planned
    );
}
