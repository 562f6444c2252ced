//! Detects files that another process writes while they are read.
//!
//! ```text
//! opened ── stamp: length, time, identity, boot page LSN ──┐
//! read …                                                   ├─ differ, or locked: in use
//! done   ── stamp ─────────────────────────────────────────┘
//! ```
//!
//! A file that is in use is no evidence: pages of it were read at different moments. Nobody is
//! disturbed: a lock is requested without waiting and released at once.

use std::fmt;
use std::path::{Path, PathBuf};

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{Lsn, PageId};
use extentdb_format::PageBuf;
use extentdb_format::page::PageHeader;
use extentdb_io::{Error, File, FileIdentity, FileStamp};

/// Why a file is no evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InUse {
    /// Path of the file in use.
    pub path: PathBuf,
    /// Why the file counts as in use.
    pub sign: UseSign,
}

/// The evidence that a file is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseSign {
    /// Somebody holds a lock on it.
    Locked,
    /// Its length or time of change differs, or its boot page has another LSN.
    Changed,
    /// The path is another file now, or missing.
    Replaced,
}

impl fmt::Display for InUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.sign {
            UseSign::Locked => write!(f, "{path} is in use: a running engine holds a lock on it"),
            UseSign::Changed => write!(f, "{path} is in use: it changed while it was read"),
            UseSign::Replaced => {
                write!(f, "{path} is in use: it was replaced or removed while it was read")
            }
        }
    }
}

/// The files as they were when they were opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    files: Vec<(PathBuf, WatchedFile)>,
}

/// Size and times of a file when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WatchedFile {
    identity: FileIdentity,
    stamp: FileStamp,
    /// LSN in the header of page 9, whatever the page is.
    boot_lsn: Lsn,
}

impl Watch {
    /// Remembers the state of the files.
    pub(crate) fn begin(paths: &[PathBuf]) -> Result<Watch, Error> {
        let seen = |path: &PathBuf| Ok((path.clone(), WatchedFile::of(&File::open_read(path)?)?));
        Ok(Watch { files: paths.iter().map(seen).collect::<Result<_, Error>>()? })
    }

    /// The first file that is locked or has changed.
    pub(crate) fn in_use(&self) -> Option<InUse> {
        self.files.iter().find_map(|(path, seen)| {
            let sign = sign_of(path, seen)?;
            Some(InUse { path: path.clone(), sign })
        })
    }
}

impl WatchedFile {
    fn of(file: &File) -> Result<WatchedFile, Error> {
        let mut page = PageBuf::zeroed();
        file.read_at(u64::from(PageId::BOOT.page) * PAGE_BYTES as u64, &mut page[..])?;
        let boot_lsn = PageHeader::of(&page).lsn();
        Ok(WatchedFile { identity: file.identity()?, stamp: file.stamp()?, boot_lsn })
    }
}

fn sign_of(path: &Path, seen: &WatchedFile) -> Option<UseSign> {
    let Ok(file) = File::open_read(path) else { return Some(UseSign::Replaced) };
    if file.is_locked() {
        return Some(UseSign::Locked);
    }
    let Ok(now) = WatchedFile::of(&file) else { return Some(UseSign::Changed) };
    if now.identity != seen.identity {
        return Some(UseSign::Replaced);
    }
    (now != *seen).then_some(UseSign::Changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_untouched_file_is_not_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, [1; 100]).unwrap();
        assert_eq!(Watch::begin(&[path]).unwrap().in_use(), None);
    }

    #[test]
    fn locked_changed_and_replaced_files_are_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, [1; 100]).unwrap();
        let watch = Watch::begin(std::slice::from_ref(&path)).unwrap();
        let sign = |watch: &Watch| watch.in_use().map(|found| found.sign);
        let holder = fs::OpenOptions::new().write(true).open(&path).unwrap();
        holder.lock().unwrap();
        assert_eq!(sign(&watch), Some(UseSign::Locked));
        drop(holder);
        assert_eq!(sign(&watch), None);
        fs::write(&path, [1; 101]).unwrap();
        assert_eq!(sign(&watch), Some(UseSign::Changed));
        fs::remove_file(&path).unwrap();
        assert_eq!(sign(&watch), Some(UseSign::Replaced));
    }

    #[test]
    fn the_sentence_names_the_file() {
        let found = InUse { path: "x.mdf".into(), sign: UseSign::Locked };
        assert_eq!(found.to_string(), "x.mdf is in use: a running engine holds a lock on it");
    }
}
