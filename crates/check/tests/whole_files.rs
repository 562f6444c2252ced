//! Whole data files, damaged at random: opened, read to the last row, checked. Never a panic, never
//! a hang; and a page whose checksum is wrong never passes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use extentdb_base::FileId;
use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, Options, Report, run};
use extentdb_format::allocation::pfs::PfsView;
use extentdb_format::page::checksum;
use extentdb_reader::MemoryFile;
use extentdb_template::{MakeOptions, Size, make};

#[path = "../../../fuzz/bodies.rs"]
mod bodies;

const PAGE: usize = 8192;
/// Files per kind of damage.
const EACH: u64 = 90;

/// A built database, and the samples where there are any.
fn bases() -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (shape, size) in [("demo", Size::Bytes(3 << 20)), ("heap", Size::Bytes(4 << 20))] {
        let path = dir.path().join(shape);
        let options = MakeOptions { shape: shape.to_owned(), size, seed: 5 };
        make(&options, &[&path], &mut |_| {}).unwrap();
        files.push(std::fs::read(&path).unwrap());
    }
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples");
    let samples =
        std::env::var_os("EXTENTDB_SAMPLES").map_or_else(|| PathBuf::from(default), PathBuf::from);
    match std::fs::read_dir(&samples) {
        Ok(entries) => {
            let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            let data = paths.iter().filter(|path| path.extension().is_some_and(|e| e == "mdf"));
            files.extend(data.map(|path| std::fs::read(path).unwrap()));
        }
        Err(_) => eprintln!("SKIPPED: no samples in {}", samples.display()),
    }
    files
}

fn check(bytes: Vec<u8>) -> Report {
    let source = MemoryFile::new(FileId(1), bytes);
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    run(&source, &Options::default(), &Control::new(&clock, &cancel))
}

/// Damages `EACH` files and looks at each in every way.
fn try_all(seed: u64, damage: impl Fn(&mut Vec<u8>, &mut SplitMix64)) {
    let bases = bases();
    let mut rng = SplitMix64::new(seed);
    for _ in 0..EACH {
        let mut bytes = bases[rng.below(bases.len() as u64) as usize].clone();
        damage(&mut bytes, &mut rng);
        bodies::read_everything(bytes.clone());
        check(bytes);
    }
}

fn random_page(bytes: &[u8], rng: &mut SplitMix64) -> usize {
    rng.below((bytes.len() / PAGE) as u64) as usize * PAGE
}

fn reseal(bytes: &mut [u8]) {
    for page in bytes.as_chunks_mut::<PAGE>().0 {
        if let checksum::Protection::Checksum { .. } = checksum::verify(page) {
            checksum::seal(page);
        }
    }
}

#[test]
fn truncated_anywhere() {
    try_all(1, |bytes, rng| bytes.truncate(rng.below(bytes.len() as u64) as usize));
}

#[test]
fn structure_overwritten_under_a_right_checksum() {
    try_all(2, |bytes, rng| {
        for _ in 0..=rng.below(60) {
            let page = random_page(bytes, rng);
            let places = [rng.below(96), 96 + rng.below(300), 8191 - rng.below(120)];
            bytes[page + places[rng.below(3) as usize] as usize] = rng.next_u64() as u8;
        }
        reseal(bytes);
    });
}

#[test]
fn pages_written_to_a_wrong_offset() {
    try_all(3, |bytes, rng| {
        for _ in 0..=rng.below(6) {
            let from = random_page(bytes, rng);
            let to = random_page(bytes, rng);
            bytes.copy_within(from..from + PAGE, to);
            if rng.below(2) == 0 {
                // Under its new name: a page that is doubled, with all its pointers.
                bytes[to + 32..to + 36].copy_from_slice(&((to / PAGE) as u32).to_le_bytes());
            }
        }
        reseal(bytes);
    });
}

#[test]
fn pointers_that_form_a_cycle() {
    try_all(4, |bytes, rng| {
        for _ in 0..=rng.below(30) {
            let page = random_page(bytes, rng);
            let target = (rng.below((bytes.len() / PAGE) as u64) as u32).to_le_bytes();
            // Previous and next page, child pointers, IAM single pages: everything that names a
            // page.
            let at = page + [8, 16, 100, 105, 142, 148][rng.below(6) as usize];
            bytes[at..at + 4].copy_from_slice(&target);
        }
        reseal(bytes);
    });
}

