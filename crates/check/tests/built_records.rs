//! Record-level structures: what the builder writes, the reader reads back value by value and the
//! check finds sound.

mod built;

use built::prove;
use extentdb_base::PageId;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_catalog::layout::Compression;
use extentdb_catalog::model::{AllocUnitKind, Catalog};
use extentdb_catalog::table::DEFAULT_COLLATION;
use extentdb_format::PageBuf;
use extentdb_format::page::{PageRef, PageType};
use extentdb_format::record::compressed::CiView;
use extentdb_format::record::{Record, RecordKind};
use extentdb_reader::Database;
use extentdb_template::{
    ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, LobStream, RowValues, TableSpec,
};
use extentdb_template::{MakeOptions, Size};
use extentdb_types::{Collation, SqlType};

const COLLATION: Collation = Collation(DEFAULT_COLLATION);

fn varchar(len: u16) -> SqlType {
    SqlType::VarChar { len: Some(len), collation: COLLATION }
}

fn nvarchar(characters: u16) -> SqlType {
    SqlType::NVarChar { len: Some(2 * characters), collation: COLLATION }
}

fn varchar_max() -> SqlType {
    SqlType::VarChar { len: None, collation: COLLATION }
}

/// Bytes that differ from place to place.
fn pattern(seed: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| b'a' + ((at * 7 + seed + at / 251) % 26) as u8).collect()
}

/// All pages of the database, by number.
fn pages(database: &Database) -> Vec<PageBuf> {
    use extentdb_catalog::PageGetter;
    let pages = database.pages();
    let count = pages.page_count(extentdb_base::FileId(1));
    (0..count)
        .map(|page| {
            let mut buf = PageBuf::zeroed();
            pages.page(PageId::new(1, page), &mut buf).unwrap();
            buf
        })
        .collect()
}

/// The pages of a table's unit that hold records.
fn pages_of(
    database: &Database,
    catalog: &Catalog,
    table: &str,
    index: i32,
    kind: AllocUnitKind,
) -> Vec<PageBuf> {
    let table = catalog.user_tables().into_iter().find(|it| it.name == table).unwrap();
    let index = table.indexes.iter().find(|it| it.id.0 == index).unwrap();
    let unit = catalog.rowsets_of(index).next().unwrap().unit(kind).unwrap().id;
    let own = |page: &PageBuf| {
        let header = PageRef::new(page).header();
        header.kind().holds_records() && header.alloc_unit() == unit
    };
    pages(database).into_iter().filter(own).collect()
}

#[test]
fn long_values_have_trees_of_every_height() {
    let lens = [1u64, 8_040, 8_041, 40_200, 40_201, 5_000_000, 20_140_200, 20_140_201, 30_000_000];
    let rows = FnRows::new(lens.len() as u64 + 2, move |number, row: &mut RowValues| {
        row.int(number as i32);
        match lens.get(number as usize) {
            Some(len) => row.lob_stream(LobStream::new(*len, move |offset, part| {
                for (at, byte) in (offset..).zip(part) {
                    *byte = (at % 253) as u8 ^ (at / 8040) as u8;
                }
            })),
            None if number % 2 == 0 => row.null(),
            None => row.raw(b"in the row"),
        };
        row.int(7);
    });
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::nullable("value", SqlType::VarBinary { len: None }),
        ColumnSpec::new("other", SqlType::Int),
    ];
    let table = TableSpec::heap("t", columns, rows)
        .clustered(IndexSpec::primary_key("PK_t", &["id"]))
        .index(IndexSpec::new("IX_t", &["other"]));
    let proved = prove(&DatabaseBuilder::new("lob").table(table));
    let catalog = proved.database.catalog();
    let own = pages_of(&proved.database, catalog, "t", 1, AllocUnitKind::Lob);
    let trees =
        own.iter().filter(|page| PageRef::new(page).header().kind() == PageType::TextTree).count();
    assert!(trees > 10, "{trees} text tree pages");
}

