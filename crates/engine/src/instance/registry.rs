//! Which databases a server has: rows of `sysdbreg` and `sysbrickfiles` in master.
//!
//! The states are bits of `sysdbreg.status`, with the numbers that `sys.sysdatabases.status` is
//! documented with. Each change is a transaction of master.

use extentdb_base::sync::Arc;
use extentdb_base::{DatabaseId, FileId};
use extentdb_catalog::layout::Cell;
use extentdb_catalog::table::values::RowValues;
use extentdb_txn::log_time;

use crate::catalog::system_table::{Cells, int, number, text};
use crate::database::Database;
use crate::error::Error;

const OFFLINE: i32 = 512;
const READ_ONLY: i32 = 1024;
const RESTRICTED: i32 = 2048;
const SINGLE_USER: i32 = 4096;
/// Of ours: where the product keeps these two is not known. `sys.sysdatabases` documents neither
/// bit.
const SNAPSHOT_ISOLATION: i32 = 1 << 24;
const READ_COMMITTED_SNAPSHOT: i32 = 1 << 25;
/// `sysdbreg.cmptlevel` of 2008 R2.
const COMPATIBILITY_LEVEL: u8 = 100;
/// Columns of `sysdbreg`.
const ID: usize = 0;
const NAME: usize = 1;
const SID: usize = 2;
const STATUS: usize = 3;
const CREATED: usize = 6;
/// Columns of `sysbrickfiles`.
const OF_DATABASE: usize = 1;
const FILE_ID: usize = 3;
const GROUP: usize = 4;
const FILE_TYPE: usize = 6;
const SIZE: usize = 8;
const LOGICAL_NAME: usize = 11;
const PHYSICAL_NAME: usize = 12;

/// Who may use a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UserAccess {
    /// All.
    #[default]
    Multi,
    /// One session at a time.
    Single,
    /// Owners and administrators; the caller knows who they are.
    Restricted,
}

/// A database as master knows it.
#[derive(Clone, Debug)]
pub(super) struct Registered {
    pub(super) id: DatabaseId,
    pub(super) name: String,
    status: i32,
    pub(super) created: (i32, u32),
    pub(super) files: Vec<RegisteredFile>,
    /// Are its files only read? Then master does not know it.
    pub(super) is_mounted: bool,
}

/// A file as master knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisteredFile {
    /// Its id in the database.
    pub id: FileId,
    /// Its filegroup; 0 for a log.
    pub group: i32,
    /// Does it hold log?
    pub is_log: bool,
    /// Logical name.
    pub name: String,
    /// Path.
    pub path: String,
    /// Size in pages when it was registered.
    pub pages: i32,
}

impl Registered {
    /// A database that is online and open to all.
    pub(super) fn new(id: DatabaseId, name: &str, files: Vec<RegisteredFile>) -> Registered {
        Registered {
            id,
            name: name.to_owned(),
            status: 0,
            created: (0, 0),
            files,
            is_mounted: false,
        }
    }

    /// A database of files that are only read.
    pub(super) fn mounted(id: DatabaseId, name: &str, files: Vec<RegisteredFile>) -> Registered {
        let own = Registered::new(id, name, files);
        Registered { status: READ_ONLY, is_mounted: true, ..own }
    }

    pub(super) fn has_name(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    pub(super) fn is_offline(&self) -> bool {
        self.status & OFFLINE != 0
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.status & READ_ONLY != 0
    }

    pub(super) fn allows_snapshots(&self) -> bool {
        self.status & SNAPSHOT_ISOLATION != 0
    }

    pub(super) fn is_read_committed_snapshot(&self) -> bool {
        self.status & READ_COMMITTED_SNAPSHOT != 0
    }

    pub(super) fn access(&self) -> UserAccess {
        if self.status & SINGLE_USER != 0 {
            UserAccess::Single
        } else if self.status & RESTRICTED != 0 {
            UserAccess::Restricted
        } else {
            UserAccess::Multi
        }
    }

    fn set_bit(&mut self, bit: i32, is_set: bool) {
        self.status = if is_set { self.status | bit } else { self.status & !bit };
    }

    pub(super) fn set_offline(&mut self, is_offline: bool) {
        self.set_bit(OFFLINE, is_offline);
    }

    pub(super) fn set_read_only(&mut self, is_read_only: bool) {
        self.set_bit(READ_ONLY, is_read_only);
    }

    pub(super) fn set_allows_snapshots(&mut self, is_on: bool) {
        self.set_bit(SNAPSHOT_ISOLATION, is_on);
    }

    pub(super) fn set_read_committed_snapshot(&mut self, is_on: bool) {
        self.set_bit(READ_COMMITTED_SNAPSHOT, is_on);
    }

    pub(super) fn set_access(&mut self, access: UserAccess) {
        self.set_bit(SINGLE_USER, access == UserAccess::Single);
        self.set_bit(RESTRICTED, access == UserAccess::Restricted);
    }

    fn of_row(row: &Cells) -> Option<Registered> {
        let Some(Cell::Bytes(created)) = row.get(CREATED) else { return None };
        let created = created.first_chunk::<8>()?;
        let [t0, t1, t2, t3, d0, d1, d2, d3] = *created;
        Some(Registered {
            id: DatabaseId(u16::try_from(number(row.get(ID)?)?).ok()?),
            name: text(row.get(NAME)),
            status: number(row.get(STATUS)?)? as i32,
            created: (i32::from_le_bytes([d0, d1, d2, d3]), u32::from_le_bytes([t0, t1, t2, t3])),
            files: Vec::new(),
            is_mounted: false,
        })
    }
}

impl RegisteredFile {
    fn of_row(row: &Cells) -> Option<RegisteredFile> {
        Some(RegisteredFile {
            id: FileId(u16::try_from(number(row.get(FILE_ID)?)?).ok()?),
            group: number(row.get(GROUP)?)? as i32,
            is_log: number(row.get(FILE_TYPE)?)? == 1,
            name: text(row.get(LOGICAL_NAME)),
            path: text(row.get(PHYSICAL_NAME)),
            pages: number(row.get(SIZE)?)? as i32,
        })
    }

