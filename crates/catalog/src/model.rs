//! The catalog as a model: what tables there are, what their columns are, where their pages are.

mod unreadable;

use std::collections::{BTreeMap, HashMap};

use extentdb_base::{AllocUnitId, FileId, HobtId, IndexId, ObjectId, PageId};
use extentdb_format::allocation::boot::BootRecord;
use extentdb_types::{DateTime, SqlType};

use crate::error::Fault;
use crate::layout::{Compression, PhysicalColumn, RowLayout};
use crate::partition::{PartitionFunction, PartitionScheme};

pub use unreadable::Unreadable;

/// What pages an allocation unit holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum AllocUnitKind {
    /// 1: rows and index entries.
    InRow,
    /// 2: text, ntext, image, (max) types.
    Lob,
    /// 3: columns pushed off their row.
    RowOverflow,
    /// A type this program does not know.
    Other(u8),
}

impl AllocUnitKind {
    /// The kind by its number in `sysallocunits.type`.
    pub fn from_type(byte: u8) -> Self {
        match byte {
            1 => AllocUnitKind::InRow,
            2 => AllocUnitKind::Lob,
            3 => AllocUnitKind::RowOverflow,
            other => AllocUnitKind::Other(other),
        }
    }

    /// The words of DBCC messages.
    pub fn name(self) -> &'static str {
        match self {
            AllocUnitKind::InRow => "In-row data",
            AllocUnitKind::Lob => "LOB data",
            AllocUnitKind::RowOverflow => "Row-overflow data",
            AllocUnitKind::Other(_) => "Unknown",
        }
    }
}

/// A row of `sysallocunits`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocUnit {
    /// `sysallocunits.auid`, which its pages carry in their headers.
    pub id: AllocUnitId,
    /// What its pages hold.
    pub kind: AllocUnitKind,
    /// The rowset it belongs to.
    pub owner: HobtId,
    /// Status bits of its row; unknown ones are kept.
    pub status: u32,
    /// Filegroup id, 1 = PRIMARY.
    pub filegroup: i16,
    /// First data or leaf page; stale in some real files.
    pub first_page: PageId,
    /// Root of the tree.
    pub root: PageId,
    /// First IAM page.
    pub first_iam: PageId,
    /// Allocated pages, IAM pages included.
    pub pages_used: i64,
    /// Leaf pages of in-row units.
    pub pages_data: i64,
    /// IAM pages, single pages and whole extents.
    pub pages_reserved: i64,
}

/// A row of `sysrowsets`: one partition of a heap or index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rowset {
    /// Its id (`hobt_id`, `partition_id`).
    pub id: HobtId,
    /// What kind of thing owns it; 1 = an index or heap.
    pub owner_type: u8,
    /// Object id of the table, `sysrowsets.idmajor`.
    pub object: ObjectId,
    /// The index of the table.
    pub index: IndexId,
    /// Partition number, from 1 (0 in some old system tables).
    pub partition: i32,
    /// Status bits of its row; unknown ones are kept.
    pub status: u32,
    /// Rows by the catalog's count.
    pub rows: i64,
    /// How rows are stored.
    pub compression: Compression,
    /// Fill factor in percent; 0 = default.
    pub fill_factor: u8,
    /// Length of the fixed part of leaf records.
    pub min_leaf: u16,
    /// Length of the fixed part of non-leaf records.
    pub min_interior: u16,
    /// Where the columns are.
    pub layout: RowLayout,
    /// Its allocation units.
    pub units: Vec<AllocUnit>,
}

impl Rowset {
    /// The unit of one kind.
    pub fn unit(&self, kind: AllocUnitKind) -> Option<&AllocUnit> {
        self.units.iter().find(|unit| unit.kind == kind)
    }
}

/// What an object is: `sysschobjs.type`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ObjectType(pub [u8; 2]);

impl ObjectType {
    /// The code without its padding: `U`, `IT`, `FN`.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("?").trim_end()
    }

    /// `U`: a table of a user.
    pub const USER_TABLE: ObjectType = ObjectType(*b"U ");
    /// System base table.
    pub const SYSTEM_TABLE: ObjectType = ObjectType(*b"S ");
    /// `IT`: a table that the engine makes for an index or queue.
    pub const INTERNAL_TABLE: ObjectType = ObjectType(*b"IT");
    /// `TT`: the table behind a table type. It has no rows.
    pub const TABLE_TYPE: ObjectType = ObjectType(*b"TT");
    /// `V`: a view, indexed or not.
    pub const VIEW: ObjectType = ObjectType(*b"V ");

    /// True for the kinds that can own rowsets.
    pub fn is_table(self) -> bool {
        matches!(
            self,
            Self::USER_TABLE | Self::SYSTEM_TABLE | Self::INTERNAL_TABLE | Self::TABLE_TYPE
        )
    }
}

