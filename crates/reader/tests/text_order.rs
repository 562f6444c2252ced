//! Texts of real indexes, in the order that SQL Server gave them: what is known of each collation agrees with every pair of
//! neighbours, and so do the sort keys that trees are searched by.

use std::cmp::Ordering;
use std::path::PathBuf;

use extentdb_catalog::access::{LeafKind, LeafPages};
use extentdb_catalog::layout::{Cell, Compression, Level, PhysicalColumn, cell};
use extentdb_catalog::model::{AllocUnitKind, Rowset};
use extentdb_format::page::PageRef;
use extentdb_format::record::Record;
use extentdb_reader::{Database, OpenOptions};
use extentdb_types::SqlType;
use extentdb_types::collation::Comparison;
use extentdb_types::key_order::{KeyValue, push_sort_key};

const SAMPLES: [&str; 8] = [
    "bookshop-2008r2.mdf",
    "crud-2012.mdf",
    "northwind-2008.mdf",
    "northwind-2014.bak",
    "northwind-from-2000.mdf",
    "pubs-2008.mdf",
    "pubs-2012.bak",
    "tsql2012-compressed.bak",
];

/// The values of the key of an entry.
type Key = Vec<Cell<'static>>;

#[derive(Default, Debug)]
struct Counts {
    decided: usize,
    open: usize,
}

/// The keys of an index, leaf after leaf, ghosts among them.
fn keys(database: &Database, rowset: &Rowset, columns: &[&PhysicalColumn]) -> Vec<Key> {
    let Some(unit) = rowset.unit(AllocUnitKind::InRow) else { return Vec::new() };
    let kind = if rowset.index.0 == 1 { LeafKind::Clustered } else { LeafKind::Nonclustered };
    let (pages, mut keys) = (database.pages(), Vec::new());
    for page in LeafPages::new(&pages, unit.id, unit.root, kind) {
        let (_, page) = page.unwrap();
        let view = PageRef::new(&page);
        for slot in 0..view.slot_count() {
            let bytes = view.row(slot).unwrap();
            let record = match kind {
                LeafKind::Clustered => Record::parse_data(bytes),
                LeafKind::Nonclustered => Record::parse_index(bytes, view.header().fixed_len.get()),
            };
            let owned = |column: &&PhysicalColumn| match cell(&record, column, Level::Leaf).unwrap() {
                Cell::Bytes(bytes) => Cell::Bytes(bytes.into_owned().into()),
                Cell::Bit(bit) => Cell::Bit(bit),
                _ => Cell::Null,
            };
            keys.push(columns.iter().map(owned).collect());
        }
    }
    keys
}

fn sort_key(column: &PhysicalColumn, cell: &Cell<'_>) -> Vec<u8> {
    let value = match cell {
        Cell::Bytes(bytes) => KeyValue::Bytes(bytes),
        Cell::Bit(bit) => KeyValue::Bit(*bit),
        _ => KeyValue::Null,
    };
    let mut out = Vec::new();
    push_sort_key(&column.ty.unwrap(), value, column.is_descending(), &mut out);
    out
}

/// `None` for what is no text.
fn compare(column: &PhysicalColumn, a: &Cell<'_>, b: &Cell<'_>) -> Option<Comparison> {
    let (Cell::Bytes(a), Cell::Bytes(b)) = (a, b) else { return None };
    match column.ty? {
        SqlType::Char { collation, .. } | SqlType::VarChar { collation, .. } => {
            Some(collation.compare_char(a, b))
        }
        SqlType::NChar { collation, .. } | SqlType::NVarChar { collation, .. } => {
            Some(collation.compare_nchar(a, b))
        }
        _ => None,
    }
}

/// Two neighbours, up to the first column that tells them apart.
fn compare_neighbours(columns: &[&PhysicalColumn], (before, behind): (&Key, &Key), counts: &mut Counts) {
    for ((column, a), b) in columns.iter().zip(before).zip(behind) {
        let by_key = sort_key(column, a).cmp(&sort_key(column, b));
        assert!(by_key.is_le(), "sort keys: {a:?} {b:?}");
        match compare(column, a, b) {
            None if by_key.is_eq() => {}
            Some(compared) if compared.certain && compared.ordering.is_eq() && by_key.is_eq() => {}
            None => return,
            Some(compared) if !compared.certain => {
                counts.open += 1;
                return;
            }
            Some(Comparison { ordering, .. }) => {
                let ordering = if column.is_descending() { ordering.reverse() } else { ordering };
                assert_eq!((ordering, by_key), (Ordering::Less, Ordering::Less), "{a:?} {b:?}");
                counts.decided += 1;
                return;
            }
        }
    }
}

#[test]
fn neighbours_in_indexes_of_real_files_lie_in_the_order_that_is_known_here() {
    let samples = std::env::var_os("EXTENTDB_SAMPLES")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")));
    let (mut counts, mut seen) = (Counts::default(), 0);
    for sample in SAMPLES {
        let path = samples.join(sample);
        if !path.exists() {
            eprintln!("SKIPPED: no {sample} in {}", samples.display());
            continue;
        }
        seen += 1;
        let database = Database::open(&[path], &OpenOptions::default()).unwrap();
        for rowset in database.catalog().rowsets.values() {
            let is_tree = rowset.index.0 > 0 && rowset.compression == Compression::None;
            let columns = rowset.layout.columns.iter().filter(|column| column.key_ordinal > 0 && is_tree);
            let mut columns: Vec<&PhysicalColumn> = columns.collect();
            columns.sort_by_key(|column| column.key_ordinal);
            if columns.iter().any(|column| column.ty.is_some_and(|ty| ty.collation().is_some())) {
                for pair in keys(&database, rowset, &columns).windows(2) {
                    compare_neighbours(&columns, (&pair[0], &pair[1]), &mut counts);
                }
            }
        }
    }
    eprintln!("{seen} files: {counts:?}");
    assert_eq!(counts.open, 0, "what real tables need is decided");
    assert!(seen < SAMPLES.len() || counts.decided > 29_000, "{counts:?}");
}
