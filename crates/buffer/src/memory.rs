//! Memory of pages, and the only module where a latch turns into a reference to bytes.
//!
//! ```text
//! Slab       | rest | page | page | … 128       one allocation of 1 MiB, untouched until first use
//! PageMemory   ──────────▲  one cell of a slab; keeps the slab alive
//! ```
//!
//! Invariants
//! - A cell begins at an address divisible by 8192, so it serves direct I/O. The allocation itself
//!   does not: the allocator would clear aligned memory by writing it, and every page of a pool
//!   that nobody uses would cost memory.
//! - The bytes of a cell are read under SH or stronger and changed under EX or DT of the latch that
//!   belongs to the cell. This module cannot see latches: the callers of its unsafe functions hold
//!   one. Only guards call them.

use std::cell::UnsafeCell;

use extentdb_base::sync::Arc;
use extentdb_format::page::PageBytes;
use zerocopy::FromZeros;

/// Pages of a slab.
pub(crate) const SLAB_PAGES: usize = 128;
const PAGE_BYTES: usize = size_of::<PageBytes>();

/// Cells allocated together.
pub(crate) struct Slab {
    memory: Box<[UnsafeCell<u8>]>,
    /// Where the first cell begins.
    first: usize,
}

// SAFETY: the cells are plain bytes without owner or thread affinity. Threads that share a slab
// reach a cell only by the two unsafe functions below, whose callers hold the latch of the cell;
// latches order their accesses (Release at the release, Acquire at the acquisition).
unsafe impl Sync for Slab {}

/// One page of memory.
pub(crate) struct PageMemory {
    slab: Arc<Slab>,
    index: usize,
}

impl Slab {
    /// A slab of zeros and its cells, at most [`SLAB_PAGES`].
    pub(crate) fn pages(count: usize) -> impl Iterator<Item = PageMemory> {
        let count = count.min(SLAB_PAGES);
        let bytes = (count + 1) * PAGE_BYTES;
        let memory = match <[UnsafeCell<u8>]>::new_box_zeroed_with_elems(bytes) {
            Ok(memory) => memory,
            Err(_) => panic!("no memory for {count} pages of the buffer pool"),
        };
        let first = memory.as_ptr().addr().next_multiple_of(PAGE_BYTES) - memory.as_ptr().addr();
        let slab = Arc::new(Slab { memory, first });
        (0..count).map(move |index| PageMemory { slab: Arc::clone(&slab), index })
    }
}

impl PageMemory {
    /// Where the cell is: within the memory of the slab, which has a page more than cells.
    #[inline]
    fn cell(&self) -> *mut PageBytes {
        let start = self.slab.first + self.index * PAGE_BYTES;
        let cell: &[UnsafeCell<u8>] = &self.slab.memory[start..start + PAGE_BYTES];
        UnsafeCell::raw_get(cell.as_ptr()).cast()
    }

    /// The bytes, to be read.
    ///
    /// # Safety
    /// The latch of this cell is held in SH, UP, EX or DT for as long as the reference lives, and
    /// no reference of [`bytes_mut`](Self::bytes_mut) exists at the same time.
    #[inline]
    pub(crate) unsafe fn bytes(&self) -> &PageBytes {
        // SAFETY: the pointer is valid for the lifetime of the slab, which `self` keeps; the bytes
        // do not change, because that takes EX or DT, which exclude every mode the caller may hold,
        // or is the caller's own to prevent.
        unsafe { &*self.cell() }
    }

    /// The bytes, to be changed.
    ///
    /// # Safety
    /// The latch of this cell is held in EX or DT by the caller for as long as the reference lives,
    /// and no other reference to the bytes exists at the same time.
    #[inline]
    #[expect(
        clippy::mut_from_ref,
        reason = "the latch, not the borrow, makes it exclusive; that is the safety condition"
    )]
    pub(crate) unsafe fn bytes_mut(&self) -> &mut PageBytes {
        // SAFETY: valid as above; EX and DT exclude each other and every mode that reads, so no
        // other thread has a reference, and this thread's others are the caller's to prevent.
        unsafe { &mut *self.cell() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_aligned_zero_and_apart() {
        let pages: Vec<PageMemory> = Slab::pages(5).collect();
        for (value, page) in (1u8..).zip(&pages) {
            // SAFETY: this thread alone knows the cells, and the reference ends with the statement.
            let bytes = unsafe { page.bytes_mut() };
            assert_eq!(bytes.as_ptr().addr() % 8192, 0);
            assert!(bytes.iter().all(|byte| *byte == 0));
            bytes.fill(value);
        }
        for (value, page) in (1u8..).zip(&pages) {
            // SAFETY: as above.
            assert!(unsafe { page.bytes() }.iter().all(|byte| *byte == value));
        }
        assert_eq!(Slab::pages(1000).count(), SLAB_PAGES);
    }

    #[test]
    fn a_cell_outlives_its_neighbours() {
        let last = Slab::pages(3).last().unwrap();
        // SAFETY: this thread alone knows the cell.
        assert_eq!(unsafe { last.bytes() }[8191], 0);
    }
}
