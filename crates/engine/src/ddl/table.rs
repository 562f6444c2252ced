//! CREATE, DROP and TRUNCATE TABLE: rows of the system tables, changed in the session's
//! transaction.

use std::collections::BTreeSet;

use extentdb_base::size::ROW_BYTES_MAX;
use extentdb_base::sync::{Arc, lock, read, write};
use extentdb_base::{AllocUnitId, HobtId, IndexId, ObjectId};
use extentdb_catalog::layout::{Cell, Compression, RowLayout};
use extentdb_catalog::model::{AllocUnitKind, IndexKind, ObjectType};
use extentdb_catalog::table::definition::rowset_status;
use extentdb_catalog::table::describe::{
    Child, ChildKind, SystemRows, UnitAnchor, add_child, add_rowsets, add_table, unit_row,
};
use extentdb_catalog::table::{IndexDefinition, TableDefinition, UnitDefinition};
use extentdb_change::in_own_system;
use extentdb_rowset::RowShape;
use extentdb_rowset::heap::Heap;
use extentdb_space::{Freed, Unit, UnitCounts, UnitDescription};
use extentdb_txn::lock::{LockMode, Resource};

use crate::catalog::definition::position_of;
use crate::catalog::objects::object;
use crate::catalog::storage::{OffRowOptions, heap_shape};
use crate::catalog::system_table::{bigint, byte, int, number};
use crate::catalog::{
    Base, Constraints, DeferredChange, Identity, Index, Storage, Table, TableColumn,
};
use crate::database::boot::{Counter, take};
use crate::ddl::spec::{TableSpec, column_definition};
use crate::ddl::statistics::STATISTICS;
use crate::error::{Error, ReadOnlyFilegroup, Unsupported};
use crate::session::{Session, StatementContext};

/// Object ids grow by this, modulo 2^31.
const OBJECT_ID_STEP: u64 = 16_000_057;
/// `sysschobjs.status` of user tables.
const TABLE_STATUS: u32 = 0xe_0000;
/// `sysidxstats.status` of a heap: there is a rowset.
const HAS_ROWSET: u32 = 0x1;
/// Of the name of a table type in that of its table: 128 less `TT_`, `_` and eight digits.
const TYPE_NAME_UNITS: usize = 116;
/// `sysobjvalues.valclass` of what an index is filtered by.
const FILTER_TEXT: u8 = 7;
/// Index of `sysallocunits` by the rowset.
const UNITS_BY_OWNER: IndexId = IndexId(2);

/// The name of the table behind a table type: at most 128 UTF-16 units.
fn name_of_type_table(name: &str, id: ObjectId) -> String {
    let units: Vec<u16> = name.encode_utf16().take(TYPE_NAME_UNITS).collect();
    format!("TT_{}_{:08X}", String::from_utf16_lossy(&units), id.0)
}

/// A table that is about to be made.
struct Defined {
    definition: TableDefinition,
    children: Vec<Child>,
    columns: Vec<TableColumn>,
}

/// Classes of extended properties of objects: themselves and their columns, parameters, indexes.
const PROPERTIES_OF_OBJECTS: [u8; 3] = [1, 2, 7];

impl Session {
    /// Makes a table.
    ///
    /// # Errors
    /// The name is taken, or the table is of a kind that is not made here: [`Error::NotSupported`].
    pub fn create_table(&mut self, spec: &TableSpec) -> Result<Arc<Table>, Error> {
        spec.verify()?;
        self.statement("CREATE TABLE", |context| {
            context.lock_name(
                context.schema_id(spec.schema.as_deref().unwrap_or("dbo"))?,
                &spec.name,
            )?;
            let _ddl = lock(&context.db().ddl);
            let schema = context.schema_id(spec.schema.as_deref().unwrap_or("dbo"))?;
            let qualified = format!("{}.{}", spec.schema.as_deref().unwrap_or("dbo"), spec.name);
            if context.table(&qualified).is_ok() {
                return Err(Error::Exists { name: spec.name.clone() });
            }
            let defined = context.define(spec, schema, ObjectType::USER_TABLE)?;
            context.make_defined(spec, schema, defined)
        })
    }

