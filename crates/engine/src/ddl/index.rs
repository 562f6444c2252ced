//! CREATE and DROP INDEX: rows of the system tables, and entries for all rows of the table, in the
//! session's transaction.

use extentdb_base::size::ROW_BYTES_MAX;
use extentdb_base::sync::{Arc, lock, write};
use extentdb_base::{IndexId, ObjectId};
use extentdb_catalog::model::{AllocUnitKind, IndexKind};
use extentdb_catalog::table::definition::{index_status, rowset_status};
use extentdb_catalog::table::describe::{Child, ChildKind, SystemRows, add_index, add_rowset};
use extentdb_catalog::table::{IndexDefinition, KeyColumn, RowsetLayout, TableDefinition};
use extentdb_rowset::btree::Fill;
use extentdb_rowset::layout::KEY_BYTES_MAX;
use extentdb_txn::lock::{LockMode, Resource};
use extentdb_types::SqlType;

use crate::catalog::storage::definition_of;
use crate::catalog::system_table::int;
use crate::catalog::{
    Condition, Constraint, DeferredChange, Formula, Index, Rule, Storage, Table, TableColumn,
    TableRef,
};
use crate::ddl::table::{heap_definition, with_nullable_key};
use crate::dml::entries::duplicate;
use crate::error::invalid::verify_name;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

/// Key columns of an index, by public documentation.
const KEY_COLUMNS_MAX: usize = 16;
/// The id of every clustered index.
pub(crate) const CLUSTERED: IndexId = IndexId(1);
/// Nonclustered indexes count from here.
const FIRST_NONCLUSTERED: i32 = 2;

/// A new index.
#[derive(Clone, Debug)]
pub struct IndexSpec {
    /// Name, 1 to 128 UTF-16 units.
    pub name: String,
    /// Two rows never have the same key; NULL is a value like others. So it is with every
    /// constraint.
    pub unique: bool,
    /// The constraint that the index is made for.
    pub constraint: Constraint,
    /// Key columns in their order; true for a descending one.
    pub keys: Vec<(String, bool)>,
    /// The rows themselves lie in it.
    pub clustered: bool,
    /// INCLUDE: columns in the leaves alone.
    pub included: Vec<String>,
    /// WHERE: it has entries for these rows only; the condition as the catalog is to keep it, in
    /// brackets: `([price]>(0))`.
    pub filter: Option<String>,
    /// FILLFACTOR, percent: how full leaves get when the index is made; 0 for as full as they can
    /// be.
    pub fill_factor: u8,
    /// PAD_INDEX: the same for the pages above. Not kept in the catalog: its bit there is not
    /// known.
    pub pad_index: bool,
    /// Filegroup; PRIMARY for none.
    pub filegroup: Option<String>,
}

impl IndexSpec {
    /// An ascending nonclustered index that is not unique, in filegroup PRIMARY.
    pub fn new(name: &str, keys: &[&str]) -> IndexSpec {
        let keys = keys.iter().map(|key| ((*key).to_owned(), false)).collect();
        IndexSpec {
            name: name.to_owned(),
            unique: false,
            constraint: Constraint::None,
            keys,
            clustered: false,
            included: Vec::new(),
            filter: None,
            fill_factor: 0,
            pad_index: false,
            filegroup: None,
        }
    }

    /// The index of a nonclustered PRIMARY KEY.
    pub fn primary_key(name: &str, keys: &[&str]) -> IndexSpec {
        IndexSpec {
            constraint: Constraint::PrimaryKey,
            ..IndexSpec::new(name, keys).unique()
        }
    }

    /// The index of a UNIQUE constraint.
    pub fn unique_constraint(name: &str, keys: &[&str]) -> IndexSpec {
        IndexSpec {
            constraint: Constraint::Unique,
            ..IndexSpec::new(name, keys).unique()
        }
    }

    /// The same, clustered.
    #[must_use]
    pub fn clustered(self) -> IndexSpec {
        IndexSpec { clustered: true, ..self }
    }

    /// The same, unique.
    #[must_use]
    pub fn unique(self) -> IndexSpec {
        IndexSpec { unique: true, ..self }
    }
}

