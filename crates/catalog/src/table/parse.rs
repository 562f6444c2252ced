//! Reads `base_tables.tsv`, `later_tables.tsv` and `master_tables.tsv`.

use extentdb_base::{AllocUnitId, HobtId, IndexId, ObjectId};
use extentdb_types::{Collation, SqlType};

use super::DefinitionError;
use super::definition::{
    ColumnDefinition, ColumnHistory, IndexDefinition, KeyColumn, TableDefinition, UnitDefinition,
};
use crate::layout::Compression;
use crate::model::{AllocUnitKind, IndexKind, ObjectType};

const FILE: &str = "base_tables.tsv";
const TEXT: &str = include_str!("base_tables.tsv");
const LATER_FILE: &str = "later_tables.tsv";
const LATER_TEXT: &str = include_str!("later_tables.tsv");
const MASTER_FILE: &str = "master_tables.tsv";
const MASTER_TEXT: &str = include_str!("master_tables.tsv");
/// `char` columns of base tables that name no collation: Latin1_General_CI_AS_KS_WS in every
/// database.
const CHAR_COLLATION: u32 = 0x1008;
const SYS_SCHEMA: i32 = 4;
const SYSNAME: i32 = 256;
/// The filegroup of the catalog.
const PRIMARY: i32 = 1;

/// The base tables and internal tables of a database of version 661; names in the collation given.
///
/// # Errors
/// The embedded table is damaged.
pub fn base_tables(collation: u32) -> Result<Vec<TableDefinition>, DefinitionError> {
    parse(FILE, TEXT, collation)
}

/// Base tables that came with later versions and that a database made here needs now and then:
/// sysseobjvalues, which keeps the values of columns that were added to rows without rewriting them
/// (version 706).
///
/// # Errors
/// The embedded table is damaged.
pub fn later_tables(collation: u32) -> Result<Vec<TableDefinition>, DefinitionError> {
    parse(LATER_FILE, LATER_TEXT, collation)
}

/// Base tables of `master` besides those of every database: the databases of the instance
/// (`sysdbreg`), their files (`sysbrickfiles`), its logins (`sysxlgns`).
///
/// # Errors
/// The embedded table is damaged.
pub fn master_tables(collation: u32) -> Result<Vec<TableDefinition>, DefinitionError> {
    parse(MASTER_FILE, MASTER_TEXT, collation)
}

fn parse(
    file: &'static str,
    text: &str,
    collation: u32,
) -> Result<Vec<TableDefinition>, DefinitionError> {
    let mut tables: Vec<TableDefinition> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let fail = |what| DefinitionError { file, line, what };
        let fields: Vec<&str> = text.split('\t').collect();
        if text.starts_with('#') {
            continue;
        }
        if let ["table", rest @ ..] = fields.as_slice() {
            tables.push(table(rest).ok_or(fail("not a table"))?);
            continue;
        }
        let table = tables.last_mut().ok_or(fail("before the first table"))?;
        match fields.as_slice() {
            ["column", rest @ ..] => {
                table.columns.push(column(rest, collation).ok_or(fail("not a column"))?);
            }
            ["index", rest @ ..] => {
                let index = index(rest, table).ok_or(fail("not an index"))?;
                table.indexes.push(index);
            }
            ["unit", rest @ ..] => {
                let units = table.indexes.last_mut().map(|index| &mut index.units);
                let units = units.ok_or(fail("before the first index"))?;
                add_unit(rest, units).ok_or(fail("not an allocation unit"))?;
            }
            _ => return Err(fail("unknown kind of line")),
        }
    }
    Ok(tables)
}

fn table(fields: &[&str]) -> Option<TableDefinition> {
    let [id, name, kind, status, parent] = fields else { return None };
    Some(TableDefinition {
        id: ObjectId(id.parse().ok()?),
        name: (*name).to_owned(),
        schema_id: SYS_SCHEMA,
        kind: if *kind == "S" { ObjectType::SYSTEM_TABLE } else { ObjectType::INTERNAL_TABLE },
        status: hex(status)?,
        parent: ObjectId(parent.parse().ok()?),
        columns: Vec::new(),
        indexes: Vec::new(),
    })
}

