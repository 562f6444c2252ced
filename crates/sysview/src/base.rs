//! What base tables say beyond the model: status bits, and rows that no binder needs.
//!
//! Bits are observed in real files, or from the public texts of catalog views; those that are not
//! certain say so.

use std::collections::BTreeMap;

use extentdb_base::DatabaseId;
use extentdb_engine::model::{BaseRow, CatalogModel, Column, Index, Object, Statistics};
use extentdb_engine::{Database, Error, Instance};
use extentdb_types::{DateTime, Datum, Decimal, Guid};

/// Bits of `sysschobjs.status`.
mod object {
    pub(super) const MS_SHIPPED: u32 = 0x1;
    /// Of triggers, checks and foreign keys.
    pub(super) const DISABLED: u32 = 0x100;
    pub(super) const ANSI_NULLS: u32 = 0x4_0000;
    pub(super) const QUOTED_IDENTIFIER: u32 = 0x8_0000;
}

/// Bits of `syscolpars.status`.
mod column {
    pub(super) const ANSI_PADDED: u32 = 0x2;
    pub(super) const OUTPUT: u32 = 0x200;
}

/// Bits of `sysidxstats.status`.
mod index {
    /// By its place in the sequence of the others; not observed.
    pub(super) const IGNORE_DUP_KEY: u32 = 0x4;
    /// The same.
    pub(super) const PADDED: u32 = 0x10;
    pub(super) const NO_ROW_LOCKS: u32 = 0x200;
    pub(super) const NO_PAGE_LOCKS: u32 = 0x400;
}

/// Bits of `sysrowsets.status`.
mod rowset {
    pub(super) const UNIQUE: i64 = 0x4;
    pub(super) const NULLABLE_KEY: i64 = 0x40;
}

/// Class of `syssingleobjrefs`: the owner of a schema.
const CLASS_SCHEMA_OWNER: i64 = 50;
/// Class of `syssingleobjrefs`: the owner of a role.
const CLASS_ROLE_OWNER: i64 = 51;
/// Class of `sysmultiobjrefs`: an object depends on a column.
const CLASS_OF_COLUMNS: i64 = 1;
/// Class of `sysclsobjs`: a partition function.
const CLASS_PARTITION_FUNCTION: i64 = 30;
/// Class of `sysclsobjs`: a filegroup or partition scheme.
const CLASS_DATA_SPACE: i64 = 31;
/// Bit of `sysclsobjs.status`: the default filegroup.
const DATA_SPACE_DEFAULT: i64 = 1;

/// A datetime of days since 1900-01-01 and 1/300 s since midnight; the base date where that is
/// none.
pub(crate) fn datetime(days: i32, ticks: u32) -> DateTime {
    DateTime::new(days, ticks).unwrap_or(DateTime::BASE)
}

/// Was the object made by the product?
pub(crate) fn is_ms_shipped(object: &Object) -> bool {
    object.status & object::MS_SHIPPED != 0
}

/// The status of an object that the product has made.
pub(crate) const SHIPPED: u32 = object::MS_SHIPPED;

/// Is a trigger, check or foreign key disabled?
pub(crate) fn is_disabled(object: &Object) -> bool {
    object.status & object::DISABLED != 0
}

/// SET ANSI_NULLS was ON when the object was made.
pub(crate) fn uses_ansi_nulls(object: &Object) -> bool {
    object.status & object::ANSI_NULLS != 0
}

/// SET QUOTED_IDENTIFIER was ON when the module was made.
pub(crate) fn uses_quoted_identifier(object: &Object) -> bool {
    object.status & object::QUOTED_IDENTIFIER != 0
}

/// Does the column keep blanks at the ends of its texts?
pub(crate) fn is_ansi_padded(column: &Column) -> bool {
    column.status & column::ANSI_PADDED != 0
}

/// Is the parameter OUTPUT?
pub(crate) fn is_output(parameter: &Column) -> bool {
    parameter.status & column::OUTPUT != 0
}

/// IGNORE_DUP_KEY.
pub(crate) fn ignores_dup_key(index: &Index) -> bool {
    index.status & index::IGNORE_DUP_KEY != 0
}

/// PAD_INDEX.
pub(crate) fn is_padded(index: &Index) -> bool {
    index.status & index::PADDED != 0
}

/// ALLOW_ROW_LOCKS.
pub(crate) fn allows_row_locks(index: &Index) -> bool {
    index.status & index::NO_ROW_LOCKS == 0
}

/// ALLOW_PAGE_LOCKS.
pub(crate) fn allows_page_locks(index: &Index) -> bool {
    index.status & index::NO_PAGE_LOCKS == 0
}

/// Do no two rows of a rowset have equal keys?
pub(crate) fn is_unique_rowset(status: i64) -> bool {
    status & rowset::UNIQUE != 0
}

/// May a column of its key be NULL?
pub(crate) fn has_nullable_key(status: i64) -> bool {
    status & rowset::NULLABLE_KEY != 0
}

/// Were statistics made by a statement, as against those of an index or of the product?
pub(crate) fn is_user_created(statistics: &Statistics, is_of_index: bool) -> bool {
    !is_of_index && !statistics.is_auto_created()
}

