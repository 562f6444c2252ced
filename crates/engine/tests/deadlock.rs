//! A deadlock is told with the names of what was locked, as trace flags 1204 and 1222 print it.

mod support;

use std::sync::Barrier;

use extentdb_base::sync::Arc;
use extentdb_engine::{Cause, Database, Error, IndexSpec, Options};
use extentdb_io::MemDisk;
use extentdb_telemetry::{Event, Recorder};
use support::*;

#[test]
fn a_circle_is_told_with_its_names() {
    for clustered in [false, true] {
        let disk = MemDisk::new();
        let events = Arc::new(Recorder::default());
        let options = Options { events: events.clone(), ..on(&disk) };
        let db = Database::create(&spec("circle"), options).unwrap();
        let key = IndexSpec::primary_key("pk_people", &["id"]);
        let table = people("people");
        let table = if clustered { table.clustered(key) } else { table };
        let table = db.session().create_table(&table).unwrap();
        let at = [1, 2].map(|id| db.session().insert(&table, &person(id, "x")).unwrap());
        events.take();
        let both_hold_one = Barrier::new(2);
        let change = |first: usize, second: usize| -> Result<(), Error> {
            let mut session = db.session();
            session.begin();
            let held = session.update(&table, &at[first], &person(first as i32 + 1, "y"));
            both_hold_one.wait();
            held?;
            session.update(&table, &at[second], &person(second as i32 + 1, "y"))?;
            session.commit()
        };
        let done = std::thread::scope(|scope| {
            let other = scope.spawn(|| change(1, 0));
            [change(0, 1), other.join().unwrap()]
        });
        assert_eq!(done.iter().filter(|done| done.is_ok()).count(), 1, "{done:?}");
        let gave_way = done.iter().find_map(|done| done.as_ref().err());
        assert_eq!(gave_way.map(Error::cause), Some(Cause::Lock));
        let told = events.take().into_iter().filter_map(|event| match event {
            Event::Deadlock { victim, graph, list, .. } => {
                Some((victim, graph.join("\n"), list.join("\n")))
            }
            _ => None,
        });
        let told: Vec<_> = told.collect();
        let [(victim, graph, list)] = told.as_slice() else { panic!("{told:?}") };
        assert!(victim.low > 0);
        assert!(graph.contains("Deadlock encountered") && graph.contains("Victim"), "{graph}");
        let (kind, name) =
            if clustered { ("keylock", "indexname=pk_people") } else { ("ridlock", "RID: ") };
        assert!(list.contains(kind) || graph.contains(kind), "{list}");
        assert!(list.contains(name) || graph.contains(name), "{graph}\n{list}");
        assert!(list.contains("objectname=circle.dbo.people"), "{list}");
    }
}

/// One that becomes the victim has done half of what it was asked for: it takes nothing more and cannot
/// commit that half.
#[test]
fn deadlock_victim_can_only_roll_back() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("doomed"), on(&disk)).unwrap();
    let table = db.session().create_table(&people("people")).unwrap();
    let at = [1, 2].map(|id| db.session().insert(&table, &person(id, "old")).unwrap());
    let both_hold_one = Barrier::new(2);
    let change = |name: &str, first: usize, second: usize| {
        let mut session = db.session();
        session.set_deadlock_priority(if name == "loser" { -5 } else { 5 });
        session.begin();
        let held = session.update(&table, &at[first], &person(first as i32 + 1, name));
        both_hold_one.wait();
        held.unwrap();
        let done = session.update(&table, &at[second], &person(second as i32 + 1, name));
        if done.is_ok() {
            assert!(!session.is_doomed());
            session.commit().unwrap();
            return;
        }
        assert!(done.is_err_and(|error| error.is_deadlock()) && session.is_doomed());
        for refused in [
            session.commit(),
            session.save("here"),
            session.insert(&table, &person(3, name)).map(|_| ()),
            session.get(&table, &at[first]).map(|_| ()),
        ] {
            assert!(matches!(refused, Err(Error::Doomed)), "{refused:?}");
        }
        assert!(session.is_in_transaction());
        session.rollback().unwrap();
        session.insert(&table, &person(3, "after")).unwrap();
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| change("loser", 1, 0));
        change("winner", 0, 1);
        other.join().unwrap();
    });
    let names = [0, 1].map(|row| db.session().get(&table, &at[row]).unwrap().unwrap());
    assert_eq!(names, [person(1, "winner"), person(2, "winner")]);
    assert!(!db.session().is_doomed());
}
