//! Builds the model from the system tables.

use std::collections::{BTreeMap, HashMap};

use extentdb_base::{FileId, HobtId, IndexId, ObjectId, PageId};
use extentdb_format::PageBuf;
use extentdb_format::allocation::boot::{BootRecord, BootView};
use extentdb_types::{CharText, CodePage, SqlType};

use crate::bootstrap::Bootstrap;
use crate::error::{Error, Fault};
use crate::model::{
    AddedDefault, Catalog, Column, DataSpace, DatabaseFile, Index, IndexColumn, IndexKind, Object,
    ObjectType, ScalarType, Table,
};
use crate::pages::PageGetter;
use crate::system::{SystemRow, SystemSource, SystemTables, object, utf16};

mod column;
mod constraint;
mod described;
pub use described::{CLASS_ROLE_MEMBER, CLASS_ROLE_OWNER, CLASS_SCHEMA_OWNER};
mod partition;
mod texts;

use texts::Texts;

impl Catalog {
    /// Reads the boot page and all system tables.
    ///
    /// # Errors
    /// Without boot page, objects and columns there is no catalog. Everything else that cannot be
    /// read is listed in [`Catalog::faults`].
    pub fn load(pages: &dyn PageGetter) -> Result<Catalog, Error> {
        let boot = boot_of(pages)?;
        let bootstrap = Bootstrap::load(pages, boot.first_sys_indexes);
        let tables = SystemTables::new(pages, &bootstrap);
        Catalog::load_from(&tables, boot).map(|mut catalog| {
            let Bootstrap { units, rowsets, mut faults } = bootstrap;
            (catalog.units, catalog.rowsets) = (units, rowsets);
            faults.append(&mut catalog.faults);
            catalog.faults = faults;
            catalog
        })
    }

    /// Builds the model of what a source has rows of, without rowsets and allocation units.
    ///
    /// # Errors
    /// There is no object.
    pub fn load_from(source: &dyn SystemSource, boot: BootRecord) -> Result<Catalog, Error> {
        Loader { tables: source, faults: Vec::new() }.load(boot)
    }
}

struct Loader<'g> {
    tables: &'g dyn SystemSource,
    faults: Vec<Fault>,
}

/// Rows of `sysidxstats` that stand for an index, with their table.
type Indexes = BTreeMap<ObjectId, BTreeMap<IndexId, Index>>;

