//! Parallel scans, seeks of many keys and cursors, while other sessions insert, update, delete and
//! split pages.

mod support;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::thread;
use extentdb_engine::{
    Access, Address, ColumnBatch, ColumnComparison, ColumnSpec, CompareOp, Database, Error,
    IndexSpec, Isolation, Locators, ParallelScan, Range, ReadHints, Row, Sample, ScanSpec, Session,
    Table, TableHint, Values,
};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};
use support::*;

const ROWS: i32 = 4000;
const WORKERS: usize = 3;

/// A heap and a clustered table with the ids 0, 10, 20 …, and an index `by_group` of both, which has
/// not all columns; `by_id` of the heap has id and group.
fn tables(db: &Arc<Database>) -> Vec<Arc<Table>> {
    let mut session = db.session();
    let columns = || {
        vec![
            ColumnSpec::new("id", SqlType::Int).not_null(),
            ColumnSpec::new("grp", SqlType::Int),
            ColumnSpec::new("name", varchar(2000)),
        ]
    };
    let by_id = || IndexSpec::new("by_id", &["id"]).unique();
    let heap = extentdb_engine::TableSpec::heap("heap", columns());
    let heap = session.create_table(&heap).unwrap();
    let covering = IndexSpec { included: vec!["grp".to_owned()], ..by_id() };
    session.create_index(&heap, &covering).unwrap();
    let clustered = extentdb_engine::TableSpec::heap("clustered", columns()).clustered(by_id());
    let clustered = session.create_table(&clustered).unwrap();
    for table in [&heap, &clustered] {
        session.create_index(table, &IndexSpec::new("by_group", &["grp"])).unwrap();
        session.begin();
        for id in 0..ROWS {
            session.insert(table, &numbered(10 * id, "name")).unwrap();
        }
        session.commit().unwrap();
    }
    vec![heap, clustered]
}

fn numbered(id: i32, name: &str) -> Row {
    vec![Datum::Int(id), Datum::Int(id / 10 % 50), text(&name.repeat(1 + id as usize % 9))]
}

fn ints(batch: &ColumnBatch, column: usize) -> Vec<i32> {
    match &batch.columns[column].values {
        Values::I32(values) => values.clone(),
        other => panic!("{other:?}"),
    }
}

/// The ids that workers and session read, sorted.
fn ids_of(mut scan: ParallelScan, session: &mut Session) -> Result<Vec<i32>, Error> {
    let mut workers: Vec<_> = (0..WORKERS).map(|_| scan.worker()).collect();
    let mut ids = Vec::new();
    thread::scope(|scope| {
        let read = |worker: &mut extentdb_engine::ScanWorker| {
            let mut ids = Vec::new();
            while let Some(batch) = worker.next_batch(300)? {
                ids.extend(ints(&batch, 0));
            }
            Ok::<_, Error>(ids)
        };
        let threads: Vec<_> =
            workers.iter_mut().map(|worker| scope.spawn(move || read(worker))).collect();
        for thread in threads {
            ids.extend(thread.join().unwrap()?);
        }
        Ok::<_, Error>(())
    })?;
    while let Some(batch) = scan.next_batch(session, 300)? {
        ids.extend(ints(&batch, 0));
    }
    ids.sort_unstable();
    Ok(ids)
}

fn parallel(
    session: &mut Session,
    table: &Arc<Table>,
    spec: &ScanSpec<'_>,
) -> Result<Vec<i32>, Error> {
    session.begin();
    let scan = session.open_parallel_scan(table, spec)?;
    let ids = ids_of(scan, session)?;
    session.commit()?;
    Ok(ids)
}

