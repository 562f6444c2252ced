//! CREATE TABLE, ALTER TABLE.

use super::clause::Clause;
use super::data_type::DataType;
use super::expression::{Condition, Expr};
use super::index::{IndexColumn, InlineIndex, Storage};
use super::literal::StringLiteral;
use super::name::{Name, ObjectName};
use crate::span::Span;

/// `CREATE TABLE name [ AS FILETABLE ] [ ( element , … ) ] [ AS NODE | AS EDGE ] [ ON … ]
/// [ TEXTIMAGE_ON … ] [ FILESTREAM_ON … ] [ WITH ( option , … ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    pub name: ObjectName,
    pub elements: Vec<TableElement>,
    pub kind: TableKind,
    pub storage: Option<Storage>,
    pub text_storage: Option<Name>,
    pub filestream_storage: Option<Storage>,
    /// Clauses of rule `table_option`.
    pub options: Vec<Clause>,
}

/// What a table is, beyond its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TableKind {
    Plain,
    FileTable,
    Node,
    Edge,
}

/// An element of a table definition.
#[derive(Debug, Clone, PartialEq)]
pub enum TableElement {
    Column(Box<ColumnDefinition>),
    Constraint(Box<Constraint>),
    Index(Box<InlineIndex>),
    /// `PERIOD FOR SYSTEM_TIME ( start , end )`
    Period {
        start: Name,
        end: Name,
    },
}

/// `name { type | AS expression } …`
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDefinition {
    pub name: Name,
    pub kind: ColumnKind,
    pub collation: Option<Name>,
    pub is_nullable: Option<bool>,
    pub identity: Option<ColumnIdentity>,
    pub is_rowguid: bool,
    pub is_sparse: bool,
    pub is_filestream: bool,
    /// `COLUMN_SET FOR ALL_SPARSE_COLUMNS`
    pub is_column_set: bool,
    /// `NOT FOR REPLICATION` outside the identity
    pub is_not_for_replication: bool,
    pub generated: Option<Generated>,
    /// `MASKED WITH ( FUNCTION = 'mask' )`
    pub mask: Option<StringLiteral>,
    /// Clause of rule `column_encryption`.
    pub encryption: Option<Clause>,
    pub constraints: Vec<Constraint>,
    pub index: Option<InlineIndex>,
    pub span: Span,
}

/// Stored or computed.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnKind {
    Stored(DataType),
    /// A column with the name of its type: `timestamp`
    Timestamp,
    Computed {
        value: Expr,
        /// Of the expression in the text.
        source: Span,
        is_persisted: bool,
    },
}

/// `IDENTITY [ ( seed , increment ) ] [ NOT FOR REPLICATION ]`
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnIdentity {
    pub seed: Option<Expr>,
    pub increment: Option<Expr>,
    pub is_not_for_replication: bool,
}

/// `GENERATED ALWAYS AS what { START | END } [ HIDDEN ]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Generated {
    pub what: GeneratedWhat,
    pub is_start: bool,
    pub is_hidden: bool,
}

/// `ROW | TRANSACTION_ID | SEQUENCE_NUMBER`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GeneratedWhat {
    Row,
    TransactionId,
    SequenceNumber,
}

/// `[ CONSTRAINT name ] …`
#[derive(Debug, Clone, PartialEq)]
pub struct Constraint {
    pub name: Option<Name>,
    pub kind: ConstraintKind,
    pub span: Span,
}

/// Kinds of constraints.
#[derive(Debug, Clone, PartialEq)]
pub enum ConstraintKind {
    Key(Box<KeyConstraint>),
    ForeignKey(Box<ForeignKey>),
    Check {
        condition: Condition,
        /// Of the condition in the text, without the parentheses.
        source: Span,
        is_not_for_replication: bool,
    },
    Default {
        value: Expr,
        /// Of the value in the text.
        source: Span,
        /// `FOR column` in ALTER TABLE
        column: Option<Name>,
        with_values: bool,
    },
    /// `CONNECTION ( node TO node , … ) [ ON DELETE … ]` of edge tables
    Connection {
        pairs: Vec<EdgePair>,
        on_delete: Option<ReferentialAction>,
    },
}

/// `from TO to`
#[derive(Debug, Clone, PartialEq)]
pub struct EdgePair {
    pub from: ObjectName,
    pub to: ObjectName,
}

