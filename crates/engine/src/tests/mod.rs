//! Tests that look into the catalog of an open database.

mod names;
mod pointers;
mod row_locks;
mod template;
mod unreadable;
