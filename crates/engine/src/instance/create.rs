//! CREATE DATABASE, attach, detach, DROP DATABASE.
//!
//! ```text
//! create   files made on a staged disk ─▶ synced ─▶ row in master committed ─▶ in service
//! drop     out of service ─▶ row in master deleted, committed ─▶ files removed
//! ```
//!
//! A new database costs one wait for the disk for all its files together, one for each folder, and
//! the commit in master: three when all files lie in one folder. A crash leaves files without a
//! row, never a row without files.

use std::path::Path;

use extentdb_base::DatabaseId;
use extentdb_base::sync::{Arc, lock};
use extentdb_buffer::Durability;
use extentdb_io::StagedDisk;

use super::registry::{self, Registered, RegisteredFile};
use super::start::files_of;
use super::state::Termination;
use super::{Entry, Instance, Service};
use crate::database::Database;
use crate::database::options::Options;
use crate::database::services::Membership;
use crate::database::spec::{DatabaseSpec, Paths};
use crate::error::Error;

/// Ids are positive smallints in catalog views.
const DATABASES_MAX: usize = 32_767;

impl Instance {
    /// Makes a database from the template, with the files of the specification, none of which may
    /// exist. What was added to model is in it, but for rows.
    ///
    /// # Errors
    /// [`Error::Exists`]: the name is taken. Others as for [`Database::create`]. Files that were
    /// made are removed.
    pub fn create_database(&self, spec: &DatabaseSpec) -> Result<Arc<Database>, Error> {
        let _admin = lock(&self.admin);
        let id = self.free_id(&spec.name)?;
        let disk = self.options.database.disk.clone();
        let paths = spec.paths();
        let files = || paths.data.iter().chain([&paths.log]);
        if let Some(taken) = files().find(|path| disk.exists(path)) {
            return Err(Error::FileExists { path: taken.clone() });
        }
        let registered = Registered::new(id, &spec.name, files_of(spec));
        let made = self.make_files(spec, id);
        let registered_at = made.and_then(|db| {
            registry::insert(&self.master()?, std::slice::from_ref(&registered)).map(|()| db)
        });
        let db = registered_at.inspect_err(|_| {
            let area = paths.data.first().map(|primary| double_write_of(primary));
            for path in files().chain(&area).filter(|path| disk.exists(path)) {
                // What cannot be removed is refused by its name at the next attempt.
                let _ = disk.remove(path);
            }
        })?;
        self.enter(registered, &db);
        Ok(db)
    }

    fn make_files(&self, spec: &DatabaseSpec, id: DatabaseId) -> Result<Arc<Database>, Error> {
        let staged = Arc::new(StagedDisk::over(self.options.database.disk.clone()));
        let options = Options { disk: staged.clone(), ..self.options.database.clone() };
        let db = Database::create_in(spec, options, self.member(id))?;
        db.copy_objects_of(&*self.database_by_id(DatabaseId::MODEL)?)?;
        staged.finish()?;
        Ok(db)
    }

    fn member(&self, id: DatabaseId) -> Membership {
        let services = self.services.clone();
        Membership { services, id, name: None, durability: Durability::Logged }
    }

    pub(super) fn enter(&self, registered: Registered, db: &Arc<Database>) {
        let id = registered.id;
        lock(&self.entries).insert(id, Entry { registered, service: Service::Transition });
        self.set_service(id, Service::Online(db.clone()));
    }

    /// Takes over a database from its files; its log may be missing when it was closed cleanly.
    ///
    /// # Errors
    /// As for [`Database::open`]; [`Error::Exists`]: the name is taken.
    pub fn attach(&self, name: &str, paths: &Paths) -> Result<Arc<Database>, Error> {
        let _admin = lock(&self.admin);
        let id = self.free_id(name)?;
        let own = Registered::new(id, name, files_at(paths));
        let opened = self.begin_open(&own)?;
        self.decisions.add(&opened);
        let Service::Online(db) = self.finish_open(id, opened)? else {
            return Err(Error::NoDatabase { name: name.to_owned() });
        };
        db.store_name()?;
        let registered = Registered::new(id, name, db.registered_files(paths)?);
        registry::insert(&self.master()?, std::slice::from_ref(&registered))?;
        self.enter(registered, &db);
        Ok(db)
    }

