//! Whole data files, damaged at random: opened, read to the last row, checked. Never a panic, never a hang; and a page whose
//! checksum is wrong never passes.

use std::path::PathBuf;

use extentdb_base::FileId;
use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, Options, Report, run};
use extentdb_format::allocation::pfs::PfsView;
use extentdb_format::page::checksum;
use extentdb_reader::MemoryFile;
use extentdb_synth::{MakeOptions, Size, make};

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
    let samples = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(|| PathBuf::from(default), PathBuf::from);
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
    let (clock, cancel) = (SystemClock::new(), AtomicBool::new(false));
    run(&source, &Options::default(), &Control::new(&clock, &cancel))
}

/// Damages `EACH` files and looks at each in every way.
fn try_all(seed: u64, damage: impl Fn(&mut Vec<u8>, &mut SplitMix64)) {
    let (bases, mut rng) = (bases(), SplitMix64::new(seed));
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
fn pages_written_to_the_wrong_place() {
    try_all(3, |bytes, rng| {
        for _ in 0..=rng.below(6) {
            let (from, to) = (random_page(bytes, rng), random_page(bytes, rng));
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
fn pointers_that_lead_in_circles() {
    try_all(4, |bytes, rng| {
        for _ in 0..=rng.below(30) {
            let page = random_page(bytes, rng);
            let target = (rng.below((bytes.len() / PAGE) as u64) as u32).to_le_bytes();
            // Previous and next page, child pointers, IAM single pages: everything that names a page.
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
            bytes[at..at + 2]
                .copy_from_slice(&[[0xff, 0xff], [0, 0], [0xff, 0x7f], [0, 0x80]][rng.below(4) as usize]);
        }
        reseal(bytes);
    });
}

#[test]
fn a_flipped_bit_on_an_allocated_page_never_passes() {
    let (bases, mut rng) = (bases(), SplitMix64::new(6));
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
        let is_checked = matches!(checksum::verify(protected), checksum::Protection::Checksum { .. });
        let at = page + 64 + rng.below(8128) as usize;
        bytes[at] ^= 1 << rng.below(8);
        let report = check(bytes.clone());
        assert!(!is_checked || !report.findings.is_empty(), "page {} byte {}", page / PAGE, at % PAGE);
        bodies::read_everything(bytes);
    }
}
