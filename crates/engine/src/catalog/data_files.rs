//! Data files as `sysprufiles` lists them.

use extentdb_base::FileId;
use extentdb_catalog::layout::Cell;

use crate::catalog::CatalogCache;
use crate::catalog::system_table::{Cells, int, number, text};
use crate::error::Error;

/// Columns of `sysprufiles`.
pub(crate) const FILE_ID: usize = 2 - 1;
const FILE_TYPE: usize = 5 - 1;
pub(crate) const NAME: usize = 10 - 1;
const DROP_LSN: usize = 13 - 1;
/// Rows of data, as against log.
const ROWS_FILE: i64 = 0;

impl CatalogCache {
    /// The data files that the catalog knows.
    pub(crate) fn data_file_ids(&self) -> Result<Vec<FileId>, Error> {
        let rows = self.system("sysprufiles")?.rows(&[])?;
        let id =
            |row: &Cells| row.get(FILE_ID).and_then(number).and_then(|id| u16::try_from(id).ok());
        Ok(rows.iter().filter(|row| is_data_file(row)).filter_map(id).map(FileId).collect())
    }

    /// The logical name of a data file.
    pub(crate) fn data_file_name(&self, file: FileId) -> Result<Option<String>, Error> {
        let rows = self.system("sysprufiles")?.rows(&[int(i32::from(file.0))])?;
        Ok(rows.iter().find(|row| is_data_file(row)).map(|row| text(row.get(NAME))))
    }

    /// The row of a file, by its logical name without regard to the case of ASCII letters.
    pub(crate) fn file_row(&self, name: &str) -> Result<Option<Cells>, Error> {
        let rows = self.system("sysprufiles")?.rows(&[])?;
        let mut rows = rows.into_iter().filter(|row| !is_dropped(row));
        Ok(rows.find(|row| text(row.get(NAME)).eq_ignore_ascii_case(name)))
    }
}

/// Is it the row of a data file that was not dropped?
pub(crate) fn is_data_file(row: &Cells) -> bool {
    row.get(FILE_TYPE).and_then(number) == Some(ROWS_FILE) && !is_dropped(row)
}

fn is_dropped(row: &Cells) -> bool {
    !matches!(row.get(DROP_LSN), None | Some(Cell::Null | Cell::Missing))
}
