//! The phases of an opening, each a type of its own that only the one before it yields.
//!
//! ```text
//! OpenedFiles ─redo─▶ Redone ─undo_system─▶ SystemUndone ─online─▶ Database
//! data files, log     every page has       every tree is whole,   user transactions undone,
//!                     every record         catalog cached         counts right, checkpoint
//! ```
//!
//! Space and the catalog are read only from files whose system transactions are undone: a tree in
//! the middle of a split has no single path to its keys.

use extentdb_base::sync::atomic::{AtomicBool, AtomicUsize};
use extentdb_base::sync::{Arc, Mutex};
use extentdb_base::{DatabaseId, Lsn, PageId, XactId};
use extentdb_buffer::{DoubleWrite, Durability, Pool, PoolOptions, SuspectPage};
use extentdb_space::{Options as SpaceOptions, Space};
use extentdb_txn::lock::{DatabaseLocks, LockManager};
use extentdb_txn::{Manager, Owners, Transaction};
use extentdb_wal::Log;

use crate::catalog::CatalogCache;
use crate::database::boot::{Mark, write_mark};
use crate::database::checkpoint::Checkpoints;
use crate::database::files::{DataFile, DataFiles, Restart};
use crate::database::options::Options;
use crate::database::wake_up::WakeUps;
use crate::database::{Database, SpaceEvents, WriteAheadLog};
use crate::error::{Cause, Error};
use crate::recovery::redo::{NewerPages, Recovery};

/// The files of the database: nothing of the log is applied yet.
pub(crate) struct OpenedFiles {
    pub(crate) files: DataFiles,
    pub(crate) log: Log,
    pub(crate) options: Options,
    pub(crate) restart: Restart,
}

/// Every page has the changes of every record of the log, those of open transactions included.
struct Redone {
    files: DataFiles,
    log: Arc<Log>,
    options: Options,
    /// The last checkpoint before the opening.
    checkpoint: Lsn,
    /// The end of the log at the opening, which data files are stamped with.
    stamp: Lsn,
    double_write: Option<Arc<DoubleWrite>>,
    pool: Arc<Pool>,
    recovery: Recovery,
    transactions: Arc<Manager>,
}

/// No system transaction is open: every tree is whole, and the catalog can be read.
struct SystemUndone {
    files: DataFiles,
    stamp: Lsn,
    checkpoint: Lsn,
    recovery: Recovery,
    database: Database,
}

impl OpenedFiles {
    /// Brings the database to the state of its last committed transaction.
    pub(crate) fn recover(self) -> Result<Arc<Database>, Error> {
        self.redo()?.undo_system()?.online()
    }

    fn redo(mut self) -> Result<Redone, Error> {
        let Restart { checkpoint, minimum, newer_pages } = self.restart;
        let log = Arc::new(self.log);
        // No record before this opening has this LSN.
        let stamp = log.next();
        let double_write = self.files.begin_use(stamp, &self.options)?;
        let pool = open_pool(&self.files, &log, &self.options, double_write.clone());
        let log_end = if self.files.is_clean() { Lsn::MAX } else { log.last() };
        let mut recovery = Recovery::new(log.clone(), pool.clone(), log_end, newer_pages);
        if !minimum.is_zero() {
            recovery.redo(minimum).map_err(missing_file)?;
        }
        if newer_pages == NewerPages::Keep {
            recovery.lower_newer_pages(&self.files.files)?;
        }
        let known = self.files.boot.unknown_384;
        let known = XactId { high: (known >> 32) as u16, low: known as u32 };
        let last_xact = recovery.last_xact().max(known);
        let clock = self.options.clock.clone();
        let owners = Arc::new(Owners::new());
        let transactions = Arc::new(Manager::new(log.clone(), clock, owners, last_xact));
        transactions.set_waits(self.options.waits.clone());
        Ok(Redone {
            transactions,
            files: self.files,
            log,
            options: self.options,
            checkpoint,
            stamp,
            double_write,
            pool,
            recovery,
        })
    }
}

fn open_pool(
    files: &DataFiles,
    log: &Arc<Log>,
    options: &Options,
    double_write: Option<Arc<DoubleWrite>>,
) -> Arc<Pool> {
    let pool_options = PoolOptions {
        frames: options.frames,
        waits: options.waits.clone(),
        events: options.events.clone(),
        outage: log.outage().clone(),
        double_write,
        durability: Durability::Logged,
    };
    let pool = Pool::new(pool_options, Arc::new(WriteAheadLog(log.clone())), options.clock.clone());
    for file in &files.files {
        pool.add_file(file.id(), file.disk.clone());
    }
    Arc::new(pool)
}

