//! A crash after every log record: the pages as redo makes them, interrupted system transactions
//! rolled back page by page, then the open transaction undone by keys. What remains are the
//! committed rows.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::{Lsn, PageId, XactId};
use extentdb_catalog::PageGetter;
use extentdb_format::PageBytes;
use extentdb_format::log::apply::apply;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::row::{InsertRows, RowPart};
use extentdb_format::log::payload::xact::XACT_TYPE_SYSTEM;
use extentdb_format::log::record::RecordFlags;
use extentdb_format::log::replay::{page_of, redo};
use extentdb_format::log::undo::{Inverse, inverse};
use extentdb_format::log::{Context, Op, RecordHeader};
use extentdb_format::page::{PageHeader, PageRef, checksum};

use super::bench::{Bench, Image, LoggedRecord, Setup, fresh, key, undo_with};
use super::walk::walk;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
pub(crate) type Pages = BTreeMap<PageId, Box<PageBytes>>;

/// A sequence of short transactions, some rolled back, and the rows after each commit, by the LSN
/// of its record.
fn history(bench: &Bench, rng: &mut SplitMix64, rounds: usize) -> Vec<(Lsn, Rows)> {
    let mut states = vec![(Lsn::ZERO, Rows::new())];
    let mut model = Rows::new();
    for _ in 0..rounds {
        let mut tx = bench.begin();
        let before = model.clone();
        for _ in 0..1 + rng.below(5) {
            let key = key(rng.below(60), rng.below(4) > 0);
            let value = vec![rng.next_u64() as u8; rng.below(3000) as usize];
            if bench.delete(&mut tx, &key) {
                model.remove(&key);
            } else if rng.below(3) > 0 {
                bench.insert(&mut tx, &key, &value).unwrap();
                model.insert(key.clone(), value.clone());
            }
            let longer = vec![1; value.len() + 400];
            if bench.replace(&mut tx, &key, &longer).is_ok() {
                model.insert(key, longer);
            }
        }
        if rng.below(4) == 0 {
            bench.roll_back(tx);
            model = before;
        } else {
            let lsn = tx.commit().unwrap();
            // One that changed nothing has left no record.
            states.extend((!lsn.is_zero()).then(|| (lsn, model.clone())));
        }
    }
    states
}

/// What analysis knows of an open transaction.
pub(crate) struct Open {
    pub(crate) begin: Lsn,
    pub(crate) last: Lsn,
    pub(crate) is_system: bool,
}

pub(crate) fn note(
    open: &mut BTreeMap<XactId, Open>,
    lsn: Lsn,
    header: &RecordHeader,
    payload: &Payload<'_>,
) {
    match payload {
        Payload::BeginXact(begin) => {
            let is_system = begin.fixed.kind == XACT_TYPE_SYSTEM;
            open.insert(header.xact, Open { begin: lsn, last: lsn, is_system });
        }
        Payload::EndXact(_) => drop(open.remove(&header.xact)),
        _ => {
            if let Some(entry) = open.get_mut(&header.xact) {
                entry.last = lsn;
            }
        }
    }
}

/// Takes system transactions back, page by page, the newest record first.
pub(crate) fn undo_pages(records: &[LoggedRecord], xacts: &BTreeSet<XactId>, pages: &mut Pages) {
    for logged in records.iter().rev() {
        let record = logged.record();
        let header = record.header();
        let payload = record.payload();
        let Some(part) = page_of(&record).filter(|_| xacts.contains(&header.xact)) else {
            continue;
        };
        let kind = PageHeader::of(&pages[&part.page]).kind();
        let flags = RecordFlags::COMPENSATION;
        let undo = |op: Op, context: Context, payload: &Payload<'_>, pages: &mut Pages| {
            let header = RecordHeader { op, context, flags, ..RecordHeader::default() };
            let page = pages.get_mut(&part.page).expect("it was changed");
            apply(Lsn::new(99, 1, 1), &header, payload, page).expect("it can be undone");
        };
        match inverse(header, &payload, kind).expect("it is undone") {
            Inverse::Nothing => {}
            Inverse::Change(change) => undo(change.op, change.context, &change.payload, pages),
            Inverse::RowsFrom { page, count, slot } => {
                let source = pages[&page].clone();
                let view = PageRef::new(&source);
                let rows = (0..count).map(|slot| view.row(slot).expect("they are there")).collect();
                let fixed = RowPart {
                    page: extentdb_format::log::payload::page::PagePart { slot, ..part },
                    ..RowPart::default()
                };
                let payload =
                    Payload::InsertRows(InsertRows { fixed, rows, ..InsertRows::default() });
                undo(Op::INSERT_ROWS, header.context, &payload, pages);
            }
        }
    }
}

/// The data file with these pages in it.
fn image_of(pages: &Pages) -> Image {
    let mut bytes = fresh().0.clone();
    for (id, page) in pages {
        let start = id.page as usize * 8192;
        if bytes.len() < start + 8192 {
            bytes.resize((start + 8192).next_multiple_of(8192 * 8), 0);
        }
        let mut page = page.clone();
        checksum::seal(&mut page);
        bytes[start..start + 8192].copy_from_slice(&page[..]);
    }
    Image(bytes)
}

