//! Every data file proves at open that it belongs to this state of the database.
//!
//! ```text
//! opening ─▶ one LSN, the end of the log ─▶ FirstUpdateLsn in every file header =
//!   sysprufiles.firstupdatelsn of its row
//! ```
//!
//! The field is SQL Server's; the two are equal in its files, too, and mostly zero there. Here they
//! change at every opening: a copy of a file that was taken before, and put in its place, carries
//! another LSN than the catalog expects, and is refused. What no field can tell: a copy of all
//! files of one moment, which is that state of the database; and a copy that was taken while the
//! database was open, which was never a state.

use extentdb_base::sync::lock;
use extentdb_base::{FileId, Lsn, PageId};
use extentdb_catalog::layout::Cell;
use extentdb_change::in_own_system;
use extentdb_format::allocation::file_header::FileHeaderView;

use crate::catalog::data_files::{FILE_ID, is_data_file};
use crate::catalog::system_table::{Cells, number};
use crate::database::Database;
use crate::database::files::DataFile;
use crate::error::Error;

/// Column of `sysprufiles`.
const FIRST_UPDATE_LSN: usize = 19 - 1;

impl Database {
    /// Stamps all data files, in their headers and in the catalog.
    pub(crate) fn stamp_files(&self, stamp: Lsn) -> Result<(), Error> {
        let _ddl = lock(&self.ddl);
        let table = self.catalog.system("sysprufiles")?;
        in_own_system(&*self.space, "FileStamp", |system| {
            for mut row in table.rows(&[])? {
                let Some(id) = file_id(&row).filter(|_| is_data_file(&row)) else { continue };
                let has_changed = self.space.set_first_update(system, id, stamp)?;
                if has_changed && let Some(cell) = row.get_mut(FIRST_UPDATE_LSN) {
                    *cell = Cell::Bytes(stamp.to_bytes().to_vec().into());
                    table.replace(system, &row)?;
                }
            }
            Ok(())
        })
    }

    /// Refuses files of another state of the database.
    pub(crate) fn verify_stamps(&self, given: &[DataFile]) -> Result<(), Error> {
        for row in self.catalog.system("sysprufiles")?.rows(&[])? {
            let Some(file) = given.iter().find(|file| Some(file.id()) == file_id(&row)) else {
                continue;
            };
            let page = self.pool.read(PageId { file: file.id(), page: 0 })?;
            let found = FileHeaderView::new(&page).header().first_update_lsn.unwrap_or(Lsn::ZERO);
            let expected = stamp_of(&row);
            if is_data_file(&row) && found != expected {
                return Err(Error::StaleFile { path: file.path(), found, expected });
            }
        }
        Ok(())
    }
}

fn file_id(row: &Cells) -> Option<FileId> {
    row.get(FILE_ID).and_then(number).and_then(|id| u16::try_from(id).ok()).map(FileId)
}

/// NULL stands for zero.
fn stamp_of(row: &Cells) -> Lsn {
    match row.get(FIRST_UPDATE_LSN) {
        Some(Cell::Bytes(bytes)) => {
            bytes.first_chunk().map_or(Lsn::ZERO, |bytes| Lsn::from_bytes(*bytes))
        }
        _ => Lsn::ZERO,
    }
}
