//! The pages that are built are those of a sound database: the full check has no findings, and the
//! reader of files reads the same values.

use std::path::Path;

use extentdb_base::env::{SplitMix64, SystemClock};
use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_base::{FileId, Rid};
use extentdb_catalog::PageGetter;
use extentdb_catalog::access::LobReader;
use extentdb_check::{Control, Options, run};
use extentdb_format::record::lob::LobPointer;
use extentdb_format::record::{RecordBuilder, RecordKind};
use extentdb_io::MemDisk;
use extentdb_reader::MemoryFile;

use super::bench::{Bench, DATA, Setup, fresh};
use super::model::{Values, change};
use crate::btree::tests::bench::Image;
use crate::lob::{LobForm, LobRoot};

/// Counters of rows and pages, which a checkpoint of the engine writes.
const COUNTS: [u32; 2] = [2508, 8990];

/// A row of the table with this value in the column of its form.
fn row(id: u64, root: &LobRoot) -> Vec<u8> {
    let mut row = RecordBuilder::data(RecordKind::Primary, 8);
    row.fixed(4, &(id as u32).to_le_bytes()).columns(5);
    let column = match root.form() {
        LobForm::InRow => 0,
        LobForm::Text => 1,
        LobForm::Overflow => 2,
    };
    for number in 0..=column {
        if number == column {
            row.var(&root.to_bytes(), true);
        } else {
            row.var(&[], false);
        }
    }
    (0u16..4).filter(|number| *number != column).for_each(|number| {
        row.null(number + 2);
    });
    row.to_vec()
}

/// A database after random changes, with its values in rows.
fn changed_database(seed: u64, setup: &Setup, most: u64) -> (Image, Values) {
    let disk = MemDisk::new();
    disk.put(Path::new(DATA), fresh().0.clone());
    let bench = Bench::on_disk(fresh(), &disk, Path::new(""), setup);
    let mut rng = SplitMix64::new(seed);
    let mut values = Values::new();
    for _ in 0..40 {
        let mut open = bench.begin();
        change(&bench, &mut open, &mut values, &mut rng, most).expect("room for it");
        bench.commit(open).expect("a log");
    }
    let mut open = bench.begin();
    // The unit of the test is the one of (max) types and of image columns.
    let overflow = |root: &LobRoot| root.form() == LobForm::Overflow;
    for root in values.values().map(|(root, _)| root).filter(|root| overflow(root)) {
        bench.lob.free(open.change(), root).expect("a sound value");
    }
    values.retain(|_, (root, _)| !overflow(root));
    for (id, (root, _)) in &values {
        bench.heap.insert(&mut open.tx, 0, &row(*id, root), &mut ()).expect("room for it");
    }
    bench.commit(open).expect("a log");
    bench.lob.update_pfs().expect("sound maps");
    bench.heap.update_pfs().expect("sound maps");
    bench.space.mark_changed().expect("sound maps");
    bench.space.pool().write_dirty().expect("a disk");
    (Image(disk.contents(Path::new(DATA)).expect("it was put there")), values)
}

fn verify_database(seed: u64, setup: &Setup, most: u64) {
    let (image, values) = changed_database(seed, setup, most);
    for (root, model) in values.values() {
        let bytes = root.to_bytes();
        let pointer = LobPointer::parse(&bytes, root.form() == LobForm::Text);
        let getter: &dyn PageGetter = &image;
        let reader = LobReader::new(getter, Rid::default(), &pointer).expect("a pointer");
        assert!(reader.read_to_vec(1 << 26).expect("a sound value") == *model);
    }
    let source = MemoryFile::new(FileId(1), image.0);
    let clock = SystemClock::new();
    let cancel = Arc::new(AtomicBool::new(false));
    let report = run(&source, &Options::default(), &Control::new(&clock, &cancel));
    let findings: Vec<_> =
        report.findings.iter().filter(|finding| !COUNTS.contains(&finding.error)).collect();
    assert!(findings.is_empty(), "seed {seed}: {findings:#?}");
}

#[test]
fn the_full_check_has_no_findings() {
    for seed in 0..3 {
        verify_database(seed, &Setup::default(), 100_000);
        verify_database(seed, &Setup { mixed_pages: false, ..Setup::default() }, 3_000_000);
    }
}