#[test]
fn text_values_have_roots_of_every_kind() {
    let lens = [0usize, 1, 64, 65, 8_040, 8_041, 40_200, 40_201, 100_000];
    let collation = COLLATION;
    let types = [SqlType::Text { collation }, SqlType::NText { collation }, SqlType::Image];
    for (name, compression) in [("plain", Compression::None), ("page", Compression::Page)] {
        let rows = FnRows::new(40, move |number, row: &mut RowValues| {
            row.int(number as i32);
            for column in 0..3 {
                match lens.get((number as usize * 3 + column) % 10) {
                    Some(len) => row.raw(&pattern(number, len & !1)),
                    None => row.null(),
                };
            }
        });
        let mut columns = vec![ColumnSpec::new("id", SqlType::Int)];
        columns.extend(
            types.iter().zip(["t", "n", "i"]).map(|(ty, name)| ColumnSpec::nullable(name, *ty)),
        );
        let table = TableSpec::heap("t", columns, rows)
            .compressed(compression)
            .index(IndexSpec::new("IX_t", &["id"]).descending("id"));
        prove(&DatabaseBuilder::new(name).table(table));
    }
}

#[test]
fn columns_are_pushed_off_rows_that_are_too_long() {
    for (name, compression) in [("plain", Compression::None), ("row", Compression::Row)] {
        let columns = vec![
            ColumnSpec::new("id", SqlType::Int),
            ColumnSpec::new("a", varchar(8000)),
            ColumnSpec::new("b", SqlType::VarBinary { len: Some(8000) }),
            ColumnSpec::new("c", nvarchar(4000)),
            ColumnSpec::new("d", varchar_max()),
            ColumnSpec::new("key", varchar(50)),
        ];
        let table = |clustered: bool| {
            let rows = FnRows::new(300, |number, row: &mut RowValues| {
                let len = |k: u64| ((number * 271 + k * 3_001) % 7_900) as usize;
                row.int(number as i32).raw(&pattern(number, len(1))).raw(&pattern(number, len(2)));
                row.raw(&pattern(1, len(3) & !1))
                    .raw(&pattern(2, len(4)))
                    .raw(&pattern(number, 40));
            });
            let name = if clustered { "clustered" } else { "heap" };
            let table = TableSpec::heap(name, columns.clone(), rows)
                .compressed(compression)
                .forwarded(|number| number % 7 == 3)
                .index(IndexSpec::new("IX", &["key"]));
            if clustered { table.clustered(IndexSpec::new("CX", &["key"])) } else { table }
        };
        let proved = prove(&DatabaseBuilder::new(name).table(table(false)).table(table(true)));
        let catalog = proved.database.catalog();
        for (table, index) in [("heap", 0), ("clustered", 1)] {
            for kind in [AllocUnitKind::RowOverflow, AllocUnitKind::Lob] {
                assert!(
                    pages_of(&proved.database, catalog, table, index, kind).len() > 10,
                    "{table} {kind:?}"
                );
            }
        }
    }
}

/// A row whose values repeat and begin alike.
fn shop_row(number: u64, row: &mut RowValues) {
    let mut rng = SplitMix64::new(number);
    row.int(number as i32).text(&format!("CUSTOMER-{:06}    ", number % 700)[..16]);
    row.ntext(["Düsseldorf", "München", "Москва", "山田市", "Boston"][(number % 5) as usize]);
    match number % 6 {
        0 => row.null(),
        _ => row.decimal9(rng.below(4_000) as i32 - 2_000),
    };
    row.datetime(40_000 + (number % 90) as i32, rng.below(25_920_000) as u32)
        .bit(number.is_multiple_of(3));
    row.bigint((number as i64 - 500) * 1_000_003).raw(&[1, 2, 3, (number % 3) as u8, 0, 0, 0, 0]);
    let guid = [rng.next_u64().to_le_bytes(), [0; 8]].concat();
    row.raw(&guid).text(&"a comment that comes again and again"[..(number % 37) as usize]);
}

