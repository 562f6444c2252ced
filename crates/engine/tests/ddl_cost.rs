//! What statements that change the catalog cost, by how many tables there are. Run with
//! `cargo test --release -p extentdb-engine --test ddl_cost -- --ignored --nocapture`.

mod support;

use std::time::Duration;

use extentdb_base::env::{Clock, SystemClock};
use extentdb_base::sync::Arc;
use extentdb_engine::{ColumnSpec, Database, DatabaseSpec, Options, Session};
use extentdb_io::MemDisk;
use extentdb_types::SqlType;
use support::*;

const CYCLES: u32 = 100;

/// Creates a table, inserts a row and drops it, each in a transaction of its own.
fn cycle(session: &mut Session, number: u32) {
    let table = session.create_table(&people(&format!("cycle_{number}"))).unwrap();
    session.insert(&table, &person(1, "a row")).unwrap();
    session.drop_table(&table).unwrap();
}

/// The median time of a cycle.
fn median_cycle(session: &mut Session) -> Duration {
    let clock = SystemClock::new();
    let mut times: Vec<Duration> = (0..CYCLES)
        .map(|number| {
            let started = clock.monotonic();
            cycle(session, number);
            clock.monotonic() - started
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// The median time to have a model again after a column was added to a table.
fn median_model(db: &Arc<Database>, session: &mut Session) -> Duration {
    let clock = SystemClock::new();
    let table = session.create_table(&people("described")).unwrap();
    let mut times = Vec::new();
    for number in 0..CYCLES {
        let column = ColumnSpec::new(&format!("c{number}"), SqlType::Int);
        session.add_column(&table, &column).unwrap();
        let started = clock.monotonic();
        let model = db.model().unwrap();
        times.push(clock.monotonic() - started);
        let columns = &model.object("dbo", "described").unwrap().table().unwrap().columns;
        assert_eq!(columns.len() as u32, 3 + number);
    }
    session.drop_table(&table).unwrap();
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
#[ignore = "prints times"]
fn a_table_costs_the_same_however_many_there_are() {
    let spec = DatabaseSpec::new("cost", "", 512 << 20);
    let options = Options { frames: 65_536, ..on(&MemDisk::new()) };
    let db = Database::create(&spec, options).unwrap();
    let mut session = db.session();
    let mut made = 0;
    for tables in [10, 100, 1000, 10_000] {
        for number in made..tables {
            let table = session.create_table(&people(&format!("table_{number}"))).unwrap();
            session.insert(&table, &person(1, "a row")).unwrap();
        }
        made = tables;
        let median = median_cycle(&mut session);
        let model = median_model(&db, &mut session);
        println!("{tables:5} tables: create + insert + drop {median:?}, a model again {model:?}");
    }
}
