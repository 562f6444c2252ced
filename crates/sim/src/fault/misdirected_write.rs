//! A page was written to the offset of another one.
//!
//! Seen in the wild as: error 824, wrong page id; both checksums match. The engine must detect it,
//! at the page that was overwritten.

use extentdb_base::size::PAGE_BYTES;
use extentdb_io::MemDisk;

use super::Damaged;

/// Writes the page `from` over the page `to` of the same file.
pub fn damage(memory: &MemDisk, path: &std::path::Path, from: u32, to: u32) -> Option<Damaged> {
    let mut bytes = memory.contents(path)?;
    let start = from as usize * PAGE_BYTES;
    if start + PAGE_BYTES > bytes.len() || (to as usize + 1) * PAGE_BYTES > bytes.len() {
        return None;
    }
    bytes.copy_within(start..start + PAGE_BYTES, to as usize * PAGE_BYTES);
    memory.put(path, bytes);
    Some(Damaged {
        path: path.to_path_buf(),
        page: to,
        what: format!("page {from} written there"),
    })
}
