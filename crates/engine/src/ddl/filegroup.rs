//! ALTER DATABASE … ADD, REMOVE and MODIFY FILEGROUP: rows of the catalog, in one commit; space
//! and the cached catalog follow it.

use std::collections::BTreeSet;

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, MutexGuard, lock, read};
use extentdb_catalog::table::values::RowValues;
use extentdb_template::filegroup_rows;
use extentdb_txn::lock::{LockMode, Resource};
use extentdb_types::Guid;

use crate::catalog::Table;
use crate::catalog::filegroups::{
    AUTOGROW_ALL_FILES, CLASS_DATA_SPACE, DEFAULT, ID, NAME, PRIMARY, PROPERTY_CLASS, READ_ONLY,
    STATUS,
};
use crate::catalog::system_table::{Cells, byte, int, name_cell, number, text};
use crate::database::Database;
use crate::error::invalid::verify_name;
use crate::error::{Error, FilesRefused};
use crate::session::StatementContext;

/// `sysguidrefs.class`: the GUID of a filegroup.
const GUID_CLASS: u8 = 3;
/// Columns of `sysphfg`.
const GROUP_OF_PHYSICAL: usize = 2;
const NAME_OF_PHYSICAL: usize = 7;
/// Column of `sysprufiles`: the filegroup of a file.
const GROUP_OF_FILE: usize = 3 - 1;
/// A sql_variant of an int: type, version, value 1.
const VARIANT_OF_ONE: [u8; 6] = [56, 1, 1, 0, 0, 0];

/// A change of a filegroup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FilegroupChange {
    /// ADD FILEGROUP.
    Add,
    /// REMOVE FILEGROUP: it has no file.
    Remove,
    /// MODIFY FILEGROUP … NAME.
    Rename(String),
    /// MODIFY FILEGROUP … DEFAULT.
    Default,
    /// AUTOGROW_ALL_FILES, or AUTOGROW_SINGLE_FILE.
    AutogrowAllFiles(bool),
    /// READ_ONLY, or READ_WRITE. Waits for transactions that use tables of the filegroup.
    ReadOnly(bool),
}

impl Database {
    /// Changes a filegroup.
    ///
    /// # Errors
    /// [`FilesRefused`]. Nothing has changed then.
    pub fn change_filegroup(
        self: &Arc<Self>,
        name: &str,
        change: &FilegroupChange,
    ) -> Result<(), Error> {
        let mut session = self.session();
        let changed = session.statement("ALTER DATABASE", |context| {
            let is_closed = matches!(change, FilegroupChange::ReadOnly(_));
            let _ddl = if is_closed { context.lock_tables_of(name)? } else { lock(&self.ddl) };
            match change {
                FilegroupChange::Add => context.add_filegroup(name),
                FilegroupChange::Remove => context.remove_filegroup(name),
                FilegroupChange::Rename(to) => context.rename_filegroup(name, to),
                FilegroupChange::Default => context.set_default_filegroup(name),
                FilegroupChange::AutogrowAllFiles(is_on) => context.set_autogrow(name, *is_on),
                FilegroupChange::ReadOnly(is_on) => {
                    context.set_read_only(name, *is_on)?;
                    // Before its tables are unlocked.
                    self.catalog.load_filegroups()
                }
            }
        });
        let _ddl = lock(&self.ddl);
        self.catalog.load_filegroups()?;
        changed?;
        if let FilegroupChange::AutogrowAllFiles(is_on) = change
            && let Some(group) = read(&self.catalog.filegroups).id_of(name)
        {
            self.space.set_grows_all_files(group, *is_on);
        }
        Ok(())
    }
}

/// Is this row of `sysphfg` the physical half of the filegroup?
fn is_physical(row: &Cells, id: i32) -> bool {
    row.get(GROUP_OF_PHYSICAL).and_then(number) == Some(id.into())
}

