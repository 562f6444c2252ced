//! Trees (`docs/check.md` 6): keys, separators, links and levels. Rows of the corruption catalog E
//! by their numbers, and the negative controls N2, N3 and N6, on built databases in memory.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::Path;

use extentdb_base::PageId;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_catalog::Catalog;
use extentdb_catalog::model::{AllocUnit, AllocUnitKind, Index};
use extentdb_check::{Finding, Options, Report, Verdict};
use extentdb_format::PageBytes;
use extentdb_format::page::{PageHeader, PageMut, PageRef, PageType, checksum};
use extentdb_format::record::Record;
use extentdb_reader::CheckedPages;
use extentdb_report::to_text;
use extentdb_template::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, TableSpec};
use extentdb_types::{Collation, SqlType};
use support::{Memory, offset};

/// Rows that lose their match in another index are reported by other checks.
const OF_OTHER_CHECKS: [u32; 4] = [8951, 8952, 8955, 8956];

struct Trees {
    memory: Memory,
    catalog: Catalog,
}

/// Where a tree is and how its keys lie.
#[derive(Clone)]
struct Tree {
    unit: AllocUnit,
    /// First byte of the first key column in leaf and upper records.
    key_at: [usize; 2],
}

impl Trees {
    /// `ci`: three levels, unique clustered; `ix` and `ux` on it. `cn`: not unique. `down`:
    /// descending. `guid`: clustered by a GUID. `name`: clustered by a text that ignores case.
    fn new() -> Trees {
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        let text = SqlType::NVarChar { len: Some(80), collation };
        let wide = SqlType::Binary { len: 120 };
        let columns = |ty| {
            vec![
                ColumnSpec::new("id", SqlType::Int),
                ColumnSpec::new("tag", ty),
                ColumnSpec::new("pad", wide),
            ]
        };
        let ci = FnRows::new(9_000, |n, row| {
            row.int(10 * n as i32 + 5)
                .raw(&[n as u8; 120])
                .raw(&[n as u8; 120])
                .int(90_000 - 7 * n as i32);
        });
        let mut ci_columns = columns(wide);
        ci_columns.push(ColumnSpec::new("other", SqlType::Int));
        let cn = FnRows::new(6_000, |n, row| {
            row.int(n as i32 / 7).raw(&[n as u8; 120]).raw(&[1; 120]);
        });
        let down = FnRows::new(4_000, |n, row| {
            row.int(3 * n as i32).raw(&[n as u8; 120]).raw(&[2; 120]);
        });
        let guid = FnRows::new(6_000, |n, row| {
            let mut rng = SplitMix64::new(n);
            let halves = [rng.next_u64().to_le_bytes(), rng.next_u64().to_le_bytes()].concat();
            row.int(n as i32).raw(&halves).raw(&[3; 120]);
        });
        let name = FnRows::new(5_000, |n, row| {
            let blanks = if n % 3 == 0 { "  " } else { "" };
            let value: String = format!("Name{}{blanks}", letters(n));
            let value: Vec<u8> = value.encode_utf16().flat_map(u16::to_le_bytes).collect();
            row.int(n as i32).raw(&value).raw(&[4; 120]);
        });
        let tables = [
            TableSpec::heap("ci", ci_columns, ci)
                .clustered(IndexSpec::primary_key("PK_ci", &["id", "tag"]))
                .index(IndexSpec::new("ix", &["tag"]).include(&["other"]))
                .index(IndexSpec::new("ux", &["other"]).unique()),
            TableSpec::heap("cn", columns(wide), cn).clustered(IndexSpec::new("cn_id", &["id"])),
            TableSpec::heap("down", columns(wide), down)
                .clustered(IndexSpec::new("down_id", &["id"]).descending("id")),
            TableSpec::heap("guid", columns(SqlType::UniqueIdentifier), guid)
                .clustered(IndexSpec::primary_key("PK_guid", &["tag"])),
            TableSpec::heap("name", columns(text), name)
                .clustered(IndexSpec::primary_key("PK_name", &["tag"])),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trees.mdf");
        let builder = tables
            .into_iter()
            .fold(DatabaseBuilder::new("trees").bytes(16 << 20), DatabaseBuilder::table);
        builder.build(&[Path::new(&path)], &mut |_| {}).unwrap();
        let memory = Memory::new(std::fs::read(path).unwrap());
        let catalog = Catalog::load(&CheckedPages::new(&memory)).unwrap();
        Trees { memory, catalog }
    }

    fn index(&self, table: &str, index: i32) -> &Index {
        let table = self.catalog.tables.values().find(|it| it.name == table).unwrap();
        table.indexes.iter().find(|it| it.id.0 == index).unwrap()
    }

    fn tree(&self, table: &str, index: i32) -> Tree {
        let rowset = &self.catalog.rowsets[&self.index(table, index).rowsets[0]];
        let key = rowset.layout.key()[0].clone();
        let key_at = [key.leaf.offset, key.interior.offset]
            .map(|offset| usize::try_from(offset).unwrap_or(0));
        Tree {
            unit: rowset.unit(AllocUnitKind::InRow).unwrap().clone(),
            key_at,
        }
    }
}

/// A number as letters, so that neighbours differ early or late.
fn letters(mut n: u64) -> String {
    let mut text = String::new();
    for _ in 0..4 {
        text.push(char::from(b'a' + (n % 11) as u8));
        n /= 11;
    }
    text
}

fn is_leaf(page: &PageBytes) -> bool {
    let header = PageHeader::of(page);
    header.kind() == PageType::Data || header.level == 0
}

/// The pages of each level, left to right, root first.
fn levels(memory: &Memory, tree: &Tree) -> Vec<Vec<u32>> {
    let mut levels = vec![vec![tree.unit.root.page]];
    loop {
        let above = levels.last().unwrap();
        if is_leaf(&memory.stored(above[0])) {
            return levels;
        }
        levels.push(above.iter().flat_map(|page| children(memory, *page)).collect());
    }
}

fn children(memory: &Memory, page: u32) -> Vec<u32> {
    let stored = memory.stored(page);
    let view = PageRef::new(&stored);
    let pminlen = view.header().fixed_len.get();
    view.records()
        .map(|(_, bytes)| Record::parse_index(bytes, pminlen).child().unwrap().page)
        .collect()
}

fn set_child(memory: &mut Memory, page: u32, slot: u16, child: u32) {
    memory.edit(page, |bytes| {
        let at = offset(bytes, slot) + usize::from(PageHeader::of(bytes).fixed_len.get())
            - PageId::BYTES;
        bytes[at..at + 6].copy_from_slice(&PageId::new(1, child).to_bytes());
    });
}

fn int_at(memory: &Memory, page: u32, slot: u16, at: usize) -> i32 {
    let stored = memory.stored(page);
    let start = offset(&stored, slot) + at;
    i32::from_le_bytes(stored[start..start + 4].try_into().unwrap())
}

fn set_int(memory: &mut Memory, page: u32, slot: u16, at: usize, value: i32) {
    memory.edit(page, |bytes| {
        let start = offset(bytes, slot) + at;
        bytes[start..start + 4].copy_from_slice(&value.to_le_bytes());
    });
}

fn slots(memory: &Memory, page: u32) -> u16 {
    PageRef::new(&memory.stored(page)).slot_count()
}

fn swap_slots(memory: &mut Memory, page: u32, slot: u16) {
    memory.edit(page, |bytes| {
        let first = offset(bytes, slot) as u16;
        let second = offset(bytes, slot + 1) as u16;
        let mut page = PageMut::new(bytes);
        page.set_slot_offset(slot, second);
        page.set_slot_offset(slot + 1, first);
    });
}

/// Every finding is about the numbers, in every way a check can be run, and every way says the
/// same.
#[track_caller]
fn expect(memory: &Memory, row: u32, expected: &[u32], permitted: &[u32]) -> Vec<Finding> {
    let report = memory.check();
    let found: BTreeSet<u32> = report.findings.iter().map(|it| it.error).collect();
    let expected: BTreeSet<u32> = expected.iter().copied().collect();
    let allowed = expected.iter().chain(permitted).chain(&OF_OTHER_CHECKS).copied().collect();
    let text = || {
        report.findings.iter().take(20).map(|it| it.message.clone()).collect::<Vec<_>>().join("\n")
    };
    assert!(
        found.is_superset(&expected),
        "row {row}: {expected:?} not all in {found:?}\n{}",
        text()
    );
    assert!(found.is_subset(&allowed), "row {row}: {found:?} is more than {allowed:?}\n{}", text());
    let ways = [
        Options { force_rescan: true, ..Options::default() },
        Options {
            run_budget: 0,
            chunk_pages: 24,
            jobs: NonZeroUsize::new(7),
            ..Options::default()
        },
        Options {
            run_budget: 3000,
            chunk_pages: 8,
            jobs: NonZeroUsize::new(2),
            ..Options::default()
        },
    ];
    for options in ways {
        assert_eq!(
            memory.check_with(&options).findings,
            report.findings,
            "row {row}: {options:?}\n{}",
            text()
        );
    }
    let physical = Options { physical_only: true, ..Options::default() };
    let physical: Vec<Finding> = memory.check_with(&physical).findings;
    let of_trees: Vec<Finding> =
        report.findings.iter().filter(|it| !OF_OTHER_CHECKS.contains(&it.error)).cloned().collect();
    assert_eq!(physical, of_trees, "row {row}: the order of keys is physical");
    report.findings
}

#[test]
fn the_databases_are_sound() {
    let trees = Trees::new();
    for table in ["ci", "cn", "down", "guid", "name"] {
        assert!(
            levels(&trees.memory, &trees.tree(table, 1)).len() >= 3 || table != "ci",
            "{table}"
        );
    }
    let report = trees.memory.check();
    assert_eq!(report.findings, [], "{}", to_text(&report));
    assert_eq!(report.verdict, Verdict::Clean);
    assert!(!to_text(&report).contains("order of keys"), "{}", to_text(&report));
}

#[test]
fn rows_52_54_and_68_to_73_keys_of_rows() {
    let trees = Trees::new();
    let ci = trees.tree("ci", 1);
    let ix = trees.tree("ci", 2);
    let ux = trees.tree("ci", 3);
    let leaves = levels(&trees.memory, &ci).pop().unwrap();
    let leaf = leaves[leaves.len() / 2];
    let next = leaves[leaves.len() / 2 + 1];
    let last = slots(&trees.memory, leaf) - 1;
    let key = |slot| int_at(&trees.memory, leaf, slot, ci.key_at[0]);
    let with = |change: &dyn Fn(&mut Memory)| {
        let mut memory = trees.memory.clone();
        change(&mut memory);
        memory
    };
    let at = |page: u32, findings: &[Finding]| {
        let page = Some(PageId::new(1, page));
        assert!(
            findings
                .iter()
                .filter(|it| !OF_OTHER_CHECKS.contains(&it.error))
                .all(|it| it.location.page == page)
        );
    };

    let found = expect(&with(&|memory| swap_slots(memory, leaf, 2)), 52, &[2511], &[]);
    at(leaf, &found);
    assert!(found[0].message.ends_with("slots 2 and 3."), "{}", found[0].message);
    let index_leaf = levels(&trees.memory, &ix).pop().unwrap()[3];
    let found = expect(&with(&|memory| swap_slots(memory, index_leaf, 1)), 54, &[2511], &[]);
    assert_eq!(found[0].location.owner.unwrap().index.0, 2);

    let raised = with(&|memory| set_int(memory, leaf, 2, ci.key_at[0], key(3) + 1));
    at(leaf, &expect(&raised, 68, &[2511], &[]));
    let first_of_next = int_at(&trees.memory, next, 0, ci.key_at[0]);
    let raised = with(&|memory| set_int(memory, leaf, last, ci.key_at[0], first_of_next + 1));
    let found = expect(&raised, 69, &[8934], &[]);
    at(leaf, &found);
    assert!(found[0].related.contains(&PageId::new(1, next)));
    let lowered = with(&|memory| set_int(memory, leaf, 0, ci.key_at[0], key(0) - 1));
    at(leaf, &expect(&lowered, 70, &[8933], &[]));

    let unique_leaf = levels(&trees.memory, &ux).pop().unwrap()[2];
    let copied = int_at(&trees.memory, unique_leaf, 4, ux.key_at[0]);
    let doubled = with(&|memory| set_int(memory, unique_leaf, 5, ux.key_at[0], copied));
    let found = expect(&doubled, 71, &[2512], &[]);
    let both = format!("page (1:{unique_leaf}) slot 4 and page (1:{unique_leaf}) slot 5");
    assert!(found.iter().any(|it| it.error == 2512 && it.message.contains(&both)));

    // The next page's first row, or its key, at the end of this page.
    let same = with(&|memory| {
        let other = memory.stored(next);
        let from = offset(&other, 0);
        memory.edit(leaf, |bytes| {
            let to = offset(bytes, last);
            bytes[to + 4..to + 128].copy_from_slice(&other[from + 4..from + 128]);
        });
    });
    at(leaf, &expect(&same, 73, &[8934], &[2512]));
}

#[test]
fn row_72_a_uniquifier_that_two_rows_share() {
    let trees = Trees::new();
    let cn = trees.tree("cn", 1);
    let leaf = levels(&trees.memory, &cn).pop().unwrap()[9];
    let stored = trees.memory.stored(leaf);
    // Two rows of one key after its first row, whose uniquifier is not stored.
    let value = |slot| int_at(&trees.memory, leaf, slot, cn.key_at[0]);
    let slot = (1..)
        .find(|slot| value(slot - 1) == value(*slot) && value(*slot) == value(slot + 1))
        .unwrap();
    let uniquifier = |bytes: &PageBytes, slot| {
        let start = offset(bytes, slot);
        let row = Record::parse_data(&bytes[start..]);
        let value = row.var(0).unwrap();
        (start + row.len() - value.bytes.len(), value.bytes.to_vec())
    };
    let (_, own) = uniquifier(&stored, slot);
    assert_eq!(own.len(), 4);
    let mut memory = trees.memory.clone();
    memory.edit(leaf, |bytes| {
        let (at, _) = uniquifier(bytes, slot + 1);
        bytes[at..at + 4].copy_from_slice(&own);
    });
    expect(&memory, 72, &[2512], &[]);
}

#[test]
fn rows_74_to_76_separators() {
    let trees = Trees::new();
    let ci = trees.tree("ci", 1);
    let all = levels(&trees.memory, &ci);
    let upper = all[all.len() - 2].clone();
    let page = upper[upper.len() / 2];
    let below = children(&trees.memory, page);
    let at = ci.key_at[1];
    let set = |page: u32, slot: u16, by: i32| {
        let mut memory = trees.memory.clone();
        let value = int_at(&memory, page, slot, at);
        set_int(&mut memory, page, slot, at, value + by);
        memory
    };
    let found = expect(&set(page, 4, 1), 74, &[8933], &[]);
    assert_eq!((found.len(), found[0].location.page), (1, Some(PageId::new(1, below[4]))));
    assert!(
        found[0].message.ends_with(&format!("the parent (1:{page}) slot 4.")),
        "{}",
        found[0].message
    );
    let found = expect(&set(page, 4, -11), 75, &[8934], &[]);
    assert_eq!((found.len(), found[0].location.page), (1, Some(PageId::new(1, below[3]))));
    let expected = format!("in the parent (1:{page}), slot 4 of the next page (1:{}).", below[4]);
    assert!(found[0].message.ends_with(&expected), "{}", found[0].message);
    // Between the last key on the left and the first on the right: a row was deleted, or the like.
    expect(&set(page, 4, -3), 75, &[], &[]);

    // The first key of the leftmost page of a level means nothing, wherever it is.
    for level in &all[..all.len() - 1] {
        for by in [-1_000_000, 1_000_000] {
            expect(&set(level[0], 0, by), 76, &[], &[]);
        }
    }
    // That of another page is compared with the page above.
    expect(&set(page, 0, -1_000_000), 74, &[8933], &[]);
    expect(&set(page, 0, 1_000_000), 74, &[2511], &[]);
    // A separator of the root, after the last key of the leaf that is left of it, two levels below.
    let root = all[0][0];
    let found = expect(&set(root, 2, -11), 75, &[8934], &[]);
    let left = children(&trees.memory, *children(&trees.memory, root)[1..2].first().unwrap());
    assert_eq!(found[0].location.page, Some(PageId::new(1, *left.last().unwrap())));
    expect(&set(root, 2, 1), 74, &[8933], &[]);
}

#[test]
fn a_descending_index_is_checked_in_its_own_direction() {
    let trees = Trees::new();
    let down = trees.tree("down", 1);
    let leaves = levels(&trees.memory, &down).pop().unwrap();
    let mut memory = trees.memory.clone();
    let value = int_at(&memory, leaves[3], 2, down.key_at[0]);
    set_int(&mut memory, leaves[3], 2, down.key_at[0], value - 4);
    expect(&memory, 68, &[2511], &[]);
    let mut memory = trees.memory.clone();
    let last = slots(&memory, leaves[3]) - 1;
    let next = int_at(&memory, leaves[4], 0, down.key_at[0]);
    set_int(&mut memory, leaves[3], last, down.key_at[0], next - 1);
    expect(&memory, 69, &[8934], &[]);
}

/// A tree of two levels above more leaves than a sketch needs, and pages of it.
struct Sketched {
    trees: Trees,
    root: u32,
    upper: u32,
    /// Children of `upper`.
    below: Vec<u32>,
    leaves: Vec<u32>,
    leaf: u32,
}

impl Sketched {
    fn new() -> Sketched {
        let trees = Trees::new();
        let all = levels(&trees.memory, &trees.tree("ci", 1));
        let leaves = all.last().unwrap().clone();
        assert!(leaves.len() > 200, "enough for a sketch");
        let upper = all[all.len() - 2][1];
        Sketched {
            root: all[0][0],
            upper,
            below: children(&trees.memory, upper),
            leaf: leaves[leaves.len() / 2],
            leaves,
            trees,
        }
    }

