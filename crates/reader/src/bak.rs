//! A backup set as a [`PageSource`].
use crate::source::*;
use extentdb_base::*;
use extentdb_io::File;
/// x
pub struct BackupInfo;
/// x
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// x
    #[error("x")]
    X,
}
/// x
pub struct BackupPages;
impl PageSource for BackupPages {
    fn files(&self) -> &[SourceFile] { &[] }
    fn read_run(&self, first: PageId, _buf: &mut [u8]) -> Result<(), ReadError> { Err(ReadError::NoFile { file: first.file }) }
    fn is_stored(&self, _extent: Extent) -> bool { false }
}
/// x
pub fn open(_files: Vec<File>, _set: Option<u32>) -> Result<(BackupPages, BackupInfo), Error> { Err(Error::X) }
