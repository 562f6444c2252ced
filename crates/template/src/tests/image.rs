//! The files of a built database, read by `reader`: it shares nothing with the builder but
//! `format`.

use std::path::Path;

use extentdb_base::{FileId, PageId};
use extentdb_catalog::{PageError, PageGetter};
use extentdb_format::PageBytes;
use extentdb_io::File;
use extentdb_reader::{CheckedPages, DataFile, DataFiles, PageSource};

/// Open data files by their ids.
pub(super) struct Image(DataFiles);

impl Image {
    pub(super) fn open(paths: &[&Path]) -> Image {
        let open = |path: &&Path| {
            let recognized = DataFile::recognize(File::open_read(path).unwrap()).unwrap();
            recognized.unwrap_or_else(|file| panic!("{} is not a data file", file.path().display()))
        };
        Image(DataFiles::new(paths.iter().map(open).collect()))
    }

    /// Ids of the files, ascending.
    pub(super) fn files(&self) -> impl Iterator<Item = FileId> {
        self.0.files().iter().map(|file| file.id)
    }

    /// A page as it is stored.
    pub(super) fn raw(&self, id: PageId, page: &mut PageBytes) {
        self.0.read(id, page).unwrap();
    }
}

impl PageGetter for Image {
    fn page(&self, id: PageId, page: &mut PageBytes) -> Result<(), PageError> {
        CheckedPages::new(&self.0).page(id, page)
    }

    fn page_count(&self, file: FileId) -> u32 {
        self.0.page_count(file)
    }

    fn total_pages(&self) -> u64 {
        CheckedPages::new(&self.0).total_pages()
    }
}