impl<'s> StatementContext<'s> {
    /// The number of a filegroup that is there.
    fn known_filegroup(&self, name: &str) -> Result<i16, Error> {
        let db = self.db();
        let found = read(&db.catalog.filegroups).id_of(name);
        let missing =
            || FilesRefused::NoFilegroup { name: name.to_owned(), database: db.name.clone() };
        found.ok_or_else(|| missing().into())
    }

    fn verify_free_filegroup_name(&self, name: &str) -> Result<(), Error> {
        verify_name("name", name)?;
        match read(&self.db().catalog.filegroups).id_of(name) {
            Some(_) => Err(FilesRefused::FilegroupTaken { name: name.to_owned() }.into()),
            None => Ok(()),
        }
    }

    fn add_filegroup(&mut self, name: &str) -> Result<(), Error> {
        self.verify_free_filegroup_name(name)?;
        let db = self.db();
        let id = read(&db.catalog.filegroups).next_id();
        // Different for each filegroup, and no file's.
        let Guid(mut guid) = db.binding;
        let marks = id.to_le_bytes().into_iter().chain([0x46]);
        guid[10..13].iter_mut().zip(marks).for_each(|(byte, mark)| *byte ^= mark);
        for (table, row) in filegroup_rows(id.into(), name, Guid(guid)) {
            db.catalog.system(table)?.insert(self.tx()?, &row)?;
        }
        Ok(())
    }

    fn remove_filegroup(&mut self, name: &str) -> Result<(), Error> {
        let id = self.known_filegroup(name)?;
        let db = self.db();
        let of_group = |row: &Cells| row.get(GROUP_OF_FILE).and_then(number) == Some(id.into());
        let has_files = db.catalog.system("sysprufiles")?.rows(&[])?.iter().any(of_group);
        let is_used = db.catalog.units.all().iter().any(|unit| unit.group() == id);
        let is_default = read(&db.catalog.filegroups).default == id;
        if id == PRIMARY || has_files || is_used || is_default {
            let name = name.to_owned();
            return Err(FilesRefused::NotEmpty { what: "filegroup", name }.into());
        }
        let id = i64::from(id);
        let is = |row: &Cells, column, value| row.get(column).and_then(number) == Some(value);
        let is_its_guid = |row: &Cells| is(row, 0, GUID_CLASS.into()) && is(row, 1, id);
        self.delete_if("sysguidrefs", &is_its_guid)?;
        self.delete_if("sysphfg", &|row| is(row, GROUP_OF_PHYSICAL, id))?;
        self.delete_if("sysfgfrag", &|row| is(row, 0, id))?;
        self.delete_where("sysclsobjs", &[byte(CLASS_DATA_SPACE), int(id as i32)])?;
        self.delete_where("sysxprops", &[byte(PROPERTY_CLASS), int(id as i32)])
    }

    fn delete_if(&mut self, table: &str, is_it: &dyn Fn(&Cells) -> bool) -> Result<(), Error> {
        let db = self.db();
        let table = db.catalog.system(table)?;
        for row in table.rows(&[])?.iter().filter(|row| is_it(row)) {
            table.delete(self.tx()?, row)?;
        }
        Ok(())
    }

    fn rename_filegroup(&mut self, name: &str, to: &str) -> Result<(), Error> {
        let id = self.known_filegroup(name)?;
        if id == PRIMARY {
            return Err(FilesRefused::PrimaryFilegroup.into());
        }
        if !name.eq_ignore_ascii_case(to) {
            self.verify_free_filegroup_name(to)?;
        }
        let db = self.db();
        let spaces = db.catalog.system("sysclsobjs")?;
        for old in spaces.rows(&[byte(CLASS_DATA_SPACE), int(id.into())])? {
            let mut new = old.clone();
            new[NAME] = name_cell(to);
            spaces.redefine_keys(self.tx()?, &old, &new)?;
        }
        let physical = db.catalog.system("sysphfg")?;
        let all = physical.rows(&[])?;
        for old in all.iter().filter(|row| is_physical(row, id.into())) {
            let mut new = old.clone();
            new[NAME_OF_PHYSICAL] = name_cell(to);
            physical.replace_keys(self.tx()?, old, &new)?;
        }
        Ok(())
    }