fn shop_columns() -> Vec<ColumnSpec> {
    vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("code", SqlType::Char { len: 16, collation: COLLATION }),
        ColumnSpec::nullable("city", nvarchar(40)),
        ColumnSpec::nullable("amount", SqlType::Decimal { precision: 9, scale: 2 }),
        ColumnSpec::new("sold", SqlType::DateTime),
        ColumnSpec::new("paid", SqlType::Bit),
        ColumnSpec::new("big", SqlType::BigInt),
        ColumnSpec::new("bin", SqlType::Binary { len: 8 }),
        ColumnSpec::new("token", SqlType::UniqueIdentifier),
        ColumnSpec::new("comment", varchar(100)),
    ]
}

#[test]
fn compressed_tables_and_indexes_in_all_pairs() {
    let levels = [Compression::None, Compression::Row, Compression::Page];
    let mut builder = DatabaseBuilder::new("compressed");
    for base in levels {
        for (kind, clustered) in [
            ("heap", None),
            ("unique", Some(IndexSpec::new("CU", &["id"]).unique())),
            ("dup", Some(IndexSpec::new("CX", &["code", "city"]).descending("city"))),
        ] {
            let name = format!("{kind}_{}", base.name());
            let mut table = TableSpec::heap(&name, shop_columns(), FnRows::new(4_000, shop_row))
                .compressed(base)
                .forwarded(|number| number % 50 == 7);
            table.clustered = clustered;
            for index in levels {
                let suffix = index.name();
                table = table
                    .index(
                        IndexSpec::new(&format!("IX_city_{suffix}"), &["city", "amount"])
                            .compressed(index),
                    )
                    .index(
                        IndexSpec::new(&format!("UX_id_{suffix}"), &["id"])
                            .unique()
                            .include(&["comment", "token", "paid"])
                            .compressed(index),
                    );
            }
            builder = builder.table(table);
        }
    }
    let proved = prove(&builder);
    let catalog = proved.database.catalog();
    let pages = |table: &str| pages_of(&proved.database, catalog, table, 1, AllocUnitKind::InRow);
    let plain = pages("unique_NONE");
    let rows = pages("unique_ROW");
    let packed = pages("unique_PAGE");
    assert!(
        rows.len() * 10 < plain.len() * 9,
        "{} pages, {} with row compression",
        plain.len(),
        rows.len()
    );
    assert!(packed.len() * 10 < rows.len() * 9, "{} pages with page compression", packed.len());
    let information = packed.iter().filter_map(|page| CiView::of(page));
    let (with_anchor, with_dictionary) = information.fold((0, 0), |(anchors, entries), ci| {
        (
            anchors + usize::from(ci.anchor().is_some()),
            entries + usize::from(!ci.dictionary().is_empty()),
        )
    });
    assert!(with_anchor > 10 && with_dictionary > 10, "{with_anchor} {with_dictionary}");
}

#[test]
fn ghosts_versions_and_empty_slots_are_counted_and_passed_over() {
    for compression in [Compression::None, Compression::Row, Compression::Page] {
        let table = |name: &str| {
            TableSpec::heap(name, shop_columns(), FnRows::new(3_000, shop_row))
                .compressed(compression)
                // Some pages have nothing but ghosts.
                .ghosts(|number| number % 9 == 4 || (1_000..1_700).contains(&number))
                .versioned(|number| number % 5 == 1 || number % 9 == 4)
                .index(IndexSpec::new("IX", &["city"]).compressed(compression))
                .index(IndexSpec::new("UX", &["id"]).unique().include(&["comment"]))
        };
        let heap =
            table("heap").vacated(|number| number % 11 == 3).forwarded(|number| number % 13 == 2);
        let clustered = table("clustered").clustered(IndexSpec::primary_key("PK", &["id"]));
        let proved = prove(&DatabaseBuilder::new("history").table(heap).table(clustered));
        let catalog = proved.database.catalog();
        for (table, index) in [("heap", 0), ("clustered", 1), ("clustered", 2)] {
            let pages = pages_of(&proved.database, catalog, table, index, AllocUnitKind::InRow);
            let ghosts: u32 = pages
                .iter()
                .map(|page| u32::from(PageRef::new(page).header().ghost_count.get()))
                .sum();
            assert!(ghosts > 800, "{table} {index}: {ghosts}");
        }
        let pages = pages_of(&proved.database, catalog, "clustered", 1, AllocUnitKind::InRow);
        let is_only_ghosts = |page: &&PageBuf| {
            let header = PageRef::new(page).header();
            header.kind() == PageType::Data && header.ghost_count == header.slot_count
        };
        assert!(pages.iter().filter(is_only_ghosts).count() > 0);
        let heap = pages_of(&proved.database, catalog, "heap", 0, AllocUnitKind::InRow);
        let empty: usize = heap
            .iter()
            .flat_map(|page| PageRef::new(page).slot_offsets().collect::<Vec<_>>())
            .filter(|offset| *offset == 0)
            .count();
        assert_eq!(empty, (0..3_000).filter(|number| number % 11 == 3).count());
    }
}

