//! From paths to a database: what each file is, and whether together they make one.

use std::path::{Path, PathBuf};

use extentdb_base::sync::Arc;
use extentdb_base::{FileId, PageId};
use extentdb_catalog::Catalog;
use extentdb_catalog::model::DatabaseFile;
use extentdb_format::PageBuf;
use extentdb_format::allocation::file_header::FileHeader;
use extentdb_io::{File, FileIdentity};
use extentdb_types::Guid;

use crate::backup::{SetOptions, StopAt};
use crate::backup_pages::{Backup, BackupPages, ChainOptions};
use crate::checked::CheckedPages;
use crate::data_files::{DataFile, DataFiles};
use crate::error::Error;
use crate::log_file::LogFile;
use crate::overlay::OverlaySource;
use crate::recover::{LogState, RecoverOptions, Recovered, Recovery, boot_record, recover};
use crate::source::PageSource;
use crate::torn::{TornRepair, torn_pages};
use crate::watch::{InUse, Watch};

/// How to open.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Which backup set of a file with several, from 1.
    pub set: Option<u32>,
    /// Where a chain of backups is to end.
    pub stop_at: Option<StopAt>,
    /// Reads the given stripes of a backup when others are missing.
    pub allow_missing_stripes: bool,
    /// Open backups of any kind, such as log backups: their log can be read, their pages are no
    /// database.
    pub any_kind: bool,
    /// Threads that scan the extents of a compressed backup; 0 = one per core.
    pub jobs: usize,
}

/// The opened files: data files, logs or a backup.
pub struct OpenedFiles {
    source: Box<dyn PageSource>,
    origin: Origin,
    logs: Vec<LogFile>,
    /// A file whose header has something in its encryption columns.
    encrypted: Option<PathBuf>,
    /// The log and the torn pages that are read.
    restart: Restart,
    /// The files as they were when they were opened.
    watch: Watch,
}

/// Recovery as by a restart of the server, in memory.
#[derive(Clone, Debug)]
pub struct Restart {
    /// Whether the pages contain all of the log.
    pub log: LogState,
    /// The repair of torn pages.
    pub torn: TornRepair,
}

/// The origin of the pages.
pub enum Origin {
    /// Data files, with their logs.
    Files,
    /// A backup set.
    Backup(Box<Backup>),
}

/// The kind of a file, from its first bytes.
pub(crate) enum FileKind {
    Data(DataFile),
    Log(LogFile),
    Backup(File),
}

impl OpenedFiles {
    /// Opens data files with their logs, or the stripes of a backup, in any order.
    ///
    /// # Errors
    /// Names the file that cannot be read, is none of SQL Server's, or belongs to another database.
    pub fn open(paths: &[PathBuf], options: &OpenOptions) -> Result<OpenedFiles, Error> {
        if paths.is_empty() {
            return Err(Error::NothingGiven);
        }
        let mut data = Vec::new();
        let mut logs = Vec::new();
        let mut backups = Vec::new();
        let mut seen: Vec<(FileIdentity, &Path)> = Vec::new();
        for path in paths {
            let file = File::open_read(path)?;
            let identity = file.identity()?;
            if let Some((_, first)) = seen.iter().find(|(known, _)| *known == identity) {
                return Err(Error::SameFile { first: first.to_path_buf(), second: path.clone() });
            }
            seen.push((identity, path));
            match recognize(file)? {
                FileKind::Data(file) => data.push(file),
                FileKind::Log(file) => logs.push(file),
                FileKind::Backup(file) => backups.push(file),
            }
        }
        let watch = Watch::begin(paths)?;
        let opened = OpenedFiles::of_kinds(data, logs, backups, options)?;
        Ok(OpenedFiles { watch, ..opened })
    }

    fn of_kinds(
        mut data: Vec<DataFile>,
        logs: Vec<LogFile>,
        mut backups: Vec<File>,
        options: &OpenOptions,
    ) -> Result<OpenedFiles, Error> {
        match (data.is_empty(), backups.is_empty()) {
            (false, false) => {
                let file = data.swap_remove(0);
                let backup = backups.swap_remove(0);
                Err(Error::FilesAndBackups {
                    file: file.path().into(),
                    backup: backup.path().into(),
                })
            }
            (false, true) if options.stop_at.is_some() => {
                Err(Error::StopWithoutBackup { path: data.swap_remove(0).path().into() })
            }
            (false, true) => OpenedFiles::from_files(data, logs),
            (true, false) => OpenedFiles::from_backups(backups, logs, options),
            (true, true) => {
                Ok(OpenedFiles::new(Box::new(DataFiles::new(Vec::new())), Origin::Files, logs))
            }
        }
    }

