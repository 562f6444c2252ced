//! The cached catalog: system tables, user tables and their indexes as they are in memory.

pub(crate) mod address;
pub(crate) mod cache;
pub(crate) mod column;
pub(crate) mod constraint;
pub(crate) mod data_files;
pub(crate) mod definition;
pub(crate) mod foreign_key;
pub(crate) mod formula;
pub(crate) mod identity;
pub(crate) mod index;
pub(crate) mod key_order;
pub(crate) mod objects;
pub(crate) mod pending;
pub(crate) mod storage;
pub(crate) mod system_table;
pub(crate) mod table;
pub(crate) mod tables;
pub(crate) mod units;
