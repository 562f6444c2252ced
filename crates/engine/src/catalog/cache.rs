//! The catalog of an open database: the system base tables, and the user tables that they
//! describe.
//!
//! The base tables are the only catalog; this is a copy of them in memory, read when the database
//! is opened. DDL changes the copy together with the base tables, under the DDL mutex and under
//! Sch-M locks that keep other sessions out; dropped heaps and trees leave it at the commit, and a
//! rollback restores what DDL changed ([`pending`](crate::catalog::pending)).

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::sync::atomic::AtomicBool;
use extentdb_base::sync::{Arc, Mutex, RwLock, read, write};
use extentdb_base::{AllocUnitId, FileId, HobtId, ObjectId, PageId};
use extentdb_buffer::{PageWriteGuard, Pool};
use extentdb_catalog::model::{self, AllocUnit, AllocUnitKind, Catalog, ObjectType};
use extentdb_catalog::system::object::SYSFILES1;
use extentdb_catalog::table::{
    DEFAULT_COLLATION, DefinitionError, TableDefinition, base_tables, master_tables,
};
use extentdb_catalog::{Fault, PageError, PageGetter};
use extentdb_format::PageBytes;
use extentdb_format::allocation::unit_row::is_row_of;
use extentdb_rowset::heap::Heap;
use extentdb_rowset::{LobUnit, Tree};
use extentdb_space::{Space, Unit, UnitCounts, UnitDescription, UnitRows};

use crate::catalog::changes::ModelChanges;
use crate::catalog::filegroups::Filegroups;
use crate::catalog::key_order::Origin;
use crate::catalog::sequence::Sequences;
use crate::catalog::system_table::{SystemTable, bigint};
use crate::catalog::units::Units;
use crate::catalog::{LoadedCatalog, Table, Tables};
use crate::database::options::{Options, Purpose};
use crate::error::Error;
use crate::model::CatalogModel;

/// Tries to find a row that splits move about.
const TRIES_MAX: usize = 1000;

/// A heap or tree that an open transaction has dropped.
#[derive(Clone)]
pub(crate) enum DroppedObject {
    Heap(Arc<Heap>),
    Tree(Arc<Tree>),
    Lob(Arc<LobUnit>),
}

/// The cached catalog.
pub(crate) struct CatalogCache {
    pub(crate) origin: Origin,
    pub(crate) system: BTreeMap<String, SystemTable>,
    /// The trees of system tables, by every id that pages and log records name them by.
    system_trees: BTreeMap<AllocUnitId, Arc<Tree>>,
    pub(crate) units: Units,
    /// User tables, and `sysfiles1`.
    pub(crate) tables: Arc<RwLock<Tables>>,
    /// Heaps and trees that open transactions have dropped or replaced: a rollback restores their
    /// catalog rows.
    pub(crate) dropped_units: RwLock<BTreeMap<AllocUnitId, DroppedObject>>,
    /// Units that open transactions have created: a rollback deletes their catalog rows, which no
    /// other session changes until then.
    pub(crate) created_units: RwLock<BTreeSet<AllocUnitId>>,
    /// Tables that open transactions create.
    pub(crate) new_tables: RwLock<BTreeSet<ObjectId>>,
    pub(crate) schemas: RwLock<BTreeMap<i32, String>>,
    pub(crate) filegroups: RwLock<Filegroups>,
    /// Asked by every change of a row.
    pub(crate) has_read_only_groups: AtomicBool,
    /// The highest rowset id there ever was.
    pub(crate) last_rowset: extentdb_base::sync::atomic::AtomicI64,
    /// The clustered index of `sysallocunits`, to find the rows of units.
    finder: Arc<UnitFinder>,
    /// Values that memory has reserved.
    pub(crate) sequences: Sequences,
    /// What DDL has changed since [`model`](Self::model) was read.
    pub(crate) changes: Arc<ModelChanges>,
    /// The model that was read last.
    pub(crate) model: Mutex<Option<Arc<CatalogModel>>>,
}

/// The pool as the catalog's reader sees it.
pub(crate) struct PoolPages<'p> {
    pub(crate) pool: &'p Pool,
    pub(crate) space: &'p Space,
}

impl PageGetter for PoolPages<'_> {
    fn page(&self, id: PageId, page: &mut PageBytes) -> Result<(), PageError> {
        let guard =
            self.pool.read(id).map_err(|error| PageError::Io { page: id, source: error.into() })?;
        page.copy_from_slice(&guard[..]);
        Ok(())
    }

    fn page_count(&self, file: FileId) -> u32 {
        self.space.file(file).map_or(0, |file| file.pages())
    }

    fn total_pages(&self) -> u64 {
        self.space.files().iter().map(|file| u64::from(file.pages())).sum()
    }
}

