//! A disk over files that are only read: what is written to them stays in memory.
//!
//! ```text
//! OverlayDisk ─ path of a base ──▶ pages written here, else those of the base
//!             └ any other path ──▶ memory
//! ```
//!
//! Invariants
//! - A base is never written: it has no call for that.
//! - A page that was written in part is the base's page with that part replaced.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use extentdb_base::sync::{Arc, RwLock, read, write};

use crate::disk::{Disk, DiskFile, Durability, Fill, MemDisk};
use crate::error::{Error, FileOp};

/// Bytes that an overlay lies over.
#[expect(clippy::len_without_is_empty, reason = "as for DiskFile")]
pub trait BaseFile: Send + Sync + Debug {
    /// Length in bytes, which never changes.
    fn len(&self) -> u64;

    /// Fills `buf` from `offset`; all of it lies in the file.
    ///
    /// # Errors
    /// The bytes are not to be had.
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error>;
}

/// See the module.
#[derive(Debug, Default)]
pub struct OverlayDisk {
    bases: BTreeMap<PathBuf, Arc<Overlaid>>,
    own: MemDisk,
}

/// A base with what was written over it.
#[derive(Debug)]
struct Overlaid {
    base: Arc<dyn BaseFile>,
    bytes: AtomicU64,
    /// By the number of the page.
    pages: RwLock<BTreeMap<u64, Box<[u8; PAGE_BYTES]>>>,
    is_taken: AtomicBool,
}

/// A base that is open.
#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    overlaid: Arc<Overlaid>,
}

impl OverlayDisk {
    /// A disk without files.
    #[must_use]
    pub fn new() -> OverlayDisk {
        OverlayDisk::default()
    }

    /// Adds a file whose bytes are those of `base` until they are written over.
    pub fn add(&mut self, path: PathBuf, base: Arc<dyn BaseFile>) {
        let bytes = AtomicU64::new(base.len());
        let pages = RwLock::default();
        let is_taken = AtomicBool::new(false);
        self.bases.insert(path, Arc::new(Overlaid { base, bytes, pages, is_taken }));
    }
}

fn refused(op: FileOp, path: &Path) -> Error {
    let source = std::io::Error::from(std::io::ErrorKind::ReadOnlyFilesystem);
    Error::File { op, path: path.to_owned(), source }
}

impl Disk for OverlayDisk {
    fn create(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        if self.bases.contains_key(path) {
            return Err(refused(FileOp::Create, path));
        }
        self.own.create(path)
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        let Some(overlaid) = self.bases.get(path) else { return self.own.open(path) };
        if overlaid.is_taken.swap(true, Ordering::SeqCst) {
            return Err(Error::InUse { path: path.to_owned() });
        }
        Ok(Arc::new(OpenFile { path: path.to_owned(), overlaid: overlaid.clone() }))
    }

    fn exists(&self, path: &Path) -> bool {
        self.bases.contains_key(path) || self.own.exists(path)
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        if self.bases.contains_key(path) {
            return Err(refused(FileOp::Remove, path));
        }
        self.own.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        if self.bases.contains_key(from) || self.bases.contains_key(to) {
            return Err(refused(FileOp::Rename, from));
        }
        self.own.rename(from, to)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.overlaid.is_taken.store(false, Ordering::SeqCst);
    }
}

/// The parts of a range, each within one page: page, offset in it, range of the buffer.
fn parts(offset: u64, bytes: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let place = offset + at as u64;
        let within = (place % PAGE_BYTES as u64) as usize;
        let len = (bytes - at).min(PAGE_BYTES - within);
        let range = at..at + len;
        at += len;
        (len > 0).then_some((place / PAGE_BYTES as u64, within, range))
    })
}

impl Overlaid {
    /// Bytes of the base; zeros behind its end.
    fn read_base(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        let there = self.base.len().saturating_sub(offset).min(buf.len() as u64) as usize;
        let (from_base, behind) = buf.split_at_mut(there);
        behind.fill(0);
        if from_base.is_empty() { Ok(()) } else { self.base.read_exact_at(offset, from_base) }
    }