impl Loader<'_> {
    fn load(mut self, boot: BootRecord) -> Result<Catalog, Error> {
        let objects = self.objects();
        if objects.is_empty() {
            return Err(Error::MissingTable { name: "sysschobjs", object: object::SYSSCHOBJS });
        }
        let (schemas, filegroups) = self.schemas_and_filegroups();
        let (partition_functions, partition_schemes) = self.partitions(&filegroups);
        let types = self.types();
        let texts = self.texts();
        let mut columns = self.columns(&types, &schemas, &texts);
        let mut indexes = self.indexes(&texts);
        let mut catalog = Catalog {
            boot,
            principals: self.principals(),
            files: self.files(),
            added_defaults: self.added_defaults(),
            foreign_keys: self.foreign_keys(&objects),
            schemas,
            types,
            filegroups,
            partition_functions,
            partition_schemes,
            tables: BTreeMap::new(),
            units: BTreeMap::new(),
            rowsets: BTreeMap::new(),
            defaults: Vec::new(),
            checks: Vec::new(),
            modules: Vec::new(),
            faults: Vec::new(),
            objects: BTreeMap::new(),
            synonyms: BTreeMap::new(),
            view_columns: BTreeMap::new(),
        };
        for object in objects.values() {
            let columns = columns.remove(&object.id);
            let indexes = indexes.remove(&object.id);
            if object.kind.is_table()
                || indexes.as_ref().is_some_and(|i| i.values().any(|i| i.id.0 <= 1))
            {
                let mut columns = columns.unwrap_or_default();
                self.mark_persisted(object.id, &mut columns);
                let table = table(&catalog, object, columns, indexes.unwrap_or_default());
                catalog.tables.insert(object.id, table);
            } else if let Some(columns) = columns {
                catalog.view_columns.insert(object.id, columns);
            }
            constraint::sort(object, &texts, &mut catalog);
            described::sort(object, &texts, &mut catalog);
        }
        catalog.objects = objects;
        catalog.faults = self.faults;
        Ok(catalog)
    }

    /// A computed column is stored when the rows have a place for it.
    fn mark_persisted(&self, table: ObjectId, columns: &mut [Column]) {
        if columns.iter().all(|column| column.computed.is_none()) {
            return;
        }
        let rowsets = self.tables.rowsets();
        let base = rowsets.iter().find(|rowset| rowset.object == table && rowset.index.0 <= 1);
        let layout = base.map(|rowset| &rowset.layout);
        for column in columns.iter_mut().filter(|column| column.computed.is_some()) {
            column.persisted = layout.is_some_and(|layout| layout.column(column.id).is_some());
        }
    }

    fn objects(&mut self) -> BTreeMap<ObjectId, Object> {
        let mut out = BTreeMap::new();
        self.tables.each(object::SYSSCHOBJS, &mut self.faults, |row| {
            if let Some(object) = read_object(row) {
                out.insert(object.id, object);
            }
        });
        out
    }

    fn schemas_and_filegroups(&mut self) -> (BTreeMap<i32, String>, Vec<DataSpace>) {
        const CLASS_SCHEMA: i64 = 50;
        const CLASS_DATA_SPACE: i64 = 31;
        let mut schemas = BTreeMap::new();
        let mut spaces = Vec::new();
        self.tables.each(object::SYSCLSOBJS, &mut self.faults, |row| {
            let (Some(class), Some(id), Some(name)) = (row.int(1), row.int32(2), row.text(3))
            else {
                return;
            };
            if class == CLASS_SCHEMA {
                schemas.insert(id, name);
            } else if class == CLASS_DATA_SPACE {
                let kind = row.ascii(5).unwrap_or_default();
                let default = row.bits(4).is_some_and(|status| status & 1 != 0);
                spaces.push(DataSpace { id, name, kind, default });
            }
        });
        (schemas, spaces)
    }

    fn principals(&mut self) -> BTreeMap<i32, String> {
        let mut out = BTreeMap::new();
        self.tables.each(object::SYSOWNERS, &mut self.faults, |row| {
            if let (Some(id), Some(name)) = (row.int32(1), row.text(2)) {
                out.insert(id, name);
            }
        });
        out
    }

    fn types(&mut self) -> BTreeMap<i32, ScalarType> {
        let mut out = BTreeMap::new();
        self.tables.each(object::SYSSCALARTYPES, &mut self.faults, |row| {
            if let Some(ty) = read_type(row) {
                out.insert(ty.id, ty);
            }
        });
        self.tables.each(object::SYSSINGLEOBJREFS, &mut self.faults, |row| {
            if row.int8(1) == Some(CLASS_TABLE_OF_TYPE)
                && let (Some(id), Some(table)) = (row.int32(2), row.int32(4))
                && let Some(ty) = out.get_mut(&id)
            {
                ty.table = Some(ObjectId(table));
            }
        });
        out
    }

    fn indexes(&mut self, texts: &Texts) -> Indexes {
        let mut out = Indexes::new();
        self.tables.each(object::SYSIDXSTATS, &mut self.faults, |row| {
            if let Some((table, mut index)) = read_index(row) {
                index.filter = texts.filter(table, index.id);
                out.entry(table).or_default().insert(index.id, index);
            }
        });
        self.index_columns(&mut out);
        self.index_rowsets(&mut out);
        out
    }

    fn index_columns(&mut self, indexes: &mut Indexes) {
        /// The row belongs to an index, not only to statistics.
        const STATUS_INDEX: u32 = 0x2;
        const STATUS_DESCENDING: u32 = 0x4;
        const STATUS_INCLUDED: u32 = 0x10;
        self.tables.each(object::SYSISCOLS, &mut self.faults, |row| {
            let (Some(table), Some(index), Some(status)) =
                (row.int32(1), row.int32(2), row.bits(4))
            else {
                return;
            };
            let index = indexes.get_mut(&ObjectId(table)).and_then(|i| i.get_mut(&IndexId(index)));
            let column = (row.int32(3), row.int32(5), row.int8(6));
            if let (Some(index), (Some(ordinal), Some(column_id), Some(key_ordinal))) =
                (index, column)
                && status & STATUS_INDEX != 0
            {
                let descending = status & STATUS_DESCENDING != 0;
                let included = status & STATUS_INCLUDED != 0;
                let partition_ordinal = row.int8(7).unwrap_or(0);
                index.columns.push(IndexColumn {
                    ordinal,
                    column_id,
                    key_ordinal,
                    included,
                    descending,
                    partition_ordinal,
                });
            }
        });
        for index in indexes.values_mut().flat_map(BTreeMap::values_mut) {
            // Stable: included columns keep their order after the key.
            index.columns.sort_by_key(|column| {
                if column.key_ordinal == 0 { u8::MAX } else { column.key_ordinal }
            });
        }
    }

    /// Partitions come from `sysrowsets`, because `sysidxstats` names only one of them.
    fn index_rowsets(&mut self, indexes: &mut Indexes) {
        let mut partitions: BTreeMap<(ObjectId, IndexId), Vec<(i32, HobtId)>> = BTreeMap::new();
        for rowset in self.tables.rowsets() {
            partitions
                .entry((rowset.object, rowset.index))
                .or_default()
                .push((rowset.partition, rowset.id));
        }
        for (table, indexes) in indexes {
            for index in indexes.values_mut() {
                let Some(mut rowsets) = partitions.remove(&(*table, index.id)) else {
                    index.disabled = index.id.0 > 1;
                    continue;
                };
                rowsets.sort_unstable();
                index.rowsets = rowsets.into_iter().map(|(_, id)| id).collect();
            }
        }
    }

    fn files(&mut self) -> Vec<DatabaseFile> {
        let mut out = Vec::new();
        self.tables.each(object::SYSPRUFILES, &mut self.faults, |row| out.extend(read_file(row)));
        out.sort_by_key(|file| file.id);
        out
    }

    /// `sysseobjvalues`: a column that was added NOT NULL with a default has its value here, not in
    /// the old rows. The columns are numbered by their order in the record (observed in a file of
    /// version 852, where `subid` 8 is the column with `hbcolid` 8 and `rscolid` 7).
    fn added_defaults(&mut self) -> HashMap<(HobtId, i32), AddedDefault> {
        let mut out = HashMap::new();
        let mut faults = Vec::new();
        self.tables.each(object::SYSSEOBJVALUES, &mut self.faults, |row| {
            let (Some(rowset), Some(column)) = (row.int(2), row.int32(3)) else { return };
            let variant = row.bytes(5).filter(|bytes| !bytes.is_empty());
            let value = match variant {
                Some(bytes) => Some(AddedDefault::Variant(bytes.into_owned())),
                None => row
                    .value(6, ADDED_DEFAULT_BYTES_MAX)
                    .unwrap_or_else(|fault| {
                        faults.push(fault);
                        None
                    })
                    .map(AddedDefault::Bytes),
            };
            if let Some(value) = value {
                out.insert((HobtId(rowset), column), value);
            }
        });
        self.faults.append(&mut faults);
        out
    }
}

