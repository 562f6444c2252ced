//! Tables, columns, indexes, constraints, modules and schemas: created, altered, dropped.

pub(crate) mod add_file;
pub(crate) mod alter;
pub(crate) mod alter_column;
pub(crate) mod bound;
pub(crate) mod constraint;
pub(crate) mod defaults;
pub(crate) mod disable;
pub(crate) mod filegroup;
pub(crate) mod index;
pub(crate) mod modify_file;
pub(crate) mod module;
pub(crate) mod off_row;
pub(crate) mod principal;
pub(crate) mod property;
pub(crate) mod rebase;
pub(crate) mod remove_file;
pub(crate) mod rename_object;
pub(crate) mod schema;
pub(crate) mod sequence;
mod sort_pages;
pub(crate) mod spec;
pub(crate) mod statistics;
pub(crate) mod synonym;
pub(crate) mod table;
pub(crate) mod trigger;
pub(crate) mod trust;
pub(crate) mod user_type;
