//! The rows of the system tables as keys, and what they name.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::{AllocUnitId, ObjectId, PageId, Rid};
use extentdb_catalog::Fault;
use extentdb_catalog::bootstrap::Bootstrap;
use extentdb_catalog::system::{SystemRow, SystemTables, object};

/// A system table by the view that shows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Table {
    Objects,
    Columns,
    Indexes,
    IndexColumns,
    Partitions,
    RowsetColumns,
    AllocationUnits,
    Schemas,
    Types,
    Files,
    Filegroups,
}

/// How a system table is called.
pub(super) struct TableNames {
    /// The view's name without `sys.`.
    pub(super) view: &'static str,
    /// The base table of the view.
    pub(super) base: &'static str,
    pub(super) object: ObjectId,
    /// The columns of its key.
    pub(super) key: &'static [&'static str],
}

impl Table {
    pub(super) fn names(self) -> TableNames {
        let table = |view, base, object, key| TableNames { view, base, object, key };
        match self {
            Table::Objects => table("objects", "sysschobjs", object::SYSSCHOBJS, &["object_id"]),
            Table::Columns => {
                table("columns", "syscolpars", object::SYSCOLPARS, &["object_id", "column_id"])
            }
            Table::Indexes => {
                table("indexes", "sysidxstats", object::SYSIDXSTATS, &["object_id", "index_id"])
            }
            Table::IndexColumns => table(
                "index_columns",
                "sysiscols",
                object::SYSISCOLS,
                &["object_id", "index_id", "index_column_id"],
            ),
            Table::Partitions => {
                table("partitions", "sysrowsets", object::SYSROWSETS, &["partition_id"])
            }
            Table::RowsetColumns => table(
                "system_internals_partition_columns",
                "sysrscols",
                object::SYSRSCOLS,
                &["partition_id", "partition_column_id"],
            ),
            Table::AllocationUnits => table(
                "allocation_units",
                "sysallocunits",
                object::SYSALLOCUNITS,
                &["allocation_unit_id"],
            ),
            Table::Schemas => table("schemas", "sysclsobjs", object::SYSCLSOBJS, &["schema_id"]),
            Table::Types => {
                table("types", "sysscalartypes", object::SYSSCALARTYPES, &["user_type_id"])
            }
            Table::Files => {
                table("database_files", "sysprufiles", object::SYSPRUFILES, &["file_id"])
            }
            Table::Filegroups => {
                table("filegroups", "sysphfg", object::SYSPHFG, &["data_space_id"])
            }
        }
    }

    pub(super) fn view(self) -> &'static str {
        self.names().view
    }
}

/// The key of a row; columns that a table's key does not have are 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key(pub(super) [i64; 3]);

impl Key {
    pub(super) fn one(a: i64) -> Key {
        Key([a, 0, 0])
    }

    pub(super) fn two(a: i64, b: i64) -> Key {
        Key([a, b, 0])
    }
}

/// Something that a row of a table names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Named {
    pub(super) row: Key,
    pub(super) names: Key,
}

/// What a row names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Attribute {
    /// The object it belongs to.
    Object,
    /// The object above it: of a trigger, constraint or default.
    Parent,
    Schema,
    Index,
    Column,
    /// A type of the user.
    Type,
    /// A default constraint or bound default.
    Default,
    /// A bound rule.
    Rule,
    Rowset,
    /// The filegroup of a file.
    Filegroup,
}

/// The types of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnType {
    pub(super) row: Key,
    /// `syscolpars.xtype` or its like: the system type.
    pub(super) xtype: u8,
    /// `syscolpars.utype` or its like: `user_type_id`.
    pub(super) user_type: i64,
}

/// Why a system table proves nothing about what its rows are missed for.
#[derive(Clone, Debug)]
pub(super) struct Gap {
    pub(super) table: Table,
    /// What could not be read.
    pub(super) what: String,
    pub(super) page: Option<PageId>,
    pub(super) kind: GapKind,
}

/// What keeps a system table from being read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GapKind {
    /// Databases of this version do not have the table.
    Absent,
    /// It is not here, or stored in a way that is not supported.
    Unread,
    /// Something is wrong with it.
    Damage,
}

/// Keys of all rows, and what they name.
#[derive(Default)]
pub(super) struct Rows {
    keys: BTreeMap<Table, BTreeSet<Key>>,
    named: BTreeMap<(Table, Attribute), Vec<Named>>,
    /// `xtype` of all types by their ids.
    types: BTreeMap<i64, u8>,
    column_types: Vec<ColumnType>,
    /// What indexes name.
    index_rowsets: BTreeSet<i64>,
    /// Of 2008 or later.
    is_modern: bool,
}

