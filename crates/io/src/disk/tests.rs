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

const MODES: [DurabilityMode; 4] =
    [DurabilityMode::ForcedFlush, DurabilityMode::Fua, DurabilityMode::DirectOnly, DurabilityMode::Auto];

fn on_each_disk(check: impl Fn(&dyn Disk, &Path)) {
    let folder = tempfile::tempdir().unwrap();
    for (number, mode) in MODES.into_iter().enumerate() {
        check(&RealDisk::new(mode), &folder.path().join(number.to_string()));
    }
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

#[test]
fn a_file_grows_and_never_shrinks() {
    on_each_disk(|disk, path| {
        let file = disk.create(path).unwrap();
        file.write_at(700, &[b"x"], Durability::Deferred).unwrap();
        assert_eq!(file.len(), 701);
        for (bytes, fill) in
            [(10_000, Fill::Zeros), (3_000_000, Fill::Zeros), (5_000_000, Fill::Hole), (8, Fill::Hole)]
        {
            file.extend(bytes, fill).unwrap();
            assert!(file.len() >= bytes);
        }
        assert_eq!(file.len(), 5_000_000);
        let mut found = vec![1; 5_000_000];
        assert_eq!(file.read_at(0, &mut found).unwrap(), 5_000_000);
        assert_eq!(found.iter().position(|byte| *byte != 0), Some(700));
        assert!(found[701..].iter().all(|byte| *byte == 0));
        assert!(matches!(file.read_exact_at(4_999_999, &mut [0; 2]), Err(Error::EndOfFile { read: 1, .. })));
    });
}

#[test]
fn a_file_is_taken_by_one_at_a_time_and_created_once() {
    on_each_disk(|disk, path| {
        assert!(!disk.exists(path) && disk.open(path).is_err() && disk.remove(path).is_err());
        let file = disk.create(path).unwrap();
        assert!(matches!(disk.open(path), Err(Error::InUse { .. })));
        assert!(matches!(disk.create(path), Err(Error::File { op: crate::Op::Create, .. })));
        drop(file);
        drop(disk.open(path).unwrap());
        disk.remove(path).unwrap();
        assert!(!disk.exists(path));
    });
}

#[test]
fn forced_flush_flushes_once_per_durable_write_and_a_sync_without_writes_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let file = RealDisk::new(DurabilityMode::ForcedFlush).create(&folder.path().join("log")).unwrap();
    file.extend(4096, Fill::Zeros).unwrap();
    file.sync().unwrap();
    let before = file.counters();
    for _ in 0..10 {
        file.write_at(0, &[&[1; 512]], Durability::Through).unwrap();
        file.sync().unwrap();
    }
    let after = file.counters();
    assert_eq!((after.syncs - before.syncs, after.fua_writes), (10, 0));
    assert_eq!((after.writes - before.writes, after.bytes_written - before.bytes_written), (10, 5120));
}

#[cfg(target_os = "linux")]
#[test]
fn forced_unit_access_needs_no_flush_for_durable_writes() {
    let folder = tempfile::tempdir().unwrap();
    let file = RealDisk::new(DurabilityMode::Fua).create(&folder.path().join("log")).unwrap();
    file.extend(1 << 20, Fill::Zeros).unwrap();
    file.sync().unwrap();
    let before = file.counters();
    for sector in 0..100 {
        file.write_at(sector * 512, &[&[1; 100], &[2; 412]], Durability::Through).unwrap();
    }
    file.sync().unwrap();
    let after = file.counters();
    assert_eq!((after.syncs - before.syncs, after.fua_writes - before.fua_writes), (0, 100));
    file.write_at(0, &[&[3; 512]], Durability::Deferred).unwrap();
    file.sync().unwrap();
    assert_eq!(file.counters().syncs, after.syncs + 1, "a deferred write is still in the device's cache");
}

#[cfg(target_os = "linux")]
#[test]
fn stable_media_are_flushed_only_for_what_did_not_go_direct() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let disk = RealDisk::new(DurabilityMode::DirectOnly);
    let file = disk.create(&path).unwrap();
    file.extend(1 << 20, Fill::Zeros).unwrap();
    file.sync().unwrap();
    if !disk.report(&path).unwrap().direct {
        eprintln!("SKIPPED: this file system has no direct writes");
        return;
    }
    let syncs = file.counters().syncs;
    file.write_at(0, &[&[1; 8192]], Durability::Deferred).unwrap();
    file.write_at(8192, &[&[1; 8192]], Durability::Through).unwrap();
    file.sync().unwrap();
    assert_eq!(file.counters().syncs, syncs);
    file.write_at(3, &[b"odd"], Durability::Through).unwrap();
    assert_eq!(file.counters().syncs, syncs + 1);
    file.extend(2 << 20, Fill::Hole).unwrap();
    file.sync().unwrap();
    file.write_at(1 << 20, &[&[1; 8192]], Durability::Deferred).unwrap();
    file.sync().unwrap();
    assert_eq!(file.counters().syncs, syncs + 3, "a hole is filled through the journal");
}

#[test]
fn the_choice_is_reported_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let disk = RealDisk::new(DurabilityMode::Auto);
    drop(disk.create(&path).unwrap());
    let report = disk.report(&path).unwrap();
    assert_eq!(report.asked, DurabilityMode::Auto);
    assert!(matches!(report.chosen, DurabilityMode::ForcedFlush | DurabilityMode::Fua), "{report:?}");
    let report = RealDisk::new(DurabilityMode::DirectOnly).report(&path).unwrap();
    assert_eq!((report.chosen, report.reason), (DurabilityMode::DirectOnly, "asked for"));
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
        assert_eq!(image, bytes_after(&disk, SplitMix64::new(seed)), "the same seed is the same crash");
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
        file.sync().is_err() && file.read_at(0, &mut [0]).is_err() && file.extend(9, Fill::Hole).is_err()
    );
    assert!(disk.open(Path::new("file")).is_err());
    assert_eq!(bytes_after(&disk, NOTHING), b"ab");
    assert_eq!(bytes_after(&disk, EVERYTHING), b"abc");
    // What the crash leaves has power again.
    let after = disk.crash(&mut SplitMix64::new(1));
    after.open(Path::new("file")).unwrap().sync().unwrap();
}
