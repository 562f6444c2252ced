//! Opening a database: its files, its log, recovery, its catalogue.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::atomic::{AtomicBool, AtomicUsize};
use extentdb_base::sync::{Arc, Mutex};
use extentdb_base::{FileId, Lsn, PageId, XactId};
use extentdb_buffer::{Pool, PoolOptions};
use extentdb_format::PageBuf;
use extentdb_format::allocation::boot::{BootRecord, DatabaseStatus};
use extentdb_format::allocation::file_header::{FileHeader, FileHeaderView, MAX_SIZE_UNLIMITED};
use extentdb_format::page::checksum;
use extentdb_io::DiskFile;
use extentdb_space::{FileDescription, Options as SpaceOptions, Space};
use extentdb_txn::Manager;
use extentdb_txn::lock::LockManager;
use extentdb_types::Guid;
use extentdb_wal::{Log, LogSpec};

use crate::boot::{Mark, read_boot, write_mark};
use crate::catalogue::Catalogue;
use crate::checkpoint::{Checkpoints, VERSION, WRITTEN};
use crate::create::LogFileSpec;
use crate::database::{Ahead, Database, Fills, Options};
use crate::error::Error;
use crate::recovery::{Recovered, Recovery};
use crate::running::Bells;

/// Where the files of a database are.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The data files, the primary one first.
    pub data: Vec<PathBuf>,
    /// The log file.
    pub log: PathBuf,
}

/// A data file that is open, and what its header says.
struct DataFile {
    disk: Arc<dyn DiskFile>,
    header: FileHeader,
}

/// The data files of a database that is being opened.
struct DataFiles {
    files: Vec<DataFile>,
    boot: BootRecord,
}

impl DataFiles {
    fn open(paths: &Paths, options: &Options) -> Result<DataFiles, Error> {
        let files: Vec<DataFile> =
            paths.data.iter().map(|path| DataFile::open(path, options)).collect::<Result<_, _>>()?;
        let primary = files.first().filter(|file| file.header.file_id == Some(1));
        let primary = primary.ok_or(Error::MissingFile { file: FileId(1) })?;
        let mut ids = BTreeSet::new();
        if let Some(again) = files.iter().find(|file| !ids.insert(file.id())) {
            let path = again.disk.path().to_path_buf();
            return Err(Error::WrongFile { path, what: "another file that was given has its number" });
        }
        if let Some(other) = files.iter().find(|file| file.header.binding_id != primary.header.binding_id) {
            let path = other.disk.path().to_path_buf();
            return Err(Error::WrongFile { path, what: "it belongs to another database" });
        }
        let boot = read_boot(&*primary.disk)?;
        if !WRITTEN.contains(&boot.version) {
            return Err(Error::Version { found: boot.version, expected: VERSION });
        }
        Ok(DataFiles { files, boot })
    }

    fn is_clean(&self) -> bool {
        let DatabaseStatus(status) = self.boot.status;
        status & DatabaseStatus::CLEAN_SHUTDOWN != 0
    }

    fn binding(&self) -> Guid {
        self.files.first().and_then(|file| file.header.binding_id).unwrap_or(Guid([0; 16]))
    }

    /// In the order of a filegroup's list: the primary file, then from the newest to the oldest.
    fn descriptions(&self) -> Result<Vec<FileDescription>, Error> {
        let mut all: Vec<FileDescription> =
            self.files.iter().map(DataFile::description).collect::<Result<_, _>>()?;
        all.sort_by_key(|file| if file.id == FileId(1) { (0, 0) } else { (1, u16::MAX - file.id.0) });
        Ok(all)
    }
}

impl DataFile {
    fn open(path: &Path, options: &Options) -> Result<DataFile, Error> {
        let disk = options.disk.open(path)?;
        let mut page = PageBuf::zeroed();
        disk.read_exact_at(0, &mut page[..])?;
        let wrong = |what| Error::WrongFile { path: path.to_path_buf(), what };
        let is_intact = checksum::verify(&page).is_intact();
        checksum::restore_torn(&mut page);
        if !FileHeaderView::new(&page).faults().is_empty() || !is_intact {
            return Err(wrong("page 0 is no sound file header"));
        }
        let header = FileHeaderView::new(&page).header();
        if header.file_id.is_none() || header.size.is_none() {
            return Err(wrong("the file header names no file"));
        }
        Ok(DataFile { disk, header })
    }

    fn id(&self) -> FileId {
        FileId(self.header.file_id.unwrap_or(0))
    }

