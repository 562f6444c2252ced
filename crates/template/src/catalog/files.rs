//! Catalog rows of the files of a new database.

use std::collections::BTreeMap;

use extentdb_base::Lsn;
use extentdb_catalog::table::TableDefinition;
use extentdb_catalog::table::describe::{FRAGMENT, SystemRows, rows_of};
use extentdb_types::Guid;

use crate::file::allocation::Space;
use crate::file::fixed_pages::{FileIdentity, Identity};
use crate::spec::alteration::{History, stored_default_row};
use extentdb_catalog::table::values::RowValues;

/// Pages of the log file that the catalog names: 504 KB.
const LOG_PAGES: i32 = 63;

/// Rows of `sysseobjvalues` for the columns of a table that were added with a value.
pub(crate) fn add_stored_defaults(
    table: &TableDefinition,
    history: &History<'_>,
    rows: &mut SystemRows,
) {
    let Some(base) = table.indexes.first() else { return };
    let layout = table.layout(base);
    for (column, value) in history.stored_defaults() {
        let Some(physical) = layout.row.column(column) else { continue };
        if let Some(ty) = &physical.ty {
            let row = stored_default_row(base.rowset.0, physical.ordinal, ty, value);
            rows_of(rows, "sysseobjvalues").push(row);
        }
    }
}

/// Bits of `sysfiles1.status`: a file of data or of log, growth in percent.
const FILES_DATA: i32 = 0x2;
const FILES_LOG: i32 = 0x42;
const FILES_PERCENT: i32 = 0x10_0000;
/// Bits of `sysprufiles.status`.
const PRU_BASE: i32 = 0x200;
const PRU_PERCENT: i32 = 0x20;

/// Adds the rows of the files. File sizes are known last, so this is called after all other pages
/// are allocated.
pub(crate) fn add_files(identity: &Identity, sizes: &BTreeMap<u16, u32>, rows: &mut SystemRows) {
    let mut files: Vec<(&FileIdentity, FileKind)> =
        identity.files.iter().map(|file| (file, FileKind::Data)).collect();
    files.push((&identity.log, FileKind::Log));
    // sysfiles1 is a heap; real ones have their rows by file id.
    files.sort_by_key(|(file, _)| file.id);
    for (file, kind) in files {
        let size = match kind {
            FileKind::Data => sizes.get(&file.id.0).copied().unwrap_or(0) as i32,
            FileKind::Log => LOG_PAGES,
        };
        rows_of(rows, "sysfiles1").push(sysfiles1_row(file, kind));
        rows_of(rows, "sysprufiles").push(sysprufiles_row(file, size, kind));
    }
}

/// The sizes of the files, by id.
pub(crate) fn file_sizes(space: &Space) -> BTreeMap<u16, u32> {
    space.files.iter().map(|file| (file.id.0, file.pages())).collect()
}

/// What a file of a database holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    /// Pages of 8 KiB, with a file header first.
    Data,
    /// The transaction log.
    Log,
}

/// The row of a file in `sysfiles1`.
pub fn sysfiles1_row(file: &FileIdentity, kind: FileKind) -> RowValues {
    let status = match kind {
        FileKind::Data => FILES_DATA,
        FileKind::Log if file.growth.number().1 => FILES_LOG | FILES_PERCENT,
        FileKind::Log => FILES_LOG,
    };
    let padded = |text: &str, units: usize| {
        let mut text = text.to_owned();
        text.extend(std::iter::repeat_n(' ', units.saturating_sub(text.encode_utf16().count())));
        text
    };
    let mut row = RowValues::new();
    row.int(status)
        .smallint(file.id.0 as i16)
        .ntext(&padded(&file.name, 128))
        .ntext(&padded(&file.path, 260));
    row
}

/// The row of a file of `size` pages in `sysprufiles`.
pub fn sysprufiles_row(file: &FileIdentity, size: i32, kind: FileKind) -> RowValues {
    let is_log = kind == FileKind::Log;
    let group = if is_log { 0 } else { i32::from(file.group) };
    let (growth, is_percent) = file.growth.number();
    let status = PRU_BASE | if is_percent { PRU_PERCENT } else { 0 };
    let max_size = file.growth.pages_max.map_or(-1, |max| max as i32);
    let Guid(guid) = file.guid;
    let mut row = RowValues::new();
    row.int(FRAGMENT)
        .int(i32::from(file.id.0))
        .int(group)
        .int(status)
        .tinyint(u8::from(is_log))
        .tinyint(0);
    row.int(size).int(max_size).int(growth as i32).ntext(&file.name).ntext(&file.path);
    row.null().null().raw(&guid).int(0);
    // readonlylsn, readwritelsn, readonlybaselsn, firstupdatelsn, lastupdatelsn, backuplsn,
    // diffbaselsn, diffbaseguid
    row.null().null().null();
    match file.first_update_lsn {
        Lsn::ZERO => row.null(),
        stamp => row.raw(&stamp.to_bytes()),
    };
    row.null().null().null().null().datetime(0, 0);
    // diffbaseseclsn, redostartlsn, redotargetlsn, forkguid, forklsn; forkvc; redostartforkguid
    row.null().null().null().null().null().bigint(0).null();
    row
}
