//! Disks: what is durable when, on the real one and in memory.

use std::path::Path;

use extentdb_base::env::{Rng, SplitMix64};

use super::*;

/// Random numbers that are always the same one: `below(n)` gives the n-th part that `.0` names.
struct Always(u64);

impl Rng for Always {
    fn next_u64(&mut self) -> u64 {
        self.0
    }
}

/// Nothing that is not durable survives.
const NOTHING: Always = Always(0);
/// Of three fates the middle one: every write survives as a whole.
const EVERYTHING: Always = Always(u64::MAX / 2);

const MODES: [DurabilityMode; 4] = [
    DurabilityMode::ForcedFlush,
    DurabilityMode::Fua,
    DurabilityMode::DirectOnly,
    DurabilityMode::Auto,
];

/// Backends that this machine has. Where it has no io_uring it says so, and what is asked of
/// `Uring` goes unchecked.
pub(super) fn backends() -> Vec<Backend> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, []).unwrap();
    let report =
        RealDisk::new(DurabilityMode::Auto).with_backend(Backend::Uring).report(&path).unwrap();
    match report.refusal {
        None => vec![Backend::Plain, Backend::Auto, Backend::Uring],
        Some(refusal) => {
            assert_eq!(report.backend, Backend::Plain);
            eprintln!("SKIPPED: the io_uring half of this test: {refusal}");
            vec![Backend::Plain]
        }
    }
}

/// Runs a check with the real disk in this mode, once with each backend.
fn on_each_backend(mode: DurabilityMode, check: impl Fn(RealDisk, &Path)) {
    for backend in backends() {
        let folder = tempfile::tempdir().unwrap();
        eprintln!("{mode:?}, {backend:?}");
        check(RealDisk::new(mode).with_backend(backend), &folder.path().join("file"));
    }
}

fn on_each_disk(check: impl Fn(&dyn Disk, &Path)) {
    MODES.into_iter().for_each(|mode| on_each_backend(mode, |disk, path| check(&disk, path)));
    check(&MemDisk::new(), Path::new("file"));
}

#[test]
fn what_is_written_is_read_whatever_its_alignment() {
    on_each_disk(|disk, path| {
        let file = disk.create(path).unwrap();
        file.extend(64 << 10, Fill::Zeros).unwrap();
        let mut expected = vec![0; 64 << 10];
        let mut rng = SplitMix64::new(5);
        for step in 0..300 {
            let grain = [1, 512, 4096][rng.below(3) as usize];
            let offset = rng.below((48 << 10) / grain) * grain;
            let bytes: Vec<u8> =
                (0..(1 + rng.below((12 << 10) / grain)) * grain).map(|_| step as u8).collect();
            let (front, back) = bytes.split_at(rng.below(bytes.len() as u64) as usize);
            let durability = if step % 3 == 0 { Durability::Deferred } else { Durability::Through };
            file.write_at(offset, &[front, &[], back], durability).unwrap();
            expected[offset as usize..offset as usize + bytes.len()].copy_from_slice(&bytes);
        }
        file.sync().unwrap();
        let mut found = vec![1; expected.len()];
        file.read_exact_at(0, &mut found).unwrap();
        assert!(found == expected, "{file:?}");
        drop(file);
        let file = disk.open(path).unwrap();
        assert_eq!((file.len(), file.read_at(0, &mut found).unwrap()), (64 << 10, 64 << 10));
        assert!(found == expected, "{file:?}");
    });
}

/// Places that do not overlap, in any order, in units of `grain` bytes.
fn ranges(rng: &mut SplitMix64, grain: u64, end: u64) -> Vec<(u64, usize)> {
    let mut ranges = Vec::new();
    let mut at = rng.below(4) * grain;
    while at < end {
        let bytes = (1 + rng.below(4)) * grain;
        ranges.push((at, bytes.min(end - at) as usize));
        at += bytes + rng.below(3) * grain;
    }
    for number in (1..ranges.len()).rev() {
        ranges.swap(number, rng.below(number as u64 + 1) as usize);
    }
    ranges
}

