//! Opening a database: its files, its log, recovery, its catalog.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::atomic::{AtomicBool, AtomicUsize};
use extentdb_base::sync::{Arc, Mutex};
use extentdb_base::{FileId, Lsn, PageId, XactId};
use extentdb_buffer::{DoubleWrite, Pool, PoolOptions, SuspectPage};
use extentdb_format::PageBuf;
use extentdb_format::allocation::boot::{BootRecord, DatabaseStatus};
use extentdb_format::allocation::file_header::{FileHeader, FileHeaderView, MAX_SIZE_UNLIMITED};
use extentdb_format::page::{PageHeader, checksum};
use extentdb_io::{Disk, DiskFile};
use extentdb_space::{FileDescription, Options as SpaceOptions, Space};
use extentdb_telemetry::Event;
use extentdb_txn::Manager;
use extentdb_txn::lock::LockManager;
use extentdb_types::Guid;
use extentdb_wal::{Log, LogSpec};

use crate::catalog::cache::CatalogCache;
use crate::database::background::Bells;
use crate::database::boot::{Mark, read_boot, write_mark};
use crate::database::checkpoint::{Checkpoints, VERSION, WRITTEN};
use crate::database::create::LogFileSpec;
use crate::database::{Ahead, Database, Fills, Options};
use crate::error::{Cause, Error, LogOwner};
use crate::recovery::redo::{NewerPages, Recovered, Recovery};
use crate::recovery::torn_pages::{self, Leftover};

/// Where the files of a database are.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The data files, the primary one first.
    pub data: Vec<PathBuf>,
    /// The log file.
    pub log: PathBuf,
}

/// A data file that is open, and what its header says.
pub(crate) struct DataFile {
    pub(crate) disk: Arc<dyn DiskFile>,
    header: FileHeader,
    /// LSN of page 0.
    page_lsn: Lsn,
}

/// The data files of a database that is being opened.
pub(crate) struct DataFiles {
    /// The primary one first.
    pub(crate) files: Vec<DataFile>,
    pub(crate) boot: BootRecord,
    /// What a crash had left in the double-write area.
    leftover: Leftover,
}

/// Where a restart begins, and what it accepts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Restart {
    /// The last checkpoint; zero when there is none in this log.
    pub(crate) checkpoint: Lsn,
    /// The oldest record that is needed; zero when none is.
    pub(crate) minimum: Lsn,
    pub(crate) newer_pages: NewerPages,
}

impl DataFiles {
    pub(crate) fn open(paths: &Paths, options: &Options) -> Result<DataFiles, Error> {
        let disks: Vec<Arc<dyn DiskFile>> =
            paths.data.iter().map(|path| options.disk.open(path)).collect::<Result<_, _>>()?;
        let leftover = torn_pages::repair(&disks, options)?;
        let files: Vec<DataFile> =
            disks.into_iter().map(DataFile::read).collect::<Result<_, _>>()?;
        let primary = files.first().filter(|file| file.header.file_id == Some(1));
        let primary = primary.ok_or(Error::MissingFile { file: FileId(1) })?;
        let mut ids = BTreeSet::new();
        if let Some(again) = files.iter().find(|file| !ids.insert(file.id())) {
            let path = again.disk.path().to_path_buf();
            return Err(Error::WrongFile {
                path,
                what: "another file that was given has its number",
            });
        }
        if let Some(other) =
            files.iter().find(|file| file.header.binding_id != primary.header.binding_id)
        {
            let path = other.disk.path().to_path_buf();
            return Err(Error::WrongFile { path, what: "it belongs to another database" });
        }
        let boot = read_boot(&*primary.disk)?;
        if !WRITTEN.contains(&boot.version) {
            return Err(Error::Version { found: boot.version, expected: VERSION });
        }
        Ok(DataFiles { files, boot, leftover })
    }

    /// What the log must name as its database.
    pub(crate) fn owner(&self) -> LogOwner {
        let zero = Guid([0; 16]);
        let fork = self.files.first().and_then(|file| file.header.fork_guid);
        LogOwner { binding_id: self.binding(), fork_guid: fork.unwrap_or(zero) }
    }

