//! Direct reads: past the page cache, from the device into aligned memory.
//!
//! A scan of a file much larger than memory gains nothing from the page cache: it pays for a second
//! copy of every byte and pushes everything else out. A direct twin of an open file reads whole
//! blocks at block offsets only.
//!
//! Invariant: the twin is the same file. The path is opened a second time, and may name another
//! file by then, so both identities are compared.

use std::fs;
use std::io;
use std::path::Path;

use extentdb_base::sync::Arc;

use crate::buf::{AlignedBuf, BLOCK_BYTES};
use crate::error::{Error, FileOp};
use crate::platform::{self, Identity};

/// A file opened for reads past the page cache.
#[derive(Debug)]
pub struct DirectFile {
    handle: fs::File,
    path: Arc<Path>,
}

impl DirectFile {
    /// The twin of the open file of this path and identity.
    pub(crate) fn twin_of(path: &Path, identity: &Identity) -> Option<DirectFile> {
        let handle = platform::open_direct(path)?;
        let own = platform::identity(&handle, path).ok()?;
        (own == *identity).then(|| DirectFile { handle, path: path.into() })
    }

    /// Reads at `offset` until the first `bytes` of `buf` are full or the file ends; returns the
    /// number of bytes read.
    ///
    /// # Panics
    /// When `offset` or `bytes` is not a multiple of [`BLOCK_BYTES`], or `bytes` is more than `buf`
    /// holds.
    pub fn read_at(&self, offset: u64, buf: &mut AlignedBuf, bytes: usize) -> Result<usize, Error> {
        assert!(
            offset.is_multiple_of(BLOCK_BYTES as u64) && bytes.is_multiple_of(BLOCK_BYTES),
            "reads are whole blocks"
        );
        let mut done = 0;
        while done < bytes {
            match platform::read_at(&self.handle, &mut buf[done..bytes], offset + done as u64) {
                // Part of a block is the end of the file as well, and going on from there would not
                // be aligned.
                Ok(read) if read == 0 || !read.is_multiple_of(BLOCK_BYTES) => {
                    return Ok(done + read);
                }
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let path = self.path.to_path_buf();
                    return Err(Error::Transfer { op: FileOp::Read, path, offset, bytes, source });
                }
            }
        }
        Ok(done)
    }
}