fn page_on_disk(id: PageId) -> Box<PageBytes> {
    let mut page = Box::new([0; 8192]);
    let _ = fresh().page(id, &mut page);
    page
}

/// Looks at a tree as a restart finds it after a record, and at the transactions that are open
/// there.
type Look<'l> = dyn FnMut(&LoggedRecord, &Bench, &BTreeMap<XactId, Open>) + 'l;

/// Restarts after every record of a log, with interrupted system transactions undone, and shows the
/// result; returns how many were interrupted.
pub(super) fn after_every_record(
    records: &[LoggedRecord],
    is_base: bool,
    look: &mut Look<'_>,
) -> usize {
    let (mut pages, mut open): (Pages, BTreeMap<XactId, Open>) = Default::default();
    let mut cut_off = 0;
    for (at, logged) in records.iter().enumerate() {
        let record = logged.record();
        note(&mut open, logged.lsn, record.header(), &record.payload());
        if let Some(part) = page_of(&record) {
            redo(
                logged.lsn,
                &record,
                pages.entry(part.page).or_insert_with(|| page_on_disk(part.page)),
            )
            .unwrap();
        }
        let mut left = pages.clone();
        let systems: BTreeSet<XactId> =
            open.iter().filter(|(_, open)| open.is_system).map(|(xact, _)| *xact).collect();
        undo_pages(&records[..=at], &systems, &mut left);
        cut_off += usize::from(!systems.is_empty());
        let restarted = Bench::on(&image_of(&left), &Setup { frames: 100, ..Setup::of(is_base) });
        look(logged, &restarted, &open);
    }
    cut_off
}

fn crash_everywhere(is_base: bool, seed: u64, rounds: usize) {
    let bench = Bench::new(is_base);
    let states = history(&bench, &mut SplitMix64::new(seed), rounds);
    assert!(walk(&bench.tree).levels > 2);
    let records = bench.records();
    let cut_off = verify_everywhere(&records, is_base, &states);
    assert!(cut_off > 200, "{cut_off} splits were cut off");
}

/// Restarts after every record: the committed rows are there, and no page is lost. Returns after
/// how many records a system transaction was interrupted.
fn verify_everywhere(records: &[LoggedRecord], is_base: bool, states: &[(Lsn, Rows)]) -> usize {
    after_every_record(records, is_base, &mut |logged, restarted, open| {
        for (xact, open) in open.iter().filter(|(_, open)| !open.is_system) {
            let mut tx = restarted.manager.resume(*xact, open.begin, open.last);
            let fetch = |lsn: Lsn| {
                let found =
                    records.iter().find(|logged| logged.lsn == lsn).expect("a record there is");
                found.copy()
            };
            undo_with(&restarted.tree, &mut tx, open.begin, &fetch);
        }
        let (_, expected) =
            states.iter().rev().find(|(lsn, _)| *lsn <= logged.lsn).expect("the first is empty");
        let seen = walk(&restarted.tree);
        let op = logged.record().header().op;
        assert!(seen.rows == *expected, "after {} {op}", logged.lsn);
        assert_eq!(seen.pages, restarted.pages(), "after {} {op}", logged.lsn);
    })
}

/// Rows are inserted, ranges of them deleted, and the leaves that are empty removed.
fn history_of_ranges(bench: &Bench, rng: &mut SplitMix64, rounds: usize) -> Vec<(Lsn, Rows)> {
    let mut states = vec![(Lsn::ZERO, Rows::new())];
    let mut model = Rows::new();
    for _ in 0..rounds {
        let from = rng.below(60);
        let is_delete = model.len() > 20 && rng.below(2) == 0;
        let mut tx = bench.begin();
        for number in from..from + 4 + rng.below(16) {
            let key = key(number, false);
            if is_delete {
                bench.delete(&mut tx, &key);
                model.remove(&key);
            } else if let Entry::Vacant(row) = model.entry(key) {
                let value = vec![number as u8; 2500];
                bench.insert(&mut tx, row.key(), &value).unwrap();
                row.insert(value);
            }
        }
        let lsn = tx.commit().unwrap();
        states.extend((!lsn.is_zero()).then(|| (lsn, model.clone())));
        bench.tree.clean(&bench.manager, 100, &|_| true).unwrap();
    }
    states
}

#[test]
fn removed_leaves_are_whole_or_gone_wherever_the_log_ends() {
    for (seed, is_base) in [(1, true), (2, false)] {
        let bench = Bench::new(is_base);
        let states = history_of_ranges(&bench, &mut SplitMix64::new(seed), 40);
        let records = bench.records();
        let removals = records
            .iter()
            .filter(|logged| match logged.record().payload() {
                Payload::BeginXact(begin) => begin.name.to_string_lossy() == "RemoveLeaf",
                _ => false,
            })
            .count();
        assert!(removals > 10, "{removals} removals");
        verify_everywhere(&records, is_base, &states);
    }
}

#[test]
fn what_is_committed_is_there_wherever_the_log_ends() {
    crash_everywhere(true, 1, 40);
    crash_everywhere(false, 2, 40);
}
