//! `sys.sysdatabases`, `sys.sysfiles`, `sys.sysaltfiles`, `sys.sysfilegroups`.

use extentdb_engine::{DatabaseState, UserAccess};
use extentdb_types::DateTime;

use crate::base::{DataSpace, data_spaces};
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::database::{DatabaseItem, items};
use crate::view::file::{FileItem, current, of_all};

/// Bits of `sysdatabases.status`.
const SIMPLE: i32 = 8;
const TORN_PAGE_DETECTION: i32 = 16;
const OFFLINE: i32 = 512;
const READ_ONLY: i32 = 1024;
const OWNERS_ONLY: i32 = 2048;
const SINGLE_USER: i32 = 4096;
const CHECKSUM: i32 = 65_536;
/// Bits of `sysfiles.status`: a file of a disk, of the log, growth in percent.
const DISK_FILE: i32 = 0x2;
const LOG_FILE: i32 = 0x40;
const PERCENT_GROWTH: i32 = 0x10_0000;

fn status_of(it: &DatabaseItem<'_>) -> i32 {
    let bits = [
        (it.recovery_model().1 == "SIMPLE", SIMPLE),
        (it.page_verify == Some(1), TORN_PAGE_DETECTION),
        (it.page_verify == Some(2), CHECKSUM),
        (matches!(it.info.state, DatabaseState::Offline), OFFLINE),
        (it.info.is_read_only, READ_ONLY),
        (it.info.access == UserAccess::Restricted, OWNERS_ONLY),
        (it.info.access == UserAccess::Single, SINGLE_USER),
    ];
    bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum()
}

/// `sys.sysdatabases`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("name", |it: &DatabaseItem<'_>| (&it.info.name).into())
        .put("dbid", |it| it.info.id.0.into())
        .put("sid", |it| it.registered.owner_sid().into())
        .put("status", |it| status_of(it).into())
        .put("crdate", |it| it.created().into())
        .put("reserved", |_| DateTime::BASE.into())
        .put("cmptlevel", |it| it.compatibility_level().into())
        .put("filename", |it| it.info.files.first().map(|file| &file.path).into())
        .put("version", |it| it.version.into())
        .zero(&["mode", "status2", "category"]);
    rows.add(&columns, items(source)?)
}

fn file_status(it: &FileItem) -> i32 {
    let log = if it.file.kind == 1 { LOG_FILE } else { 0 };
    DISK_FILE | log | if it.file.is_percent_growth { PERCENT_GROWTH } else { 0 }
}

fn file_columns() -> Columns<FileItem> {
    Columns::new()
        .put("fileid", |it: &FileItem| it.file.id.into())
        .put("groupid", |it| it.file.group.into())
        .put("size", |it| it.file.size.into())
        .put("maxsize", |it| it.file.max_size.into())
        .put("growth", |it| it.file.growth.into())
        .put("status", |it| file_status(it).into())
        .put("name", |it| (&it.file.name).into())
        .put("filename", |it| (&it.file.path).into())
        .zero(&["perf"])
}

/// `sys.sysfiles`.
pub(in crate::view) fn files(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&file_columns(), current(source)?)
}

/// `sys.sysaltfiles`.
pub(in crate::view) fn all_files(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = file_columns().put("dbid", |it| it.database.into());
    rows.add(&columns, of_all(source)?)
}

/// `sys.sysfilegroups`. `status`: 16 = the default one.
pub(in crate::view) fn filegroups(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("groupid", |it: &DataSpace| it.id.into())
        .put("status", |it| if it.is_default { 16 } else { 0 }.into())
        .put("groupname", |it| (&it.name).into())
        .zero(&["allocpolicy"]);
    let groups = data_spaces(source.database)?;
    rows.add(&columns, groups.into_iter().filter(|space| space.kind != "PS"))
}
