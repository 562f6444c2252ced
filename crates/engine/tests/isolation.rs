//! The anomalies by name: which isolation lets them happen, and which does not.
//!
//! Two sessions in one thread: what would wait is refused after a moment, and that it was refused
//! is what shows the lock.

mod support;

use std::ops::{Bound, ControlFlow};
use std::time::Duration;

use extentdb_base::sync::Arc;
use extentdb_engine::{
    Address, Cause, Database, Error, IndexSpec, Isolation, Range, Row, Session, Table, TableSpec,
    Timeout,
};
use extentdb_io::MemDisk;
use extentdb_types::Datum;
use support::*;

const ALL: [Isolation; 4] = [
    Isolation::ReadUncommitted,
    Isolation::ReadCommitted,
    Isolation::RepeatableRead,
    Isolation::Serializable,
];

/// A heap with an index, a clustered table, and one with a key that is not unique: `t` of people
/// 10, 20 … 50.
fn tables() -> Vec<(TableSpec, &'static str)> {
    let by_id = || IndexSpec::new("by_id", &["id"]);
    vec![
        (people("t"), "by_id"),
        (people("t").clustered(by_id().unique()), "by_id"),
        (people("t").clustered(by_id()), "by_id"),
        (people("t").clustered(IndexSpec::new("by_name", &["name"])), "by_id"),
    ]
}

struct Stage {
    disk: MemDisk,
    paths: extentdb_engine::Paths,
    db: Database,
    index: &'static str,
}

fn stage(table: &TableSpec, index: &'static str) -> Stage {
    let disk = MemDisk::new();
    let spec = spec("isolation");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    let made = session.create_table(table).unwrap();
    if !made.indexes().iter().any(|name| name == index) {
        session.create_index(&made, &IndexSpec::new(index, &["id"])).unwrap();
    }
    for id in [10, 20, 30, 40, 50] {
        session.insert(&made, &person(id, "before")).unwrap();
    }
    drop(session);
    Stage { disk, paths: spec.paths(), db, index }
}

impl Stage {
    fn sessions(&self, isolation: Isolation) -> (Session<'_>, Session<'_>, Arc<Table>) {
        let mut reader = self.db.session();
        let mut writer = self.db.session();
        reader.set_isolation(isolation);
        let moment = Timeout::After(Duration::from_millis(20));
        reader.set_lock_timeout(moment);
        writer.set_lock_timeout(moment);
        let table = reader.table("t").unwrap();
        (reader, writer, table)
    }

    fn close(self) {
        self.db.close().unwrap();
        assert_sound_on(&self.disk, &self.paths);
    }
}

/// Ids from 15 to 45 by the index, in order.
fn middle(session: &mut Session<'_>, table: &Table, index: &str) -> Result<Vec<i32>, Error> {
    let from = [Datum::Int(15)];
    let to = [Datum::Int(45)];
    let range = Range {
        from: Bound::Included(&from),
        to: Bound::Included(&to),
        ..Range::all(index)
    };
    let mut ids = Vec::new();
    let each = &mut |_: Address, row: Row| {
        ids.push(if let Datum::Int(id) = row[0] { id } else { -1 });
        ControlFlow::Continue(())
    };
    session.range(table, &range, each)?;
    Ok(ids)
}

fn address_of(session: &mut Session<'_>, table: &Table, id: i32) -> Address {
    let found = rows(session, table).into_iter().find(|(_, row)| row[0] == Datum::Int(id));
    found.unwrap().0
}

fn is_refused<T>(done: Result<T, Error>) -> bool {
    is_lock(done.err().as_ref())
}

fn is_lock(error: Option<&Error>) -> bool {
    error.is_some_and(|error| error.cause() == Cause::Lock)
}

