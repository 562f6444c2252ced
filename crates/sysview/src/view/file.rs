//! `sys.database_files`, `sys.master_files`.
//!
//! Of a database that is online, files are as its base table lists them, with their sizes and
//! growth now; of others as master has registered them.

use extentdb_base::FileId;
use extentdb_base::size::PAGE_BYTES;
use extentdb_engine::{Database, DatabaseInfo, FileGrowth, RegisteredFile};

use crate::base::{self, ListedFile};
use crate::code;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::value::Value;

/// No limit.
const UNLIMITED: i32 = -1;
/// States of files.
const ONLINE: i32 = 0;
const OFFLINE: i32 = 6;
/// Types of files.
const ROWS: i32 = 0;
const LOG: i32 = 1;

/// A file of a database.
pub(super) struct FileItem {
    pub(super) database: u16,
    pub(super) file: ListedFile,
    is_read_only: bool,
}

/// The files of a database that is online.
fn files_of(database: &Database, registered: &[RegisteredFile]) -> Result<Vec<ListedFile>, Error> {
    let mut files = base::files(database)?;
    if files.is_empty() {
        let open = |file| ListedFile { state: ONLINE, ..as_registered(file) };
        files.extend(registered.iter().map(open));
    }
    for file in &mut files {
        if let Some(own) = registered.iter().find(|own| i32::from(own.id.0) == file.id) {
            file.path.clone_from(&own.path);
        }
        set_size(database, file);
    }
    Ok(files)
}

/// Size and growth as they are now.
fn set_size(database: &Database, file: &mut ListedFile) {
    let pages = |pages: u32| i32::try_from(pages).unwrap_or(i32::MAX);
    if file.kind == LOG {
        // Of all VLFs, and the header page.
        let bytes = database.log().total_bytes();
        let now = bytes.div_ceil(PAGE_BYTES as u64) + 1;
        file.size = i32::try_from(now).unwrap_or(i32::MAX);
        return;
    }
    let id = u16::try_from(file.id).map(FileId);
    let Some(open) = id.ok().and_then(|id| database.space().file(id).ok()) else { return };
    let description = open.description();
    file.size = pages(open.pages());
    file.max_size = description.pages_max.map_or(UNLIMITED, pages);
    file.is_percent_growth = matches!(description.growth, FileGrowth::Percent(_));
    file.growth = match description.growth {
        FileGrowth::Pages(by) | FileGrowth::Percent(by) => pages(by),
    };
}

/// A file of a database that is not online.
fn as_registered(file: &RegisteredFile) -> ListedFile {
    ListedFile {
        id: file.id.0.into(),
        group: file.group,
        kind: if file.is_log { LOG } else { ROWS },
        state: OFFLINE,
        size: file.pages,
        max_size: UNLIMITED,
        growth: 0,
        is_percent_growth: false,
        name: file.name.clone(),
        path: file.path.clone(),
        guid: None,
        create_lsn: None,
    }
}

fn items_of(source: &Source<'_>, info: &DatabaseInfo) -> Result<Vec<FileItem>, Error> {
    let (files, groups) = match source.instance.database_by_id(info.id) {
        Ok(database) => (files_of(&database, &info.files)?, database.read_only_filegroups()),
        Err(_) => (info.files.iter().map(as_registered).collect(), Vec::new()),
    };
    let item = |file: ListedFile| FileItem {
        database: info.id.0,
        is_read_only: info.is_read_only || groups.iter().any(|id| i32::from(*id) == file.group),
        file,
    };
    Ok(files.into_iter().map(item).collect())
}

/// The files of the current database.
pub(super) fn current(source: &Source<'_>) -> Result<Vec<FileItem>, Error> {
    let id = source.database_id();
    if let Some(info) = source.databases().iter().find(|info| info.id == id) {
        return items_of(source, info);
    }
    let files = files_of(source.database, &[])?;
    let is_read_only = source.database.is_read_only();
    Ok(files.into_iter().map(|file| FileItem { database: id.0, file, is_read_only }).collect())
}

/// The files of all databases.
pub(super) fn of_all(source: &Source<'_>) -> Result<Vec<FileItem>, Error> {
    let of_each: Vec<Vec<FileItem>> =
        source.databases().iter().map(|info| items_of(source, info)).collect::<Result<_, _>>()?;
    Ok(of_each.into_iter().flatten().collect())
}

fn shared() -> Columns<FileItem> {
    Columns::new()
        .put("file_id", |it: &FileItem| it.file.id.into())
        .put("file_guid", |it| it.file.guid.into())
        .put("type", |it| it.file.kind.into())
        .put("type_desc", |it| code::file_type(it.file.kind).into())
        .put("data_space_id", |it| it.file.group.into())
        .put("name", |it| (&it.file.name).into())
        .put("physical_name", |it| (&it.file.path).into())
        .put("state", |it| it.file.state.into())
        .put("state_desc", |it| code::file_state(it.file.state).into())
        .put("size", |it| it.file.size.into())
        .put("max_size", |it| it.file.max_size.into())
        .put("growth", |it| it.file.growth.into())
        .put("is_read_only", |it| (it.is_read_only && it.file.state == ONLINE).into())
        .put("is_percent_growth", |it| it.file.is_percent_growth.into())
        .put("create_lsn", |it| it.file.create_lsn.into())
        .zero(&["is_media_read_only", "is_sparse", "is_name_reserved"])
        .zero(&["is_persistent_log_buffer"])
        .null(&["drop_lsn", "read_only_lsn", "read_write_lsn", "differential_base_lsn"])
        .null(&["differential_base_guid", "differential_base_time", "redo_start_lsn"])
        .null(&["redo_start_fork_guid", "redo_target_lsn", "redo_target_fork_guid"])
        .null(&["backup_lsn"])
}

/// `sys.database_files`.
pub(super) fn of_database(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&shared(), current(source)?)
}

/// `sys.master_files`.
pub(super) fn of_server(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns =
        shared().put("database_id", |it| Value::from(it.database)).null(&["credential_id"]);
    rows.add(&columns, of_all(source)?)
}
