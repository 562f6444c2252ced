//! The real disk when something goes wrong.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::PathBuf;

use extentdb_base::sync::{Arc, Mutex, lock};

use super::file::RealFile;
use super::lane::Lane;
use super::ring::{Completion, Request, Ring};
use super::*;
use crate::disk::tests::backends;
use crate::disk::{DiskFile, Durability};
use crate::{AlignedBuf, Error, platform};

/// What happens to the next request of a [`Troubled`] ring.
#[derive(Clone, Copy, Debug)]
enum Injected {
    Done,
    /// Only a part of the bytes is written.
    Short(usize),
    /// Nothing happens, and the request says so.
    NotRun,
    Refused,
    /// Nothing happens from here on, and the ring says so.
    Dies,
}

/// A ring that writes by system calls and ends each request as injected, in order; normally when
/// nothing is left. As in the kernel's, what is linked to a request that did not end in full is
/// cancelled.
#[derive(Debug, Default)]
struct Troubled {
    fates: VecDeque<Injected>,
    /// The requests of each call.
    calls: Arc<Mutex<Vec<usize>>>,
    is_dead: bool,
}

impl Troubled {
    fn carry_out(&self, request: &Request<'_>, injected: Injected) -> Completion {
        match (request, injected) {
            (_, Injected::NotRun | Injected::Dies) => Completion::NotRun,
            (_, Injected::Refused) => Completion::Failed(io::Error::other("the device is gone")),
            (Request::Flush { .. }, _) => Completion::Done(0),
            (Request::Write { handle, parts, offset, through, .. }, injected) => {
                let mut bytes: Vec<u8> =
                    parts.iter().flat_map(|part| part.iter().copied()).collect();
                if let Injected::Short(most) = injected {
                    bytes.truncate(most);
                }
                let mut memory = AlignedBuf::zeroed(bytes.len());
                memory[..bytes.len()].copy_from_slice(&bytes);
                let part = &memory[..bytes.len()];
                platform::write_all_vectored(handle, &[part], 0, *offset, *through).unwrap();
                Completion::Done(bytes.len())
            }
        }
    }
}

impl Ring for Troubled {
    fn run(&mut self, requests: &[Request<'_>]) -> Vec<Completion> {
        lock(&self.calls).push(requests.len());
        let mut is_cancelled = false;
        let mut completions = Vec::new();
        for request in requests {
            let injected = if is_cancelled {
                Injected::NotRun
            } else {
                self.fates.pop_front().unwrap_or(Injected::Done)
            };
            self.is_dead |= matches!(injected, Injected::Dies);
            completions.push(self.carry_out(request, injected));
            is_cancelled = match request {
                Request::Write { parts, linked: true, .. } => {
                    let wanted: usize = parts.iter().map(|part| part.len()).sum();
                    !matches!(completions.last(), Some(Completion::Done(bytes)) if *bytes == wanted)
                }
                _ => false,
            };
        }
        completions
    }

    fn is_dead(&self) -> bool {
        self.is_dead
    }
}

/// A file of 64 KiB of zeros whose ring has these fates in store.
struct Scene {
    file: RealFile,
    calls: Arc<Mutex<Vec<usize>>>,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new(mode: DurabilityMode, fates: &[Injected]) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, [0; 1 << 16]).unwrap();
        let handle = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut file = RealFile::new(handle, &path, mode, Backend::Plain).unwrap();
        file.sync().unwrap();
        let ring = Troubled {
            fates: fates.iter().copied().collect(),
            ..Troubled::default()
        };
        let calls = Arc::clone(&ring.calls);
        file.lane = Lane::with_ring(Backend::Uring, Box::new(ring));
        Scene { file, calls, path, _folder: folder }
    }

    fn write_through(&self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_at(4096, &[bytes], Durability::Through)
    }

    fn written(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap().into_iter().skip(4096).take_while(|byte| *byte != 0).collect()
    }

    fn is_poisoned(&self) -> bool {
        let refused = |result| matches!(result, Err(Error::Poisoned { .. }));
        let is_poisoned = refused(self.file.sync());
        assert_eq!(is_poisoned, refused(self.write_through(b"later")));
        is_poisoned
    }

    fn calls(&self) -> Vec<usize> {
        lock(&self.calls).clone()
    }
}

