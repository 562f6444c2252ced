//! Starting a server: the system databases, recovery of all databases, a new tempdb.
//!
//! The first start makes master, model and msdb under other names and renames them when they are
//! durable, master last: its name says that the others are whole. Until then the file of the
//! unfinished master is the mark that what lies beside it is left from an interrupted start, and
//! may be removed.

use std::path::{Path, PathBuf};

use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_base::{DatabaseId, OfflineCause};
use extentdb_buffer::Durability;
use extentdb_io::{EphemeralDisk, StagedDisk};

use super::background::Workers;
use super::decisions::DecisionTable;
use super::registry::{self, Registered, RegisteredFile};
use super::{Entry, Instance, InstanceOptions, Service};
use crate::database::Database;
use crate::database::opening::{OpenedFiles, SystemUndone};
use crate::database::options::{Options, TornPages};
use crate::database::services::{Membership, Services};
use crate::database::spec::{DataFileSpec, DatabaseSpec, LogFileSpec, Paths};
use crate::error::{Cause, Error};
use crate::recovery::in_doubt::NobodyToAsk;
use crate::versions::VersionPages;

const MASTER_BYTES: u64 = 4 << 20;
const MODEL_BYTES: u64 = 2 << 20;
const MSDB_BYTES: u64 = 4 << 20;
const TEMPDB_LOG_BYTES: u64 = 8 << 20;
/// Names of files that belong to a first start that is not finished.
const UNFINISHED: &str = "setup-";

/// A system database that outlives a restart, and its files.
struct SystemDatabase {
    id: DatabaseId,
    name: &'static str,
    data: &'static str,
    log: &'static str,
    bytes: u64,
}

/// In the order in which they get their names.
const SYSTEM: [SystemDatabase; 3] = [
    SystemDatabase {
        id: DatabaseId::MODEL,
        name: "model",
        data: "model.mdf",
        log: "modellog.ldf",
        bytes: MODEL_BYTES,
    },
    SystemDatabase {
        id: DatabaseId::MSDB,
        name: "msdb",
        data: "msdbdata.mdf",
        log: "msdblog.ldf",
        bytes: MSDB_BYTES,
    },
    SystemDatabase {
        id: DatabaseId::MASTER,
        name: "master",
        data: "master.mdf",
        log: "mastlog.ldf",
        bytes: MASTER_BYTES,
    },
];

impl Instance {
    /// Starts the server of a folder: makes the system databases at the first start, opens all
    /// databases, and makes a new tempdb. One that cannot be opened keeps the others from nothing.
    ///
    /// # Errors
    /// master, model or tempdb cannot be opened or made.
    pub fn start(options: InstanceOptions) -> Result<Arc<Instance>, Error> {
        options.database.verify()?;
        let services = Services::new(&options.database);
        let setup = Setup { options: &options, services: &services };
        if !options.database.disk.exists(&options.data.join("master.mdf")) {
            setup.run()?;
        }
        let master =
            setup.open(&SYSTEM[2].paths(&options.data), setup.member(DatabaseId::MASTER))?;
        let decisions = DecisionTable::default();
        decisions.add(&master);
        // master decides over all transactions that it takes part in, and is never in doubt.
        let master = master.online(&NobodyToAsk)?;
        master.store_paths()?;
        let registered = registry::read(&master)?;
        let wake_ups = services.wake_ups.clone();
        let workers = Workers::start(wake_ups, &options.database, options.background);
        let instance = Arc::new(Instance {
            options,
            services,
            entries: Mutex::default(),
            admin: Mutex::new(()),
            decisions,
            workers,
        });
        instance.open_all(registered, master);
        instance.database_by_id(DatabaseId::MODEL)?;
        instance.make_tempdb()?;
        Ok(instance)
    }