    fn row(&self, of: DatabaseId) -> RowValues {
        let mut row = RowValues::new();
        // brickid, dbid, pruid, fileid, grpid, status
        row.int(0).int(of.0.into()).int(0).int(self.id.0.into()).int(self.group).int(2);
        // filetype, filestate, size, maxsize, growth
        row.tinyint(self.is_log.into()).tinyint(0).int(self.pages).int(-1).int(0);
        row.ntext(&self.name).ntext(&self.path);
        // createlsn, droplsn, fileguid, internalstatus
        row.null().null().null().int(0);
        // readonlylsn to diffbaseguid
        (0..8).for_each(|_| {
            row.null();
        });
        // diffbasetime, diffbaseseclsn to forklsn, forkvc, redostartforkguid
        row.datetime(0, 0).null().null().null().null().null().bigint(0).null();
        row
    }
}

/// All databases that master knows.
pub(super) fn read(master: &Database) -> Result<Vec<Registered>, Error> {
    let rows = master.catalog.system("sysdbreg")?.rows(&[])?;
    let mut found: Vec<Registered> = rows.iter().filter_map(Registered::of_row).collect();
    if found.len() != rows.len() {
        return Err(Error::catalog("a row of sysdbreg cannot be read"));
    }
    for row in master.catalog.system("sysbrickfiles")?.rows(&[])? {
        let of = row.get(OF_DATABASE).and_then(number);
        let owner = found.iter_mut().find(|own| Some(i64::from(own.id.0)) == of);
        match (owner, RegisteredFile::of_row(&row)) {
            (Some(owner), Some(file)) => owner.files.push(file),
            _ => return Err(Error::catalog("a row of sysbrickfiles cannot be read")),
        }
    }
    Ok(found)
}

/// Adds databases, and their files; one commit.
pub(super) fn insert(master: &Arc<Database>, all: &[Registered]) -> Result<(), Error> {
    let now = log_time(&*master.options.clock);
    let created = (now.days as i32, now.ticks);
    change(master, "CREATE DATABASE", |context| {
        let databases = master.catalog.system("sysdbreg")?;
        let files = master.catalog.system("sysbrickfiles")?;
        for database in all {
            databases.insert(context.tx()?, &row_of(database, created))?;
            for file in &database.files {
                files.insert(context.tx()?, &file.row(database.id))?;
            }
        }
        Ok(())
    })
}

/// Removes a database and its files.
pub(super) fn delete(master: &Arc<Database>, id: DatabaseId) -> Result<(), Error> {
    change(master, "DROP DATABASE", |context| {
        let databases = master.catalog.system("sysdbreg")?;
        for row in databases.rows(&[int(id.0.into())])? {
            databases.delete(context.tx()?, &row)?;
        }
        let files = master.catalog.system("sysbrickfiles")?;
        for row in files.rows(&[int(id.0.into())])? {
            files.delete(context.tx()?, &row)?;
        }
        Ok(())
    })
}

/// Stores the state of a database.
pub(super) fn update(master: &Arc<Database>, to: &Registered) -> Result<(), Error> {
    change(master, "ALTER DATABASE", |context| {
        let databases = master.catalog.system("sysdbreg")?;
        for mut row in databases.rows(&[int(to.id.0.into())])? {
            row[STATUS] = int(to.status);
            databases.replace(context.tx()?, &row)?;
        }
        Ok(())
    })
}

/// Stores the security identifier of a database's owner.
pub(super) fn set_owner(master: &Arc<Database>, id: DatabaseId, sid: &[u8]) -> Result<(), Error> {
    change(master, "ALTER AUTHORIZATION", |context| {
        let databases = master.catalog.system("sysdbreg")?;
        for mut row in databases.rows(&[int(id.0.into())])? {
            row[SID] = Cell::Bytes(sid.to_vec().into());
            databases.replace(context.tx()?, &row)?;
        }
        Ok(())
    })
}

/// Stores which files a database has.
pub(super) fn replace_files(
    master: &Arc<Database>,
    id: DatabaseId,
    new: &[RegisteredFile],
) -> Result<(), Error> {
    change(master, "ALTER DATABASE", |context| {
        let files = master.catalog.system("sysbrickfiles")?;
        for row in files.rows(&[int(id.0.into())])? {
            files.delete(context.tx()?, &row)?;
        }
        new.iter().try_for_each(|file| files.insert(context.tx()?, &file.row(id)))
    })
}

fn change(
    master: &Arc<Database>,
    name: &str,
    work: impl FnOnce(&mut crate::session::StatementContext<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut session = master.try_session()?;
    session.statement(name, |context| {
        let _ddl = extentdb_base::sync::lock(&master.ddl);
        work(context)
    })
}

fn row_of(database: &Registered, created: (i32, u32)) -> RowValues {
    let mut row = RowValues::new();
    row.int(database.id.0.into()).ntext(&database.name).null().int(database.status);
    // status2, category
    row.int(0).int(0).datetime(created.0, created.1).datetime(created.0, created.1);
    // svcbrkrguid, which is unique with scope: the id of the database stands for it
    let mut broker = [0; 16];
    broker[..2].copy_from_slice(&database.id.0.to_le_bytes());
    row.raw(&broker).int(0).tinyint(COMPATIBILITY_LEVEL);
    row
}