impl CatalogCache {
    /// Reads the base tables.
    ///
    /// # Errors
    /// Something of them is missing or contradicts itself: such a database is checked, not written.
    pub(crate) fn load(
        pool: &Pool,
        space: &Arc<Space>,
        options: &Options,
    ) -> Result<CatalogCache, Error> {
        let catalog = Catalog::load(&PoolPages { pool, space })?;
        verify_faults(options.purpose, &catalog.faults)?;
        let origin = Origin::read(pool)?;
        let changes = Arc::new(ModelChanges::default());
        let units = units_of(&catalog);
        let loaded = LoadedCatalog {
            catalog: &catalog,
            space,
            units: &units,
            placement: options.placement,
            purpose: options.purpose,
        };
        let system = match options.purpose {
            Purpose::Change => system_tables(loaded, origin, &changes)?,
            Purpose::Read => described_tables(loaded, origin, &changes)?,
        };
        let tables = user_tables(loaded);
        let finder = Arc::new(UnitFinder { pool: space.pool().clone(), tree: RwLock::new(None) });
        let cache = CatalogCache {
            origin,
            system_trees: trees_by_unit(&system),
            system,
            units,
            tables: Arc::new(RwLock::new(tables)),
            dropped_units: RwLock::default(),
            created_units: RwLock::default(),
            new_tables: RwLock::default(),
            schemas: RwLock::new(catalog.schemas.clone()),
            filegroups: RwLock::default(),
            has_read_only_groups: AtomicBool::new(false),
            last_rowset: catalog.rowsets.keys().map(|id| id.0).max().unwrap_or(0).into(),
            finder,
            sequences: Sequences::default(),
            changes,
            model: Mutex::default(),
        };
        let tree = cache.system("sysallocunits")?.indexes[0].tree.clone();
        *write(&cache.finder.tree) = Some(tree);
        cache.load_filegroups()?;
        Ok(cache)
    }

    /// Finds the rows of units in `sysallocunits`.
    pub(crate) fn finder(&self) -> Arc<dyn UnitRows> {
        self.finder.clone()
    }

    /// Replaces the cached catalog by a fresh one of the same base tables. The finder of unit rows
    /// stays.
    pub(crate) fn replace_by(&mut self, fresh: CatalogCache) {
        let tree = read(&fresh.finder.tree).clone();
        *write(&self.finder.tree) = tree;
        *self = CatalogCache { finder: self.finder.clone(), ..fresh };
    }

    /// Releases the tree that space finds rows of units through: the two hold each other.
    pub(crate) fn detach(&self) {
        *write(&self.finder.tree) = None;
    }

    /// A system table by its name.
    pub(crate) fn system(&self, name: &str) -> Result<&SystemTable, Error> {
        self.system.get(name).ok_or_else(|| Error::catalog(format!("there is no table {name}")))
    }

    /// The unit as its row describes it now: one that a rollback has restored may not be cached.
    pub(crate) fn unit_of_row(&self, id: AllocUnitId) -> Result<Option<Arc<Unit>>, Error> {
        let row = self.system("sysallocunits")?.indexes[0].tree.find(&[bigint(id.0)])?;
        let unit = row.and_then(|row| AllocUnit::of_record(&row.bytes));
        Ok(unit.map(|unit| Arc::new(Unit::new(&description(&unit, 0)))))
    }

    /// The tree of a unit: that of a system table, of an index, or one that is dropped.
    pub(crate) fn tree_of(&self, unit: AllocUnitId) -> Option<Arc<Tree>> {
        let is_it = |tree: &&Arc<Tree>| tree.unit().is_known_as(unit);
        if let Some(tree) = self.system_trees.get(&unit) {
            return Some(tree.clone());
        }
        let owner = read(&self.tables).owner(unit).cloned();
        let of_table = owner.and_then(|table| table.storage().trees().find(is_it).cloned());
        of_table.or_else(|| self.dropped_tree(unit))
    }

    /// A tree that an open transaction has dropped or replaced.
    fn dropped_tree(&self, unit: AllocUnitId) -> Option<Arc<Tree>> {
        let dropped_units = read(&self.dropped_units);
        let tree = |left: &DroppedObject| match left {
            DroppedObject::Tree(tree) if tree.unit().is_known_as(unit) => Some(tree.clone()),
            _ => None,
        };
        let by_id = dropped_units.get(&unit).and_then(tree);
        by_id.or_else(|| dropped_units.values().find_map(tree))
    }

    /// All trees: those of system tables, and those of user tables.
    pub(crate) fn trees(&self) -> Vec<Arc<Tree>> {
        let of_system =
            self.system.values().flat_map(|table| &table.indexes).map(|index| index.tree.clone());
        let storages = self.all_tables().into_iter().map(|table| table.storage());
        let of_tables = storages.flat_map(|storage| storage.trees().cloned().collect::<Vec<_>>());
        of_system.chain(of_tables).collect()
    }

