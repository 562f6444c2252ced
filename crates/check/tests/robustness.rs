//! Whatever a file says: no panic, an end, bounded memory, and a finding wherever an allocated page
//! has a wrong checksum.

mod support;

use std::path::PathBuf;

use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, Options, Verdict, run};
use extentdb_format::allocation::pfs::PfsView;
use extentdb_format::page::checksum;
use extentdb_reader::{OpenOptions, OpenedFiles};
use extentdb_report::{to_json, to_text};
use support::{Demo, Memory};

/// Changes a few bytes, sectors, fields or whole pages; true when a page that PFS calls allocated,
/// in a file whose maps are sound, now has a wrong checksum.
fn mutate(memory: &mut Memory, rng: &mut SplitMix64) -> bool {
    let pfs = memory.stored(1);
    let mut must_be_found = false;
    for _ in 0..=rng.below(4) {
        let is_allocated = |page: u32| PfsView::new(&pfs).entry(page).is_allocated();
        let mut page = rng.below(u64::from(memory.pages())) as u32;
        // Most of the file is free space, where nothing can go wrong.
        for _ in 0..8 {
            if !is_allocated(page) {
                page = rng.below(u64::from(memory.pages())) as u32;
            }
        }
        let at = rng.below(PAGE_BYTES as u64) as usize;
        match rng.below(6) {
            0 => memory.raw(page, |bytes| bytes[at] ^= 1 << rng.below(8)),
            1 => memory.raw(page, |bytes| bytes[at..].fill(rng.next_u64() as u8)),
            2 => memory.raw(page, |bytes| bytes.fill(0)),
            // Sealed again: only what the bytes mean is wrong.
            3 => memory.edit(page, |bytes| bytes[at % 96] = rng.next_u64() as u8),
            4 => memory.edit(page, |bytes| bytes[at] = rng.next_u64() as u8),
            _ => {
                let other = memory.stored(rng.below(u64::from(memory.pages())) as u32);
                memory.raw(page, |bytes| bytes.copy_from_slice(&other[..]));
            }
        }
        must_be_found |= is_allocated(page) && !checksum::verify(&memory.stored(page)).is_intact();
    }
    must_be_found
}

#[test]
fn mutated_files_are_reported_and_never_break_the_check() {
    let demo = Demo::with_free_space();
    let mut rng = SplitMix64::new(2026);
    let mut found = 0;
    let mut due = 0;
    for round in 0..300 {
        let mut memory = demo.memory.clone();
        let must_be_found = mutate(&mut memory, &mut rng);
        if rng.below(10) == 0 {
            memory.truncate(rng.below(u64::from(memory.pages())) as u32);
        }
        let report = memory.check();
        due += u32::from(must_be_found);
        found += u32::from(!report.findings.is_empty());
        assert!(
            !must_be_found || !report.findings.is_empty(),
            "round {round}: {}",
            to_text(&report)
        );
        assert_eq!(report.findings.is_empty(), report.verdict != Verdict::Damaged);
        assert!(to_json(&report, &[]).is_object());
    }
    assert!(due > 100 && found > due, "{due} due, {found} found");
}

/// Every byte that pages are found by: boot page, maps, the first catalog pages.
#[test]
fn mutated_roots_of_the_database_never_break_the_check() {
    let demo = Demo::with_free_space();
    let mut rng = SplitMix64::new(77);
    let first = demo.catalog.boot.first_sys_indexes.page;
    let roots = [
        0,
        1,
        2,
        3,
        6,
        7,
        9,
        first,
        demo.unit("sales", 1).first_iam.page,
        demo.unit("sales", 1).root.page,
    ];
    for _ in 0..300 {
        let mut memory = demo.memory.clone();
        let page = roots[rng.below(roots.len() as u64) as usize];
        let at = rng.below(PAGE_BYTES as u64) as usize;
        memory.edit(page, |bytes| bytes[at] = rng.next_u64() as u8);
        memory.check();
    }
}

#[test]
fn empty_and_zero_files_are_damaged_not_fatal() {
    for pages in [0, 1, 2, 9, 10, 8088, 20_000] {
        let report = Memory::new(vec![0; pages * PAGE_BYTES]).check();
        assert_ne!(report.verdict, Verdict::Clean, "{pages} pages");
        let numbers: Vec<u32> = report.findings.iter().map(|it| it.error).collect();
        assert!(pages == 0 || numbers.contains(&5250), "{numbers:?}");
    }
}

/// A built database whose file was extended to 2 TB by a hole: the hole is not read, and is no
/// damage.
#[test]
fn a_hole_of_two_terabytes_after_a_database_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("sparse.mdf");
    let demo = Demo::with_free_space();
    let bytes: Vec<u8> =
        (0..demo.memory.pages()).flat_map(|page| demo.memory.stored(page).to_vec()).collect();
    std::fs::write(&path, bytes).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    if file.set_len(2 << 40).is_err() {
        eprintln!("SKIPPED: the file system has no sparse files");
        return;
    }
    let opened = OpenedFiles::open(std::slice::from_ref(&path), &OpenOptions::default()).unwrap();
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    let report = run(opened.source(), &Options::default(), &Control::new(&clock, &cancel));
    assert_eq!(report.verdict, Verdict::Clean, "{}", to_text(&report));
    assert!(report.notes.iter().any(|note| note.error == 59008), "{:?}", report.notes);
    assert!(report.elapsed.as_secs() < 10, "{:?}", report.elapsed);
}

#[test]
fn a_run_that_is_stopped_says_so() {
    let demo = Demo::with_free_space();
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(true);
    let report = run(&demo.memory, &Options::default(), &Control::new(&clock, &cancel));
    assert_eq!((report.verdict, report.was_stopped), (Verdict::Incomplete, true));
    assert!(report.coverage.pages_checked < report.coverage.pages_planned);
    assert!(report.coverage.not_checked.iter().any(|it| it.why == "the run was stopped"));
    assert!(to_text(&report).contains("incomplete: 0 of"), "{}", to_text(&report));
    let limited = Options {
        time_limit: Some(std::time::Duration::ZERO),
        ..Options::default()
    };
    assert_eq!(demo.memory.check_with(&limited).verdict, Verdict::Incomplete);
}

/// Every allocated page damaged: findings are kept up to the limit, and counted beyond it.
#[test]
fn more_findings_than_the_limit_are_counted() {
    let demo = Demo::with_free_space();
    let pfs = demo.memory.stored(1);
    let mut memory = demo.memory.clone();
    for page in 200..memory.pages().min(1000) {
        if PfsView::new(&pfs).entry(page).is_allocated() {
            memory.raw(page, |bytes| bytes[4000] ^= 1);
        }
    }
    let all = memory.check();
    let few = memory.check_with(&Options { max_errors: 20, ..Options::default() });
    assert!(all.findings.len() > 200);
    assert_eq!(few.findings, all.findings[..20]);
    assert_eq!((few.totals, few.repair), (all.totals, all.repair));
    assert_eq!(few.findings_omitted, all.findings.len() as u64 - 20);
}