impl Session {
    /// Makes an index on a table, with entries for the rows that it has. A clustered one takes all
    /// rows of a heap, and the other indexes are built again: they lead to rows by its key.
    ///
    /// # Errors
    /// The name is taken, a column is not there, two rows have the same key in a unique index, or
    /// the index is of a kind that is not made here: [`Error::NotSupported`].
    pub fn create_index(&mut self, table: &Arc<Table>, spec: &IndexSpec) -> Result<(), Error> {
        self.statement("CREATE INDEX", |context| {
            let old = context.lock_for_ddl(table)?;
            spec.verify(&old)?;
            if spec.clustered {
                return context.make_clustered(table, &old, spec);
            }
            let index = {
                let _ddl = lock(&context.db().ddl);
                context.describe_index(table, &old, spec)?
            };
            let index = Arc::new(index);
            let mut new = Storage::clone(&old);
            new.indexes.push(index.clone());
            new.indexes.sort_by_key(|index| index.id());
            // The undo of a statement that fails from here on finds the tree by the table.
            let storage = context.store(table, new);
            context.fill(table.with(&storage), &index, spec.fill())
        })
    }

    /// Drops an index: its pages are free when the transaction has committed.
    ///
    /// # Errors
    /// The table has no such index, or it belongs to a constraint.
    pub fn drop_index(&mut self, table: &Arc<Table>, name: &str) -> Result<(), Error> {
        self.statement("DROP INDEX", |context| {
            let old = context.lock_for_ddl(table)?;
            context.drop_index_of(table, &old, name, IndexOwner::None)
        })
    }

    /// Drops a check constraint, foreign key or default, or a primary key or unique constraint with
    /// its index.
    ///
    /// # Errors
    /// The table has no such constraint.
    pub fn drop_constraint(&mut self, table: &Arc<Table>, name: &str) -> Result<(), Error> {
        self.statement("DROP INDEX", |context| {
            let old = context.lock_for_ddl(table)?;
            let Some(rule) = old.constraints.rule(name, &old.columns) else {
                if let Some(check) = context.check_named(table, name)? {
                    let _ddl = lock(&context.db().ddl);
                    return context.drop_rule(table, &old, &Rule::DisabledCheck(check));
                }
                return context.drop_index_of(table, &old, name, IndexOwner::Constraint);
            };
            if matches!(rule, Rule::ForeignKey(_)) {
                context.lock_parents(&old)?;
            }
            let _ddl = lock(&context.db().ddl);
            context.drop_rule(table, &old, &rule)
        })
    }
}

/// What an index is there for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IndexOwner {
    /// It stands for itself.
    None,
    /// A primary key or unique constraint.
    Constraint,
}

impl IndexOwner {
    fn of(constraint: Constraint) -> IndexOwner {
        match constraint {
            Constraint::None => IndexOwner::None,
            Constraint::PrimaryKey | Constraint::Unique => IndexOwner::Constraint,
        }
    }
}

impl StatementContext<'_> {
    /// Drops an index with this owner, and its constraint with it.
    fn drop_index_of(
        &mut self,
        table: &Arc<Table>,
        old: &Arc<Storage>,
        name: &str,
        owner: IndexOwner,
    ) -> Result<(), Error> {
        let ddl = lock(&self.db().ddl);
        if let Some(disabled) = old.disabled(name) {
            verify_unreferenced(old, "drop", name, disabled.id)?;
            if IndexOwner::of(Constraint::of_status(disabled.status)) == owner {
                return self.drop_disabled(table, old, disabled);
            }
        }
        let index = old.index(name).ok_or_else(|| table.no_index(name))?;
        match (IndexOwner::of(index.constraint()), owner) {
            (IndexOwner::Constraint, IndexOwner::None) => {
                return Err(Unsupported::IndexOfConstraint { index: name.to_owned() }.into());
            }
            (IndexOwner::None, IndexOwner::Constraint) => return Err(table.no_index(name)),
            _ => {}
        }
        verify_unreferenced(old, "drop", name, index.id())?;
        if owner == IndexOwner::Constraint {
            self.delete_constraint(table, index.name())?;
        }
        if index.id() == CLUSTERED {
            drop(ddl);
            return self.rebase_alone(table, old, heap_definition(), Fill::default());
        }
        self.drop_nonclustered(table, old, index)
    }

    fn drop_nonclustered(
        &mut self,
        table: &Arc<Table>,
        old: &Arc<Storage>,
        index: &Arc<Index>,
    ) -> Result<(), Error> {
        self.begin_drop_index(table, old, index);
        self.delete_unit_rows(index.tree().unit())?;
        self.delete_index_rows(table, index.id())?;
        let freed = self.db().space.free_unit(self.tx()?, index.tree().unit())?;
        self.free_at_commit(freed);
        let mut new = Storage::clone(old);
        new.indexes.retain(|other| other.id() != index.id());
        self.store(table, new);
        Ok(())
    }
}

