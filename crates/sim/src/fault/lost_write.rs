//! A write was acknowledged and never done: the file still holds the bytes from before.
//!
//! Seen in the wild as: a stale page with a matching checksum, by far the hardest to detect. While
//! the log is needed, a restart sees it: the next record for the page has another previous LSN than
//! the page. In a closed database only redundant facts can show it: counters, classes of fullness,
//! links. The engine must detect it where there is such a witness; a page of the file format of
//! this version has none when its rows are as many and as long as before. Never a panic, and never
//! a changed page that no finding or error names while a counter or map contradicts it.

use extentdb_base::size::PAGE_BYTES;
use extentdb_io::MemDisk;

use super::Damaged;

/// Restores the page from an older disk; `None` when it is the same or was not yet written.
pub fn damage(
    memory: &MemDisk,
    older: &MemDisk,
    path: &std::path::Path,
    page: u32,
) -> Option<Damaged> {
    let mut bytes = memory.contents(path)?;
    let old = older.contents(path)?;
    let range = page as usize * PAGE_BYTES..(page as usize + 1) * PAGE_BYTES;
    let now = bytes.get_mut(range.clone())?;
    let before = old.get(range)?;
    if now == before {
        return None;
    }
    now.copy_from_slice(before);
    memory.put(path, bytes);
    Some(Damaged {
        path: path.to_path_buf(),
        page,
        what: "an older image".to_owned(),
    })
}