/// The owners of schemas, by schema.
pub(crate) fn schema_owners(database: &Database) -> Result<BTreeMap<i32, i32>, Error> {
    owners(database, CLASS_SCHEMA_OWNER)
}

/// The owners of roles, by role.
pub(crate) fn role_owners(database: &Database) -> Result<BTreeMap<i32, i32>, Error> {
    owners(database, CLASS_ROLE_OWNER)
}

fn owners(database: &Database, class: i64) -> Result<BTreeMap<i32, i32>, Error> {
    let references = database.base_table("syssingleobjrefs")?;
    let owned = references.rows().filter(|row| row.number("class") == Some(class));
    Ok(owned.map(|row| (row.int("depid"), row.int("indepid"))).collect())
}

/// The columns that checks are about: for each the check, and the column of its table.
pub(crate) fn columns_of_checks(database: &Database) -> Result<Vec<(i32, i32)>, Error> {
    let references = database.base_table("sysmultiobjrefs")?;
    let of_check = references.rows().filter(|row| row.number("class") == Some(CLASS_OF_COLUMNS));
    let columns = of_check.map(|row| (row.int("depid"), row.int("indepsubid")));
    Ok(columns.filter(|(_, column)| *column != 0).collect())
}

/// A filegroup, or a partition scheme.
pub(crate) struct DataSpace {
    pub(crate) id: i32,
    pub(crate) name: String,
    /// `FG`, `PS`, …
    pub(crate) kind: String,
    pub(crate) is_default: bool,
    pub(crate) is_autogrow_all_files: bool,
    pub(crate) is_read_only: bool,
    pub(crate) guid: Option<Guid>,
}

/// Filegroups and partition schemes, by id.
pub(crate) fn data_spaces(database: &Database) -> Result<Vec<DataSpace>, Error> {
    let mut guids: BTreeMap<String, Option<Guid>> = BTreeMap::new();
    // Not before 2008.
    if database.has_base_table("sysphfg") {
        let groups = database.base_table("sysphfg")?;
        guids.extend(groups.rows().map(|row| (row.text("name"), guid(row.value("fgguid")))));
    }
    let table = database.base_table("sysclsobjs")?;
    let rows = table.rows().filter(|row| row.number("class") == Some(CLASS_DATA_SPACE));
    let autogrow = database.autogrow_all_files()?;
    let read_only = database.read_only_filegroups();
    let space = |row: BaseRow<'_>| DataSpace {
        id: row.int("id"),
        name: row.text("name"),
        kind: row.text("type").trim_end().to_owned(),
        is_default: row.number("status").is_some_and(|bits| bits & DATA_SPACE_DEFAULT != 0),
        is_autogrow_all_files: autogrow.iter().any(|id| i32::from(*id) == row.int("id")),
        is_read_only: read_only.iter().any(|id| i32::from(*id) == row.int("id")),
        guid: guids.get(&row.text("name")).copied().flatten(),
    };
    Ok(rows.map(space).collect())
}

/// Does the database have partition functions?
pub(crate) fn has_partition_functions(database: &Database) -> Result<bool, Error> {
    let table = database.base_table("sysclsobjs")?;
    let mut rows = table.rows();
    Ok(rows.any(|row| row.number("class") == Some(CLASS_PARTITION_FUNCTION)))
}

/// The guid of a value; `None` for one of zeros, which stands for none.
fn guid(value: &Datum<'_>) -> Option<Guid> {
    match value {
        Datum::Guid(guid) if *guid != Guid::default() => Some(*guid),
        _ => None,
    }
}

/// A file of a database, as `sysprufiles` lists it.
pub(crate) struct ListedFile {
    pub(crate) id: i32,
    pub(crate) group: i32,
    pub(crate) kind: i32,
    pub(crate) state: i32,
    pub(crate) size: i32,
    pub(crate) max_size: i32,
    pub(crate) growth: i32,
    pub(crate) is_percent_growth: bool,
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) guid: Option<Guid>,
    pub(crate) create_lsn: Option<Decimal>,
}

/// The files of a database that were not dropped, by id.
pub(crate) fn files(database: &Database) -> Result<Vec<ListedFile>, Error> {
    /// Bit of `sysprufiles.status`.
    const GROWTH_PERCENT: i64 = 0x20;
    // Before 2008 it has another name; then files are those that are open.
    if !database.has_base_table("sysprufiles") {
        return Ok(Vec::new());
    }
    let table = database.base_table("sysprufiles")?;
    let is_here = |row: &BaseRow<'_>| lsn(row.value("droplsn")).is_none();
    let file = |row: BaseRow<'_>| ListedFile {
        id: row.int("fileid"),
        group: row.int("grpid"),
        kind: row.int("filetype"),
        state: row.int("filestate"),
        size: row.int("size"),
        max_size: row.int("maxsize"),
        growth: row.int("growth"),
        is_percent_growth: row.number("status").is_some_and(|bits| bits & GROWTH_PERCENT != 0),
        name: row.text("lname"),
        path: row.text("pname"),
        guid: guid(row.value("fileguid")),
        create_lsn: lsn(row.value("createlsn")),
    };
    let mut files: Vec<ListedFile> = table.rows().filter(is_here).map(file).collect();
    files.sort_by_key(|file| file.id);
    Ok(files)
}

