//! A bit of a page turns over while the database is closed.
//!
//! Seen in the wild as: error 824, a checksum that does not match. We promise to detect: the check
//! names the page, and whoever reads the page gets an error instead of rows. One bit is not: the
//! one that says that there is a checksum.

use extentdb_base::env::Rng;
use extentdb_base::size::PAGE_BYTES;
use extentdb_io::MemDisk;

use super::Damaged;

/// Where in a page, and which bit there, says that it has a checksum. Without it the page is as
/// sound as one that never had any.
const HAS_CHECKSUM: (usize, u8) = (5, 0x02);

/// Turns one bit of this page over; `None` where nobody can tell.
pub fn damage(
    memory: &MemDisk,
    path: &std::path::Path,
    page: u32,
    rng: &mut dyn Rng,
) -> Option<Damaged> {
    let mut bytes = memory.contents(path)?;
    let at = page as usize * PAGE_BYTES + rng.below(PAGE_BYTES as u64) as usize;
    let bit = 1 << rng.below(8);
    if (at % PAGE_BYTES, bit) == HAS_CHECKSUM {
        return None;
    }
    *bytes.get_mut(at)? ^= bit;
    memory.put(path, bytes);
    Some(Damaged {
        path: path.to_path_buf(),
        page,
        what: format!("bit at byte {}", at % PAGE_BYTES),
    })
}
