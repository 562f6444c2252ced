//! The register of what a check could miss or report falsely, `docs/register.md`: every test it
//! names exists, and tests for those rows that no other file proves.

mod support;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use extentdb_base::PageId;
use extentdb_catalog::Catalog;
use extentdb_catalog::table::DEFAULT_COLLATION;
use extentdb_check::{Options, Report, Verdict};
use extentdb_format::PageBytes;
use extentdb_format::page::{PageHeader, PageRef};
use extentdb_format::record::Record;
use extentdb_reader::CheckedPages;
use extentdb_report::to_text;
use extentdb_template::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, RowValues, TableSpec};
use extentdb_types::{Collation, SqlType};
use support::{Demo, Memory, offset};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names of all tests of the workspace.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                names.extend(tests_of(&std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    names
}

fn tests_of(text: &str) -> Vec<String> {
    // What stands before the first attribute is no test.
    let behind_attribute = text.split("#[test]\n").skip(1);
    let function =
        behind_attribute.filter_map(|rest| Some(rest.split_once("fn ")?.1.split_once('(')?.0));
    function.map(str::to_owned).collect()
}

/// Rows of the register: number and last column.
fn register() -> Vec<(u32, String)> {
    let text = std::fs::read_to_string(root().join("docs/register.md")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        Some((cells.first()?.parse().ok()?, (*cells.last()?).to_owned()))
    };
    text.lines().filter(|line| line.starts_with('|')).filter_map(row).collect()
}

#[test]
fn every_row_of_the_register_is_there_once_and_every_test_it_names_exists() {
    let rows = register();
    let tests = tests();
    let mut numbers: Vec<u32> = rows.iter().map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=53).collect::<Vec<u32>>());
    let mut named = 0;
    for (number, cell) in rows {
        let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        for name in &names {
            assert!(tests.contains(*name), "row {number}: {name} is no test");
        }
        named += names.len();
        assert!(
            !names.is_empty() || cell == "–",
            "row {number} says neither a test nor that there is none"
        );
    }
    assert!(named > 70, "{named}");
}

fn errors(report: &Report) -> BTreeSet<u32> {
    report.findings.iter().map(|finding| finding.error).collect()
}

#[track_caller]
fn assert_clean(report: &Report) {
    assert_eq!(report.findings, [], "{}", to_text(&report));
    assert_eq!(report.verdict, Verdict::Clean, "{}", to_text(&report));
}

/// True when a line of what was not checked names this, for this reason.
fn lists(report: &Report, what: &str, why: &str) -> bool {
    report.coverage.not_checked.iter().any(|it| it.what.contains(what) && it.why.contains(why))
}

/// A database with this table.
fn built(table: TableSpec) -> Demo {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("built.mdf");
    DatabaseBuilder::new("built").table(table).build(&[&path], &mut |_| {}).unwrap();
    let memory = Memory::new(std::fs::read(path).unwrap());
    let catalog = Catalog::load(&CheckedPages::new(&memory)).unwrap();
    Demo { memory, catalog }
}

/// The same page as it was before its last row was inserted.
fn without_last_row(bytes: &mut PageBytes) {
    let slots = PageRef::new(bytes).slot_count();
    let len = Record::parse_data(&bytes[offset(bytes, slots - 1)..]).len() as u16;
    let header = PageHeader::of_mut(bytes);
    header.slot_count.set(slots - 1);
    header.free_bytes.set(header.free_bytes.get() + len + 2);
}

/// Row 9.
#[test]
fn keys_whose_first_bytes_are_equal_are_compared_whole() {
    let rows = FnRows::new(3_000, |n, row: &mut RowValues| {
        row.raw(&[7; 120]).int(10 * n as i32);
    });
    let columns = vec![
        ColumnSpec::new("same", SqlType::Binary { len: 120 }),
        ColumnSpec::new("id", SqlType::Int),
    ];
    let table = TableSpec::heap("t", columns, rows)
        .clustered(IndexSpec::primary_key("PK", &["same", "id"]));
    let demo = built(table);
    let leaf = *demo.path(demo.unit("t", 1)).last().unwrap();
    for options in [
        Options::default(),
        Options {
            chunk_pages: 8,
            jobs: NonZeroUsize::new(5),
            ..Options::default()
        },
        Options { chunk_pages: 8, run_budget: 0, ..Options::default() },
    ] {
        assert_clean(&demo.memory.check_with(&options));
        for page in leaf..leaf + 8 {
            let mut memory = demo.memory.clone();
            memory.edit(page, |bytes| {
                let last = PageRef::new(bytes).slot_count() - 1;
                let at = offset(bytes, last) + 4 + 120;
                let id = i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
                bytes[at..at + 4].copy_from_slice(&(id + 15).to_le_bytes());
            });
            let report = memory.check_with(&options);
            assert_eq!(errors(&report), BTreeSet::from([8934]), "{page}\n{}", to_text(&report));
        }
    }
}