    /// Opens all databases but tempdb, in two rounds: see the module of the instance.
    fn open_all(&self, registered: Vec<Registered>, master: Arc<Database>) {
        let mut opened = Vec::new();
        for own in registered {
            let id = own.id;
            let mut service = Service::Offline;
            if id == DatabaseId::MASTER {
                service = Service::Online(master.clone());
            } else if id == DatabaseId::TEMPDB {
                service = Service::Transition;
            } else if !own.is_offline() {
                match self.begin_open(&own) {
                    Ok(database) => {
                        service = Service::Transition;
                        opened.push((id, database));
                    }
                    Err(error) => service = out_of_service(&error),
                }
            }
            lock(&self.entries).insert(id, Entry { registered: own, service: Service::Transition });
            self.set_service(id, service);
        }
        for (_, database) in &opened {
            self.decisions.add(database);
        }
        for (id, database) in opened {
            let service = self.finish_open(id, database).unwrap_or_else(|e| out_of_service(&e));
            self.set_service(id, service);
        }
        self.release_decisions();
    }

    /// Decisions are needed no more when no database is out of service.
    pub(super) fn release_decisions(&self) {
        let entries = lock(&self.entries);
        let is_open = |entry: &Entry| matches!(entry.service, Service::Online(_));
        if entries.iter().all(|(id, entry)| *id == DatabaseId::TEMPDB || is_open(entry)) {
            self.decisions.release_logs();
        }
    }

    /// The first two phases of the opening of a database.
    pub(super) fn begin_open(&self, own: &Registered) -> Result<SystemUndone, Error> {
        let setup = Setup { options: &self.options, services: &self.services };
        let member = Membership { name: Some(own.name.clone()), ..setup.member(own.id) };
        let all = own.paths();
        let there = self.files_there(&all);
        if there.data.len() < all.data.len() {
            match setup.open(&there, member.clone()) {
                // One that is missing is needed: the first error about it is told.
                Err(Error::MissingFile { .. }) => {}
                opened => return opened,
            }
        }
        setup.open(&all, member)
    }

    /// The last phase.
    pub(super) fn finish_open(
        &self,
        id: DatabaseId,
        database: SystemUndone,
    ) -> Result<Service, Error> {
        let database = database.online(&self.decisions)?;
        database.space.recalculate();
        let is_read_only =
            lock(&self.entries).get(&id).is_some_and(|entry| entry.registered.is_read_only());
        self.register_files_of(id, &database)?;
        if !is_read_only {
            database.store_paths()?;
        }
        database.set_read_only(is_read_only)?;
        Ok(Service::Online(database))
    }

    /// A new tempdb, in place of the one of the last start.
    fn make_tempdb(&self) -> Result<(), Error> {
        let spec = self.tempdb_spec();
        let disk = &self.options.database.disk;
        let paths = spec.paths();
        for path in paths.data.iter().chain([&paths.log]).filter(|path| disk.exists(path)) {
            disk.remove(path)?;
        }
        let options = Options {
            disk: Arc::new(EphemeralDisk::over(disk.clone())),
            torn_pages: TornPages::Lost,
            ..self.options.database.clone()
        };
        let member = Membership {
            services: self.services.clone(),
            id: DatabaseId::TEMPDB,
            name: None,
            durability: Durability::Ephemeral,
        };
        let tempdb = Database::create_in(&spec, options, member)?;
        let clock = tempdb.options.clock.clone();
        let store = VersionPages::new(&tempdb.pool, &tempdb.space, clock);
        self.services.versions.set_store(store);
        let files = files_of(&spec);
        let registered = Registered::new(DatabaseId::TEMPDB, "tempdb", files);
        lock(&self.entries)
            .insert(DatabaseId::TEMPDB, Entry { registered, service: Service::Transition });
        self.set_service(DatabaseId::TEMPDB, Service::Online(tempdb));
        // Those that were opened before have had no store until now.
        let entries = lock(&self.entries);
        for (entry, db) in entries.values().filter_map(|entry| Some((entry, entry.online().ok()?)))
        {
            entry.restore_row_versions(&db);
        }
        Ok(())
    }

    /// A database is about to come into service: row versions are as they were.
    pub(super) fn restore_row_versions(&self, id: DatabaseId, db: &Database) {
        if let Some(entry) = lock(&self.entries).get(&id) {
            entry.restore_row_versions(db);
        }
    }

