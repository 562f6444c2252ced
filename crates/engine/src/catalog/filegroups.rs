//! Filegroups as the catalog lists them.
//!
//! ```text
//! sysclsobjs   class 31: id, name, the default one by a bit
//! sysxprops    class 20: ExtentDB_autogrow_all_files, of a filegroup whose files grow together;
//!              ExtentDB_read_only, of one that is READ_ONLY
//! ```
//!
//! AUTOGROW_ALL_FILES came with SQL Server 2016, and files here are those of 2008 R2, which have no
//! place for it: an extended property, as decision 29 has it. The product shows and ignores it. The
//! bit in which the product keeps READ_ONLY is not published: a property, too.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::{read, write};

use crate::catalog::CatalogCache;
use crate::catalog::system_table::{Cells, byte, number, text};
use crate::error::Error;

/// Class of data spaces in `sysclsobjs`.
pub(crate) const CLASS_DATA_SPACE: u8 = 31;
/// Class of their extended properties.
pub(crate) const PROPERTY_CLASS: u8 = 20;
/// Extended property of a filegroup with AUTOGROW_ALL_FILES.
pub(crate) const AUTOGROW_ALL_FILES: &str = "ExtentDB_autogrow_all_files";
/// Extended property of a READ_ONLY filegroup.
pub(crate) const READ_ONLY: &str = "ExtentDB_read_only";
/// Bit of `sysclsobjs.status`: the default filegroup.
pub(crate) const DEFAULT: i32 = 0x1;
/// Number of the filegroup with the catalog.
pub(crate) const PRIMARY: i16 = 1;
/// Columns of `sysclsobjs`.
pub(crate) const ID: usize = 1;
pub(crate) const NAME: usize = 2;
pub(crate) const STATUS: usize = 3;
const KIND: usize = 4;
/// Columns of `sysxprops`.
const PROPERTY_OF: usize = 1;
const PROPERTY_NAME: usize = 3;

/// The filegroups of a database.
#[derive(Clone, Debug)]
pub(crate) struct Filegroups {
    names: BTreeMap<i16, String>,
    /// Where tables are created that do not say where.
    pub(crate) default: i16,
    read_only: BTreeSet<i16>,
}

impl Default for Filegroups {
    fn default() -> Self {
        Filegroups {
            names: BTreeMap::new(),
            default: PRIMARY,
            read_only: BTreeSet::new(),
        }
    }
}

impl Filegroups {
    fn of_rows(rows: &[Cells]) -> Filegroups {
        let mut groups = Filegroups::default();
        for row in rows.iter().filter(|row| is_filegroup(row)) {
            let id = row.get(ID).and_then(number).and_then(|id| i16::try_from(id).ok());
            let Some(id) = id else { continue };
            if row.get(STATUS).and_then(number).is_some_and(|bits| bits as i32 & DEFAULT != 0) {
                groups.default = id;
            }
            groups.names.insert(id, text(row.get(NAME)));
        }
        groups
    }

    /// The number of a filegroup, by its name without regard to the case of ASCII letters.
    pub(crate) fn id_of(&self, name: &str) -> Option<i16> {
        let mut all = self.names.iter();
        all.find(|(_, own)| own.eq_ignore_ascii_case(name)).map(|(id, _)| *id)
    }

    /// All names, in the order of the numbers.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.values().map(String::as_str)
    }

    /// The name of a filegroup.
    pub(crate) fn name_of(&self, id: i16) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }

    /// The number that the next filegroup gets.
    pub(crate) fn next_id(&self) -> i16 {
        self.names.last_key_value().map_or(PRIMARY, |(last, _)| last + 1)
    }
}

fn is_filegroup(row: &Cells) -> bool {
    let kind = row.get(KIND).map_or(&[][..], |cell| crate::catalog::system_table::bytes(cell));
    kind == b"FG"
}

impl CatalogCache {
    /// The rows of filegroups and partition schemes.
    pub(crate) fn data_space_rows(&self) -> Result<Vec<Cells>, Error> {
        self.system("sysclsobjs")?.rows(&[byte(CLASS_DATA_SPACE)])
    }

    /// Brings what is cached of the filegroups up to date.
    pub(crate) fn load_filegroups(&self) -> Result<(), Error> {
        let mut groups = Filegroups::of_rows(&self.data_space_rows()?);
        groups.read_only.extend(self.groups_with(READ_ONLY)?);
        self.has_read_only_groups.store(!groups.read_only.is_empty(), Ordering::Release);
        *write(&self.filegroups) = groups;
        Ok(())
    }

    /// The filegroups whose files grow together.
    pub(crate) fn autogrow_all_files(&self) -> Result<Vec<i16>, Error> {
        self.groups_with(AUTOGROW_ALL_FILES)
    }

    /// Is any filegroup READ_ONLY?
    pub(crate) fn has_read_only_groups(&self) -> bool {
        self.has_read_only_groups.load(Ordering::Acquire)
    }

    /// The name of a filegroup that is READ_ONLY; `None` for the others.
    pub(crate) fn read_only_group(&self, id: i16) -> Option<String> {
        if !self.has_read_only_groups() {
            return None;
        }
        let groups = read(&self.filegroups);
        let is_it = groups.read_only.contains(&id);
        is_it.then(|| groups.name_of(id).unwrap_or_default().to_owned())
    }

    /// The filegroups that are READ_ONLY.
    pub(crate) fn read_only_groups(&self) -> Vec<i16> {
        read(&self.filegroups).read_only.iter().copied().collect()
    }

    /// The filegroups that have a property of ours.
    fn groups_with(&self, property: &str) -> Result<Vec<i16>, Error> {
        let rows = self.system("sysxprops")?.rows(&[byte(PROPERTY_CLASS)])?;
        let is_set = |row: &&Cells| text(row.get(PROPERTY_NAME)) == property;
        let group = |row: &Cells| row.get(PROPERTY_OF).and_then(number).map(|id| id as i16);
        Ok(rows.iter().filter(is_set).filter_map(group).collect())
    }
}
