//! Databases of files that are only read: data files of any version, backups.
//!
//! ```text
//! reader: pages with all changes of their log ─▶ BaseFile ─▶ OverlayDisk ─▶ a database, read-only
//!                                                               ▲ what its opening writes
//! ```
//!
//! The engine opens them as it opens a database of its own: catalog, locks, scans and views are the
//! same. It marks the boot page and makes a log, both in memory.
//!
//! Invariants
//! - Nothing of it is registered: at the next start the database is not there.
//! - Its files are never written, renamed or removed.

use extentdb_base::DatabaseId;
use extentdb_base::sync::{Arc, lock};
use extentdb_buffer::Durability;
use extentdb_io::OverlayDisk;

use super::Instance;
use super::registry::Registered;
use crate::database::Database;
use crate::database::opening::OpenedFiles;
use crate::database::options::{Options, Purpose, TornPages};
use crate::database::services::Membership;
use crate::database::spec::Paths;
use crate::error::Error;

impl Instance {
    /// Are the files of a database only read?
    pub(super) fn is_mounted(&self, id: DatabaseId) -> bool {
        lock(&self.entries).get(&id).is_some_and(|entry| entry.registered.is_mounted)
    }

    /// Takes a database into service whose files are on `disk`, to be read until the server ends.
    ///
    /// # Errors
    /// [`Error::Exists`]: the name is taken. The files are no database, or its catalog cannot be
    /// read.
    pub fn mount(
        &self,
        name: &str,
        paths: &Paths,
        disk: Arc<OverlayDisk>,
    ) -> Result<Arc<Database>, Error> {
        let _admin = lock(&self.admin);
        let id = self.free_id(name)?;
        let options = Options {
            disk,
            purpose: Purpose::Read,
            torn_pages: TornPages::Lost,
            ..self.options.database.clone()
        };
        let member = Membership {
            services: self.services.clone(),
            id,
            name: Some(name.to_owned()),
            durability: Durability::Ephemeral,
        };
        let db = OpenedFiles::find(paths, options, member)?.recover()?;
        db.set_read_only(true)?;
        let registered = Registered::mounted(id, name, db.registered_files(paths)?);
        self.enter(registered, &db);
        Ok(db)
    }
}
