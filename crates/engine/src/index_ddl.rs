//! Indexes come and go: rows of the system tables, and entries for all rows of the table, in the session's transaction.

use extentdb_base::sync::{Arc, lock};
use extentdb_base::{AllocUnitId, IndexId, ObjectId, Rid};
use extentdb_catalog::layout::{Cell, Compression};
use extentdb_catalog::model::{AllocUnitKind, IndexKind};
use extentdb_catalog::table::definition::{index_status, rowset_status};
use extentdb_catalog::table::describe::{
    Child, ChildKind, SystemRows, UnitPlace, add_child, add_index, add_rowsets, unit_row,
};
use extentdb_catalog::table::{IndexDefinition, KeyColumn, RowsetLayout, TableDefinition, UnitDefinition};
use extentdb_format::allocation::field::StoredTime;
use extentdb_rowset::heap::PageRows;
use extentdb_rowset::layout::{KEY_BYTES_MAX, ROW_BYTES_MAX};
use extentdb_txn::lock::{LockMode, Resource};
use extentdb_txn::log_time;
use extentdb_types::SqlType;

use crate::boot::Counter;
use crate::ddl::{object, verify_name};
use crate::entries::duplicate;
use crate::error::Error;
use crate::index::{Constraint, Index, definition_of};
use crate::session::{Ending, Session};
use crate::system_table::{Cells, bigint, int, number};
use crate::table::{Storage, Table, TableColumn};

/// Key columns of an index, by public documentation.
const KEY_COLUMNS_MAX: usize = 16;
/// Nonclustered indexes count from here.
const FIRST_NONCLUSTERED: i32 = 2;

/// A new index.
#[derive(Clone, Debug)]
pub struct IndexSpec {
    /// Name.
    pub name: String,
    /// Two rows never have the same key; NULL is a value like others. So it is with every constraint.
    pub unique: bool,
    /// The constraint that the index is made for.
    pub constraint: Constraint,
    /// Key columns in their order; true for a descending one.
    pub keys: Vec<(String, bool)>,
    /// INCLUDE.
    pub included: Vec<String>,
    /// Filegroup; PRIMARY for none.
    pub filegroup: Option<String>,
}

impl IndexSpec {
    /// An ascending index that is not unique, in filegroup PRIMARY.
    pub fn new(name: &str, keys: &[&str]) -> IndexSpec {
        let keys = keys.iter().map(|key| ((*key).to_owned(), false)).collect();
        let (name, constraint) = (name.to_owned(), Constraint::None);
        IndexSpec { name, unique: false, constraint, keys, included: Vec::new(), filegroup: None }
    }

    /// The index of a nonclustered PRIMARY KEY.
    pub fn primary_key(name: &str, keys: &[&str]) -> IndexSpec {
        IndexSpec { constraint: Constraint::PrimaryKey, ..IndexSpec::new(name, keys).unique() }
    }

    /// The index of a UNIQUE constraint.
    pub fn unique_constraint(name: &str, keys: &[&str]) -> IndexSpec {
        IndexSpec { constraint: Constraint::Unique, ..IndexSpec::new(name, keys).unique() }
    }

    /// The same, unique.
    #[must_use]
    pub fn unique(self) -> IndexSpec {
        IndexSpec { unique: true, ..self }
    }
}

