//! Values of one row: see [`extentdb_catalog::table::values`].

pub use extentdb_catalog::table::values::{Cell, LobStream, RowValues};
