//! Legal forms that no sample shows: what real files may hold must stay without findings, whatever
//! this program thinks of it.

mod support;

use std::path::Path;

use extentdb_base::PageId;
use extentdb_base::size::PAGE_BYTES;
use extentdb_catalog::Catalog;
use extentdb_catalog::model::AllocUnitKind;
use extentdb_check::{Report, Verdict};
use extentdb_format::allocation::pfs::{Fullness, PfsMut, PfsView};
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::row::VERSION_TAG_BYTES;
use extentdb_format::record::status::HAS_VERSION_TAG;
use extentdb_format::record::{Record, RecordKind};
use extentdb_reader::CheckedPages;
use extentdb_report::to_text;
use extentdb_template::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, RowValues, TableSpec};
use extentdb_template::{MakeOptions, Size, make};
use extentdb_types::SqlType;
use support::{Demo, Memory, offset};

fn errors(report: &Report) -> Vec<u32> {
    report.findings.iter().map(|finding| finding.error).collect()
}

#[track_caller]
fn assert_clean(memory: &Memory) -> Report {
    let report = memory.check();
    assert_eq!(errors(&report), [0u32; 0], "{}", to_text(&report));
    report
}

#[track_caller]
fn assert_none_of(memory: &Memory, wrong: &[u32]) {
    let report = memory.check();
    let found: Vec<u32> =
        errors(&report).into_iter().filter(|error| wrong.contains(error)).collect();
    assert_eq!(found, [0u32; 0], "{}", to_text(&report));
}

fn shape(name: &str, rows: u64) -> (Memory, Catalog) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.mdf");
    let options = MakeOptions { shape: name.to_owned(), size: Size::Rows(rows), seed: 5 };
    make(&options, &[Path::new(&path)], &mut |_| {}).unwrap();
    loaded(&path)
}

fn built(builder: &DatabaseBuilder) -> (Memory, Catalog) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("built.mdf");
    builder.build(&[&path], &mut |_| {}).unwrap();
    loaded(&path)
}

fn loaded(path: &Path) -> (Memory, Catalog) {
    let memory = Memory::new(std::fs::read(path).unwrap());
    let catalog = Catalog::load(&CheckedPages::new(&memory)).unwrap();
    (memory, catalog)
}

/// Pages of a type whose header names the in-row unit of an index.
fn pages_of(
    memory: &Memory,
    catalog: &Catalog,
    table: &str,
    index: i32,
    kind: PageType,
) -> Vec<u32> {
    let table = catalog.tables.values().find(|it| it.name == table).unwrap();
    let index = table.indexes.iter().find(|it| it.id.0 == index).unwrap();
    let unit = catalog.rowsets[&index.rowsets[0]].unit(AllocUnitKind::InRow).unwrap().id;
    let is_own = |page: &u32| {
        let stored = memory.stored(*page);
        let header = PageHeader::of(&stored);
        header.alloc_unit() == unit && header.kind() == kind
    };
    (8..memory.pages()).filter(is_own).collect()
}

#[test]
fn a_trigger_on_the_database_lives_in_no_schema() {
    let mut demo = Demo::small();
    let pages = pages_of(&demo.memory, &demo.catalog, "sysschobjs", 1, PageType::Data);
    let page = *pages.last().unwrap();
    let at = offset(&demo.memory.stored(page), 0);
    // nsid and nsclass; the indexes of the table do not know of it, which is not what this is
    // about.
    demo.memory.edit(page, |bytes| {
        bytes[at + 8..at + 12].fill(0);
        bytes[at + 12] = 20;
    });
    assert_none_of(&demo.memory, &[8992]);
}