impl Redone {
    fn undo_system(mut self) -> Result<SystemUndone, Error> {
        let wake_ups = Arc::new(WakeUps::default());
        let space = self.open_space(&wake_ups)?;
        self.recovery.reserve_freed(&space)?;
        self.recovery.undo_system(&space)?;
        let catalog = CatalogCache::load(&self.pool, &space, self.options.placement)
            .map_err(|error| catalog_damaged(&self.pool, error))?;
        space.set_unit_rows(catalog.finder());
        let checkpoints = Checkpoints::opened_at(self.checkpoint);
        checkpoints.need_from(self.recovery.needed_from());
        let waits = self.options.waits.clone();
        let locks = Arc::new(LockManager::new(waits, self.options.clock.clone()));
        // Opened by itself: the only database of its lock manager.
        let locks = DatabaseLocks::new(locks, DatabaseId(0));
        let database = Database {
            name: self.files.boot.name.to_string(),
            outage: self.log.outage().clone(),
            version: self.files.boot.version,
            options: self.options,
            log: self.log,
            pool: self.pool,
            transactions: self.transactions,
            space,
            locks,
            catalog,
            checkpoints,
            recovered: Default::default(),
            double_write: self.double_write,
            deferred: Mutex::default(),
            has_deferred: AtomicBool::new(false),
            ddl: Mutex::new(()),
            sessions: AtomicUsize::new(0),
            open_sessions: AtomicUsize::new(0),
            serializers: Default::default(),
            timestamps: Default::default(),
            new_ids: Default::default(),
            wake_ups,
        };
        let Redone { files, stamp, checkpoint, recovery, .. } = self;
        Ok(SystemUndone { files, stamp, checkpoint, recovery, database })
    }

    /// The files and their maps. Redo may have changed the sizes of files.
    fn open_space(&self, wake_ups: &Arc<WakeUps>) -> Result<Arc<Space>, Error> {
        let options = SpaceOptions {
            database: self.files.boot.name.to_string(),
            mixed_pages: self.options.mixed_pages,
            extents_per_turn: self.options.extents_per_turn,
            compatible: self.options.compatible_space,
        };
        let descriptions = self.recovery.sizes(self.files.descriptions()?)?;
        let events = self.options.events.clone();
        let fills = Arc::new(SpaceEvents { events, wake_ups: wake_ups.clone() });
        let transactions = self.transactions.clone();
        let space = Space::open(self.pool.clone(), transactions, options, &descriptions, fills)?;
        Ok(Arc::new(space))
    }
}

impl SystemUndone {
    fn online(self) -> Result<Arc<Database>, Error> {
        let SystemUndone { files, stamp, checkpoint, mut recovery, mut database } = self;
        database.verify_stamps(&files.files)?;
        if files.is_clean() {
            // From now on the files are not those of a clean shutdown.
            let last_xact = database.transactions.last_id();
            write_mark(&database.pool, Mark { checkpoint, is_clean: false, last_xact })?;
        }
        for (tx, error) in recovery.take_deferred() {
            database.defer_transaction(tx, error)?;
        }
        let losers: Vec<Transaction> = recovery.losers(&database.transactions);
        let touched = recovery.touched();
        database.recovered = recovery.into_report();
        database.undo_losers(losers)?;
        database.verify_files(&files.files)?;
        database.observe_deadlocks();
        database.recount_after_crash(&touched)?;
        // The boot page changes without a record.
        database.space.note_changed(touched.extents.iter().copied().chain([PageId::BOOT.extent()]));
        database.checkpoint()?;
        database.stamp_opening(stamp)?;
        Ok(Arc::new(database))
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
            Some(stray) => Err(stray.wrong("the catalog does not know it")),
        }
    }

    /// Stamps the data files after the checkpoint, which has freed space in a full log. Files that
    /// keep an older stamp prove less, and nothing wrong.
    fn stamp_opening(&self, stamp: Lsn) -> Result<(), Error> {
        match self.stamp_files(stamp) {
            Err(error) if error.cause() == Cause::LogFull => Ok(()),
            stamped => {
                stamped?;
                self.checkpoints.note_stamped();
                Ok(())
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