    fn description(&self) -> Result<FileDescription, Error> {
        let pages = self.header.size.unwrap_or(0);
        if self.disk.len() < u64::from(pages) * PAGE_BYTES as u64 {
            let path = self.disk.path().to_path_buf();
            return Err(Error::WrongFile { path, what: "it is shorter than its header says" });
        }
        Ok(FileDescription {
            id: self.id(),
            group: self.header.filegroup_id.unwrap_or(1) as i16,
            name: self.header.name().unwrap_or_default(),
            pages,
            growth: self
                .header
                .growth()
                .unwrap_or(extentdb_format::allocation::file_header::Growth::Pages(0)),
            pages_max: self.header.max_size.filter(|max| *max != MAX_SIZE_UNLIMITED),
        })
    }
}

impl Database {
    /// Opens a database, and brings it to the state of its last committed transaction.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn open(paths: &Paths, options: Options) -> Result<Database, Error> {
        let database = Database::open_files(paths, options)?;
        database.space.recalculate();
        Ok(database)
    }

    fn open_files(paths: &Paths, options: Options) -> Result<Database, Error> {
        options.verify()?;
        let files = DataFiles::open(paths, &options)?;
        if !options.disk.exists(&paths.log) {
            if !files.is_clean() {
                return Err(Error::LogMissing);
            }
            let log = LogFileSpec {
                path: paths.log.clone(),
                bytes: 1 << 20,
                growth: extentdb_wal::Growth::Percent(10),
                bytes_max: None,
            };
            return Database::with_new_log(files, &log, options);
        }
        let log = options.disk.open(&paths.log)?;
        let checkpoint = files.boot.checkpoint_lsn;
        if checkpoint.is_zero() {
            // The power went before the first checkpoint with this log: all of it is needed.
            let opened = Log::open(log, Lsn::ZERO, options.clock.clone())?;
            let minimum = opened.minimum();
            return Database::recover(files, opened, options, checkpoint, minimum);
        }
        match Log::open(log.clone(), checkpoint, options.clock.clone()) {
            Ok(opened) => {
                let minimum = minimum_of(&opened, checkpoint)?;
                let opened = match minimum < checkpoint {
                    true => Log::open(log, minimum, options.clock.clone())?,
                    false => opened,
                };
                Database::recover(files, opened, options, checkpoint, minimum)
            }
            Err(extentdb_wal::Error::Corrupt { .. }) if files.is_clean() => {
                Database::go_on_with(files, log, &paths.log, options)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a database that was closed cleanly with a log that does not hold its last checkpoint: one that was made for it, when
    /// the power went before it was used.
    fn go_on_with(
        files: DataFiles,
        log: Arc<dyn DiskFile>,
        path: &Path,
        options: Options,
    ) -> Result<Database, Error> {
        let unusable = |source| Error::LogUnusable { path: path.to_path_buf(), source };
        let opened =
            Log::open(log, Lsn::ZERO, options.clock.clone()).map_err(|error| unusable(Some(error)))?;
        if opened.next().vlf <= files.boot.checkpoint_lsn.vlf {
            return Err(unusable(None));
        }
        Database::recover(files, opened, options, Lsn::ZERO, Lsn::ZERO)
    }

    /// Opens a database that was closed cleanly, with a log that it has not got yet.
    pub(crate) fn open_with_new_log(
        paths: &Paths,
        log: &LogFileSpec,
        options: Options,
    ) -> Result<Database, Error> {
        let files = DataFiles::open(paths, &options)?;
        Database::with_new_log(files, log, options)
    }

    fn with_new_log(files: DataFiles, log: &LogFileSpec, options: Options) -> Result<Database, Error> {
        let file = options.disk.create(&log.path)?;
        let Guid(mut guid) = files.binding();
        // The id of the file itself: another one than the database's, and the same whenever this is done again.
        guid[15] ^= 0x5a;
        let spec = LogSpec {
            file_id: FileId(2),
            logical_name: format!("{}_log", files.boot.name),
            bytes: log.bytes,
            growth: log.growth,
            max_bytes: log.bytes_max,
            binding_id: files.binding(),
            file_guid: Guid(guid),
            // Above every LSN of the pages.
            first_sequence: files.boot.checkpoint_lsn.vlf + 1,
            sector_bytes: 512,
        };
        let opened = Log::create(file, &spec, options.clock.clone())?;
        Database::recover(files, opened, options, Lsn::ZERO, Lsn::ZERO)
    }

    fn recover(
        files: DataFiles,
        log: Log,
        options: Options,
        checkpoint: Lsn,
        minimum: Lsn,
    ) -> Result<Database, Error> {
        let log = Arc::new(log);
        let pool_options = PoolOptions {
            frames: options.frames,
            waits: options.waits.clone(),
            events: options.events.clone(),
        };
        let pool = Arc::new(Pool::new(pool_options, Arc::new(Ahead(log.clone())), options.clock.clone()));
        for file in &files.files {
            pool.add_file(file.id(), file.disk.clone());
        }
        let known = files.boot.unknown_384;
        let last_xact = XactId { high: (known >> 32) as u16, low: known as u32 };
        let mut recovery = Recovery::new(log.clone(), pool.clone());
        if !minimum.is_zero() {
            recovery.redo(minimum).map_err(missing_file)?;
        }
        let last_xact = recovery.last_xact().max(last_xact);
        let transactions = Arc::new(Manager::new(log.clone(), options.clock.clone(), last_xact));
        // The sizes of files may have been redone.
        let space_options = SpaceOptions {
            database: files.boot.name.to_string(),
            mixed_pages: options.mixed_pages,
            extents_per_turn: options.extents_per_turn,
            compatible: options.compatible_space,
        };
        let descriptions = recovery.sizes(files.descriptions()?)?;
        let bells = Arc::new(Bells::default());
        let fills = Arc::new(Fills { events: options.events.clone(), bells: bells.clone() });
        let space = Space::open(pool.clone(), transactions.clone(), space_options, &descriptions, fills)?;
        let space = Arc::new(space);
        recovery.take_back_freed(&space)?;
        recovery.undo_system(&space)?;
        let catalogue = Catalogue::load(&pool, &space, options.placement)?;
        space.set_unit_rows(catalogue.finder());
        let locks = Arc::new(LockManager::new(options.waits.clone(), options.clock.clone()));
        let touched = recovery.touched();
        let losers = recovery.losers(&transactions);
        let mut database = Database {
            name: files.boot.name.to_string(),
            options,
            log,
            pool,
            transactions,
            space,
            locks,
            catalogue,
            checkpoints: Checkpoints::opened_at(checkpoint),
            recovered: recovery.into_facts(),
            ddl: Mutex::new(()),
            version: files.boot.version,
            sessions: AtomicUsize::new(0),
            serializers: Default::default(),
            is_offline: AtomicBool::new(false),
            bells,
        };
        // From now on the files are not those of a clean shutdown.
        let mark = Mark { checkpoint, is_clean: false, last_xact: database.transactions.last_id() };
        if files.is_clean() {
            write_mark(&database.pool, &database.log, mark)?;
        }
        database.undo_losers(losers)?;
        database.verify_files(&files.files)?;
        database.observe_deadlocks();
        database.settle_after_crash(&touched)?;
        // The boot page changes without a record.
        database.space.note_changed(touched.extents.iter().copied().chain([PageId::BOOT.extent()]));
        database.checkpoint()?;
        Ok(database)
    }
}

impl Database {
    /// The files that were given are those of the catalogue.
    fn verify_files(&self, given: &[DataFile]) -> Result<(), Error> {
        let known = self.data_file_ids()?;
        if let Some(missing) = known.iter().find(|id| given.iter().all(|file| file.id() != **id)) {
            return Err(Error::MissingFile { file: *missing });
        }
        match given.iter().find(|file| !known.contains(&file.id())) {
            None => Ok(()),
            Some(stray) => {
                let path = stray.disk.path().to_path_buf();
                Err(Error::WrongFile { path, what: "the catalogue does not know it" })
            }
        }
    }
}

/// A record about a file that was not given.
fn missing_file(error: Error) -> Error {
    match error {
        Error::Buffer(extentdb_buffer::Error::NoFile { file }) => Error::MissingFile { file },
        other => other,
    }
}

/// The oldest record that the checkpoint needs, by its end record.
fn minimum_of(log: &Log, checkpoint: Lsn) -> Result<Lsn, Error> {
    use extentdb_format::log::{Op, Payload};
    use std::ops::ControlFlow;
    let mut minimum = None;
    log.scan(checkpoint, &mut |_, record| match record.payload() {
        Payload::EndCheckpoint(end)
            if record.header().op == Op::END_CKPT && record.header().previous == checkpoint =>
        {
            minimum = Some(end.minimum);
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    })?;
    minimum.ok_or(Error::NoCheckpoint { checkpoint })
}

impl Recovered {
    /// True when the database had been closed cleanly.
    pub fn was_clean(&self) -> bool {
        self.redone == 0 && self.undone == 0
    }
}
