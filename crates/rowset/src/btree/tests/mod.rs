//! The tree against a model: every batch of changes is followed by a walk over all pages.

mod bench;
mod crash;
mod model;
mod single;
mod walk;
