//! A database under a new name, or at other paths: what its own files say of them.
//!
//! An attached database is called as its server calls it, in the boot page; the paths in
//! `sysprufiles` and `sysfiles1` are those where the files are.

use extentdb_base::sync::{Arc, lock};
use extentdb_base::{FileId, PageId};
use extentdb_catalog::layout::Cell;
use extentdb_format::allocation::boot::BootView;
use extentdb_format::allocation::field::StoredName;
use extentdb_txn::lock::LockMode;

use crate::catalog::data_files::FILE_ID;
use crate::catalog::system_table::{number, text};
use crate::database::Database;
use crate::database::boot::write_boot_record;
use crate::dml::placing::OldRow;
use crate::error::Error;
use crate::error::invalid::InvalidOption;
use crate::session::StatementContext;

/// Columns of `sysprufiles` and `sysfiles1`.
const PATH: usize = 11 - 1;
const FILE_ID_OF_SYSFILES1: usize = 1;
const PATH_OF_SYSFILES1: usize = 3;
/// `sysfiles1.filename` is nchar(260).
const PATH_UNITS: usize = 260;

impl Database {
    /// Writes the name of the database into its boot page, durably, when it has another.
    pub(crate) fn store_name(&self) -> Result<(), Error> {
        let mut page = self.pool.write(PageId::BOOT)?;
        let record = BootView::new(&page).record();
        let mut record = record.ok_or_else(|| Error::catalog("no boot record"))?;
        let too_long = || InvalidOption::TooLong {
            option: "name".to_owned(),
            units: self.name.encode_utf16().count(),
            most: 128,
        };
        let name = StoredName::new(&self.name).ok_or_else(too_long)?;
        if record.name == name {
            return Ok(());
        }
        record.name = name;
        write_boot_record(page.bytes_mut(), &record);
        Ok(self.pool.write_through(&mut page)?)
    }

    /// Brings the paths in the catalog up to date.
    pub(crate) fn store_paths(self: &Arc<Self>) -> Result<(), Error> {
        let mut session = self.try_session()?;
        session.statement("ALTER DATABASE", |context| {
            let _ddl = lock(&self.ddl);
            context.store_paths()
        })
    }

    /// Where a file is.
    fn path_of(&self, file: FileId) -> Option<String> {
        if file == FileId(2) {
            return Some(self.log.path().display().to_string());
        }
        self.pool.file(file).map(|disk| disk.path().display().to_string())
    }
}

impl StatementContext<'_> {
    fn store_paths(&mut self) -> Result<(), Error> {
        let db = self.db();
        let table = db.catalog.system("sysprufiles")?;
        for mut row in table.rows(&[])? {
            let path = file_of(&row, FILE_ID).and_then(|file| db.path_of(file));
            if let Some(path) = path.filter(|path| text(row.get(PATH)) != *path) {
                row[PATH] = cell(&path);
                table.replace(self.tx()?, &row)?;
            }
        }
        let table = db.catalog.sysfiles1()?;
        self.lock_table(&table, LockMode::Ix)?;
        let storage = table.storage();
        for found in self.rows_for_ddl(&storage)? {
            let mut cells = storage.cells(&found.record)?;
            let file = file_of(&cells, FILE_ID_OF_SYSFILES1);
            let Some(path) = file.and_then(|file| db.path_of(file)) else { continue };
            if text(cells.get(PATH_OF_SYSFILES1)).trim_end() != path {
                cells[PATH_OF_SYSFILES1] = cell(&format!("{path:PATH_UNITS$}"));
                let mut cells: Vec<_> =
                    cells.into_iter().map(crate::catalog::system_table::owned).collect();
                let old = OldRow::of(&storage, &found.record)?;
                self.update_row(table.with(&storage), &found.at, &old, &mut cells)?;
            }
        }
        Ok(())
    }
}

fn file_of(row: &[Cell<'_>], column: usize) -> Option<FileId> {
    row.get(column).and_then(number).and_then(|id| u16::try_from(id).ok()).map(FileId)
}

fn cell(text: &str) -> Cell<'static> {
    Cell::Bytes(text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>().into())
}
