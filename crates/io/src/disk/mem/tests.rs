//! What the death of the process leaves, and disks that are full.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use extentdb_base::env::SplitMix64;

use super::*;
use crate::disk::{Durability, Fill};

const PATH: &str = "file";

/// The contents after the process died, by seeds.
fn images(disk: &MemDisk) -> BTreeSet<Vec<u8>> {
    let image = |seed| disk.kill(&mut SplitMix64::new(seed)).contents(Path::new(PATH)).unwrap();
    (0..200).map(image).collect()
}

fn is_full(error: &Error) -> bool {
    matches!(error, Error::Transfer { source, .. } if source.kind() == ErrorKind::StorageFull)
}

#[test]
fn what_calls_that_returned_have_written_survives_the_process() {
    let disk = MemDisk::new();
    let file = disk.create(Path::new(PATH)).unwrap();
    file.write_at(0, &[&[1; 8192]], Durability::Deferred).unwrap();
    file.extend(20_000, Fill::Hole).unwrap();
    let expected = [vec![1; 8192], vec![0; 20_000 - 8192]].concat();
    assert_eq!(images(&disk), BTreeSet::from([expected]));
}

#[test]
fn what_survived_the_process_is_not_durable_for_that() {
    let disk = MemDisk::new();
    let file = disk.create(Path::new(PATH)).unwrap();
    file.write_at(0, &[&[1; 512]], Durability::Deferred).unwrap();
    let survivor = disk.kill(&mut SplitMix64::new(1));
    let lengths: BTreeSet<usize> = (0..50)
        .map(|seed| {
            survivor.crash(&mut SplitMix64::new(seed)).contents(Path::new(PATH)).unwrap().len()
        })
        .collect();
    assert!(lengths.contains(&0) && lengths.contains(&512), "{lengths:?}");
}

#[test]
fn a_deferred_write_in_flight_is_cut_between_two_pages_of_the_cache() {
    let disk = MemDisk::new();
    let file = disk.create(Path::new(PATH)).unwrap();
    file.write_at(0, &[&[1; 8192]], Durability::Deferred).unwrap();
    disk.fail_after(0);
    assert!(file.write_at(0, &[&[2; 4096], &[3; 4096]], Durability::Deferred).is_err());
    let expected = [
        vec![1; 8192],
        [vec![2; 4096], vec![1; 4096]].concat(),
        [vec![2; 4096], vec![3; 4096]].concat(),
    ];
    assert_eq!(images(&disk), BTreeSet::from(expected));
}

#[test]
fn a_durable_write_in_flight_is_cut_between_two_sectors() {
    let disk = MemDisk::new();
    let file = disk.create(Path::new(PATH)).unwrap();
    disk.fail_after(0);
    assert!(file.write_at(0, &[&[7; 1536]], Durability::Through).is_err());
    let lengths: Vec<usize> = images(&disk).iter().map(Vec::len).collect();
    assert_eq!(lengths, [0, 512, 1024, 1536]);
}

#[test]
fn of_a_batch_in_flight_each_write_is_cut_by_itself() {
    let disk = MemDisk::new();
    let file = disk.create(Path::new(PATH)).unwrap();
    file.write_at(0, &[&[1; 16_384]], Durability::Deferred).unwrap();
    disk.fail_after(1);
    let batch: [(u64, &[u8]); 2] = [(8192, &[2; 8192]), (0, &[3; 8192])];
    assert!(file.write_many(&batch).is_err());
    // Each of two writes: not made, half made, made.
    assert_eq!(images(&disk).len(), 9);
}

#[test]
fn a_batch_that_ends_in_time_is_there() {
    let disk = MemDisk::new();
    let file = disk.create(Path::new(PATH)).unwrap();
    disk.fail_after(2);
    file.write_many(&[(0, &[2; 512]), (512, &[3; 512])]).unwrap();
    assert!(file.sync().is_err() && disk.is_dark());
    assert_eq!(images(&disk), BTreeSet::from([[vec![2; 512], vec![3; 512]].concat()]));
}

