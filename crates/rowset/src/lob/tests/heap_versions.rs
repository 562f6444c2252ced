//! Row versions in heaps, on the bench of LOB values, which has a heap: transactions side by side,
//! snapshots taken anywhere, each compared with the rows that were committed when it was taken.

use std::collections::BTreeMap;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::{Arc, thread};
use extentdb_base::{Rid, XactId};
use extentdb_format::page::{PageHeader, PageRef};
use extentdb_format::record::{Record, RecordBuilder, RecordKind};
use extentdb_txn::lock::LockError;

use super::bench::{Bench, Open};
use crate::Error;
use crate::columnar::{PageRun, Visibility};
use crate::heap::{HeapWriter, ReservedRoom, RowLocks};
use crate::version::tests::{Commits, MemorySnapshot, MemoryStore};
use crate::version::{Versioning, Versions};

/// Rows by their addresses; each is what its record holds after the fixed part.
type Model = BTreeMap<Rid, Vec<u8>>;

struct OpenWriter {
    open: Open,
    snapshot: Option<(MemorySnapshot, Model)>,
    own: BTreeMap<Rid, Option<Vec<u8>>>,
    reserved: Vec<ReservedRoom>,
    /// RIDs that it has locked beside those of its rows.
    locked: Vec<Rid>,
}

struct Run {
    bench: Bench,
    store: MemoryStore,
    commits: Arc<Commits>,
    rng: SplitMix64,
    value_max: u64,
    committed: Model,
    changed: BTreeMap<Rid, u64>,
    writers: Vec<OpenWriter>,
    snapshots: Vec<(MemorySnapshot, Model)>,
    conflicts: usize,
    reads: usize,
}

/// The locks of one transaction among those of the others.
struct Locks<'l> {
    others: Vec<Rid>,
    own: &'l mut Vec<Rid>,
}

impl RowLocks for Locks<'_> {
    fn try_new(&mut self, rid: Rid) -> Result<bool, LockError> {
        let is_free = !self.others.contains(&rid);
        if is_free {
            self.own.push(rid);
        }
        Ok(is_free)
    }

    fn vacate(&mut self, rid: Rid) -> Result<(), LockError> {
        self.own.push(rid);
        Ok(())
    }
}

fn record(value: &[u8]) -> Vec<u8> {
    let mut builder = RecordBuilder::data(RecordKind::Primary, 8);
    builder.fixed(4, &[1, 2, 3, 4]).columns(5).null(2).null(3).null(5);
    builder.var(&[], false).var(&[], false).var(value, false);
    builder.to_vec()
}

fn value_of(record: &[u8]) -> Vec<u8> {
    let record = Record::parse_data(record);
    assert_eq!(record.fault(), None);
    record.var(2).map(|var| var.bytes.to_vec()).unwrap_or_default()
}

impl Run {
    fn new(seed: u64, value_max: u64) -> Run {
        Run {
            bench: Bench::new(),
            store: MemoryStore::default(),
            commits: Arc::default(),
            rng: SplitMix64::new(seed),
            value_max,
            committed: Model::new(),
            changed: BTreeMap::new(),
            writers: Vec::new(),
            snapshots: Vec::new(),
            conflicts: 0,
            reads: 0,
        }
    }

    /// Rows without tags, as from before the database had versions.
    fn fill(&mut self, rows: usize) {
        let mut open = self.bench.begin();
        for _ in 0..rows {
            let value = self.value();
            let at = self.bench.heap.insert(&mut open.tx, 0, &record(&value), &mut ()).unwrap();
            self.committed.insert(at, value);
        }
        self.bench.commit(open).unwrap();
    }

    fn value(&mut self) -> Vec<u8> {
        let most = if self.rng.below(4) == 0 { self.value_max } else { 3 };
        vec![self.rng.next_u64() as u8; self.rng.below(most + 1) as usize]
    }

