//! Where operating systems differ: one small function each, so that the rest of the crate is the
//! same everywhere.
//!
//! Linux has all of it, macOS knows of holes. Other systems use the standard library: every file is
//! one run of data, the page cache is unknown, no read bypasses it. That costs speed, never
//! correctness.

use std::fs;
use std::io::{self, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::buf::AlignedBuf;

pub(crate) use imp::{Identity, identity, not_a_file, read_at, write_at};

/// Bytes of memory that the machine has; `None` where that is not known.
#[cfg(target_os = "linux")]
pub fn memory_bytes() -> Option<u64> {
    let facts = fs::read_to_string("/proc/meminfo").ok()?;
    let total = facts.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Bytes of memory that the machine has: not known here.
#[cfg(not(target_os = "linux"))]
pub fn memory_bytes() -> Option<u64> {
    None
}

/// Length of a file or of a block device, whose metadata says 0.
pub(crate) fn len(mut handle: &fs::File) -> io::Result<u64> {
    handle.seek(SeekFrom::End(0))
}

#[cfg(unix)]
mod imp {
    use std::fs;
    use std::io;
    use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
    use std::path::Path;

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

    /// What the path names, when it cannot hold a database.
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
    use std::fs;
    use std::io;
    use std::os::windows::fs::FileExt;
    use std::path::{Path, PathBuf};

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

    /// What the path names, when it cannot hold a database.
    pub(crate) fn not_a_file(metadata: &fs::Metadata) -> Option<&'static str> {
        metadata.is_dir().then_some("a directory")
    }
}

/// First stored run of bytes in `from..end`. Where the system cannot tell, bytes count as stored
/// and are read.
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

/// Opens `path` past the page cache, and proves by a first read that it works: some file systems
/// accept the flag and then refuse every transfer.
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

/// Whether the byte at `offset` is in the page cache; `None` when that cannot be known without
/// reading it.
#[cfg(target_os = "linux")]
pub(crate) fn is_cached(handle: &fs::File, offset: u64) -> Option<bool> {
    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    let mut byte = [0];
    loop {
        match preadv2(handle, &mut [io::IoSliceMut::new(&mut byte)], offset, ReadWriteFlags::NOWAIT)
        {
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

/// Can a single write be durable without a flush?
pub(crate) const HAS_WRITE_THROUGH: bool = cfg!(target_os = "linux");

/// Writes all parts at `offset`, concatenated; the first `done` bytes are written already.
/// `through` requests durability of each byte; see [`HAS_WRITE_THROUGH`].
pub(crate) fn write_all_vectored(
    handle: &fs::File,
    parts: &[&[u8]],
    done: usize,
    offset: u64,
    through: bool,
) -> io::Result<()> {
    let mut slices: Vec<io::IoSlice<'_>> =
        parts.iter().map(|part| io::IoSlice::new(part)).collect();
    let mut left = slices.as_mut_slice();
    // By 0, too: empty parts in front would make a write of nothing look like a full disk.
    io::IoSlice::advance_slices(&mut left, done);
    let mut at = offset.saturating_add(done as u64);
    while !left.is_empty() {
        match write_vectored_at(handle, left, at, through) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                io::IoSlice::advance_slices(&mut left, written);
                at = at.saturating_add(written as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn write_vectored_at(
    handle: &fs::File,
    parts: &[io::IoSlice<'_>],
    offset: u64,
    through: bool,
) -> io::Result<usize> {
    use rustix::io::{ReadWriteFlags, pwritev, pwritev2};

    let written = if through {
        pwritev2(handle, parts, offset, ReadWriteFlags::DSYNC)
    } else {
        pwritev(handle, parts, offset)
    };
    written.map_err(io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn write_vectored_at(
    handle: &fs::File,
    parts: &[io::IoSlice<'_>],
    offset: u64,
    through: bool,
) -> io::Result<usize> {
    debug_assert!(!through, "callers ask HAS_WRITE_THROUGH first");
    parts.first().map_or(Ok(0), |part| write_at(handle, part, offset))
}

/// Allocates room for `bytes` from `offset` on and makes the file that long; the room reads as
/// zeros. False where the file system cannot allocate without writing.
#[cfg(target_os = "linux")]
pub(crate) fn allocate(handle: &fs::File, offset: u64, bytes: u64) -> io::Result<bool> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;

    loop {
        match fallocate(handle, FallocateFlags::empty(), offset, bytes) {
            Ok(()) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Allocates room without writing: not here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn allocate(_handle: &fs::File, _offset: u64, _bytes: u64) -> io::Result<bool> {
    Ok(false)
}

/// Makes the entry of `path` in its folder durable, whether it was added or removed.
#[cfg(unix)]
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Makes the entry of `path` in its folder durable: the file system sees to that by itself.
#[cfg(not(unix))]
pub(crate) fn sync_folder_of(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Opens `path` for reading and writing past the page cache, and says what offsets and lengths must
/// be multiples of.
#[cfg(target_os = "linux")]
pub(crate) fn open_direct_for_writes(path: &Path) -> Option<(fs::File, usize)> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    use std::os::unix::fs::OpenOptionsExt;

    let flag = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).ok()?;
    let handle =
        fs::OpenOptions::new().read(true).write(true).custom_flags(flag).open(path).ok()?;
    let align = match statx(&handle, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
        // 0 means that the file system cannot.
        Ok(found) if found.stx_mask & StatxFlags::DIOALIGN.bits() != 0 => {
            found.stx_dio_offset_align as usize
        }
        _ => crate::buf::BLOCK_BYTES,
    };
    (align > 0 && crate::buf::BLOCK_BYTES.is_multiple_of(align)).then_some((handle, align))
}

/// Opens `path` for writing past the page cache: not here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open_direct_for_writes(_path: &Path) -> Option<(fs::File, usize)> {
    None
}

/// Where the system describes the queue of the device that holds a file.
#[cfg(target_os = "linux")]
pub(crate) fn device_queue(handle: &fs::File) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;

    let device = handle.metadata().ok()?.dev();
    let major = rustix::fs::major(device);
    let minor = rustix::fs::minor(device);
    let folder = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    // A partition is a folder in that of its disk.
    [folder.join("queue"), folder.parent()?.join("queue")].into_iter().find(|queue| queue.is_dir())
}

/// Where the system describes the queue of the device that holds a file: nowhere.
#[cfg(not(target_os = "linux"))]
pub(crate) fn device_queue(_handle: &fs::File) -> Option<PathBuf> {
    None
}