impl StatementContext<'_> {
    /// Nobody else uses the table from here on; says what it is.
    pub(crate) fn lock_for_ddl(&mut self, table: &Table) -> Result<Arc<Storage>, Error> {
        self.verify_alterable_now()?;
        self.lock_to_drop(table)
    }

    /// The same of a table that is dropped or truncated, also in a transaction under SNAPSHOT.
    pub(crate) fn lock_to_drop(&mut self, table: &Table) -> Result<Arc<Storage>, Error> {
        let storage = self.lock_definition(table)?;
        table.verify_alterable(&storage)?;
        self.verify_all_writable(table, &storage)?;
        Ok(storage)
    }

    /// The same of a table whose rows stay as they are.
    pub(crate) fn lock_definition(&mut self, table: &Table) -> Result<Arc<Storage>, Error> {
        self.db().verify_not_deferred(table)?;
        self.lock(Resource::Object(table.id()), LockMode::SchM, None)?;
        self.db().catalog.verify_exists(table)?;
        Ok(table.storage())
    }

    /// Replaces the storage of the table; a rollback restores the old one.
    pub(crate) fn store(&mut self, table: &Arc<Table>, new: Storage) -> Arc<Storage> {
        let old = table.storage();
        let new = Arc::new(new);
        self.db().catalog.drop_replaced(&old, &new);
        write(&self.db().catalog.tables).add_units(table.id(), &new);
        table.set_storage(new.clone());
        self.defer_change(DeferredChange::Stored { table: table.clone(), old, new: new.clone() });
        new
    }

    /// The rows of the system tables, the unit after the rowset it belongs to, the name last: a
    /// restart reads them as they are before it undoes what was interrupted.
    fn describe_index(
        &mut self,
        table: &Table,
        old: &Storage,
        spec: &IndexSpec,
    ) -> Result<Index, Error> {
        let group = self.filegroup_id(spec.filegroup.as_deref())?;
        self.verify_group_writable(group)?;
        let definition = definition_of(table.id(), table.name(), old);
        let mut index = self.index_with_rowset(spec.definition(old)?, group)?;
        // Statistics, and indexes that are disabled, have numbers, too.
        let named = self.db().catalog.system("sysidxstats")?;
        while !named.rows(&[int(table.id().0), int(index.id.0)])?.is_empty() {
            index.id.0 += 1;
        }
        let index = with_nullable_key(&definition, index);
        let layout = definition.layout(&index);
        spec.verify_layout(&layout)?;
        let constraint = self.constraint_of(table.id(), self.schema_id(table.schema())?, spec)?;
        self.insert_index_rows(&definition, &index, constraint)?;
        self.tx()?.keep_reserves();
        let unit = self.new_unit(&index);
        Index::new(index, &layout, old, self.db().space.clone(), unit)
    }

    /// The object of the constraint that an index of a table in a schema is made for.
    pub(crate) fn constraint_of(
        &mut self,
        table: ObjectId,
        schema_id: i32,
        spec: &IndexSpec,
    ) -> Result<Option<Child>, Error> {
        let kind = match spec.constraint {
            Constraint::None => return Ok(None),
            Constraint::PrimaryKey => ChildKind::PrimaryKey,
            Constraint::Unique => ChildKind::Unique,
        };
        if self.db().catalog.object_named(schema_id, &spec.name)?.is_some() {
            return Err(Error::Exists { name: spec.name.clone() });
        }
        Ok(Some(Child {
            id: self.object_id()?,
            name: spec.name.clone(),
            kind,
            table,
            schema_id,
        }))
    }

    pub(crate) fn insert_index_rows(
        &mut self,
        definition: &TableDefinition,
        index: &IndexDefinition,
        constraint: Option<Child>,
    ) -> Result<(), Error> {
        self.insert_rowset_rows(definition, index)?;
        self.insert_index_names(definition, index, constraint)
    }

    /// The same when the rows of its rowset are there.
    pub(crate) fn insert_index_names(
        &mut self,
        definition: &TableDefinition,
        index: &IndexDefinition,
        constraint: Option<Child>,
    ) -> Result<(), Error> {
        let mut names = SystemRows::new();
        add_index(definition, index, &mut names);
        self.insert_system_rows(names.iter().rev())?;
        constraint.map_or(Ok(()), |constraint| self.insert_child(&constraint))
    }

    /// The rowset of an index, and the unit after it.
    pub(crate) fn insert_rowset_rows(
        &mut self,
        definition: &TableDefinition,
        index: &IndexDefinition,
    ) -> Result<(), Error> {
        let mut rows = SystemRows::new();
        add_rowset(definition, index, 0, &mut rows);
        self.insert_system_rows(&rows)?;
        self.insert_unit_rows(index)
    }

    /// Entries for all rows there are, in key order, into an index that this transaction has made.
    pub(crate) fn fill(
        &mut self,
        of: TableRef<'_>,
        index: &Index,
        fill: Fill,
    ) -> Result<(), Error> {
        let mut entries = self.sorter(index.tree().shape());
        self.each_row_for_ddl(of.storage, &mut |at, record| {
            if let Some(entry) = index.entry_of_record(of.storage, record, &at)? {
                self.verify_new_key(of.table, index, &entry)?;
                entries.add(&entry)?;
            }
            Ok(())
        })?;
        let entries = entries.sort()?;
        if let Some(entry) = entries.duplicate()? {
            let entry = index.tree().shape().decode(&entry)?;
            return Err(duplicate(of.table, of.storage, index, &entry));
        }
        index.tree().build_sorted(self.tx()?, fill, &entries)?;
        Ok(())
    }

    /// The table's indexes over new, empty units.
    pub(crate) fn empty_indexes(&mut self, old: &Storage) -> Result<Vec<Arc<Index>>, Error> {
        let mut indexes = Vec::new();
        for index in &old.indexes {
            let old = index.tree().unit();
            let unit = self.replace_unit(old, AllocUnitKind::InRow, old.hobt())?;
            indexes.push(Arc::new(index.over(self.db().space.clone(), unit)));
        }
        Ok(indexes)
    }
}

