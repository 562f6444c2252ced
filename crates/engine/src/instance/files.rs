//! Files and filegroups of a database of the server: ALTER DATABASE … ADD, REMOVE, MODIFY.
//!
//! ```text
//! add      file listed in master ─▶ made, and listed in the database ─▶ in use
//! remove   not listed in the database ─▶ not listed in master ─▶ removed from the disk
//! ```
//!
//! So master lists every file that the database may need, and perhaps one more: a file that is not
//! there, not whole, or no part of the database is left out when the database is opened, and the
//! list is corrected. What the database itself lists is what it has.

use std::path::PathBuf;
use std::time::Duration;

use extentdb_base::cancel::Cancellation;
use extentdb_base::sync::{Arc, lock};
use extentdb_base::{DatabaseId, FileId};

use super::Instance;
use super::registry::{self, RegisteredFile};
use crate::database::Database;
use crate::database::files::DataFile;
use crate::database::spec::{DataFileSpec, Paths};
use crate::ddl::filegroup::FilegroupChange;
use crate::ddl::modify_file::FileChange;
use crate::error::{Error, FilesRefused};
use crate::session::Session;

/// Id in master of a file that is being added: after all others, the primary file first.
const BEING_ADDED: FileId = FileId(i16::MAX as u16);
/// How often the end of older transactions is looked for.
const POLL: Duration = Duration::from_millis(5);

/// A change of the files of a database.
#[derive(Clone, Debug)]
pub enum DatabaseFileChange {
    /// ADD FILE … TO FILEGROUP, the default one for none.
    Add {
        /// The new file.
        file: DataFileSpec,
        /// Its filegroup.
        filegroup: Option<String>,
    },
    /// REMOVE FILE.
    Remove {
        /// Logical name.
        name: String,
    },
    /// MODIFY FILE.
    Modify {
        /// Logical name.
        name: String,
        /// What becomes of it.
        change: FileChange,
    },
    /// MODIFY FILE … FILENAME: where the file is from the next opening on.
    Move {
        /// Logical name.
        name: String,
        /// The new path.
        path: PathBuf,
    },
    /// A change of a filegroup.
    Filegroup {
        /// Its name.
        name: String,
        /// What becomes of it.
        change: FilegroupChange,
    },
}

impl Instance {
    /// Changes files or filegroups of a database that is online.
    ///
    /// # Errors
    /// [`FilesRefused`]; [`Error::SystemDatabase`]: the system's databases keep their files;
    /// [`Error::FileExists`]; the disk is full.
    pub fn change_files(
        &self,
        database: &str,
        change: &DatabaseFileChange,
        by: Option<&Session>,
    ) -> Result<(), Error> {
        let _admin = lock(&self.admin);
        let id = self.id_of(database)?;
        if id <= DatabaseId::MSDB {
            return Err(Error::SystemDatabase { name: database.to_owned() });
        }
        if self.is_mounted(id) {
            return Err(Error::ReadOnly { database: database.to_owned() });
        }
        if let DatabaseFileChange::Move { name, path } = change {
            return self.move_file(id, name, path);
        }
        let db = self.database_by_id(id)?;
        if db.is_read_only() {
            return Err(Error::ReadOnly { database: database.to_owned() });
        }
        match change {
            DatabaseFileChange::Add { file, filegroup } => {
                self.add_file(id, &db, file, filegroup.as_deref())
            }
            DatabaseFileChange::Remove { name } => self.remove_file(id, &db, name, by),
            DatabaseFileChange::Modify { name, change } => {
                db.modify_file(name, change)?;
                self.register_files_of(id, &db)
            }
            DatabaseFileChange::Filegroup { name, change } => db.change_filegroup(name, change),
            DatabaseFileChange::Move { .. } => Ok(()),
        }
    }

