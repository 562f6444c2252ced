//! The system base tables as a writer sees them: definitions, where columns lie, and the rows of a
//! new database.
//!
//! ```text
//! base_tables.tsv  tables, columns, indexes, allocation units of version 661   -> [`base_tables`]
//! later_tables.tsv tables of later versions that a database may need        -> [`later_tables`]
//! master_tables.tsv tables of master only                                  -> [`master_tables`]
//! rows.tsv         rows that every new database has                         -> [`template_rows`]
//! [`definition`]   a table by its columns and keys, system or user
//! [`physical`]     definition -> sysrscols: offsets, null bits, lengths
//! [`describe`]     definition -> the rows of all base tables that describe it
//! [`values`]       the values of a row in their disk form
//! ```
//!
//! Readers need none of this: they take every place from the file. A writer decides the places
//! once, when it makes a table, by the rules of [`physical`]; the rules reproduce `sysrscols` of
//! real files.

mod altered;
pub mod definition;
pub mod describe;
mod parse;
pub mod physical;
mod rows;
pub mod values;

pub use altered::LeafLengths;
pub use definition::{
    ColumnDefinition, ColumnHistory, Computed, IndexDefinition, KeyColumn, PartitionDefinition,
    TableDefinition, UnitDefinition,
};
pub use parse::{base_tables, later_tables, master_tables};
pub use physical::{RowsetLayout, Source};
pub use rows::{TemplateTable, TemplateValue, template_rows};

/// Collation of names and of user columns that name none: SQL_Latin1_General_CP1_CI_AS.
pub const DEFAULT_COLLATION: u32 = 0x3400_d008;

/// A line of the embedded tables that does not say what it should. Tests read every line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {what}")]
pub struct DefinitionError {
    /// Name of the embedded file.
    pub file: &'static str,
    /// Line, from 1.
    pub line: usize,
    /// What is missing or not understood.
    pub what: &'static str,
}

#[cfg(test)]
mod tests;
