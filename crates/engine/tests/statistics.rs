//! Statistics of tables: against their rows, by their names in the catalog, kept up by themselves.

mod support;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use extentdb_base::env::{Clock, Rng, SplitMix64, SystemClock};
use extentdb_base::sync::{Arc, thread};
use extentdb_engine::model::ObjectBody;
use extentdb_engine::{
    ColumnSpec, Database, DatabaseSpec, Error, IndexSpec, LoadLock, NewRow, Options, Paths,
    RowSource, Session, Statistics, StatisticsOptions, StatisticsScan, StatisticsSpec, Table,
    TableSpec, UpdateThreshold,
};
use extentdb_io::MemDisk;
use extentdb_types::{Collation, Date, Datum, Decimal, SqlType};
use support::*;

const TIMEOUT: Duration = Duration::from_secs(30);

fn create(disk: &MemDisk) -> Arc<Database> {
    Database::create(&spec("statistics"), on(disk)).unwrap()
}

fn numbers(name: &str) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("n", SqlType::Int),
        ColumnSpec::new("name", varchar(40)),
    ];
    TableSpec::heap(name, columns)
}

fn row(id: i32, n: Option<i32>) -> Vec<Datum<'static>> {
    vec![Datum::Int(id), n.map_or(Datum::Null, Datum::Int), text(&format!("name {}", id % 10))]
}

fn fill(session: &mut Session, table: &Table, rows: impl Iterator<Item = Vec<Datum<'static>>>) {
    session.begin();
    rows.for_each(|row| drop(session.insert(table, &row).unwrap()));
    session.commit().unwrap();
}

fn statistics(session: &mut Session, table: &Arc<Table>, column: usize) -> Arc<Statistics> {
    session.statistics(table, column, TIMEOUT).unwrap().unwrap()
}

fn equal(statistics: &Statistics, value: &Datum<'_>) -> f64 {
    statistics.equal(&statistics.key(value).unwrap())
}

/// Names of the statistics in the catalog.
fn names(db: &Database, table: &Table) -> Vec<String> {
    let model = db.model().unwrap();
    let object = model.object_by_id(table.id()).unwrap();
    let ObjectBody::Table(table) = &object.body else { panic!() };
    let named = table.statistics.iter();
    named
        .filter(|it| it.name.starts_with("_WA") || it.name.starts_with("st"))
        .map(|it| it.name.clone())
        .collect()
}

/// Closes the database; the full check finds nothing, and the model that DDL has kept up is the one
/// in the files.
fn end(disk: &MemDisk, db: Arc<Database>) {
    db.close().unwrap();
    let spec = spec("statistics");
    assert_sound_on(disk, &spec.paths());
}

#[test]
fn a_column_without_statistics_gets_automatic_ones() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let table = session.create_table(&numbers("t")).unwrap();
    fill(&mut session, &table, (0..1_000).map(|id| row(id, (id % 4 > 0).then_some(id % 50))));
    let found = statistics(&mut session, &table, 1);
    assert_eq!(found.name(), format!("_WA_Sys_00000002_{:08X}", table.id().0));
    assert_eq!(names(&db, &table), [found.name()]);
    assert_eq!((found.rows(), found.rows_sampled()), (1_000.0, 1_000));
    assert_eq!(found.is_null(), 250.0);
    assert_eq!(equal(&found, &Datum::Null), 250.0);
    for n in 0..50 {
        let rows = (0..1_000).filter(|id| id % 4 > 0 && id % 50 == n).count();
        assert_eq!(equal(&found, &Datum::Int(n)), rows as f64, "{n}");
    }
    assert_eq!(found.density(2), None);
    // The same again, without a second scan.
    assert!(Arc::ptr_eq(&found, &statistics(&mut session, &table, 1)));
    drop((session, table));
    end(&disk, db);
}

