//! A write was acknowledged and never done: the place still holds what was there before.
//!
//! Seen in the wild as: a stale page with a matching checksum, by far the hardest to see. While the
//! log is needed, a restart sees it: the next record for the page names another LSN than the page
//! has. In a database that was closed only what is said twice can tell: counters, classes of
//! fullness, links. We promise to detect it where there is such a witness; a page of the file
//! format of this version has none when its rows are as many and as long as before. Never a panic,
//! and never a changed page that no finding or error names while a counter or map contradicts it.

use extentdb_base::size::PAGE_BYTES;
use extentdb_io::MemDisk;

use super::Damaged;

/// Gives the page back what it held on an older disk; `None` when that is the same, or nothing yet.
pub fn damage(
    memory: &MemDisk,
    older: &MemDisk,
    path: &std::path::Path,
    page: u32,
) -> Option<Damaged> {
    let mut bytes = memory.contents(path)?;
    let old = older.contents(path)?;
    let place = page as usize * PAGE_BYTES..(page as usize + 1) * PAGE_BYTES;
    let now = bytes.get_mut(place.clone())?;
    let before = old.get(place)?;
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
