//! Values against a model of bytes: every change is followed by a walk over all pages.

mod bench;
mod check;
mod crash;
mod heap_versions;
mod model;
mod speed;
mod threads;
mod values;
mod walk;
