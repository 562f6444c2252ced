//! The data files: which pages are allocated, the pages at fixed addresses, and the writer.

pub(crate) mod allocation;
pub(crate) mod fixed_pages;
pub(crate) mod sink;
