//! The cached catalog: system tables, user tables and their indexes as they are in memory.

pub(crate) mod address;
pub(crate) mod cache;
pub(crate) mod changes;
pub(crate) mod column;
pub(crate) mod columns;
pub(crate) mod constraint;
pub(crate) mod data_files;
pub(crate) mod definition;
pub(crate) mod foreign_key;
pub(crate) mod formula;
pub(crate) mod identity;
pub(crate) mod index;
pub(crate) mod key_order;
pub(crate) mod loaded;
pub(crate) mod objects;
pub(crate) mod off_row;
pub(crate) mod pending;
pub(crate) mod storage;
pub(crate) mod system_table;
pub(crate) mod table;
pub(crate) mod tables;
pub(crate) mod units;

pub(crate) use address::Address;
pub(crate) use cache::CatalogCache;
pub(crate) use column::{ColumnDefault, TableColumn};
pub(crate) use constraint::{Check, Constraints, Rule};
pub(crate) use foreign_key::ForeignKey;
pub(crate) use formula::{Condition, Formula};
pub(crate) use identity::Identity;
pub(crate) use index::{Constraint, Index};
pub(crate) use loaded::LoadedCatalog;
pub(crate) use off_row::OffRowUnits;
pub(crate) use pending::DeferredChange;
pub(crate) use storage::{Base, Storage, Trigger, UnreadableColumn};
pub(crate) use table::{Table, TableRef};
pub(crate) use tables::Tables;
