//! A version store and snapshots in memory, for the tests of trees and heaps, and tests of tags.

use std::collections::{BTreeMap, HashMap};

use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_base::{AllocUnitId, XactId};
use extentdb_format::record::{Record, RecordBuilder, RecordKind};

use super::{
    Seen, Snapshot, VersionPointer, VersionStore, VersionTag, Versioning, Versions, untagged,
};
use crate::Error;

/// Versions in memory.
#[derive(Default, Debug)]
pub(crate) struct MemoryStore {
    kept: Mutex<Kept>,
}

#[derive(Default, Debug)]
struct Kept {
    last: u64,
    records: HashMap<[u8; 8], (XactId, Vec<u8>)>,
}

impl MemoryStore {
    /// Removes the versions that nobody needs.
    pub(crate) fn remove(&self, seen: &dyn Fn(XactId) -> bool) {
        lock(&self.kept).records.retain(|_, (writer, _)| !seen(*writer));
    }
}

impl VersionStore for MemoryStore {
    fn keep(&self, writer: XactId, record: &[u8]) -> Result<VersionPointer, Error> {
        let mut kept = lock(&self.kept);
        kept.last += 1;
        let at = kept.last.to_be_bytes();
        kept.records.insert(at, (writer, record.to_vec()));
        Ok(VersionPointer(at))
    }

    fn read(&self, at: VersionPointer) -> Result<Vec<u8>, Error> {
        let kept = lock(&self.kept);
        let record = kept.records.get(&at.0).map(|(_, record)| record.clone());
        record.ok_or(Error::VersionGone { at })
    }
}

/// Commits in their order, and the snapshots that are open.
#[derive(Default, Debug)]
pub(crate) struct Commits {
    state: Mutex<State>,
}

#[derive(Default, Debug)]
struct State {
    last: u64,
    of: BTreeMap<XactId, u64>,
    snapshots: BTreeMap<u64, usize>,
}

/// The commits up to one of them, and a transaction's own changes.
#[derive(Debug)]
pub(crate) struct MemorySnapshot {
    commits: Arc<Commits>,
    pub(crate) at: u64,
    own: Option<XactId>,
}

impl Commits {
    pub(crate) fn commit(&self, xact: XactId) -> u64 {
        let mut state = lock(&self.state);
        state.last += 1;
        let at = state.last;
        state.of.insert(xact, at);
        at
    }

    /// Its undo is complete: nobody needs what it has kept.
    pub(crate) fn rolled_back(&self, xact: XactId) {
        lock(&self.state).of.insert(xact, 0);
    }

    pub(crate) fn snapshot(self: &Arc<Self>, own: Option<XactId>) -> MemorySnapshot {
        let mut state = lock(&self.state);
        let at = state.last;
        *state.snapshots.entry(at).or_default() += 1;
        MemorySnapshot { commits: self.clone(), at, own }
    }

    pub(crate) fn is_seen_by_all(&self, xact: XactId) -> bool {
        let state = lock(&self.state);
        let oldest = state.snapshots.keys().next().copied().unwrap_or(u64::MAX);
        state.of.get(&xact).is_some_and(|at| *at <= oldest)
    }
}

impl Snapshot for MemorySnapshot {
    fn sees(&self, writer: XactId) -> bool {
        let state = lock(&self.commits.state);
        self.own == Some(writer) || state.of.get(&writer).is_some_and(|at| *at <= self.at)
    }
}

impl Drop for MemorySnapshot {
    fn drop(&mut self) {
        let mut state = lock(&self.commits.state);
        if let Some(count) = state.snapshots.get_mut(&self.at) {
            *count -= 1;
            if *count == 0 {
                state.snapshots.remove(&self.at);
            }
        }
    }
}

fn xact(low: u32) -> XactId {
    XactId { high: 3, low }
}

fn row(kind: RecordKind) -> Vec<u8> {
    let mut builder = RecordBuilder::data(kind, 8);
    builder.fixed(4, &[1, 2, 3, 4]).columns(2).var(b"text", false);
    builder.to_vec()
}

