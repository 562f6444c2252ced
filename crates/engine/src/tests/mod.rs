//! Tests that look into the catalog of an open database.

mod index_sort;
mod names;
mod pointers;
mod row_locks;
mod row_versions;
mod template;
mod unreadable;
mod version_store;
mod versioned_rows;
