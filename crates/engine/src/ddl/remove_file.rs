//! ALTER DATABASE … REMOVE FILE: an empty data file leaves an open database.
//!
//! ```text
//! withdrawn from its filegroup: nothing is allocated there  →  rows of sysprufiles and sysfiles1
//!     deleted, committed  →  checkpoints until no restart reads a record about the file  →  out of
//!     the pool
//! ```
//!
//! A crash before the last step leaves a file on disk that no catalog lists. A server that opens
//! the database with it withdraws it again; the log may need its pages until then.

use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::{Arc, lock, read};
use extentdb_base::{FileId, Lsn};
use extentdb_format::allocation::iam::IamView;
use extentdb_txn::lock::LockMode;

use crate::catalog::data_files::FILE_ID;
use crate::catalog::system_table::number;
use crate::database::Database;
use crate::error::{Error, FilesRefused};
use crate::session::StatementContext;

/// Column of `sysfiles1`.
const FILE_ID_OF_SYSFILES1: usize = 1;

impl Database {
    /// Removes an empty data file from the database; the file itself is the caller's. Waits for
    /// transactions that are open, by `wait`, which ends that with an error: the file is forgotten
    /// at the next opening then.
    ///
    /// # Errors
    /// [`FilesRefused`]: nothing has changed then. Others: the file may be needed by a restart.
    pub fn remove_file(
        self: &Arc<Self>,
        name: &str,
        wait: &dyn Fn() -> Result<(), Error>,
    ) -> Result<FileId, Error> {
        let mut session = self.session();
        let mut withdrawn = None;
        let removed = session.statement("ALTER DATABASE", |context| {
            let _ddl = lock(&self.ddl);
            let id = context.removable_file(name)?;
            if !self.space.withdraw_file(id)? {
                return Err(FilesRefused::NotEmpty { what: "file", name: name.to_owned() }.into());
            }
            withdrawn = Some(id);
            context.verify_unmapped(id, name)?;
            context.delete_file_rows(id)?;
            Ok(id)
        });
        drop(session);
        match (removed, withdrawn) {
            (Ok(id), _) => {
                self.last_file.fetch_max(id.0, Ordering::AcqRel);
                let settled = self.forget_file(id)?;
                while !self.release_file(id, settled)? {
                    wait()?;
                }
                Ok(id)
            }
            (Err(error), Some(id)) if self.verify_online().is_ok() => {
                self.space.keep_file(id)?;
                Err(error)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Nothing more is logged about a file that was withdrawn, and that no catalog lists, from this
    /// position in the log on.
    pub(crate) fn forget_file(&self, id: FileId) -> Result<Lsn, Error> {
        // What is still to be logged about its maps.
        self.checkpoint()?;
        self.space.forget_file(id);
        Ok(self.log.next())
    }

    /// Ends the use of a file that was forgotten. False while a restart would read records about
    /// it, because a transaction is open that is older.
    pub(crate) fn release_file(&self, id: FileId, settled: Lsn) -> Result<bool, Error> {
        self.checkpoint()?;
        let is_settled = self.restart_begins() >= settled;
        if is_settled {
            self.pool.remove_file(id);
        }
        Ok(is_settled)
    }
}

impl StatementContext<'_> {
    /// A file that may be removed when it is empty.
    fn removable_file(&self, name: &str) -> Result<FileId, Error> {
        let db = self.db();
        let file = match db.data_file(name) {
            Err(Error::Files(FilesRefused::Log { .. })) => {
                return Err(FilesRefused::PrimaryFile.into());
            }
            file => file?,
        };
        let files = db.space.files();
        let of_group = files.iter().filter(|own| own.group() == file.group()).count();
        if file.id() == FileId(1) {
            return Err(FilesRefused::PrimaryFile.into());
        }
        if db.catalog.read_only_group(file.group()).is_some() {
            return Err(FilesRefused::ReadOnlyFile { name: name.to_owned() }.into());
        }
        if of_group == 1 && read(&db.catalog.filegroups).default == file.group() {
            return Err(FilesRefused::OnlyFileOfDefault { name: name.to_owned() }.into());
        }
        Ok(file.id())
    }

    /// Refuses a file that the map of a table or index names, though nothing of it is left there.
    fn verify_unmapped(&self, id: FileId, name: &str) -> Result<(), Error> {
        let db = self.db();
        for unit in db.catalog.units.all() {
            let mut next = unit.first_iam();
            while !next.is_none() {
                let page = db.pool.read(next)?;
                let view = IamView::new(&page);
                if view.interval().file == id || next.file == id {
                    let name = name.to_owned();
                    return Err(FilesRefused::NotEmpty { what: "file", name }.into());
                }
                next = view.header().next();
            }
        }
        Ok(())
    }

    fn delete_file_rows(&mut self, id: FileId) -> Result<(), Error> {
        let db = self.db();
        let files = db.catalog.system("sysprufiles")?;
        for row in files.rows(&[])? {
            if row.get(FILE_ID).and_then(number) == Some(id.0.into()) {
                files.delete(self.tx()?, &row)?;
            }
        }
        let table = db.catalog.sysfiles1()?;
        self.lock_table(&table, LockMode::Ix)?;
        let storage = table.storage();
        for found in self.rows_for_ddl(&storage)? {
            let cells = storage.cells(&found.record)?;
            if cells.get(FILE_ID_OF_SYSFILES1).and_then(number) == Some(id.0.into()) {
                self.delete_row(table.with(&storage), &found.at)?;
            }
        }
        Ok(())
    }
}