impl IndexSpec {
    fn verify(&self, storage: &Storage) -> Result<(), Error> {
        if storage.index(&self.name).is_some() || storage.disabled(&self.name).is_some() {
            return Err(Error::Exists { name: self.name.clone() });
        }
        let is_primary = |status: u32| Constraint::of_status(status) == Constraint::PrimaryKey;
        let has_primary =
            storage.all_indexes().any(|index| index.constraint() == Constraint::PrimaryKey)
                || storage.disabled.iter().any(|index| is_primary(index.status));
        if self.clustered && storage.base.clustered().is_some() {
            return Err(Unsupported::SecondClusteredIndex.into());
        }
        if self.constraint == Constraint::PrimaryKey && has_primary {
            return Err(Unsupported::SecondPrimaryKey.into());
        }
        self.verify_columns(&storage.columns)
    }

    /// Can there be such an index over these columns?
    pub(crate) fn verify_columns(&self, columns: &[TableColumn]) -> Result<(), Error> {
        verify_name("index", &self.name)?;
        if self.fill_factor > 100 {
            return Err(Unsupported::FillFactor { percent: self.fill_factor }.into());
        }
        if self.keys.is_empty() || self.keys.len() > KEY_COLUMNS_MAX {
            return Err(Unsupported::KeyColumnCount { columns: self.keys.len() }.into());
        }
        let names: Vec<&String> =
            self.keys.iter().map(|(name, _)| name).chain(&self.included).collect();
        for (at, name) in names.iter().enumerate() {
            let refused = |cause: fn(String) -> Unsupported| Err(cause((*name).clone()).into());
            if names[..at].iter().any(|other| other.eq_ignore_ascii_case(name)) {
                return refused(|column| Unsupported::ColumnTwiceInIndex { column });
            }
            let column = column(columns, name)?;
            if self.constraint == Constraint::PrimaryKey && column.nullable {
                return refused(|column| Unsupported::NullablePrimaryKey { column });
            }
            let is_lob = column.ty.is_max() || column.ty.is_lob();
            if is_lob || matches!(column.ty, SqlType::SqlVariant | SqlType::Udt { .. }) {
                return refused(|column| Unsupported::TypeInIndex { column });
            }
            if self.clustered && !column.is_stored() {
                return refused(|column| Unsupported::ClusteredOverComputed { column });
            }
            if let Some(why) = column.formula.as_ref().and_then(|formula| not_indexed(formula)) {
                let why = why.to_owned();
                return Err(Unsupported::ComputedInIndex { column: (*name).clone(), why }.into());
            }
        }
        self.verify_filter(columns)
    }

    fn definition(&self, storage: &Storage) -> Result<IndexDefinition, Error> {
        let is_free = |id: &i32| storage.indexes.iter().all(|index| index.id().0 != *id);
        let id = (FIRST_NONCLUSTERED..).find(is_free).unwrap_or(FIRST_NONCLUSTERED);
        let included = self.included.iter().map(|name| Ok(column(&storage.columns, name)?.id));
        Ok(IndexDefinition {
            id: IndexId(id),
            kind: IndexKind::Nonclustered,
            included: included.collect::<Result<_, Error>>()?,
            filter: self.filter.clone(),
            ..self.keyed_definition(&storage.columns)?
        })
    }