#[test]
fn the_tag_of_a_versioned_row_has_its_status_bit() {
    let table = TableSpec::heap("t", shop_columns(), FnRows::new(100, shop_row))
        .versioned(|number| number % 2 == 0);
    let proved = prove(&DatabaseBuilder::new("tags").table(table));
    let pages = pages_of(&proved.database, proved.database.catalog(), "t", 0, AllocUnitKind::InRow);
    let records = pages.iter().flat_map(|page| PageRef::new(page).records().collect::<Vec<_>>());
    let tags =
        records.map(|(_, bytes)| Record::parse_data(bytes).version_tag()).collect::<Vec<_>>();
    assert_eq!(tags.iter().flatten().count(), 50);
    assert!(tags.iter().flatten().all(|tag| tag.sequence != [0; 6]));
}

#[test]
fn columns_that_were_added_and_dropped_read_as_they_should() {
    let collation = COLLATION;
    for compression in [Compression::None, Compression::Row, Compression::Page] {
        let columns = || {
            vec![
                ColumnSpec::new("id", SqlType::Int),
                ColumnSpec::nullable("gone", SqlType::BigInt).dropped(1_500),
                ColumnSpec::nullable("gone_text", varchar(40)).dropped(500),
                ColumnSpec::new("flag", SqlType::Bit),
                ColumnSpec::new("name", varchar(40)),
                ColumnSpec::nullable("note", nvarchar(30)).added(400),
                ColumnSpec::new("score", SqlType::Int).added_with(800, &42i32.to_le_bytes()),
                ColumnSpec::new("state", SqlType::Char { len: 6, collation })
                    .added_with(800, b"BEFORE"),
                ColumnSpec::new("mark", SqlType::Bit).added_with(1_200, &[1]),
                ColumnSpec::new("kind", varchar(20)).added_with(1_200, b"old"),
                ColumnSpec::nullable("late", SqlType::VarBinary { len: None })
                    .added_with(1_900, b"max"),
            ]
        };
        let row = |number: u64, row: &mut RowValues| {
            row.int(number as i32)
                .bigint(-(number as i64))
                .text("dropped")
                .bit(number.is_multiple_of(2));
            row.text(&format!("name {number}"));
            if number < 400 || number.is_multiple_of(3) {
                row.null()
            } else {
                row.ntext("a note")
            };
            row.int(if number < 800 { 42 } else { number as i32 });
            row.raw(if number < 800 { b"BEFORE" } else { b"AFTER " });
            row.bit(number < 1_200 || number.is_multiple_of(5));
            row.raw(if number < 1_200 { b"old".as_slice() } else { b"new kind" });
            match number {
                0..1_900 => row.raw(b"max"),
                _ => row.lob(&pattern(number, 9_000)),
            };
        };
        let table = |name: &str| {
            TableSpec::heap(name, columns(), FnRows::new(2_000, row))
                .compressed(compression)
                .index(IndexSpec::new("IX_score", &["score", "mark"]).include(&["kind"]))
                .index(
                    IndexSpec::new("IX_note", &["note"]).descending("note").compressed(compression),
                )
                .index(IndexSpec::new("IX_state", &["state"]))
        };
        let heap = table("heap").forwarded(|number| number % 20 == 3);
        let clustered = table("clustered").clustered(IndexSpec::new("CX", &["name"]));
        let proved = prove(&DatabaseBuilder::new("altered").table(heap).table(clustered));
        let catalog = proved.database.catalog();
        assert_eq!(catalog.added_defaults.len(), 10);
        let table = catalog.user_tables().into_iter().find(|table| table.name == "heap").unwrap();
        let layout = &catalog.rowsets_of(table.base().unwrap()).next().unwrap().layout;
        let dropped: Vec<i32> = layout
            .columns
            .iter()
            .filter(|column| column.is_dropped())
            .map(|column| column.column_id)
            .collect();
        assert_eq!(dropped, [0x0400_0001, 0x0400_0002]);
        if compression == Compression::None {
            let pages = pages_of(&proved.database, catalog, "heap", 0, AllocUnitKind::InRow);
            let counts: std::collections::BTreeSet<u16> = pages
                .iter()
                .flat_map(|page| PageRef::new(page).records().collect::<Vec<_>>())
                .map(|(_, bytes)| Record::parse_data(bytes))
                .filter(|record| record.kind() == RecordKind::Primary)
                .map(|record| record.column_count())
                .collect();
            assert_eq!(
                counts.into_iter().collect::<Vec<_>>(),
                [5, 6, 8, 10, 11],
                "columns of rows by age"
            );
        }
    }
}