/// A heap of a thousand rows of 400 bytes, of which those in the middle were deleted.
fn heap_with_vacated_pages() -> DatabaseBuilder {
    let rows = FnRows::new(1_000, |number, row: &mut RowValues| {
        row.int(number as i32).raw(&[7; 400]);
    });
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("pad", SqlType::Binary { len: 400 }),
    ];
    let table = TableSpec::heap("t", columns, rows).vacated(|number| (200..800).contains(&number));
    DatabaseBuilder::new("vacated").table(table)
}

fn set_fullness(memory: &mut Memory, page: u32, fullness: Fullness) {
    let state = PfsView::new(&memory.stored(1)).entry(page).with_fullness(fullness);
    memory.edit(1, |bytes| PfsMut::of(bytes).set(page, state));
}

#[test]
fn a_heap_page_whose_slots_are_all_empty_may_be_0_pct_full() {
    let (mut memory, catalog) = built(&heap_with_vacated_pages());
    let is_vacated = |page: &u32| {
        let stored = memory.stored(*page);
        let view = PageRef::new(&stored);
        view.slot_count() > 0 && view.slot_offsets().all(|offset| offset == 0)
    };
    let pages = pages_of(&memory, &catalog, "t", 0, PageType::Data);
    let vacated: Vec<u32> = pages.into_iter().filter(is_vacated).collect();
    assert!(vacated.len() > 10, "{vacated:?}");
    for fullness in [Fullness::Empty, Fullness::UpTo50] {
        vacated.iter().for_each(|page| set_fullness(&mut memory, *page, fullness));
        assert_clean(&memory);
    }
    set_fullness(&mut memory, vacated[3], Fullness::UpTo80);
    assert_eq!(errors(&memory.check()), [8914]);
}

#[test]
fn a_heap_page_with_rows_is_not_0_pct_full() {
    let (mut memory, catalog) = built(&heap_with_vacated_pages());
    let page = pages_of(&memory, &catalog, "t", 0, PageType::Data)[0];
    set_fullness(&mut memory, page, Fullness::Empty);
    assert_eq!(errors(&memory.check()), [8914]);
}

/// `master` keeps the server configuration on page (1:10).
fn with_configuration_page() -> Memory {
    let rows = FnRows::new(10, |number, row: &mut RowValues| {
        row.int(number as i32);
    });
    let table = TableSpec::heap("t", vec![ColumnSpec::new("id", SqlType::Int)], rows);
    built(&DatabaseBuilder::new("master").table(table).master()).0
}

#[test]
fn the_server_configuration_of_master_has_no_owner() {
    let memory = with_configuration_page();
    assert_clean(&memory);
}

#[test]
fn a_damaged_server_configuration_is_named_and_is_no_leaked_page() {
    let mut memory = with_configuration_page();
    memory.raw(PageId::CONFIGURATION.page, |bytes| bytes[5_000] ^= 4);
    assert_eq!(errors(&memory.check()), [5250]);
}

#[test]
fn an_unowned_page_at_the_number_of_the_server_configuration_is_leaked() {
    let mut memory = with_configuration_page();
    memory.header(PageId::CONFIGURATION.page, |header| header.page_type = 1);
    assert!(errors(&memory.check()).contains(&8906));
}

#[test]
fn rows_of_clustered_indexes_need_no_room_for_a_stub() {
    let rows = FnRows::new(200, |number, row: &mut RowValues| {
        row.raw(&[number as u8]);
    });
    let columns = vec![ColumnSpec::new("id", SqlType::TinyInt)];
    let table =
        TableSpec::heap("t", columns, rows).clustered(IndexSpec::primary_key("PK_t", &["id"]));
    let (mut memory, catalog) = built(&DatabaseBuilder::new("tiny").table(table));
    assert_clean(&memory);
    for page in pages_of(&memory, &catalog, "t", 1, PageType::Data) {
        memory.header(page, |header| {
            let free = header.free_bytes.get() + header.slot_count.get();
            header.free_bytes.set(free);
        });
    }
    assert_clean(&memory);
}