#[test]
fn workers_and_session_read_every_row_once() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("parallel"), on(&disk)).unwrap();
    for table in tables(&db) {
        let mut session = db.session();
        let all: Vec<i32> = (0..ROWS).map(|id| 10 * id).collect();
        for hints in [
            &[][..],
            &[TableHint::NoLock],
            &[TableHint::TabLock],
            &[TableHint::RepeatableRead],
            &[TableHint::UpdLock, TableHint::HoldLock],
        ] {
            let access = Access::Table(ReadHints::of(hints).unwrap());
            let spec = ScanSpec { access, ..ScanSpec::new(&[0]) };
            assert_eq!(parallel(&mut session, &table, &spec).unwrap(), all, "{hints:?}");
        }
        for index in ["by_id", "by_group"] {
            let access = Access::Range(Range::all(index));
            let spec = ScanSpec { access, ..ScanSpec::new(&[0, 1]) };
            assert_eq!(parallel(&mut session, &table, &spec).unwrap(), all, "{index}");
        }
        let comparisons =
            [ColumnComparison { column: 0, op: CompareOp::Less, value: Datum::Int(1000) }];
        let few = ScanSpec { comparisons: &comparisons, ..ScanSpec::new(&[0]) };
        assert_eq!(parallel(&mut session, &table, &few).unwrap(), all[..100]);
        let sample = Some(Sample { percent: 40.0, seed: 1 });
        let sampled = ScanSpec { sample, ..ScanSpec::new(&[0]) };
        let found = parallel(&mut session, &table, &sampled).unwrap();
        assert!((400..3600).contains(&found.len()), "{}", found.len());
        // Rows of open transactions are read by the session, its own and those of others.
        session.begin();
        session.insert(&table, &numbered(7, "own")).unwrap();
        let scan = session.open_parallel_scan(&table, &ScanSpec::new(&[0])).unwrap();
        let mut own = all.clone();
        own.insert(1, 7);
        assert_eq!(ids_of(scan, &mut session).unwrap(), own);
        session.rollback().unwrap();
        assert!(session.open_parallel_scan(&table, &ScanSpec::new(&[0])).is_err());
    }
}

#[test]
fn a_cancelled_parallel_scan_ends() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("parallel"), on(&disk)).unwrap();
    let table = tables(&db).pop().unwrap();
    let mut session = db.session();
    session.begin();
    let scan = session.open_parallel_scan(&table, &ScanSpec::new(&[0])).unwrap();
    session.cancellation().cancel();
    assert!(matches!(scan.worker().next_batch(10), Err(Error::Cancelled)));
}

/// Rows that nobody touches are read exactly once by every kind of scan; what is rolled back is
/// never read under READ COMMITTED.
#[test]
fn scans_are_right_while_writers_split_pages() {
    let disk = MemDisk::new();
    let spec = spec("parallel");
    let db = Database::create(&spec, on(&disk)).unwrap();
    for table in tables(&db) {
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            for seed in 1..3 {
                let is_done = &is_done;
                let db = &db;
                let table = &table;
                scope.spawn(move || write(db, table, seed, is_done));
            }
            let mut session = db.session();
            for round in 0..12 {
                read(&mut session, &table, round);
            }
            is_done.store(true, Ordering::Relaxed);
        });
    }
    close_and_check(db, &disk, &spec.paths());
}

/// Inserts long rows between the others, moves and deletes them; every second transaction is rolled
/// back, and inserts rows of group 99.
fn write(db: &Arc<Database>, table: &Arc<Table>, seed: u64, is_done: &AtomicBool) {
    let mut rng = SplitMix64::new(seed);
    let mut session = db.session();
    let mut next = seed as i32;
    for round in 0.. {
        if is_done.load(Ordering::Relaxed) {
            return;
        }
        let is_kept = round % 2 == 0;
        session.begin();
        for _ in 0..20 {
            let id = 10 * (rng.below(ROWS as u64) as i32) + 1 + seed as i32;
            next += 1;
            let mut row = numbered(id, &format!("{next:100}"));
            row[1] = Datum::Int(if is_kept { 60 } else { 99 });
            match session.insert(table, &row) {
                Ok(at) if id % 20 > 10 => drop(session.delete(table, &at)),
                Ok(_) | Err(Error::DuplicateKey { .. }) => {}
                // The other writer was first, or one of the two is a deadlock victim.
                Err(error) => {
                    assert!(matches!(error, Error::Lock(_) | Error::Doomed), "{error}");
                    break;
                }
            }
        }
        if is_kept && !session.is_doomed() {
            session.commit().unwrap()
        } else {
            session.rollback().unwrap()
        }
    }
}

