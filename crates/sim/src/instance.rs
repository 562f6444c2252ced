//! A server over a simulated disk, for the workloads that need several databases.

use extentdb_base::sync::Arc;
use extentdb_engine::{BackgroundWork, Instance, InstanceOptions, Options};
use extentdb_io::MemDisk;

/// Starts a server whose background work is done by its sessions: each run is the same.
pub(crate) fn start(disk: &MemDisk, tempdb_files: usize) -> Result<Arc<Instance>, String> {
    let options = InstanceOptions {
        tempdb_files,
        tempdb_file_bytes: 2 << 20,
        background: BackgroundWork::Sessions,
        ..InstanceOptions::new("", Options { frames: 256, ..Options::on(Arc::new(disk.clone())) })
    };
    Instance::start(options).map_err(|error| format!("start: {error:?}"))
}

/// What the model did not expect.
pub(crate) fn fail<T>(what: impl std::fmt::Debug) -> Result<T, String> {
    Err(format!("{what:?}"))
}