    /// A filtered index is no constraint and not clustered, and requires nothing that is computed.
    fn verify_filter(&self, columns: &[TableColumn]) -> Result<(), Error> {
        let Some(text) = &self.filter else { return Ok(()) };
        let refused =
            |why: String| Error::from(Unsupported::IndexFilter { index: self.name.clone(), why });
        if self.clustered || self.constraint != Constraint::None {
            return Err(refused("the index is clustered, or stands for a constraint".to_owned()));
        }
        let condition = Condition::compile(text, columns).map_err(refused)?;
        let computed = |column: &&TableColumn| {
            column.formula.is_some() && condition.columns().contains(&column.id)
        };
        match columns.iter().find(computed) {
            Some(column) => Err(refused(format!("column {} is computed", column.name))),
            None => Ok(()),
        }
    }

    /// As the clustered index of a table with these columns.
    pub(crate) fn base_definition(
        &self,
        columns: &[TableColumn],
    ) -> Result<IndexDefinition, Error> {
        if let Some(included) = self.included.first() {
            return Err(Unsupported::IncludedInClustered { column: included.clone() }.into());
        }
        let of_key = self.keyed_definition(columns)?;
        let rowset_status = of_key.rowset_status | rowset_status::TABLE;
        Ok(IndexDefinition {
            id: CLUSTERED,
            kind: IndexKind::Clustered,
            rowset_status,
            ..of_key
        })
    }

    fn keyed_definition(&self, columns: &[TableColumn]) -> Result<IndexDefinition, Error> {
        let key = |(name, descending): &(String, bool)| {
            Ok(KeyColumn {
                column_id: column(columns, name)?.id,
                descending: *descending,
            })
        };
        let is_unique = self.unique || self.constraint != Constraint::None;
        let unique = if is_unique { (index_status::UNIQUE, rowset_status::UNIQUE) } else { (0, 0) };
        let filtered = if self.filter.is_some() { index_status::FILTERED } else { 0 };
        let status = index_status::HAS_ROWSET | index_status::HAS_STATISTICS | unique.0 | filtered;
        Ok(IndexDefinition {
            name: Some(self.name.clone()),
            keys: self.keys.iter().map(key).collect::<Result<_, Error>>()?,
            status: status | self.constraint.status(),
            fill_factor: self.fill_factor,
            rowset_status: rowset_status::USUAL | unique.1,
            ..heap_definition()
        })
    }

    /// How full the index gets when it is made.
    pub(crate) fn fill(&self) -> Fill {
        Fill { percent: self.fill_factor, pads: self.pad_index }
    }

    /// Fixed columns alone must not exceed a key; values of variable ones are tested at each
    /// insert.
    pub(crate) fn verify_key(&self, layout: &RowsetLayout) -> Result<(), Error> {
        let keys = layout.row.columns.iter().filter(|column| column.key_ordinal > 0);
        let fixed = keys.take(self.keys.len()).filter_map(|column| column.ty?.fixed_bytes());
        let bytes: usize = fixed.sum();
        if bytes > KEY_BYTES_MAX {
            return Err(extentdb_rowset::Error::KeyTooLong { bytes, most: KEY_BYTES_MAX }.into());
        }
        Ok(())
    }

    /// Entries have no values off them.
    fn verify_layout(&self, layout: &RowsetLayout) -> Result<(), Error> {
        self.verify_key(layout)?;
        if layout.max_leaf as usize > ROW_BYTES_MAX {
            return Err(Unsupported::EntryBytes { bytes: layout.max_leaf }.into());
        }
        Ok(())
    }
}

/// Why the values of a computed column can be in no index. Those that are stored are what they are;
/// others must be computed as the same on any machine.
fn not_indexed(formula: &Formula) -> Option<&str> {
    let is_imprecise = !formula.computed.persisted && !formula.is_precise();
    formula.unknown().or(is_imprecise.then_some("it is not precise, and not persisted"))
}

/// A column by its name.
pub(crate) fn column<'t>(columns: &'t [TableColumn], name: &str) -> Result<&'t TableColumn, Error> {
    let found = columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| Unsupported::NoColumn { column: name.to_owned() }.into())
}

/// Refuses to change an index that a foreign key references.
pub(crate) fn verify_unreferenced(
    storage: &Storage,
    action: &'static str,
    index: &str,
    id: IndexId,
) -> Result<(), Error> {
    let Some(key) = storage.constraints.referencing_keys.iter().find(|key| key.index == id) else {
        return Ok(());
    };
    let index = index.to_owned();
    Err(Unsupported::ReferencedIndex { action, index, key: key.name.clone() }.into())
}