    fn new(source: Box<dyn PageSource>, origin: Origin, logs: Vec<LogFile>) -> OpenedFiles {
        let restart = Restart { log: LogState::NotReplayed, torn: TornRepair::NoArea };
        OpenedFiles {
            source,
            origin,
            logs,
            encrypted: None,
            restart,
            watch: Watch::default(),
        }
    }

    fn from_files(data: Vec<DataFile>, logs: Vec<LogFile>) -> Result<OpenedFiles, Error> {
        one_database(&data)?;
        logs_of_database(&data, &logs)?;
        let encrypted =
            data.iter().find(|file| file.header().is_some_and(FileHeader::is_encrypted));
        let encrypted = encrypted.map(|file| file.path().to_path_buf());
        let opened = OpenedFiles::new(Box::new(DataFiles::new(data)), Origin::Files, logs);
        Ok(OpenedFiles { encrypted, ..opened })
    }

    fn from_backups(
        backups: Vec<File>,
        logs: Vec<LogFile>,
        options: &OpenOptions,
    ) -> Result<OpenedFiles, Error> {
        let set_options = SetOptions {
            allow_missing_stripes: options.allow_missing_stripes,
            any_kind: options.any_kind,
            jobs: options.jobs,
        };
        let chain = ChainOptions { set: options.set, stop: options.stop_at };
        let (source, backup) = BackupPages::open(backups, chain, &set_options)?;
        let origin = Origin::Backup(Box::new(backup));
        Ok(OpenedFiles::new(Box::new(source), origin, logs))
    }

    /// The same database as a restart of its server would make it, in memory: torn pages are read
    /// from the double-write area of ExtentDB if one exists, then the log is replayed and open
    /// transactions are rolled back. [`restart`](Self::restart) describes the result.
    ///
    /// # Errors
    /// A double-write area exists and cannot be read.
    pub fn restarted(mut self, options: &RecoverOptions) -> Result<OpenedFiles, Error> {
        if let Origin::Files = self.origin {
            let (torn, pages) = torn_pages(self.source())?;
            self.restart.torn = torn;
            self = self.with_pages(pages);
        }
        let (log, pages) = match recover(&self, options) {
            Ok(Recovery::NotNeeded) => (LogState::Closed, Vec::new()),
            Ok(Recovery::WithoutLog { why: None }) => (LogState::Missing, Vec::new()),
            Ok(Recovery::WithoutLog { why: Some(why) }) => (LogState::Unusable(why), Vec::new()),
            Ok(Recovery::Redone(recovered)) => {
                let Recovered { source, summary } = *recovered;
                let pages = source.into_pages().into_iter().collect();
                (LogState::Replayed(Arc::new(summary)), pages)
            }
            Err(error) => (LogState::Unusable(error.to_string()), Vec::new()),
        };
        self.restart.log = log;
        Ok(self.with_pages(pages))
    }

    /// Lays pages over the source.
    fn with_pages(self, pages: Vec<(PageId, PageBuf)>) -> OpenedFiles {
        if pages.is_empty() {
            return self;
        }
        OpenedFiles {
            source: Box::new(OverlaySource::new(self.source, pages)),
            ..self
        }
    }

    /// The result of recovery.
    pub fn restart(&self) -> &Restart {
        &self.restart
    }

    /// Whether another process uses the files or changed them since they were opened.
    pub fn in_use(&self) -> Option<InUse> {
        self.watch.in_use()
    }

    /// True when the boot page says that the database was not closed: the pages of the disk alone
    /// are not the database.
    pub fn needs_restart(&self) -> bool {
        boot_record(self.source()).is_some_and(|boot| !boot.status.is_clean())
    }

