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

use std::collections::BTreeMap;

use extentdb_base::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use extentdb_base::sync::{Arc, Mutex};
use extentdb_base::{DatabaseId, FileId, Lsn, PageId, XactId};
use extentdb_buffer::{DoubleWrite, Pool, PoolOptions, SuspectPage};
use extentdb_space::{Options as SpaceOptions, Space};
use extentdb_txn::lock::DatabaseLocks;
use extentdb_txn::{Manager, Preparation, Transaction};
use extentdb_types::Guid;
use extentdb_wal::Log;

use crate::catalog::CatalogCache;
use crate::database::boot::{Mark, write_mark};
use crate::database::checkpoint::{Checkpoints, LogPin};
use crate::database::files::{DataFile, DataFiles, Restart};
use crate::database::options::{Options, Purpose};
use crate::database::services::Membership;
use crate::database::wake_up::WakeUps;
use crate::database::{Database, SpaceEvents, WriteAheadLog};
use crate::error::{Cause, Error};
use crate::recovery::in_doubt::{Decisions, NobodyToAsk};
use crate::recovery::redo::{NewerPages, Recovery};

/// The files of the database: nothing of the log is applied yet.
pub(crate) struct OpenedFiles {
    pub(crate) files: DataFiles,
    pub(crate) log: Log,
    pub(crate) options: Options,
    pub(crate) restart: Restart,
    pub(crate) member: Membership,
}

/// Every page has the changes of every record of the log, those of open transactions included.
pub(crate) struct Redone {
    files: DataFiles,
    log: Arc<Log>,
    options: Options,
    member: Membership,
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
pub(crate) struct SystemUndone {
    files: DataFiles,
    stamp: Lsn,
    checkpoint: Lsn,
    recovery: Recovery,
    database: Database,
}

impl OpenedFiles {
    /// Brings the database to the state of its last committed transaction.
    pub(crate) fn recover(self) -> Result<Arc<Database>, Error> {
        self.redo_and_undo_system()?.online(&NobodyToAsk)
    }

    /// The first two phases.
    pub(crate) fn redo_and_undo_system(self) -> Result<SystemUndone, Error> {
        self.redo()?.undo_system()
    }

