//! Identifies one file by its own bytes, to group files that belong together.
//!
//! ```text
//! data file  file header page    ─▶ binding id, file id, fork
//! log file   file header page    ─▶ binding id, file id, fork
//! backup     media header, MSCI  ─▶ media set, family; each set: kind, database, binding id,
//!                                forks, LSNs
//! ```
//!
//! Data and log files belong together when their binding ids are equal; backup files are stripes of
//! one backup when their media sets are equal, and backups of one database when the family GUIDs
//! and forks of their sets are ([`SetHeader`]).

use std::path::{Path, PathBuf};

use extentdb_base::sync::Arc;
use extentdb_base::{FileId, Lsn};
use extentdb_format::allocation::file_header::FileHeader;
use extentdb_io::{File, ReadAt};
use extentdb_types::Guid;

use crate::backup::{BackupMedia, MediaFamily, SetHeader};
use crate::error::Error;
use crate::open::{FileKind, recognize};

/// A file and its kind.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Path of the file.
    pub path: PathBuf,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Kind by the first pages or blocks.
    pub kind: IdentityKind,
}

/// The kind of a file, and its database.
#[derive(Clone, Debug)]
pub enum IdentityKind {
    /// A data file.
    Data(FileOfDatabase),
    /// A log file.
    Log(FileOfDatabase),
    /// A file of a backup.
    Backup(Box<BackupIdentity>),
}

/// A data or log file, as its header page describes it. Fields are `None` where the page is
/// damaged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOfDatabase {
    /// Its number in the database.
    pub file_id: Option<FileId>,
    /// The same in all files of a database.
    pub binding_id: Option<Guid>,
    /// Recovery fork that the file is on.
    pub fork_id: Option<Guid>,
    /// Identifies the file itself; `UniqueId` of FILELISTONLY.
    pub file_guid: Option<Guid>,
    /// Where the file was last backed up.
    pub backup_lsn: Option<Lsn>,
    /// Logical name from the header page.
    pub name: Option<String>,
}

/// A file of a backup.
#[derive(Clone, Debug)]
pub struct BackupIdentity {
    /// The media set: its number of families, and the one of this file (`given`).
    pub media: MediaFamily,
    /// The backup sets in it: kind, database, binding id, family GUID, forks, first and last LSN.
    pub sets: Vec<SetHeader>,
}

/// Says what a file is. Reads its headers only.
///
/// # Errors
/// The file cannot be read, is no data file, log or backup, or is a backup that cannot be read
/// without a key.
pub fn identify(path: &Path) -> Result<Identity, Error> {
    let file = File::open_read(path)?;
    let bytes = file.len();
    let kind = match recognize(file)? {
        FileKind::Data(file) => IdentityKind::Data(FileOfDatabase {
            file_id: Some(file.id()),
            ..FileOfDatabase::of(file.header())
        }),
        FileKind::Log(file) => IdentityKind::Log(FileOfDatabase::of(file.header())),
        FileKind::Backup(file) => {
            let media = BackupMedia::open(vec![Arc::new(file) as Arc<dyn ReadAt>])?;
            let identity = BackupIdentity { media: media.family(), sets: media.sets() };
            IdentityKind::Backup(Box::new(identity))
        }
    };
    Ok(Identity { path: path.to_path_buf(), bytes, kind })
}

impl FileOfDatabase {
    /// The values of the header page.
    pub(crate) fn of(header: Option<&FileHeader>) -> FileOfDatabase {
        let Some(header) = header else { return FileOfDatabase::default() };
        FileOfDatabase {
            file_id: header.file_id.map(FileId),
            binding_id: header.binding_id,
            fork_id: header.fork_guid,
            file_guid: header.file_guid,
            backup_lsn: header.backup_lsn,
            name: header.name(),
        }
    }
}

impl Identity {
    /// The binding id of the database, by which data files, logs and backups of it are found.
    /// `None` where it cannot be read, or where the backup sets are of several databases.
    pub fn binding_id(&self) -> Option<Guid> {
        match &self.kind {
            IdentityKind::Data(file) | IdentityKind::Log(file) => file.binding_id,
            IdentityKind::Backup(backup) => {
                let first = backup.sets.first()?.binding_id;
                backup.sets.iter().all(|set| set.binding_id == first).then_some(first)
            }
        }
    }

    /// The media set of a file of a backup.
    pub fn media_set(&self) -> Option<Guid> {
        match &self.kind {
            IdentityKind::Backup(backup) => backup.media.media_set,
            IdentityKind::Data(_) | IdentityKind::Log(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use extentdb_template::{MakeOptions, Size, make};

    #[test]
    fn a_data_file_is_identified_by_file_id_and_database() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any-name.bin");
        let options = MakeOptions { shape: "heap".to_owned(), size: Size::Rows(10), seed: 5 };
        make(&options, &[&path], &mut |_| {}).unwrap();
        let identity = identify(&path).unwrap();
        assert!(identity.binding_id().is_some() && identity.media_set().is_none());
        let IdentityKind::Data(file) = identity.kind else { panic!("a data file") };
        assert_eq!(file.file_id, Some(FileId(1)));
    }

    #[test]
    fn a_file_of_another_kind_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("letter.txt");
        std::fs::write(&path, "Dear sir").unwrap();
        let error = identify(&path).unwrap_err().to_string();
        assert!(error.contains("letter.txt") && error.contains("not a SQL Server"), "{error}");
    }
}
