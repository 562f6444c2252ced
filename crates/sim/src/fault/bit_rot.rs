//! A bit of a page flips while the database is closed.
//!
//! Seen in the wild as: error 824, a checksum that does not match. The engine must detect: the
//! check names the page, and reading the page gives an error instead of rows. One bit is excluded:
//! the one that states that the page has a checksum.

use extentdb_base::env::Rng;
use extentdb_base::size::PAGE_BYTES;
use extentdb_io::MemDisk;

use super::Damaged;

/// Offset in the page and bit that state that it has a checksum. A page without the bit is sound
/// like one that never had a checksum.
const HAS_CHECKSUM: (usize, u8) = (5, 0x02);

/// Flips one bit of this page; `None` where the flip cannot be detected.
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