impl Session<'_> {
    /// Makes a nonclustered index on a table, with entries for the rows that it has.
    ///
    /// # Errors
    /// The name is taken, a column is not there, two rows have the same key in a unique index, or the index is of a kind that is
    /// not made here: [`Error::NotSupported`].
    pub fn create_index(&mut self, table: &Arc<Table>, spec: &IndexSpec) -> Result<(), Error> {
        self.statement("CREATE INDEX", |session| {
            session.lock_for_ddl(table)?;
            let old = table.storage();
            spec.verify(table, &old)?;
            let index = {
                let _ddl = lock(&session.db.ddl);
                session.describe_index(table, &old, spec)?
            };
            let index = Arc::new(index);
            let mut indexes = old.indexes.clone();
            indexes.push(index.clone());
            indexes.sort_by_key(|index| index.id());
            // The undo of a statement that fails from here on finds the tree by the table.
            session.store(table, Storage { heap: old.heap.clone(), indexes });
            session.fill(table, &index)
        })
    }

    /// Drops an index: its pages are free when the transaction has committed.
    ///
    /// # Errors
    /// The table has no such index, or it belongs to a constraint.
    pub fn drop_index(&mut self, table: &Arc<Table>, name: &str) -> Result<(), Error> {
        self.drop_index_of(table, name, false)
    }

    /// Drops a primary key or a unique constraint with its index.
    ///
    /// # Errors
    /// The table has no such constraint.
    pub fn drop_constraint(&mut self, table: &Arc<Table>, name: &str) -> Result<(), Error> {
        self.drop_index_of(table, name, true)
    }

    fn drop_index_of(&mut self, table: &Arc<Table>, name: &str, of_constraint: bool) -> Result<(), Error> {
        self.statement("DROP INDEX", |session| {
            session.lock_for_ddl(table)?;
            let _ddl = lock(&session.db.ddl);
            let (old, index) = (table.storage(), table.index(name)?);
            match (index.constraint() != Constraint::None, of_constraint) {
                (true, false) => {
                    let what = format!("to drop index {name} without the constraint that it belongs to");
                    return Err(Error::NotSupported { what });
                }
                (false, true) => {
                    return Err(Error::NoIndex { table: table.name().to_owned(), name: name.to_owned() });
                }
                _ => {}
            }
            if index.constraint() != Constraint::None {
                let object = session.object_named(table, index.name())?;
                session.delete_where("sysschobjs", &[int(object.map_or(0, |id| id.0))])?;
            }
            session.delete_index_rows(table, &index)?;
            session.delete_where("sysidxstats", &[int(table.id().0), int(index.id().0)])?;
            session.delete_where("sysiscols", &[int(table.id().0), int(index.id().0)])?;
            let freed = session.db.space.free_unit(session.tx()?, index.tree().unit())?;
            session.freed.extend(freed);
            let indexes = old.indexes.iter().filter(|other| other.id() != index.id()).cloned().collect();
            session.store(table, Storage { heap: old.heap.clone(), indexes });
            Ok(())
        })
    }

    /// Nobody else uses the table from here on.
    pub(crate) fn lock_for_ddl(&mut self, table: &Table) -> Result<(), Error> {
        self.lock(Resource::Object(table.id()), LockMode::SchM, None)?;
        self.verify_there(table)?;
        table.verify_writable()
    }

    /// Rows that describe the rowset and the unit of an index.
    pub(crate) fn delete_index_rows(&mut self, table: &Table, index: &Index) -> Result<(), Error> {
        debug_assert!(table.storage().indexes.iter().any(|own| own.id() == index.id()));
        self.delete_where("sysallocunits", &[bigint(index.tree().unit().id().0)])?;
        self.delete_where("sysrowsets", &[bigint(index.hobt().0)])?;
        self.delete_where("sysrscols", &[bigint(index.hobt().0)])
    }

    /// From now on the rows of the table lie there; a rollback takes that back.
    pub(crate) fn store(&mut self, table: &Arc<Table>, new: Storage) {
        let (old, new) = (table.storage(), Arc::new(new));
        self.db.catalogue.leave(&old, &new);
        table.set_storage(new.clone());
        self.endings.push(Ending::Stored { table: table.clone(), old, new });
    }

    /// The rows of the system tables, the unit behind the rowset it belongs to, the name last: a restart reads them as they are
    /// before it undoes what was cut off.
    fn describe_index(&mut self, table: &Table, old: &Storage, spec: &IndexSpec) -> Result<Index, Error> {
        let db = self.db;
        let group = self.filegroup_id(spec.filegroup.as_deref())?;
        let mut definition = definition_of(table.id(), table.name(), table.table_columns());
        let unit = AllocUnitId((self.take_id(Counter::Unit)? << 16) as i64);
        let unit = UnitDefinition { kind: AllocUnitKind::InRow, id: unit };
        let index = IndexDefinition {
            rowset: db.catalogue.next_rowset(),
            filegroup: group,
            data_space: group.into(),
            units: vec![unit],
            ..spec.definition(table, old)?
        };
        let layout = definition.layout(&index);
        spec.verify_layout(&layout)?;
        let nullable = if layout.has_nullable_key { rowset_status::NULLABLE_KEY } else { 0 };
        let index = IndexDefinition { rowset_status: index.rowset_status | nullable, ..index };
        definition.indexes.push(index.clone());
        let constraint = self.constraint_of(table, spec)?;
        self.insert_index_rows(&definition, &index, constraint)?;
        self.tx()?.keep_reserves();
        let unit = self.new_unit(&index, index.units[0].id);
        Index::new(index, layout, table.table_columns(), (db.space.clone(), unit))
    }

    /// The object of the constraint that an index is made for.
    fn constraint_of(&mut self, table: &Table, spec: &IndexSpec) -> Result<Option<Child>, Error> {
        let kind = match spec.constraint {
            Constraint::None => return Ok(None),
            Constraint::PrimaryKey => ChildKind::PrimaryKey,
            Constraint::Unique => ChildKind::Unique,
        };
        if self.object_named(table, &spec.name)?.is_some() {
            return Err(Error::Exists { name: spec.name.clone() });
        }
        let (id, schema_id) = (self.object_id()?, self.schema_id(table.schema())?);
        Ok(Some(Child { id, name: spec.name.clone(), kind, table: table.id(), schema_id }))
    }

    /// The object of a name in the schema of a table.
    fn object_named(&self, table: &Table, name: &str) -> Result<Option<ObjectId>, Error> {
        let schema = self.schema_id(table.schema())?;
        let is_it = |row: &Cells| {
            let own = match row.get(object::NAME) {
                Some(Cell::Bytes(bytes)) => {
                    let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
                    String::from_utf16_lossy(&units.collect::<Vec<_>>())
                }
                _ => String::new(),
            };
            row.get(object::SCHEMA).and_then(number) == Some(schema.into()) && own.eq_ignore_ascii_case(name)
        };
        let rows = self.db.catalogue.system("sysschobjs")?.rows(&[])?;
        let found = rows.iter().find(|row| is_it(row)).and_then(|row| row.get(object::ID).and_then(number));
        Ok(found.map(|id| ObjectId(id as i32)))
    }

    fn insert_index_rows(
        &mut self,
        definition: &TableDefinition,
        index: &IndexDefinition,
        constraint: Option<Child>,
    ) -> Result<(), Error> {
        let mut rows = SystemRows::new();
        add_rowsets(std::slice::from_ref(definition), &Default::default(), &mut rows);
        let mut names = SystemRows::new();
        add_index(definition, index, &mut names);
        let unit = unit_row(index.rowset, index.filegroup, index.units[0], &UnitPlace::default());
        let unit = [("sysallocunits".to_owned(), vec![unit])];
        let mut objects = SystemRows::new();
        if let Some(constraint) = constraint {
            let now = log_time(&*self.db.options.clock);
            add_child(&constraint, StoredTime { ticks: now.ticks, days: now.days as i32 }, &mut objects);
        }
        let names = names.into_iter().rev().chain(objects);
        for (name, rows) in rows.into_iter().chain(unit).chain(names) {
            let table = self.db.catalogue.system(&name)?;
            for row in &rows {
                table.insert(self.tx()?, row)?;
            }
        }
        Ok(())
    }

    /// Entries for all rows there are, in key order: every page of the index gets full.
    fn fill(&mut self, table: &Arc<Table>, index: &Index) -> Result<(), Error> {
        let mut entries = Vec::new();
        for (at, record) in self.rows_for_ddl(table)? {
            let entry = index.entry(&table.cells(&record)?, table.table_columns(), at);
            index.verify_place(&entry, table.table_columns())?;
            entries.push((index.tree().shape().key_of_cells(&entry)?, at, record));
        }
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (_, at, record) in &entries {
            let entry = index.entry(&table.cells(record)?, table.table_columns(), *at);
            match index.tree().insert(self.tx()?, &entry) {
                Err(extentdb_rowset::Error::Duplicate { .. }) => return Err(duplicate(table, index, &entry)),
                done => done?,
            }
        }
        Ok(())
    }

    /// All rows of a table that nobody else can be changing.
    fn rows_for_ddl(&self, table: &Table) -> Result<Vec<(Rid, Vec<u8>)>, Error> {
        let heap = table.heap();
        let mut rows = Vec::new();
        for page in heap.formatted_pages()? {
            match heap.page_rows(page, || None)? {
                PageRows::Committed(found) => rows.extend(found),
                PageRows::Unsure(places) => {
                    for at in places {
                        rows.extend(heap.get(at)?.map(|record| (at, record)));
                    }
                }
            }
        }
        Ok(rows)
    }

    /// The table's indexes over new, empty units.
    pub(crate) fn empty_indexes(&mut self, old: &Storage) -> Result<Vec<Arc<Index>>, Error> {
        let mut indexes = Vec::new();
        for index in &old.indexes {
            let unit = self.replace_unit(index.tree().unit())?;
            indexes.push(Arc::new(index.over(self.db.space.clone(), unit)));
        }
        Ok(indexes)
    }
}