/// SQL Server 2012 and later: a column that was added takes over the bytes of one that was dropped.
/// Rows from before still have those bytes, and know fewer columns.
#[test]
fn columns_that_took_over_the_bytes_of_dropped_ones_read_as_they_should() {
    let columns = || {
        vec![
            ColumnSpec::new("id", SqlType::Int),
            ColumnSpec::nullable("gone", SqlType::BigInt).dropped(1_000),
            ColumnSpec::new("name", varchar(40)),
            ColumnSpec::new("last", SqlType::Int),
            ColumnSpec::new("score", SqlType::Int)
                .added_with(1_000, &42i32.to_le_bytes())
                .in_place_of("gone"),
            ColumnSpec::nullable("late", SqlType::Int).added(1_500),
        ]
    };
    let row = |number: u64, row: &mut RowValues| {
        row.int(number as i32).bigint(-(number as i64)).text(&format!("name {number}")).int(7);
        row.int(if number < 1_000 { 42 } else { number as i32 });
        match number {
            0..1_500 => row.null(),
            _ => row.int(number as i32),
        };
    };
    let table = |name: &str| {
        TableSpec::heap(name, columns(), FnRows::new(2_000, row))
            .index(IndexSpec::new("IX_score", &["score"]))
    };
    let heap = table("heap").forwarded(|number| number % 20 == 3);
    let clustered = table("clustered").clustered(IndexSpec::new("CX", &["name"]));
    let proved = prove(&DatabaseBuilder::new("reused").table(heap).table(clustered));
    let catalog = proved.database.catalog();
    let table = catalog.user_tables().into_iter().find(|table| table.name == "heap").unwrap();
    let layout = &catalog.rowsets_of(table.base().unwrap()).next().unwrap().layout;
    let offsets = |is_dropped: bool| {
        let columns = layout.columns.iter().filter(move |column| column.is_dropped() == is_dropped);
        columns.map(|column| column.leaf.offset).collect::<Vec<_>>()
    };
    assert!(offsets(false).contains(&offsets(true)[0]), "{layout:?}");
}

