//! A log file on disk as the log reader wants it.

use extentdb_format::log::LogBytes;
use extentdb_io::{Error, File, ReadAt};

/// The bytes of an open log file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogSource<'a>(pub(crate) &'a File);

impl LogBytes for LogSource<'_> {
    type Error = Error;

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        self.0.read_exact_at(offset, buf)
    }

    fn next_data(&self, offset: u64) -> u64 {
        ReadAt::next_data(self.0, offset).map_or(self.len(), |range| range.start.max(offset))
    }
}