    /// Drops a table: its rows in the system tables are deleted at once, its pages freed at commit.
    pub fn drop_table(&mut self, table: &Arc<Table>) -> Result<(), Error> {
        self.statement("DROP TABLE", |context| {
            let storage = context.lock_to_drop(table).map_err(|error| match error {
                Error::ReadOnlyFilegroup(_) => {
                    ReadOnlyFilegroup::Drop { table: table.name().to_owned() }.into()
                }
                error => error,
            })?;
            context.lock_name(context.schema_id(table.schema())?, table.name())?;
            table.verify_unreferenced(&storage, "drop")?;
            context.lock_parents(&storage)?;
            let _ddl = lock(&context.db().ddl);
            let db = context.db();
            context.remove_references(table, &storage)?;
            // From here on its PFS bytes are not updated any more; a rollback restores what it
            // knows now.
            update_pfs(&storage)?;
            // Before its rows are deleted: no other session touches them from here on.
            db.catalog.drop_all(&storage);
            context.defer_change(DeferredChange::Dropped(table.clone()));
            context.delete_rows(table, &storage)?;
            for unit in storage.units() {
                let freed = db.space.free_unit(context.tx()?, unit)?;
                context.free_at_commit(freed);
            }
            Ok(())
        })
    }

    /// Truncates a table: it gets a new, empty allocation unit.
    pub fn truncate_table(&mut self, table: &Arc<Table>) -> Result<(), Error> {
        self.statement("TRUNCATE TABLE", |context| {
            context.lock_to_drop(table)?;
            let _ddl = lock(&context.db().ddl);
            let old = table.storage();
            table.verify_unreferenced(&old, "truncate")?;
            table.statistics().note_rows(u64::try_from(table.row_count()).unwrap_or(0));
            let emptied = context.empty_table(table, &old)?;
            context.restart_identity(table, &emptied)
        })
    }
}

impl StatementContext<'_> {
    /// Makes the table behind a table type, in the schema `sys`. Its name is that of the type with
    /// its id: `TT_name_2C3393D0`. The catalog is locked.
    pub(crate) fn make_table_of_type(&mut self, spec: &TableSpec) -> Result<Arc<Table>, Error> {
        let schema = self.schema_id("sys")?;
        let defined = self.define(spec, schema, ObjectType::TABLE_TYPE)?;
        let spec = TableSpec { name: defined.definition.name.clone(), ..spec.clone() };
        self.make_defined(&spec, schema, defined)
    }

    fn make_defined(
        &mut self,
        spec: &TableSpec,
        schema: i32,
        defined: Defined,
    ) -> Result<Arc<Table>, Error> {
        self.verify_names_free(&defined, schema)?;
        self.lock(Resource::Object(defined.definition.id), LockMode::SchM, None)?;
        self.insert_rows(&defined.definition, &defined.children)?;
        self.open_new(spec, defined)
    }

    /// Gives a table that is locked for it new, empty units; the old ones are freed at commit. The
    /// catalog is locked.
    pub(crate) fn empty_table(
        &mut self,
        table: &Arc<Table>,
        old: &Arc<Storage>,
    ) -> Result<Arc<Storage>, Error> {
        let db = self.db();
        self.begin_drop(table, old);
        update_pfs(old)?;
        let mut freed = Freed::default();
        for unit in old.units() {
            freed.extend(db.space.free_unit(self.tx()?, unit)?);
        }
        let hobt = old.base.hobt();
        let unit = self.replace_unit(old.base.unit(), AllocUnitKind::InRow, hobt)?;
        let off_row = self.empty_off_row(&old.off_row, hobt)?;
        let space = db.space.clone();
        let base = match &old.base {
            Base::Heap(heap) => {
                Base::Heap(Arc::new(Heap::new(space, unit, heap.shape(), db.options.placement)))
            }
            Base::Clustered(index) => Base::Clustered(Arc::new(index.over(space, unit))),
        };
        let indexes = self.empty_indexes(old)?;
        // Only now: a statement that fails has given nothing back.
        self.free_at_commit(freed);
        Ok(self.store(table, Storage { base, off_row, indexes, ..Storage::clone(old) }))
    }
}

