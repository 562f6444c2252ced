//! Power cuts at every I/O call: what a restart makes of the pages and the log on the disk, open
//! transactions undone, is what was committed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_base::sync::Arc;
use extentdb_base::{Lsn, PageId, XactId};
use extentdb_format::PageBytes;
use extentdb_format::log::RecordRef;
use extentdb_format::log::replay::{page_of, redo};
use extentdb_format::page::checksum;
use extentdb_io::{Disk, MemDisk};
use extentdb_wal::Log;

use super::bench::{Bench, DATA, LOG, Setup, fresh};
use super::model::{Values, change, verify};
use crate::btree::tests::bench::{Image, LoggedRecord};
use crate::btree::tests::crash::{Open as OpenTx, Pages, note, undo_pages};

/// What a script has committed: the values after each commit, and the commit that was under way.
#[derive(Default)]
struct History {
    states: Vec<(Lsn, Values)>,
}

/// Random transactions until the power fails; pages are written in between.
fn script(bench: &Bench, rng: &mut SplitMix64, rounds: usize, history: &mut History) -> bool {
    let mut values = Values::new();
    history.states.push((Lsn::ZERO, values.clone()));
    for _ in 0..rounds {
        let mut open = bench.begin();
        let before = values.clone();
        for _ in 0..1 + rng.below(4) {
            if change(bench, &mut open, &mut values, rng, 60_000).is_err() {
                return false;
            }
            if rng.below(3) == 0 && bench.space.pool().write_dirty().is_err() {
                return false;
            }
        }
        if rng.below(5) == 0 && bench.log.flush(bench.log.last()).is_ok() {
            if bench.roll_back(open).is_err() {
                return false;
            }
            values = before;
            continue;
        }
        // Should the commit be cut, it may have become durable or not.
        let next = Lsn { slot: 0, ..bench.log.last() };
        history.states.push((next, values.clone()));
        match bench.commit(open) {
            // It has changed nothing.
            Ok(lsn) if lsn.is_zero() => drop(history.states.pop()),
            Ok(lsn) => {
                if let Some(state) = history.states.last_mut() {
                    state.0 = lsn;
                }
            }
            Err(_) => return false,
        }
        if rng.below(4) == 0 && bench.lob.update_pfs().is_err() {
            return false;
        }
    }
    true
}

/// The records of a log that a power cut has left.
fn records_on(disk: &MemDisk) -> Vec<LoggedRecord> {
    let file = disk.open(Path::new(LOG)).expect("it was made");
    let log = Log::open(file, Lsn::ZERO, Arc::new(SystemClock::new())).expect("a sound log");
    let mut records = Vec::new();
    if log.last().is_zero() {
        return records;
    }
    let keep = &mut |lsn, record: &RecordRef<'_>| {
        records.push(LoggedRecord::of(lsn, record));
        ControlFlow::Continue(())
    };
    log.scan(log.minimum(), keep).expect("a sound log");
    records
}

/// The pages as redo, and the undo of interrupted system transactions, make them.
fn redone(image: &[u8], records: &[LoggedRecord]) -> (Pages, BTreeMap<XactId, OpenTx>) {
    let mut pages = Pages::new();
    let mut open = BTreeMap::new();
    let stored = |id: PageId| {
        let start = id.page as usize * 8192;
        let mut page: Box<PageBytes> = Box::new([0; 8192]);
        if let Some(bytes) = image.get(start..start + 8192) {
            page.copy_from_slice(bytes);
        }
        page
    };
    for logged in records {
        let record = logged.record();
        note(&mut open, logged.lsn, record.header(), &record.payload());
        if let Some(part) = page_of(&record) {
            let page = pages.entry(part.page).or_insert_with(|| stored(part.page));
            redo(logged.lsn, &record, page).expect("it follows on the page");
        }
    }
    let systems: BTreeSet<XactId> =
        open.iter().filter(|(_, open)| open.is_system).map(|(xact, _)| *xact).collect();
    undo_pages(records, &systems, &mut pages);
    (pages, open)
}