/// A default is a value of a column; the (max) ones of real tables are empty or short.
const ADDED_DEFAULT_BYTES_MAX: usize = 1 << 20;

fn boot_of(pages: &dyn PageGetter) -> Result<BootRecord, Error> {
    let mut page = PageBuf::zeroed();
    pages.page(PageId::BOOT, &mut page).map_err(Error::Boot)?;
    BootView::new(&page).record().ok_or_else(|| not_boot(&page))
}

fn not_boot(page: &PageBuf) -> Error {
    let faults = BootView::new(page).faults();
    Error::NotBoot(format!("{faults:?}"))
}

fn table(
    catalog: &Catalog,
    object: &Object,
    columns: Vec<Column>,
    indexes: BTreeMap<IndexId, Index>,
) -> Table {
    Table {
        id: object.id,
        schema: catalog.schema_name(object.schema_id),
        name: object.name.clone(),
        kind: object.kind,
        columns,
        indexes: indexes.into_values().collect(),
    }
}

fn read_object(row: &SystemRow<'_>) -> Option<Object> {
    let kind = row.bytes(6)?;
    Some(Object {
        id: ObjectId(row.int32(1)?),
        name: row.text(2)?,
        schema_id: row.int32(3)?,
        status: row.bits(5)?,
        kind: ObjectType([*kind.first()?, *kind.get(1)?]),
        parent: ObjectId(row.int32(7)?),
        int_prop: row.int32(9)?,
        created: row.datetime(10),
        modified: row.datetime(11),
    })
}