    fn set_default_filegroup(&mut self, name: &str) -> Result<(), Error> {
        let id = self.known_filegroup(name)?;
        let db = self.db();
        self.verify_has_files(id, name)?;
        if read(&db.catalog.filegroups).default == id {
            return Err(FilesRefused::PropertySet { property: "DEFAULT" }.into());
        }
        let spaces = db.catalog.system("sysclsobjs")?;
        for mut row in db.catalog.data_space_rows()? {
            let status = row.get(STATUS).and_then(number).unwrap_or(0) as i32;
            let is_it = row.get(ID).and_then(number) == Some(id.into());
            let new = if is_it { status | DEFAULT } else { status & !DEFAULT };
            if new != status {
                row[STATUS] = int(new);
                spaces.redefine(self.tx()?, &row)?;
            }
        }
        Ok(())
    }

    fn set_autogrow(&mut self, name: &str, is_on: bool) -> Result<(), Error> {
        let group = self.known_filegroup(name)?;
        self.verify_has_files(group, name)?;
        if self.db().autogrow_all_files()?.contains(&group) == is_on {
            let property = if is_on { "AUTOGROW_ALL_FILES" } else { "AUTOGROW_SINGLE_FILE" };
            return Err(FilesRefused::PropertySet { property }.into());
        }
        self.set_property(group, AUTOGROW_ALL_FILES, is_on)
    }

    fn set_read_only(&mut self, name: &str, is_on: bool) -> Result<(), Error> {
        let group = self.known_filegroup(name)?;
        if group == PRIMARY {
            return Err(FilesRefused::PrimaryReadOnly.into());
        }
        self.verify_has_files(group, name)?;
        if self.db().catalog.read_only_groups().contains(&group) == is_on {
            let property = if is_on { "READ_ONLY" } else { "READ_WRITE" };
            return Err(FilesRefused::PropertySet { property }.into());
        }
        self.set_property(group, READ_ONLY, is_on)
    }

    fn verify_has_files(&self, group: i16, name: &str) -> Result<(), Error> {
        if self.db().space.files().iter().all(|file| file.group() != group) {
            return Err(FilesRefused::EmptyFilegroup { name: name.to_owned() }.into());
        }
        Ok(())
    }

    /// Locks the tables of which a part is in the filegroup, and then the catalog: the holder of
    /// its mutex must not wait for transactions.
    fn lock_tables_of(&mut self, name: &str) -> Result<MutexGuard<'s, ()>, Error> {
        let group = self.known_filegroup(name)?;
        let db = self.db();
        let mut locked: BTreeSet<ObjectId> = BTreeSet::new();
        loop {
            let ddl = lock(&db.ddl);
            let is_in_it = |table: &Arc<Table>| {
                table.storage().units().any(|unit| unit.group() == group)
                    && !locked.contains(&table.id())
            };
            let Some(table) = db.catalog.all_tables().into_iter().find(is_in_it) else {
                return Ok(ddl);
            };
            drop(ddl);
            self.lock(Resource::Object(table.id()), LockMode::SchM, None)?;
            locked.insert(table.id());
        }
    }

    fn set_property(&mut self, group: i16, name: &str, is_on: bool) -> Result<(), Error> {
        let id = i32::from(group);
        let db = self.db();
        let properties = db.catalog.system("sysxprops")?;
        if is_on {
            let mut row = RowValues::new();
            row.tinyint(PROPERTY_CLASS).int(id).int(0).ntext(name);
            row.raw(&VARIANT_OF_ONE);
            return properties.insert(self.tx()?, &row);
        }
        const PROPERTY_NAME: usize = 3;
        for row in properties.rows(&[byte(PROPERTY_CLASS), int(id)])? {
            if text(row.get(PROPERTY_NAME)) == name {
                properties.delete(self.tx()?, &row)?;
            }
        }
        Ok(())
    }
}