/// A row of `sysschobjs`.
#[derive(Clone, Debug)]
pub struct Object {
    /// Object id, `sysschobjs.id`.
    pub id: ObjectId,
    /// Name, without the zeros that may pad it.
    pub name: String,
    /// Schema id, `sysschobjs.nsid`.
    pub schema_id: i32,
    /// What it is.
    pub kind: ObjectType,
    /// Status bits of its row; unknown ones are kept.
    pub status: u32,
    /// The object it belongs to (constraints, triggers), 0 for none.
    pub parent: ObjectId,
    /// Columns of a table; column of a default, check or foreign key.
    pub int_prop: i32,
    /// When it was made.
    pub created: Option<DateTime>,
    /// When it was changed.
    pub modified: Option<DateTime>,
}

impl Object {
    /// `sysschobjs.status` of constraints, by public texts of system views.
    pub const DISABLED: u32 = 0x100;
    /// The same; seen in real files on constraints that were created unchecked.
    pub const NOT_TRUSTED: u32 = 0x400;

    /// The same of modules: defined under SET ANSI_NULLS ON, and under SET QUOTED_IDENTIFIER ON.
    /// Modules of real databases have both.
    pub const ANSI_NULLS: u32 = 0x4_0000;
    /// The other one.
    pub const QUOTED_IDENTIFIER: u32 = 0x8_0000;

    /// Is it in no schema? Triggers of the database are not.
    pub fn is_of_database(&self) -> bool {
        self.schema_id == 0
    }

    /// Is it a default or rule by itself, which columns are bound to?
    pub fn is_bound_to(&self) -> bool {
        self.parent.0 == 0 && matches!(self.kind.code(), "D" | "R")
    }

    /// Was a module defined under SET ANSI_NULLS ON?
    pub fn uses_ansi_nulls(&self) -> bool {
        self.status & Self::ANSI_NULLS != 0
    }

    /// Was a module defined under SET QUOTED_IDENTIFIER ON? Its text is parsed so.
    pub fn uses_quoted_identifier(&self) -> bool {
        self.status & Self::QUOTED_IDENTIFIER != 0
    }

    /// A check or foreign key that is not enforced.
    pub fn is_disabled_constraint(&self) -> bool {
        self.status & Self::DISABLED != 0
    }

    /// A check or foreign key that not all rows were verified by.
    pub fn is_not_trusted(&self) -> bool {
        self.status & Self::NOT_TRUSTED != 0
    }
}

/// Identity property of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// First value, as text in the column's type.
    pub seed: String,
    /// Increment as a decimal number; may be negative.
    pub increment: String,
    /// Last value handed out; `None` when there was none.
    pub last: Option<String>,
}

/// A logical column.
#[derive(Clone, Debug)]
pub struct Column {
    /// `sys.columns.column_id`, from 1; never used again in its table.
    pub id: i32,
    /// Name, without the zeros that may pad it.
    pub name: String,
    /// Type; `None` when the catalog's description is not understood.
    pub ty: Option<SqlType>,
    /// Name of a user-defined (alias or CLR) type, with its schema; `sysname` is one, without
    /// schema.
    pub user_type: Option<String>,
    /// `xtype` as stored, for messages.
    pub xtype: u8,
    /// May be NULL.
    pub nullable: bool,
    /// Seed, increment and last value, for IDENTITY columns.
    pub identity: Option<Identity>,
    /// Expression of a computed column.
    pub computed: Option<String>,
    /// A computed column whose values are stored.
    pub persisted: bool,
    /// The column that `$ROWGUID` names.
    pub row_guid: bool,
    /// NULL takes no room: the value is in the sparse vector.
    pub sparse: bool,
    /// The XML column that stands for all sparse ones.
    pub column_set: bool,
    /// Values are files.
    pub filestream: bool,
    /// Object id of the default constraint or bound default, 0 for none.
    pub default_object: ObjectId,
    /// Object id of a bound rule, 0 for none.
    pub rule_object: ObjectId,
    /// Collation id of character types.
    pub collation_id: u32,
    /// Status bits as stored.
    pub status: u32,
}

