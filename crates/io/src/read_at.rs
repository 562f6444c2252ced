//! Positional reads: what a decoder needs of a file.
//!
//! Everything that reads database files or backups takes a [`ReadAt`]: a [`File`](crate::File), or
//! plain memory in tests. Reads name their offset, so any number of threads share one source
//! without a lock and without a position.

use std::ops::Range;
use std::path::Path;

use extentdb_base::sync::Arc;

use crate::direct::DirectFile;
use crate::error::Error;

/// A source of bytes with a length, readable at any offset by any thread.
pub trait ReadAt: Send + Sync {
    /// Length in bytes.
    fn len(&self) -> u64;

    /// Reads at `offset` until `buf` is full or the source ends; returns the number of bytes read.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error>;

    /// What error messages call it.
    fn path(&self) -> &Path;

    /// True when there is no byte to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buf` from `offset`; a source that ends before is [`Error::EndOfFile`].
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        let read = self.read_at(offset, buf)?;
        Error::unless_whole(self.path(), offset, buf.len(), read)
    }

    /// The first run of bytes at or after `from` that is really stored; `None` when only a hole or
    /// nothing follows.
    ///
    /// Between them are holes of a sparse file, which read as zeros and need not be read. A source
    /// without holes is one run.
    fn next_data(&self, from: u64) -> Option<Range<u64>> {
        let end = self.len();
        (from < end).then_some(from..end)
    }

    /// The same source past the page cache; `None` where that is not supported.
    fn try_direct(&self) -> Option<DirectFile> {
        None
    }

    /// The share that is in the page cache, from 0 to 1; `None` where the system does not support
    /// it.
    fn cached_fraction(&self) -> Option<f64> {
        None
    }
}

impl ReadAt for [u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or(&[]);
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn path(&self) -> &Path {
        Path::new("memory")
    }
}

impl ReadAt for Vec<u8> {
    fn len(&self) -> u64 {
        ReadAt::len(self.as_slice())
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        self.as_slice().read_at(offset, buf)
    }

    fn path(&self) -> &Path {
        self.as_slice().path()
    }
}

macro_rules! forward_to_target {
    ($($pointer:ty),*) => {$(
        impl<R: ReadAt + ?Sized> ReadAt for $pointer {
            fn len(&self) -> u64 {
                (**self).len()
            }

            fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
                (**self).read_at(offset, buf)
            }

            fn path(&self) -> &Path {
                (**self).path()
            }

            fn next_data(&self, from: u64) -> Option<Range<u64>> {
                (**self).next_data(from)
            }

            fn try_direct(&self) -> Option<DirectFile> {
                (**self).try_direct()
            }

            fn cached_fraction(&self) -> Option<f64> {
                (**self).cached_fraction()
            }
        }
    )*};
}
// Not for &R: it would shadow `[u8]::len` on every reference to a slice where this trait is in
// scope.
forward_to_target!(Box<R>, Arc<R>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_reads_like_a_file() {
        let source: Box<dyn ReadAt> = Box::new(b"extent".to_vec());
        let mut buf = [0; 4];
        assert_eq!(source.read_at(1, &mut buf).unwrap(), 4);
        assert_eq!(&buf, b"xten");
        assert_eq!(source.read_at(4, &mut buf).unwrap(), 2);
        assert_eq!(&buf[..2], b"nt");
        assert_eq!(source.read_at(u64::MAX, &mut buf).unwrap(), 0);
        assert_eq!(source.next_data(2), Some(2..6));
        assert_eq!(source.next_data(6), None);
        assert!(!source.is_empty());
    }

    #[test]
    fn a_read_past_the_end_says_how_far_it_came() {
        let error = b"extent"[..].read_exact_at(4, &mut [0; 8]).unwrap_err();
        assert_eq!(error.to_string(), "memory ends after 2 of 8 bytes at offset 4");
    }
}
