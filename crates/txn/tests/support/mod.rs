//! A log on a disk in memory whose durable writes can be held back.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};

use extentdb_base::env::SystemClock;
use extentdb_base::{FileId, XactId};
use extentdb_io::{Disk, DiskFile, Durability, Error, Fill, MemDisk};
use extentdb_txn::{Manager, Owners};
use extentdb_wal::{Growth, Log, LogSpec};

/// Holds back durable writes while it is closed.
#[derive(Default, Debug)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default, Debug)]
struct GateState {
    is_closed: bool,
    held_back: usize,
}

impl Gate {
    pub(crate) fn close(&self) {
        self.state.lock().unwrap().is_closed = true;
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().is_closed = false;
        self.changed.notify_all();
    }

    /// Returns when a write is held back.
    pub(crate) fn until_held_back(&self) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| state.held_back == 0).unwrap());
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.held_back += 1;
        self.changed.notify_all();
        state = self.changed.wait_while(state, |state| state.is_closed).unwrap();
        state.held_back -= 1;
    }
}

/// A file whose durable writes pass a gate.
#[derive(Debug)]
struct GatedFile {
    file: Arc<dyn DiskFile>,
    gate: Arc<Gate>,
}

impl DiskFile for GatedFile {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        self.file.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, parts: &[&[u8]], durability: Durability) -> Result<(), Error> {
        if durability == Durability::Through {
            self.gate.pass();
        }
        self.file.write_at(offset, parts, durability)
    }

    fn sync(&self) -> Result<(), Error> {
        self.file.sync()
    }

    fn extend(&self, bytes: u64, fill: Fill) -> Result<(), Error> {
        self.file.extend(bytes, fill)
    }
}

/// A manager without transactions; the gate is open.
pub(crate) fn manager() -> (Arc<Manager>, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let spec = LogSpec {
        file_id: FileId(2),
        logical_name: "lab_log".into(),
        bytes: 2 << 20,
        growth: Growth::Pages(256),
        max_bytes: None,
        binding_id: Default::default(),
        fork_guid: Default::default(),
        file_guid: Default::default(),
        first_sequence: 0x31,
        sector_bytes: 512,
    };
    let file = MemDisk::new().create(Path::new("lab.ldf")).unwrap();
    let gated = Arc::new(GatedFile { file, gate: gate.clone() });
    let clock = Arc::new(SystemClock::new());
    let log = Arc::new(Log::create(gated, &spec, clock.clone()).unwrap());
    let manager = Manager::new(log, clock, Arc::new(Owners::new()), XactId { high: 0, low: 1000 });
    (Arc::new(manager), gate)
}
