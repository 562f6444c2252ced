#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod alter;
mod clock;
mod damaged_copies;
mod ddl;
mod disk;
mod environment;
pub mod fault;
mod instance;
mod kept_files;
mod kind;
mod model;
mod property;
mod schema;
mod servers;
mod simulation;
mod snapshots;
mod statement;
mod texts;
mod trace;
mod workload;

pub use disk::FaultDisk;
pub use fault::Fault;
pub use kept_files::KeptFiles;
pub use kind::RunKind;
pub use property::sound::assert_sound;
pub use servers::{ServerReport, run_servers};
pub use simulation::{Failure, RunConfig, RunReport, run, run_and_keep};
pub use snapshots::{SnapshotReport, run_snapshots};
pub use texts::{TextReport, run_texts};