#[test]
fn absurd_counts_and_sizes() {
    try_all(5, |bytes, rng| {
        for _ in 0..=rng.below(40) {
            let page = random_page(bytes, rng);
            let at = page + [14, 22, 28, 30, 98, 112, 114, 8190, 8188][rng.below(9) as usize];
            bytes[at..at + 2].copy_from_slice(
                &[[0xff, 0xff], [0, 0], [0xff, 0x7f], [0, 0x80]][rng.below(4) as usize],
            );
        }
        reseal(bytes);
    });
}

#[test]
fn a_flipped_bit_on_an_allocated_page_never_passes() {
    let bases = bases();
    let mut rng = SplitMix64::new(6);
    for _ in 0..EACH {
        let mut bytes = bases[rng.below(bases.len() as u64) as usize].clone();
        let pfs: &[u8; PAGE] = bytes[PAGE..2 * PAGE].try_into().unwrap();
        let allocated: Vec<usize> = PfsView::new(pfs)
            .entries()
            .take(bytes.len() / PAGE)
            .enumerate()
            .filter(|(_, entry)| entry.is_allocated())
            .map(|(page, _)| page * PAGE)
            .collect();
        let page = allocated[rng.below(allocated.len() as u64) as usize];
        let protected: &[u8; PAGE] = bytes[page..page + PAGE].try_into().unwrap();
        let is_checked =
            matches!(checksum::verify(protected), checksum::Protection::Checksum { .. });
        let at = page + 64 + rng.below(8128) as usize;
        bytes[at] ^= 1 << rng.below(8);
        let report = check(bytes.clone());
        assert!(
            !is_checked || !report.findings.is_empty(),
            "page {} byte {}",
            page / PAGE,
            at % PAGE
        );
        bodies::read_everything(bytes);
    }
}

/// A byte of an allocated page changes and its checksum is made right: whatever the page is, a
/// check ends and does not panic. Every type of page gets its share, however few there are of it.
#[test]
fn a_changed_byte_on_a_page_of_any_type_never_breaks_the_check() {
    const EACH_TYPE: usize = 40;
    let mut files = bases();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fixture");
    let options = MakeOptions { shape: "fixture".to_owned(), size: Size::Rows(400), seed: 5 };
    make(&options, &[&path], &mut |_| {}).unwrap();
    files.insert(0, std::fs::read(&path).unwrap());
    let mut rng = SplitMix64::new(7);
    let mut tried = BTreeMap::new();
    for bytes in &files {
        for (kind, pages) in pages_by_type(bytes) {
            let tried: &mut usize = tried.entry(kind).or_default();
            // The later files only bring what the earlier ones lack.
            let wanted = if *tried == 0 { EACH_TYPE } else { 2 };
            for _ in 0..wanted {
                let page = pages[rng.below(pages.len() as u64) as usize] * PAGE;
                let mut changed = bytes.clone();
                change_byte(&mut changed[page..page + PAGE], &mut rng);
                let report = check(changed);
                assert!(
                    report.elapsed.as_secs() < 60,
                    "page {}: {:?}",
                    page / PAGE,
                    report.elapsed
                );
                *tried += 1;
            }
        }
    }
    // Data, index, text, GAM, SGAM, IAM, PFS, boot, file header, DIFF and ML pages.
    for kind in [1, 2, 3, 8, 9, 10, 11, 13, 15, 16, 17] {
        assert!(
            tried.get(&kind).is_some_and(|tried| *tried >= EACH_TYPE),
            "type {kind}: {tried:?}"
        );
    }
}

/// Allocated pages of a file by the type in their header.
fn pages_by_type(bytes: &[u8]) -> BTreeMap<u8, Vec<usize>> {
    let pfs: &[u8; PAGE] = bytes[PAGE..2 * PAGE].try_into().unwrap();
    let states = PfsView::new(pfs).entries().take(bytes.len() / PAGE).enumerate();
    let mut pages: BTreeMap<u8, Vec<usize>> = BTreeMap::new();
    for (page, _) in states.filter(|(_, state)| state.is_allocated()) {
        pages.entry(bytes[page * PAGE + 1]).or_default().push(page);
    }
    pages
}

/// Any byte but those of the checksum; more often one that other bytes are found by.
fn change_byte(page: &mut [u8], rng: &mut SplitMix64) {
    let at = match rng.below(3) {
        0 => rng.below(60) as usize,
        1 => PAGE - 1 - rng.below(40) as usize,
        _ => 64 + rng.below(PAGE as u64 - 64) as usize,
    };
    let page: &mut [u8; PAGE] = page.try_into().unwrap();
    let was = checksum::verify(page);
    page[at] ^= 1 + rng.below(255) as u8;
    if let checksum::Protection::Checksum { .. } = was {
        checksum::seal(page);
    }
}