/// Rows 16 and 46.
#[test]
fn moved_rows_count_once_and_ghosts_not_at_all() {
    let rows = FnRows::new(3_000, |n, row: &mut RowValues| {
        row.int(n as i32).raw(&[n as u8; 60]);
    });
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("pad", SqlType::Binary { len: 60 }),
    ];
    let table = TableSpec::heap("t", columns, rows)
        .ghosts(|n| n % 9 == 4)
        .forwarded(|n| n % 7 == 3)
        .index(IndexSpec::new("IX", &["id"]));
    let live = (0..3_000).filter(|n| n % 9 != 4).count() as u64;
    let report = built(table).memory.check();
    assert_clean(&report);
    let own = report.objects.iter().find(|it| it.name == "t").unwrap();
    assert_eq!(own.rows, live);
    assert!(report.coverage.entries_compared >= live, "{}", report.coverage.entries_compared);
}

/// Row 19.
#[test]
fn an_index_over_approximate_values_is_listed_and_not_compared() {
    let rows = FnRows::new(500, |n, row: &mut RowValues| {
        // Not what the expression gives: whoever compared it would report it.
        row.int(n as i32).float(n as f64).float(n as f64 + 0.5);
    });
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("x", SqlType::Float),
        ColumnSpec::computed("y", SqlType::Float, "([x]*[x])"),
    ];
    let table = TableSpec::heap("t", columns, rows)
        .clustered(IndexSpec::primary_key("PK", &["id"]))
        .index(IndexSpec::new("IX_y", &["y"]));
    let report = built(table).memory.check();
    assert_eq!(report.findings, [], "{}", to_text(&report));
    assert!(lists(&report, "index IX_y", "approximate"), "{}", to_text(&report));
}

/// Row 21.
#[test]
fn included_values_that_may_lie_off_the_row_are_listed_and_the_others_compared() {
    let long = SqlType::VarChar { len: None, collation: Collation(DEFAULT_COLLATION) };
    let rows = FnRows::new(500, |n, row: &mut RowValues| {
        row.int(n as i32).int(7 * n as i32).raw(b"short");
    });
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("other", SqlType::Int),
        ColumnSpec::new("long", long),
    ];
    let table = TableSpec::heap("t", columns, rows)
        .clustered(IndexSpec::primary_key("PK", &["id"]))
        .index(IndexSpec::new("IX", &["other"]).include(&["long"]));
    let mut demo = built(table);
    let report = demo.memory.check();
    assert_clean(&report);
    assert!(lists(&report, "some values of index IX", "off the row"), "{}", to_text(&report));
    let leaf = *demo.path(demo.unit("t", 1)).last().unwrap();
    demo.memory.edit(leaf, |bytes| {
        let at = offset(bytes, 3) + 8;
        bytes[at] ^= 1;
    });
    assert_eq!(errors(&demo.memory.check()), BTreeSet::from([8951, 8952]));
}

/// Row 23.
#[test]
fn an_old_image_of_a_page_is_found_by_its_indexes() {
    let mut demo = Demo::small();
    let leaf = *demo.path(demo.unit("sales", 1)).last().unwrap();
    demo.memory.edit(leaf, without_last_row);
    let report = demo.memory.check();
    assert_eq!(errors(&report), BTreeSet::from([8952]), "{}", to_text(&report));
}

/// Rows 28 and 51.
#[test]
fn pages_without_protection_are_counted_and_cracked_all_the_same() {
    let mut demo = Demo::small();
    let before = demo.memory.check();
    let page = demo.heap_page();
    demo.memory.raw(page, |bytes| {
        let header = PageHeader::of_mut(bytes);
        header.flag_bits.set(0);
        bytes[60..64].fill(0x5a);
    });
    let report = demo.memory.check();
    assert_clean(&report);
    let count = |report: &Report| {
        let note = report.notes.iter().find(|it| it.error == 59003);
        note.map_or(0, |it| it.message.split(' ').next().unwrap().parse::<u64>().unwrap())
    };
    assert_eq!(count(&report), count(&before) + 1);
    demo.memory.raw(page, |bytes| {
        let at = bytes.len() - 2;
        bytes[at..].copy_from_slice(&20u16.to_le_bytes());
    });
    assert!(errors(&demo.memory.check()).contains(&8941));
}

