//! Filegroups, partitions, fragmented trees, computed columns and filtered indexes.

use extentdb_base::FileId;
use extentdb_catalog::model::{AllocUnitKind, Catalog};

use super::audit::{Packing, audit_packing, index_values};
use super::*;

fn int(bytes: &Option<Vec<u8>>) -> i32 {
    i32::from_le_bytes(bytes.as_deref().unwrap().try_into().unwrap())
}

/// Files of the IAM pages and data of an index.
fn files_of(catalog: &Catalog, image: &Image, name: &str) -> Vec<FileId> {
    let index = catalog.tables.values().flat_map(|table| &table.indexes);
    let index = index.into_iter().find(|index| index.name.as_deref() == Some(name)).unwrap();
    let units = catalog.rowsets_of(index).flat_map(|rowset| &rowset.units);
    let mut files = Vec::new();
    for unit in units.filter(|unit| unit.kind == AllocUnitKind::InRow) {
        let mut iam = unit.first_iam;
        while !iam.is_none() {
            let mut page = extentdb_format::PageBuf::zeroed();
            image.raw(iam, &mut page);
            let view = extentdb_format::allocation::iam::IamView::new(&page);
            files.extend([iam.file, view.interval().file]);
            files.extend(view.single_pages().map(|page| page.file));
            iam = view.header().next();
        }
    }
    files.sort_unstable();
    files.dedup();
    files
}

#[test]
fn tables_and_single_indexes_lie_in_their_filegroup() {
    let table = int_table("t", 60_000, |n| (n * 7919 % 60_000) as i32)
        .clustered(IndexSpec::primary_key("PK_t", &["id"]))
        .index(IndexSpec::new("IX_home", &["value"]))
        .index(IndexSpec::new("IX_away", &["value"]).on("primary"))
        .on("DATA");
    let builder =
        DatabaseBuilder::new("groups").filegroup("DATA", 2).filegroup("EMPTY", 1).table(table);
    let (_folder, paths, _) = build(&builder, 5);
    let image = open(&paths);
    audit(&image);
    let catalog = Catalog::load(&image).unwrap();
    let groups: Vec<(u16, i32)> =
        catalog.files.iter().map(|file| (file.id.0, file.filegroup)).collect();
    assert_eq!(groups, [(1, 1), (2, 0), (3, 1), (4, 2), (5, 2), (6, 3)]);
    let names: Vec<&str> = catalog.filegroups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["PRIMARY", "DATA", "EMPTY"]);
    for (name, expected) in [("PK_t", &[4, 5][..]), ("IX_home", &[4, 5]), ("IX_away", &[1, 3])] {
        let files = files_of(&catalog, &image, name);
        assert!(files.iter().all(|file| expected.contains(&file.0)), "{name} {files:?}");
    }
    let error = builder.build(&[&paths[0].with_extension("x")], &mut |_| {}).unwrap_err();
    assert!(matches!(error, crate::Error::TooFewFiles { files: 1, least: 4 }));
}

fn partitioned(range_right: bool) -> DatabaseBuilder {
    let boundaries = |row: &mut RowValues| {
        row.int(100).int(500).int(2_000);
    };
    let function = if range_right {
        PartitionFunctionSpec::right("pf", SqlType::Int, boundaries)
    } else {
        PartitionFunctionSpec::left("pf", SqlType::Int, boundaries)
    };
    let value = |n: u64| (n * 7919 % 3_000) as i32;
    let clustered = int_table("c", 9_000, value)
        .clustered(IndexSpec::new("CX_c", &["value"]))
        .index(IndexSpec::new("IX_aligned", &["id"]))
        .index(IndexSpec::new("IX_single", &["id"]).on("PRIMARY"))
        .index(IndexSpec::new("IX_other", &["value"]).partitioned("ps", "id"))
        .partitioned("ps", "value");
    let heap = int_table("h", 4_000, value)
        .index(IndexSpec::new("UX_heap", &["value", "id"]).unique())
        .partitioned("ps", "value");
    DatabaseBuilder::new("parts")
        .filegroup("A", 1)
        .filegroup("B", 1)
        .partition_function(function)
        .partition_scheme("ps", "pf", &["PRIMARY", "A", "B", "A"])
        .table(clustered)
        .table(heap)
}

