//! Functions evaluated row by row, one module for each family.

pub mod binary;
pub mod date;
pub mod format;
pub mod gzip;
pub mod json;
pub(crate) mod json_path;
pub mod json_rows;
pub(crate) mod json_text;
pub mod number;
pub mod text;
pub mod zone;