/// Row 29.
#[test]
fn an_index_with_a_damaged_page_is_listed_as_not_compared() {
    let mut demo = Demo::small();
    let leaf = *demo.path(demo.unit("sales", 2)).last().unwrap();
    demo.memory.raw(leaf, |bytes| bytes[200] ^= 1);
    let report = demo.memory.check();
    assert!(
        errors(&report).contains(&8939) && !errors(&report).contains(&8951),
        "{}",
        to_text(&report)
    );
    assert!(
        lists(&report, "against its table", "pages of one of them are damaged"),
        "{}",
        to_text(&report)
    );
}

/// Row 32.
#[test]
fn pages_of_a_damaged_pfs_page_are_checked_by_their_headers() {
    let mut demo = Demo::small();
    let leaf = *demo.path(demo.unit("sales", 1)).last().unwrap();
    demo.memory.raw(1, |bytes| bytes[300] ^= 0x10);
    let only_map = errors(&demo.memory.check());
    assert_eq!(only_map, BTreeSet::from([8946, 8998]));
    demo.memory.edit(leaf, |bytes| {
        let at = bytes.len() - 2;
        bytes[at..].copy_from_slice(&20u16.to_le_bytes());
    });
    let found = errors(&demo.memory.check());
    assert!(found.is_superset(&BTreeSet::from([8946, 8998, 8928, 8941])), "{found:?}");
}

/// Row 33.
#[test]
fn damage_of_the_critical_tables_silences_findings_in_other_tables() {
    let mut demo = Demo::small();
    let leaf = *demo.path(demo.unit("sales", 1)).last().unwrap();
    demo.memory.raw(leaf, |bytes| bytes[200] ^= 1);
    assert!(errors(&demo.memory.check()).contains(&8939));
    // A leaf page of sysrscols with two slots exchanged.
    let page = (8..demo.memory.pages()).find(|page| {
        let header = demo.header(*page);
        header.object_id.get() == 3 && header.page_type == 1 && header.slot_count.get() > 8
    });
    demo.memory.edit(page.unwrap(), |bytes| {
        let end = bytes.len();
        bytes[end - 12..].rotate_left(2);
    });
    let report = demo.memory.check();
    assert!(errors(&report).is_superset(&BTreeSet::from([2511, 7995])), "{}", to_text(&report));
    assert!(
        report.findings.iter().all(|it| it.location.page != Some(PageId::new(1, leaf))),
        "{}",
        to_text(&report)
    );
    assert!(lists(&report, "all other tables", "7995"), "{}", to_text(&report));
}

/// Row 40.
#[test]
fn units_that_share_an_extent_are_sound_and_keep_their_pages() {
    let mut demo = Demo::small();
    let unit = |demo: &Demo, page: u32| demo.header(page).alloc_unit();
    let holds_rows = |demo: &Demo, page: u32| demo.header(page).page_type == 1;
    let shared = (8..demo.memory.pages()).step_by(8).find_map(|first| {
        let pages = || (first..first + 8).filter(|page| holds_rows(&demo, *page));
        // A user table's page: without one of the system's there may be no catalog.
        let one = pages().find(|page| unit(&demo, *page).0 >= 1 << 56)?;
        Some((one, pages().find(|page| unit(&demo, *page) != unit(&demo, one))?))
    });
    let (one, other) = shared.unwrap();
    assert_clean(&demo.memory.check());
    let header = demo.header(other);
    demo.memory.header(one, |own| {
        (own.index_id, own.object_id) = (header.index_id, header.object_id);
    });
    let found = errors(&demo.memory.check());
    assert!(
        found.contains(&2533),
        "a page in a shared extent has one owner all the same: {found:?}"
    );
}

/// Rows 24, 25 and 44.
#[test]
fn what_is_never_checked_is_listed() {
    let report = Demo::small().memory.check();
    for what in
        ["(2508)", "(8992)", "(8997)", "FILESTREAM", "(5228, 5229)", "columnstore", "(5260, 5282)"]
    {
        assert!(lists(&report, what, ""), "{what}: {}", to_text(&report));
    }
}

/// Row 53.
#[test]
fn garbage_in_a_page_that_its_table_owns_but_does_not_use_is_no_damage() {
    let mut demo = Demo::with_free_space();
    let leaf = *demo.path(demo.unit("sales", 1)).last().unwrap();
    let pfs = demo.memory.stored(1);
    let is_allocated = |page: u32| pfs[100 + page as usize] & 0x40 != 0;
    let unused = (8..demo.memory.pages().min(8_088)).find(|page| {
        let first = page / 8 * 8;
        !is_allocated(*page) && (first..first + 8).any(is_allocated)
    });
    assert!(unused.is_some_and(|page| page != leaf));
    demo.memory.raw(unused.unwrap(), |bytes| bytes.fill(0xa7));
    assert_clean(&demo.memory.check());
}