#[test]
fn partitioned_tables_and_indexes_are_sound_and_read_back() {
    for (range_right, rows) in
        [(true, [300, 1_200, 4_500, 3_000]), (false, [303, 1_200, 4_500, 2_997])]
    {
        let (_folder, paths, built) = build(&partitioned(range_right), 3);
        let image = open(&paths);
        let found = audit(&image);
        assert_eq!(built.tables[0].rows, 9_000);
        assert_eq!(found.tables[&built.tables[0].object].pages, built.tables[0].pages);
        let catalog = Catalog::load(&image).unwrap();
        let table = &catalog.tables[&built.tables[0].object];
        let base = table.base().unwrap();
        let counts: Vec<i64> = catalog.rowsets_of(base).map(|rowset| rowset.rows).collect();
        assert_eq!(counts, rows);
        let (function, column) = catalog.partition_function_of(base).unwrap();
        assert_eq!((function.range_right, function.partitions(), column), (range_right, 4, 2));
        assert!(function.is_known);
        let single = table.indexes.iter().find(|i| i.name.as_deref() == Some("IX_single")).unwrap();
        assert_eq!((single.rowsets.len(), catalog.partition_scheme_of(single)), (1, None));
    }
}

#[test]
fn a_date_range_and_a_null_are_partitioned() {
    let columns =
        vec![ColumnSpec::new("id", SqlType::Int), ColumnSpec::nullable("day", SqlType::DateTime)];
    let rows = FnRows::new(3_000, |number, row| {
        row.int(number as i32);
        match number % 10 {
            0 => row.null(),
            _ => row.datetime(40_000 + (number % 1_000) as i32, (number % 7) as u32),
        };
    });
    let function = PartitionFunctionSpec::right("by_day", SqlType::DateTime, |row| {
        row.datetime(40_100, 0).datetime(40_500, 3);
    });
    let table = TableSpec::heap("t", columns, rows)
        .clustered(IndexSpec::primary_key("PK_t", &["id", "day"]))
        .partitioned("days", "day");
    let builder = DatabaseBuilder::new("days").partition_function(function).partition_scheme(
        "days",
        "by_day",
        &["PRIMARY", "PRIMARY", "PRIMARY"],
    );
    let (_folder, paths, _) = build(&builder.table(table), 1);
    audit(&open(&paths));
}

#[test]
fn impossible_partitions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let try_build = |name: &str, builder: DatabaseBuilder| {
        let paths = [1, 2, 3].map(|n| folder.path().join(format!("{name}{n}")));
        let refs: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        builder.build(&refs, &mut |_| {}).unwrap_err()
    };
    let table = || int_table("x", 10, |n| n as i32).partitioned("ps", "value");
    let unique =
        partitioned(true).table(table().clustered(IndexSpec::primary_key("PK_x", &["id"])));
    assert!(matches!(try_build("a", unique), crate::Error::NotBuilt { .. }));
    let apart = partitioned(true).table(table().index(IndexSpec::new("IX_x", &["id"]).on("A")));
    assert!(matches!(try_build("b", apart), crate::Error::NotBuilt { .. }));
    let nowhere = partitioned(true).table(int_table("x", 10, |n| n as i32).on("Z"));
    assert!(matches!(try_build("c", nowhere), crate::Error::NoDataSpace { .. }));
    let short = partitioned(true).partition_scheme("ps2", "pf", &["PRIMARY"]);
    let short = short.table(int_table("x", 10, |n| n as i32).partitioned("ps2", "value"));
    assert!(matches!(try_build("d", short), crate::Error::BadScheme { .. }));
}

struct Purged;

impl Rows for Purged {
    fn count(&self) -> u64 {
        40_000
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        row.int((number * 7919 % 40_000) as i32).int((number % 977) as i32);
        row.text(&format!("{:0>60}", number * 31 % 40_000));
    }

    fn is_deleted(&self, number: u64) -> bool {
        // Single rows, and runs longer than a page: whole pages go, and one page of the level
        // above.
        number % 5 == 2 || (number * 7919 % 40_000) % 10_000 < 2_500
    }
}

#[test]
fn fragmented_trees_have_pages_in_random_order_and_separators_below_their_first_keys() {
    let collation = Collation(DatabaseBuilder::new("x").collation());
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("kind", SqlType::Int),
        ColumnSpec::new("text", SqlType::VarChar { len: Some(60), collation }),
    ];
    let table = TableSpec::heap("t", columns, Purged)
        .clustered(IndexSpec::primary_key("PK_t", &["id"]).fragmented())
        .index(IndexSpec::new("IX_kind", &["kind"]).fragmented())
        .index(IndexSpec::new("IX_text", &["text"]).fragmented());
    let (_folder, paths, built) = build(&DatabaseBuilder::new("scattered").seed(4).table(table), 2);
    let image = open(&paths);
    let live = (0..40_000).filter(|number| !Purged.is_deleted(*number)).count() as u64;
    assert_eq!(built.tables[0].rows, live);
    let found = audit_packing(&image, Packing::Loose);
    assert_eq!(found.tables[&built.tables[0].object].rows, live);
    assert!(found.deepest_tree >= 3, "{} levels", found.deepest_tree);
    assert_eq!(found.jumps_of_ten, 9, "hardly any page is followed by its physical neighbour");
    let strict = std::panic::catch_unwind(|| audit(&open(&paths)));
    assert!(strict.is_err(), "no separator is lower than its first key");
}

