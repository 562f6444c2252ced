//! Indexes and statistics.

use super::clause::Clause;
use super::expression::{Condition, Direction};
use super::name::{Name, ObjectName};
use super::table::PartitionNumber;
use crate::span::Span;

/// `CREATE [ UNIQUE ] [ CLUSTERED | NONCLUSTERED ] [ COLUMNSTORE ] INDEX name ON table …`
///
/// XML, spatial and full-text indexes are statements of the grammar tables.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    pub name: Name,
    pub table: ObjectName,
    pub definition: IndexDefinition,
}

/// `INDEX name …` of a table definition
#[derive(Debug, Clone, PartialEq)]
pub struct InlineIndex {
    pub name: Name,
    pub definition: IndexDefinition,
    pub span: Span,
}

/// What an index is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IndexDefinition {
    pub is_unique: bool,
    pub is_clustered: Option<bool>,
    pub is_columnstore: bool,
    /// NONCLUSTERED HASH
    pub is_hash: bool,
    pub columns: Vec<IndexColumn>,
    pub include: Vec<Name>,
    /// `ORDER ( column , … )` of columnstore indexes
    pub order: Vec<Name>,
    pub filter: Option<Filter>,
    /// Clauses of rule `index_option`.
    pub options: Vec<Clause>,
    pub storage: Option<Storage>,
    pub filestream_storage: Option<Storage>,
}

/// `WHERE condition`
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    pub condition: Condition,
    /// Of the condition in the text.
    pub source: Span,
}

/// `column [ ASC | DESC ]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexColumn {
    pub name: Name,
    pub direction: Option<Direction>,
}

/// `filegroup | 'default' | scheme ( column )`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    pub name: Name,
    /// Of a partition scheme.
    pub columns: Vec<Name>,
}

/// `ALTER INDEX { name | ALL } ON table action`
#[derive(Debug, Clone, PartialEq)]
pub struct AlterIndex {
    /// `None` for ALL.
    pub name: Option<Name>,
    pub table: ObjectName,
    pub action: AlterIndexAction,
}

/// What ALTER INDEX does.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterIndexAction {
    Rebuild {
        partition: Option<PartitionNumber>,
        options: Vec<Clause>,
    },
    Reorganize {
        partition: Option<PartitionNumber>,
        options: Vec<Clause>,
    },
    Disable,
    Set(Vec<Clause>),
    Resume(Vec<Clause>),
    Pause,
    Abort,
    /// Promoted paths of selective XML indexes: clause of rule `xml_paths`.
    Paths(Clause),
}

/// `DROP INDEX [ IF EXISTS ] item , …`
#[derive(Debug, Clone, PartialEq)]
pub struct DropIndex {
    pub if_exists: bool,
    pub items: Vec<DroppedIndex>,
}

/// `name ON table [ WITH ( option , … ) ] | table.name`
#[derive(Debug, Clone, PartialEq)]
pub struct DroppedIndex {
    pub name: Name,
    pub table: ObjectName,
    /// Clauses of rule `drop_index_option`.
    pub options: Vec<Clause>,
}

/// `CREATE STATISTICS name ON table ( column , … ) [ WHERE … ] [ WITH … ]`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateStatistics {
    pub name: Name,
    pub table: ObjectName,
    pub columns: Vec<Name>,
    pub filter: Option<Filter>,
    /// Clauses of rule `statistics_option`.
    pub options: Vec<Clause>,
}

/// `UPDATE STATISTICS table [ name | ( name , … ) ] [ WITH … ]`
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateStatistics {
    pub table: ObjectName,
    pub names: Vec<Name>,
    /// Clauses of rule `statistics_option`.
    pub options: Vec<Clause>,
}