    fn redo(mut self) -> Result<Redone, Error> {
        let Restart { checkpoint, minimum, newer_pages } = self.restart;
        let log = Arc::new(self.log);
        // No record before this opening has this LSN.
        let stamp = log.next();
        let double_write = self.files.begin_use(stamp, &self.options)?;
        let pool = open_pool(&self.files, &log, &self.options, &self.member, double_write.clone());
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
        let owners = self.member.services.owners.clone();
        let transactions = Arc::new(Manager::new(log.clone(), clock, owners, last_xact));
        transactions.set_waits(self.options.waits.clone());
        Ok(Redone {
            transactions,
            files: self.files,
            log,
            options: self.options,
            member: self.member,
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
    member: &Membership,
    double_write: Option<Arc<DoubleWrite>>,
) -> Arc<Pool> {
    let pool_options = PoolOptions {
        frames: options.frames,
        waits: options.waits.clone(),
        events: options.events.clone(),
        outage: log.outage().clone(),
        double_write,
        durability: member.durability,
    };
    let log = Arc::new(WriteAheadLog(log.clone()));
    let pool = Pool::in_memory(&member.services.memory, pool_options, log, options.clock.clone());
    for file in &files.files {
        pool.add_file(file.id(), file.disk.clone());
    }
    Arc::new(pool)
}

impl Redone {
    fn undo_system(mut self) -> Result<SystemUndone, Error> {
        let Membership { services, id, name, durability } = self.member.clone();
        let wake_ups = services.wake_ups.clone();
        let signalled = wake_ups.clone();
        self.log.on_half_full(Arc::new(move || signalled.log.notify()));
        let space = self.open_space(&wake_ups)?;
        self.recovery.reserve_freed(&space)?;
        self.recovery.undo_system(&space)?;
        let catalog = CatalogCache::load(&self.pool, &space, &self.options)
            .map_err(|error| catalog_damaged(&self.pool, error))?;
        space.set_unit_rows(catalog.finder());
        let checkpoints = Checkpoints::opened_at(self.checkpoint);
        checkpoints.need_from(self.recovery.needed_from());
        let locks = DatabaseLocks::new(services.locks.clone(), id);
        let database = Database {
            name: name.unwrap_or_else(|| self.files.boot.name.to_string()),
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
            last_file: AtomicU16::new(0),
            ddl: Mutex::new(()),
            binding: self.files.binding(),
            durability,
            open_sessions: AtomicUsize::new(0),
            is_closing: AtomicBool::new(false),
            is_read_only: AtomicBool::new(false),
            serializers: Default::default(),
            row_versions: Arc::default(),
            timestamps: Default::default(),
            new_ids: Default::default(),
            statistics: Default::default(),
            own: Default::default(),
            wake_ups,
            services,
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
    /// The decisions of transactions over several databases that this one has coordinated.
    pub(crate) fn decisions(&self) -> &BTreeMap<Preparation, Lsn> {
        self.recovery.decisions()
    }

    /// The id that all its files share.
    pub(crate) fn binding(&self) -> Guid {
        self.database.binding
    }

    /// Keeps the log from this record on, until the pin is dropped.
    pub(crate) fn pin(&self, from: Lsn) -> LogPin {
        self.database.checkpoints.pin(from)
    }

    /// Ends all transactions that are open; what others decide is asked of `decisions`.
    pub(crate) fn online(self, decisions: &dyn Decisions) -> Result<Arc<Database>, Error> {
        let SystemUndone { files, stamp, checkpoint, mut recovery, mut database } = self;
        let services = database.services.clone();
        // What files of other versions say of themselves is the reader's to judge.
        let is_ours = database.options.purpose == Purpose::Change;
        if is_ours {
            database.verify_stamps(&files.files)?;
        }
        if files.is_clean() {
            // From now on the files are not those of a clean shutdown.
            let last_xact = database.transactions.last_id();
            write_mark(&database.pool, Mark { checkpoint, is_clean: false, last_xact })?;
        }
        for (tx, error) in recovery.take_deferred() {
            database.defer_transaction(tx, error)?;
        }
        let mut losers: Vec<Transaction> = recovery.losers(&database.transactions);
        let in_doubt = recovery.take_in_doubt(&database.transactions);
        let touched = recovery.touched();
        database.recovered = recovery.into_report();
        losers.extend(database.resolve_in_doubt(in_doubt, decisions)?);
        database.undo_losers(losers)?;
        let mut strays = Vec::new();
        if is_ours {
            strays = database.verify_files(&files.files)?;
            database.load_file_settings()?;
        }
        let id = database.locks.database();
        services.deadlocks.name_objects(id, &database.name, &database.catalog.tables);
        database.recount_after_crash(&touched)?;
        // The boot page changes without a record.
        database.space.note_changed(touched.extents.iter().copied().chain([PageId::BOOT.extent()]));
        database.checkpoint()?;
        for file in strays {
            let settled = database.forget_file(file)?;
            database.release_file(file, settled)?;
        }
        if is_ours {
            database.stamp_opening(stamp)?;
        }
        Ok(Arc::new(database))
    }
}

impl Database {
    /// The files that were given are those of the catalog. A server knows a file before the catalog
    /// does, and longer: it returns those that are no part of the database, withdrawn.
    fn verify_files(&self, given: &[DataFile]) -> Result<Vec<FileId>, Error> {
        let known = self.catalog.data_file_ids()?;
        if let Some(missing) = known.iter().find(|id| given.iter().all(|file| file.id() != **id)) {
            return Err(Error::MissingFile { file: *missing });
        }
        let strays = given.iter().filter(|file| !known.contains(&file.id()));
        let is_of_server = self.locks.database() != DatabaseId(0);
        strays
            .map(|stray| {
                if !is_of_server {
                    return Err(stray.wrong("the catalog does not know it"));
                }
                self.last_file.fetch_max(stray.id().0, Ordering::AcqRel);
                // One that was being made may have a header, and no maps yet.
                self.space.discard_file(stray.id())?;
                Ok(stray.id())
            })
            .collect()
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