#[test]
fn a_fragmented_tree_without_live_rows_has_no_pages() {
    struct Gone;
    impl Rows for Gone {
        fn count(&self) -> u64 {
            500
        }
        fn row(&self, number: u64, row: &mut RowValues) {
            row.int(number as i32).int(1);
        }
        fn is_deleted(&self, _number: u64) -> bool {
            true
        }
    }
    let columns =
        vec![ColumnSpec::new("id", SqlType::Int), ColumnSpec::nullable("value", SqlType::Int)];
    let table = TableSpec::heap("t", columns, Gone)
        .clustered(IndexSpec::primary_key("PK_t", &["id"]).fragmented())
        .index(IndexSpec::new("IX_t", &["value"]).fragmented());
    let (_folder, paths, built) = build(&DatabaseBuilder::new("gone").table(table), 1);
    audit(&open(&paths));
    assert_eq!((built.tables[0].rows, built.tables[0].pages), (0, 0));
}

/// The values of a column that is only in its index, and the rows a filter lets in, are those of
/// the generator.
#[test]
fn computed_columns_and_filtered_indexes_hold_generated_values() {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::computed("twice", SqlType::Int, "([id]*(2))"),
        ColumnSpec::new("kind", SqlType::Int),
        ColumnSpec::computed("thrice", SqlType::Int, "([id]*(3))").persisted(),
    ];
    let rows = FnRows::new(5_000, |number, row| {
        let id = (number * 7919 % 5_000) as i32;
        row.int(id).int(id * 2).int(id % 7).int(id * 3);
    });
    let table = TableSpec::heap("t", columns, rows)
        .clustered(IndexSpec::primary_key("PK_t", &["id"]))
        .index(IndexSpec::new("IX_twice", &["twice"]).include(&["thrice"]))
        .index(
            IndexSpec::new("IX_kind", &["kind"])
                .filter("([kind]=(3))", |_, row| row.cell(2) == Cell::Bytes(&3i32.to_le_bytes())),
        );
    let (_folder, paths, _) = build(&DatabaseBuilder::new("computed").table(table), 1);
    let image = open(&paths);
    audit(&image);
    let entries = index_values(&image, "IX_twice");
    assert_eq!(entries.len(), 5_000);
    for (at, entry) in (0..).zip(entries) {
        assert_eq!((int(&entry[0]), int(&entry[1]), int(&entry[2])), (2 * at, 3 * at, at));
    }
    let filtered: Vec<i32> =
        index_values(&image, "IX_kind").iter().map(|entry| int(&entry[1])).collect();
    assert_eq!(filtered, (0..5_000).filter(|id| id % 7 == 3).collect::<Vec<_>>());
    let catalog = Catalog::load(&image).unwrap();
    let table = catalog.user_tables()[0];
    let computed: Vec<_> =
        table.columns.iter().map(|c| (c.computed.as_deref(), c.persisted)).collect();
    let expected =
        [(None, false), (Some("([id]*(2))"), false), (None, false), (Some("([id]*(3))"), true)];
    assert_eq!(computed, expected);
    assert_eq!(table.indexes[2].filter.as_deref(), Some("([kind]=(3))"));
    assert_eq!(table.indexes[1].filter, None);
}

#[test]
fn units_span_all_intervals_filled_at_the_same_time() {
    let table = int_table("t", 60_000, |n| (n * 7919 % 60_000) as i32)
        .clustered(IndexSpec::primary_key("PK_t", &["id"]))
        .index(IndexSpec::new("IX_t", &["value"]));
    let (_folder, paths, built) = build(&DatabaseBuilder::new("far").intervals(3).table(table), 1);
    assert!(built.file_bytes[0] > 2 * 511_232 * 8_192, "more than two intervals of 4 GB");
    let found = audit(&open(&paths));
    assert_eq!(found.longest_iam_chain, 3);
}