impl Column {
    /// True when the column has no value of its own in the rows.
    pub fn is_virtual(&self) -> bool {
        (self.computed.is_some() && !self.persisted) || self.column_set
    }
}

/// What an index is: `sysidxstats.type`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IndexKind {
    /// A table without a clustered index: `sys.indexes.type` 0.
    Heap,
    /// A B-tree with the rows in its leaves: `sys.indexes.type` 1.
    Clustered,
    /// A B-tree of entries with row locators: `sys.indexes.type` 2.
    Nonclustered,
    /// An XML index: `sys.indexes.type` 3.
    Xml,
    /// A spatial index: `sys.indexes.type` 4.
    Spatial,
    /// A columnstore with all columns of the table: `sys.indexes.type` 5.
    ClusteredColumnstore,
    /// A columnstore beside the rows: `sys.indexes.type` 6.
    NonclusteredColumnstore,
    /// A hash index of a memory-optimised table: `sys.indexes.type` 7.
    NonclusteredHash,
    /// A type this program does not know.
    Other(u8),
}

impl IndexKind {
    /// The kind by its number in `sysidxstats.type`.
    pub fn from_type(byte: u8) -> Self {
        match byte {
            0 => IndexKind::Heap,
            1 => IndexKind::Clustered,
            2 => IndexKind::Nonclustered,
            3 => IndexKind::Xml,
            4 => IndexKind::Spatial,
            5 => IndexKind::ClusteredColumnstore,
            6 => IndexKind::NonclusteredColumnstore,
            7 => IndexKind::NonclusteredHash,
            other => IndexKind::Other(other),
        }
    }

    /// As in `sys.indexes.type_desc`.
    pub fn name(self) -> &'static str {
        match self {
            IndexKind::Heap => "HEAP",
            IndexKind::Clustered => "CLUSTERED",
            IndexKind::Nonclustered => "NONCLUSTERED",
            IndexKind::Xml => "XML",
            IndexKind::Spatial => "SPATIAL",
            IndexKind::ClusteredColumnstore => "CLUSTERED COLUMNSTORE",
            IndexKind::NonclusteredColumnstore => "NONCLUSTERED COLUMNSTORE",
            IndexKind::NonclusteredHash => "NONCLUSTERED HASH",
            IndexKind::Other(_) => "UNKNOWN",
        }
    }
}

/// A column of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexColumn {
    /// `subid`: the column's place in the index, and its `rscolid` in the rowsets of a nonclustered
    /// one.
    pub ordinal: i32,
    /// Column of the table.
    pub column_id: i32,
    /// Position in the key, from 1; 0 = no part of it.
    pub key_ordinal: u8,
    /// INCLUDE names it. A partitioning column can be there without being key or included.
    pub included: bool,
    /// Sorted from the greatest key to the least.
    pub descending: bool,
    /// Position among the partitioning columns, from 1; 0 = none of them.
    pub partition_ordinal: u8,
}

impl IndexColumn {
    /// True for a column that is stored beside the key because the index was made so, not because
    /// of its partitions.
    pub fn is_included(&self) -> bool {
        self.key_ordinal == 0 && (self.included || self.partition_ordinal == 0)
    }
}

/// A heap, index or statistics object with a rowset.
#[derive(Clone, Debug)]
pub struct Index {
    /// Index id within the table: 0 heap, 1 clustered, 2 and up nonclustered.
    pub id: IndexId,
    /// Its name; heaps have none.
    pub name: Option<String>,
    /// What it is.
    pub kind: IndexKind,
    /// No two rows have equal keys.
    pub unique: bool,
    /// Belongs to a primary key.
    pub primary_key: bool,
    /// Belongs to a unique constraint.
    pub unique_constraint: bool,
    /// Disabled: no pages.
    pub disabled: bool,
    /// FILLFACTOR in percent; 0 = default.
    pub fill_factor: u8,
    /// Bytes of a text value that lies in its row, of a heap or clustered index; 0 for none.
    pub text_in_row: u16,
    /// Status bits as stored.
    pub status: u32,
    /// Data space (filegroup or partition scheme) id.
    pub data_space: i32,
    /// The rowset that `sysidxstats` names, one of several in a partitioned index; 0 = none.
    pub named_rowset: HobtId,
    /// Predicate of a filtered index.
    pub filter: Option<String>,
    /// Key columns in key order, then included columns.
    pub columns: Vec<IndexColumn>,
    /// One rowset per partition, in partition order.
    pub rowsets: Vec<HobtId>,
}