    /// The user table whose rows a unit holds.
    pub(crate) fn table_of(&self, unit: AllocUnitId) -> Option<Arc<Table>> {
        read(&self.tables).owner(unit).filter(|table| table.unit().id() == unit).cloned()
    }

    /// The heap whose rows a unit holds, that of a table or one that is dropped.
    pub(crate) fn heap_of(&self, unit: AllocUnitId) -> Option<Arc<Heap>> {
        let dropped_units = || match read(&self.dropped_units).get(&unit) {
            Some(DroppedObject::Heap(heap)) => Some(heap.clone()),
            _ => None,
        };
        self.table_of(unit).and_then(|table| table.heap()).or_else(dropped_units)
    }

    /// The values off rows that a unit holds, those of a table or of one that is dropped.
    pub(crate) fn lob_of(&self, unit: AllocUnitId) -> Option<Arc<LobUnit>> {
        let is_it = |lob: &&Arc<LobUnit>| lob.unit().is_known_as(unit);
        let mut of_system = self.system.values().flat_map(|table| table.off_row.all());
        if let Some(lob) = of_system.find(is_it) {
            return Some(lob.clone());
        }
        let owner = read(&self.tables).owner(unit).cloned();
        let of_table = owner.and_then(|table| table.storage().lob_units().find(is_it).cloned());
        let dropped = || match read(&self.dropped_units).get(&unit) {
            Some(DroppedObject::Lob(lob)) => Some(lob.clone()),
            _ => None,
        };
        of_table.or_else(dropped)
    }

    /// The values off rows of all tables whose units are not being dropped, those of the system
    /// among them.
    pub(crate) fn lob_units(&self) -> Vec<Arc<LobUnit>> {
        let of_system = self.system.values().flat_map(|table| table.off_row.all().cloned());
        let storages = self.all_tables().into_iter().map(|table| table.storage());
        let all = storages.flat_map(|storage| storage.lob_units().cloned().collect::<Vec<_>>());
        of_system.chain(all.filter(|lob| !self.is_dropped(lob.unit().id()))).collect()
    }

    /// Does an open transaction make the table?
    pub(crate) fn is_new(&self, table: ObjectId) -> bool {
        read(&self.new_tables).contains(&table)
    }

    /// Is the unit one that an open transaction has dropped?
    pub(crate) fn is_dropped(&self, unit: AllocUnitId) -> bool {
        read(&self.dropped_units).contains_key(&unit)
    }

    /// Does the catalog row of the unit belong to an open transaction?
    pub(crate) fn is_pending(&self, unit: AllocUnitId) -> bool {
        self.is_dropped(unit) || read(&self.created_units).contains(&unit)
    }

    /// A user table by schema and name: of several the one that `rank` puts first, none that it has
    /// no rank for. Names compare without regard to case.
    pub(crate) fn table(
        &self,
        name: &str,
        rank: impl Fn(&Table) -> Option<u8>,
    ) -> Option<Arc<Table>> {
        let (schema, name) = name.split_once('.').unwrap_or(("dbo", name));
        let tables = read(&self.tables);
        let users = tables.named(schema, name).filter(|table| table.id() != SYSFILES1);
        let ranked = users.filter_map(|table| Some((rank(table)?, table)));
        ranked.min_by_key(|(rank, _)| *rank).map(|(_, table)| table.clone())
    }

    /// A table by its id.
    pub(crate) fn table_by_id(&self, id: ObjectId) -> Option<Arc<Table>> {
        read(&self.tables).get(id).cloned()
    }

    /// `sysfiles1`, which lists the files a second time.
    pub(crate) fn sysfiles1(&self) -> Result<Arc<Table>, Error> {
        let found = read(&self.tables).get(SYSFILES1).cloned();
        found.ok_or_else(|| Error::catalog("there is no table sysfiles1"))
    }

    /// All tables, by id.
    pub(crate) fn all_tables(&self) -> Vec<Arc<Table>> {
        read(&self.tables).all().cloned().collect()
    }

    /// All tables but the system's own, by id.
    pub(crate) fn user_tables(&self) -> Vec<Arc<Table>> {
        read(&self.tables).all().filter(|table| table.id() != SYSFILES1).cloned().collect()
    }

    /// The next rowset id.
    pub(crate) fn next_rowset(&self) -> HobtId {
        use extentdb_base::sync::atomic::Ordering;
        HobtId(self.last_rowset.fetch_add(1 << 16, Ordering::Relaxed) + (1 << 16))
    }
}

/// The allocation units, with the row counts of their rowsets.
fn units_of(catalog: &Catalog) -> Units {
    let units = Units::default();
    for unit in catalog.units.values() {
        let rows = catalog.rowsets.get(&unit.owner).map_or(0, |rowset| rowset.rows);
        units.add(Arc::new(Unit::new(&description(unit, rows))));
    }
    units
}