#[test]
fn what_a_chain_leaves_unfinished_is_finished_and_flushed_the_plain_way() {
    use Injected::{Done, NotRun, Short};
    // What happens to write and flush; flushes counted, and all calls.
    let cases: [(&[Injected], u64, u64); 5] = [
        (&[Done, Done], 1, 1),
        (&[Short(4096)], 1, 3),
        (&[NotRun], 1, 3),
        (&[Done, NotRun], 1, 2),
        (&[Short(4096), Done], 1, 3),
    ];
    for (fates, syncs, calls) in cases {
        let scene = Scene::new(DurabilityMode::ForcedFlush, fates);
        let before = scene.file.counters();
        let bytes = [7; 8192];
        scene.write_through(&bytes).unwrap();
        let after = scene.file.counters();
        assert_eq!(scene.written(), bytes, "{fates:?}");
        assert_eq!(
            (after.syncs - before.syncs, after.calls - before.calls),
            (syncs, calls),
            "{fates:?}"
        );
        assert_eq!(
            (after.writes - before.writes, after.bytes_written - before.bytes_written),
            (1, 8192)
        );
        scene.file.sync().unwrap();
        assert_eq!(scene.file.counters().syncs, after.syncs, "{fates:?}: nothing is left to flush");
        assert!(!scene.is_poisoned(), "{fates:?}");
        assert_eq!(scene.calls()[0], 2);
    }
}

#[test]
fn a_short_forced_unit_access_write_is_finished_with_the_same_promise() {
    let bytes = [7; 8192];
    for injected in [Injected::Done, Injected::Short(4096), Injected::NotRun] {
        let scene = Scene::new(DurabilityMode::Fua, &[injected]);
        scene.write_through(&bytes).unwrap();
        let counters = scene.file.counters();
        assert_eq!(scene.written(), bytes, "{injected:?}");
        assert_eq!(
            (counters.fua_writes, counters.writes, counters.syncs),
            (1, 1, 1),
            "{injected:?}"
        );
        assert!(!scene.is_poisoned());
    }
}

#[test]
fn a_refused_durable_write_in_a_ring_poisons_the_file() {
    for mode in [DurabilityMode::ForcedFlush, DurabilityMode::Fua] {
        for injected in [Injected::Refused, Injected::Short(0)] {
            let scene = Scene::new(mode, &[injected]);
            let error = scene.write_through(&[7; 4096]).unwrap_err();
            let is_that_write = matches!(
                error,
                Error::Transfer { op: FileOp::Write, offset: 4096, bytes: 4096, .. }
            );
            assert!(is_that_write, "{error:?}");
            assert!(scene.is_poisoned());
            assert_eq!(scene.calls().len(), 1, "nothing is tried again");
        }
    }
}

#[test]
fn a_refused_flush_in_a_chain_poisons_the_file() {
    let scene = Scene::new(DurabilityMode::ForcedFlush, &[Injected::Done, Injected::Refused]);
    let error = scene.write_through(&[7; 4096]).unwrap_err();
    assert!(matches!(error, Error::File { op: FileOp::Sync, .. }), "{error:?}");
    assert!(scene.is_poisoned());
    assert_eq!(scene.calls().len(), 1, "nothing is tried again");
}

#[test]
fn a_refusal_in_a_batch_names_its_write_and_leaves_the_others_to_be_flushed() {
    let scene = Scene::new(
        DurabilityMode::ForcedFlush,
        &[Injected::Done, Injected::Refused, Injected::Short(4096)],
    );
    if scene.file.direct.is_none() {
        eprintln!("SKIPPED: this file system has no direct writes");
        return;
    }
    let mut page = AlignedBuf::zeroed(8192);
    page.fill(7);
    let writes: Vec<(u64, &[u8])> = [0, 16_384, 32_768].map(|offset| (offset, &page[..])).into();
    let before = scene.file.counters();
    let error = scene.file.write_many(&writes).unwrap_err();
    assert!(
        matches!(error, Error::Transfer { op: FileOp::Write, offset: 16_384, bytes: 8192, .. }),
        "{error:?}"
    );
    scene.file.sync().unwrap();
    let after = scene.file.counters();
    assert_eq!((after.writes - before.writes, after.syncs - before.syncs), (2, 1));
    // The batch, the rest of the short write, the flush.
    assert_eq!(after.calls - before.calls, 3);
    let contents = fs::read(&scene.path).unwrap();
    let is_full = |at: usize| contents[at..at + 8192].iter().all(|byte| *byte == 7);
    assert_eq!([0, 16_384, 32_768].map(is_full), [true, false, true]);
    assert!(!scene.is_poisoned());
}