    fn change(&mut self, number: usize) {
        let new = self.value();
        let roll = self.rng.below(5);
        let others = self.writers.iter().enumerate().filter(|(other, _)| *other != number);
        let held = |(_, other): (usize, &OpenWriter)| -> Vec<Rid> {
            other.locked.iter().chain(other.own.keys()).copied().collect()
        };
        let others: Vec<Rid> = others.flat_map(held).collect();
        let writer = &mut self.writers[number];
        let mut rows: Vec<Rid> = self.committed.keys().copied().collect();
        rows.extend(writer.own.keys());
        rows.retain(|rid| !others.contains(rid));
        let pick = rows.get(self.rng.below(rows.len().max(1) as u64) as usize).copied();
        let exists = |at: &Rid| match writer.own.get(at) {
            Some(value) => value.is_some(),
            None => self.committed.contains_key(at),
        };
        let pick = pick.filter(exists);
        let snapshot = writer.snapshot.as_ref().map(|(snapshot, _)| snapshot);
        let seen_to = snapshot.map(|snapshot| snapshot.at);
        let is_newer = |at: Rid| {
            seen_to.is_some_and(|seen| self.changed.get(&at).is_some_and(|seq| *seq > seen))
                && !writer.own.contains_key(&at)
        };
        let is_newer = pick.is_some_and(is_newer);
        let mut locks = Locks { others, own: &mut writer.locked };
        let mut with = HeapWriter {
            session: number,
            locks: &mut locks,
            reserved: &mut writer.reserved,
            versions: Versioning {
                store: &self.store,
                writer: writer.open.tx.id(),
                snapshot: snapshot.map(|snapshot| snapshot as _),
            },
        };
        let heap = &self.bench.heap;
        let tx = &mut writer.open.tx;
        let done = match (pick, roll) {
            (None, _) | (_, 0) => {
                let at = heap.insert_versioned(tx, &record(&new), &mut with).unwrap();
                assert!(!self.committed.contains_key(&at), "{at} is in use");
                writer.own.insert(at, Some(new));
                return;
            }
            (Some(at), 1) => heap.delete_versioned(tx, at, &mut with).map(|()| (at, None)),
            (Some(at), _) => {
                heap.update_versioned(tx, at, &record(&new), &mut with).map(|()| (at, Some(new)))
            }
        };
        match done {
            Ok((at, value)) => {
                assert!(!is_newer, "a conflict was not noticed");
                writer.own.insert(at, value);
            }
            Err(Error::UpdateConflict { .. }) => {
                assert!(is_newer, "no conflict");
                self.conflicts += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn end(&mut self, number: usize) {
        let writer = self.writers.swap_remove(number);
        let xact = writer.open.tx.id();
        if self.rng.below(3) == 0 {
            self.bench.roll_back(writer.open).unwrap();
            self.commits.rolled_back(xact);
        } else {
            self.bench.commit(writer.open).unwrap();
            let at = self.commits.commit(xact);
            for (rid, value) in writer.own {
                self.changed.insert(rid, at);
                match value {
                    Some(value) => self.committed.insert(rid, value),
                    None => self.committed.remove(&rid),
                };
            }
        }
        for reserved in writer.reserved {
            let page = reserved.page;
            self.bench.heap.give_back(reserved);
            self.bench.heap.touched(page).unwrap();
        }
    }

    fn begin(&mut self) {
        let open = self.bench.begin();
        let snapshot = (self.rng.below(2) == 0)
            .then(|| (self.commits.snapshot(Some(open.tx.id())), self.committed.clone()));
        self.writers.push(OpenWriter {
            open,
            snapshot,
            own: BTreeMap::new(),
            reserved: Vec::new(),
            locked: Vec::new(),
        });
    }

    fn clean(&mut self) {
        let commits = self.commits.clone();
        let seen = move |xact: XactId| commits.is_seen_by_all(xact);
        self.bench.heap.clean(&self.bench.manager, 8, &seen).unwrap();
        self.store.remove(&seen);
    }

    fn verify(&mut self) {
        for (snapshot, model) in &self.snapshots {
            self.verify_one(snapshot, model);
        }
        for writer in &self.writers {
            let Some((snapshot, model)) = &writer.snapshot else { continue };
            let mut model = model.clone();
            for (rid, value) in &writer.own {
                match value {
                    Some(value) => model.insert(*rid, value.clone()),
                    None => model.remove(rid),
                };
            }
            self.verify_one(snapshot, &model);
        }
        self.reads += self.snapshots.len() + self.writers.len();
    }

    fn verify_one(&self, snapshot: &MemorySnapshot, model: &Model) {
        let heap = &self.bench.heap;
        let versions = Versions { store: &self.store, snapshot };
        let mut read = Model::new();
        let mut visited = Model::new();
        let mut rids = Vec::new();
        for page in heap.formatted_pages().unwrap() {
            for (at, row) in heap.page_rows_seen(page, versions).unwrap() {
                assert_eq!(read.insert(at, value_of(&row)), None);
            }
            let visit = &mut |run: PageRun<'_>| {
                for row in run.rows.iter() {
                    let at = Rid::new(run.page, row.slot);
                    let value = value_of(&run.bytes[usize::from(row.start)..]);
                    assert_eq!(visited.insert(at, value), None);
                }
            };
            let visibility = Visibility::Snapshot(versions);
            let left = heap.visit_page(page, visibility, &mut Vec::new(), visit).unwrap();
            for at in left.rids {
                if let Some(row) = heap.row_seen(at, versions).unwrap() {
                    assert_eq!(visited.insert(at, value_of(&row)), None);
                }
            }
            let slots = PageRef::new(&self.bench.space.pool().read(page).unwrap()).slot_count();
            rids.extend((0..slots).map(|slot| Rid::new(page, slot)));
        }
        assert_eq!(&read, model);
        assert_eq!(&visited, model);
        let fetched = heap.rows_seen(&rids, versions).unwrap();
        for (number, at) in rids.iter().enumerate() {
            assert_eq!(fetched.record(number).map(value_of).as_ref(), model.get(at));
            let row = heap.row_seen(*at, versions).unwrap();
            assert_eq!(row.as_deref().map(value_of).as_ref(), model.get(at));
        }
    }

    fn step(&mut self) {
        let any = |rng: &mut SplitMix64, len: usize| rng.below(len as u64) as usize;
        match self.rng.below(40) {
            0 | 1 if self.writers.len() < 4 => self.begin(),
            2 | 3 if !self.writers.is_empty() => {
                let number = any(&mut self.rng, self.writers.len());
                self.end(number);
            }
            4 if self.snapshots.len() < 5 => {
                self.snapshots.push((self.commits.snapshot(None), self.committed.clone()));
            }
            5 if !self.snapshots.is_empty() => {
                let number = any(&mut self.rng, self.snapshots.len());
                drop(self.snapshots.swap_remove(number));
            }
            6 => self.clean(),
            7 => self.verify(),
            _ if !self.writers.is_empty() => {
                let number = any(&mut self.rng, self.writers.len());
                self.change(number);
            }
            _ => {}
        }
    }

    fn finish(mut self) {
        while !self.writers.is_empty() {
            self.end(0);
        }
        self.verify();
        assert!(self.conflicts > 0 && self.reads > 20, "{} {}", self.conflicts, self.reads);
        self.snapshots.clear();
        while self.bench.heap.ghost_page_count() > 0 {
            self.clean();
        }
        let mut rows = Model::new();
        for page in self.bench.heap.formatted_pages().unwrap() {
            let page = *self.bench.space.pool().read(page).unwrap();
            assert_eq!(PageHeader::of(&page).ghost_count.get(), 0);
            for (slot, bytes) in PageRef::new(&page).records() {
                let at = Rid::new(PageHeader::of(&page).page_id(), slot);
                let record = Record::parse_data(bytes);
                if matches!(record.kind(), RecordKind::Primary | RecordKind::ForwardingStub) {
                    let row = self.bench.heap.get(at).unwrap().unwrap();
                    rows.insert(at, value_of(&row));
                }
                assert_eq!(record.fault(), None);
            }
        }
        assert_eq!(rows, self.committed);
    }
}

fn run(seed: u64, value_max: u64, steps: usize) {
    let mut run = Run::new(seed, value_max);
    run.fill(700);
    for _ in 0..steps {
        run.step();
    }
    run.finish();
}

#[test]
fn snapshots_read_what_was_committed_from_a_heap() {
    for seed in 0..4 {
        run(seed, 200, 5000);
    }
}

#[test]
fn snapshots_read_long_versions_and_moved_rows() {
    for seed in 10..13 {
        run(seed, 4000, 4000);
    }
}

/// Two writers keep the sum of all values as it is, while rows move and grow; every snapshot has
/// that sum.
#[test]
fn snapshots_are_whole_while_rows_move() {
    const ROWS: usize = 60;
    const READERS: usize = 2;
    let bench = Bench::new();
    let store = MemoryStore::default();
    let commits = Arc::new(Commits::default());
    let record_of = |value: i32, len: usize| {
        let mut bytes = value.to_le_bytes().to_vec();
        bytes.resize(4 + len, 7);
        record(&bytes)
    };
    let mut open = bench.begin();
    let rids: Vec<Rid> = (0..2 * ROWS)
        .map(|_| bench.heap.insert(&mut open.tx, 0, &record_of(0, 100), &mut ()).unwrap())
        .collect();
    bench.commit(open).unwrap();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let bench = &bench;
        let store = &store;
        let commits = &commits;
        let is_done = &is_done;
        let rids = &rids;
        let readers: Vec<_> = (0..READERS)
            .map(|_| {
                scope.spawn(move || {
                    let mut reads = 0;
                    while !is_done.load(Ordering::Relaxed) || reads == 0 {
                        let snapshot = commits.snapshot(None);
                        let versions = Versions { store, snapshot: &snapshot };
                        let mut values = BTreeMap::new();
                        for page in bench.heap.formatted_pages().unwrap() {
                            for (at, row) in bench.heap.page_rows_seen(page, versions).unwrap() {
                                let value = value_of(&row);
                                let value = i32::from_le_bytes(*value.first_chunk().unwrap());
                                assert_eq!(values.insert(at, value), None);
                            }
                        }
                        assert_eq!(values.values().sum::<i32>(), 0);
                        assert_eq!(values.len(), 2 * ROWS);
                        reads += 1;
                    }
                })
            })
            .collect();
        let writers: Vec<_> = (0..2usize)
            .map(|number| {
                scope.spawn(move || {
                    let own = &rids[number * ROWS..(number + 1) * ROWS];
                    let mut values = vec![0; ROWS];
                    let mut rng = SplitMix64::new(number as u64);
                    for _ in 0..400 {
                        let mut open = bench.begin();
                        let xact = open.tx.id();
                        let mut reserved = Vec::new();
                        let mut locked = Vec::new();
                        let before = values.clone();
                        for change in [1, -1] {
                            let row = rng.below(ROWS as u64) as usize;
                            let len = if rng.below(5) == 0 { 3000 } else { 200 };
                            values[row] += change;
                            let mut locks = Locks { others: Vec::new(), own: &mut locked };
                            let mut writer = HeapWriter {
                                session: number,
                                locks: &mut locks,
                                reserved: &mut reserved,
                                versions: Versioning { store, writer: xact, snapshot: None },
                            };
                            let record = record_of(values[row], rng.below(len) as usize);
                            let tx = &mut open.tx;
                            bench
                                .heap
                                .update_versioned(tx, own[row], &record, &mut writer)
                                .unwrap();
                        }
                        if rng.below(4) == 0 {
                            bench.roll_back(open).unwrap();
                            commits.rolled_back(xact);
                            values = before;
                        } else {
                            bench.commit(open).unwrap();
                            commits.commit(xact);
                        }
                        for reserved in reserved {
                            bench.heap.give_back(reserved);
                        }
                        let seen = |xact: XactId| commits.is_seen_by_all(xact);
                        bench.heap.clean(&bench.manager, 4, &seen).unwrap();
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        is_done.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}
