//! Texts of real indexes, in the order that SQL Server gave them: it is the order here, for
//! comparisons and for sort keys.

use std::collections::BTreeMap;
use std::path::PathBuf;

use extentdb_catalog::access::{LeafKind, LeafPages};
use extentdb_catalog::layout::{Cell, Compression, Level, PhysicalColumn, cell};
use extentdb_catalog::model::{AllocUnitKind, Rowset};
use extentdb_format::page::PageRef;
use extentdb_format::record::Record;
use extentdb_reader::{Database, OpenOptions};
use extentdb_types::collation::Comparison;
use extentdb_types::key_order::{KeyValue, push_sort_key};
use extentdb_types::{Collation, SqlType};

/// Databases in `samples` and, after it, in `more-samples`: the files of each.
const SAMPLES: [&[&str]; 8] = [
    &["bookshop-2008r2.mdf"],
    &["crud-2012.mdf"],
    &["northwind-2008.mdf"],
    &["northwind-2014.bak"],
    &["northwind-from-2000.mdf"],
    &["pubs-2008.mdf"],
    &["pubs-2012.bak"],
    &["tsql2012-compressed.bak"],
];
const MORE_SAMPLES: [&[&str]; 7] = [
    &["northwind-2005.bak"],
    &["northwind-2019.bak"],
    &["chain-2016/RestoreTimeClean.bak"],
    &["diffs-2008r2/difftest-full.bak"],
    &["stopat-2008r2/StopAt.bak"],
    &[
        "stripes-2008r2/Stripe1_RestoreTimeStripe.bak",
        "stripes-2008r2/Stripe2_RestoreTimeStripe1.bak",
    ],
    &[
        "stripes-2008r2/Stripe1_RestoreTimeStripe2.bak",
        "stripes-2008r2/Stripe2_RestoreTimeStripe2a.bak",
    ],
];

/// The values of the key of an entry.
type Key = Vec<Cell<'static>>;

/// Adjacent keys that differ first in a text.
#[derive(Default, Debug, Clone, Copy)]
struct Counts {
    certain: usize,
    uncertain: usize,
}

/// The keys of an index, leaf after leaf, ghosts among them.
fn keys(database: &Database, rowset: &Rowset, columns: &[&PhysicalColumn]) -> Vec<Key> {
    let Some(unit) = rowset.unit(AllocUnitKind::InRow) else { return Vec::new() };
    let kind = if rowset.index.0 == 1 { LeafKind::Clustered } else { LeafKind::Nonclustered };
    let pages = database.pages();
    let mut keys = Vec::new();
    for page in LeafPages::new(&pages, unit.id, unit.root, kind) {
        let (_, page) = page.unwrap();
        let view = PageRef::new(&page);
        for slot in 0..view.slot_count() {
            let bytes = view.row(slot).unwrap();
            let record = match kind {
                LeafKind::Clustered => Record::parse_data(bytes),
                LeafKind::Nonclustered => Record::parse_index(bytes, view.header().fixed_len.get()),
            };
            let owned = |column: &&PhysicalColumn| match cell(&record, column, Level::Leaf).unwrap()
            {
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
fn compare(column: &PhysicalColumn, a: &Cell<'_>, b: &Cell<'_>) -> Option<(Collation, Comparison)> {
    let (Cell::Bytes(a), Cell::Bytes(b)) = (a, b) else { return None };
    match column.ty? {
        SqlType::Char { collation, .. } | SqlType::VarChar { collation, .. } => {
            Some((collation, collation.compare_char(a, b)))
        }
        SqlType::NChar { collation, .. } | SqlType::NVarChar { collation, .. } => {
            Some((collation, collation.compare_nchar(a, b)))
        }
        _ => None,
    }
}

/// Two adjacent keys, up to the first column that tells them apart.
fn compare_adjacent(
    columns: &[&PhysicalColumn],
    before: &Key,
    after: &Key,
    counts: &mut BTreeMap<Collation, Counts>,
) {
    for ((column, a), b) in columns.iter().zip(before).zip(after) {
        let by_key = sort_key(column, a).cmp(&sort_key(column, b));
        assert!(by_key.is_le(), "sort keys: {a:?} {b:?}");
        let Some((collation, compared)) = compare(column, a, b) else {
            if by_key.is_eq() {
                continue;
            }
            return;
        };
        let ordering =
            if column.is_descending() { compared.ordering.reverse() } else { compared.ordering };
        assert_eq!(ordering, by_key, "{collation}: {a:?} {b:?}");
        if by_key.is_ne() {
            let counts = counts.entry(collation).or_default();
            counts.certain += usize::from(compared.certain);
            counts.uncertain += usize::from(!compared.certain);
            return;
        }
    }
}

fn compare_all(database: &Database, counts: &mut BTreeMap<Collation, Counts>) {
    for rowset in database.catalog().rowsets.values() {
        let is_tree = rowset.index.0 > 0 && rowset.compression == Compression::None;
        let columns =
            rowset.layout.columns.iter().filter(|column| column.key_ordinal > 0 && is_tree);
        let mut columns: Vec<&PhysicalColumn> = columns.collect();
        columns.sort_by_key(|column| column.key_ordinal);
        if columns.iter().any(|column| column.ty.is_some_and(|ty| ty.collation().is_some())) {
            for pair in keys(database, rowset, &columns).windows(2) {
                compare_adjacent(&columns, &pair[0], &pair[1], counts);
            }
        }
    }
}

#[test]
fn adjacent_keys_of_real_indexes_lie_in_order() {
    let samples = std::env::var_os("EXTENTDB_SAMPLES").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples"))
    });
    let more_samples = samples.with_file_name("more-samples");
    let databases = SAMPLES.iter().map(|files| (&samples, *files));
    let databases = databases.chain(MORE_SAMPLES.iter().map(|files| (&more_samples, *files)));
    let mut counts: BTreeMap<Collation, Counts> = BTreeMap::new();
    let mut seen = 0;
    for (folder, files) in databases {
        let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(file)).collect();
        if let Some(absent) = paths.iter().find(|path| !path.exists()) {
            eprintln!("SKIPPED: no {}", absent.display());
            continue;
        }
        seen += 1;
        compare_all(&Database::open(&paths, &OpenOptions::default()).unwrap(), &mut counts);
    }
    for (collation, counts) in &counts {
        eprintln!("{collation}: {counts:?}");
    }
    let certain: usize = counts.values().map(|counts| counts.certain).sum();
    let uncertain: usize = counts.values().map(|counts| counts.uncertain).sum();
    eprintln!("{seen} databases: {certain} pairs certain, {uncertain} uncertain");
    assert_eq!(uncertain, 0, "the keys of real tables have certain weights");
    assert!(seen < SAMPLES.len() + MORE_SAMPLES.len() || certain > 40_000, "{certain}");
}