#[test]
fn a_ring_that_dies_or_is_in_use_leaves_the_plain_way() {
    let scene = Scene::new(DurabilityMode::ForcedFlush, &[Injected::Dies]);
    for _ in 0..3 {
        scene.write_through(&[7; 4096]).unwrap();
    }
    assert_eq!(scene.calls(), [2], "nobody calls a dead ring");
    let scene = Scene::new(DurabilityMode::ForcedFlush, &[]);
    let turn = scene.file.lane.for_one().unwrap();
    scene.write_through(&[7; 4096]).unwrap();
    let page = AlignedBuf::zeroed(8192);
    let batch: [(u64, &[u8]); 2] = [(16_384, &page[..]), (32_768, &page[..])];
    scene.file.write_many(&batch).unwrap();
    assert!(scene.calls().is_empty());
    drop(turn);
    scene.write_through(&[7; 4096]).unwrap();
    assert_eq!(scene.calls(), [2]);
    scene.file.write_many(&batch).unwrap();
    scene.file.write_many(&batch[..1]).unwrap();
    let batches = scene.calls().len() - 1;
    assert_eq!(
        batches,
        usize::from(scene.file.direct.is_some()),
        "a batch of one is a plain write"
    );
}

#[test]
fn writes_that_no_ring_can_take_are_judged_by_the_system() {
    let scene = Scene::new(DurabilityMode::ForcedFlush, &[]);
    scene.file.write_at(0, &[], Durability::Through).unwrap();
    let many = vec![&b"x"[..]; 1025];
    scene.file.write_at(4096, &many, Durability::Through).unwrap();
    assert_eq!(scene.written(), [b'x'; 1025]);
    for offset in [u64::MAX - 1, i64::MAX as u64] {
        let error = scene.file.write_at(offset, &[b"x"], Durability::Deferred).unwrap_err();
        assert!(matches!(error, Error::Transfer { .. }));
        let page = AlignedBuf::zeroed(4096);
        assert!(scene.file.write_many(&[(offset & !4095, &page[..]), (0, &page[..])]).is_err());
    }
    assert!(scene.calls().is_empty());
}

#[test]
fn after_a_failed_durable_write_nothing_is_promised_any_more() {
    for backend in backends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, [0; 4096]).unwrap();
        // A handle that cannot write stands for a device that does not.
        let handle = fs::File::open(&path).unwrap();
        let file = RealFile::new(handle, &path, DurabilityMode::ForcedFlush, backend).unwrap();
        file.sync().unwrap();
        assert!(matches!(
            file.write_at(0, &[b"x"], Durability::Deferred),
            Err(Error::Transfer { .. })
        ));
        file.sync().unwrap();
        let error = file.write_at(0, &[b"x"], Durability::Through).unwrap_err();
        assert!(
            matches!(error, Error::Transfer { op: FileOp::Write, offset: 0, bytes: 1, .. }),
            "{error:?}"
        );
        assert!(matches!(file.sync(), Err(Error::Poisoned { .. })));
        assert!(matches!(
            file.write_at(0, &[b"x"], Durability::Through),
            Err(Error::Poisoned { .. })
        ));
        assert_eq!(file.read_at(0, &mut [0; 10]).unwrap(), 10);
    }
}

#[test]
fn a_full_device_is_the_same_error_with_every_backend() {
    // The device that is always full stands for one that is full now.
    let Ok(handle) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        eprintln!("SKIPPED: no /dev/full here");
        return;
    };
    for backend in backends() {
        let handle = handle.try_clone().unwrap();
        let Ok(file) =
            RealFile::new(handle, Path::new("/dev/full"), DurabilityMode::ForcedFlush, backend)
        else {
            eprintln!("SKIPPED: /dev/full has no length");
            return;
        };
        let error = file.write_at(0, &[b"x"], Durability::Through).unwrap_err();
        let Error::Transfer { op: FileOp::Write, source, .. } = error else { panic!("{error:?}") };
        assert_eq!(source.kind(), io::ErrorKind::StorageFull, "{backend:?}");
        assert!(matches!(file.sync(), Err(Error::Poisoned { .. })));
    }
}