#[test]
fn statistics_of_an_index_have_the_density_of_each_prefix() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let primary = IndexSpec::primary_key("pk", &["id"]).clustered();
    let table = session.create_table(&numbers("t").clustered(primary)).unwrap();
    session.create_index(&table, &IndexSpec::new("ix", &["n", "name"])).unwrap();
    fill(&mut session, &table, (0..600).map(|id| row(id, Some(id % 7))));
    let of_key = statistics(&mut session, &table, 0);
    assert_eq!((of_key.name(), of_key.density(1)), ("pk", Some(1.0 / 600.0)));
    let of_index = statistics(&mut session, &table, 1);
    assert_eq!(of_index.name(), "ix");
    let densities: Vec<f64> = (1..=3).map(|prefix| of_index.density(prefix).unwrap()).collect();
    assert_eq!(densities, [1.0 / 7.0, 1.0 / 70.0, 1.0 / 600.0], "the clustered key is the last");
    assert_eq!(of_index.average_key_bytes(), 4.0 + 6.0 + 4.0);
    assert!(names(&db, &table).is_empty());
    drop((session, table));
    end(&disk, db);
}

#[test]
fn values_of_all_types_are_found_again() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let latin = Collation(0x3400_d008);
    let types = [
        SqlType::Bit,
        SqlType::Decimal { precision: 18, scale: 4 },
        SqlType::Date,
        SqlType::DateTime2 { scale: 3 },
        SqlType::SmallDateTime,
        SqlType::DateTime,
        SqlType::Time { scale: 2 },
        SqlType::Float,
        SqlType::Money,
        SqlType::UniqueIdentifier,
        SqlType::NVarChar { len: Some(60), collation: latin },
        SqlType::Char { len: 8, collation: latin },
        SqlType::VarBinary { len: Some(9) },
    ];
    let names: Vec<String> = (0..types.len()).map(|at| format!("c{at}")).collect();
    let columns = names.iter().zip(types).map(|(name, ty)| ColumnSpec::new(name, ty)).collect();
    let table = session.create_table(&TableSpec::heap("t", columns)).unwrap();
    let mut rng = SplitMix64::new(5);
    let values: Vec<Vec<Datum<'static>>> =
        (0..1_500).map(|_| types.iter().map(|ty| value(&mut rng, ty)).collect()).collect();
    fill(&mut session, &table, values.iter().cloned());
    for column in 0..types.len() {
        let found = statistics(&mut session, &table, column);
        let mut rows: BTreeMap<Vec<u8>, f64> = BTreeMap::new();
        for row in &values {
            *rows.entry(found.key(&row[column]).unwrap()).or_default() += 1.0;
        }
        for (key, rows) in &rows {
            assert_eq!(found.equal(key), *rows, "{:?}", types[column]);
        }
        let keys: Vec<&Vec<u8>> = rows.keys().filter(|key| ***key != [0]).collect();
        let middle = keys[keys.len() / 2];
        let below: f64 = keys.iter().filter(|key| **key < middle).map(|key| rows[*key]).sum();
        assert_eq!(found.range(Bound::Unbounded, Bound::Excluded(middle)), below);
        assert_eq!(found.is_null(), rows.get(&vec![0]).copied().unwrap_or(0.0));
    }
    drop((session, table));
    end(&disk, db);
}

