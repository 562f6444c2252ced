//! From paths to a database: what each file is, and whether together they make one.

use std::path::{Path, PathBuf};

use extentdb_base::{FileId, PageId};
use extentdb_catalog::Catalog;
use extentdb_catalog::model::DatabaseFile;
use extentdb_format::allocation::file_header::FileHeader;
use extentdb_io::{File, FileIdentity};
use extentdb_types::Guid;

use crate::backup::SetOptions;
use crate::backup_pages::{Backup, BackupPages};
use crate::checked::CheckedPages;
use crate::data_files::{DataFile, DataFiles};
use crate::error::Error;
use crate::log_file::LogFile;
use crate::source::PageSource;

/// How to open.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Which backup set of a file with several, from 1.
    pub set: Option<u32>,
    /// Read what is there when stripes of a backup are missing.
    pub allow_missing_stripes: bool,
    /// Threads that look at the extents of a compressed backup; 0 = as many as the machine has.
    pub jobs: usize,
}

/// What the paths turned out to be.
pub struct Opened {
    source: Box<dyn PageSource>,
    origin: Origin,
    logs: Vec<LogFile>,
    /// A file whose header has something in its encryption columns.
    encrypted: Option<PathBuf>,
}

/// Where the pages come from.
pub enum Origin {
    /// Data files.
    Files,
    /// A backup set.
    Backup(Box<Backup>),
}

/// What one path is, by its first bytes.
pub(crate) enum Kind {
    Data(DataFile),
    Log(LogFile),
    Backup(File),
}

impl Opened {
    /// Opens data files with their logs, or the stripes of a backup, in any order.
    ///
    /// # Errors
    /// Names the file that cannot be read, is none of SQL Server's, or belongs to another database.
    pub fn open(paths: &[PathBuf], options: &OpenOptions) -> Result<Opened, Error> {
        if paths.is_empty() {
            return Err(Error::NothingGiven);
        }
        let (mut data, mut logs, mut backups) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen: Vec<(FileIdentity, &Path)> = Vec::new();
        for path in paths {
            let file = File::open_read(path)?;
            let identity = file.identity()?;
            if let Some((_, first)) = seen.iter().find(|(known, _)| *known == identity) {
                return Err(Error::SameFile { first: first.to_path_buf(), second: path.clone() });
            }
            seen.push((identity, path));
            match recognize(file)? {
                Kind::Data(file) => data.push(file),
                Kind::Log(file) => logs.push(file),
                Kind::Backup(file) => backups.push(file),
            }
        }
        match (data.is_empty(), backups.is_empty()) {
            (false, false) => {
                let (file, backup) = (data.swap_remove(0), backups.swap_remove(0));
                Err(Error::FilesAndBackups { file: file.path().into(), backup: backup.path().into() })
            }
            (false, true) => Opened::from_files(data, logs),
            (true, false) => Opened::from_backups(backups, logs, options),
            (true, true) => Ok(Opened {
                source: Box::new(DataFiles::new(Vec::new())),
                origin: Origin::Files,
                logs,
                encrypted: None,
            }),
        }
    }

    fn from_files(data: Vec<DataFile>, logs: Vec<LogFile>) -> Result<Opened, Error> {
        one_database(&data)?;
        let encrypted = data.iter().find(|file| file.header().is_some_and(FileHeader::is_encrypted));
        let encrypted = encrypted.map(|file| file.path().to_path_buf());
        Ok(Opened { source: Box::new(DataFiles::new(data)), origin: Origin::Files, logs, encrypted })
    }

    fn from_backups(backups: Vec<File>, logs: Vec<LogFile>, options: &OpenOptions) -> Result<Opened, Error> {
        let set_options = SetOptions {
            allow_missing_stripes: options.allow_missing_stripes,
            jobs: options.jobs,
            ..SetOptions::default()
        };
        let (source, backup) = BackupPages::open(backups, options.set, &set_options)?;
        let origin = Origin::Backup(Box::new(backup));
        Ok(Opened { source: Box::new(source), origin, logs, encrypted: None })
    }

    /// The pages.
    pub fn source(&self) -> &dyn PageSource {
        &*self.source
    }

    /// Data files or a backup.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Log files among the paths.
    pub fn logs(&self) -> &[LogFile] {
        &self.logs
    }

