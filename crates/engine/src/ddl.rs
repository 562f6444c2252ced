//! Tables come and go: rows of the system tables, changed in the session's transaction like any other.

use std::borrow::Cow;

use extentdb_base::sync::{Arc, lock, read, write};
use extentdb_base::{AllocUnitId, HobtId, IndexId, ObjectId};
use extentdb_catalog::layout::{Cell, Compression};
use extentdb_catalog::model::{AllocUnitKind, IndexKind, ObjectType};
use extentdb_catalog::table::definition::rowset_status;
use extentdb_catalog::table::describe::{
    Child, ChildKind, SystemRows, UnitPlace, add_child, add_rowsets, add_table, unit_row,
};
use extentdb_catalog::table::{
    ColumnDefinition, IndexDefinition, RowsetLayout, Source, TableDefinition, UnitDefinition,
};
use extentdb_format::allocation::field::StoredTime;
use extentdb_rowset::RowShape;
use extentdb_rowset::heap::Heap;
use extentdb_space::{Counts, Freed, Unit, UnitDescription};
use extentdb_txn::lock::{LockMode, Resource};
use extentdb_txn::log_time;
use extentdb_types::SqlType;

use crate::boot::{Counter, take};
use crate::column::TableColumn;
use crate::constraint::Constraints;
use crate::error::Error;
use crate::identity::Identity;
use crate::index::{Index, plain_column};
use crate::index_ddl::IndexSpec;
use crate::session::{Ending, Session};
use crate::storage::{Base, Storage, heap_shape};
use crate::system_table::{Cells, bigint, int, number};
use crate::table::Table;

/// Object ids go up by this, modulo 2^31.
const OBJECT_ID_STEP: u64 = 16_000_057;
/// `sysschobjs.status` of user tables.
const TABLE_STATUS: u32 = 0xe_0000;
/// `sysidxstats.status` of a heap: there is a rowset.
const HAS_ROWSET: u32 = 0x1;
const NAME_UNITS_MAX: usize = 128;
const COLUMNS_MAX: usize = 1024;
const PRIMARY: i16 = 1;
/// Columns of sysschobjs.
pub(crate) mod object {
    pub(crate) const ID: usize = 0;
    pub(crate) const NAME: usize = 1;
    pub(crate) const SCHEMA: usize = 2;
    pub(crate) const PARENT: usize = 6;
    /// Of a table: how many columns it has had.
    pub(crate) const COUNT: usize = 8;
}

/// A column of a new table.
#[derive(Clone, Debug)]
pub struct ColumnSpec {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// May be NULL.
    pub nullable: bool,
    /// IDENTITY: seed and increment.
    pub identity: Option<(i32, i32)>,
    /// DEFAULT: name of the constraint, and the expression as the catalogue keeps it, in brackets.
    pub default: Option<(String, String)>,
}

impl ColumnSpec {
    /// A column that takes NULL.
    pub fn new(name: &str, ty: SqlType) -> ColumnSpec {
        ColumnSpec { name: name.to_owned(), ty, nullable: true, identity: None, default: None }
    }

    /// The same, NOT NULL.
    #[must_use]
    pub fn not_null(mut self) -> ColumnSpec {
        self.nullable = false;
        self
    }
}

/// A new table.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// Schema; `dbo` for none.
    pub schema: Option<String>,
    /// Name.
    pub name: String,
    /// Columns, in order.
    pub columns: Vec<ColumnSpec>,
    /// The clustered index of its rows; a heap for none.
    pub clustered: Option<IndexSpec>,
    /// Filegroup; PRIMARY for none.
    pub filegroup: Option<String>,
}

impl TableSpec {
    /// A heap in schema dbo and filegroup PRIMARY.
    pub fn heap(name: &str, columns: Vec<ColumnSpec>) -> TableSpec {
        TableSpec { schema: None, name: name.to_owned(), columns, clustered: None, filegroup: None }
    }