    /// The log from the oldest record that a restart needs on, and that record; zero when the power
    /// went before the first checkpoint with this log.
    fn open_log(
        &self,
        log: &Arc<dyn DiskFile>,
        options: &Options,
    ) -> Result<(Log, Restart), Error> {
        let checkpoint = self.boot.checkpoint_lsn;
        let open = |from| {
            let asked = extentdb_wal::OpenOptions {
                from,
                durable_at_least: self.log_durable(),
                ..extentdb_wal::OpenOptions::default()
            };
            Log::open_with(log.clone(), &asked, options.clock.clone()).map(|opened| opened.log)
        };
        let opened = open(checkpoint)?;
        if checkpoint.is_zero() {
            let minimum = opened.minimum();
            return Ok((opened, Restart { minimum, ..Restart::default() }));
        }
        let minimum = minimum_of(&opened, checkpoint)?;
        let opened = if minimum < checkpoint { open(minimum)? } else { opened };
        Ok((opened, Restart { checkpoint, minimum, ..Restart::default() }))
    }

    /// The log was durable at least up to here: pages and copies of pages are written after it.
    pub(crate) fn log_durable(&self) -> Lsn {
        let pages = self.files.iter().map(|file| file.page_lsn);
        pages.chain([self.leftover.log_durable]).max().unwrap_or(Lsn::ZERO)
    }

    /// A log that was made for this database, whose last checkpoint it does not hold because it was
    /// never used: the power went before.
    fn unused_log(&self, log: &Arc<dyn DiskFile>, options: &Options) -> Option<Log> {
        if owner_of(&**log).ok()? != self.owner() {
            return None;
        }
        let opened = Log::open(log.clone(), Lsn::ZERO, options.clock.clone()).ok()?;
        (opened.next().vlf > self.boot.checkpoint_lsn.vlf).then_some(opened)
    }

    /// The double-write area of an opening that is called `stamp`.
    fn begin_use(
        &mut self,
        stamp: Lsn,
        options: &Options,
    ) -> Result<Option<Arc<DoubleWrite>>, Error> {
        let binding = self.binding();
        let Some(primary) = self.files.first().map(DataFile::path) else { return Ok(None) };
        let stamps = || self.files.iter().map(|file| file.header.first_update_lsn);
        let oldest = torn_pages::oldest_stamp(stamps());
        // A log that was cut may end before the last opening.
        let newest = stamps().flatten().fold(stamp, Lsn::max);
        std::mem::take(&mut self.leftover).begin_use(&primary, binding, (oldest, newest), options)
    }

    fn is_clean(&self) -> bool {
        self.boot.status.is_clean()
    }

    fn binding(&self) -> Guid {
        self.files.first().and_then(|file| file.header.binding_id).unwrap_or(Guid([0; 16]))
    }

    /// In the order of a filegroup's list: the primary file, then from the newest to the oldest.
    fn descriptions(&self) -> Result<Vec<FileDescription>, Error> {
        let mut all: Vec<FileDescription> =
            self.files.iter().map(DataFile::description).collect::<Result<_, _>>()?;
        all.sort_by_key(
            |file| if file.id == FileId(1) { (0, 0) } else { (1, u16::MAX - file.id.0) },
        );
        Ok(all)
    }
}

impl DataFile {
    fn read(disk: Arc<dyn DiskFile>) -> Result<DataFile, Error> {
        let mut page = PageBuf::zeroed();
        disk.read_exact_at(0, &mut page[..])?;
        let path = disk.path().to_path_buf();
        let is_intact = checksum::verify(&page).is_intact();
        checksum::restore_torn(&mut page);
        if !FileHeaderView::new(&page).faults().is_empty() || !is_intact {
            return Err(Error::Unreadable { path, page: 0, kind: "file header" });
        }
        let header = FileHeaderView::new(&page).header();
        if header.file_id.is_none() || header.size.is_none() {
            return Err(Error::WrongFile { path, what: "the file header names no file" });
        }
        let page_lsn = PageHeader::of(&page).lsn();
        Ok(DataFile { disk, header, page_lsn })
    }

    pub(crate) fn id(&self) -> FileId {
        FileId(self.header.file_id.unwrap_or(0))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.disk.path().to_path_buf()
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
        let bells = Arc::new(Bells::default());
        let fills = Arc::new(Fills { events: options.events.clone(), bells: bells.clone() });
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
            bells,
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
        let known = self.data_file_ids()?;
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

/// Which database a log names.
pub(crate) fn owner_of(log: &dyn DiskFile) -> Result<LogOwner, Error> {
    let identity = Log::identity(log)?;
    Ok(LogOwner {
        binding_id: identity.binding_id,
        fork_guid: identity.fork_guid,
    })
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