impl Index {
    /// `sysidxstats.status`: ALTER INDEX … DISABLE.
    const DISABLED: u32 = 0x80;

    /// Somebody disabled it; indexes that have no pages for other reasons are disabled, too, but
    /// not marked.
    pub fn is_marked_disabled(&self) -> bool {
        self.status & Self::DISABLED != 0
    }
}

/// A table with its columns and indexes.
#[derive(Clone, Debug)]
pub struct Table {
    /// Object id, `sysschobjs.id`.
    pub id: ObjectId,
    /// Name of the schema.
    pub schema: String,
    /// Name, without the zeros that may pad it.
    pub name: String,
    /// User, system or internal.
    pub kind: ObjectType,
    /// Columns by id.
    pub columns: Vec<Column>,
    /// Heap or clustered index first.
    pub indexes: Vec<Index>,
}

impl Table {
    /// Schema and name, `schema.name`, without brackets.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// The heap or clustered index.
    pub fn base(&self) -> Option<&Index> {
        self.indexes.iter().find(|index| {
            index.id.0 <= 1 || matches!(index.kind, IndexKind::Clustered | IndexKind::Heap)
        })
    }

    /// A column by id.
    pub fn column(&self, id: i32) -> Option<&Column> {
        self.columns.iter().find(|column| column.id == id)
    }
}

/// A check or default constraint, a bound rule or default.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// The constraint's own object.
    pub object: Object,
    /// The column, 0 for a table constraint.
    pub column_id: i32,
    /// Expression as stored; `None` when it could not be read.
    pub definition: Option<String>,
}

/// A foreign key.
#[derive(Clone, Debug)]
pub struct ForeignKey {
    /// The constraint's own object; its parent is the referencing table.
    pub object: Object,
    /// The referenced table.
    pub referenced: ObjectId,
    /// The referenced table's index that makes the key unique.
    pub referenced_index: IndexId,
    /// Pairs of referencing and referenced column, in key order.
    pub columns: Vec<(i32, i32)>,
    /// What happens to rows that name a row which goes, as far as it is known.
    pub on_delete: ReferentialAction,
    /// What happens to rows that name a row which gets another key, as far as it is known.
    pub on_update: ReferentialAction,
}

/// What happens to rows that name a row which goes or gets another key; numbered as in
/// `sys.foreign_keys`.
///
/// Which bits of `sysschobjs.status` SQL Server keeps it in is not published. This program keeps it
/// in extended properties of the constraint ([`ReferentialAction::ON_DELETE`],
/// [`ReferentialAction::ON_UPDATE`]), which others show and pass over.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ReferentialAction {
    /// The statement is refused.
    #[default]
    NoAction = 0,
    /// They go, or get the same key.
    Cascade = 1,
    /// Their columns become NULL.
    SetNull = 2,
    /// Their columns get their defaults.
    SetDefault = 3,
}

/// What happens to the referencing rows of a foreign key; NO ACTION where nothing is said.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ReferentialActions {
    /// When the referenced row is deleted.
    pub on_delete: ReferentialAction,
    /// When the referenced row gets another key.
    pub on_update: ReferentialAction,
}

impl ReferentialActions {
    /// Does a change of the referenced row change the referencing rows?
    pub fn cascade(self) -> bool {
        self != ReferentialActions::default()
    }
}

impl ReferentialAction {
    /// Name of the extended property.
    pub const ON_DELETE: &str = "ExtentDB_delete_referential_action";
    /// Name of the extended property.
    pub const ON_UPDATE: &str = "ExtentDB_update_referential_action";

    /// By its number.
    pub fn from_number(number: i64) -> Option<ReferentialAction> {
        use ReferentialAction::{Cascade, NoAction, SetDefault, SetNull};
        [NoAction, Cascade, SetNull, SetDefault].into_iter().find(|action| *action as i64 == number)
    }

    /// As in T-SQL.
    pub fn name(self) -> &'static str {
        match self {
            ReferentialAction::NoAction => "NO ACTION",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
            ReferentialAction::SetDefault => "SET DEFAULT",
        }
    }
}

/// A view, procedure, function, trigger … by its stored text.
#[derive(Clone, Debug)]
pub struct Module {
    /// Object id, name, schema and type.
    pub object: Object,
    /// The text; `None` when it is encrypted or could not be read.
    pub text: Option<String>,
}