    /// The same with its rows in a clustered index.
    #[must_use]
    pub fn clustered(self, index: IndexSpec) -> TableSpec {
        TableSpec { clustered: Some(index.clustered()), ..self }
    }

    /// The columns as statements know them, without their places in rows.
    fn table_columns(&self) -> Vec<TableColumn> {
        let columns = (1..).zip(&self.columns).map(|(id, column)| TableColumn {
            id,
            name: column.name.clone(),
            ty: column.ty,
            nullable: column.nullable,
            default: column.default.as_ref().map(|(_, text)| text.clone()),
            at: 0,
        });
        columns.collect()
    }

    fn verify(&self) -> Result<(), Error> {
        verify_name(&self.name)?;
        self.columns.iter().try_for_each(|column| verify_name(&column.name))?;
        if self.columns.is_empty() || self.columns.len() > COLUMNS_MAX {
            return Err(Error::NotSupported { what: format!("a table of {} columns", self.columns.len()) });
        }
        for (at, column) in self.columns.iter().enumerate() {
            if self.columns[..at].iter().any(|other| other.name.eq_ignore_ascii_case(&column.name)) {
                return Err(Error::Exists { name: column.name.clone() });
            }
            if column.ty.is_max() || column.ty.is_lob() {
                return Err(Error::NotSupported {
                    what: format!("column {}: values off the row", column.name),
                });
            }
        }
        Ok(())
    }
}

/// Refuses what is no name.
pub(crate) fn verify_name(name: &str) -> Result<(), Error> {
    match name.encode_utf16().count() {
        1..=NAME_UNITS_MAX => Ok(()),
        _ => Err(Error::NotSupported { what: "a name without or with more than 128 characters".into() }),
    }
}