#[test]
fn a_tag_is_put_into_a_record_and_taken_out() {
    let plain = row(RecordKind::Primary);
    let tag = VersionTag {
        previous: Some(VersionPointer([9, 8, 7, 6, 5, 4, 3, 2])),
        writer: xact(5),
    };
    let tagged = tag.replaced_in(&plain);
    assert_eq!(tagged.len(), plain.len() + VersionTag::BYTES);
    assert_eq!((VersionTag::of(&tagged), VersionTag::of(&plain)), (Some(tag), None));
    let record = Record::parse_data(&tagged);
    assert_eq!((record.fault(), record.len()), (None, tagged.len()));
    assert_eq!(record.version_tag().map(VersionTag::from_stored), Some(tag));
    let other = VersionTag { previous: None, ..tag };
    assert_eq!(VersionTag::of(&other.replaced_in(&tagged)), Some(other));
    assert_eq!(untagged(&other.replaced_in(&tagged)), plain);
}

#[test]
fn a_reader_takes_the_newest_version_that_it_sees() {
    let store = MemoryStore::default();
    let commits = Arc::new(Commits::default());
    let before = commits.snapshot(None);
    let versioning = |writer| Versioning { store: &store, writer, snapshot: None };
    let unit = AllocUnitId::SYSFILES1;
    let plain = row(RecordKind::Primary);
    let first = versioning(xact(1)).tag_over(unit, &plain).unwrap().replaced_in(&plain);
    commits.commit(xact(1));
    let between = commits.snapshot(None);
    let ghost = row(RecordKind::GhostData);
    let deleted = versioning(xact(2)).tag_over(unit, &first).unwrap().replaced_in(&ghost);
    let own = commits.snapshot(Some(xact(2)));
    let look = |snapshot: &MemorySnapshot| Versions { store: &store, snapshot }.look(&deleted);
    assert_eq!(look(&before).unwrap(), Seen::Older(plain.clone()));
    assert_eq!(look(&between).unwrap(), Seen::Older(first.clone()));
    assert_eq!(look(&own).unwrap(), Seen::Nothing);
    commits.commit(xact(2));
    assert_eq!(look(&commits.snapshot(None)).unwrap(), Seen::Nothing);
    // An insert over the ghost is not there for those who see the delete only.
    let after = commits.snapshot(None);
    let again = versioning(xact(3)).tag_over(unit, &deleted).unwrap().replaced_in(&plain);
    let look = |snapshot: &MemorySnapshot| Versions { store: &store, snapshot }.look(&again);
    assert_eq!(look(&after).unwrap(), Seen::Nothing);
    assert_eq!(look(&before).unwrap(), Seen::Older(plain));
    // The versions are gone: an error, and no other record.
    store.remove(&|_| true);
    assert!(matches!(look(&before), Err(Error::VersionGone { .. })));
}

#[test]
fn a_transaction_keeps_a_row_once() {
    let store = MemoryStore::default();
    let versioning = Versioning { store: &store, writer: xact(1), snapshot: None };
    let unit = AllocUnitId::SYSFILES1;
    let plain = row(RecordKind::Primary);
    let tag = versioning.tag_over(unit, &plain).unwrap();
    assert_eq!(versioning.tag_over(unit, &tag.replaced_in(&plain)).unwrap(), tag);
    assert_eq!(lock(&store.kept).records.len(), 1);
}

#[test]
fn a_change_of_what_the_snapshot_does_not_see_is_a_conflict() {
    let store = MemoryStore::default();
    let commits = Arc::new(Commits::default());
    let snapshot = commits.snapshot(Some(xact(2)));
    commits.commit(xact(1));
    let versioning = Versioning { store: &store, writer: xact(2), snapshot: Some(&snapshot) };
    let unit = AllocUnitId::SYSFILES1;
    for kind in [RecordKind::Primary, RecordKind::GhostData] {
        let newer = VersionTag { previous: None, writer: xact(1) }.replaced_in(&row(kind));
        let error = versioning.tag_over(unit, &newer).unwrap_err();
        assert!(matches!(error, Error::UpdateConflict { writer, .. } if writer == xact(1)));
    }
    versioning.tag_over(unit, &row(RecordKind::Primary)).unwrap();
}
