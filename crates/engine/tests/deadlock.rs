//! The report of a deadlock names what was locked, as trace flags 1204 and 1222 print it. Who is the
//! victim, and what becomes of it: `scripts/deadlock`.

mod support;

use std::sync::Barrier;

use extentdb_base::sync::Arc;
use extentdb_engine::{Cause, Database, Error, IndexSpec, Options};
use extentdb_io::MemDisk;
use extentdb_telemetry::{Event, Recorder};
use support::*;

#[test]
fn deadlock_report_names_tables_and_indexes() {
    for clustered in [false, true] {
        let disk = MemDisk::new();
        let events = Arc::new(Recorder::default());
        let options = Options { events: events.clone(), ..on(&disk) };
        let db = Database::create(&spec("cycle"), options).unwrap();
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
        let victim_error = done.iter().find_map(|done| done.as_ref().err());
        assert_eq!(victim_error.map(Error::cause), Some(Cause::Lock));
        let reports = events.take().into_iter().filter_map(|event| match event {
            Event::Deadlock { victim, graph, list } => {
                Some((victim, graph.join("\n"), list.join("\n")))
            }
            _ => None,
        });
        let reports: Vec<_> = reports.collect();
        let [(victim, graph, list)] = reports.as_slice() else { panic!("{reports:?}") };
        assert!(victim.low > 0);
        assert!(graph.contains("Deadlock encountered") && graph.contains("Victim"), "{graph}");
        let (kind, name) =
            if clustered { ("keylock", "indexname=pk_people") } else { ("ridlock", "RID: ") };
        assert!(list.contains(kind) || graph.contains(kind), "{list}");
        assert!(list.contains(name) || graph.contains(name), "{graph}\n{list}");
        assert!(list.contains("objectname=cycle.dbo.people"), "{list}");
    }
}