impl Session<'_> {
    /// Makes a table.
    ///
    /// # Errors
    /// The name is taken, or the table is of a kind that is not made here: [`Error::NotSupported`].
    pub fn create_table(&mut self, spec: &TableSpec) -> Result<Arc<Table>, Error> {
        spec.verify()?;
        self.statement("CREATE TABLE", |session| {
            let _ddl = lock(&session.db.ddl);
            let schema = session.schema_id(spec.schema.as_deref().unwrap_or("dbo"))?;
            let qualified = format!("{}.{}", spec.schema.as_deref().unwrap_or("dbo"), spec.name);
            if session.table(&qualified).is_ok() {
                return Err(Error::Exists { name: spec.name.clone() });
            }
            let (definition, children) = session.define(spec, schema)?;
            session.lock(Resource::Object(definition.id), LockMode::SchM, None)?;
            session.insert_rows(&definition, &children)?;
            session.open_new(spec, &definition)
        })
    }

    pub(crate) fn schema_id(&self, name: &str) -> Result<i32, Error> {
        let schemas = read(&self.db.catalogue.schemas);
        let found = schemas.iter().find(|(_, own)| own.eq_ignore_ascii_case(name)).map(|(id, _)| *id);
        found.ok_or_else(|| Error::NotSupported { what: format!("schema {name}, which is not there") })
    }

    pub(crate) fn filegroup_id(&self, name: Option<&str>) -> Result<i16, Error> {
        let Some(name) = name else { return Ok(PRIMARY) };
        let found = self.db.catalogue.filegroups.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        let missing = || Error::NotSupported { what: format!("filegroup {name}, which is not there") };
        found.map(|(_, id)| *id).ok_or_else(missing)
    }

    /// The next value of a counter of the boot page. What was taken is not given back by a rollback.
    pub(crate) fn take_id(&mut self, counter: Counter) -> Result<u64, Error> {
        let db = self.db;
        let next = |value: u64| match counter {
            Counter::ObjectId => (value + OBJECT_ID_STEP) % (1 << 31),
            Counter::Unit => value + 1,
        };
        db.space.in_own_system("NewId", |system| take(&db.pool, system, counter, next))
    }

    pub(crate) fn object_id(&mut self) -> Result<ObjectId, Error> {
        loop {
            let id = ObjectId(self.take_id(Counter::ObjectId)? as i32);
            let is_free = self.db.catalogue.system("sysschobjs")?.rows(&[int(id.0)])?.is_empty();
            if is_free && id.0 > 100 {
                return Ok(id);
            }
        }
    }

    fn define(&mut self, spec: &TableSpec, schema_id: i32) -> Result<(TableDefinition, Vec<Child>), Error> {
        let id = self.object_id()?;
        let group = self.filegroup_id(spec.filegroup.as_deref())?;
        let (mut columns, mut children) = (Vec::new(), Vec::new());
        for (column_id, column) in (1..).zip(&spec.columns) {
            let mut default_object = ObjectId(0);
            if let Some((name, text)) = &column.default {
                default_object = self.object_id()?;
                let kind = ChildKind::Default(column_id, text.clone());
                let name = name.clone();
                children.push(Child { id: default_object, name, kind, table: id, schema_id });
            }
            columns.push(column_definition(column, default_object));
        }
        let index = match &spec.clustered {
            None => heap_definition(),
            Some(clustered) => {
                let columns = spec.table_columns();
                clustered.verify_columns(&columns)?;
                if clustered.filegroup.is_some() && clustered.filegroup != spec.filegroup {
                    let what = format!("index {} in another filegroup than its table", clustered.name);
                    return Err(Error::NotSupported { what });
                }
                children.extend(self.constraint_of((id, schema_id), clustered)?);
                clustered.base_definition(&columns)?
            }
        };
        let index = self.placed(index, group)?;
        let definition = TableDefinition {
            id,
            name: spec.name.clone(),
            schema_id,
            kind: ObjectType::USER_TABLE,
            status: TABLE_STATUS,
            parent: ObjectId(0),
            columns,
            indexes: vec![index],
        };
        let layout = definition.layout(&definition.indexes[0]);
        verify_row_bytes(&layout)?;
        if let Some(clustered) = &spec.clustered {
            clustered.verify_layout(&layout)?;
        }
        let index = definition.indexes[0].clone();
        Ok((TableDefinition { indexes: vec![with_nullable_key(&definition, index)], ..definition }, children))
    }

    /// An index with a rowset and a unit of its own in a filegroup.
    pub(crate) fn placed(&mut self, index: IndexDefinition, group: i16) -> Result<IndexDefinition, Error> {
        let unit = AllocUnitId((self.take_id(Counter::Unit)? << 16) as i64);
        Ok(IndexDefinition {
            rowset: self.db.catalogue.next_rowset(),
            filegroup: group,
            data_space: group.into(),
            units: vec![UnitDefinition { kind: AllocUnitKind::InRow, id: unit }],
            ..index
        })
    }

    /// Describes the table in the system tables: its unit behind the rowset it belongs to, its name last. A restart reads them as
    /// they are before it undoes what was cut off, and a part of a description must be one that it can read.
    fn insert_rows(&mut self, definition: &TableDefinition, children: &[Child]) -> Result<(), Error> {
        let db = self.db;
        let now = log_time(&*db.options.clock);
        let created = StoredTime { ticks: now.ticks, days: now.days as i32 };
        let mut rows = SystemRows::new();
        add_table(definition, created, &mut rows);
        children.iter().for_each(|child| add_child(child, created, &mut rows));
        add_rowsets(std::slice::from_ref(definition), &Default::default(), &mut rows);
        let index = &definition.indexes[0];
        let unit = unit_row(index.rowset, index.filegroup, index.units[0], &UnitPlace::default());
        let names = rows.remove_entry("sysschobjs");
        let last = [("sysallocunits".to_owned(), vec![unit])].into_iter().chain(names);
        for (name, rows) in rows.into_iter().chain(last) {
            let table = db.catalogue.system(&name)?;
            for row in &rows {
                table.insert(self.tx()?, row)?;
            }
        }
        Ok(())
    }

    /// The table as statements use it.
    fn open_new(&mut self, spec: &TableSpec, definition: &TableDefinition) -> Result<Arc<Table>, Error> {
        let db = self.db;
        self.tx()?.keep_reserves();
        let identity = (1..)
            .zip(&definition.columns)
            .find_map(|(id, column)| Identity::parse(id, column.identity.as_deref()?));
        let (columns, shape, base) = self.open_base(definition, &spec.table_columns())?;
        let (identity, indexes) = (identity.map(Arc::new), Vec::new());
        let constraints = Constraints::default();
        let storage = Storage { columns, shape, base, indexes, identity, constraints, read_only: None };
        let schema = spec.schema.clone().unwrap_or_else(|| "dbo".to_owned());
        let table = Arc::new(Table::new((definition.id, schema, spec.name.clone()), storage));
        write(&db.catalogue.making).insert(table.id());
        write(&db.catalogue.tables).insert(table.id(), table.clone());
        self.endings.push(Ending::Created(table.clone()));
        Ok(table)
    }

    /// The heap or clustered index of a definition, empty, and the columns with their places in its rows.
    pub(crate) fn open_base(
        &self,
        definition: &TableDefinition,
        columns: &[TableColumn],
    ) -> Result<(Vec<TableColumn>, RowShape, Base), Error> {
        let (db, index) = (self.db, &definition.indexes[0]);
        let layout = definition.layout(index);
        let shape = RowShape::of_layout(&layout, true)?.with_declared_keys(index.keys.len());
        let place = |id: i32| layout.sources.iter().position(|source| *source == Source::Column(id));
        let placed =
            columns.iter().map(|column| TableColumn { at: place(column.id).unwrap_or(0), ..column.clone() });
        let columns: Vec<TableColumn> = placed.collect();
        let (unit, space) = (self.new_unit(index, index.units[0].id), db.space.clone());
        let base = match index.kind {
            IndexKind::Clustered => Base::Clustered(Arc::new(Index::clustered(
                index.clone(),
                &columns,
                shape.clone(),
                (space, unit),
            ))),
            _ => {
                let form = heap_shape(&layout.row, &shape);
                Base::Heap(Arc::new(Heap::new(space, unit, form, db.options.placement)))
            }
        };
        Ok((columns, shape, base))
    }

    /// The empty unit of a heap or index that is being made.
    pub(crate) fn new_unit(&self, index: &IndexDefinition, id: AllocUnitId) -> Arc<Unit> {
        let none = extentdb_base::PageId::NONE;
        let unit = Arc::new(Unit::new(&UnitDescription {
            id,
            hobt: index.rowset,
            group: index.filegroup,
            first: none,
            root: none,
            first_iam: none,
            counts: Counts::default(),
        }));
        write(&self.db.catalogue.coming).insert(unit.id());
        self.db.catalogue.units.add(unit.clone());
        unit
    }

    /// Drops a table: its rows in the system tables go, and its pages are free when the transaction has committed.
    pub fn drop_table(&mut self, table: &Arc<Table>) -> Result<(), Error> {
        self.statement("DROP TABLE", |session| {
            let storage = session.lock_for_ddl(table)?;
            storage.constraints.verify_unnamed(table, "to drop")?;
            session.lock_parents(&storage)?;
            let _ddl = lock(&session.db.ddl);
            let db = session.db;
            session.take_keys_back(table, &storage)?;
            // From here on PFS is not told of its pages any more; a rollback brings back what it knows now.
            if let Base::Heap(heap) = &storage.base {
                heap.settle()?;
            }
            // Before its rows go: nobody else touches them from here on.
            db.catalogue.leave_all(&storage);
            session.endings.push(Ending::Dropped(table.clone()));
            session.delete_rows(table, &storage)?;
            for unit in storage.units() {
                let freed = db.space.free_unit(session.tx()?, unit)?;
                session.freed.extend(freed);
            }
            Ok(())
        })
    }

    pub(crate) fn verify_there(&self, table: &Table) -> Result<(), Error> {
        if self.db.catalogue.has(table.id()) { Ok(()) } else { Err(Error::Gone { id: table.id() }) }
    }

    /// Everything that describes the table, in the opposite order.
    fn delete_rows(&mut self, table: &Table, storage: &Storage) -> Result<(), Error> {
        let id = table.id();
        for index in &storage.indexes {
            self.delete_unit_rows(index.tree().unit())?;
        }
        let children = self.children_of(id)?;
        for object in children.into_iter().chain([id]) {
            self.delete_where("sysschobjs", &[int(object.0)])?;
            self.delete_where("sysobjvalues", &[byte(1), int(object.0)])?;
            self.delete_where("syssingleobjrefs", &[int(object.0)])?;
            self.delete_where("sysmultiobjrefs", &[int(object.0)])?;
        }
        self.delete_where("syscolpars", &[int(id.0)])?;
        self.delete_where("sysidxstats", &[int(id.0)])?;
        self.delete_where("sysiscols", &[int(id.0)])?;
        self.delete_unit_rows(storage.base.unit())
    }

    /// Rows that describe a unit and its rowset.
    pub(crate) fn delete_unit_rows(&mut self, unit: &Unit) -> Result<(), Error> {
        self.delete_where("sysallocunits", &[bigint(unit.id().0)])?;
        self.delete_where("sysrowsets", &[bigint(unit.hobt().0)])?;
        self.delete_where("sysrscols", &[bigint(unit.hobt().0)])
    }

    /// The constraints of a table: objects that belong to it.
    fn children_of(&self, table: ObjectId) -> Result<Vec<ObjectId>, Error> {
        let rows = self.db.catalogue.system("sysschobjs")?.rows(&[])?;
        let of = |row: &Cells, at: usize| row.get(at).and_then(number);
        let children = rows.iter().filter(|row| of(row, object::PARENT) == Some(table.0.into()));
        Ok(children.filter_map(|row| of(row, object::ID)).map(|id| ObjectId(id as i32)).collect())
    }

    pub(crate) fn delete_where(&mut self, table: &str, prefix: &[Cell<'_>]) -> Result<(), Error> {
        let db = self.db;
        let table = db.catalogue.system(table)?;
        for row in table.rows(prefix)? {
            table.delete(self.tx()?, &row)?;
        }
        Ok(())
    }

    /// Takes all rows from a table at once. It gets a new, empty allocation unit.
    pub fn truncate_table(&mut self, table: &Arc<Table>) -> Result<(), Error> {
        self.statement("TRUNCATE TABLE", |session| {
            session.lock_for_ddl(table)?;
            let _ddl = lock(&session.db.ddl);
            let (db, old) = (session.db, table.storage());
            old.constraints.verify_unnamed(table, "to truncate")?;
            session.leave(table, &old);
            if let Base::Heap(heap) = &old.base {
                heap.settle()?;
            }
            let mut freed = Freed::default();
            for unit in old.units() {
                freed.extend(db.space.free_unit(session.tx()?, unit)?);
            }
            let (unit, space) = (session.replace_unit(old.base.unit())?, db.space.clone());
            let base = match &old.base {
                Base::Heap(heap) => {
                    Base::Heap(Arc::new(Heap::new(space, unit, heap.shape(), db.options.placement)))
                }
                Base::Clustered(index) => Base::Clustered(Arc::new(index.over(space, unit))),
            };
            let indexes = session.empty_indexes(&old)?;
            // Only now: a statement that fails has given nothing back.
            session.freed.extend(freed);
            session.store(table, Storage { base, indexes, ..Storage::clone(&old) });
            Ok(())
        })
    }

    /// The rows of the catalogue about a table's units are about to change: nobody else touches them until that is done or undone.
    pub(crate) fn leave(&mut self, table: &Arc<Table>, old: &Arc<Storage>) {
        self.db.catalogue.leave_all(old);
        self.endings.push(Ending::Stored { table: table.clone(), old: old.clone(), new: old.clone() });
    }

    /// A new, empty unit for a rowset, in the place of the one that it has.
    pub(crate) fn replace_unit(&mut self, old: &Unit) -> Result<Arc<Unit>, Error> {
        let db = self.db;
        self.delete_where("sysallocunits", &[bigint(old.id().0)])?;
        self.tx()?.keep_reserves();
        let id = AllocUnitId((self.take_id(Counter::Unit)? << 16) as i64);
        let definition = UnitDefinition { kind: AllocUnitKind::InRow, id };
        let (hobt, group) = (old.hobt(), old.group());
        let row = unit_row(hobt, group, definition, &UnitPlace::default());
        db.catalogue.system("sysallocunits")?.insert(self.tx()?, &row)?;
        let none = extentdb_base::PageId::NONE;
        let (first, root, first_iam, counts) = (none, none, none, Counts::default());
        let unit = Arc::new(Unit::new(&UnitDescription { id, hobt, group, first, root, first_iam, counts }));
        // Its counters differ from those in the catalogue, which are those of the old unit.
        unit.count_rows(0);
        write(&db.catalogue.coming).insert(unit.id());
        db.catalogue.units.add(unit.clone());
        Ok(unit)
    }
}

