//! Opening a database: its files, its log, recovery, its catalog.

use std::path::{Path, PathBuf};

use extentdb_base::sync::atomic::{AtomicBool, AtomicUsize};
use extentdb_base::sync::{Arc, Mutex};
use extentdb_base::{FileId, Lsn, PageId, XactId};
use extentdb_buffer::{Pool, PoolOptions, SuspectPage};
use extentdb_format::allocation::boot::DatabaseStatus;
use extentdb_io::Disk;
use extentdb_space::{Options as SpaceOptions, Space};
use extentdb_telemetry::Event;
use extentdb_txn::Manager;
use extentdb_txn::lock::LockManager;
use extentdb_types::Guid;
use extentdb_wal::{Log, LogSpec};

use crate::catalog::cache::CatalogCache;
use crate::database::boot::{Mark, write_mark};
use crate::database::checkpoint::Checkpoints;
use crate::database::files::{DataFile, DataFiles, Restart, owner_of};
use crate::database::options::Options;
use crate::database::spec::{LogFileSpec, Paths};
use crate::database::wake_up::WakeUps;
use crate::database::{Ahead, Database, Fills};
use crate::error::{Cause, Error};
use crate::recovery::redo::{NewerPages, Recovered, Recovery};

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
        match (options.disk.exists(&paths.log), files.is_clean()) {
            (false, false) => Err(Error::LogMissing),
            (false, true) => {
                Database::with_new_log(files, &LogFileSpec::usual(&paths.log), options)
            }
            (true, false) => Database::open_crashed(files, &paths.log, options),
            (true, true) => Database::open_clean(files, &paths.log, options),
        }
    }

    /// Opens a database that was not closed cleanly: without its own log, whole, it cannot be
    /// brought to a state.
    fn open_crashed(files: DataFiles, path: &Path, options: Options) -> Result<Database, Error> {
        let log = options.disk.open(path)?;
        let found = owner_of(&*log)?;
        let expected = files.owner();
        if found != expected {
            return Err(Error::ForeignLog { path: path.to_path_buf(), found, expected });
        }
        if files.boot.status.has(DatabaseStatus::EMERGENCY) {
            return Err(Error::EmergencyUnfinished);
        }
        let (log, restart) = files.open_log(&log, &options)?;
        Database::recover(files, log, options, restart)
    }

    /// Opens a database that was closed cleanly. It needs nothing of its log, and goes on with it
    /// when it is the one; any other file in its place is kept under another name, and never
    /// replayed.
    fn open_clean(files: DataFiles, path: &Path, options: Options) -> Result<Database, Error> {
        let log = options.disk.open(path)?;
        let why = match owner_of(&*log) {
            Ok(found) if found == files.owner() => match files.open_log(&log, &options) {
                Ok((log, restart)) => return Database::recover(files, log, options, restart),
                Err(error) => error,
            },
            Ok(found) => {
                Error::ForeignLog { path: path.to_path_buf(), found, expected: files.owner() }
            }
            Err(error) => error,
        };
        if !is_of_log(&why) {
            return Err(why);
        }
        if let Some(unused) = files.unused_log(&log, &options) {
            return Database::recover(files, unused, options, Restart::default());
        }
        drop(log);
        let kept_as = set_log_aside(&*options.disk, path)?;
        options.events.event(&Event::LogReplaced { kept_as, why: why.to_string() });
        Database::with_new_log(files, &LogFileSpec::usual(path), options)
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

    fn with_new_log(
        files: DataFiles,
        log: &LogFileSpec,
        options: Options,
    ) -> Result<Database, Error> {
        let file = options.disk.create(&log.path)?;
        let Guid(mut guid) = files.binding();
        // The id of the file itself: another one than the database's, and the same whenever this is
        // done again.
        guid[15] ^= 0x5a;
        let spec = LogSpec {
            file_id: FileId(2),
            logical_name: format!("{}_log", files.boot.name),
            bytes: log.bytes,
            growth: log.growth,
            max_bytes: log.bytes_max,
            binding_id: files.owner().binding_id,
            fork_guid: files.owner().fork_guid,
            file_guid: Guid(guid),
            // Above every LSN of the pages.
            first_sequence: files.boot.checkpoint_lsn.vlf + 1,
            sector_bytes: 512,
        };
        let opened = Log::create(file, &spec, options.clock.clone())?;
        Database::recover(files, opened, options, Restart::default())
    }

    pub(crate) fn recover(
        mut files: DataFiles,
        log: Log,
        options: Options,
        restart: Restart,
    ) -> Result<Database, Error> {
        let Restart { checkpoint, minimum, newer_pages } = restart;
        let log = Arc::new(log);
        // The name of this opening: no record before it has this LSN.
        let stamp = log.next();
        let double_write = files.begin_use(stamp, &options)?;
        let pool_options = PoolOptions {
            frames: options.frames,
            waits: options.waits.clone(),
            events: options.events.clone(),
            outage: log.outage().clone(),
            double_write: double_write.clone(),
        };
        let outage = log.outage().clone();
        let pool =
            Arc::new(Pool::new(pool_options, Arc::new(Ahead(log.clone())), options.clock.clone()));
        for file in &files.files {
            pool.add_file(file.id(), file.disk.clone());
        }
        let known = files.boot.unknown_384;
        let last_xact = XactId { high: (known >> 32) as u16, low: known as u32 };
        let log_end = if files.is_clean() { Lsn::MAX } else { log.last() };
        let mut recovery = Recovery::new(log.clone(), pool.clone(), log_end, newer_pages);
        if !minimum.is_zero() {
            recovery.redo(minimum).map_err(missing_file)?;
        }
        if newer_pages == NewerPages::Keep {
            recovery.lower_newer_pages(&files.files)?;
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
        let wake_ups = Arc::new(WakeUps::default());
        let fills = Arc::new(Fills { events: options.events.clone(), wake_ups: wake_ups.clone() });
        let space =
            Space::open(pool.clone(), transactions.clone(), space_options, &descriptions, fills)?;
        let space = Arc::new(space);
        recovery.take_back_freed(&space)?;
        recovery.undo_system(&space)?;
        let catalog = CatalogCache::load(&pool, &space, options.placement)
            .map_err(|error| catalog_damaged(&pool, error))?;
        space.set_unit_rows(catalog.finder());
        let locks = Arc::new(LockManager::new(options.waits.clone(), options.clock.clone()));
        let touched = recovery.touched();
        let checkpoints = Checkpoints::opened_at(checkpoint);
        checkpoints.need_from(recovery.needed_from());
        let deferred = recovery.take_deferred();
        let losers = recovery.losers(&transactions);
        let mut database = Database {
            name: files.boot.name.to_string(),
            options,
            log,
            pool,
            transactions,
            space,
            locks,
            catalog,
            checkpoints,
            recovered: recovery.into_facts(),
            double_write,
            deferred: Mutex::default(),
            has_deferred: AtomicBool::new(false),
            ddl: Mutex::new(()),
            version: files.boot.version,
            sessions: AtomicUsize::new(0),
            serializers: Default::default(),
            outage,
            wake_ups,
        };
        database.verify_stamps(&files.files)?;
        // From now on the files are not those of a clean shutdown.
        let mark = Mark {
            checkpoint,
            is_clean: false,
            last_xact: database.transactions.last_id(),
        };
        if files.is_clean() {
            write_mark(&database.pool, mark)?;
        }
        for (tx, error) in deferred {
            database.defer_transaction(tx, error)?;
        }
        database.undo_losers(losers)?;
        database.verify_files(&files.files)?;
        database.observe_deadlocks();
        database.settle_after_crash(&touched)?;
        // The boot page changes without a record.
        database.space.note_changed(touched.extents.iter().copied().chain([PageId::BOOT.extent()]));
        database.checkpoint()?;
        // Behind the checkpoint, which gives a full log room. Files that keep their older stamps
        // prove less, and nothing wrong.
        match database.stamp_files(stamp) {
            Err(error) if error.cause() == Cause::LogFull => {}
            stamped => {
                stamped?;
                database.checkpoints.note_stamped();
            }
        }
        Ok(database)
    }
}

impl Database {
    /// The files that were given are those of the catalog.
    fn verify_files(&self, given: &[DataFile]) -> Result<(), Error> {
        let known = self.catalog.data_file_ids()?;
        if let Some(missing) = known.iter().find(|id| given.iter().all(|file| file.id() != **id)) {
            return Err(Error::MissingFile { file: *missing });
        }
        match given.iter().find(|file| !known.contains(&file.id())) {
            None => Ok(()),
            Some(stray) => {
                let path = stray.disk.path().to_path_buf();
                Err(Error::WrongFile { path, what: "the catalog does not know it" })
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

/// Does the error say that the log cannot be gone on with, as against a disk that refuses?
pub(crate) fn is_of_log(error: &Error) -> bool {
    matches!(
        error,
        Error::ForeignLog { .. }
            | Error::NoCheckpoint { .. }
            | Error::Log(
                extentdb_wal::Error::Corrupt { .. } | extentdb_wal::Error::NoRecord { .. }
            )
    )
}

/// Gives a file that stands in the place of a log another name: somebody may still want it.
fn set_log_aside(disk: &dyn Disk, path: &Path) -> Result<PathBuf, Error> {
    for number in 1_u32.. {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".old{number}"));
        let aside = PathBuf::from(name);
        if !disk.exists(&aside) {
            disk.rename(path, &aside)?;
            return Ok(aside);
        }
    }
    Err(Error::LogMissing)
}

/// What keeps the catalog from being read is the page that cannot be read, when there is one.
fn catalog_damaged(pool: &Pool, error: Error) -> Error {
    match pool.suspect_pages().first() {
        Some(suspect) => {
            let SuspectPage { page, fault, .. } = *suspect;
            Error::CatalogDamaged { page, fault, source: Box::new(error) }
        }
        None => error,
    }
}

impl Recovered {
    /// True when the database had been closed cleanly.
    pub fn was_clean(&self) -> bool {
        self.redone == 0 && self.undone == 0
    }
}