/// A parameter of a procedure or function; number 0 is what a function returns.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The procedure's number, from 1.
    pub number: i32,
    /// Its name, type and status, as of a column.
    pub column: Column,
}

/// An extended property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExtendedProperty {
    /// What it belongs to: 0 the database, 1 an object or column, 3 a schema …
    pub class: u8,
    /// Id of that.
    pub id: i32,
    /// Column of an object, 0 for none.
    pub sub_id: i32,
    /// Name.
    pub name: String,
    /// The value as a sql_variant is stored; `None` for NULL.
    pub value: Option<Vec<u8>>,
}

/// Statistics of a table, of an index or by themselves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statistics {
    /// The table.
    pub table: ObjectId,
    /// The index's id, or one of their own.
    pub id: i32,
    /// Name.
    pub name: String,
    /// Columns in order.
    pub columns: Vec<i32>,
    /// Status bits of their row.
    pub status: u32,
}

impl Statistics {
    /// `sysidxstats.status`: the product has made them for a query.
    const AUTO_CREATED: u32 = 0x2000;

    /// Were they created automatically?
    pub fn is_auto_created(&self) -> bool {
        self.status & Self::AUTO_CREATED != 0
    }
}

/// A permission, as `sysprivs` has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permission {
    /// 0 the database, 1 an object or column, 3 a schema, 4 a principal …
    pub class: u8,
    /// Id of that.
    pub id: i32,
    /// Column of an object, 0 for none.
    pub sub_id: i32,
    /// Principal that has it.
    pub grantee: i32,
    /// Principal that gave it.
    pub grantor: i32,
    /// `SL`, `IN`, `EX` …, without padding.
    pub kind: String,
    /// `G` granted, `D` denied, `W` granted with grant option, `R` revoked.
    pub state: String,
}

/// A database principal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Principal {
    /// Principal id.
    pub id: i32,
    /// Name.
    pub name: String,
    /// `S` user, `U` Windows user, `G` Windows group, `R` role, `A` application role …
    pub kind: String,
    /// Security identifier: that of the login of a user.
    pub sid: Vec<u8>,
    /// Schema that names are looked up in first.
    pub default_schema: Option<String>,
}

/// A row of `sysscalartypes`.
#[derive(Clone, Debug)]
pub struct ScalarType {
    /// `sys.types.user_type_id`, unique among all types of the database.
    pub id: i32,
    /// Schema id, `sysschobjs.nsid`.
    pub schema_id: i32,
    /// Name, without the zeros that may pad it.
    pub name: String,
    /// The type behind it.
    pub ty: Option<SqlType>,
    /// NOT NULL by default.
    pub not_null: bool,
    /// The table of a table type, [`ObjectType::TABLE_TYPE`].
    pub table: Option<ObjectId>,
}

/// A row of `sysprufiles`.
#[derive(Clone, Debug)]
pub struct DatabaseFile {
    /// File id within the database, 1 = primary file, 2 = first log file.
    pub id: FileId,
    /// Filegroup; 0 for a log.
    pub filegroup: i32,
    /// 0 rows, 1 log, 2 filestream, 3 …
    pub file_type: u8,
    /// State; 0 = online.
    pub state: u8,
    /// Size in pages.
    pub size: i32,
    /// Most pages; -1 = no limit.
    pub max_size: i32,
    /// Pages, or percent with `growth_percent`.
    pub growth: i32,
    /// Growth is in percent.
    pub growth_percent: bool,
    /// Logical file name, as ALTER DATABASE uses it.
    pub name: String,
    /// Path on the server.
    pub path: String,
    /// Removed from the database: its row stays.
    pub dropped: bool,
    /// Its GUID, equal to the one in the file's header page.
    pub guid: Option<extentdb_types::Guid>,
}

/// A filegroup or partition scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSpace {
    /// Filegroup id, 1 = PRIMARY.
    pub id: i32,
    /// Name, without the zeros that may pad it.
    pub name: String,
    /// `FG`, `PS`, …
    pub kind: String,
    /// The default one.
    pub default: bool,
}

/// The value that rows written before a column was added have in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddedDefault {
    /// As a sql_variant.
    Variant(Vec<u8>),
    /// In the disk form of the column's type.
    Bytes(Vec<u8>),
}