/// One of about 100 values of a type, or NULL.
fn value(rng: &mut SplitMix64, ty: &SqlType) -> Datum<'static> {
    if rng.below(20) == 0 {
        return Datum::Null;
    }
    let n = rng.below(100) as i64 - 50;
    let magnitude = n.unsigned_abs() as u8;
    let bytes = |len: usize| -> Vec<u8> {
        let fixed = [n as u8, 1, 2, magnitude, 4, 5, 6, 7, magnitude, 9, 10, 11, 12, 13, 14, 15];
        fixed[..len].to_vec()
    };
    let decoded = |bytes: Vec<u8>| Datum::decode(ty, &bytes).unwrap().into_owned();
    match ty {
        SqlType::Bit => Datum::Bit(n > 0),
        SqlType::Decimal { scale, .. } => {
            Datum::Decimal(Decimal::new(n < 0, u128::from(magnitude) * 1_237, *scale).unwrap())
        }
        SqlType::Date => Datum::Date(Date::new(730_000 + u32::from(magnitude)).unwrap()),
        SqlType::Float => decoded((n as f64 / 3.0).to_le_bytes().to_vec()),
        SqlType::Money => decoded((n * 12_345).to_le_bytes().to_vec()),
        SqlType::DateTime => {
            decoded([(magnitude as u32).to_le_bytes(), (n as i32).to_le_bytes()].concat())
        }
        SqlType::SmallDateTime => decoded(vec![magnitude, 1, n as u8, 3]),
        SqlType::Time { .. } => decoded(vec![magnitude, 3, 1]),
        SqlType::DateTime2 { .. } => decoded(vec![magnitude, 3, 1, 0, magnitude % 3, 0, 1]),
        SqlType::NVarChar { .. } => {
            // Case does not count.
            let text = if rng.below(2) == 0 { format!("wert {n}") } else { format!("WERT {n}") };
            decoded(text.encode_utf16().flat_map(u16::to_le_bytes).collect())
        }
        SqlType::Char { len, .. } => {
            let mut text = format!("v{n}").into_bytes();
            text.resize(usize::from(*len), b' ');
            decoded(text)
        }
        SqlType::VarBinary { .. } => decoded(bytes(4 + usize::from(magnitude % 5))),
        SqlType::UniqueIdentifier => decoded(bytes(16)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn texts_that_are_equal_by_their_collation_are_one_value() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let binary = SqlType::VarChar {
        len: Some(10),
        collation: Collation::from_name("Latin1_General_BIN2").unwrap(),
    };
    let columns = vec![ColumnSpec::new("ci", varchar(10)), ColumnSpec::new("bin", binary)];
    let table = session.create_table(&TableSpec::heap("t", columns)).unwrap();
    let texts = ["abc", "ABC", "Abc", "abd", "ABD "];
    let row =
        |of: &str| vec![text(of), Datum::decode(&binary, of.as_bytes()).unwrap().into_owned()];
    fill(&mut session, &table, texts.iter().map(|of| row(of)));
    let ci = statistics(&mut session, &table, 0);
    assert_eq!(
        (ci.density(1), equal(&ci, &text("aBC")), equal(&ci, &text("abd"))),
        (Some(0.5), 3.0, 2.0)
    );
    let bin = statistics(&mut session, &table, 1);
    assert_eq!((bin.density(1), equal(&bin, &text("ABC"))), (Some(0.2), 1.0));
    drop((session, table));
    end(&disk, db);
}

#[test]
fn frequent_values_of_a_skewed_column_are_exact() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let table = session.create_table(&numbers("t")).unwrap();
    let rows = (0..20_000).map(|id| row(id, Some(if id % 3 == 0 { 77 } else { id })));
    fill(&mut session, &table, rows);
    let found = statistics(&mut session, &table, 1);
    assert_eq!(found.histogram().steps().len(), 200);
    assert_eq!(equal(&found, &Datum::Int(77)), 6_668.0);
    assert!((0.5..2.0).contains(&equal(&found, &Datum::Int(10_000))));
    drop((session, table));
    end(&disk, db);
}

#[test]
fn statistics_are_created_updated_and_dropped_by_name() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let table = session.create_table(&numbers("t")).unwrap();
    fill(&mut session, &table, (0..100).map(|id| row(id, Some(id % 5))));
    let spec = StatisticsSpec {
        scan: StatisticsScan::Full,
        ..StatisticsSpec::new("st", &["n", "name"])
    };
    let made = session.create_statistics(&table, &spec).unwrap();
    assert_eq!(made.density(1), Some(0.2));
    assert_eq!(made.density(2), Some(0.1));
    assert!(matches!(session.create_statistics(&table, &spec), Err(Error::Exists { .. })));
    assert!(Arc::ptr_eq(&made, &statistics(&mut session, &table, 1)), "no automatic ones beside");
    fill(&mut session, &table, (100..150).map(|id| row(id, Some(9))));
    assert_eq!(session.statistics_in_memory(&table, "ST").unwrap().1, 50);
    session.update_statistics(&table, Some("st"), StatisticsScan::Percent(100.0)).unwrap();
    let (updated, modifications) = session.statistics_in_memory(&table, "st").unwrap();
    assert_eq!((equal(&updated, &Datum::Int(9)), modifications), (50.0, 0));
    session.drop_statistics(&table, "st").unwrap();
    assert!(session.statistics_in_memory(&table, "st").is_none());
    assert!(names(&db, &table).is_empty());
    assert!(session.drop_statistics(&table, "st").is_err());
    assert!(session.update_statistics(&table, Some("st"), StatisticsScan::Full).is_err());
    let bad = StatisticsSpec::new("st", &["n", "nothing"]);
    assert!(session.create_statistics(&table, &bad).is_err());
    drop((session, table));
    end(&disk, db);
}