fn read(session: &mut Session, table: &Arc<Table>, round: i32) {
    let expected = ROWS as usize;
    let verify = |rows: &mut dyn Iterator<Item = (i32, i32)>, what: &str| {
        let mut seen: BTreeMap<i32, u32> = BTreeMap::new();
        for (id, group) in rows {
            assert_ne!(group, 99, "{what}: {id} was never committed");
            *seen.entry(id).or_default() += 1;
        }
        assert!(seen.values().all(|times| *times == 1), "{what}: a row twice");
        let untouched = seen.keys().filter(|id| **id % 10 == 0).count();
        assert_eq!(untouched, expected, "{what}: rows are missing");
    };
    let columns = [0, 1];
    let by_id = Access::Range(Range::all("by_id"));
    let backward = Access::Range(Range::all("by_id").backward());
    for access in [Access::Table(ReadHints::default()), by_id, backward] {
        let spec = ScanSpec { access: access.clone(), ..ScanSpec::new(&columns) };
        let mut scan = session.open_scan(table, &spec).unwrap();
        let mut rows = Vec::new();
        while let Some(batch) = scan.next_batch(session, 1 + 70 * round as usize).unwrap() {
            rows.extend(ints(&batch, 0).into_iter().zip(ints(&batch, 1)));
        }
        verify(&mut rows.into_iter(), &format!("scan of {access:?}"));
        let mut cursor = session.open_cursor(table, &access).unwrap();
        let mut rows = Vec::new();
        while let Some(batch) = cursor.next_batch(session, 7 + 50 * round as usize).unwrap() {
            for row in batch.iter() {
                let row = row.unwrap();
                let (Datum::Int(id), Datum::Int(group)) =
                    (row.value(0).unwrap(), row.value(1).unwrap())
                else {
                    panic!("no numbers")
                };
                rows.push((id, group));
            }
        }
        verify(&mut rows.into_iter(), &format!("cursor of {access:?}"));
    }
    session.begin();
    let mut scan = session.open_parallel_scan(table, &ScanSpec::new(&columns)).unwrap();
    let mut workers: Vec<_> = (0..2).map(|_| scan.worker()).collect();
    let mut rows = Vec::new();
    thread::scope(|scope| {
        let read = |worker: &mut extentdb_engine::ScanWorker| {
            let mut rows = Vec::new();
            while let Some(batch) = worker.next_batch(1000).unwrap() {
                rows.extend(ints(&batch, 0).into_iter().zip(ints(&batch, 1)));
            }
            rows
        };
        let threads: Vec<_> =
            workers.iter_mut().map(|worker| scope.spawn(move || read(worker))).collect();
        threads.into_iter().for_each(|thread| rows.extend(thread.join().unwrap()));
    });
    while let Some(batch) = scan.next_batch(session, 1000).unwrap() {
        rows.extend(ints(&batch, 0).into_iter().zip(ints(&batch, 1)));
    }
    session.commit().unwrap();
    verify(&mut rows.into_iter(), "parallel scan");
}