#[test]
fn large_values_out_of_row_lie_under_text_pointers() {
    let lens = [0usize, 1, 64, 65, 8_000, 8_041, 40_201, 100_000];
    let types = [varchar_max(), SqlType::VarBinary { len: None }];
    let rows = FnRows::new(64, move |number, row: &mut RowValues| {
        row.int(number as i32);
        for column in 0..2 {
            match lens.get((number as usize * 3 + column) % 9) {
                Some(len) => row.raw(&pattern(number, *len)),
                None => row.null(),
            };
        }
    });
    let mut columns = vec![ColumnSpec::new("id", SqlType::Int)];
    columns.extend(types.iter().zip(["t", "b"]).map(|(ty, name)| ColumnSpec::nullable(name, *ty)));
    let table = TableSpec::heap("t", columns, rows)
        .large_values_out_of_row()
        .clustered(IndexSpec::primary_key("PK", &["id"]));
    let proved = prove(&DatabaseBuilder::new("pointers").table(table));
    let pages = pages_of(&proved.database, proved.database.catalog(), "t", 1, AllocUnitKind::InRow);
    let records = pages.iter().flat_map(|page| PageRef::new(page).records().collect::<Vec<_>>());
    let complex = records.flat_map(|(_, bytes)| {
        let record = Record::parse_data(bytes);
        record.vars().filter(|var| var.complex).map(|var| var.bytes.len()).collect::<Vec<_>>()
    });
    let lengths: Vec<usize> = complex.collect();
    assert!(lengths.len() > 100 && lengths.iter().all(|len| *len == 16), "{lengths:?}");
}

/// Keys of all kinds, nullable and descending, under several collations; many rows share each of
/// them.
#[test]
fn keys_of_many_types_carry_uniquifiers_where_the_clustered_key_is_not_unique() {
    let binary = Collation(0x0000_0808 | 1 << 11);
    let types = [
        ("char", SqlType::Char { len: 8, collation: COLLATION }),
        ("nvarchar", nvarchar(20)),
        ("bin", SqlType::VarChar { len: Some(20), collation: binary }),
        ("guid", SqlType::UniqueIdentifier),
        ("decimal", SqlType::Decimal { precision: 28, scale: 6 }),
        ("datetime2", SqlType::DateTime2 { scale: 7 }),
        ("binary", SqlType::Binary { len: 5 }),
        ("varbinary", SqlType::VarBinary { len: Some(9) }),
        ("float", SqlType::Float),
        ("smalldatetime", SqlType::SmallDateTime),
        ("date", SqlType::Date),
        ("bit", SqlType::Bit),
    ];
    let row = move |number: u64, row: &mut RowValues| {
        let mut rng = SplitMix64::new(number % 97);
        row.bigint(number as i64);
        let words = ["Straße", "strasse", "Apfel", "APFEL", "apfel ", "äpfel", "co-op", "coop", ""];
        let word = words[rng.below(9) as usize];
        let ascii = ["same", "SAME", "Same  ", "other", "", "a-b", "ab"][rng.below(7) as usize];
        for (name, ty) in types {
            if rng.below(6) == 0 {
                row.null();
                continue;
            }
            match (name, ty) {
                ("char", _) => row.text(&format!("{ascii:8}")),
                ("nvarchar", _) => row.ntext(word),
                ("bin", _) => row.text(ascii),
                ("decimal", _) => {
                    let mut bytes = [0; 13];
                    bytes[0] = rng.below(2) as u8;
                    bytes[1..5].copy_from_slice(&(1 + rng.below(90) as u32).to_le_bytes());
                    row.raw(&bytes)
                }
                ("datetime2", _) => {
                    row.datetime2(700_000 + rng.below(4) as u32, rng.below(5) * 1_000_000)
                }
                ("float", _) => row.float(rng.below(9) as f64 - 4.0),
                ("smalldatetime", _) => row.raw(&[rng.below(3) as u8, 1, rng.below(3) as u8, 100]),
                ("date", _) => row.date(730_000 + rng.below(600) as u32),
                ("varbinary", _) => row.raw(&[0; 9][..rng.below(4) as usize]),
                ("bit", _) => row.bit(rng.below(2) == 0),
                _ => {
                    let bytes = ty.fixed_bytes().unwrap();
                    let value: Vec<u8> = (0..bytes).map(|_| rng.below(3) as u8 * 100).collect();
                    row.raw(&value)
                }
            };
        }
    };
    let mut columns = vec![ColumnSpec::new("id", SqlType::BigInt)];
    columns.extend(types.iter().map(|(name, ty)| ColumnSpec::nullable(name, *ty)));
    let mut builder = DatabaseBuilder::new("keys");
    for (at, (name, _)) in types.iter().enumerate() {
        let other = types[(at + 5) % types.len()].0;
        let clustered =
            IndexSpec::new("CX", &[name, other]).descending(if at % 2 == 0 { name } else { "" });
        let mut table =
            TableSpec::heap(&format!("t_{name}"), columns.clone(), FnRows::new(600, row))
                .clustered(clustered)
                .index(IndexSpec::new("UX_id", &["id"]).unique().descending("id"));
        for (name, _) in &types {
            table = table.index(
                IndexSpec::new(&format!("IX_{name}"), &[name]).descending(if at % 3 == 0 {
                    name
                } else {
                    ""
                }),
            );
        }
        if at % 2 == 1 {
            table = table.compressed(Compression::Page);
        }
        builder = builder.table(table);
    }
    prove(&builder);
}