#[test]
fn batches_of_any_size_order_and_alignment_are_read_as_written() {
    const BYTES: u64 = 2 << 20;
    on_each_disk(|disk, path| {
        let file = disk.create(path).unwrap();
        file.extend(BYTES, Fill::Hole).unwrap();
        let mut expected = vec![0; BYTES as usize];
        let mut rng = SplitMix64::new(9);
        for step in 1..40_u8 {
            let grain = [512, 4096, 8192, 700][usize::from(step) % 4];
            let mut memory = crate::AlignedBuf::zeroed(BYTES as usize);
            memory.iter_mut().zip(0_usize..).for_each(|(byte, at)| *byte = step ^ (at / 512) as u8);
            let ranges = ranges(&mut rng, grain, BYTES / u64::from(1 + step % 5));
            let writes: Vec<(u64, &[u8])> = ranges
                .iter()
                .map(|(offset, bytes)| {
                    (*offset, &memory[*offset as usize..*offset as usize + bytes])
                })
                .collect();
            let before = file.counters();
            file.write_many(&writes).unwrap();
            assert_eq!(file.counters().writes - before.writes, writes.len() as u64);
            for (offset, bytes) in writes {
                expected[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
            }
        }
        file.write_many(&[]).unwrap();
        file.sync().unwrap();
        let mut found = vec![1; expected.len()];
        file.read_exact_at(0, &mut found).unwrap();
        assert!(found == expected, "{file:?}");
        assert_eq!(file.len(), BYTES);
    });
}

#[test]
fn a_batch_past_the_end_makes_the_file_longer() {
    on_each_disk(|disk, path| {
        let file = disk.create(path).unwrap();
        let page = crate::AlignedBuf::zeroed(8192);
        file.write_many(&[(81_920, &page[..]), (0, &page[..])]).unwrap();
        assert_eq!(file.len(), 90_112);
        file.sync().unwrap();
        drop(file);
        assert_eq!(disk.open(path).unwrap().len(), 90_112);
    });
}

/// What `disk` holds after random writes, batches, extensions and syncs.
fn contents_after(seed: u64, disk: &RealDisk, path: &Path) -> Vec<u8> {
    let mut rng = SplitMix64::new(seed);
    let file = disk.create(path).unwrap();
    let mut memory = crate::AlignedBuf::zeroed(1 << 20);
    for step in 0..40_u8 {
        memory
            .iter_mut()
            .zip(0_usize..)
            .for_each(|(byte, at)| *byte = step.wrapping_add((at / 100) as u8));
        let grain = [1, 512, 4096, 8192][rng.below(4) as usize];
        let offset = rng.below(64) * grain;
        let bytes = (1 + rng.below(20)) * grain;
        match rng.below(8) {
            0 => file.extend(rng.below(2 << 20), Fill::Zeros).unwrap(),
            1 => file.extend(rng.below(2 << 20), Fill::Hole).unwrap(),
            2 => file.sync().unwrap(),
            3 | 4 => {
                let ranges = ranges(&mut rng, grain.max(512), 1 << 18);
                let part = |(offset, bytes): &(u64, usize)| {
                    (*offset, &memory[*offset as usize..][..*bytes])
                };
                file.write_many(&ranges.iter().map(part).collect::<Vec<_>>()).unwrap();
            }
            5 => file.write_at(offset, &[&memory[..bytes as usize]], Durability::Deferred).unwrap(),
            _ => {
                let (front, back) = memory[..bytes as usize].split_at((bytes / 3) as usize);
                file.write_at(offset, &[front, &[], back], Durability::Through).unwrap();
            }
        }
    }
    drop(file);
    std::fs::read(path).unwrap()
}

#[test]
fn whatever_is_done_the_file_is_the_same_with_every_backend() {
    let folder = tempfile::tempdir().unwrap();
    let backends = backends();
    for seed in 0..16 {
        let mode = MODES[seed as usize % MODES.len()];
        let contents: Vec<Vec<u8>> = backends
            .iter()
            .map(|backend| {
                let path = folder.path().join(format!("{seed} {backend:?}"));
                contents_after(seed, &RealDisk::new(mode).with_backend(*backend), &path)
            })
            .collect();
        assert!(contents[0].iter().any(|byte| *byte != 0));
        for (contents_of_backend, backend) in contents.iter().zip(&backends) {
            assert!(*contents_of_backend == contents[0], "seed {seed}, {mode:?}, {backend:?}");
        }
    }
}

#[test]
fn a_file_grows_and_never_shrinks() {
    on_each_disk(|disk, path| {
        let file = disk.create(path).unwrap();
        file.write_at(700, &[b"x"], Durability::Deferred).unwrap();
        assert_eq!(file.len(), 701);
        for (bytes, fill) in [
            (10_000, Fill::Zeros),
            (3_000_000, Fill::Zeros),
            (5_000_000, Fill::Hole),
            (8, Fill::Hole),
        ] {
            file.extend(bytes, fill).unwrap();
            assert!(file.len() >= bytes);
        }
        assert_eq!(file.len(), 5_000_000);
        let mut found = vec![1; 5_000_000];
        assert_eq!(file.read_at(0, &mut found).unwrap(), 5_000_000);
        assert_eq!(found.iter().position(|byte| *byte != 0), Some(700));
        assert!(found[701..].iter().all(|byte| *byte == 0));
        assert!(matches!(
            file.read_exact_at(4_999_999, &mut [0; 2]),
            Err(Error::EndOfFile { read: 1, .. })
        ));
    });
}

#[test]
fn a_file_is_taken_by_one_at_a_time_and_created_once() {
    on_each_disk(|disk, path| {
        assert!(!disk.exists(path) && disk.open(path).is_err() && disk.remove(path).is_err());
        let file = disk.create(path).unwrap();
        assert!(matches!(disk.open(path), Err(Error::InUse { .. })));
        assert!(matches!(disk.create(path), Err(Error::File { op: crate::FileOp::Create, .. })));
        drop(file);
        drop(disk.open(path).unwrap());
        disk.remove(path).unwrap();
        assert!(!disk.exists(path));
    });
}

#[test]
fn forced_flush_flushes_once_per_durable_write_and_a_sync_without_writes_is_free() {
    on_each_backend(DurabilityMode::ForcedFlush, |disk, path| {
        let file = disk.create(path).unwrap();
        file.extend(4096, Fill::Zeros).unwrap();
        file.sync().unwrap();
        let before = file.counters();
        for _ in 0..10 {
            file.write_at(0, &[&[1; 512]], Durability::Through).unwrap();
            file.sync().unwrap();
        }
        let after = file.counters();
        assert_eq!((after.syncs - before.syncs, after.fua_writes), (10, 0));
        assert_eq!(
            (after.writes - before.writes, after.bytes_written - before.bytes_written),
            (10, 5120)
        );
        let calls = if disk.report(path).unwrap().backend == Backend::Uring { 10 } else { 20 };
        assert_eq!(after.calls - before.calls, calls, "a ring takes both in one call");
        // A chain flushes what others wrote before it.
        file.write_at(0, &[&[1; 512]], Durability::Deferred).unwrap();
        file.write_at(512, &[&[1; 512]], Durability::Through).unwrap();
        file.sync().unwrap();
        assert_eq!(file.counters().syncs - after.syncs, 1);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn forced_unit_access_needs_no_flush_for_durable_writes() {
    on_each_backend(DurabilityMode::Fua, |disk, path| {
        let file = disk.create(path).unwrap();
        file.extend(1 << 20, Fill::Zeros).unwrap();
        file.sync().unwrap();
        let before = file.counters();
        for sector in 0..100 {
            file.write_at(sector * 512, &[&[1; 100], &[2; 412]], Durability::Through).unwrap();
        }
        file.sync().unwrap();
        let after = file.counters();
        assert_eq!((after.syncs - before.syncs, after.fua_writes - before.fua_writes), (0, 100));
        assert_eq!(after.calls - before.calls, 100);
        file.write_at(0, &[&[3; 512]], Durability::Deferred).unwrap();
        file.sync().unwrap();
        let message = "a deferred write is still in the device's cache";
        assert_eq!(file.counters().syncs, after.syncs + 1, "{message}");
        let page = crate::AlignedBuf::zeroed(8192);
        file.write_many(&[(0, &page[..]), (65_536, &page[..])]).unwrap();
        file.sync().unwrap();
        assert_eq!(file.counters().syncs, after.syncs + 2, "{message}");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_batch_is_one_call_per_hundred_and_twenty_eight_writes() {
    on_each_backend(DurabilityMode::ForcedFlush, |disk, path| {
        let file = disk.create(path).unwrap();
        file.extend(8 << 20, Fill::Zeros).unwrap();
        let page = crate::AlignedBuf::zeroed(8192);
        let writes: Vec<(u64, &[u8])> =
            (0..300).map(|number| (number * 16_384, &page[..])).collect();
        let before = file.counters();
        file.write_many(&writes).unwrap();
        let after = file.counters();
        let report = disk.report(path).unwrap();
        let has_ring = report.backend != Backend::Plain && report.direct;
        assert_eq!(after.calls - before.calls, if has_ring { 3 } else { 300 });
        file.sync().unwrap();
        file.sync().unwrap();
        assert_eq!(file.counters().syncs - after.syncs, 1);
    });
}

#[test]
fn durable_writes_of_many_threads_are_all_there_and_share_flushes() {
    const THREADS: u64 = 8;
    const WRITES: u64 = 10;
    for mode in [DurabilityMode::ForcedFlush, DurabilityMode::Fua] {
        on_each_backend(mode, |disk, path| {
            let file = disk.create(path).unwrap();
            file.extend(THREADS * WRITES * 4096, Fill::Zeros).unwrap();
            let before = file.counters();
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    let file = &file;
                    scope.spawn(move || {
                        for number in 0..WRITES {
                            let page = number * THREADS + thread;
                            let bytes = [page as u8 + 1; 4096];
                            file.write_at(page * 4096, &[&bytes], Durability::Through).unwrap();
                        }
                    });
                }
            });
            let after = file.counters();
            assert_eq!(after.writes - before.writes, THREADS * WRITES);
            assert!(after.syncs - before.syncs <= THREADS * WRITES);
            let contents = std::fs::read(path).unwrap();
            let is_right =
                |(number, page): (usize, &[u8])| page.iter().all(|byte| *byte == number as u8 + 1);
            assert!(contents.chunks(4096).enumerate().all(is_right));
        });
    }
}

#[cfg(target_os = "linux")]
#[test]
fn stable_media_are_flushed_only_for_what_did_not_go_direct() {
    on_each_backend(DurabilityMode::DirectOnly, |disk, path| {
        let file = disk.create(path).unwrap();
        file.extend(1 << 20, Fill::Zeros).unwrap();
        file.sync().unwrap();
        if !disk.report(path).unwrap().direct {
            eprintln!("SKIPPED: this file system has no direct writes");
            return;
        }
        let syncs = file.counters().syncs;
        let page = crate::AlignedBuf::zeroed(8192);
        file.write_at(0, &[&[1; 8192]], Durability::Deferred).unwrap();
        file.write_at(8192, &[&[1; 8192]], Durability::Through).unwrap();
        file.write_many(&[(65_536, &page[..]), (16_384, &page[..])]).unwrap();
        file.sync().unwrap();
        assert_eq!(file.counters().syncs, syncs);
        file.write_at(3, &[b"odd"], Durability::Through).unwrap();
        assert_eq!(file.counters().syncs, syncs + 1);
        file.extend(2 << 20, Fill::Hole).unwrap();
        file.sync().unwrap();
        file.write_many(&[(1 << 20, &page[..])]).unwrap();
        file.sync().unwrap();
        assert_eq!(file.counters().syncs, syncs + 3, "a hole is filled through the journal");
    });
}

#[test]
fn the_choice_is_reported_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let disk = RealDisk::new(DurabilityMode::Auto);
    drop(disk.create(&path).unwrap());
    let report = disk.report(&path).unwrap();
    assert_eq!(report.asked, DurabilityMode::Auto);
    assert!(
        matches!(report.chosen, DurabilityMode::ForcedFlush | DurabilityMode::Fua),
        "{report:?}"
    );
    let report = RealDisk::new(DurabilityMode::DirectOnly).report(&path).unwrap();
    assert_eq!((report.chosen, report.reason), (DurabilityMode::DirectOnly, "asked for"));
    let report = disk.clone().with_backend(Backend::Plain).report(&path).unwrap();
    assert_eq!((report.backend, report.refusal), (Backend::Plain, None));
    for asked in [Backend::Auto, Backend::Uring] {
        let report = disk.clone().with_backend(asked).report(&path).unwrap();
        assert_eq!(report.backend == Backend::Plain, report.refusal.is_some(), "{report:?}");
        assert!(report.refusal.is_some() || report.backend == asked);
    }
}

fn bytes_after(disk: &MemDisk, mut keep: impl Rng) -> Vec<u8> {
    disk.crash(&mut keep).contents(Path::new("file")).unwrap()
}

#[test]
fn a_crash_keeps_what_is_durable_and_may_take_the_rest() {
    let disk = MemDisk::new();
    let file = disk.create(Path::new("file")).unwrap();
    file.write_at(0, &[&[1; 1024]], Durability::Deferred).unwrap();
    assert_eq!(bytes_after(&disk, NOTHING), []);
    assert_eq!(bytes_after(&disk, EVERYTHING), [1; 1024]);
    file.sync().unwrap();
    file.write_at(0, &[&[2; 1024]], Durability::Deferred).unwrap();
    assert_eq!(bytes_after(&disk, NOTHING), [1; 1024]);
    // A durable write hardens its own sectors and no others.
    file.write_at(512, &[&[3; 512]], Durability::Through).unwrap();
    assert_eq!(bytes_after(&disk, NOTHING), [[1; 512], [3; 512]].concat());
    assert_eq!(bytes_after(&disk, EVERYTHING), [[2; 512], [3; 512]].concat());
    file.extend(2048, Fill::Hole).unwrap();
    assert_eq!(bytes_after(&disk, NOTHING).len(), 1024);
    file.sync().unwrap();
    assert_eq!(bytes_after(&disk, NOTHING), [vec![2; 512], vec![3; 512], vec![0; 1024]].concat());
}

#[test]
fn unsynced_writes_survive_tear_and_overtake_each_other_by_sectors() {
    let disk = MemDisk::new();
    let file = disk.create(Path::new("file")).unwrap();
    file.write_at(0, &[&[0; 1024]], Durability::Through).unwrap();
    file.write_at(0, &[&[1; 1024]], Durability::Deferred).unwrap();
    file.write_at(0, &[&[2; 1024]], Durability::Deferred).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..500 {
        let image = bytes_after(&disk, SplitMix64::new(seed));
        let (front, back) = image.split_at(512);
        assert!(
            [front, back].iter().all(|sector| sector.iter().all(|byte| *byte == sector[0])),
            "never within a sector"
        );
        seen.insert((front[0], back[0]));
        assert_eq!(
            image,
            bytes_after(&disk, SplitMix64::new(seed)),
            "the same seed is the same crash"
        );
    }
    assert_eq!(seen.len(), 9, "{seen:?}");
}

#[test]
fn after_the_power_went_every_call_fails_and_the_last_one_is_unsure() {
    let disk = MemDisk::new();
    let file = disk.create(Path::new("file")).unwrap();
    file.write_at(0, &[b"a"], Durability::Through).unwrap();
    disk.fail_after(1);
    file.write_at(1, &[b"b"], Durability::Through).unwrap();
    assert!(!disk.is_dark());
    let error = file.write_at(2, &[b"c"], Durability::Through).unwrap_err();
    assert!(matches!(error, Error::PowerLost { .. }) && disk.is_dark());
    assert!(
        file.sync().is_err()
            && file.read_at(0, &mut [0]).is_err()
            && file.extend(9, Fill::Hole).is_err()
    );
    assert!(disk.open(Path::new("file")).is_err());
    assert_eq!(bytes_after(&disk, NOTHING), b"ab");
    assert_eq!(bytes_after(&disk, EVERYTHING), b"abc");
    // What the crash leaves has power again.
    let after = disk.crash(&mut SplitMix64::new(1));
    after.open(Path::new("file")).unwrap().sync().unwrap();
}
