//! Damaged input: never a panic, never a hang. The bodies are those of the fuzz targets, over
//! seeded mutations of real and built bytes.

use std::path::PathBuf;

use extentdb_base::env::{Rng, SplitMix64};

#[path = "../../../fuzz/bodies.rs"]
mod bodies;

/// Files of the samples by extension; an empty list, said aloud, where there are none.
fn samples(extension: &str) -> Vec<Vec<u8>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples");
    let dir =
        std::env::var_os("EXTENTDB_SAMPLES").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let Ok(entries) = std::fs::read_dir(&dir) else {
        eprintln!("SKIPPED: no samples in {}", dir.display());
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.retain(|path| path.extension().is_some_and(|e| e == extension));
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// One of the ways bytes go wrong.
fn mutate(bytes: &mut Vec<u8>, rng: &mut SplitMix64) {
    let len = bytes.len() as u64;
    match rng.below(6) {
        0 => flip(bytes, rng, 1),
        1 => flip(bytes, rng, 20),
        2 => bytes.truncate(rng.below(len) as usize),
        3 => {
            // An absurd count or offset.
            let at = rng.below(len.saturating_sub(2)) as usize;
            bytes[at..at + 2]
                .copy_from_slice(&[[0xff, 0xff], [0, 0x80], [0xff, 0x7f]][rng.below(3) as usize]);
        }
        4 => {
            let from = rng.below(len) as usize;
            let to = rng.below(len) as usize;
            let n = (rng.below(64) as usize).min(bytes.len() - from.max(to));
            bytes.copy_within(from..from + n, to);
        }
        _ => {
            let at = rng.below(len) as usize;
            let n = (rng.below(600) as usize).min(bytes.len() - at);
            bytes[at..at + n].fill(rng.next_u64() as u8);
        }
    }
}

fn flip(bytes: &mut [u8], rng: &mut SplitMix64, bits: u32) {
    for _ in 0..bits {
        let at = rng.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << rng.below(8);
    }
}

/// Pages to start from: real ones, and random bytes.
fn base_pages(rng: &mut SplitMix64) -> Vec<Vec<u8>> {
    let mut pages: Vec<Vec<u8>> =
        (0..20).map(|_| (0..8192).map(|_| rng.next_u64() as u8).collect()).collect();
    for file in samples("mdf") {
        let (all, _) = file.as_chunks::<8192>();
        pages.extend((0..200).map(|_| all[rng.below(all.len() as u64) as usize].to_vec()));
    }
    pages
}

#[test]
fn twelve_thousand_damaged_pages_are_parsed_without_panic() {
    let mut rng = SplitMix64::new(0x9a9e);
    let pages = base_pages(&mut rng);
    for _ in 0..12_000 {
        let mut page = pages[rng.below(pages.len() as u64) as usize].clone();
        for _ in 0..=rng.below(3) {
            if page.len() > 2 {
                mutate(&mut page, &mut rng);
            }
        }
        bodies::page(&page);
    }
}

#[test]
fn twelve_thousand_damaged_records_are_cracked_without_panic() {
    let mut rng = SplitMix64::new(0x4ec0);
    let pages = base_pages(&mut rng);
    for _ in 0..12_000 {
        let page = &pages[rng.below(pages.len() as u64) as usize];
        let at = 96 + rng.below(8000) as usize;
        let len = 3 + rng.below(400) as usize;
        let mut record = page[at..(at + len).min(page.len())].to_vec();
        if record.len() > 2 {
            mutate(&mut record, &mut rng);
        }
        bodies::record(&record);
    }
}

#[test]
fn damaged_backups_and_log_blocks_are_errors_not_panics() {
    let mut rng = SplitMix64::new(0xbac0);
    for base in samples("bak") {
        for _ in 0..40 {
            let mut bytes = base.clone();
            for _ in 0..=rng.below(20) {
                // Half of the damage goes to the front, where the blocks that describe the rest
                // lie.
                let reach = if rng.below(2) == 0 { 0x6000 } else { bytes.len() as u64 };
                let at = rng.below(reach.min(bytes.len() as u64)) as usize;
                bytes[at] = rng.next_u64() as u8;
            }
            if rng.below(4) == 0 {
                bytes.truncate(rng.below(bytes.len() as u64) as usize);
            }
            bodies::backup_stream(&bytes);
        }
    }
    for base in samples("ldf") {
        for _ in 0..500 {
            let at = 0x2000 + rng.below((base.len() as u64 - 0x2000) / 512) as usize * 512;
            let mut block = base[at..(at + 4096).min(base.len())].to_vec();
            mutate(&mut block, &mut rng);
            bodies::log_block(&block);
        }
    }
}

#[test]
fn damaged_catalogs_lose_rows_not_the_program() {
    let mut rng = SplitMix64::new(0xca7a);
    for base in samples("mdf") {
        let intact = bodies::read_everything(base.clone());
        assert!(intact > 2000);
        for _ in 0..25 {
            let mut bytes = base.clone();
            for _ in 0..=rng.below(40) {
                let page = rng.below(bytes.len() as u64 / 8192) as usize * 8192;
                // Headers, first records and slot arrays are where structure lies.
                let within = [rng.below(100), 96 + rng.below(200), 8192 - 1 - rng.below(100)]
                    [rng.below(3) as usize];
                bytes[page + within as usize] = rng.next_u64() as u8;
            }
            reseal(&mut bytes);
            bodies::read_everything(bytes);
        }
    }
}

fn reseal(bytes: &mut [u8]) {
    use extentdb_format::page::checksum;
    for page in bytes.as_chunks_mut::<8192>().0 {
        if let checksum::Protection::Checksum { .. } = checksum::verify(page) {
            checksum::seal(page);
        }
    }
}