    /// Gives a database away: its files are closed, and belong to nobody.
    ///
    /// # Errors
    /// [`Error::SystemDatabase`]; sessions use it: see [`Termination`].
    pub fn detach(&self, name: &str, termination: Termination) -> Result<Paths, Error> {
        let _admin = lock(&self.admin);
        let (id, paths) = self.leave_service(name, termination, None)?;
        self.forget(id)?;
        Ok(paths)
    }

    /// Removes a database and its files. One that is offline keeps its files, as in SQL Server, and
    /// so does one whose files are only read.
    ///
    /// # Errors
    /// [`Error::SystemDatabase`]; sessions use it: see [`Termination`].
    pub fn drop_database(&self, name: &str, termination: Termination) -> Result<(), Error> {
        let _admin = lock(&self.admin);
        let keeps_files = self.is_offline(name)?;
        let (id, paths) = self.leave_service(name, termination, None)?;
        let keeps_files = self.forget(id)? || keeps_files;
        if keeps_files {
            return Ok(());
        }
        let disk = &self.options.database.disk;
        let area = paths.data.first().map(|primary| double_write_of(primary));
        for path in paths.data.iter().chain([&paths.log]).chain(&area) {
            if disk.exists(path) {
                disk.remove(path)?;
            }
        }
        Ok(())
    }

    /// Closes all databases. Those whose sessions are still open are left as after a crash, and
    /// named.
    ///
    /// # Errors
    /// The first error of a database; the others are closed.
    pub fn shutdown(&self, termination: Termination) -> Result<(), Error> {
        let _admin = lock(&self.admin);
        let ids: Vec<DatabaseId> = lock(&self.entries).keys().copied().collect();
        // master last: what it registers is true until then.
        let mut closed = Ok(());
        for id in ids.into_iter().rev() {
            closed = closed.and(self.close_online(id, termination, None));
        }
        self.workers.stop();
        closed
    }

    /// A database is one of the server's no more. Are its files only read?
    fn forget(&self, id: DatabaseId) -> Result<bool, Error> {
        let is_mounted = self.is_mounted(id);
        if !is_mounted {
            registry::delete(&self.master()?, id)?;
        }
        lock(&self.entries).remove(&id);
        Ok(is_mounted)
    }

    /// The smallest free id.
    pub(super) fn free_id(&self, name: &str) -> Result<DatabaseId, Error> {
        let entries = lock(&self.entries);
        if entries.values().any(|entry| entry.registered.has_name(name)) {
            return Err(Error::Exists { name: name.to_owned() });
        }
        let id = (DatabaseId::FIRST_USER.0..=DATABASES_MAX as u16)
            .find(|id| !entries.contains_key(&DatabaseId(*id)));
        id.map(DatabaseId).ok_or(Error::TooManyDatabases { most: DATABASES_MAX })
    }
}

/// The double-write area of a primary file.
fn double_write_of(primary: &Path) -> std::path::PathBuf {
    let mut name = primary.as_os_str().to_owned();
    name.push(".dw");
    name.into()
}

/// Files that are to be looked at.
fn files_at(paths: &Paths) -> Vec<RegisteredFile> {
    let file = |path: &std::path::PathBuf, is_log: bool| RegisteredFile {
        id: extentdb_base::FileId(0),
        group: 0,
        is_log,
        name: String::new(),
        path: path.display().to_string(),
        pages: 0,
    };
    let data = paths.data.iter().map(|path| file(path, false));
    data.chain([file(&paths.log, true)]).collect()
}

impl Database {
    /// Its files as master registers them; the catalog's paths may be those of another machine.
    pub(super) fn registered_files(&self, paths: &Paths) -> Result<Vec<RegisteredFile>, Error> {
        let mut files = Vec::new();
        for file in self.space.files() {
            let disk = self.pool.file(file.id());
            let path = disk.map(|disk| disk.path().display().to_string()).unwrap_or_default();
            files.push(RegisteredFile {
                id: file.id(),
                group: file.description().group.into(),
                is_log: false,
                name: file.description().name.clone(),
                path,
                pages: file.pages() as i32,
            });
        }
        files.push(RegisteredFile {
            id: extentdb_base::FileId(2),
            group: 0,
            is_log: true,
            name: format!("{}_log", self.name),
            path: paths.log.display().to_string(),
            pages: (self.log.total_bytes() / extentdb_base::size::PAGE_BYTES as u64) as i32,
        });
        Ok(files)
    }
}