/// Takes in a row; `None` when a column of it cannot be read.
type ReadRow = fn(&mut Rows, &SystemRow<'_>) -> Option<()>;

/// `sysclsobjs` class of schemas.
const SCHEMA: i64 = 50;
/// Ids of system types are below; user types and sysname begin here.
pub(super) const USER_TYPES: i64 = 257;
/// `sysschobjs.nsclass`: the name is one of a schema.
const IN_SCHEMA: i64 = 0;
/// `sysschobjs.pclass`: the parent is an object.
const PARENT_IS_OBJECT: i64 = 1;
/// `sysiscols.status`: a column of statistics, of an index.
const OF_STATISTICS: i64 = 1;
const OF_INDEX: i64 = 2;
/// `sysrowsets.ownertype` of heaps and indexes.
const OWNED_BY_INDEX: u8 = 1;
/// `sysprufiles.filetype` of data files.
const ROWS_FILE: i64 = 0;
/// The unit of sysrscols, which 2005 does not have.
pub(super) const SYSRSCOLS: AllocUnitId = AllocUnitId::SYSRSCOLS;

impl Rows {
    /// Reads all tables; those that cannot be read in full are named in `gaps`.
    pub(super) fn read(
        tables: &SystemTables<'_>,
        bootstrap: &Bootstrap,
        gaps: &mut Vec<Gap>,
    ) -> Rows {
        let is_modern = bootstrap.units.contains_key(&SYSRSCOLS);
        let mut rows = Rows { is_modern, ..Rows::default() };
        let readers: [(Table, ReadRow); 8] = [
            (Table::Objects, Rows::object),
            (Table::Columns, Rows::column),
            (Table::Indexes, Rows::index),
            (Table::IndexColumns, Rows::index_column),
            (Table::Schemas, Rows::schema),
            (Table::Types, Rows::scalar_type),
            (Table::Filegroups, Rows::filegroup),
            (Table::Files, Rows::file),
        ];
        for (table, read) in readers {
            gaps.extend(rows.read_table(tables, table, read));
        }
        rows.bootstrap(bootstrap);
        // A unit that no rowset has is a fault of the rows, not of reading them.
        if let Some(fault) =
            worst(bootstrap.faults.iter().filter(|fault| !matches!(fault, Fault::Catalog(_))))
        {
            let bootstrapped = [Table::Partitions, Table::RowsetColumns, Table::AllocationUnits];
            gaps.extend(bootstrapped.map(|table| Gap::of_fault(table, fault)));
        }
        rows
    }

    fn read_table(
        &mut self,
        tables: &SystemTables<'_>,
        table: Table,
        read: ReadRow,
    ) -> Option<Gap> {
        let mut faults: Vec<Fault> = Vec::new();
        let mut invalid: Option<Rid> = None;
        let exists = tables.each(table.names().object, &mut faults, |row| {
            if read(self, row).is_none() {
                invalid.get_or_insert(row.rid);
            }
        });
        if let Some(fault) = worst(faults.iter()) {
            return Some(Gap::of_fault(table, fault));
        }
        if let Some(rid) = invalid {
            let kind = GapKind::Damage;
            return Some(Gap {
                table,
                what: format!("row {rid}"),
                page: Some(rid.page),
                kind,
            });
        }
        if exists {
            return None;
        }
        // SQL Server 2005 keeps files and filegroups elsewhere, in tables of another form.
        let is_later = matches!(table, Table::Files | Table::Filegroups) && !self.is_modern;
        let what = format!("object_id={}", table.names().object);
        let kind = if is_later { GapKind::Absent } else { GapKind::Damage };
        Some(Gap { table, what, page: None, kind })
    }

    /// Rows that were read.
    pub(super) fn count(&self) -> u64 {
        self.keys.values().map(|keys| keys.len() as u64).sum()
    }

    pub(super) fn has(&self, table: Table, key: Key) -> bool {
        self.keys.get(&table).is_some_and(|keys| keys.contains(&key))
    }

    pub(super) fn named(&self, table: Table, attribute: Attribute) -> &[Named] {
        self.named.get(&(table, attribute)).map_or(&[], Vec::as_slice)
    }

    /// The base type of a type.
    pub(super) fn xtype(&self, user_type: i64) -> Option<u8> {
        self.types.get(&user_type).copied()
    }

    /// The types of all columns.
    pub(super) fn column_types(&self) -> &[ColumnType] {
        &self.column_types
    }

    fn add(&mut self, table: Table, key: Key) {
        self.keys.entry(table).or_default().insert(key);
    }

    fn name(&mut self, table: Table, attribute: Attribute, row: Key, names: Key) {
        self.named.entry((table, attribute)).or_default().push(Named { row, names });
    }

    fn object(&mut self, row: &SystemRow<'_>) -> Option<()> {
        let key = Key::one(row.int(1)?);
        self.add(Table::Objects, key);
        // DDL triggers and event notifications live in no schema.
        let schema = row.int(3)?;
        let class = row.int(4).unwrap_or(0);
        if schema != 0 && class == IN_SCHEMA {
            self.name(Table::Objects, Attribute::Schema, key, Key::one(schema));
        }
        let parent = row.int(7)?;
        let class = row.int(8).unwrap_or(0);
        if parent > 0 && class == PARENT_IS_OBJECT {
            self.name(Table::Objects, Attribute::Parent, key, Key::one(parent));
        }
        Some(())
    }

    fn column(&mut self, row: &SystemRow<'_>) -> Option<()> {
        let object = row.int(1)?;
        let number = row.int(2)?;
        let column = row.int(3)?;
        let key = Key::two(object, column);
        // Parameters of procedures are in the same table under a number of their own.
        if number == 0 {
            self.add(Table::Columns, key);
        }
        // Objects of the resource database have negative ids and need not be here.
        if object > 0 {
            self.name(Table::Columns, Attribute::Object, key, Key::one(object));
        }
        if let (0, Some(xtype), Some(user_type)) = (number, row.int8(5), row.int(6)) {
            self.column_types.push(ColumnType { row: key, xtype, user_type });
        }
        let attributes = [(6, Attribute::Type), (14, Attribute::Default), (15, Attribute::Rule)];
        for (at, attribute) in attributes {
            let value = row.int(at)?;
            let is_named = match attribute {
                Attribute::Type => value >= USER_TYPES,
                _ => value > 0,
            };
            if is_named {
                self.name(Table::Columns, attribute, key, Key::one(value));
            }
        }
        Some(())
    }

    fn index(&mut self, row: &SystemRow<'_>) -> Option<()> {
        let key = Key::two(row.int(1)?, row.int(2)?);
        self.add(Table::Indexes, key);
        self.index_rowsets.extend(row.int(11));
        if key.0[0] > 0 {
            self.name(Table::Indexes, Attribute::Object, key, Key::one(key.0[0]));
        }
        Some(())
    }

    fn index_column(&mut self, row: &SystemRow<'_>) -> Option<()> {
        let key = Key([row.int(1)?, row.int(2)?, row.int(3)?]);
        let status = row.int(4)?;
        let column = row.int(5)?;
        self.add(Table::IndexColumns, key);
        // What neither statistics nor an index have is of another kind.
        if status & (OF_STATISTICS | OF_INDEX) == 0 || key.0[0] <= 0 {
            return Some(());
        }
        self.name(Table::IndexColumns, Attribute::Index, key, Key::two(key.0[0], key.0[1]));
        if column > 0 {
            self.name(Table::IndexColumns, Attribute::Column, key, Key::two(key.0[0], column));
        }
        Some(())
    }

    fn schema(&mut self, row: &SystemRow<'_>) -> Option<()> {
        if row.int(1)? == SCHEMA {
            self.add(Table::Schemas, Key::one(row.int(2)?));
        }
        Some(())
    }

    fn scalar_type(&mut self, row: &SystemRow<'_>) -> Option<()> {
        let id = row.int(1)?;
        self.add(Table::Types, Key::one(id));
        self.types.extend(row.int8(4).map(|xtype| (id, xtype)));
        Some(())
    }

    fn filegroup(&mut self, row: &SystemRow<'_>) -> Option<()> {
        self.add(Table::Filegroups, Key::one(row.int(2)?));
        Some(())
    }

    fn file(&mut self, row: &SystemRow<'_>) -> Option<()> {
        let key = Key::one(row.int(2)?);
        let filegroup = row.int(3)?;
        let kind = row.int(5)?;
        self.add(Table::Files, key);
        let is_dropped = row.bytes(13).is_some_and(|lsn| lsn.iter().any(|byte| *byte != 0));
        // Logs are in no filegroup, and what the filegroups of 2005 look like was not observed.
        if kind == ROWS_FILE && filegroup > 0 && !is_dropped && self.is_modern {
            self.name(Table::Files, Attribute::Filegroup, key, Key::one(filegroup));
        }
        Some(())
    }

    fn bootstrap(&mut self, bootstrap: &Bootstrap) {
        for rowset in bootstrap.rowsets.values() {
            let key = Key::one(rowset.id.0);
            self.add(Table::Partitions, key);
            if rowset.owner_type == OWNED_BY_INDEX && rowset.object.0 > 0 {
                let index = Key::two(rowset.object.0.into(), rowset.index.0.into());
                self.name(Table::Partitions, Attribute::Index, key, index);
            }
        }
        for unit in bootstrap.units.values() {
            // Units that are to be dropped have no rowset any more, and no type.
            let is_dropped = matches!(unit.kind, extentdb_catalog::model::AllocUnitKind::Other(_));
            let is_used = !unit.first_iam.is_none() || self.index_rowsets.contains(&unit.owner.0);
            if !is_dropped && is_used {
                let key = Key::one(unit.id.0);
                let rowset = Key::one(unit.owner.0);
                self.add(Table::AllocationUnits, key);
                self.name(Table::AllocationUnits, Attribute::Rowset, key, rowset);
            }
        }
    }
}

impl Gap {
    fn of_fault(table: Table, fault: &Fault) -> Gap {
        let kind = if fault.is_damage() { GapKind::Damage } else { GapKind::Unread };
        Gap { table, what: fault.to_string(), page: fault.page(), kind }
    }
}

/// The first fault, of those that are damage when there are such.
fn worst<'f>(faults: impl Iterator<Item = &'f Fault> + Clone) -> Option<&'f Fault> {
    let mut damages = faults.clone().filter(|fault| fault.is_damage());
    damages.next().or_else(|| faults.clone().next())
}
