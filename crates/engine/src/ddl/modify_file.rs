//! ALTER DATABASE … MODIFY FILE: another name, growth, maximum, or a larger size.
//!
//! Name, growth and maximum are changed in the file's header and in the catalog by one commit; the
//! size by a growth of its own before it, which stays when the rest fails.

use extentdb_base::FileId;
use extentdb_base::sync::{Arc, lock};
use extentdb_catalog::layout::Cell;
use extentdb_format::allocation::file_header::Growth;
use extentdb_space::{DataFile, FileSettings};
use extentdb_txn::lock::LockMode;

use crate::catalog::data_files::{FILE_ID, NAME, is_data_file};
use crate::catalog::system_table::{int, name_cell, number, owned};
use crate::database::Database;
use crate::database::spec::pages_of;
use crate::dml::placing::OldRow;
use crate::error::invalid::verify_name;
use crate::error::{Error, FilesRefused};
use crate::session::StatementContext;

/// Columns of `sysprufiles`, and its bit of growth in percent.
const STATUS: usize = 4 - 1;
const MAX_SIZE: usize = 8 - 1;
const GROWTH: usize = 9 - 1;
const GROWTH_PERCENT: i32 = 0x20;
/// Columns of `sysfiles1`: the name is nchar(128).
const FILE_ID_OF_SYSFILES1: usize = 1;
const NAME_OF_SYSFILES1: usize = 2;
const NAME_UNITS: usize = 128;

/// What MODIFY FILE changes; `None` = as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChange {
    /// NEWNAME.
    pub name: Option<String>,
    /// SIZE, bytes: more than now.
    pub bytes: Option<u64>,
    /// MAXSIZE, bytes; `Some(None)` is UNLIMITED.
    pub bytes_max: Option<Option<u64>>,
    /// FILEGROWTH.
    pub growth: Option<Growth>,
}

impl Database {
    /// Changes a data file.
    ///
    /// # Errors
    /// [`FilesRefused`]; the disk is full. Nothing has changed then.
    pub fn modify_file(self: &Arc<Self>, name: &str, change: &FileChange) -> Result<(), Error> {
        let file = {
            let _ddl = lock(&self.ddl);
            self.data_file(name)?
        };
        if let Some(name) = self.catalog.read_only_group(file.group()) {
            return Err(FilesRefused::ReadOnlyGroup { name }.into());
        }
        let settings = new_settings(&file, change)?;
        if let Some(bytes) = change.bytes {
            let pages = pages_of(bytes)? / 8 * 8;
            if pages <= file.pages() {
                return Err(FilesRefused::NotLarger.into());
            }
            if settings.pages_max.is_some_and(|most| pages > most) {
                return Err(FilesRefused::AboveMaximum.into());
            }
            self.space.grow_to(file.id(), pages)?;
            self.space.recalculate();
        }
        let mut session = self.session();
        session.statement("ALTER DATABASE", |context| {
            let _ddl = lock(&self.ddl);
            context.store_file_settings(file.id(), name, &settings)
        })?;
        Ok(self.space.set_file_settings(file.id(), settings)?)
    }

    /// A data file by its logical name.
    pub(crate) fn data_file(&self, name: &str) -> Result<Arc<DataFile>, Error> {
        let no_file = || Error::from(FilesRefused::NoFile { name: name.to_owned() });
        let row = self.catalog.file_row(name)?.ok_or_else(no_file)?;
        if !is_data_file(&row) {
            return Err(FilesRefused::Log { what: "this" }.into());
        }
        let id = row.get(FILE_ID).and_then(number).and_then(|id| u16::try_from(id).ok());
        Ok(self.space.file(FileId(id.ok_or_else(no_file)?))?)
    }
}

/// The settings that a file is to have.
fn new_settings(file: &DataFile, change: &FileChange) -> Result<FileSettings, Error> {
    let old = file.description();
    let name = change.name.clone().unwrap_or(old.name);
    verify_name("name", &name)?;
    let pages_max = match change.bytes_max {
        Some(Some(bytes)) => Some(pages_of(bytes)?),
        Some(None) => None,
        None => old.pages_max,
    };
    let growth = change.growth.unwrap_or(old.growth);
    if pages_max.is_some_and(|most| most < file.pages()) {
        return Err(FilesRefused::AboveMaximum.into());
    }
    if let (Growth::Pages(by), Some(most)) = (growth, pages_max)
        && by > most
    {
        return Err(FilesRefused::GrowthAboveMaximum { name }.into());
    }
    Ok(FileSettings { name, growth, pages_max })
}

impl StatementContext<'_> {
    fn store_file_settings(
        &mut self,
        id: FileId,
        old_name: &str,
        settings: &FileSettings,
    ) -> Result<(), Error> {
        let db = self.db();
        let is_renamed = !settings.name.eq_ignore_ascii_case(old_name);
        if is_renamed && db.catalog.file_row(&settings.name)?.is_some() {
            return Err(FilesRefused::NameTaken { name: settings.name.clone() }.into());
        }
        let table = db.catalog.system("sysprufiles")?;
        for old in table.rows(&[int(id.0.into())])? {
            let mut new = old.clone();
            let status = old.get(STATUS).and_then(number).unwrap_or(0) as i32;
            let (growth, status) = match settings.growth {
                Growth::Pages(pages) => (pages, status & !GROWTH_PERCENT),
                Growth::Percent(percent) => (percent, status | GROWTH_PERCENT),
            };
            new[STATUS] = int(status);
            new[GROWTH] = int(growth as i32);
            new[MAX_SIZE] = int(settings.pages_max.map_or(-1, |most| most as i32));
            new[NAME] = name_cell(&settings.name);
            table.replace_keys(self.tx()?, &old, &new)?;
        }
        self.rename_in_sysfiles1(id, &settings.name)?;
        let space = db.space.clone();
        Ok(space.log_settings(self.tx()?, id, settings)?)
    }

    /// The copy of the name in the older list of files.
    fn rename_in_sysfiles1(&mut self, id: FileId, name: &str) -> Result<(), Error> {
        let db = self.db();
        let table = db.catalog.sysfiles1()?;
        self.lock_table(&table, LockMode::Ix)?;
        let storage = table.storage();
        for found in self.rows_for_ddl(&storage)? {
            let mut cells = storage.cells(&found.record)?;
            let of_file = cells.get(FILE_ID_OF_SYSFILES1).and_then(number);
            if of_file != Some(id.0.into()) {
                continue;
            }
            cells[NAME_OF_SYSFILES1] = name_cell(&padded(name));
            let mut cells: Vec<Cell<'static>> = cells.into_iter().map(owned).collect();
            let old = OldRow::of(&storage, &found.record)?;
            self.update_row(table.with(&storage), &found.at, &old, &mut cells)?;
        }
        Ok(())
    }
}

/// The name as nchar(128).
fn padded(name: &str) -> String {
    let units = name.encode_utf16().count();
    let blanks = " ".repeat(NAME_UNITS.saturating_sub(units));
    format!("{name}{blanks}")
}