/// An LSN as catalog views show it, a decimal number: of ten bytes, the sequence number of the VLF,
/// the block and the record. `None` where there is none.
fn lsn(value: &Datum<'_>) -> Option<Decimal> {
    let Datum::Binary(bytes) = value else { return None };
    let [v0, v1, v2, v3, b0, b1, b2, b3, r0, r1] = *bytes.first_chunk::<10>()?;
    let vlf = u32::from_le_bytes([v0, v1, v2, v3]);
    let block = u32::from_le_bytes([b0, b1, b2, b3]);
    let record = u16::from_le_bytes([r0, r1]);
    if vlf == 0 && block == 0 && record == 0 {
        return None;
    }
    lsn_number(vlf, block, record)
}

/// The same of its parts: five digits for the record, ten for the block.
pub(crate) fn lsn_number(vlf: u32, block: u32, record: u16) -> Option<Decimal> {
    let number =
        (u128::from(vlf) * 10_000_000_000 + u128::from(block)) * 100_000 + u128::from(record);
    Decimal::new(false, number, 0)
}

/// What master says of a database beyond its name, state and files.
#[derive(Default)]
pub(crate) struct RegisteredDatabase {
    sid: Option<Vec<u8>>,
    pub(crate) compatibility_level: u8,
    pub(crate) broker_guid: Guid,
}

impl RegisteredDatabase {
    /// Security identifier of the owner: that of sa where master has none.
    pub(crate) fn owner_sid(&self) -> &[u8] {
        self.sid.as_deref().unwrap_or(SID_OF_SA)
    }
}

/// Security identifier of the login sa.
pub(crate) const SID_OF_SA: &[u8] = &[1];

/// The databases that master has registered, by id.
pub(crate) fn registered_databases(
    instance: &Instance,
) -> Result<BTreeMap<u16, RegisteredDatabase>, Error> {
    let table = instance.database_by_id(DatabaseId::MASTER)?.base_table("sysdbreg")?;
    let item = |row: BaseRow<'_>| {
        let registered = RegisteredDatabase {
            sid: bytes(row.value("sid")),
            compatibility_level: u8::try_from(row.int("cmptlevel")).unwrap_or(0),
            broker_guid: guid(row.value("svcbrkrguid")).unwrap_or_default(),
        };
        Some((u16::try_from(row.int("id")).ok()?, registered))
    };
    Ok(table.rows().filter_map(item).collect())
}

/// The bytes of a value; `None` for NULL.
pub(crate) fn bytes(value: &Datum<'_>) -> Option<Vec<u8>> {
    if let Datum::Binary(bytes) = value { Some(bytes.to_vec()) } else { None }
}

/// `sys.databases.page_verify_option`: by the boot page.
pub(crate) fn page_verify(model: &CatalogModel) -> u8 {
    let named = model.boot().status.to_string();
    if named.contains("checksum") { 2 } else { named.contains("torn page detection").into() }
}

/// A user or role, as `sysowners` lists it.
pub(crate) struct ListedPrincipal {
    pub(crate) id: i32,
    pub(crate) name: String,
    /// `S` user, `R` role …
    pub(crate) kind: String,
    pub(crate) sid: Option<Vec<u8>>,
    pub(crate) default_schema: Option<String>,
    pub(crate) created: DateTime,
    pub(crate) modified: DateTime,
}

/// Users and roles, by id.
pub(crate) fn principals(database: &Database) -> Result<Vec<ListedPrincipal>, Error> {
    let table = database.base_table("sysowners")?;
    let principal = |row: BaseRow<'_>| ListedPrincipal {
        id: row.int("id"),
        name: row.text("name"),
        kind: row.text("type"),
        sid: bytes(row.value("sid")),
        default_schema: Some(row.text("dfltsch")).filter(|schema| !schema.is_empty()),
        created: time(row.value("created")),
        modified: time(row.value("modified")),
    };
    Ok(table.rows().map(principal).collect())
}

fn time(value: &Datum<'_>) -> DateTime {
    if let Datum::DateTime(time) = value { *time } else { DateTime::BASE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_lsn_is_shown_as_one_number() {
        let bytes = vec![0x1e, 0, 0, 0, 0x90, 1, 0, 0, 3, 0];
        let shown = lsn(&Datum::Binary(bytes.into())).unwrap();
        assert_eq!(shown.to_string(), "30000000040000003");
        assert_eq!(lsn(&Datum::Binary(vec![0; 10].into())), None);
        assert_eq!(lsn(&Datum::Null), None);
    }

    #[test]
    fn a_time_that_is_none_is_the_first_day() {
        assert_eq!(datetime(i32::MIN, 0), datetime(0, 0));
        assert_eq!(datetime(0, 0).to_string(), "1900-01-01T00:00:00.000");
    }
}