    fn changed(&self, change: impl FnOnce(&mut Memory)) -> Memory {
        let mut memory = self.trees.memory.clone();
        change(&mut memory);
        memory
    }
}

/// A link as page headers have it; 0 for none.
fn link(page: u32) -> [u8; 6] {
    if page == 0 { [0; 6] } else { PageId::new(1, page).to_bytes() }
}

#[test]
fn sketch_and_full_read_find_the_same_unreadable_pages_and_levels() {
    let tree = Sketched::new();
    let bad = |page: u32| tree.changed(|memory| memory.raw(page, |bytes| bytes[200] ^= 1));
    let level = |page: u32, level: u8| {
        tree.changed(|memory| memory.header(page, |header| header.level = level))
    };
    expect(&bad(tree.leaf), 1, &[8928, 8939, 8976, 8978], &[]);
    expect(&bad(tree.upper), 4, &[8928, 8939, 8976, 8977, 8978], &[]);
    expect(&bad(tree.root), 5, &[8928, 8939, 8977], &[8979]);
    expect(&level(tree.leaf, 1), 24, &[8931, 2531], &[]);
    expect(&level(tree.upper, 2), 25, &[8931, 2531], &[]);
}

#[test]
fn sketch_and_full_read_find_the_same_links() {
    let tree = Sketched::new();
    let leaf = tree.leaf;
    let far = tree.leaves[tree.leaves.len() / 4];
    let other = levels(&tree.trees.memory, &tree.trees.tree("ci", 2)).pop().unwrap()[1];
    let free = tree.trees.memory.pages() - 3;
    let prev =
        |to: u32| tree.changed(|memory| memory.header(leaf, |header| header.prev_bytes = link(to)));
    let next =
        |to: u32| tree.changed(|memory| memory.header(leaf, |header| header.next_bytes = link(to)));
    expect(&prev(0), 30, &[8936, 8935], &[]);
    expect(&prev(far), 31, &[8935, 8936, 8978], &[]);
    expect(&next(0), 32, &[8978], &[]);
    expect(&next(far), 33, &[8936, 8978], &[]);
    expect(&next(other), 34, &[8982, 8978], &[]);
    expect(&next(free), 35, &[8981, 8978], &[]);
    expect(&next(5_000_000), 36, &[8981, 8978], &[]);
}

#[test]
fn sketch_and_full_read_find_the_same_child_pointers() {
    let tree = Sketched::new();
    let Sketched { upper, below, .. } = &tree;
    let free = tree.trees.memory.pages() - 3;
    let twice = tree.changed(|memory| set_child(memory, *upper, 4, below[5]));
    expect(&twice, 77, &[8937, 8977], &[8935]);
    let unused = tree.changed(|memory| set_child(memory, *upper, 4, free));
    expect(&unused, 79, &[8977], &[8976, 8980]);
    let exchanged = tree.changed(|memory| {
        set_child(memory, *upper, 4, below[5]);
        set_child(memory, *upper, 5, below[4]);
    });
    expect(&exchanged, 80, &[8935, 8933, 8934], &[]);
    let empty = tree.changed(|memory| {
        memory.edit(*upper, |bytes| {
            let header = PageHeader::of_mut(bytes);
            header.slot_count.set(0);
            header.free_bytes.set(8096);
            header.free_offset.set(96);
        });
    });
    expect(&empty, 81, &[2574, 8977], &[]);
}

/// A level whose ends meet, and a ring beside the chain.
#[test]
fn sketch_and_full_read_find_the_same_rings() {
    let tree = Sketched::new();
    let Sketched { below, leaves, .. } = &tree;
    let first = leaves[0];
    let end = leaves[leaves.len() - 1];
    let ring = tree.changed(|memory| {
        memory.header(first, |header| header.prev_bytes = link(end));
        memory.header(end, |header| header.next_bytes = link(first));
    });
    expect(&ring, 37, &[8935], &[]);
    let ring = tree.changed(|memory| {
        let first = below[0];
        let last = below[below.len() - 1];
        let at = |page: u32| leaves.iter().position(|leaf| *leaf == page).unwrap();
        let before = leaves[at(first) - 1];
        let after = leaves[at(last) + 1];
        memory.header(first, |header| header.prev_bytes = link(last));
        memory.header(last, |header| header.next_bytes = link(first));
        memory.header(before, |header| header.next_bytes = link(after));
        memory.header(after, |header| header.prev_bytes = link(before));
    });
    expect(&ring, 37, &[8935], &[]);
}

/// N2: separators stay when the first rows of pages go.
#[test]
fn n2_first_rows_of_many_pages_are_deleted() {
    let trees = Trees::new();
    let guid = trees.tree("guid", 1);
    let leaves = levels(&trees.memory, &guid).pop().unwrap();
    let mut memory = trees.memory.clone();
    for leaf in leaves.iter().step_by(2) {
        memory.edit(*leaf, remove_first_row);
    }
    expect(&memory, 2, &[], &[]);
    // And of a few pages of an index with a sketch.
    let mut memory = trees.memory.clone();
    for leaf in [leaves[3], leaves[4], leaves[90]] {
        memory.edit(leaf, remove_first_row);
    }
    expect(&memory, 2, &[], &[]);
    let last = slots(&memory, leaves[3]) - 1;
    memory.edit(leaves[3], |bytes| {
        let at = offset(bytes, last) + guid.key_at[0];
        bytes[at..at + 16].fill(0xff);
    });
    expect(&memory, 69, &[8934], &[]);
}

fn remove_first_row(bytes: &mut PageBytes) {
    let view = PageRef::new(bytes);
    let count = view.slot_count();
    let offsets: Vec<u16> = view.slot_offsets().collect();
    let len = Record::parse_data(&bytes[usize::from(offsets[0])..]).len();
    for (slot, offset) in (0..).zip(&offsets[1..]) {
        PageMut::new(bytes).set_slot_offset(slot, *offset);
    }
    let header = PageHeader::of_mut(bytes);
    header.slot_count.set(count - 1);
    header.free_bytes.set(header.free_bytes.get() + len as u16 + 2);
}

/// Puts the leaves of a tree into other pages of its own, at random: as inserts in no order leave
/// it.
fn shuffle(memory: &mut Memory, tree: &Tree, seed: u64) {
    let all = levels(memory, tree);
    let leaves = all.last().unwrap().clone();
    let mut places = leaves.clone();
    let mut rng = SplitMix64::new(seed);
    for i in (1..places.len()).rev() {
        places.swap(i, rng.below(i as u64 + 1) as usize);
    }
    let to: BTreeMap<u32, u32> = leaves.iter().copied().zip(places).collect();
    let moved = |page: PageId| to.get(&page.page).map_or(page, |to| PageId::new(1, *to));
    let images: Vec<_> = leaves.iter().map(|page| memory.stored(*page)).collect();
    for (page, mut image) in leaves.iter().zip(images) {
        let header = PageHeader::of_mut(&mut image);
        header.page_id_bytes = PageId::new(1, to[page]).to_bytes();
        (header.prev_bytes, header.next_bytes) =
            (moved(header.prev()).to_bytes(), moved(header.next()).to_bytes());
        checksum::seal(&mut image);
        memory.raw(to[page], |bytes| bytes.copy_from_slice(&image[..]));
    }
    for page in &all[all.len() - 2] {
        for (slot, child) in (0..).zip(children(memory, *page)) {
            set_child(memory, *page, slot, to[&child]);
        }
    }
}

/// N3: more runs than the budget holds; all leaves are compared in a pass of their own.
#[test]
fn n3_a_fragmented_index_larger_than_the_budget() {
    let trees = Trees::new();
    let guid = trees.tree("guid", 1);
    let mut memory = trees.memory.clone();
    shuffle(&mut memory, &guid, 5);
    let leaves = levels(&memory, &guid).pop().unwrap();
    let neighbours = leaves.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
    assert!(neighbours * 10 < leaves.len(), "fragmented");
    // `expect` runs it with budgets of nothing and of forty runs.
    expect(&memory, 3, &[], &[]);
    let leaf = leaves[70];
    let last = slots(&memory, leaves[70]) - 1;
    let mut raised = memory.clone();
    raised.edit(leaf, |bytes| {
        let at = offset(bytes, last) + guid.key_at[0];
        bytes[at..at + 16].fill(0xff);
    });
    let found = expect(&raised, 69, &[8934], &[]);
    assert_eq!(found[0].location.page, Some(PageId::new(1, leaf)));
}

/// N6: rows that an update changed in case only, and blanks at the end.
#[test]
fn n6_case_and_blanks_are_no_disorder() {
    let trees = Trees::new();
    let name = trees.tree("name", 1);
    let leaves = levels(&trees.memory, &name).pop().unwrap();
    let mut memory = trees.memory.clone();
    for leaf in leaves.iter().step_by(3) {
        memory.edit(*leaf, |bytes| {
            let start = offset(bytes, 0);
            let row = Record::parse_data(&bytes[start..]);
            let at = start + row.len() - row.var(0).unwrap().bytes.len();
            assert_eq!(bytes[at], b'N');
            for letter in [at, at + 2, at + 4, at + 10] {
                bytes[letter] ^= 0x20;
            }
        });
    }
    expect(&memory, 6, &[], &[]);
    let report = memory.check();
    assert!(!to_text(&report).contains("order of keys"), "{}", to_text(&report));
}

/// What is wrong with the keys of a text is found, too.
#[test]
fn a_text_out_of_order_is_found() {
    let trees = Trees::new();
    let name = trees.tree("name", 1);
    let leaves = levels(&trees.memory, &name).pop().unwrap();
    let mut memory = trees.memory.clone();
    memory.edit(leaves[5], |bytes| {
        let start = offset(bytes, 3);
        let row = Record::parse_data(&bytes[start..]);
        let at = start + row.len() - row.var(0).unwrap().bytes.len();
        bytes[at] = b'Z';
    });
    expect(&memory, 68, &[2511], &[]);
}

#[test]
fn the_report_does_not_depend_on_threads_or_chunks() {
    let trees = Trees::new();
    let ci = trees.tree("ci", 1);
    let guid = trees.tree("guid", 1);
    let mut memory = trees.memory.clone();
    shuffle(&mut memory, &guid, 9);
    let mut rng = SplitMix64::new(17);
    let leaves = levels(&memory, &ci).pop().unwrap();
    let guids = levels(&memory, &guid).pop().unwrap();
    for _ in 0..6 {
        let leaf = leaves[1 + rng.below(leaves.len() as u64 - 2) as usize];
        match rng.below(4) {
            0 => set_int(&mut memory, leaf, 1, ci.key_at[0], rng.below(90_000) as i32),
            1 => memory.header(leaf, |header| header.next_bytes = [0; 6]),
            2 => memory.raw(leaf, |bytes| bytes[300] ^= 4),
            _ => memory.edit(leaf, remove_first_row),
        }
        let leaf = guids[rng.below(guids.len() as u64) as usize];
        memory.edit(leaf, |bytes| {
            let at = offset(bytes, 0) + guid.key_at[0];
            bytes[at..at + 16].fill(rng.below(256) as u8);
        });
    }
    let whole = memory.check();
    assert!(whole.findings.len() > 6, "{}", to_text(&whole));
    for jobs in [1, 2, 7, 64] {
        for budget in [0, 2_000, 1 << 20] {
            let options = Options {
                jobs: NonZeroUsize::new(jobs),
                chunk_pages: 1 + rng.below(120) as u32,
                run_budget: budget,
                force_rescan: rng.below(2) == 0,
                ..Options::default()
            };
            assert_eq!(
                comparable(memory.check_with(&options)),
                comparable(whole.clone()),
                "{options:?}"
            );
        }
    }
}

fn comparable(mut report: Report) -> Report {
    report.elapsed = std::time::Duration::ZERO;
    report.bytes = 0;
    report
}
