//! Benches of the house; see `README.md`.
//!
//! ```text
//! report   timing, and one line per measurement  target   comparisons and their limits
//! cached   reading what the page cache holds     child    programs: output, input, memory
//! ours     runs of `extentdb check`              peers    PostgreSQL, SQLite, MariaDB, fio
//! engine   our storage engine from the inside         workload what clients do, to us and to peers
//! serving  servers over their own protocols
//! ```
#![forbid(unsafe_code)]

pub mod cached;
pub mod child;
pub mod engine;
pub mod ours;
pub mod peers;
pub mod report;
pub mod serving;
pub mod target;
pub mod workload;
