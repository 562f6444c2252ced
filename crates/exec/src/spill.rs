//! Work files: rows that do not fit into memory.
//!
//! ```text
//! WorkArea   a folder of a disk ─▶ WorkFile   of one operator, without a name
//! RunWriter  rows ─▶ blocks of batches ─▶ Run   batches in the order in which they were written
//! Partitions rows ─▶ a run for each part of the hashes of their keys
//! ```
//!
//! Invariants
//! - A work file has lost its name before anything is written to it: whatever becomes of the
//!   process, nothing is left of the file.
//! - A run gives its rows in the order in which they were written.

#[cfg(test)]
mod operator_tests;
mod partitions;
mod run;
#[cfg(test)]
mod tests;
mod work_file;

pub use work_file::WorkArea;

pub(crate) use partitions::{DEPTH_MAX, Partitions, Scatter};
pub(crate) use run::{Run, RunReader, RunWriter};
pub(crate) use work_file::WorkFile;