#[test]
fn space_held_for_a_rollback_may_count_as_used_in_pfs() {
    let mut demo = Demo::small();
    let page = demo.heap_page();
    let header = demo.header(page);
    let free = header.free_bytes.get();
    // All that is free but a few bytes is held: the page counts as full, or as what it is.
    demo.memory.header(page, |header| header.reserved_bytes.set(free.saturating_sub(8)));
    assert_clean(&demo.memory);
    let pfs = extentdb_base::PageId::new(1, page).pfs_page().page;
    demo.memory.edit(pfs, |bytes| {
        let at = 100 + page as usize % 8088;
        bytes[at] = bytes[at] & 0xf8 | 4;
    });
    assert_clean(&demo.memory);
    demo.memory.header(page, |header| header.reserved_bytes.set(0));
    let is_full = free < 8096 / 20;
    assert_eq!(demo.memory.check().findings.is_empty(), is_full);
}

#[test]
fn iam_pages_from_sql_server_2000_name_object_and_index() {
    let mut demo = Demo::small();
    let iam = demo.unit("sales", 1).first_iam.page;
    demo.memory.edit(iam, |bytes| bytes[108..114].copy_from_slice(&[1, 2, 3, 0, 1, 0]));
    assert_clean(&demo.memory);
}

#[test]
fn pages_prepared_for_a_bulk_load_are_no_damage() {
    let mut demo = Demo::small();
    for kind in [19, 20] {
        let page = demo.heap_page();
        demo.memory.header(page, |header| header.page_type = kind);
        assert_none_of(&demo.memory, &[8928, 8938, 8939, 8944]);
    }
}