#[test]
fn a_rollback_takes_created_statistics_and_brings_dropped_ones_back() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let table = session.create_table(&numbers("t")).unwrap();
    fill(&mut session, &table, (0..100).map(|id| row(id, Some(id))));
    session.begin();
    session.create_statistics(&table, &StatisticsSpec::new("st", &["n"])).unwrap();
    session.rollback().unwrap();
    assert!(names(&db, &table).is_empty());
    assert!(session.statistics_in_memory(&table, "st").is_none());
    session.create_statistics(&table, &StatisticsSpec::new("st", &["n"])).unwrap();
    session.begin();
    session.drop_statistics(&table, "st").unwrap();
    session.rollback().unwrap();
    assert_eq!(names(&db, &table), ["st"]);
    assert!(session.statistics_in_memory(&table, "st").is_some());
    drop((session, table));
    end(&disk, db);
}

#[test]
fn columns_and_tables_are_dropped_with_their_automatic_statistics() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let table = session.create_table(&numbers("t")).unwrap();
    fill(&mut session, &table, (0..100).map(|id| row(id, Some(id))));
    statistics(&mut session, &table, 1);
    session.drop_column(&table, "n").unwrap();
    assert!(names(&db, &table).is_empty());
    session.add_column(&table, &ColumnSpec::new("n", SqlType::Int)).unwrap();
    let found = statistics(&mut session, &table, 2);
    assert_eq!((found.is_null(), found.density(1)), (100.0, Some(1.0)), "those of the new column");
    session.drop_table(&table).unwrap();
    drop((session, table));
    end(&disk, db);
}

#[test]
fn names_outlive_a_restart_and_contents_are_built_again() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let table = session.create_table(&numbers("t")).unwrap();
    fill(&mut session, &table, (0..500).map(|id| row(id, Some(id % 20))));
    let before = statistics(&mut session, &table, 1);
    drop((session, table));
    db.close().unwrap();
    let paths: Paths = spec("statistics").paths();
    let db = Database::open(&paths, on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.table("t").unwrap();
    assert_eq!(names(&db, &table), [before.name()]);
    assert!(session.statistics_in_memory(&table, before.name()).is_none());
    let after = statistics(&mut session, &table, 1);
    assert_eq!((after.histogram(), after.id()), (before.histogram(), before.id()));
    assert_eq!(names(&db, &table).len(), 1);
    drop((session, table));
    end(&disk, db);
}

#[test]
fn thresholds_are_those_of_the_product() {
    let fixed = |rows| UpdateThreshold::Fixed.of_rows(rows);
    assert_eq!([0.0, 10.0, 500.0, 1_000.0, 1e6].map(fixed), [1, 500, 500, 700, 200_500]);
    let dynamic = |rows| UpdateThreshold::Dynamic.of_rows(rows);
    assert_eq!([0.0, 10.0, 1_000.0, 1e6, 1e8].map(dynamic), [1, 500, 700, 31_623, 316_228]);
}

