//! I/O memory: the only allocator of buffers that the disk reads into.
//!
//! ```text
//! AlignedBuf   | block 0 (4096 bytes) | block 1 | …         begins at an address divisible by 4096
//! ```
//!
//! Direct reads need memory, offset and length aligned to the block size of the device; 4096
//! satisfies every device and file system in use. The alignment is part of the element type, so no
//! pointer is ever cast here.
//!
//! Invariants
//! - Address and length are multiples of [`BLOCK_BYTES`]; the length never changes.
//! - Fresh memory is zero, as it comes from the system: a large buffer costs nothing until it is
//!   touched.

use std::fmt;
use std::ops::{Deref, DerefMut};

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Alignment of direct I/O: memory, offset and length.
pub const BLOCK_BYTES: usize = 4096;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, align(4096))]
struct Block([u8; BLOCK_BYTES]);

/// Page-aligned memory for reads and writes. Behaves as a byte slice.
pub struct AlignedBuf(Box<[Block]>);

impl AlignedBuf {
    /// At least `bytes` zeros, rounded up to whole blocks.
    ///
    /// # Panics
    /// When the memory cannot be allocated, as any allocation does.
    pub fn zeroed(bytes: usize) -> Self {
        let blocks = bytes.div_ceil(BLOCK_BYTES);
        match <[Block]>::new_box_zeroed_with_elems(blocks) {
            Ok(blocks) => AlignedBuf(blocks),
            Err(_) => panic!("no memory for an I/O buffer of {bytes} bytes"),
        }
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.as_mut_bytes()
    }
}

impl fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_zero_and_whole_blocks() {
        for bytes in [0, 1, 4096, 4097, 1 << 20] {
            let mut buf = AlignedBuf::zeroed(bytes);
            assert_eq!(buf.as_ptr().addr() % BLOCK_BYTES, 0);
            assert_eq!(buf.len(), bytes.next_multiple_of(BLOCK_BYTES));
            assert!(buf.iter().all(|byte| *byte == 0));
            buf.fill(0xEE);
            assert!(buf.iter().all(|byte| *byte == 0xEE));
        }
    }
}
