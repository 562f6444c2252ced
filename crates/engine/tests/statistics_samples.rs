//! The histograms in real databases: decoded, and counted again from the rows that they are about;
//! then those that the engine builds of the same columns.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use extentdb_base::ObjectId;
use extentdb_catalog::model::{Descriptions, Table as TableModel};
use extentdb_engine::{Database, Options, Paths};
use extentdb_format::statistics::{StatisticsBlob, StatisticsFault};
use extentdb_reader::rows::{TableScan, Value};
use extentdb_reader::{Database as Reader, OpenOptions};
use extentdb_types::key_order::{KeyValue, push_sort_key};
use extentdb_types::{Datum, SqlType};

const FILES: [&str; 8] = [
    "bookshop-2008r2.mdf",
    "crud-2012.mdf",
    "northwind-2008.mdf",
    "northwind-from-2000.mdf",
    "pubs-2008.mdf",
    "northwind-2014.bak",
    "pubs-2012.bak",
    "tsql2012-compressed.bak",
];
/// `sysobjvalues`, and its class of histograms.
const SYSOBJVALUES: ObjectId = ObjectId(60);
const HISTOGRAMS: u8 = 60;

fn samples() -> Option<PathBuf> {
    let samples = std::env::var_os("EXTENTDB_SAMPLES").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples"))
    });
    if samples.join(FILES[0]).exists() {
        return Some(samples);
    }
    eprintln!("SKIPPED: no samples in {}", samples.display());
    None
}

fn rows_of(reader: &Reader, table: &TableModel) -> Vec<Vec<Option<Datum<'static>>>> {
    let pages = reader.pages();
    let mut scan = TableScan::new(&pages, reader.catalog(), table).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = scan.next_row() {
        let row = row.unwrap();
        let value = |at| match row.value(at) {
            Ok(Value::Datum(datum)) => Some(datum.into_owned()),
            Ok(Value::Lob(lob)) => {
                Some(Datum::Binary(lob.reader.read_to_vec(1 << 24).unwrap().into()))
            }
            Err(_) => None,
        };
        rows.push((0..row.len()).map(value).collect());
    }
    rows
}

/// Blobs by table and statistics.
fn blobs(reader: &Reader) -> BTreeMap<(ObjectId, i32), Vec<u8>> {
    let table = reader.catalog().tables.get(&SYSOBJVALUES).unwrap();
    let mut blobs = BTreeMap::new();
    for row in rows_of(reader, table) {
        let [Some(Datum::TinyInt(HISTOGRAMS)), Some(Datum::Int(table)), Some(Datum::Int(id)), ..] =
            &row[..]
        else {
            continue;
        };
        if let Some(Some(Datum::Binary(bytes))) = row.last()
            && !bytes.is_empty()
        {
            blobs.insert((ObjectId(*table), *id), bytes.to_vec());
        }
    }
    blobs
}

fn key_of(ty: &SqlType, value: KeyValue<'_>) -> Vec<u8> {
    let mut key = Vec::new();
    push_sort_key(ty, value, false, &mut key);
    key
}

fn key_of_datum(ty: &SqlType, value: &Datum<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    match value {
        Datum::Null => key_of(ty, KeyValue::Null),
        Datum::Bit(bit) => key_of(ty, KeyValue::Bit(*bit)),
        value => {
            value.encode(ty, &mut bytes).unwrap();
            key_of(ty, KeyValue::Bytes(&bytes))
        }
    }
}

/// Counts the rows of each step; returns the first that is another number.
fn contradiction(
    blob: &StatisticsBlob<'_>,
    ty: &SqlType,
    counted: &BTreeMap<Vec<u8>, f32>,
) -> Option<String> {
    let nulls = counted.get(&key_of(ty, KeyValue::Null)).copied().unwrap_or(0.0);
    if nulls != blob.null_rows {
        return Some(format!("{nulls} NULLs, and not {}", blob.null_rows));
    }
    let density = 1.0 / counted.len() as f32;
    if blob.densities.first().is_none_or(|said| (said / density - 1.0).abs() > 1e-6) {
        return Some(format!("density {density}, and not {:?}", blob.densities));
    }
    let mut before = key_of(ty, KeyValue::Null);
    for (number, step) in blob.steps.iter().enumerate() {
        let hi_key = if ty.is_bit() {
            key_of(ty, KeyValue::Bit(step.hi_key.first().is_some_and(|byte| byte & 1 == 1)))
        } else {
            key_of(ty, KeyValue::Bytes(step.hi_key))
        };
        if hi_key <= before {
            return Some(format!("step {number} is out of order"));
        }
        let equal = counted.get(&hi_key).copied().unwrap_or(0.0);
        let between: Vec<f32> = counted
            .iter()
            .filter(|(key, _)| **key > before && **key < hi_key)
            .map(|(_, rows)| *rows)
            .collect();
        let range: f32 = between.iter().sum();
        let average = if between.is_empty() { 1.0 } else { range / between.len() as f32 };
        let found = (equal, range, average);
        let said = (step.equal_rows, step.range_rows, step.average_range_rows);
        if found != said {
            return Some(format!("step {number}: {found:?}, and not {said:?}"));
        }
        before = hi_key;
    }
    None
}