/// `{ PRIMARY KEY | UNIQUE } [ CLUSTERED | NONCLUSTERED ] [ HASH ] [ ( column , … ) ] [ WITH … ]
/// [ ON … ]`
#[derive(Debug, Clone, PartialEq)]
pub struct KeyConstraint {
    pub is_primary: bool,
    pub is_clustered: Option<bool>,
    pub is_hash: bool,
    /// Empty beside a column.
    pub columns: Vec<IndexColumn>,
    /// Clauses of rule `index_option`.
    pub options: Vec<Clause>,
    pub storage: Option<Storage>,
    pub is_not_enforced: bool,
}

/// `[ FOREIGN KEY [ ( column , … ) ] ] REFERENCES table [ ( column , … ) ] …`
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignKey {
    pub columns: Vec<Name>,
    pub table: ObjectName,
    pub referenced: Vec<Name>,
    pub on_delete: Option<ReferentialAction>,
    pub on_update: Option<ReferentialAction>,
    pub is_not_for_replication: bool,
}

/// `NO ACTION | CASCADE | SET NULL | SET DEFAULT`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReferentialAction {
    NoAction,
    Cascade,
    SetNull,
    SetDefault,
}

/// `ALTER TABLE name action`
#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    pub name: ObjectName,
    pub action: AlterTableAction,
}

/// What ALTER TABLE does.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterTableAction {
    AlterColumn(Box<AlterColumn>),
    /// `[ WITH CHECK | WITH NOCHECK ] ADD element , …`
    Add {
        is_checked: Option<bool>,
        elements: Vec<TableElement>,
    },
    Drop(Vec<TableDrop>),
    /// `[ WITH CHECK | WITH NOCHECK ] { CHECK | NOCHECK } CONSTRAINT { ALL | name , … }`
    Constraints {
        is_checked: Option<bool>,
        is_enabled: bool,
        names: AllOrNames,
    },
    /// `{ ENABLE | DISABLE } TRIGGER { ALL | name , … }`
    Triggers {
        is_enabled: bool,
        names: AllOrNames,
    },
    /// Clause of rule `switch`.
    Switch(Box<Switch>),
    /// `REBUILD [ PARTITION = … ] [ WITH ( option , … ) ]`
    Rebuild {
        partition: Option<PartitionNumber>,
        options: Vec<Clause>,
    },
    /// SET, CHANGE_TRACKING, FILETABLE_NAMESPACE, SPLIT, MERGE …: clause of rule
    /// `alter_table_other`.
    Other(Clause),
}

/// `ALL | name , …`
#[derive(Debug, Clone, PartialEq)]
pub enum AllOrNames {
    All,
    Names(Vec<Name>),
}

/// `ALTER COLUMN name { type … | { ADD | DROP } property }`
#[derive(Debug, Clone, PartialEq)]
pub struct AlterColumn {
    pub name: Name,
    pub change: ColumnChange,
    /// Clauses of rule `alter_column_option`, such as ONLINE.
    pub options: Vec<Clause>,
}

/// What becomes of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnChange {
    /// The definition names the column, too.
    Type(Box<ColumnDefinition>),
    Add(ColumnProperty),
    Drop(ColumnProperty),
}

/// A property that ALTER COLUMN adds or drops.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnProperty {
    RowGuid,
    Persisted,
    NotForReplication,
    Sparse,
    Hidden,
    /// The mask when it is added.
    Masked(Option<StringLiteral>),
}

/// An item of ALTER TABLE … DROP.
#[derive(Debug, Clone, PartialEq)]
pub enum TableDrop {
    /// `[ CONSTRAINT ] [ IF EXISTS ] name [ WITH ( option , … ) ]`
    Constraint { if_exists: bool, name: Name, options: Vec<Clause> },
    /// `COLUMN [ IF EXISTS ] name`
    Column { if_exists: bool, name: Name },
    /// `PERIOD FOR SYSTEM_TIME`
    Period,
    /// `INDEX name` of memory-optimised tables
    Index { if_exists: bool, name: Name },
}

/// `SWITCH [ PARTITION n ] TO table [ PARTITION n ] [ WITH ( … ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Switch {
    pub partition: Option<Expr>,
    pub target: ObjectName,
    pub target_partition: Option<Expr>,
    /// Clauses of rule `switch_option`.
    pub options: Vec<Clause>,
}

/// `PARTITION = { ALL | number }`
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionNumber {
    All,
    Number(Expr),
}