    fn add_file(
        &self,
        id: DatabaseId,
        db: &Arc<Database>,
        spec: &DataFileSpec,
        filegroup: Option<&str>,
    ) -> Result<(), Error> {
        if self.options.database.disk.exists(&spec.path) {
            return Err(Error::FileExists { path: spec.path.clone() });
        }
        let mut files = self.registered_files_of(id);
        files.push(RegisteredFile {
            id: BEING_ADDED,
            group: 0,
            is_log: false,
            name: spec.name.clone().unwrap_or_default(),
            path: spec.path.display().to_string(),
            pages: 0,
        });
        self.store_files(id, files)?;
        let added = db.add_file(spec, filegroup);
        // Also when it was not added: the list is again that of the database.
        let listed = db.verify_online().and_then(|()| self.register_files_of(id, db));
        added.map(drop).and(listed)
    }

    fn remove_file(
        &self,
        id: DatabaseId,
        db: &Arc<Database>,
        name: &str,
        by: Option<&Session>,
    ) -> Result<(), Error> {
        let file = db.data_file(name);
        let disk = file.ok().and_then(|file| db.pool.file(file.id()));
        let path = disk.map(|disk| disk.path().to_path_buf());
        let nobody = Arc::new(Cancellation::new());
        let cancellation = by.map_or(&nobody, |session| session.handle().cancellation());
        db.remove_file(name, &|| cancellation.sleep(POLL).map_err(|_| Error::Cancelled))?;
        self.register_files_of(id, db)?;
        match path {
            Some(path) => Ok(self.options.database.disk.remove(&path)?),
            None => Ok(()),
        }
    }

    fn move_file(&self, id: DatabaseId, name: &str, path: &std::path::Path) -> Result<(), Error> {
        let mut files = self.registered_files_of(id);
        let named = files.iter_mut().find(|file| file.name.eq_ignore_ascii_case(name));
        let file = named.ok_or_else(|| FilesRefused::NoFile { name: name.to_owned() })?;
        file.path = path.display().to_string();
        self.store_files(id, files)
    }

    fn registered_files_of(&self, id: DatabaseId) -> Vec<RegisteredFile> {
        let entries = lock(&self.entries);
        entries.get(&id).map(|entry| entry.registered.files.clone()).unwrap_or_default()
    }

    fn store_files(&self, id: DatabaseId, files: Vec<RegisteredFile>) -> Result<(), Error> {
        registry::replace_files(&self.master()?, id, &files)?;
        if let Some(entry) = lock(&self.entries).get_mut(&id) {
            entry.registered.files = files;
        }
        Ok(())
    }

    /// Lists in master the files that the database has, when they are others.
    pub(super) fn register_files_of(
        &self,
        id: DatabaseId,
        db: &Arc<Database>,
    ) -> Result<(), Error> {
        let known = self.registered_files_of(id);
        let Some(log) = known.iter().find(|file| file.is_log) else { return Ok(()) };
        let paths = Paths { data: Vec::new(), log: PathBuf::from(&log.path) };
        let mut now = db.registered_files(&paths)?;
        for file in &mut now {
            let Some(own) = known.iter().find(|own| own.id == file.id) else { continue };
            // A file that was moved has its new path from the next opening on.
            file.path.clone_from(&own.path);
            if file.is_log {
                file.clone_from(own);
            }
        }
        let names = |files: &[RegisteredFile]| -> Vec<(FileId, i32, String)> {
            let mut all: Vec<_> =
                files.iter().map(|it| (it.id, it.group, it.name.clone())).collect();
            all.sort();
            all
        };
        if names(&known) == names(&now) { Ok(()) } else { self.store_files(id, now) }
    }

    /// Without files other than the primary one that are not there or not whole.
    pub(super) fn files_there(&self, paths: &Paths) -> Paths {
        if paths.data.len() <= 1 {
            return paths.clone();
        }
        let disk = &self.options.database.disk;
        let read = |path: &PathBuf| disk.open(path).map_err(Error::from).and_then(DataFile::read);
        let primary = paths.data.first().and_then(|path| read(path).ok());
        let Some(binding) = primary.as_ref().map(DataFile::binding_id) else {
            return paths.clone();
        };
        drop(primary);
        let others = paths.data.iter().skip(1);
        let others = others.filter(|path| read(path).is_ok_and(|it| it.binding_id() == binding));
        let data = paths.data.iter().take(1).chain(others).cloned().collect();
        Paths { data, log: paths.log.clone() }
    }
}
