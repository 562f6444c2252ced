//! Tests that look into the catalogue of an open database.

mod names;
mod pointers;
mod template;