    /// The pages, with those that recovery replaced.
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

pub(crate) fn recognize(file: File) -> Result<FileKind, Error> {
    let mut head = [0u8; 16];
    let read = file.read_at(0, &mut head)?;
    match &head {
        _ if read == 0 => return Err(Error::Empty { path: file.path().into() }),
        [b'T', b'A', b'P', b'E', ..] | [b'M', b'S', b'S', b'Q', b'L', b'B', b'A', b'K', ..] => {
            return Ok(FileKind::Backup(file));
        }
        _ => {}
    }
    let file = match DataFile::recognize(file)? {
        Ok(data) => return Ok(FileKind::Data(data)),
        Err(file) => file,
    };
    match LogFile::recognize(file)? {
        Ok(log) => Ok(FileKind::Log(log)),
        Err(file) => Err(unrecognized(&file, &head[..read])),
    }
}

/// The error for a file of an unknown kind, with its first bytes.
fn unrecognized(file: &File, head: &[u8]) -> Error {
    let path = file.path().to_path_buf();
    let bytes = file.len();
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
    let binding =
        |file: &DataFile| -> Option<Guid> { file.header().and_then(|header| header.binding_id) };
    for (i, file) in data.iter().enumerate() {
        for other in data.iter().skip(i + 1) {
            let first = file.path().to_path_buf();
            let second = other.path().to_path_buf();
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

/// A log file must carry the binding id of the data files.
fn logs_of_database(data: &[DataFile], logs: &[LogFile]) -> Result<(), Error> {
    let owner = data.iter().find_map(|file| Some((file, file.header()?.binding_id?)));
    let Some((file, data_id)) = owner else { return Ok(()) };
    for log in logs {
        let log_id = log.header().and_then(|header| header.binding_id);
        if let Some(log_id) = log_id.filter(|log_id| *log_id != data_id) {
            let log = log.path().to_path_buf();
            let data = file.path().to_path_buf();
            return Err(Error::LogOfOtherDatabase { log, log_id, data, data_id });
        }
    }
    Ok(())
}

/// An opened database with its catalog.
pub struct Database {
    opened: OpenedFiles,
    catalog: Catalog,
}

impl Database {
    /// Opens the files or backup as a restart of the server would ([`OpenedFiles::restarted`]) and
    /// reads the catalog. Whether the rows are those of the database:
    /// [`shortfall`](Self::shortfall).
    ///
    /// # Errors
    /// As [`OpenedFiles::open`]; or the primary file is missing, or the catalog cannot be read at
    /// all.
    pub fn open(paths: &[PathBuf], options: &OpenOptions) -> Result<Database, Error> {
        let opened = OpenedFiles::open(paths, options)?;
        if opened.is_log_only() {
            return Database::from_opened(opened);
        }
        Database::from_opened(opened.restarted(&RecoverOptions::default())?)
    }

    /// Reads the catalog of what is open.
    ///
    /// # Errors
    /// The primary file is missing, or the catalog cannot be read at all.
    pub fn from_opened(opened: OpenedFiles) -> Result<Database, Error> {
        if opened.is_log_only() {
            let path = opened.logs.first().map(|log| log.path().to_path_buf()).unwrap_or_default();
            return Err(Error::OnlyLog { path });
        }
        let source = opened.source();
        if source.page_count(PageId::BOOT.file) == 0 {
            let given = source.files().iter().map(|file| file.id).collect();
            return Err(Error::NoPrimary { given });
        }
        // What the encryption columns hold in a file that is not encrypted is not known for every
        // version: they only explain why the catalog cannot be read.
        let catalog = match (Catalog::load(&CheckedPages::new(source)), &opened.encrypted) {
            (Ok(catalog), _) => catalog,
            (Err(_), Some(path)) => return Err(Error::Encrypted { path: path.clone() }),
            (Err(error), None) => return Err(error.into()),
        };
        Ok(Database { opened, catalog })
    }

    /// Why the rows may not be those of the database, as a sentence without its full stop; `None`
    /// where they are.
    pub fn shortfall(&self) -> Option<String> {
        self.opened.restart.log.shortfall()
    }

    /// False when the log changed pages, or should have: the row counts of the catalog may be
    /// older than the rows. A restart of the server recounts.
    pub fn has_current_counts(&self) -> bool {
        match &self.opened.restart.log {
            LogState::NotReplayed | LogState::Closed => true,
            LogState::Missing | LogState::Unusable(_) => false,
            LogState::Replayed(summary) => summary.changes == 0 && summary.unfinished.is_empty(),
        }
    }

    /// The catalog, read when the database was opened.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The opened files.
    pub fn opened(&self) -> &OpenedFiles {
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

    /// Data files of the catalog that were not given.
    pub fn missing_files(&self) -> Vec<&DatabaseFile> {
        const ROWS: u8 = 0;
        let there = |id: FileId| self.source().files().iter().any(|file| file.id == id);
        let files = self.catalog.files.iter();
        files.filter(|file| file.file_type == ROWS && !file.dropped && !there(file.id)).collect()
    }
}