/// The system tables. Internal tables are of another form in each database, and nothing here
/// changes them.
fn system_tables(
    loaded: LoadedCatalog<'_>,
    origin: Origin,
    changes: &Arc<ModelChanges>,
) -> Result<BTreeMap<String, SystemTable>, Error> {
    let wrong = |error: DefinitionError| Error::catalog(error.to_string());
    let mut definitions = base_tables(DEFAULT_COLLATION).map_err(wrong)?;
    let of_master = master_tables(DEFAULT_COLLATION).map_err(wrong)?;
    let is_here = |it: &TableDefinition| loaded.catalog.tables.contains_key(&it.id);
    definitions.extend(of_master.into_iter().filter(is_here));
    let mut system = BTreeMap::new();
    for definition in definitions.iter().filter(|it| it.kind == ObjectType::SYSTEM_TABLE) {
        if let Some(table) = SystemTable::open(definition, origin, loaded, changes)? {
            system.insert(table.name.clone(), table);
        }
    }
    Ok(system)
}

/// The system tables of a database of any version, as its own catalog describes them.
fn described_tables(
    loaded: LoadedCatalog<'_>,
    origin: Origin,
    changes: &Arc<ModelChanges>,
) -> Result<BTreeMap<String, SystemTable>, Error> {
    let mut system = BTreeMap::new();
    let is_system = |table: &&model::Table| table.kind == ObjectType::SYSTEM_TABLE;
    for table in loaded.catalog.tables.values().filter(is_system) {
        if let Some(opened) = SystemTable::open_described(table, origin, loaded, changes)? {
            system.insert(table.name.clone(), opened);
        }
    }
    Ok(system)
}

/// A database that is to be changed has a catalog without faults.
pub(crate) fn verify_faults<'f>(
    purpose: Purpose,
    faults: impl IntoIterator<Item = &'f Fault>,
) -> Result<(), Error> {
    match faults.into_iter().next() {
        Some(fault) if purpose == Purpose::Change => Err(Error::catalog(fault.to_string())),
        _ => Ok(()),
    }
}

fn user_tables(loaded: LoadedCatalog<'_>) -> Tables {
    let is_ours = |table: &&model::Table| {
        matches!(table.kind, ObjectType::USER_TABLE | ObjectType::TABLE_TYPE)
            || table.id == SYSFILES1
    };
    let mut tables = Tables::default();
    let ours = loaded.catalog.tables.values().filter(is_ours);
    for table in ours.filter_map(|table| Table::open(table, loaded)) {
        tables.add(Arc::new(table));
    }
    tables
}

fn trees_by_unit(system: &BTreeMap<String, SystemTable>) -> BTreeMap<AllocUnitId, Arc<Tree>> {
    let trees = system.values().flat_map(|table| &table.indexes).map(|index| &index.tree);
    trees.flat_map(|tree| tree.unit().aliases().map(|id| (id, tree.clone()))).collect()
}

/// A unit as `sysallocunits` and `sysrowsets` describe it.
fn description(unit: &AllocUnit, rows: i64) -> UnitDescription {
    UnitDescription {
        id: unit.id,
        hobt: unit.owner,
        group: unit.filegroup,
        first: unit.first_page,
        root: unit.root,
        first_iam: unit.first_iam,
        counts: UnitCounts {
            rows: if unit.kind == AllocUnitKind::InRow { rows } else { 0 },
            data: unit.pages_data,
            used: unit.pages_used,
            reserved: unit.pages_reserved,
        },
    }
}

/// Finds the rows of allocation units through the clustered index of `sysallocunits`.
pub(crate) struct UnitFinder {
    pool: Arc<Pool>,
    tree: RwLock<Option<Arc<Tree>>>,
}

impl UnitRows for UnitFinder {
    fn with_row(
        &self,
        unit: &Unit,
        f: &mut dyn FnMut(&mut PageWriteGuard, u16) -> Result<(), extentdb_space::Error>,
    ) -> Result<(), extentdb_space::Error> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| {
            extentdb_space::Error::Catalog { unit: unit.id(), source }
        };
        let tree = read(&self.tree).clone().ok_or_else(|| failed("it is not open".into()))?;
        // Between looking for the row and latching its page a split may have moved it.
        for _ in 0..TRIES_MAX {
            let found = tree.find(&[bigint(unit.id().0)]).map_err(|error| failed(error.into()))?;
            let row = found.ok_or_else(|| failed("there is no such row".into()))?;
            let mut page = self.pool.write(row.at.page)?;
            if is_row_of(&page, row.at.slot.0, unit.id()) {
                return f(&mut page, row.at.slot.0);
            }
        }
        Err(failed("its row moves about".into()))
    }
}