impl IndexSpec {
    fn verify(&self, table: &Table, storage: &Storage) -> Result<(), Error> {
        verify_name(&self.name)?;
        if storage.indexes.iter().any(|index| index.name().eq_ignore_ascii_case(&self.name)) {
            return Err(Error::Exists { name: self.name.clone() });
        }
        let not_supported = |what: String| Err(Error::NotSupported { what });
        if self.keys.is_empty() || self.keys.len() > KEY_COLUMNS_MAX {
            return not_supported(format!("an index of {} key columns", self.keys.len()));
        }
        let has_primary = storage.indexes.iter().any(|index| index.constraint() == Constraint::PrimaryKey);
        if self.constraint == Constraint::PrimaryKey && has_primary {
            return not_supported("a second primary key".to_owned());
        }
        let names: Vec<&String> = self.keys.iter().map(|(name, _)| name).chain(&self.included).collect();
        for (at, name) in names.iter().enumerate() {
            if names[..at].iter().any(|other| other.eq_ignore_ascii_case(name)) {
                return not_supported(format!("column {name} twice in an index"));
            }
            let column = column(table, name)?;
            if self.constraint == Constraint::PrimaryKey && column.nullable {
                return not_supported(format!("a primary key over column {name}, which takes NULL"));
            }
            if matches!(column.ty, SqlType::SqlVariant | SqlType::Xml | SqlType::Udt { .. }) {
                return not_supported(format!("column {name} of its type in an index"));
            }
        }
        Ok(())
    }

