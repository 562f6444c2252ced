//! Restart recovery (ARIES): analysis and redo, undo, recounting, torn pages.

pub(crate) mod recount;
pub(crate) mod redo;
pub(crate) mod torn_pages;
pub(crate) mod undo;
