//! Functions evaluated row by row, one module for each family.

pub(crate) mod binary;
pub(crate) mod date;
pub(crate) mod format;
pub(crate) mod json;
pub(crate) mod json_path;
pub(crate) mod json_text;
pub(crate) mod number;
pub(crate) mod text;
pub(crate) mod zone;