#[test]
fn a_dirty_read_happens_to_read_uncommitted_alone() {
    for (spec, index) in tables() {
        let stage = stage(&spec, index);
        for isolation in ALL {
            let (mut reader, mut writer, table) = stage.sessions(isolation);
            let at = address_of(&mut writer, &table, 30);
            writer.begin();
            writer.update(&table, &at, &person(31, "dirty")).unwrap();
            let seen = middle(&mut reader, &table, stage.index);
            match isolation {
                Isolation::ReadUncommitted => assert_eq!(seen.unwrap(), [20, 31, 40]),
                _ => assert!(is_refused(seen), "{isolation:?}"),
            }
            writer.rollback().unwrap();
            assert_eq!(middle(&mut reader, &table, stage.index).unwrap(), [20, 30, 40]);
        }
        stage.close();
    }
}

#[test]
fn a_read_that_cannot_be_repeated_happens_below_repeatable_read() {
    for (spec, index) in tables() {
        let stage = stage(&spec, index);
        for isolation in ALL {
            let (mut reader, mut writer, table) = stage.sessions(isolation);
            let at = address_of(&mut writer, &table, 30);
            reader.begin();
            assert_eq!(middle(&mut reader, &table, stage.index).unwrap(), [20, 30, 40]);
            let changed = writer.update(&table, &at, &person(30, "changed"));
            let deleted = writer.delete(&table, changed.as_ref().unwrap_or(&at));
            match isolation {
                Isolation::ReadUncommitted | Isolation::ReadCommitted => {
                    assert!(changed.is_ok() && deleted.is_ok());
                    assert_eq!(middle(&mut reader, &table, stage.index).unwrap(), [20, 40]);
                    writer.insert(&table, &person(30, "again")).unwrap();
                }
                _ => {
                    assert!(is_refused(changed) && is_refused(deleted));
                    assert_eq!(middle(&mut reader, &table, stage.index).unwrap(), [20, 30, 40]);
                }
            }
            reader.commit().unwrap();
        }
        stage.close();
    }
}

#[test]
fn a_phantom_happens_to_all_but_serializable() {
    for (spec, index) in tables() {
        let stage = stage(&spec, index);
        for isolation in ALL {
            let (mut reader, mut writer, table) = stage.sessions(isolation);
            reader.begin();
            assert_eq!(middle(&mut reader, &table, stage.index).unwrap(), [20, 30, 40]);
            let inserted = [15, 25, 45].map(|id| writer.insert(&table, &person(id, "phantom")));
            let outside = [5, 55].map(|id| writer.insert(&table, &person(id, "outside")));
            let again = middle(&mut reader, &table, stage.index).unwrap();
            if isolation == Isolation::Serializable {
                assert!(inserted.iter().all(|done| is_lock(done.as_ref().err())));
                assert_eq!(again, [20, 30, 40]);
            } else {
                assert_eq!(
                    again,
                    [15, 20, 25, 30, 40, 45],
                    "{isolation:?} {:?} {inserted:?}",
                    table.indexes()
                );
            }
            // A key after the range and the next key is nobody's business.
            assert!(outside[1].is_ok());
            reader.commit().unwrap();
            for at in inserted.into_iter().chain(outside).flatten() {
                writer.delete(&table, &at).unwrap();
            }
            assert_eq!(middle(&mut reader, &table, stage.index).unwrap(), [20, 30, 40]);
        }
        stage.close();
    }
}

#[test]
fn an_empty_range_stays_empty_and_so_does_the_end_of_an_index() {
    for (spec, index) in tables() {
        let stage = stage(&spec, index);
        let (mut reader, mut writer, table) = stage.sessions(Isolation::Serializable);
        let mut found = Vec::new();
        let mut look = |reader: &mut Session<'_>, from: i32, backward: bool| {
            let values = [Datum::Int(from)];
            let range = Range {
                from: Bound::Included(&values),
                backward,
                ..Range::all(stage.index)
            };
            found.clear();
            let each = &mut |_: Address, row: Row| {
                found.push(row[0].clone());
                ControlFlow::Continue(())
            };
            reader.range(&table, &range, each).unwrap();
            found.len()
        };
        for backward in [false, true] {
            reader.begin();
            assert_eq!(look(&mut reader, 51, backward), 0);
            for id in [55, 5000] {
                assert!(is_refused(writer.insert(&table, &person(id, "at the end"))), "{id}");
            }
            let before = writer.insert(&table, &person(33, "before")).unwrap();
            writer.delete(&table, &before).unwrap();
            assert_eq!(look(&mut reader, 51, backward), 0);
            reader.rollback().unwrap();
            assert_eq!(look(&mut reader, 40, backward), 2);
        }
        let after = writer.insert(&table, &person(55, "after")).unwrap();
        writer.delete(&table, &after).unwrap();
        drop((reader, writer, table));
        stage.close();
    }
}

