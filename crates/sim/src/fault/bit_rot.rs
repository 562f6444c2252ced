//! A bit of a page turns over while the database is closed.
//!
//! Seen in the wild as: error 824, a checksum that does not match. We promise to detect: the check names the page, and whoever
//! reads the page gets an error instead of rows.

use extentdb_base::env::Rng;
use extentdb_base::size::PAGE_BYTES;
use extentdb_io::MemDisk;

use super::Damaged;

/// Turns one bit of this page over.
pub fn damage(memory: &MemDisk, path: &std::path::Path, page: u32, rng: &mut dyn Rng) -> Option<Damaged> {
    let mut bytes = memory.contents(path)?;
    let at = page as usize * PAGE_BYTES + rng.below(PAGE_BYTES as u64) as usize;
    *bytes.get_mut(at)? ^= 1 << rng.below(8);
    memory.put(path, bytes);
    Some(Damaged { path: path.to_path_buf(), page, what: format!("bit at byte {}", at % PAGE_BYTES) })
}
