//! ALTER DATABASE … ADD FILE: a data file for an open database.
//!
//! ```text
//! file made: header, maps, synced  →  rows of sysprufiles and sysfiles1 committed  →  its pages in
//!                                     the pool, its extents free
//! ```
//!
//! Nothing in the log names a page of the file before its rows are durable. A crash before that
//! leaves a file on disk that no catalog lists: `open` refuses it, and it can be removed.

use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::{Arc, lock};
use extentdb_base::{FileId, Lsn, PageId};
use extentdb_format::PageBuf;
use extentdb_format::allocation::file_header::{FileHeader, FileHeaderView};
use extentdb_io::DiskFile;
use extentdb_space::{FileDescription, write_new_file};
use extentdb_template::{FileIdentity, FileKind, sysfiles1_row, sysprufiles_row, write_header};
use extentdb_txn::lock::LockMode;
use extentdb_types::Guid;

use crate::catalog::data_files::{FILE_ID, NAME};
use crate::catalog::system_table::{Cells, number, text};
use crate::database::Database;
use crate::database::spec::{DataFileSpec, pages_of, physical_name};
use crate::database::verify::FILE_BYTES_MIN;
use crate::error::{Error, FilesRefused, Unsupported};
use crate::session::StatementContext;

const FILES_MAX: u16 = 32_766;

impl Database {
    /// Adds a data file to a filegroup, PRIMARY for none: ALTER DATABASE … ADD FILE. Returns its
    /// id.
    ///
    /// # Errors
    /// The name or the path is taken; or the file cannot be made. Nothing has changed then.
    pub fn add_file(
        self: &Arc<Self>,
        spec: &DataFileSpec,
        filegroup: Option<&str>,
    ) -> Result<FileId, Error> {
        spec.verify("", FILE_BYTES_MIN)?;
        let mut session = self.session();
        let mut made = None;
        let added = session.statement("ALTER DATABASE", |context| {
            let _ddl = lock(&self.ddl);
            let identity = context.identity_of(spec, filegroup)?;
            let pages = pages_of(spec.bytes)? / 8 * 8;
            let disk = self.make_file(spec, &identity, pages)?;
            made = Some((disk, identity.clone(), pages));
            context.insert_file(&identity, pages)
        });
        match (added, made) {
            (Ok(()), Some((disk, identity, pages))) => self.add_to_space(disk, &identity, pages),
            (Err(error), made) => {
                // Whether a commit that failed is durable is found out by the next opening, which
                // may need the file.
                if made.is_some() && self.verify_online().is_ok() {
                    drop(made);
                    let _ = self.options.disk.remove(&spec.path);
                }
                Err(error)
            }
            (Ok(()), None) => Err(Error::NoTransaction),
        }
    }

    fn make_file(
        &self,
        spec: &DataFileSpec,
        identity: &FileIdentity,
        pages: u32,
    ) -> Result<Arc<dyn DiskFile>, Error> {
        let disk = self.options.disk.create(&spec.path)?;
        let mut header = PageBuf::zeroed();
        write_header(self.binding()?, identity, pages, &mut header);
        self.log.flush_all()?;
        let lsn = self.log.last();
        if let Err(error) = write_new_file(&*disk, identity.id, pages, &header, lsn) {
            drop(disk);
            let _ = self.options.disk.remove(&spec.path);
            return Err(error.into());
        }
        Ok(disk)
    }

    /// Makes the file part of the database: its extents can be allocated.
    fn add_to_space(
        &self,
        disk: Arc<dyn DiskFile>,
        identity: &FileIdentity,
        pages: u32,
    ) -> Result<FileId, Error> {
        self.pool.add_file(identity.id, disk);
        let description = FileDescription {
            id: identity.id,
            group: identity.group,
            name: identity.name.clone(),
            pages,
            growth: identity.growth.by,
            pages_max: identity.growth.pages_max,
        };
        self.space
            .add_file(description)
            .map_err(Error::from)
            .inspect_err(|error| self.go_offline(error))?;
        // Its room is only set aside so far.
        self.wake_ups.growth.notify();
        Ok(identity.id)
    }

    /// The id that all files of the database share.
    fn binding(&self) -> Result<Guid, Error> {
        self.primary_header()?.binding_id.ok_or_else(|| Error::catalog("page 0 has no binding id"))
    }

    fn primary_header(&self) -> Result<FileHeader, Error> {
        let page = self.pool.read(PageId::new(1, 0))?;
        Ok(FileHeaderView::new(&page).header())
    }
}

impl StatementContext<'_> {
    /// What the new file is to be called: the next id, a name that no other file has.
    fn identity_of(
        &self,
        spec: &DataFileSpec,
        filegroup: Option<&str>,
    ) -> Result<FileIdentity, Error> {
        let rows = self.db().catalog.system("sysprufiles")?.rows(&[])?;
        let last = rows.iter().filter_map(|row| row.get(FILE_ID).and_then(number)).max();
        let removed = i64::from(self.db().last_file.load(Ordering::Acquire));
        let last = last.unwrap_or(2).max(removed);
        let id = u16::try_from(last + 1).ok().filter(|id| *id <= FILES_MAX);
        let id = id.ok_or(Unsupported::TooManyFiles { most: FILES_MAX })?;
        let name = spec.name.clone().unwrap_or_else(|| format!("{}_{}", self.db().name, id - 1));
        let is_taken = |row: &Cells| text(row.get(NAME)).eq_ignore_ascii_case(&name);
        if rows.iter().any(is_taken) {
            return Err(FilesRefused::NameTaken { name }.into());
        }
        let group = self.filegroup_id(filegroup)?;
        if let Some(name) = self.db().catalog.read_only_group(group) {
            return Err(FilesRefused::ReadOnlyGroup { name }.into());
        }
        // Different for each file, and the same whenever this is done again.
        let Guid(mut guid) = self.db().binding()?;
        guid[12..14].iter_mut().zip(id.to_le_bytes()).for_each(|(byte, id)| *byte ^= id);
        Ok(FileIdentity {
            id: FileId(id),
            group,
            name,
            path: physical_name(&spec.path),
            guid: Guid(guid),
            growth: spec.file_growth(),
            // That of the opening: the double-write area protects the new file like the others.
            first_update_lsn: self.db().primary_header()?.first_update_lsn.unwrap_or(Lsn::ZERO),
        })
    }

    fn insert_file(&mut self, identity: &FileIdentity, pages: u32) -> Result<(), Error> {
        let db = self.db();
        let row = sysprufiles_row(identity, pages as i32, FileKind::Data);
        db.catalog.system("sysprufiles")?.insert(self.tx()?, &row)?;
        let table = db.catalog.sysfiles1()?;
        self.lock_table(&table, LockMode::Ix)?;
        let storage = table.storage();
        let mut row = storage.cells_of_system(&sysfiles1_row(identity, FileKind::Data));
        self.insert_row(table.with(&storage), &mut row)?;
        Ok(())
    }
}