#[test]
fn statistics_are_built_again_after_enough_changes() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let table = session.create_table(&numbers("t")).unwrap();
    fill(&mut session, &table, (0..1_000).map(|id| row(id, Some(1))));
    let first = statistics(&mut session, &table, 1);
    fill(&mut session, &table, (0..699).map(|id| row(id, Some(2))));
    assert!(Arc::ptr_eq(&first, &statistics(&mut session, &table, 1)), "699 of 700 changes");
    let (at, old) = rows(&mut session, &table).swap_remove(0);
    let mut other = old.clone();
    other[2] = text("another");
    session.update(&table, &at, &other).unwrap();
    let modifications = session.statistics_in_memory(&table, first.name()).unwrap().1;
    assert!((699..=700).contains(&modifications), "a heap without indexes counts every update");
    session.delete(&table, &at).unwrap();
    let second = statistics(&mut session, &table, 1);
    assert_eq!((second.rows(), equal(&second, &Datum::Int(2))), (1_698.0, 699.0));
    session.truncate_table(&table).unwrap();
    assert_eq!(statistics(&mut session, &table, 1).rows(), 0.0);
    session.insert(&table, &row(1, Some(5))).unwrap();
    assert_eq!(equal(&statistics(&mut session, &table, 1), &Datum::Int(5)), 1.0);
    drop((session, table));
    end(&disk, db);
}

#[test]
fn updates_of_other_columns_do_not_count_where_old_rows_are_read() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let primary = IndexSpec::primary_key("pk", &["id"]).clustered();
    let table = session.create_table(&numbers("t").clustered(primary)).unwrap();
    fill(&mut session, &table, (0..10).map(|id| row(id, Some(id))));
    let of_n = statistics(&mut session, &table, 1);
    let of_name = statistics(&mut session, &table, 2);
    for (at, mut values) in rows(&mut session, &table) {
        values[1] = Datum::Int(0);
        session.update(&table, &at, &values).unwrap();
    }
    let modifications =
        [&of_n, &of_name].map(|of| session.statistics_in_memory(&table, of.name()).unwrap().1);
    assert_eq!(modifications, [9, 0], "one row had that value");
    drop((session, table));
    end(&disk, db);
}

#[test]
fn the_background_task_builds_what_sessions_ask_for_and_what_is_stale() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let table = session.create_table(&numbers("t")).unwrap();
    fill(&mut session, &table, (0..1_000).map(|id| row(id, Some(id % 3))));
    db.run(|| {
        // A reader that has begun a transaction does not hold it up.
        session.begin();
        session.insert(&table, &row(1, Some(4))).unwrap();
        let found = statistics(&mut session, &table, 1);
        session.commit().unwrap();
        assert_eq!(equal(&found, &Datum::Int(1)), 333.0);
        fill(&mut session, &table, (0..800).map(|id| row(id, Some(50))));
        let name = found.name().to_owned();
        let is_renewed = |session: &Session| {
            session.statistics_in_memory(&table, &name).is_some_and(|(now, _)| now.rows() > 1_500.0)
        };
        for _ in 0..300 {
            if is_renewed(&session) {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        assert!(is_renewed(&session), "nobody asked, and they are new");
    });
    drop((session, table));
    end(&disk, db);
}

#[test]
fn a_session_whose_timeout_ends_goes_on_without_statistics() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let table = session.create_table(&numbers("t")).unwrap();
    fill(&mut session, &table, (0..100).map(|id| row(id, Some(id))));
    let mut other = db.session();
    db.run(|| {
        // Sch-M keeps the task from the table.
        other.begin();
        other.add_column(&table, &ColumnSpec::new("more", SqlType::Int)).unwrap();
        assert!(session.statistics(&table, 1, Duration::from_millis(200)).unwrap().is_none());
        other.rollback().unwrap();
        let found = (0..100).find_map(|_| session.statistics(&table, 1, TIMEOUT).unwrap());
        assert_eq!(found.unwrap().rows(), 100.0);
    });
    drop((session, other, table));
    end(&disk, db);
}

#[test]
fn many_sessions_share_one_build() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let table = session.create_table(&numbers("t")).unwrap();
    fill(&mut session, &table, (0..5_000).map(|id| row(id, Some(id))));
    let ask = || statistics(&mut db.session(), &table, 1);
    let found: Vec<Arc<Statistics>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(found.iter().all(|of| Arc::ptr_eq(of, &found[0])));
    assert_eq!(names(&db, &table).len(), 1);
    drop((session, table));
    end(&disk, db);
}

