//! Row versions of a database turned on and off, and who may read them when.

use std::ops::ControlFlow;

use extentdb_base::sync::{Arc, thread};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};

use crate::{
    ColumnSpec, Database, DatabaseChange, DatabaseInfo, DatabaseSpec, Error, Instance,
    InstanceOptions, Isolation, Options, Session, SnapshotIsolationState, SnapshotKind, Table,
    TableSpec, Termination, Unsupported,
};

fn start(disk: &MemDisk) -> Arc<Instance> {
    let options = InstanceOptions {
        tempdb_files: 1,
        tempdb_file_bytes: 2 << 20,
        ..InstanceOptions::new("data", Options::on(Arc::new(disk.clone())))
    };
    Instance::start(options).unwrap()
}

/// A server with database `shop`, where table `t` has one row.
fn shop(disk: &MemDisk) -> Arc<Instance> {
    let instance = start(disk);
    add_database(&instance, "shop");
    instance
}

fn add_database(instance: &Instance, name: &str) {
    instance.create_database(&DatabaseSpec::new(name, "data", 2 << 20)).unwrap();
    let mut session = instance.session(name).unwrap();
    let column = ColumnSpec::new("id", SqlType::Int);
    let table = session.create_table(&TableSpec::heap("t", vec![column])).unwrap();
    session.insert(&table, &[Datum::Int(1)]).unwrap();
}

fn change(instance: &Instance, change: DatabaseChange) -> Result<(), Error> {
    instance.change_database("shop", change, Termination::Wait, None)
}

fn allow(instance: &Instance) {
    change(instance, DatabaseChange::AllowSnapshotIsolation(true)).unwrap();
}

fn info(instance: &Instance) -> DatabaseInfo {
    instance.databases().into_iter().find(|database| database.name == "shop").unwrap()
}

fn until(instance: &Instance, state: SnapshotIsolationState) {
    while info(instance).snapshot_isolation != state {
        thread::yield_now();
    }
}

fn snapshot_session(instance: &Instance) -> (Session, Arc<Table>) {
    let mut session = instance.session("shop").unwrap();
    session.set_isolation(Isolation::Snapshot);
    let table = session.table("t").unwrap();
    (session, table)
}