#[test]
fn histograms_of_real_databases_count_their_rows() {
    let Some(samples) = samples() else { return };
    let mut agreed = 0;
    let mut contradicted = Vec::new();
    for file in FILES {
        let reader = Reader::open(&[samples.join(file)], &OpenOptions::default()).unwrap();
        let mut read = 0;
        for ((table, id), bytes) in blobs(&reader) {
            let blob = match StatisticsBlob::read(&bytes) {
                Ok(blob) => blob,
                Err(StatisticsFault::Format { format: 4 }) => continue,
                Err(fault) => panic!("{file} {table:?} {id}: {fault}"),
            };
            read += 1;
            let steps = blob.steps.iter().map(|step| step.equal_rows + step.range_rows);
            assert_eq!(steps.sum::<f32>() + blob.null_rows, blob.rows as f32);
            match compare(&reader, table, id, &blob) {
                None => {}
                Some(None) => agreed += 1,
                Some(Some(why)) => contradicted.push(format!("{file} {table:?} {id}: {why}")),
            }
        }
        assert!(read > 20, "{file}: {read}");
    }
    println!("{agreed} agree; {contradicted:#?}");
    assert!(agreed > 60, "{agreed}");
    // Of a table whose rows were changed since, and are as many as before.
    assert!(contradicted.len() < 2, "{contradicted:#?}");
}

/// `None` where the rows are others by now, or the column is not known.
fn compare(
    reader: &Reader,
    table: ObjectId,
    id: i32,
    blob: &StatisticsBlob<'_>,
) -> Option<Option<String>> {
    let catalog = reader.catalog();
    let model = catalog.user_tables().into_iter().find(|own| own.id == table)?;
    if catalog.row_count(model) != blob.rows {
        return None;
    }
    let described = Descriptions::load(&reader.pages()).unwrap().statistics;
    let of_statistics = described.iter().find(|it| it.table == table && it.id == id);
    let of_index = model.indexes.iter().find(|index| index.id.0 == id);
    let column = match (of_index, of_statistics) {
        (Some(index), _) => index.columns.iter().find(|column| column.key_ordinal == 1)?.column_id,
        (None, Some(statistics)) => *statistics.columns.first()?,
        (None, None) => return None,
    };
    let at = model.columns.iter().position(|own| own.id == column)?;
    let ty = model.columns[at].ty?;
    if ty.is_lob() || ty.is_max() {
        return None;
    }
    let mut counted: BTreeMap<Vec<u8>, f32> = BTreeMap::new();
    for row in rows_of(reader, model) {
        *counted.entry(key_of_datum(&ty, row[at].as_ref()?)).or_default() += 1.0;
    }
    Some(contradiction(blob, &ty, &counted))
}

#[test]
fn the_engine_builds_statistics_of_attached_tables_and_leaves_blobs_alone() {
    let Some(samples) = samples() else { return };
    let folder = tempfile::tempdir().unwrap();
    for file in ["northwind-2008.mdf", "bookshop-2008r2.mdf"] {
        let data = folder.path().join(file);
        std::fs::copy(samples.join(file), &data).unwrap();
        let before = blobs(&open(&data));
        let paths = Paths { data: vec![data.clone()], log: folder.path().join("log.ldf") };
        let db = Database::open(&paths, Options { frames: 512, ..Options::default() }).unwrap();
        let mut session = db.session();
        for table in db.tables() {
            for column in 0..table.columns().len() {
                let found = session.statistics(&table, column, Duration::MAX).unwrap();
                let Some(found) = found else { continue };
                assert_eq!(found.rows(), table.row_count() as f64, "{file} {}", table.name());
                assert_eq!(found.rows_sampled(), table.row_count() as u64);
            }
        }
        drop(session);
        db.close().unwrap();
        std::fs::remove_file(&paths.log).ok();
        support::assert_sound(&paths.data);
        assert_eq!(blobs(&open(&data)), before);
    }
}

fn open(file: &Path) -> Reader {
    Reader::open(&[file.to_owned()], &OpenOptions::default()).unwrap()
}