    fn write_part(&self, page: u64, within: usize, bytes: &[u8]) -> Result<(), Error> {
        let mut pages = write(&self.pages);
        let own = match pages.entry(page) {
            Entry::Occupied(own) => own.into_mut(),
            Entry::Vacant(place) => {
                let mut before = Box::new([0; PAGE_BYTES]);
                if bytes.len() < PAGE_BYTES {
                    self.read_base(page * PAGE_BYTES as u64, &mut before[..])?;
                }
                place.insert(before)
            }
        };
        if let Some(place) = own.get_mut(within..within + bytes.len()) {
            place.copy_from_slice(bytes);
        }
        Ok(())
    }
}

impl DiskFile for OpenFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> u64 {
        self.overlaid.bytes.load(Ordering::SeqCst)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        let bytes = self.len().saturating_sub(offset).min(buf.len() as u64) as usize;
        let Some(buf) = buf.get_mut(..bytes) else { return Ok(0) };
        let pages = read(&self.overlaid.pages);
        let first = offset / PAGE_BYTES as u64;
        let last = (offset + bytes as u64).div_ceil(PAGE_BYTES as u64);
        if pages.range(first..last.max(first)).next().is_none() {
            self.overlaid.read_base(offset, buf)?;
            return Ok(bytes);
        }
        for (page, within, range) in parts(offset, bytes) {
            let Some(buf) = buf.get_mut(range) else { break };
            match pages.get(&page).and_then(|own| own.get(within..within + buf.len())) {
                Some(own) => buf.copy_from_slice(own),
                None => self.overlaid.read_base(page * PAGE_BYTES as u64 + within as u64, buf)?,
            }
        }
        Ok(bytes)
    }

    fn write_at(&self, offset: u64, slices: &[&[u8]], _: Durability) -> Result<(), Error> {
        let mut at = offset;
        for bytes in slices {
            for (page, within, range) in parts(at, bytes.len()) {
                self.overlaid.write_part(page, within, bytes.get(range).unwrap_or_default())?;
            }
            at += bytes.len() as u64;
        }
        self.overlaid.bytes.fetch_max(at, Ordering::SeqCst);
        Ok(())
    }

    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }

    fn extend(&self, bytes: u64, _: Fill) -> Result<(), Error> {
        self.overlaid.bytes.fetch_max(bytes, Ordering::SeqCst);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Ones(u64);

    impl BaseFile for Ones {
        fn len(&self) -> u64 {
            self.0
        }

        fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
            assert!(offset + buf.len() as u64 <= self.0, "read behind the end");
            buf.fill(1);
            Ok(())
        }
    }

    fn over(bytes: u64) -> (OverlayDisk, Arc<dyn DiskFile>) {
        let mut disk = OverlayDisk::new();
        disk.add("base".into(), Arc::new(Ones(bytes)));
        let file = disk.open(Path::new("base")).unwrap();
        (disk, file)
    }

    #[test]
    fn what_is_written_replaces_bytes_of_the_base() {
        let (_disk, file) = over(3 * PAGE_BYTES as u64);
        let at = PAGE_BYTES as u64 - 2;
        file.write_at(at, &[&[7, 7], &[8, 8]], Durability::Through).unwrap();
        let mut read = [0; 8];
        file.read_exact_at(at - 2, &mut read).unwrap();
        assert_eq!(read, [1, 1, 7, 7, 8, 8, 1, 1]);
        let mut all = vec![0; 3 * PAGE_BYTES];
        file.read_exact_at(0, &mut all).unwrap();
        assert_eq!(all.iter().filter(|byte| **byte != 1).count(), 4);
    }

    #[test]
    fn a_file_grows_beyond_its_base() {
        let bytes = PAGE_BYTES as u64;
        let (_disk, file) = over(bytes);
        file.extend(2 * bytes, Fill::Hole).unwrap();
        file.write_at(2 * bytes, &[&[9]], Durability::Deferred).unwrap();
        let mut read = [5; 3];
        assert_eq!(file.read_at(2 * bytes - 1, &mut read).unwrap(), 2);
        assert_eq!(read, [0, 9, 5]);
        assert_eq!(file.len(), 2 * bytes + 1);
    }

    #[test]
    fn a_base_is_open_once_and_keeps_its_name() {
        let (disk, file) = over(8);
        let base = Path::new("base");
        assert!(matches!(disk.open(base), Err(Error::InUse { .. })));
        assert!(disk.remove(base).is_err() && disk.create(base).is_err());
        assert!(disk.rename(base, Path::new("other")).is_err());
        drop(file);
        assert_eq!(disk.open(base).unwrap().len(), 8);
        disk.create(Path::new("log")).unwrap();
        assert!(disk.exists(Path::new("log")));
    }
}