fn count(session: &mut Session, table: &Arc<Table>) -> Result<usize, Error> {
    let mut rows = 0;
    session.scan(table, &mut |_, _| {
        rows += 1;
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

#[test]
fn snapshot_isolation_waits_for_open_writers_and_survives_a_restart() {
    let disk = MemDisk::new();
    let instance = shop(&disk);
    assert_eq!(info(&instance).snapshot_isolation, SnapshotIsolationState::Off);
    let mut writer = instance.session("shop").unwrap();
    let table = writer.table("t").unwrap();
    writer.begin();
    writer.insert(&table, &[Datum::Int(2)]).unwrap();
    let no_wait = instance.change_database(
        "shop",
        DatabaseChange::AllowSnapshotIsolation(true),
        Termination::NoWait,
        None,
    );
    assert!(matches!(no_wait, Err(Error::TransactionsOpen { .. })));
    assert_eq!(info(&instance).snapshot_isolation, SnapshotIsolationState::Off);
    thread::scope(|scope| {
        let turned_on = scope.spawn(|| allow(&instance));
        until(&instance, SnapshotIsolationState::InTransitionToOn);
        let (mut early, table) = snapshot_session(&instance);
        let refused = count(&mut early, &table);
        assert!(matches!(refused, Err(Error::SnapshotNotAllowed { .. })), "{refused:?}");
        assert!(!turned_on.is_finished());
        writer.commit().unwrap();
        turned_on.join().unwrap();
    });
    assert_eq!(info(&instance).snapshot_isolation, SnapshotIsolationState::On);
    drop((writer, table));
    instance.shutdown(Termination::NoWait).unwrap();
    drop(instance);

    let instance = start(&disk);
    assert_eq!(info(&instance).snapshot_isolation, SnapshotIsolationState::On);
    let (mut session, table) = snapshot_session(&instance);
    assert_eq!(count(&mut session, &table).unwrap(), 2);
    assert!(session.database().row_versions.is_writing());
}

#[test]
fn turning_it_off_waits_for_the_last_snapshot() {
    let instance = shop(&MemDisk::new());
    allow(&instance);
    let (mut reader, table) = snapshot_session(&instance);
    reader.begin();
    assert_eq!(count(&mut reader, &table).unwrap(), 1);
    thread::scope(|scope| {
        const OFF: DatabaseChange = DatabaseChange::AllowSnapshotIsolation(false);
        let turned_off = scope.spawn(|| change(&instance, OFF).unwrap());
        until(&instance, SnapshotIsolationState::InTransitionToOff);
        let (mut late, table) = snapshot_session(&instance);
        assert!(matches!(count(&mut late, &table), Err(Error::SnapshotNotAllowed { .. })));
        assert!(reader.database().row_versions.is_writing(), "writers tag until the last has gone");
        reader.commit().unwrap();
        turned_off.join().unwrap();
    });
    assert_eq!(info(&instance).snapshot_isolation, SnapshotIsolationState::Off);
    assert!(!reader.database().row_versions.is_writing());
}

#[test]
fn read_committed_snapshot_needs_the_database_for_itself() {
    let disk = MemDisk::new();
    let instance = shop(&disk);
    let on = DatabaseChange::ReadCommittedSnapshot(true);
    let other = instance.session("shop").unwrap();
    let busy = instance.change_database("shop", on, Termination::NoWait, None);
    assert!(matches!(busy, Err(Error::SessionsOpen { sessions: 1 })));
    drop(other);
    let mut own = instance.session("shop").unwrap();
    own.begin();
    let inside = instance.change_database("shop", on, Termination::NoWait, Some(&own));
    assert!(matches!(inside, Err(Error::OpenTransaction)));
    own.rollback().unwrap();
    instance.change_database("shop", on, Termination::NoWait, Some(&own)).unwrap();
    assert!(info(&instance).is_read_committed_snapshot);
    assert_eq!(info(&instance).snapshot_isolation, SnapshotIsolationState::Off);
    let (mut session, table) = snapshot_session(&instance);
    let refused = count(&mut session, &table);
    assert!(matches!(refused, Err(Error::SnapshotNotAllowed { .. })), "SNAPSHOT is another option");
    drop((own, session, table));
    instance.shutdown(Termination::NoWait).unwrap();
    drop(instance);
    assert!(info(&start(&disk)).is_read_committed_snapshot);
}

#[test]
fn a_snapshot_is_taken_at_the_first_access_of_data_and_given_up_at_the_end() {
    let instance = shop(&MemDisk::new());
    allow(&instance);
    let (mut reader, table) = snapshot_session(&instance);
    reader.begin();
    assert_eq!(instance.versions().snapshots, []);
    count(&mut reader, &table).unwrap();
    let [snapshot] = instance.versions().snapshots[..] else { panic!("one snapshot") };
    assert_eq!(snapshot.session, reader.handle().id());
    assert_eq!(snapshot.kind, SnapshotKind::Transaction);
    let mut writer = instance.session("shop").unwrap();
    writer.insert(&writer.table("t").unwrap(), &[Datum::Int(2)]).unwrap();
    let versions = instance.versions();
    assert_eq!(versions.horizon, snapshot.number);
    assert!(versions.last_commit > snapshot.number);
    reader.commit().unwrap();
    let versions = instance.versions();
    assert_eq!(versions.snapshots, []);
    assert_eq!(versions.horizon, versions.last_commit);
}

#[test]
fn a_transaction_is_snapshot_from_its_beginning_or_never() {
    let instance = shop(&MemDisk::new());
    allow(&instance);
    let mut session = instance.session("shop").unwrap();
    let table = session.table("t").unwrap();
    session.begin();
    session.set_isolation(Isolation::Snapshot);
    let refused = count(&mut session, &table);
    assert!(matches!(refused, Err(Error::NotStartedAsSnapshot { .. })), "{refused:?}");
    session.rollback().unwrap();
    session.begin();
    session.set_isolation(Isolation::ReadCommitted);
    count(&mut session, &table).unwrap();
    session.set_isolation(Isolation::Snapshot);
    count(&mut session, &table).unwrap();
}

#[test]
fn a_database_that_allows_snapshots_later_refuses_older_ones() {
    let instance = shop(&MemDisk::new());
    add_database(&instance, "other");
    allow(&instance);
    let (mut session, table) = snapshot_session(&instance);
    session.begin();
    count(&mut session, &table).unwrap();
    // A commit in between.
    let mut writer = instance.session("shop").unwrap();
    writer.insert(&table, &[Datum::Int(2)]).unwrap();
    let on = DatabaseChange::AllowSnapshotIsolation(true);
    instance.change_database("other", on, Termination::Wait, None).unwrap();
    instance.use_database(&mut session, "other").unwrap();
    let table = session.table("t").unwrap();
    let refused = count(&mut session, &table);
    assert!(matches!(refused, Err(Error::SnapshotTooOld { .. })), "{refused:?}");
    session.rollback().unwrap();
    session.begin();
    assert_eq!(count(&mut session, &table).unwrap(), 1);
}

#[test]
fn a_table_that_ddl_has_changed_since_is_refused() {
    let instance = shop(&MemDisk::new());
    allow(&instance);
    let mut owner = instance.session("shop").unwrap();
    let other = owner
        .create_table(&TableSpec::heap("other", vec![ColumnSpec::new("id", SqlType::Int)]))
        .unwrap();
    let (mut reader, table) = snapshot_session(&instance);
    reader.begin();
    count(&mut reader, &table).unwrap();
    owner.truncate_table(&other).unwrap();
    let refused = count(&mut reader, &other);
    assert!(matches!(refused, Err(Error::RedefinedSinceSnapshot { .. })), "{refused:?}");
    count(&mut reader, &table).unwrap();
    reader.commit().unwrap();
    reader.begin();
    assert_eq!(count(&mut reader, &other).unwrap(), 0);
}

#[test]
fn tables_are_not_altered_in_a_transaction_under_snapshot() {
    let instance = shop(&MemDisk::new());
    allow(&instance);
    let (mut session, table) = snapshot_session(&instance);
    let column = ColumnSpec::new("n", SqlType::Int);
    session.begin();
    assert!(matches!(session.add_column(&table, &column), Err(Error::DdlInSnapshot)));
    session.rollback().unwrap();
    session.add_column(&table, &column).unwrap();
}

#[test]
fn a_transaction_in_two_databases_has_one_number() {
    let instance = shop(&MemDisk::new());
    add_database(&instance, "other");
    allow(&instance);
    let on = DatabaseChange::AllowSnapshotIsolation(true);
    instance.change_database("other", on, Termination::Wait, None).unwrap();
    let mut session = instance.session("shop").unwrap();
    let before = instance.versions().last_commit;
    session.begin();
    session.insert(&session.table("t").unwrap(), &[Datum::Int(2)]).unwrap();
    instance.use_database(&mut session, "other").unwrap();
    session.insert(&session.table("t").unwrap(), &[Datum::Int(2)]).unwrap();
    assert_eq!(instance.versions().open_writers, 2);
    session.commit().unwrap();
    let after = instance.versions();
    assert_eq!(after.last_commit.0, before.0 + 1);
    assert_eq!(after.open_writers, 0);
}

#[test]
fn system_databases_and_databases_without_a_server_have_no_versions() {
    let instance = shop(&MemDisk::new());
    let on = DatabaseChange::AllowSnapshotIsolation(true);
    for name in ["master", "tempdb", "model"] {
        let refused = instance.change_database(name, on, Termination::Wait, None);
        assert!(matches!(refused, Err(Error::SystemDatabase { .. })), "{name}");
    }
    let options = Options::on(Arc::new(MemDisk::new()));
    let alone = Database::create(&DatabaseSpec::new("alone", "", 2 << 20), options).unwrap();
    let refused = alone.set_read_committed_snapshot(true);
    assert!(matches!(refused, Err(Error::NotSupported(Unsupported::RowVersionsAlone))));
}

#[test]
fn writers_of_tags_have_ids_that_tags_of_other_programs_do_not_reach() {
    let disk = MemDisk::new();
    let instance = shop(&disk);
    let last_id = |instance: &Instance| instance.database("shop").unwrap().transactions.last_id();
    assert_eq!(last_id(&instance).high, 0);
    allow(&instance);
    let (mut session, table) = snapshot_session(&instance);
    session.insert(&table, &[Datum::Int(2)]).unwrap();
    let writer = last_id(&instance);
    assert_eq!(writer.high, 0x4000);
    drop((session, table));
    instance.shutdown(Termination::NoWait).unwrap();
    drop(instance);
    assert!(last_id(&start(&disk)) >= writer);
}