#[test]
fn the_key_that_ends_a_range_does_not_vanish_under_it() {
    for (spec, index) in tables() {
        let stage = stage(&spec, index);
        let (mut reader, mut writer, table) = stage.sessions(Isolation::Serializable);
        let end = address_of(&mut writer, &table, 50);
        reader.begin();
        assert_eq!(middle(&mut reader, &table, stage.index).unwrap(), [20, 30, 40]);
        // Were it gone, 45 would lie before a key that nobody has locked.
        assert!(is_refused(writer.delete(&table, &end)));
        reader.commit().unwrap();
        writer.delete(&table, &end).unwrap();
        drop((reader, writer, table));
        stage.close();
    }
}

#[test]
fn a_lost_update_is_kept_away_by_update_locks() {
    for (spec, index) in tables() {
        let stage = stage(&spec, index);
        let (mut one, mut other, table) = stage.sessions(Isolation::ReadCommitted);
        let at = address_of(&mut one, &table, 30);
        // Both read, both write: what the first one wrote is lost.
        one.begin();
        other.begin();
        assert_eq!(one.get(&table, &at).unwrap(), other.get(&table, &at).unwrap());
        one.update(&table, &at, &person(30, "one")).unwrap();
        one.commit().unwrap();
        let at = address_of(&mut one, &table, 30);
        let lost = other.update(&table, &at, &person(30, "other")).unwrap();
        other.commit().unwrap();
        // With U locks the second one waits before it reads; who only reads does not.
        one.begin();
        other.begin();
        assert!(one.row_for_update(&table, &lost).unwrap().is_some());
        assert!(is_refused(other.row_for_update(&table, &lost)));
        assert!(other.get(&table, &lost).unwrap().is_some());
        one.update(&table, &lost, &person(30, "kept")).unwrap();
        one.commit().unwrap();
        other.rollback().unwrap();
        drop((one, other, table));
        stage.close();
    }
}

