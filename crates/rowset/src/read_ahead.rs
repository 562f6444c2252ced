//! Pages that are soon wanted: neighbours are read with one call.

use extentdb_base::PageId;
use extentdb_buffer::Pool;

/// Pages that a scan asks for at once: 512 KiB.
pub const PAGES_MAX: usize = 64;

/// Brings the first of these pages into memory, at most [`PAGES_MAX`].
pub fn bring(pool: &Pool, pages: &[PageId]) {
    let next = &pages[..pages.len().min(PAGES_MAX)];
    let are_neighbours =
        |page: &PageId, next: &PageId| page.file == next.file && page.page + 1 == next.page;
    next.chunk_by(are_neighbours).for_each(|run| pool.read_ahead(run[0], run.len() as u32));
}
