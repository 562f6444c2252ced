//! Files for rows that do not fit into memory.

use std::path::{Path, PathBuf};

use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_io::{Disk, DiskFile, Durability, EphemeralDisk};

use crate::error::Error;

/// How many names are tried: another process may use the folder, too.
const NAMES_TRIED: u32 = 100;

/// Where work files are made.
#[derive(Debug)]
pub struct WorkArea {
    disk: EphemeralDisk,
    folder: PathBuf,
    next: AtomicU64,
}

impl WorkArea {
    /// A folder, which is there already.
    pub fn new(disk: Arc<dyn Disk>, folder: impl Into<PathBuf>) -> Arc<WorkArea> {
        Arc::new(WorkArea {
            disk: EphemeralDisk::over(disk),
            folder: folder.into(),
            next: AtomicU64::new(0),
        })
    }

    /// A new file, whose name is removed at once.
    pub(crate) fn create(&self) -> Result<Arc<WorkFile>, Error> {
        let mut tried = 0;
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let path = self.folder.join(format!("work-{number}.tmp"));
            match self.disk.create(&path) {
                Ok(file) => return self.unnamed(file, &path),
                Err(_) if self.disk.exists(&path) && tried < NAMES_TRIED => tried += 1,
                Err(error) => return Err(Error::WorkFile(Box::new(error))),
            }
        }
    }

    /// How many files were made.
    #[cfg(test)]
    pub(crate) fn files(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    fn unnamed(&self, file: Arc<dyn DiskFile>, path: &Path) -> Result<Arc<WorkFile>, Error> {
        self.disk.remove(path).map_err(|error| Error::WorkFile(Box::new(error)))?;
        Ok(Arc::new(WorkFile { file, end: Mutex::new(0) }))
    }
}

/// A file of one operator; it ends with the last run that is in it.
#[derive(Debug)]
pub(crate) struct WorkFile {
    file: Arc<dyn DiskFile>,
    end: Mutex<u64>,
}

impl WorkFile {
    /// Writes bytes at the end; says where they are.
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<u64, Error> {
        let mut end = lock(&self.end);
        let offset = *end;
        let written = self.file.write_at(offset, &[bytes], Durability::Deferred);
        written.map_err(|error| Error::WorkFile(Box::new(error)))?;
        *end += bytes.len() as u64;
        Ok(offset)
    }

    /// Reads bytes that were written.
    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let read = self.file.read_exact_at(offset, bytes);
        read.map_err(|error| Error::WorkFile(Box::new(error)))
    }
}
