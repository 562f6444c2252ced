//! Compatibility views: the system tables of version 2000, over the catalog of today.

pub(super) mod column;
pub(super) mod constraint;
pub(super) mod database;
pub(super) mod index;
pub(super) mod legacy_type;
pub(super) mod lock;
pub(super) mod module;
pub(super) mod object;
pub(super) mod principal;
pub(super) mod process;
pub(super) mod server;
pub(super) mod types;
