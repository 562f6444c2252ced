//! Transactions over several databases: after any crash all of them have committed, or none.

mod support;

use std::path::PathBuf;

use extentdb_base::env::SplitMix64;
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Database, DatabaseSpec, Error, Instance, InstanceOptions, Paths, Session, Termination,
};
use extentdb_io::MemDisk;
use support::*;

const USERS: [&str; 2] = ["a", "b"];

fn start(disk: &MemDisk) -> Result<Arc<Instance>, Error> {
    Instance::start(InstanceOptions {
        tempdb_files: 1,
        tempdb_file_bytes: 2 << 20,
        ..InstanceOptions::new("data", on(disk))
    })
}

/// A server with two databases, each with a table of no rows; master has one, too.
fn server() -> MemDisk {
    let disk = MemDisk::new();
    let instance = start(&disk).unwrap();
    for name in USERS {
        instance.create_database(&DatabaseSpec::new(name, "data", 2 << 20)).unwrap();
    }
    for name in ["a", "b", "master"] {
        let mut session = instance.session(name).unwrap();
        session.create_table(&people("people")).unwrap();
    }
    instance.shutdown(Termination::NoWait).unwrap();
    disk
}

/// Inserts one row with this id into each of the databases, in one transaction.
fn insert_everywhere(
    instance: &Instance,
    session: &mut Session,
    names: &[&str],
    id: i32,
) -> Result<(), Error> {
    session.begin();
    for name in names {
        instance.use_database(session, name)?;
        let table = session.table("people")?;
        session.insert(&table, &person(id, name))?;
    }
    session.commit()
}

fn ids_in(instance: &Instance, name: &str) -> Vec<i32> {
    let mut session = instance.session(name).unwrap();
    let table = session.table("people").unwrap();
    ids(&mut session, &table)
}

/// Cuts the power at each call of the disk during transactions over `names`.
fn cut_everywhere(names: &[&str]) {
    let pristine = server();
    let mut outcomes = [0, 0];
    for calls in 0.. {
        let disk = pristine.copy();
        let instance = start(&disk).unwrap();
        disk.fail_after(calls);
        let mut acknowledged = Vec::new();
        let mut session = instance.session(names[0]).unwrap();
        for id in 1..=3 {
            match insert_everywhere(&instance, &mut session, names, id) {
                Ok(()) => acknowledged.push(id),
                Err(_) => break,
            }
        }
        drop(session);
        drop(instance);
        let is_done = acknowledged.len() == 3;
        for seed in 0..3 {
            let crashed = disk.crash(&mut SplitMix64::new(calls * 3 + seed));
            let instance = start(&crashed).unwrap();
            let found: Vec<Vec<i32>> = names.iter().map(|name| ids_in(&instance, name)).collect();
            assert!(
                found.iter().all(|ids| *ids == found[0]) && found[0].starts_with(&acknowledged),
                "calls {calls} seed {seed}: acknowledged {acknowledged:?}, found {found:?}"
            );
            outcomes[usize::from(found[0].len() > acknowledged.len())] += 1;
            // What was decided is there for good, and the databases work.
            let mut session = instance.session(names[0]).unwrap();
            insert_everywhere(&instance, &mut session, names, 99).unwrap();
        }
        if is_done {
            break;
        }
    }
    assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
}

#[test]
fn a_crash_at_any_call_leaves_all_or_none_of_a_transaction_over_two_databases() {
    cut_everywhere(&USERS);
}

#[test]
fn a_crash_at_any_call_leaves_all_or_none_where_master_takes_part() {
    cut_everywhere(&["b", "master", "a"]);
}

/// The disk of a server that died between the decision and the commit of the participant, and the
/// path of the participant's files.
fn in_doubt() -> (MemDisk, Paths) {
    let pristine = server();
    for calls in 0.. {
        let disk = pristine.copy();
        let instance = start(&disk).unwrap();
        disk.fail_after(calls);
        let mut session = instance.session("a").unwrap();
        let done = insert_everywhere(&instance, &mut session, &USERS, 1);
        drop(session);
        drop(instance);
        let crashed = disk.crash(&mut SplitMix64::new(calls));
        let data = vec![PathBuf::from("data/b.mdf")];
        let paths = Paths { data, log: PathBuf::from("data/b_log.ldf") };
        let alone = Database::open(&paths, on(&crashed.copy())).unwrap();
        if alone.recovered().in_doubt == 1 {
            return (crashed, paths);
        }
        assert!(done.is_err(), "no call leaves the participant in doubt");
    }
    unreachable!("the loop has no end");
}

#[test]
fn a_participant_that_is_opened_alone_stays_in_doubt_and_says_so() {
    let (disk, paths) = in_doubt();
    for name in ["first", "second"] {
        let alone = Database::open(&paths, on(&disk)).unwrap();
        assert_eq!(alone.recovered().in_doubt, 1);
        let mut session = alone.session();
        let table = session.table("people").unwrap();
        let refused = session.insert(&table, &person(7, "x"));
        assert!(matches!(refused, Err(Error::Deferred { .. })), "{refused:?}");
        session.create_table(&people(name)).unwrap();
        drop((session, table));
        alone.close().unwrap();
    }
    let instance = start(&disk).unwrap();
    assert_eq!(ids_in(&instance, "a"), ids_in(&instance, "b"));
}

#[test]
fn the_decision_waits_for_a_participant_that_is_offline() {
    let (disk, paths) = in_doubt();
    let primary = disk.contents(&paths.data[0]).unwrap();
    extentdb_io::Disk::remove(&disk, &paths.data[0]).unwrap();
    for _ in 0..3 {
        let instance = start(&disk).unwrap();
        assert!(instance.database("b").is_err());
        let a = instance.database("a").unwrap();
        a.checkpoint().unwrap();
        a.checkpoint().unwrap();
        drop(a);
        instance.shutdown(Termination::NoWait).unwrap();
    }
    disk.put(&paths.data[0], primary);
    let instance = start(&disk).unwrap();
    assert_eq!(ids_in(&instance, "a"), ids_in(&instance, "b"));
}
