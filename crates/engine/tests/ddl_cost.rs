//! What statements that change the catalog cost, by how many tables there are. Run with
//! `cargo test --release -p extentdb-engine --test ddl_cost -- --ignored --nocapture`.

mod support;

use std::time::Duration;

use extentdb_base::env::{Clock, SystemClock};
use extentdb_engine::{Database, DatabaseSpec, Options, Session};
use extentdb_io::MemDisk;
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

#[test]
#[ignore = "prints times"]
fn a_table_costs_the_same_however_many_there_are() {
    let spec = DatabaseSpec::new("cost", "", 64 << 20);
    let options = Options { frames: 8192, ..on(&MemDisk::new()) };
    let db = Database::create(&spec, options).unwrap();
    let mut session = db.session();
    let mut made = 0;
    for tables in [0, 100, 900] {
        for number in made..tables {
            let table = session.create_table(&people(&format!("table_{number}"))).unwrap();
            session.insert(&table, &person(1, "a row")).unwrap();
        }
        made = tables;
        let median = median_cycle(&mut session);
        println!("create + insert + drop with {tables:4} tables: {median:?}");
    }
}
