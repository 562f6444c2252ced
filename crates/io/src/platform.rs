//! Where operating systems differ: one small function each, so that the rest of the crate is the same everywhere.
//!
//! Linux has all of it, macOS knows of holes. Elsewhere the standard library must do: every file is one run of data,
//! nothing is known of the page cache, no read goes past it. That costs speed, never correctness.

use std::fs;
use std::io::{self, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use crate::buf::AlignedBuf;

pub(crate) use imp::{Identity, identity, not_a_file, read_at, write_at};

/// Length of a file or of a block device, whose metadata says 0.
pub(crate) fn len(mut handle: &fs::File) -> io::Result<u64> {
    handle.seek(SeekFrom::End(0))
}

#[cfg(unix)]
mod imp {
    use super::*;
    use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};

    /// Device and inode.
    pub(crate) type Identity = (u64, u64);

    pub(crate) fn identity(handle: &fs::File, _path: &Path) -> io::Result<Identity> {
        handle.metadata().map(|metadata| (metadata.dev(), metadata.ino()))
    }

    pub(crate) fn read_at(handle: &fs::File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        handle.read_at(buf, offset)
    }

    pub(crate) fn write_at(handle: &fs::File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        handle.write_at(bytes, offset)
    }

    /// What the path leads to, when it cannot hold a database.
    pub(crate) fn not_a_file(metadata: &fs::Metadata) -> Option<&'static str> {
        let kind = metadata.file_type();
        if kind.is_dir() {
            Some("a directory")
        } else if kind.is_fifo() {
            Some("a pipe")
        } else if kind.is_socket() {
            Some("a socket")
        } else if kind.is_char_device() {
            Some("a character device")
        } else {
            None
        }
    }
}

#[cfg(windows)]
mod imp {
    use super::*;
    use std::os::windows::fs::FileExt;
    use std::path::PathBuf;

    /// The path without links and dots: the standard library does not offer the file index.
    pub(crate) type Identity = PathBuf;

    pub(crate) fn identity(_handle: &fs::File, path: &Path) -> io::Result<Identity> {
        path.canonicalize()
    }

    pub(crate) fn read_at(handle: &fs::File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        handle.seek_read(buf, offset)
    }

    pub(crate) fn write_at(handle: &fs::File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        handle.seek_write(bytes, offset)
    }

    /// What the path leads to, when it cannot hold a database.
    pub(crate) fn not_a_file(metadata: &fs::Metadata) -> Option<&'static str> {
        metadata.is_dir().then_some("a directory")
    }
}

/// First stored run of bytes in `from..end`. What cannot be found out counts as stored: it is then simply read.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(crate) fn next_data(handle: &fs::File, from: u64, end: u64) -> Option<Range<u64>> {
    use rustix::fs::SeekFrom as Find;
    use rustix::io::Errno;

    let start = match rustix::fs::seek(handle, Find::Data(from)) {
        Ok(start) => start.max(from),
        Err(Errno::NXIO) => return None,
        Err(_) => return Some(from..end),
    };
    let stop = rustix::fs::seek(handle, Find::Hole(start)).unwrap_or(end);
    Some(start..stop.min(end))
}

/// First stored run of bytes in `from..end`: here, all of them.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) fn next_data(_handle: &fs::File, from: u64, end: u64) -> Option<Range<u64>> {
    Some(from..end)
}

#[cfg(target_os = "linux")]
pub(crate) fn advise_sequential(handle: &fs::File) {
    // A refused hint changes nothing, so its result is of no interest.
    let _ = rustix::fs::fadvise(handle, 0, None, rustix::fs::Advice::Sequential);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn advise_sequential(_handle: &fs::File) {}

/// Opens `path` past the page cache, and proves by a first read that it works: some file systems accept the flag and
/// then refuse every transfer.
#[cfg(target_os = "linux")]
pub(crate) fn open_direct(path: &Path) -> Option<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;

    let flag = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).ok()?;
    let handle = fs::OpenOptions::new().read(true).custom_flags(flag).open(path).ok()?;
    let mut block = AlignedBuf::zeroed(crate::buf::BLOCK_BYTES);
    read_at(&handle, &mut block, 0).ok()?;
    Some(handle)
}

/// Opens `path` past the page cache: not here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open_direct(_path: &Path) -> Option<fs::File> {
    let _ = AlignedBuf::zeroed;
    None
}

/// Whether the byte at `offset` is in the page cache; `None` when that cannot be known without reading it.
#[cfg(target_os = "linux")]
pub(crate) fn is_cached(handle: &fs::File, offset: u64) -> Option<bool> {
    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    let mut byte = [0];
    loop {
        match preadv2(handle, &mut [io::IoSliceMut::new(&mut byte)], offset, ReadWriteFlags::NOWAIT) {
            Ok(read) => return Some(read == 1),
            Err(Errno::AGAIN) => return Some(false),
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Whether the byte at `offset` is in the page cache: not to be known here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_cached(_handle: &fs::File, _offset: u64) -> Option<bool> {
    None
}