#[test]
fn a_file_that_becomes_longer_in_the_last_call_does_so_in_part_unless_it_is_a_hole() {
    for (fill, lengths) in
        [(Fill::Hole, vec![0, 12_288]), (Fill::Zeros, vec![0, 4096, 8192, 12_288])]
    {
        let disk = MemDisk::new();
        let file = disk.create(Path::new(PATH)).unwrap();
        disk.fail_after(0);
        assert!(file.extend(12_288, fill).is_err());
        let found: Vec<usize> = images(&disk).iter().map(Vec::len).collect();
        assert_eq!(found, lengths, "{fill:?}");
    }
}

#[test]
fn a_full_disk_refuses_what_needs_room_and_takes_what_does_not() {
    let disk = MemDisk::new();
    let file = disk.create(Path::new(PATH)).unwrap();
    file.write_at(0, &[&[1; 8192]], Durability::Deferred).unwrap();
    disk.set_capacity(Some(disk.used_bytes() + 4096));
    file.write_at(0, &[&[2; 8192]], Durability::Through).unwrap();
    assert!(is_full(&file.extend(24_576, Fill::Zeros).unwrap_err()));
    assert_eq!((file.len(), disk.used_bytes()), (8192, 8192), "nothing has changed");
    // Half of it has room, and is written.
    assert!(is_full(&file.write_at(8192, &[&[3; 8192]], Durability::Deferred).unwrap_err()));
    assert_eq!((file.len(), disk.used_bytes()), (12_288, 12_288));
    assert!(is_full(&file.write_at(12_288, &[&[4; 100]], Durability::Deferred).unwrap_err()));
    assert_eq!(file.len(), 12_288);
    disk.set_capacity(None);
    file.write_at(12_288, &[&[4; 100]], Durability::Deferred).unwrap();
}

#[test]
fn a_hole_needs_room_when_it_is_written() {
    let disk = MemDisk::new();
    let file = disk.create(Path::new(PATH)).unwrap();
    disk.set_capacity(Some(4096));
    file.extend(1 << 20, Fill::Hole).unwrap();
    assert_eq!(disk.used_bytes(), 0);
    file.write_at(65_536, &[&[1; 4096]], Durability::Deferred).unwrap();
    let error = file.write_at(32_768, &[&[1; 4096]], Durability::Deferred).unwrap_err();
    assert!(is_full(&error), "{error}");
    file.write_at(65_536, &[&[2; 4096]], Durability::Deferred).unwrap();
}

#[test]
fn a_file_that_is_removed_gives_its_room_back() {
    let disk = MemDisk::new();
    let other = Path::new("other");
    disk.put(Path::new(PATH), vec![1; 10_000]);
    disk.put(other, vec![1; 4096]);
    assert_eq!(disk.used_bytes(), 4 * 4096);
    disk.set_capacity(Some(4 * 4096));
    let file = disk.open(other).unwrap();
    assert!(file.write_at(4096, &[&[1]], Durability::Deferred).is_err());
    disk.remove(Path::new(PATH)).unwrap();
    assert_eq!(disk.used_bytes(), 4096);
    file.write_at(4096, &[&[1]], Durability::Deferred).unwrap();
}

#[test]
fn a_copy_has_all_files_and_holes_and_the_same_capacity() {
    let disk = MemDisk::new();
    disk.put(Path::new("a"), vec![1; 5000]);
    let file = disk.create(Path::new("b")).unwrap();
    file.extend(1 << 20, Fill::Hole).unwrap();
    disk.set_capacity(Some(8192));
    disk.fail_after(0);
    let copy = disk.copy();
    assert_eq!(copy.paths(), [PathBuf::from("a"), PathBuf::from("b")]);
    assert_eq!((copy.contents(Path::new("b")).unwrap().len(), copy.used_bytes()), (1 << 20, 8192));
    let file = copy.open(Path::new("b")).unwrap();
    assert!(is_full(&file.write_at(0, &[&[1]], Durability::Deferred).unwrap_err()));
    let crashed = copy.crash(&mut SplitMix64::new(1));
    assert_eq!(crashed.used_bytes(), 8192, "a hole stays one");
}
