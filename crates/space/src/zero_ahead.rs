//! Writing zeros ahead of allocation, into room that was allocated and never written.
//!
//! ```text
//! file   written | zeroed ahead ········▶ | allocated, never written        end
//! ```
//!
//! A file grows by room that the file system only allocates: that is quick, and a full disk refuses
//! it as a whole. The first write into such room changes metadata of the file system, which costs a
//! journal commit where single writes are durable. A background thread writes zeros there before
//! the first allocation.
//!
//! Invariant: zeros are written to free extents, which are claimed meanwhile, in memory only; what
//! an extent in use holds is never touched.

use extentdb_base::size::{PAGE_BYTES, PAGES_PER_EXTENT};
use extentdb_base::sync::lock;
use extentdb_io::{AlignedBuf, DiskFile, Durability};

use crate::error::Error;
use crate::file::DataFile;
use crate::space::Space;

/// Extents claimed at a time: 1 MiB.
const EXTENTS_AT_ONCE: u32 = 16;
/// Steps of a call: 16 MiB.
const STEPS: u32 = 16;
const EXTENT_BYTES: usize = PAGES_PER_EXTENT as usize * PAGE_BYTES;

impl Space {
    /// Writes zeros to some of the room that the files have and that was never written. True when
    /// there is more.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn zero_ahead(&self) -> Result<bool, Error> {
        let mut has_more = false;
        for file in self.files() {
            let disk = self.pool().file(file.id()).ok_or(Error::NoFile { file: file.id() })?;
            for _ in 0..STEPS {
                if !zero_some(&file, &*disk)? {
                    break;
                }
            }
            has_more |= file.first_unwritten() < file.extents();
        }
        Ok(has_more)
    }
}

/// Writes zeros to the next extents of a file. False when there are none.
fn zero_some(file: &DataFile, disk: &dyn DiskFile) -> Result<bool, Error> {
    let _growing = lock(file.growing());
    let first = file.first_unwritten();
    let end = file.extents().min(first.saturating_add(EXTENTS_AT_ONCE));
    // The last extents are left to allocations.
    if first >= end || file.free_extents() <= 4 * EXTENTS_AT_ONCE {
        return Ok(false);
    }
    let taken: Vec<u32> = {
        let mut zeroing = lock(file.zeroing());
        let taken: Vec<u32> = (first..end).filter(|extent| file.take(*extent)).collect();
        *zeroing = taken.len() as u32;
        taken
    };
    let written = taken
        .chunk_by(|extent, next| extent + 1 == *next)
        .try_for_each(|run| write_zeros(disk, run));
    {
        let mut zeroing = lock(file.zeroing());
        taken.iter().for_each(|extent| file.release(*extent));
        *zeroing = 0;
    }
    written?;
    file.set_first_unwritten(end);
    Ok(true)
}

fn write_zeros(disk: &dyn DiskFile, run: &[u32]) -> Result<(), extentdb_io::Error> {
    let Some(first) = run.first() else { return Ok(()) };
    let zeros = AlignedBuf::zeroed(run.len() * EXTENT_BYTES);
    disk.write_at(u64::from(*first) * EXTENT_BYTES as u64, &[&zeros[..]], Durability::Deferred)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use extentdb_io::{Disk, MemDisk};

    use super::*;
    use crate::file::tests::file;

    #[test]
    fn zeros_reach_free_extents_and_no_others() {
        let disk = MemDisk::new();
        let path = Path::new("data.mdf");
        disk.put(path, vec![7; 200 * EXTENT_BYTES]);
        let handle = disk.open(path).unwrap();
        let file = file(200 * PAGES_PER_EXTENT);
        let free: Vec<u32> = (40..200).filter(|extent| extent % 3 != 0).collect();
        free.iter().for_each(|extent| file.release(*extent));
        file.set_first_unwritten(30);
        let count = file.free_extents();
        while zero_some(&file, &*handle).unwrap() {}
        assert_eq!((file.free_extents(), file.first_unwritten()), (count, 200));
        let bytes = disk.contents(path).unwrap();
        for (extent, content) in (0..).zip(bytes.chunks(EXTENT_BYTES)) {
            let expected = if free.contains(&extent) { 0 } else { 7 };
            assert!(content.iter().all(|byte| *byte == expected), "extent {extent}");
        }
    }

    #[test]
    fn extents_that_zeros_are_written_to_count_as_free() {
        let disk = MemDisk::new();
        let path = Path::new("data.mdf");
        disk.put(path, vec![0; 200 * EXTENT_BYTES]);
        let handle = disk.open(path).unwrap();
        let file = file(200 * PAGES_PER_EXTENT);
        (0..200).for_each(|extent| file.release(extent));
        let count = file.free_extents();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for _ in 0..500 {
                    file.set_first_unwritten(0);
                    assert!(zero_some(&file, &*handle).unwrap());
                }
            });
            while !writer.is_finished() {
                assert_eq!(file.unused_extents(), count);
            }
        });
    }

    #[test]
    fn the_last_extents_are_left_alone() {
        let disk = MemDisk::new();
        let path = Path::new("data.mdf");
        disk.put(path, vec![0; 100 * EXTENT_BYTES]);
        let handle = disk.open(path).unwrap();
        let file = file(100 * PAGES_PER_EXTENT);
        (36..100).for_each(|extent| file.release(extent));
        file.set_first_unwritten(36);
        assert!(!zero_some(&file, &*handle).unwrap());
    }
}
