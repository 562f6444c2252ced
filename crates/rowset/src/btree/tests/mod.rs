//! The tree against a model: every batch of changes is followed by a walk over all pages.

pub(crate) mod bench;
mod build;
pub(crate) mod crash;
mod fill;
mod model;
mod operations;
mod ranges;
#[cfg(shuttle)]
mod shuttle;
mod single;
mod threads;
mod undo_room;
mod unlink;
mod versions;
mod walk;