#[test]
fn two_who_read_the_same_and_then_write_it_do_not_wait_for_ever() {
    let stage = stage(&tables().remove(1).0, "by_id");
    let table = stage.db.session().table("t").unwrap();
    let at = address_of(&mut stage.db.session(), &table, 30);
    let ready = std::sync::Barrier::new(2);
    let write = |name: &str| {
        let mut session = stage.db.session();
        session.set_isolation(Isolation::RepeatableRead);
        session.begin();
        let there = session.get(&table, &at);
        ready.wait();
        assert!(there.unwrap().is_some());
        let done = session.update(&table, &at, &person(30, name)).map(|_| ());
        if done.is_ok() { session.commit() } else { session.rollback().and(done) }
    };
    let ended = std::thread::scope(|scope| {
        let threads = [scope.spawn(|| write("one")), scope.spawn(|| write("other"))];
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(ended.iter().filter(|done| done.is_ok()).count(), 1, "{ended:?}");
    assert!(ended.iter().any(|done| is_lock(done.as_ref().err())), "{ended:?}");
    drop(table);
    stage.close();
}

/// StopThreads many leaves, while they are split and emptied: what a transaction has read of a range is
/// what it reads again.
#[test]
fn threads_bring_no_phantoms_into_a_range() {
    use extentdb_base::env::{Rng, SplitMix64};
    use std::sync::atomic::{AtomicBool, Ordering};

    const KEYS: u64 = 2000;
    for (spec, index) in tables().into_iter().take(2) {
        let stage = stage(&spec, index);
        let table = stage.db.session().table("t").unwrap();
        let row = |id: i32| person(id, &"long".repeat(100));
        for id in (100..KEYS as i32).step_by(7) {
            stage.db.session().insert(&table, &row(id)).unwrap();
        }
        let is_over = AtomicBool::new(false);
        let write = |seed: u64| {
            let mut rng = SplitMix64::new(seed);
            let mut session = stage.db.session();
            let mut own = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let done = if own.len() > 100 {
                    let at: Address = own.swap_remove(rng.below(own.len() as u64) as usize);
                    session.delete(&table, &at)
                } else {
                    session.insert(&table, &row(rng.below(KEYS) as i32)).map(|at| own.push(at))
                };
                let may_fail = |error: &Error| {
                    is_lock(Some(error)) || matches!(error, Error::DuplicateKey { .. })
                };
                assert!(done.as_ref().err().is_none_or(may_fail), "{done:?}");
            }
        };
        let read = || {
            let mut session = stage.db.session();
            session.set_isolation(Isolation::Serializable);
            let from = [Datum::Int(500)];
            let to = [Datum::Int(1500)];
            let whole = Range {
                from: Bound::Included(&from),
                to: Bound::Excluded(&to),
                ..Range::all(index)
            };
            let mut agreed = 0;
            let mut tries = 0;
            while agreed < 20 && tries < 2000 {
                tries += 1;
                session.begin();
                let mut once = |range: &Range<'_>| -> Result<Vec<Row>, Error> {
                    let mut found = Vec::new();
                    session.range(&table, range, &mut |_, row| {
                        found.push(vec![row[0].clone()]);
                        ControlFlow::Continue(())
                    })?;
                    Ok(found)
                };
                let first = once(&whole);
                std::thread::yield_now();
                let again = once(&whole.clone().backward());
                if let (Ok(first), Ok(mut again)) = (first, again) {
                    again.reverse();
                    assert_eq!(first, again);
                    agreed += 1;
                }
                session.rollback().unwrap();
            }
            assert_eq!(agreed, 20, "in {tries} tries");
        };
        std::thread::scope(|scope| {
            for seed in 0..2 {
                scope.spawn(move || write(seed));
            }
            // The writers must hear of the end also when the reader failed, or the failure is never
            // told.
            let ended = scope.spawn(read).join();
            is_over.store(true, Ordering::Relaxed);
            ended.unwrap();
        });
        drop(table);
        stage.close();
    }
}

#[test]
fn a_range_that_its_reader_inserts_into_stays_closed() {
    for (spec, index) in tables() {
        let stage = stage(&spec, index);
        let (mut reader, mut writer, table) = stage.sessions(Isolation::Serializable);
        reader.begin();
        assert_eq!(middle(&mut reader, &table, stage.index).unwrap(), [20, 30, 40]);
        let own = reader.insert(&table, &person(35, "own")).unwrap();
        for id in [33, 37] {
            assert!(is_refused(writer.insert(&table, &person(id, "phantom"))), "{id}");
        }
        assert_eq!(middle(&mut reader, &table, stage.index).unwrap(), [20, 30, 35, 40]);
        reader.commit().unwrap();
        writer.delete(&table, &own).unwrap();
        drop((reader, writer, table));
        stage.close();
    }
}

#[test]
fn a_key_that_may_go_again_does_not_end_a_range() {
    for (spec, index) in tables() {
        let stage = stage(&spec, index);
        let (mut reader, mut writer, table) = stage.sessions(Isolation::Serializable);
        writer.begin();
        writer.insert(&table, &person(47, "uncommitted")).unwrap();
        reader.begin();
        // The reader waits for the one whose key would end the range.
        assert!(is_refused(middle(&mut reader, &table, stage.index)));
        writer.rollback().unwrap();
        assert_eq!(middle(&mut reader, &table, stage.index).unwrap(), [20, 30, 40]);
        assert!(is_refused(writer.insert(&table, &person(43, "phantom"))));
        reader.commit().unwrap();
        drop((reader, writer, table));
        stage.close();
    }
}