/// What describes objects without being part of their rows.
#[derive(Default, Debug)]
pub struct Descriptions {
    /// Database principals.
    pub principals: Vec<Principal>,
    /// Permissions.
    pub permissions: Vec<Permission>,
    /// Pairs of role and member.
    pub role_members: Vec<(i32, i32)>,
    /// The owners of schemas and roles, by class and id.
    pub owners: BTreeMap<(u8, i32), i32>,
    /// Extended properties of everything.
    pub properties: Vec<ExtendedProperty>,
    /// Statistics, those of indexes among them, by table and id.
    pub statistics: Vec<Statistics>,
    /// Parameters of procedures and functions, in order.
    pub parameters: BTreeMap<ObjectId, Vec<Parameter>>,
    /// What could not be read.
    pub faults: Vec<Fault>,
}

/// Everything the system tables say.
#[derive(Debug)]
pub struct Catalog {
    /// The boot page.
    pub boot: BootRecord,
    /// Schemas by id.
    pub schemas: BTreeMap<i32, String>,
    /// Database principals by id.
    pub principals: BTreeMap<i32, String>,
    /// Columns of views and of tables that functions return, as far as they are kept.
    pub view_columns: BTreeMap<ObjectId, Vec<Column>>,
    /// What synonyms stand for, as stored.
    pub synonyms: BTreeMap<ObjectId, String>,
    /// Types by id.
    pub types: BTreeMap<i32, ScalarType>,
    /// Every object that is listed.
    pub objects: BTreeMap<ObjectId, Object>,
    /// Tables of all kinds by id, indexed views among them.
    pub tables: BTreeMap<ObjectId, Table>,
    /// Rowsets by id.
    pub rowsets: BTreeMap<HobtId, Rowset>,
    /// Allocation units by id.
    pub units: BTreeMap<AllocUnitId, AllocUnit>,
    /// DEFAULT constraints, `sysschobjs` type D.
    pub defaults: Vec<Constraint>,
    /// CHECK constraints, `sysschobjs` type C.
    pub checks: Vec<Constraint>,
    /// FOREIGN KEY constraints, `sysschobjs` type F.
    pub foreign_keys: Vec<ForeignKey>,
    /// Views, procedures, functions, triggers.
    pub modules: Vec<Module>,
    /// Files of the database, `sysprufiles`.
    pub files: Vec<DatabaseFile>,
    /// Filegroups and partition schemes.
    pub filegroups: Vec<DataSpace>,
    /// Partition functions, in order of their ids.
    pub partition_functions: Vec<PartitionFunction>,
    /// Partition schemes, in order of their ids.
    pub partition_schemes: Vec<PartitionScheme>,
    /// Values of columns added to a table whose rows were not rewritten: by rowset and `hbcolid`.
    pub added_defaults: HashMap<(HobtId, i32), AddedDefault>,
    /// What could not be read.
    pub faults: Vec<Fault>,
}

impl Catalog {
    /// Name of a schema; its number when it is not listed.
    pub fn schema_name(&self, id: i32) -> String {
        self.schemas.get(&id).cloned().unwrap_or_else(|| format!("schema {id}"))
    }

    /// User tables, ordered by schema and name. From 2012 on two tables of the system are listed as
    /// user tables, with negative ids and without rows: they do not count.
    pub fn user_tables(&self) -> Vec<&Table> {
        let mut tables: Vec<_> = self
            .tables
            .values()
            .filter(|table| table.kind == ObjectType::USER_TABLE && table.id.0 > 0)
            .collect();
        tables.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        tables
    }

    /// The rowsets of an index, in partition order.
    pub fn rowsets_of<'c>(&'c self, index: &'c Index) -> impl Iterator<Item = &'c Rowset> {
        index.rowsets.iter().filter_map(|id| self.rowsets.get(id))
    }

    /// The value of a column in rows that were written before it was added.
    pub fn added_default(&self, rowset: HobtId, column: &PhysicalColumn) -> Option<&AddedDefault> {
        self.added_defaults.get(&(rowset, column.ordinal))
    }

    /// Rows of a table by the catalog's count.
    pub fn row_count(&self, table: &Table) -> i64 {
        table.base().map_or(0, |base| self.rowsets_of(base).map(|rowset| rowset.rows).sum())
    }

    /// The rowset and table an allocation unit belongs to.
    pub fn owner_of(&self, unit: AllocUnitId) -> Option<(&AllocUnit, &Rowset)> {
        let unit = self.units.get(&unit)?;
        Some((unit, self.rowsets.get(&unit.owner)?))
    }
}