/// What the longest record of a heap is said to be leaves room for one; the rows themselves may be that much shorter only.
const ROOM_FOR_BACK_POINTER: usize = 12;

/// Rows must fit a page, and those of heaps their way back when they move.
pub(crate) fn verify_row_bytes(layout: &RowsetLayout) -> Result<(), Error> {
    let longest = layout.max_leaf;
    if longest as usize > extentdb_rowset::heap::RECORD_BYTES_MAX + ROOM_FOR_BACK_POINTER {
        return Err(Error::NotSupported { what: format!("rows of up to {longest} bytes") });
    }
    Ok(())
}

/// An index of a table with what its rowset says of its key.
pub(crate) fn with_nullable_key(table: &TableDefinition, index: IndexDefinition) -> IndexDefinition {
    let is_nullable = index.kind != IndexKind::Heap && table.layout(&index).has_nullable_key;
    let nullable = if is_nullable { rowset_status::NULLABLE_KEY } else { 0 };
    IndexDefinition { rowset_status: index.rowset_status | nullable, ..index }
}

/// A heap that has no place yet.
pub(crate) fn heap_definition() -> IndexDefinition {
    IndexDefinition {
        id: IndexId(0),
        name: None,
        kind: IndexKind::Heap,
        keys: Vec::new(),
        included: Vec::new(),
        status: HAS_ROWSET,
        data_space: 0,
        filegroup: 0,
        partition: 1,
        partition_column: 0,
        rest: Vec::new(),
        filter: None,
        rowset: HobtId(0),
        rowset_status: rowset_status::USUAL | rowset_status::TABLE,
        compression: Compression::None,
        fill_factor: 0,
        hides_min_interior: false,
        units: Vec::new(),
    }
}

pub(crate) fn byte(value: u8) -> Cell<'static> {
    Cell::Bytes(Cow::Owned(vec![value]))
}

pub(crate) fn column_definition(spec: &ColumnSpec, default_object: ObjectId) -> ColumnDefinition {
    ColumnDefinition {
        identity: spec.identity.map(|(seed, increment)| identity_value(seed, increment)),
        default_object,
        ..plain_column(&spec.name, spec.ty, spec.nullable)
    }
}

/// `idtval`: last value, increment, seed, and a flag byte that is 1 as long as there was no row.
fn identity_value(seed: i32, increment: i32) -> Vec<u8> {
    let mut value: Vec<u8> = [seed, increment, seed].iter().flat_map(|n| n.to_le_bytes()).collect();
    value.push(1);
    value
}
