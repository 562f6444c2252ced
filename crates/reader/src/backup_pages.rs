//! A backup set as a [`PageSource`].

use std::path::Path;

use extentdb_base::size::PAGES_PER_EXTENT;
use extentdb_base::sync::Arc;
use extentdb_base::{Extent, PageId};
use extentdb_format::mtf::config::FileKind;
use extentdb_io::{File, ReadAt};

use crate::backup::{self, BackupFile, BackupMedia, BackupSet, MediaFamily, SetHeader, SetOptions};
use crate::source::{PageSource, ReadError, SourceFile};

/// A backup that was opened: the media it came on, and the set that was chosen.
pub struct Backup {
    /// The stripes.
    pub family: MediaFamily,
    /// All sets on the media.
    pub sets: Vec<SetHeader>,
    /// The set that is read.
    pub set: Arc<BackupSet>,
}

/// The pages of a backup set.
pub(crate) struct BackupPages {
    set: Arc<BackupSet>,
    files: Vec<SourceFile>,
}

impl BackupPages {
    /// Opens the stripes of a backup and one of its sets.
    pub(crate) fn open(
        files: Vec<File>,
        set: Option<u32>,
        options: &SetOptions,
    ) -> Result<(BackupPages, Backup), backup::Error> {
        let first = files.first().map(|file| file.path().to_path_buf()).unwrap_or_default();
        let sources = files.into_iter().map(|file| Arc::new(file) as Arc<dyn ReadAt>).collect();
        let media = BackupMedia::open(sources)?;
        let set = Arc::new(media.open_set(set, options)?);
        let data = set.files().iter().filter(|file| file.kind == FileKind::Data);
        let mut files: Vec<SourceFile> = data.map(|file| source_file(&set, file, &first)).collect();
        files.sort_by_key(|file| file.id);
        let backup = Backup { family: media.family(), sets: media.sets(), set: Arc::clone(&set) };
        Ok((BackupPages { set, files }, backup))
    }
}

/// A file may have grown after its size was written down: what is stored counts.
fn source_file(set: &BackupSet, file: &BackupFile, path: &Path) -> SourceFile {
    let stored = set.stored_extents(file.id).last().map_or(0, |last| last.index.saturating_add(1));
    let pages = file.pages().max(stored.saturating_mul(PAGES_PER_EXTENT));
    SourceFile { id: file.id, pages, trailing_bytes: 0, path: path.to_path_buf() }
}

impl PageSource for BackupPages {
    fn files(&self) -> &[SourceFile] {
        &self.files
    }

    fn read_run(&self, first: PageId, buf: &mut [u8]) -> Result<(), ReadError> {
        let pages = self.page_count(first.file);
        if pages == 0 {
            return Err(ReadError::NoFile { file: first.file });
        }
        if first.page >= pages {
            return Err(ReadError::BeyondEnd { page: first, pages });
        }
        self.set.read_pages(first, buf).map_err(|error| read_error(first, error))
    }

    fn is_stored(&self, extent: Extent) -> bool {
        self.set.is_stored(extent)
    }
}

fn read_error(page: PageId, error: backup::ReadError) -> ReadError {
    match error {
        backup::ReadError::NotStored { extent } => {
            ReadError::NotStored { page: page.max(extent.first_page()) }
        }
        backup::ReadError::Io(source) => ReadError::Io { page, source },
        damaged => ReadError::Damaged { page, what: damaged.to_string() },
    }
}