    fn tempdb_spec(&self) -> DatabaseSpec {
        let data = &self.options.data;
        let bytes = self.options.tempdb_file_bytes;
        let file = |number: usize| {
            let name = match number {
                1 => "tempdev".to_owned(),
                _ => format!("temp{number}"),
            };
            let path = match number {
                1 => data.join("tempdb.mdf"),
                _ => data.join(format!("tempdb_mssql_{number}.ndf")),
            };
            DataFileSpec { name: Some(name), ..DataFileSpec::new(path, bytes) }
        };
        let log = LogFileSpec {
            bytes: TEMPDB_LOG_BYTES,
            ..LogFileSpec::usual(&data.join("templog.ldf"))
        };
        DatabaseSpec {
            name: "tempdb".to_owned(),
            files: (1..=self.options.tempdb_files.max(1)).map(file).collect(),
            filegroups: Vec::new(),
            log,
            seed: self.options.seed,
        }
    }
}

impl Entry {
    /// No transaction of a user is open, or has been.
    fn restore_row_versions(&self, db: &Database) {
        if db.services.versions.store().is_none() {
            return;
        }
        if self.registered.is_read_committed_snapshot() {
            // The store is there: it cannot fail.
            let _ = db.set_read_committed_snapshot(true);
        }
        if self.registered.allows_snapshots() {
            let _ = db.allow_snapshots(|_| Ok(()));
        }
    }
}

/// A database that could not be opened.
pub(super) fn out_of_service(error: &Error) -> Service {
    let cause = OfflineCause::new(None, error);
    match error {
        Error::MissingFile { .. } | Error::LogMissing => Service::RecoveryPending(cause),
        _ if error.cause() == Cause::Disk => Service::RecoveryPending(cause),
        _ => Service::Suspect(cause),
    }
}

/// The files of a specification as master registers them.
pub(super) fn files_of(spec: &DatabaseSpec) -> Vec<RegisteredFile> {
    let own = |at: usize, group: i32, file: &DataFileSpec| RegisteredFile {
        id: file_id(at),
        group,
        is_log: false,
        name: file.name.clone().unwrap_or_else(|| default_name(&spec.name, at)),
        path: file.path.display().to_string(),
        pages: (file.bytes / extentdb_base::size::PAGE_BYTES as u64) as i32,
    };
    let primary = spec.files.iter().map(|file| (1, file));
    let others = spec.filegroups.iter().zip(2..);
    let others = others.flat_map(|((_, files), group)| files.iter().map(move |file| (group, file)));
    let data = primary.chain(others).enumerate().map(|(at, (group, file))| own(at, group, file));
    let log = RegisteredFile {
        id: extentdb_base::FileId(2),
        group: 0,
        is_log: true,
        name: format!("{}_log", spec.name),
        path: spec.log.path.display().to_string(),
        pages: (spec.log.bytes / extentdb_base::size::PAGE_BYTES as u64) as i32,
    };
    data.chain([log]).collect()
}

/// The id of the data file at a position: 2 is the log's.
fn file_id(at: usize) -> extentdb_base::FileId {
    extentdb_base::FileId(if at == 0 { 1 } else { at as u16 + 2 })
}

fn default_name(database: &str, at: usize) -> String {
    if at == 0 { database.to_owned() } else { format!("{database}_{}", at + 1) }
}

impl Registered {
    /// Where its files are.
    pub(super) fn paths(&self) -> Paths {
        let path = |file: &&RegisteredFile| PathBuf::from(&file.path);
        let data = self.files.iter().filter(|file| !file.is_log);
        let log = self.files.iter().find(|file| file.is_log);
        Paths {
            data: data.map(|file| path(&file)).collect(),
            log: log.as_ref().map(path).unwrap_or_default(),
        }
    }
}

impl SystemDatabase {
    fn paths(&self, folder: &Path) -> Paths {
        Paths {
            data: vec![folder.join(self.data)],
            log: folder.join(self.log),
        }
    }

