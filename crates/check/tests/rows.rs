//! Rows against the catalog, values, and nonclustered indexes against their tables.

mod support;

use std::num::NonZeroUsize;

use extentdb_base::PageId;
use extentdb_catalog::Catalog;
use extentdb_catalog::model::AllocUnitKind;
use extentdb_check::{Options, Report, Verdict};
use extentdb_format::page::PageRef;
use extentdb_reader::CheckedPages;
use extentdb_report::to_text;
use extentdb_template::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, RowValues, TableSpec};
use extentdb_types::SqlType;
use support::{Demo, Memory};

fn errors(report: &Report) -> Vec<u32> {
    report.findings.iter().map(|finding| finding.error).collect()
}

#[test]
fn every_index_of_a_sound_database_is_compared() {
    let report = Demo::new().memory.check();
    assert_eq!(errors(&report), [0u32; 0], "{}", to_text(&report));
    assert!(report.coverage.indexes_compared > 20, "{}", report.coverage.indexes_compared);
    assert!(report.coverage.entries_compared > 50_000, "{}", report.coverage.entries_compared);
}

/// A leaf page of the first nonclustered index of the sales table.
fn index_leaf(demo: &Demo) -> u32 {
    *demo.path(demo.unit("sales", 2)).last().unwrap()
}

#[test]
fn a_changed_byte_of_an_index_entry_is_a_missing_and_an_extra_row() {
    let mut demo = Demo::new();
    let page = index_leaf(&demo);
    let slots = PageRef::new(&demo.memory.stored(page)).slot_count();
    let at = support::offset(&demo.memory.stored(page), slots - 1);
    // The last fixed byte belongs to the locator: the entry leads to a row that does not exist.
    let end = usize::from(demo.header(page).fixed_len.get()) - 1;
    demo.memory.edit(page, |bytes| bytes[at + end] ^= 0x40);
    let report = demo.memory.check();
    let found: Vec<u32> =
        errors(&report).into_iter().filter(|error| ![2511, 8933, 8934].contains(error)).collect();
    assert_eq!(found, [8951, 8952], "{}", to_text(&report));
    let missing = &report.findings[report.findings.iter().position(|it| it.error == 8951).unwrap()];
    assert_eq!(missing.companions.len(), 1);
    assert_eq!(missing.companions[0].error, 8955);
    assert!(missing.companions[0].message.contains(" = "), "{}", missing.companions[0].message);
    assert_eq!(report.verdict, Verdict::Damaged);
    for options in [
        Options { physical_only: true, ..Options::default() },
        Options { no_index: true, ..Options::default() },
    ] {
        let report = demo.memory.check_with(&options);
        assert!(!errors(&report).contains(&8951), "{}", to_text(&report));
    }
}

#[test]
fn a_hash_of_six_bits_misses_one_difference_in_64() {
    let mut demo = Demo::small();
    let page = index_leaf(&demo);
    let at = support::offset(&demo.memory.stored(page), 3);
    let end = usize::from(demo.header(page).fixed_len.get()) - 1;
    demo.memory.edit(page, |bytes| bytes[at + end] ^= 0x40);
    let is_missed = |seed: u64| {
        let key = extentdb_check::HashKey::new([seed, 77]).with_bits(3);
        let options = Options {
            hash_key: Some(key),
            jobs: NonZeroUsize::new(1),
            ..Options::default()
        };
        !errors(&demo.memory.check_with(&options)).contains(&8951)
    };
    // Two lanes of three bits are six bits: eight of 512.
    let missed = (0..512).filter(|seed| is_missed(*seed)).count();
    assert!((2..=18).contains(&missed), "{missed} of 512");
}

/// A heap with an index on a column that may be NULL: its entries have null bitmaps.
fn with_nullable_key() -> (Memory, u32) {
    let rows = FnRows::new(300, |number, row: &mut RowValues| {
        row.raw(&(number as i32).to_le_bytes());
        row.raw(&(number as i32 / 3).to_le_bytes());
    });
    let columns =
        vec![ColumnSpec::new("id", SqlType::Int), ColumnSpec::nullable("k", SqlType::Int)];
    let table = TableSpec::heap("t", columns, rows).index(IndexSpec::new("IX_t", &["k"]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("built.mdf");
    DatabaseBuilder::new("nullable").table(table).build(&[&path], &mut |_| {}).unwrap();
    let memory = Memory::new(std::fs::read(path).unwrap());
    let catalog = Catalog::load(&CheckedPages::new(&memory)).unwrap();
    let table = catalog.tables.values().find(|it| it.name == "t").unwrap();
    let index = table.indexes.iter().find(|it| it.id.0 == 2).unwrap();
    let root = catalog.rowsets[&index.rowsets[0]].unit(AllocUnitKind::InRow).unwrap().root.page;
    (memory, root)
}

/// No column is ever added to an index: an entry has all of them.
#[test]
fn an_entry_of_an_index_that_lacks_a_column_is_named() {
    let (mut memory, leaf) = with_nullable_key();
    assert_eq!(errors(&memory.check()), [0u32; 0]);
    let stored = memory.stored(leaf);
    let pminlen = usize::from(PageRef::new(&stored).header().fixed_len.get());
    let at = support::offset(&stored, 3);
    assert_ne!(stored[at] & 0x10, 0, "the entry has a null bitmap");
    memory.edit(leaf, |page| page[at + pminlen] -= 1);
    let report = memory.check();
    assert_eq!(errors(&report), [2537], "{}", to_text(&report));
    let place = report.findings[0].location;
    assert_eq!((place.page, place.slot.map(|slot| slot.0)), (Some(PageId::new(1, leaf)), Some(3)));
    assert_eq!(place.owner.unwrap().index.0, 2);
}
