//! Reads a few bytes here and there of a file, front to back, through a window.

use extentdb_base::sync::Arc;
use extentdb_io::ReadAt;

/// Bytes read at once.
pub(crate) const WINDOW_BYTES: usize = 256 << 10;

/// A window onto a source; it moves when bytes outside are asked for.
pub(crate) struct Window {
    source: Arc<dyn ReadAt>,
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    pub(crate) fn new(source: Arc<dyn ReadAt>) -> Self {
        Window { source, start: 0, bytes: Vec::new() }
    }

    /// The bytes from `at` on, at least `wanted` of them unless the source ends before. `wanted` is
    /// at most the window.
    pub(crate) fn at(&mut self, at: u64, wanted: usize) -> Result<&[u8], extentdb_io::Error> {
        let end = self.start + self.bytes.len() as u64;
        if at < self.start || at.saturating_add(wanted as u64) > end.min(self.source.len()) {
            self.bytes.resize(WINDOW_BYTES, 0);
            let read = self.source.read_at(at, &mut self.bytes)?;
            self.bytes.truncate(read);
            self.start = at;
        }
        let from = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        Ok(self.bytes.get(from..).unwrap_or_default())
    }
}