/// Restarts on what a power cut has left.
fn restart(disk: &MemDisk, setup: &Setup) -> (Bench, Vec<LoggedRecord>) {
    let mut image = disk.contents(Path::new(DATA)).expect("it was put there");
    let records = records_on(disk);
    let (pages, open) = redone(&image, &records);
    for (id, page) in &pages {
        let start = id.page as usize * 8192;
        if image.len() < start + 8192 {
            image.resize((start + 8192).next_multiple_of(8192 * 8), 0);
        }
        let mut page = page.clone();
        checksum::seal(&mut page);
        image[start..start + 8192].copy_from_slice(&page[..]);
    }
    let bench = Bench::on(&Image(image), setup);
    let losers = open.iter().filter(|(_, open)| !open.is_system);
    // The newest record of all of them first, as a restart does it.
    let mut next: Vec<(XactId, Lsn, Lsn)> =
        losers.map(|(xact, open)| (*xact, open.begin, open.last)).collect();
    next.sort_by_key(|(_, _, last)| *last);
    for (xact, begin, last) in next {
        let mut tx = bench.manager.resume(xact, begin, last);
        while tx.undo_next() > begin {
            let lsn = tx.undo_next();
            let logged = records.iter().find(|logged| logged.lsn == lsn).expect("a record");
            bench.undo_one(&mut tx, logged).expect("it can be undone");
        }
    }
    (bench, records)
}

/// A script on a disk that fails after so many calls; true when it came to its end.
fn cut_after(calls: u64, seed: u64, setup: &Setup) -> bool {
    let disk = MemDisk::new();
    disk.put(Path::new(DATA), fresh().0.clone());
    let bench = Bench::on_disk(fresh(), &disk, Path::new(""), setup);
    let mut history = History::default();
    disk.fail_after(calls);
    let is_done = script(&bench, &mut SplitMix64::new(seed), 8, &mut history);
    let mut keep = SplitMix64::new(calls);
    // The double-write area keeps pages whole; here the device does.
    let unit_of = |path: &Path| if path == Path::new(DATA) { 8192 } else { 512 };
    let left = disk.crash_by(&mut keep, &unit_of);
    let (restarted, records) = restart(&left, setup);
    let last = records.last().map_or(Lsn::ZERO, |logged| logged.lsn);
    let ended = |lsn: &Lsn| {
        lsn.is_zero()
            || records.iter().any(|logged| {
                logged.lsn == *lsn
                    && logged.record().header().op == extentdb_format::log::Op::COMMIT_XACT
            })
    };
    let certain = history.states.iter().rposition(|(lsn, _)| ended(lsn)).expect("the first one");
    // The commit that was under way has no LSN here: it is the next state, if there is a later
    // commit record of a user transaction.
    let committed = records
        .iter()
        .filter(|logged| logged.record().header().op == extentdb_format::log::Op::COMMIT_XACT)
        .filter(|logged| logged.lsn > history.states[certain].0)
        .filter(|logged| is_of_user(&records, logged.record().header().xact))
        .count();
    assert!(committed <= 1, "{committed} commits after the last one known, up to {last}");
    let expected = &history.states[certain + committed].1;
    verify(&restarted, expected, &mut keep);
    is_done
}

fn is_of_user(records: &[LoggedRecord], xact: XactId) -> bool {
    use extentdb_format::log::payload::Payload;
    use extentdb_format::log::payload::xact::XACT_TYPE_SYSTEM;
    records.iter().any(|logged| {
        let record = logged.record();
        record.header().xact == xact
            && matches!(record.payload(), Payload::BeginXact(begin) if begin.fixed.kind != XACT_TYPE_SYSTEM)
    })
}

fn cut_everywhere(seed: u64, setup: &Setup) {
    let mut calls = 0;
    while !cut_after(calls, seed, setup) {
        calls += 1;
    }
    assert!(calls > 20, "{calls} cuts");
}

#[test]
fn what_is_committed_is_there_wherever_the_power_fails() {
    for seed in 0..3 {
        cut_everywhere(seed, &Setup::default());
        cut_everywhere(seed, &Setup { mixed_pages: false, frames: 120, ..Setup::default() });
    }
}