#[test]
fn rows_of_exactly_8060_bytes_and_of_300_columns_fit() {
    let wide = (0..300).map(|at| match at {
        0 => ColumnSpec::new("id", SqlType::Int),
        _ if at % 7 == 0 => ColumnSpec::nullable(&format!("c{at}"), varchar(20)),
        _ if at % 5 == 0 => ColumnSpec::nullable(&format!("c{at}"), SqlType::Bit),
        _ => ColumnSpec::nullable(&format!("c{at}"), SqlType::Int),
    });
    let row = |number: u64, row: &mut RowValues| {
        row.int(number as i32);
        for at in 1..300u64 {
            match (at, (number + at) % 11) {
                (_, 0) => row.null(),
                _ if at % 7 == 0 => row.text(&"twenty letters here!"[..(number % 21) as usize]),
                _ if at % 5 == 0 => row.bit(number.is_multiple_of(at)),
                _ => row.int((number * at) as i32),
            };
        }
    };
    let columns: Vec<ColumnSpec> = wide.collect();
    let full = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("text", SqlType::Char { len: 8_000, collation: COLLATION }),
        ColumnSpec::new("rest", SqlType::Char { len: 49, collation: COLLATION }),
    ];
    let full_row = FnRows::new(10, |number, row: &mut RowValues| {
        row.int(number as i32).raw(&pattern(number, 8_000)).raw(&pattern(number, 49));
    });
    let mut builder = DatabaseBuilder::new("wide")
        .table(TableSpec::heap("full", full, full_row).index(IndexSpec::new("IX", &["id"])));
    for compression in [Compression::None, Compression::Row, Compression::Page] {
        let name = format!("wide_{}", compression.name());
        let table =
            TableSpec::heap(&name, columns.clone(), FnRows::new(200, row)).compressed(compression);
        builder =
            builder.table(table.index(IndexSpec::new("IX", &["c7", "c1"]).compressed(compression)));
    }
    let proved = prove(&builder);
    let pages =
        pages_of(&proved.database, proved.database.catalog(), "full", 0, AllocUnitKind::InRow);
    let longest = pages.iter().flat_map(|page| PageRef::new(page).records().collect::<Vec<_>>());
    assert_eq!(longest.map(|(_, bytes)| Record::parse_data(bytes).len()).max(), Some(8_060));
}

#[test]
fn the_shapes_of_record_structures_read_back_value_by_value() {
    for (shape, rows) in
        [("wide", 400), ("lob", 120), ("compressed", 4_000), ("history", 6_000), ("heap", 300)]
    {
        let options = MakeOptions { shape: shape.to_owned(), size: Size::Rows(rows), seed: 5 };
        prove(&extentdb_template::shape::builder(&options).unwrap());
    }
}