#[test]
fn nothing_is_created_where_that_is_off_or_the_type_has_no_order() {
    let disk = MemDisk::new();
    let statistics = StatisticsOptions { auto_create: false, ..StatisticsOptions::default() };
    let db = Database::create(&spec("statistics"), Options { statistics, ..on(&disk) }).unwrap();
    let mut session = db.session();
    let table = session.create_table(&numbers("t")).unwrap();
    assert!(session.statistics(&table, 1, TIMEOUT).unwrap().is_none());
    assert!(session.statistics(&table, 9, TIMEOUT).is_err());
    let lob = SqlType::VarBinary { len: None };
    let lobs =
        session.create_table(&TableSpec::heap("l", vec![ColumnSpec::new("v", lob)])).unwrap();
    assert!(session.create_statistics(&lobs, &StatisticsSpec::new("st", &["v"])).is_err());
    drop((session, table, lobs));
    end(&disk, db);
}

#[test]
fn a_large_table_is_sampled() {
    let disk = MemDisk::new();
    let db = create(&disk);
    let mut session = db.session();
    let table = session.create_table(&people("t")).unwrap();
    let rows = 24_000;
    let mut rng = SplitMix64::new(3);
    let name = "x".repeat(1_500);
    session.begin();
    for _ in 0..rows {
        session.insert(&table, &person(rng.below(2_000) as i32, &name)).unwrap();
    }
    session.commit().unwrap();
    let sampled = statistics(&mut session, &table, 0);
    assert!(sampled.rows_sampled() < rows * 2 / 3, "{}", sampled.rows_sampled());
    assert_eq!(sampled.rows(), rows as f64);
    let distinct = 1.0 / sampled.density(1).unwrap();
    assert!((1_800.0..2_200.0).contains(&distinct), "{distinct}");
    let key = sampled.key(&Datum::Int(1_000)).unwrap();
    let half = sampled.range(Bound::Unbounded, Bound::Excluded(&key));
    assert!((11_000.0..13_000.0).contains(&half), "{half}");
    session.update_statistics(&table, None, StatisticsScan::Full).unwrap();
    let whole = statistics(&mut session, &table, 0);
    assert_eq!(whole.rows_sampled(), rows);
    drop((session, table));
    end(&disk, db);
}

/// Rows that are made as they are asked for.
struct Million {
    next: i32,
}

impl RowSource for Million {
    fn next_row(&mut self, row: &mut NewRow<'_>) -> Result<bool, Error> {
        if self.next == 1_000_000 {
            return Ok(false);
        }
        let mixed = self.next.wrapping_mul(-1_640_531_527) >> 8;
        row.push(&Datum::Int(self.next))?;
        row.push(&Datum::Int(mixed))?;
        row.push(&text(&format!("name {mixed}")))?;
        self.next += 1;
        Ok(true)
    }
}

/// Figures of `docs/performance.md`.
#[test]
#[ignore = "measures: run it in a release build, alone"]
fn time_to_build_over_a_million_rows() {
    let disk = MemDisk::new();
    let options = Options { frames: 32_768, ..on(&disk) };
    let db = Database::create(&DatabaseSpec::new("statistics", "", 200 << 20), options).unwrap();
    let mut session = db.session();
    let primary = IndexSpec::primary_key("pk", &["id"]).clustered();
    let table = session.create_table(&numbers("t").clustered(primary)).unwrap();
    let mut rows = Million { next: 0 };
    session.insert_set(&table, &mut rows, LoadLock::Table).unwrap();
    let clock = SystemClock::new();
    session.create_statistics(&table, &StatisticsSpec::new("st_n", &["n"])).unwrap();
    session.create_statistics(&table, &StatisticsSpec::new("st_name", &["name"])).unwrap();
    for name in ["pk", "st_n", "st_name"] {
        for scan in [StatisticsScan::Full, StatisticsScan::Automatic] {
            let start = clock.monotonic();
            session.update_statistics(&table, Some(name), scan).unwrap();
            let time = clock.monotonic() - start;
            let (built, _) = session.statistics_in_memory(&table, name).unwrap();
            println!("{name} {scan:?}: {} rows, {time:.1?}", built.rows_sampled());
        }
    }
}