    fn unfinished_paths(&self, folder: &Path) -> Paths {
        let named = |name: &str| folder.join(format!("{UNFINISHED}{name}"));
        Paths { data: vec![named(self.data)], log: named(self.log) }
    }

    /// With the files of an unfinished first start.
    fn spec(&self, options: &InstanceOptions) -> DatabaseSpec {
        let paths = self.unfinished_paths(&options.data);
        let files = paths.data.into_iter().map(|path| DataFileSpec::new(path, self.bytes));
        DatabaseSpec {
            name: self.name.to_owned(),
            files: files.collect(),
            filegroups: Vec::new(),
            log: LogFileSpec::usual(&paths.log),
            seed: options.seed,
        }
    }

    fn registered(&self, options: &InstanceOptions) -> Registered {
        let spec = self.spec(options);
        let paths = self.paths(&options.data);
        let finished = [&paths.data[0], &paths.log];
        let files = files_of(&spec).into_iter().zip(finished);
        let files =
            files.map(|(file, path)| RegisteredFile { path: path.display().to_string(), ..file });
        Registered::new(self.id, self.name, files.collect())
    }
}

/// Opens databases for a server that does not exist yet.
struct Setup<'s> {
    options: &'s InstanceOptions,
    services: &'s Arc<Services>,
}

impl Setup<'_> {
    fn open(&self, paths: &Paths, member: Membership) -> Result<SystemUndone, Error> {
        let options = self.options.database.clone();
        OpenedFiles::find(paths, options, member)?.redo_and_undo_system()
    }

    fn member(&self, id: DatabaseId) -> Membership {
        let services = self.services.clone();
        Membership { services, id, name: None, durability: Durability::Logged }
    }

    /// The first start.
    fn run(&self) -> Result<(), Error> {
        self.remove_unfinished()?;
        let folder = &self.options.data;
        for system in SYSTEM.iter().rev() {
            let paths = system.paths(folder);
            for path in paths.data.iter().chain([&paths.log]) {
                if self.options.database.disk.exists(path) {
                    return Err(Error::FileExists { path: path.clone() });
                }
            }
        }
        for system in SYSTEM.iter().rev() {
            self.make(system)?;
        }
        for system in &SYSTEM {
            let from = system.unfinished_paths(folder);
            let to = system.paths(folder);
            // The data file of master last.
            self.options.database.disk.rename(&from.log, &to.log)?;
            self.options.database.disk.rename(&from.data[0], &to.data[0])?;
        }
        Ok(())
    }

    /// Makes a system database and closes it.
    fn make(&self, system: &SystemDatabase) -> Result<(), Error> {
        let staged = Arc::new(StagedDisk::over(self.options.database.disk.clone()));
        let options = Options { disk: staged.clone(), ..self.options.database.clone() };
        let spec = system.spec(self.options);
        let is_master = system.id == DatabaseId::MASTER;
        let database = if is_master {
            Database::create_master(&spec, options, self.member(system.id))?
        } else {
            Database::create_in(&spec, options, self.member(system.id))?
        };
        if is_master {
            let all: Vec<Registered> =
                SYSTEM.iter().map(|system| system.registered(self.options)).collect();
            registry::insert(&database, &all)?;
        }
        database.close()?;
        Ok(staged.finish()?)
    }

    /// Removes what an interrupted first start has left.
    fn remove_unfinished(&self) -> Result<(), Error> {
        let disk = &self.options.database.disk;
        let folder = &self.options.data;
        let mark = &SYSTEM[2].unfinished_paths(folder).data[0];
        if !disk.exists(mark) {
            return Ok(());
        }
        let finished = SYSTEM.iter().map(|system| system.paths(folder));
        let unfinished = SYSTEM.iter().map(|system| system.unfinished_paths(folder));
        let files = finished.chain(unfinished).flat_map(|paths| [paths.data[0].clone(), paths.log]);
        for path in files.filter(|path| path != mark && disk.exists(path)) {
            disk.remove(&path)?;
        }
        disk.remove(mark)?;
        Ok(())
    }
}