/// Class of `syssingleobjrefs`: a table type, and the table behind it. Chosen: a file of the
/// product with table types was not seen.
pub const CLASS_TABLE_OF_TYPE: u8 = 56;

fn read_type(row: &SystemRow<'_>) -> Option<ScalarType> {
    let id = row.int32(1)?;
    let length = row.int(5)? as i16;
    let prec = row.int8(6)?;
    let scale = row.int8(7)?;
    let collation = row.bits(8)?;
    Some(ScalarType {
        id,
        schema_id: row.int32(2)?,
        name: row.text(3)?,
        ty: SqlType::from_column(row.int8(4)?, id, length, prec, scale, collation),
        not_null: row.bits(9)? & 1 != 0,
        table: None,
    })
}

/// Status bits of `sysidxstats`. 0x1, 0x8, 0x20 and 0x40 were observed; the rest is from public
/// documentation.
mod index_status {
    pub(super) const UNIQUE: u32 = 0x8;
    pub(super) const PRIMARY_KEY: u32 = 0x20;
    pub(super) const UNIQUE_CONSTRAINT: u32 = 0x40;
    pub(super) const DISABLED: u32 = 0x80;
    pub(super) const HYPOTHETICAL: u32 = 0x100;
}

/// `None` for rows that are only statistics.
fn read_index(row: &SystemRow<'_>) -> Option<(ObjectId, Index)> {
    let id = row.int32(2)?;
    let status = row.bits(4)?;
    let kind = row.int8(7)?;
    let statistics_only = kind == 0 && id != 0;
    if statistics_only || status & index_status::HYPOTHETICAL != 0 {
        return None;
    }
    let index = Index {
        id: IndexId(id),
        name: row.text(3).filter(|name| !name.is_empty()),
        kind: IndexKind::from_type(kind),
        unique: status & index_status::UNIQUE != 0,
        primary_key: status & index_status::PRIMARY_KEY != 0,
        unique_constraint: status & index_status::UNIQUE_CONSTRAINT != 0,
        disabled: status & index_status::DISABLED != 0,
        text_in_row: row.int(5).and_then(|limit| u16::try_from(limit).ok()).unwrap_or(0),
        fill_factor: row.int8(6)?,
        status,
        data_space: row.int32(9)?,
        named_rowset: HobtId(row.int(11).unwrap_or(0)),
        filter: None,
        columns: Vec::new(),
        rowsets: Vec::new(),
    };
    Some((ObjectId(row.int32(1)?), index))
}

fn read_file(row: &SystemRow<'_>) -> Option<DatabaseFile> {
    const STATUS_GROWTH_PERCENT: u32 = 0x20;
    Some(DatabaseFile {
        id: FileId(u16::try_from(row.int(2)?).ok()?),
        filegroup: row.int32(3)?,
        file_type: row.int8(5)?,
        state: row.int8(6)?,
        size: row.int32(7)?,
        max_size: row.int32(8)?,
        growth: row.int32(9)?,
        growth_percent: row.bits(4)? & STATUS_GROWTH_PERCENT != 0,
        name: without_zeros(row.text(10)?),
        path: without_zeros(row.text(11)?),
        dropped: row.bytes(13).is_some_and(|lsn| lsn.iter().any(|&b| b != 0)),
        guid: row.guid(14),
    })
}

/// A name before the zeros that fill it up; see
/// [`before_zero`](extentdb_format::allocation::field::before_zero).
fn without_zeros(mut name: String) -> String {
    name.truncate(name.find('\0').unwrap_or(name.len()));
    name
}

/// Text as `sysobjvalues` stores it: `encoding` 2 is one byte per character in code page 1252, 0 is
/// UTF-16LE.
fn stored_text(encoding: i64, bytes: &[u8]) -> Option<String> {
    match encoding {
        0 => Some(utf16(bytes)),
        2 => {
            let text = CharText { bytes: bytes.into(), code_page: CodePage::Cp1252 };
            Some(text.decode().0.into_owned())
        }
        _ => None,
    }
}