    /// True when there are only log files.
    pub fn is_log_only(&self) -> bool {
        self.source.files().is_empty()
    }
}

pub(crate) fn recognize(file: File) -> Result<Kind, Error> {
    let mut head = [0u8; 16];
    let read = file.read_at(0, &mut head)?;
    match &head {
        _ if read == 0 => return Err(Error::Empty { path: file.path().into() }),
        [b'T', b'A', b'P', b'E', ..] | [b'M', b'S', b'S', b'Q', b'L', b'B', b'A', b'K', ..] => {
            return Ok(Kind::Backup(file));
        }
        _ => {}
    }
    let file = match DataFile::recognize(file)? {
        Ok(data) => return Ok(Kind::Data(data)),
        Err(file) => file,
    };
    match LogFile::recognize(file)? {
        Ok(log) => Ok(Kind::Log(log)),
        Err(file) => Err(unrecognized(&file, &head[..read])),
    }
}

/// Says what a file that is none of ours looks like.
fn unrecognized(file: &File, head: &[u8]) -> Error {
    let (path, bytes) = (file.path().to_path_buf(), file.len());
    let what = if head.iter().all(|&b| b == 0) {
        "it begins with zeros"
    } else if head.iter().all(|&b| matches!(b, b'\t' | b'\n' | b'\r' | 0x20..=0x7e)) {
        "it begins as text"
    } else {
        "its first page is not a file header"
    };
    Error::NotRecognized { path, bytes, what }
}

/// All files must carry the same binding id and different file ids.
fn one_database(data: &[DataFile]) -> Result<(), Error> {
    let binding = |file: &DataFile| -> Option<Guid> { file.header().and_then(|header| header.binding_id) };
    for (i, file) in data.iter().enumerate() {
        for other in data.iter().skip(i + 1) {
            let (first, second) = (file.path().to_path_buf(), other.path().to_path_buf());
            if let (Some(a), Some(b)) = (binding(file), binding(other))
                && a != b
            {
                return Err(Error::OtherDatabase { first, second });
            }
            if file.id() == other.id() {
                return Err(Error::SameFileId { file: file.id(), first, second });
            }
        }
    }
    Ok(())
}

/// A database whose catalogue was read.
pub struct Database {
    opened: Opened,
    catalog: Catalog,
}

impl Database {
    /// Opens the files or backup and reads the catalogue.
    ///
    /// # Errors
    /// As [`Opened::open`]; or the primary file is missing, or the catalogue cannot be read at all.
    pub fn open(paths: &[PathBuf], options: &OpenOptions) -> Result<Database, Error> {
        Database::from_opened(Opened::open(paths, options)?)
    }

    /// Reads the catalogue of what is open.
    ///
    /// # Errors
    /// The primary file is missing, or the catalogue cannot be read at all.
    pub fn from_opened(opened: Opened) -> Result<Database, Error> {
        if opened.is_log_only() {
            let path = opened.logs.first().map(|log| log.path().to_path_buf()).unwrap_or_default();
            return Err(Error::OnlyLog { path });
        }
        let source = opened.source();
        if source.page_count(PageId::BOOT.file) == 0 {
            let given = source.files().iter().map(|file| file.id).collect();
            return Err(Error::NoPrimary { given });
        }
        // What the encryption columns hold in a file that is not encrypted is not known for every version: they only
        // explain why the catalogue cannot be read.
        let catalog = match (Catalog::load(&CheckedPages::new(source)), &opened.encrypted) {
            (Ok(catalog), _) => catalog,
            (Err(_), Some(path)) => return Err(Error::Encrypted { path: path.clone() }),
            (Err(error), None) => return Err(error.into()),
        };
        Ok(Database { opened, catalog })
    }

    /// The catalogue.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// What was opened.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// The raw pages.
    pub fn source(&self) -> &dyn PageSource {
        self.opened.source()
    }

    /// The verified pages.
    pub fn pages(&self) -> CheckedPages<'_> {
        CheckedPages::new(self.source())
    }

    /// Data files that the catalogue lists and that were not given.
    pub fn missing_files(&self) -> Vec<&DatabaseFile> {
        const ROWS: u8 = 0;
        let there = |id: FileId| self.source().files().iter().any(|file| file.id == id);
        let files = self.catalog.files.iter();
        files.filter(|file| file.file_type == ROWS && !file.dropped && !there(file.id)).collect()
    }
}
