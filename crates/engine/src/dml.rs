//! Rows: insert, update, delete, read; their index entries; foreign keys.

pub(crate) mod entries;
pub(crate) mod foreign_key;
pub(crate) mod identity;
pub(crate) mod key_range;
pub(crate) mod load;
pub(crate) mod lob;
pub(crate) mod new_row;
pub(crate) mod off_row;
pub(crate) mod placing;
pub(crate) mod read;
pub(crate) mod reference_checks;
pub(crate) mod row_ref;
pub(crate) mod rows;
pub(crate) mod value;