/// Serializable cursors and scans hold what they have read against inserts.
#[test]
fn a_serializable_scan_is_repeated_without_phantoms() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("parallel"), on(&disk)).unwrap();
    let table = tables(&db).pop().unwrap();
    let lower = [Datum::Int(1000)];
    let upper = [Datum::Int(3000)];
    let range = Range {
        from: std::ops::Bound::Included(&lower),
        to: std::ops::Bound::Included(&upper),
        ..Range::all("by_id")
    };
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for seed in 1..3 {
            let is_done = &is_done;
            let db = &db;
            let table = &table;
            scope.spawn(move || write(db, table, seed, is_done));
        }
        let mut session = db.session();
        session.set_isolation(Isolation::Serializable);
        let mut done = 0;
        while done < 10 {
            session.begin();
            let twice = (0..2).map(|pass| {
                let access = Access::Range(range.clone());
                let spec = ScanSpec { access: access.clone(), ..ScanSpec::new(&[0]) };
                if pass == 0 {
                    let mut ids = Vec::new();
                    let mut scan = session.open_scan(&table, &spec)?;
                    while let Some(batch) = scan.next_batch(&mut session, 64)? {
                        ids.extend(ints(&batch, 0));
                    }
                    return Ok(ids);
                }
                let mut ids = Vec::new();
                let mut cursor = session.open_cursor(&table, &access)?;
                while let Some(batch) = cursor.next_batch(&mut session, 10)? {
                    for row in batch.iter() {
                        let Datum::Int(id) = row?.value(0)? else { panic!("no number") };
                        ids.push(id);
                    }
                }
                Ok(ids)
            });
            let twice: Result<Vec<Vec<i32>>, Error> = twice.collect();
            match twice {
                Ok(twice) => {
                    assert_eq!(twice[0], twice[1]);
                    assert!(twice[0].is_sorted());
                    session.commit().unwrap();
                    done += 1;
                }
                Err(error) => {
                    assert!(error.is_deadlock(), "{error}");
                    session.rollback().unwrap();
                }
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

/// Rows by keys, one by one, each with the number of its key.
fn sought(
    session: &mut Session,
    table: &Arc<Table>,
    index: &str,
    keys: &[i32],
) -> Vec<(u32, i32, Address)> {
    let mut found = Vec::new();
    for (number, key) in (0..).zip(keys) {
        let each = &mut |at: Address, row: Row| {
            found.push((number, id_of(&row), at));
            ControlFlow::Continue(())
        };
        session.seek(table, index, &[Datum::Int(*key)], each).unwrap();
    }
    found.sort();
    found
}

#[test]
fn seeks_of_many_keys_equal_seeks_of_each() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("parallel"), on(&disk)).unwrap();
    let mut rng = SplitMix64::new(3);
    for table in tables(&db) {
        let mut session = db.session();
        let mut writer = db.session();
        for round in 0..6 {
            for index in ["by_id", "by_group"] {
                let most = if index == "by_id" { 10 * ROWS as u64 + 50 } else { 55 };
                let many = [0, 1, 5, 300][round % 4];
                let mut keys: Vec<i32> = (0..many)
                    .map(|_| rng.below(most) as i32 / 10 * 10 + 5 * (round as i32 / 5))
                    .collect();
                if index == "by_group" {
                    keys.iter_mut().for_each(|key| *key /= 10);
                }
                keys.extend(keys.clone().iter().step_by(7));
                let expected = sought(&mut session, &table, index, &keys);
                for (columns, hints) in [
                    (&[0usize, 1][..], ReadHints::default()),
                    (&[0, 2], ReadHints::default()),
                    (&[0], ReadHints::of(&[TableHint::RepeatableRead]).unwrap()),
                ] {
                    let access = Access::Range(Range { hints, ..Range::all(index) });
                    let locators = Locators::Delivered;
                    let spec = ScanSpec { access, locators, ..ScanSpec::new(columns) };
                    let seek = session.open_seek(&table, &spec).unwrap();
                    let keys: Vec<[Datum<'_>; 1]> =
                        keys.iter().map(|key| [Datum::Int(*key)]).collect();
                    let keys: Vec<&[Datum<'_>]> = keys.iter().map(|key| &key[..]).collect();
                    let found = seek.rows_of(&mut session, &keys).unwrap();
                    let rows = (0..found.batch.rows).zip(ints(&found.batch, 0));
                    let mut rows: Vec<(u32, i32, Address)> = rows
                        .map(|(row, id)| (found.keys[row], id, found.batch.address(row).unwrap()))
                        .collect();
                    rows.sort();
                    assert_eq!(rows, expected, "{index} {columns:?} {many}");
                    let less = [ColumnComparison {
                        column: 0,
                        op: CompareOp::Less,
                        value: Datum::Int(20_000),
                    }];
                    let spec = ScanSpec { comparisons: &less, ..spec };
                    let seek = session.open_seek(&table, &spec).unwrap();
                    let found = seek.rows_of(&mut session, &keys).unwrap();
                    let mut rows: Vec<(u32, i32)> =
                        found.keys.into_iter().zip(ints(&found.batch, 0)).collect();
                    rows.sort_unstable();
                    let few = expected.iter().filter(|(_, id, _)| *id < 20_000);
                    assert_eq!(rows, few.map(|(key, id, _)| (*key, *id)).collect::<Vec<_>>());
                }
            }
            // Later rounds meet pages with open changes, of this session.
            if round == 3 {
                session.begin();
            }
            if round >= 3 {
                for id in 0..40 {
                    session.insert(&table, &numbered(1000 * id + round as i32, "own")).unwrap();
                }
            } else {
                writer.insert(&table, &numbered(77 + round as i32, "new")).unwrap();
            }
        }
        session.rollback().unwrap();
        let none = ScanSpec::new(&[0]);
        assert!(session.open_seek(&table, &none).is_err());
    }
}

/// A statement that updates what its own scan has read changes each row once.
#[test]
fn updates_by_locators_change_each_row_once() {
    let disk = MemDisk::new();
    let spec = spec("parallel");
    let db = Database::create(&spec, on(&disk)).unwrap();
    for table in tables(&db) {
        let mut session = db.session();
        session.begin();
        let access = Access::Table(ReadHints::for_update());
        let scan_spec = ScanSpec {
            access,
            locators: Locators::Delivered,
            ..ScanSpec::new(&[0, 1])
        };
        let mut scan = session.open_scan(&table, &scan_spec).unwrap();
        let mut changed = 0;
        while let Some(batch) = scan.next_batch(&mut session, 100).unwrap() {
            for (row, id) in ints(&batch, 0).into_iter().enumerate() {
                // Longer than before: rows of the heap move, leaves split.
                let mut new = numbered(id, &"x".repeat(80));
                new[1] = Datum::Int(1 + ints(&batch, 1)[row]);
                session.update(&table, &batch.address(row).unwrap(), &new).unwrap();
                changed += 1;
            }
        }
        assert_eq!(changed, ROWS);
        session.commit().unwrap();
        let all = rows(&mut session, &table);
        assert!(all.iter().all(|(_, row)| row[1] == Datum::Int(1 + id_of(row) / 10 % 50)));
    }
    close_and_check(db, &disk, &spec.paths());
}