#[test]
fn versioning_tags_may_begin_with_their_time() {
    let (mut memory, _) = shape("history", 2_000);
    assert_clean(&memory);
    let mut turned = 0;
    for page in 8..memory.pages() {
        let stored = memory.stored(page);
        let view = PageRef::new(&stored);
        if view.header().kind() != PageType::Data {
            continue;
        }
        let tags: Vec<usize> = view
            .records()
            .filter(|(_, bytes)| bytes.first().is_some_and(|status| status & HAS_VERSION_TAG != 0))
            .filter(|(_, bytes)| RecordKind::of(bytes[0]) == RecordKind::Primary)
            .map(|(slot, bytes)| {
                offset(&stored, slot) + Record::parse_data(bytes).len() - VERSION_TAG_BYTES
            })
            .collect();
        turned += tags.len();
        memory.edit(page, |bytes| {
            for at in &tags {
                bytes[*at..*at + 14]
                    .copy_from_slice(&[0x77, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            }
        });
    }
    assert!(turned > 100, "{turned}");
    assert_clean(&memory);
}

#[test]
fn a_compressed_form_that_no_page_has_is_not_damage_of_every_page() {
    let (mut memory, catalog) = shape("compressed", 20_000);
    assert_clean(&memory);
    let pages = pages_of(&memory, &catalog, "orders_page", 1, PageType::Data);
    assert!(pages.len() > 20, "{}", pages.len());
    for page in &pages {
        memory.edit(*page, |bytes| {
            if PageHeader::of(bytes).type_flag_bits & 0x80 != 0 {
                bytes[96] |= 0x40;
            }
        });
    }
    let report = memory.check();
    assert!(errors(&report).is_empty(), "{}", to_text(&report));
    let is_listed = report.coverage.not_checked.iter().any(|it| it.what.contains("orders_page"));
    assert!(is_listed, "{}", to_text(&report));
    assert_eq!(report.verdict, Verdict::Incomplete);
}

#[test]
fn a_single_compressed_page_is_damaged_all_the_same() {
    let (mut memory, catalog) = shape("compressed", 20_000);
    let pages = pages_of(&memory, &catalog, "orders_page", 1, PageType::Data);
    let is_compressed =
        |page: &&u32| PageHeader::of(&memory.stored(**page)).type_flag_bits & 0x80 != 0;
    let page = *pages.iter().find(is_compressed).unwrap();
    memory.edit(page, |bytes| bytes[96] |= 0x40);
    let found = errors(&memory.check());
    assert!(found.contains(&5274) && found.contains(&8928), "{found:?}");
}

#[test]
fn values_that_a_whole_table_has_are_a_form_and_not_damage() {
    let rows = FnRows::new(6_000, |number, row: &mut RowValues| {
        row.int(number as i32);
        row.raw(&(number as f64).to_le_bytes());
    });
    let columns =
        vec![ColumnSpec::new("id", SqlType::Int), ColumnSpec::new("value", SqlType::Float)];
    let table =
        TableSpec::heap("t", columns, rows).clustered(IndexSpec::primary_key("PK_t", &["id"]));
    let (mut memory, catalog) = built(&DatabaseBuilder::new("floats").table(table));
    let pages = pages_of(&memory, &catalog, "t", 1, PageType::Data);
    assert!(pages.len() > 10);
    let spoil = |memory: &mut Memory, page: u32, every: usize| {
        let stored = memory.stored(page);
        let rows: Vec<usize> =
            (0..PageRef::new(&stored).slot_count()).map(|slot| offset(&stored, slot)).collect();
        memory.edit(page, |bytes| {
            for at in rows.iter().step_by(every) {
                bytes[at + 8..at + 16].copy_from_slice(&f64::NAN.to_le_bytes());
            }
        });
    };
    let mut single = memory.clone();
    spoil(&mut single, pages[2], 1_000);
    assert_eq!(errors(&single.check()), [2570]);
    pages.iter().for_each(|page| spoil(&mut memory, *page, 3));
    let report = assert_clean(&memory);
    assert!(
        report.coverage.not_checked.iter().any(|it| it.what.contains("2570")),
        "{}",
        to_text(&report)
    );
}

#[test]
fn an_index_without_pages_is_hypothetical() {
    let mut demo = Demo::small();
    let unit = demo.unit("sales", 2).clone();
    let pages = pages_of(&demo.memory, &demo.catalog, "sysallocunits", 1, PageType::Data);
    for page in pages {
        let stored = demo.memory.stored(page);
        let slots = PageRef::new(&stored).slot_count();
        let row = (0..slots)
            .map(|slot| offset(&stored, slot))
            .find(|at| stored[at + 4..at + 12] == unit.id.0.to_le_bytes());
        let Some(at) = row else { continue };
        let first_iam = unit.first_iam.to_bytes();
        let root = unit.root.to_bytes();
        demo.memory.edit(page, |bytes| {
            for address in [first_iam, root] {
                let place =
                    (at..at + 80).find(|place| bytes[*place..place + 6] == address).unwrap();
                bytes[place..place + 6].fill(0);
            }
        });
    }
    // That its pages are lost is another matter: real ones have none.
    let report = demo.memory.check();
    assert!(!errors(&report).contains(&8951), "{}", to_text(&report));
    let told = report.coverage.not_checked.iter().any(|it| it.why.contains("it has no pages"));
    assert!(told, "{}", to_text(&report));
}

#[test]
fn a_missing_file_is_listed_and_is_no_finding() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [folder.path().join("a.mdf"), folder.path().join("b.ndf")];
    let options = MakeOptions { shape: "demo".to_owned(), size: Size::Rows(20_000), seed: 3 };
    make(&options, &[&paths[0], &paths[1]], &mut |_| {}).unwrap();
    let bytes = std::fs::read(&paths[0]).unwrap();
    assert!(bytes.len().is_multiple_of(PAGE_BYTES));
    let report = assert_clean(&Memory::new(bytes));
    assert_eq!(report.verdict, extentdb_check::Verdict::Incomplete);
    assert!(
        report.coverage.not_checked.iter().any(|it| it.why == "it was not given"),
        "{}",
        to_text(&report)
    );
}