impl StatementContext<'_> {
    /// Refuses a table when it, or one of its constraints, has the name of another object of the
    /// schema.
    fn verify_names_free(&self, defined: &Defined, schema: i32) -> Result<(), Error> {
        let mut own = BTreeSet::new();
        for name in
            [&defined.definition.name].into_iter().chain(defined.children.iter().map(|c| &c.name))
        {
            if !own.insert(name.to_ascii_lowercase())
                || self.db().catalog.object_named(schema, name)?.is_some()
            {
                return Err(Error::Exists { name: name.clone() });
            }
        }
        Ok(())
    }

    pub(crate) fn schema_id(&self, name: &str) -> Result<i32, Error> {
        let schemas = read(&self.db().catalog.schemas);
        let found =
            schemas.iter().find(|(_, own)| own.eq_ignore_ascii_case(name)).map(|(id, _)| *id);
        found.ok_or_else(|| Unsupported::NoSchema { name: name.to_owned() }.into())
    }

    pub(crate) fn filegroup_id(&self, name: Option<&str>) -> Result<i16, Error> {
        let groups = read(&self.db().catalog.filegroups);
        let Some(name) = name else { return Ok(groups.default) };
        let missing = || Unsupported::NoFilegroup { name: name.to_owned() }.into();
        groups.id_of(name).ok_or_else(missing)
    }

    /// The next value of a counter of the boot page. What was taken is not given back by a
    /// rollback.
    pub(crate) fn take_id(&mut self, counter: Counter) -> Result<u64, Error> {
        let db = self.db();
        let next = |value: u64| match counter {
            Counter::ObjectId => (value + OBJECT_ID_STEP) % (1 << 31),
            Counter::Unit | Counter::Timestamp => value + 1,
        };
        in_own_system(&*db.space, "NewId", |system| take(&db.pool, system, counter, next))
    }

    pub(crate) fn object_id(&mut self) -> Result<ObjectId, Error> {
        loop {
            let id = ObjectId(self.take_id(Counter::ObjectId)? as i32);
            let is_free = self.db().catalog.system("sysschobjs")?.rows(&[int(id.0)])?.is_empty();
            if is_free && id.0 > 100 {
                return Ok(id);
            }
        }
    }

    /// The table, the constraints that belong to it, and its columns as statements know them.
    fn define(
        &mut self,
        spec: &TableSpec,
        schema_id: i32,
        kind: ObjectType,
    ) -> Result<Defined, Error> {
        let id = self.object_id()?;
        let name = match kind {
            ObjectType::TABLE_TYPE => name_of_type_table(&spec.name, id),
            _ => spec.name.clone(),
        };
        let group = self.filegroup_id(spec.filegroup.as_deref())?;
        self.verify_group_writable(group)?;
        let mut columns = Vec::new();
        let mut children = Vec::new();
        for (column_id, column) in (1..).zip(&spec.columns) {
            let mut default_object = ObjectId(0);
            if let Some(default) = &column.default {
                default_object = self.object_id()?;
                let kind = ChildKind::Default(column_id, default.text.clone());
                let name = default.name.clone();
                children.push(Child { id: default_object, name, kind, table: id, schema_id });
            }
            columns.push(column_definition(column, default_object)?);
        }
        let of_table = spec.table_columns(&columns)?;
        let base = spec.base_definition(&of_table)?;
        if let Some(clustered) = &spec.clustered {
            children.extend(self.constraint_of(id, schema_id, clustered)?);
        }
        let index = self.index_with_rowset(base, group)?;
        let definition = TableDefinition {
            id,
            name,
            schema_id,
            kind,
            status: TABLE_STATUS,
            parent: ObjectId(0),
            columns,
            indexes: vec![index],
        };
        let layout = definition.layout(&definition.indexes[0]);
        verify_row_bytes(layout.min_leaf, layout.max_null_bit)?;
        if let Some(clustered) = &spec.clustered {
            clustered.verify_key(&layout)?;
        }
        let index = definition.indexes[0].clone();
        let index = self.with_off_row_units(index, &layout.row, layout.max_leaf)?;
        let indexes = vec![with_nullable_key(&definition, index)];
        Ok(Defined {
            definition: TableDefinition { indexes, ..definition },
            children,
            columns: of_table,
        })
    }

    /// An index with a rowset and a unit of its own in a filegroup.
    pub(crate) fn index_with_rowset(
        &mut self,
        index: IndexDefinition,
        group: i16,
    ) -> Result<IndexDefinition, Error> {
        let unit = AllocUnitId((self.take_id(Counter::Unit)? << 16) as i64);
        Ok(IndexDefinition {
            rowset: self.db().catalog.next_rowset(),
            filegroup: group,
            data_space: group.into(),
            units: vec![UnitDefinition { kind: AllocUnitKind::InRow, id: unit }],
            ..index
        })
    }

    /// Describes the table in the system tables: its unit after the rowset it belongs to, its name
    /// last. A restart reads them as they are before it undoes what was interrupted, and a part of
    /// a description must be one that it can read.
    fn insert_rows(
        &mut self,
        definition: &TableDefinition,
        children: &[Child],
    ) -> Result<(), Error> {
        let created = self.now();
        let mut rows = SystemRows::new();
        add_table(definition, created, &mut rows);
        children.iter().for_each(|child| add_child(child, created, &mut rows));
        add_rowsets(std::slice::from_ref(definition), &Default::default(), &mut rows);
        let index = &definition.indexes[0];
        let names = rows.remove_entry("sysschobjs");
        self.insert_system_rows(&rows)?;
        self.insert_unit_rows(index)?;
        self.insert_system_rows(&SystemRows::from_iter(names))
    }

    /// The table as statements use it.
    fn open_new(&mut self, spec: &TableSpec, defined: Defined) -> Result<Arc<Table>, Error> {
        let db = self.db();
        let definition = &defined.definition;
        self.tx()?.keep_reserves();
        let identity = (1..)
            .zip(&spec.columns)
            .find_map(|(id, column)| Identity::new(id, column.ty, column.identity?));
        let (columns, shape, base) = self.open_base(definition, &defined.columns)?;
        let storage = Storage {
            columns,
            unreadable: Vec::new(),
            shape,
            base,
            off_row: self.open_off_row(&definition.indexes[0]),
            off_row_options: OffRowOptions::default(),
            indexes: Vec::new(),
            disabled: Vec::new(),
            identity: identity.map(Arc::new),
            constraints: Constraints::default(),
            triggers: Vec::new(),
            read_only: None,
        };
        let schema = spec.schema.clone().unwrap_or_else(|| "dbo".to_owned());
        let table = Arc::new(Table::new(definition.id, schema, spec.name.clone(), storage));
        if spec.columns.iter().any(|column| column.identity.is_some()) {
            self.add_own_identity(table.id());
        }
        write(&db.catalog.new_tables).insert(table.id());
        write(&db.catalog.tables).add(table.clone());
        self.defer_change(DeferredChange::Created(table.clone()));
        Ok(table)
    }

    /// The heap or clustered index of a definition, empty, and the columns with their offsets in
    /// its rows.
    pub(crate) fn open_base(
        &self,
        definition: &TableDefinition,
        columns: &[TableColumn],
    ) -> Result<(Vec<TableColumn>, RowShape, Base), Error> {
        let db = self.db();
        let index = &definition.indexes[0];
        let layout = definition.layout(index);
        let shape = RowShape::of_layout(&layout, true)?.with_declared_keys(index.keys.len());
        let columns = positioned_columns(columns, &layout.row)?;
        let unit = self.new_unit(index);
        let space = db.space.clone();
        let base = match index.kind {
            IndexKind::Clustered => Base::Clustered(Arc::new(Index::clustered(
                index.clone(),
                &columns,
                shape.clone(),
                space,
                unit,
            ))),
            _ => {
                let form = heap_shape(&layout.row, &shape);
                Base::Heap(Arc::new(Heap::new(space, unit, form, db.options.placement)))
            }
        };
        Ok((columns, shape, base))
    }

    /// The empty unit of a heap or index that is being made.
    pub(crate) fn new_unit(&self, index: &IndexDefinition) -> Arc<Unit> {
        self.add_unit(index.units[0].id, index.rowset, index.filegroup)
    }

    pub(crate) fn add_unit(&self, id: AllocUnitId, hobt: HobtId, group: i16) -> Arc<Unit> {
        let none = extentdb_base::PageId::NONE;
        let unit = Arc::new(Unit::new(&UnitDescription {
            id,
            hobt,
            group,
            first: none,
            root: none,
            first_iam: none,
            counts: UnitCounts::default(),
        }));
        write(&self.db().catalog.created_units).insert(unit.id());
        self.db().catalog.units.add(unit.clone());
        unit
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
            self.forget_references(object)?;
        }
        self.delete_where("syscolpars", &[int(id.0)])?;
        self.delete_where("sysobjvalues", &[byte(FILTER_TEXT), int(id.0)])?;
        self.delete_where("sysobjvalues", &[byte(STATISTICS), int(id.0)])?;
        self.delete_where("sysidxstats", &[int(id.0)])?;
        self.delete_where("sysiscols", &[int(id.0)])?;
        self.delete_unit_rows(storage.base.unit())
    }

    /// Deletes the object of the constraint that an index belongs to.
    pub(crate) fn delete_constraint(&mut self, table: &Table, name: &str) -> Result<(), Error> {
        let schema = self.schema_id(table.schema())?;
        let object = self.db().catalog.object_named(schema, name)?;
        self.delete_where("sysschobjs", &[int(object.map_or(0, |id| id.0))])
    }

    /// Deletes the description of an index: its name, columns, filter and histogram.
    pub(crate) fn delete_index_rows(&mut self, table: &Table, index: IndexId) -> Result<(), Error> {
        let id = [int(table.id().0), int(index.0)];
        self.delete_where("sysidxstats", &id)?;
        self.delete_where("sysiscols", &id)?;
        let key = |class: u8| [byte(class), int(table.id().0), int(index.0)];
        self.delete_where("sysobjvalues", &key(FILTER_TEXT))?;
        self.delete_where("sysobjvalues", &key(STATISTICS))
    }

    /// What an object depends on, says about itself, and allows others.
    pub(crate) fn forget_references(&mut self, object: ObjectId) -> Result<(), Error> {
        self.delete_where("syssingleobjrefs", &[int(object.0)])?;
        self.delete_where("sysmultiobjrefs", &[int(object.0)])?;
        for class in PROPERTIES_OF_OBJECTS {
            self.delete_where("sysxprops", &[byte(class), int(object.0)])?;
        }
        self.delete_where("sysprivs", &[byte(1), int(object.0)])
    }

    /// Rows that describe a unit and its rowset, and the other units of that, which have no pages.
    pub(crate) fn delete_unit_rows(&mut self, unit: &Unit) -> Result<(), Error> {
        let owner = [bigint(unit.hobt().0)];
        for row in self.db().catalog.system("sysallocunits")?.rows_by(UNITS_BY_OWNER, &owner)? {
            self.delete_where("sysallocunits", &row[..1])?;
        }
        self.delete_where("sysrowsets", &[bigint(unit.hobt().0)])?;
        self.delete_where("sysrscols", &[bigint(unit.hobt().0)])
    }

    /// The constraints of a table: objects that belong to it.
    fn children_of(&self, table: ObjectId) -> Result<Vec<ObjectId>, Error> {
        let objects = self.db().catalog.system("sysschobjs")?;
        let children = objects.rows_by(object::BY_PARENT, &[int(table.0)])?;
        let ids = children.iter().filter_map(|row| row.get(object::ID).and_then(number));
        Ok(ids.map(|id| ObjectId(id as i32)).collect())
    }

    pub(crate) fn delete_where(&mut self, table: &str, prefix: &[Cell<'_>]) -> Result<(), Error> {
        let db = self.db();
        let table = db.catalog.system(table)?;
        for row in table.rows(prefix)? {
            table.delete(self.tx()?, &row)?;
            self.free_off_system_row(table, &row)?;
        }
        Ok(())
    }

    /// The rows of the catalog about a table's units are about to change: no other session touches
    /// them until that is done or undone.
    pub(crate) fn begin_drop(&mut self, table: &Arc<Table>, old: &Arc<Storage>) {
        self.db().catalog.drop_all(old);
        self.defer_unchanged(table, old);
    }

    fn defer_unchanged(&mut self, table: &Arc<Table>, old: &Arc<Storage>) {
        let table = table.clone();
        self.defer_change(DeferredChange::Stored { table, old: old.clone(), new: old.clone() });
    }

    /// The same of one index alone: the counters of the others are written as before.
    pub(crate) fn begin_drop_index(
        &mut self,
        table: &Arc<Table>,
        old: &Arc<Storage>,
        index: &Index,
    ) {
        self.db().catalog.drop_tree(index.tree());
        self.defer_unchanged(table, old);
    }

    /// A new, empty unit for a rowset, which replaces its own.
    pub(crate) fn replace_unit(
        &mut self,
        old: &Unit,
        kind: AllocUnitKind,
        hobt: HobtId,
    ) -> Result<Arc<Unit>, Error> {
        let db = self.db();
        self.delete_where("sysallocunits", &[bigint(old.id().0)])?;
        self.tx()?.keep_reserves();
        let id = AllocUnitId((self.take_id(Counter::Unit)? << 16) as i64);
        let definition = UnitDefinition { kind, id };
        let group = old.group();
        let row = unit_row(hobt, group, definition, &UnitAnchor::default());
        db.catalog.system("sysallocunits")?.insert(self.tx()?, &row)?;
        let unit = self.add_unit(id, hobt, group);
        // Its counters differ from those in the catalog, which are those of the old unit.
        unit.count_rows(0);
        Ok(unit)
    }
}

