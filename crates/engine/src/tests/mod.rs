//! Tests that look into the catalogue of an open database.

mod pointers;
mod template;