    fn definition(&self, table: &Table, storage: &Storage) -> Result<IndexDefinition, Error> {
        let is_free = |id: &i32| storage.indexes.iter().all(|index| index.id().0 != *id);
        let id = (FIRST_NONCLUSTERED..).find(is_free).unwrap_or(FIRST_NONCLUSTERED);
        let key = |(name, descending): &(String, bool)| {
            Ok(KeyColumn { column_id: column(table, name)?.id, descending: *descending })
        };
        let is_unique = self.unique || self.constraint != Constraint::None;
        let unique = if is_unique { (index_status::UNIQUE, rowset_status::UNIQUE) } else { (0, 0) };
        Ok(IndexDefinition {
            id: IndexId(id),
            name: Some(self.name.clone()),
            kind: IndexKind::Nonclustered,
            keys: self.keys.iter().map(key).collect::<Result<_, Error>>()?,
            included: self
                .included
                .iter()
                .map(|name| Ok(column(table, name)?.id))
                .collect::<Result<_, Error>>()?,
            status: index_status::HAS_ROWSET
                | index_status::HAS_STATISTICS
                | unique.0
                | self.constraint.status(),
            data_space: 0,
            filegroup: 0,
            partition: 1,
            partition_column: 0,
            rest: Vec::new(),
            filter: None,
            rowset: extentdb_base::HobtId(0),
            rowset_status: rowset_status::USUAL | unique.1,
            compression: Compression::None,
            hides_min_interior: false,
            units: Vec::new(),
        })
    }

    /// Fixed columns alone must not exceed a key; of variable ones each value is looked at when it comes.
    fn verify_layout(&self, layout: &RowsetLayout) -> Result<(), Error> {
        let longest = layout.max_leaf as usize;
        let keys = layout.row.columns.iter().filter(|column| column.key_ordinal > 0);
        let fixed = keys.take(self.keys.len()).filter_map(|column| column.ty?.fixed_bytes());
        let bytes: usize = fixed.sum();
        if bytes > KEY_BYTES_MAX {
            return Err(extentdb_rowset::Error::KeyTooLong { bytes, most: KEY_BYTES_MAX }.into());
        }
        match longest {
            ..=ROW_BYTES_MAX => Ok(()),
            _ => Err(Error::NotSupported { what: format!("index entries of up to {longest} bytes") }),
        }
    }
}

fn column<'t>(table: &'t Table, name: &str) -> Result<&'t TableColumn, Error> {
    let found = table.table_columns().iter().find(|column| column.name.eq_ignore_ascii_case(name));
    let missing =
        || Error::NotSupported { what: format!("column {name}, which table {} has not got", table.name()) };
    found.ok_or_else(missing)
}