/// The columns with their offsets in rows of this layout, and after them.
pub(crate) fn positioned_columns(
    columns: &[TableColumn],
    layout: &RowLayout,
) -> Result<Vec<TableColumn>, Error> {
    let mut after = layout.columns.len()..;
    let placed = columns.iter().map(|column| {
        let at = if column.is_stored() { position_of(layout, column.id) } else { after.next() };
        let at = at.ok_or_else(|| {
            Error::catalog(format!("rows have no place for column {}", column.name))
        })?;
        Ok(TableColumn { at, ..column.clone() })
    });
    placed.collect()
}

/// The fixed part of rows must fit a page: of variable columns as many are pushed off as it takes.
pub(crate) fn verify_row_bytes(min_leaf: u16, null_bits: u16) -> Result<(), Error> {
    const COUNT_BYTES: u32 = 2;
    let least = u32::from(min_leaf) + COUNT_BYTES + u32::from(null_bits).div_ceil(8);
    if least as usize > ROW_BYTES_MAX {
        Err(Unsupported::RowBytes { bytes: least }.into())
    } else {
        Ok(())
    }
}

/// The classes of free pages of a table that is about to be dropped: nobody updates them from then
/// on.
pub(crate) fn update_pfs(storage: &Storage) -> Result<(), Error> {
    if let Base::Heap(heap) = &storage.base {
        heap.update_pfs()?;
    }
    Ok(storage.lob_units().try_for_each(|lob| lob.update_pfs())?)
}

/// An index of a table with what its rowset says of its key.
pub(crate) fn with_nullable_key(
    table: &TableDefinition,
    index: IndexDefinition,
) -> IndexDefinition {
    let is_nullable = index.kind != IndexKind::Heap && table.layout(&index).has_nullable_key;
    let nullable = if is_nullable { rowset_status::NULLABLE_KEY } else { 0 };
    IndexDefinition {
        rowset_status: (index.rowset_status & !rowset_status::NULLABLE_KEY) | nullable,
        ..index
    }
}

/// A heap without pages.
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
