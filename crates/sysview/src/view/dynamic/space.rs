//! `sys.dm_db_file_space_usage`.

use extentdb_base::DatabaseId;

use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

/// Pages of an extent.
const EXTENT: u64 = extentdb_base::size::PAGES_PER_EXTENT as u64;

/// Pages of a data file.
struct Item {
    database: DatabaseId,
    file: u16,
    group: i16,
    pages: u64,
    free: u64,
    version_store: u64,
}

/// `sys.dm_db_file_space_usage`: of the data files of the current database. The version store is in
/// the first file of tempdb, as far as it is told.
pub(in crate::view) fn files(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("database_id", |it: &Item| it.database.0.into())
        .put("file_id", |it| it.file.into())
        .put("filegroup_id", |it| it.group.into())
        .put("total_page_count", |it| it.pages.into())
        .put("allocated_extent_page_count", |it| it.pages.saturating_sub(it.free).into())
        .put("unallocated_extent_page_count", |it| it.free.into())
        .put("version_store_reserved_page_count", |it| it.version_store.into())
        .null(&["user_object_reserved_page_count", "internal_object_reserved_page_count"])
        .null(&["mixed_extent_page_count", "modified_extent_page_count"]);
    let database = source.database_id();
    let versions = source.instance.versions().store.reserved_pages;
    let items = source.database.space().files().into_iter().map(|file| Item {
        database,
        file: file.id().0,
        group: file.description().group,
        pages: file.pages().into(),
        free: u64::from(file.unused_extents()) * EXTENT,
        version_store: if database == DatabaseId::TEMPDB && file.id().0 == 1 {
            versions
        } else {
            0
        },
    });
    rows.add(&columns, items)
}