fn hex(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn column(fields: &[&str], collation: u32) -> Option<ColumnDefinition> {
    let [name, ty, nullability, rest @ ..] = fields else { return None };
    let (nullable, stored_nullable) = match *nullability {
        "null" => (true, true),
        "not null" => (false, false),
        "null stored as not null" => (true, false),
        _ => return None,
    };
    let own_collation = rest.first().and_then(|text| text.parse().ok());
    let ty_of = |ty: &str| type_by_name(ty, own_collation, collation);
    let (ty, user_type) = match *ty {
        "sysname" => (ty_of("nvarchar(128)")?, SYSNAME),
        other => ty_of(other).map(|ty| (ty, i32::from(ty.xtype())))?,
    };
    // An identity column of a queue that never had a row: last value 0, increment 1, seed 0, no
    // value yet.
    let identity = (rest == ["identity"]).then(|| {
        let mut value = vec![0; 25];
        for at in [8, 24] {
            if let Some(byte) = value.get_mut(at) {
                *byte = 1;
            }
        }
        value
    });
    let name = (*name).to_owned();
    Some(ColumnDefinition {
        name,
        ty,
        user_type,
        nullable,
        stored_nullable,
        identity,
        default_object: ObjectId(0),
        computed: None,
        row_guid: false,
        history: ColumnHistory::default(),
    })
}

fn type_by_name(text: &str, own_collation: Option<u32>, collation: u32) -> Option<SqlType> {
    let (name, len) = match text.split_once('(') {
        Some((name, rest)) => (name, Some(rest.strip_suffix(')')?)),
        None => (text, None),
    };
    let bytes = |width: u16| match len? {
        "max" => Some(None),
        digits => digits.parse::<u16>().ok()?.checked_mul(width).map(Some),
    };
    let fixed = |width| bytes(width).flatten();
    let named = Collation(own_collation.unwrap_or(collation));
    Some(match name {
        "bit" => SqlType::Bit,
        "tinyint" => SqlType::TinyInt,
        "smallint" => SqlType::SmallInt,
        "int" => SqlType::Int,
        "bigint" => SqlType::BigInt,
        "datetime" => SqlType::DateTime,
        "uniqueidentifier" => SqlType::UniqueIdentifier,
        "sql_variant" => SqlType::SqlVariant,
        "char" => SqlType::Char {
            len: fixed(1)?,
            collation: Collation(own_collation.unwrap_or(CHAR_COLLATION)),
        },
        "nchar" => SqlType::NChar { len: fixed(2)?, collation: named },
        "nvarchar" => SqlType::NVarChar { len: bytes(2)?, collation: named },
        "binary" => SqlType::Binary { len: fixed(1)? },
        "varbinary" => SqlType::VarBinary { len: bytes(1)? },
        _ => return None,
    })
}

fn index(fields: &[&str], table: &TableDefinition) -> Option<IndexDefinition> {
    let [id, name, kind, keys, included, status, rowset, rowset_status, min_interior] = fields
    else {
        return None;
    };
    let columns = |names: &str| -> Option<Vec<i32>> {
        names.split(',').filter(|name| *name != "~").map(|name| table.column_id(name)).collect()
    };
    let keys = columns(keys)?
        .into_iter()
        .map(|column_id| KeyColumn { column_id, descending: false })
        .collect();
    let rowset = HobtId(rowset.parse().ok()?);
    let kind = match *kind {
        "heap" => IndexKind::Heap,
        "clustered" => IndexKind::Clustered,
        "nonclustered" => IndexKind::Nonclustered,
        _ => return None,
    };
    Some(IndexDefinition {
        id: IndexId(id.parse().ok()?),
        name: (*name != "~").then(|| (*name).to_owned()),
        kind,
        keys,
        included: columns(included)?,
        status: hex(status)?,
        data_space: PRIMARY,
        filegroup: PRIMARY as i16,
        partition: 1,
        partition_column: 0,
        rest: Vec::new(),
        filter: None,
        rowset,
        rowset_status: hex(rowset_status)?,
        compression: Compression::None,
        fill_factor: 0,
        hides_min_interior: kind != IndexKind::Heap && *min_interior == "0",
        units: vec![UnitDefinition { kind: AllocUnitKind::InRow, id: AllocUnitId(rowset.0) }],
    })
}

fn add_unit(fields: &[&str], units: &mut Vec<UnitDefinition>) -> Option<()> {
    let [kind, id] = fields else { return None };
    let unit = UnitDefinition {
        kind: AllocUnitKind::from_type(kind.parse().ok()?),
        id: AllocUnitId(id.parse().ok()?),
    };
    match units.first_mut().filter(|first| first.kind == unit.kind) {
        Some(first) => *first = unit,
        None => units.push(unit),
    }
    Some(())
}
