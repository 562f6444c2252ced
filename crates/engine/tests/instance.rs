//! Several databases in one server: from the first start to the drop.

mod support;

use std::path::{Path, PathBuf};
use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicUsize, Ordering};
use extentdb_base::sync::{Arc, thread};
use extentdb_engine::{
    DatabaseChange, DatabaseSpec, DatabaseState, Error, Instance, InstanceOptions, StatementEnd,
    Termination, Timeout, UserAccess,
};
use extentdb_io::{Disk, DiskCounters, DiskFile, Durability, Fill, MemDisk};
use extentdb_types::Datum;
use support::*;

fn options(disk: &MemDisk) -> InstanceOptions {
    InstanceOptions {
        tempdb_files: 2,
        tempdb_file_bytes: 2 << 20,
        ..InstanceOptions::new("data", on(disk))
    }
}

fn start(disk: &MemDisk) -> Arc<Instance> {
    Instance::start(options(disk)).unwrap()
}

fn user_spec(name: &str) -> DatabaseSpec {
    DatabaseSpec::new(name, "data", 2 << 20)
}

fn stop(instance: &Arc<Instance>) {
    instance.shutdown(Termination::NoWait).unwrap();
}

fn names(instance: &Instance) -> Vec<String> {
    instance.databases().into_iter().map(|database| database.name).collect()
}

/// A database with a table `people` of one row.
fn with_people(instance: &Instance, name: &str) {
    instance.create_database(&user_spec(name)).unwrap();
    let mut session = instance.session(name).unwrap();
    let table = session.create_table(&people("people")).unwrap();
    session.insert(&table, &person(1, name)).unwrap();
}

#[test]
fn the_first_start_makes_the_system_databases_and_later_ones_find_them() {
    let disk = MemDisk::new();
    let instance = start(&disk);
    assert_eq!(names(&instance), ["master", "tempdb", "model", "msdb"]);
    with_people(&instance, "shop");
    assert_eq!(instance.databases()[4].id.0, 5);
    stop(&instance);
    drop(instance);
    for name in ["master", "model", "msdbdata", "shop"] {
        let data = vec![PathBuf::from(format!("data/{name}.mdf"))];
        assert_sound_on(&disk, &extentdb_engine::Paths { data, log: PathBuf::new() });
    }

    let instance = start(&disk);
    assert_eq!(names(&instance), ["master", "tempdb", "model", "msdb", "shop"]);
    let mut session = instance.session("SHOP").unwrap();
    let table = session.table("people").unwrap();
    assert_eq!(ids(&mut session, &table), [1]);
    assert!(session.database().recovered().was_clean());
}

#[test]
fn a_server_that_died_recovers_all_its_databases() {
    let disk = MemDisk::new();
    let instance = start(&disk);
    ["a", "b"].iter().for_each(|name| with_people(&instance, name));
    let crashed = disk.crash(&mut extentdb_base::env::SplitMix64::new(7));
    let instance = start(&crashed);
    for name in ["a", "b"] {
        let mut session = instance.session(name).unwrap();
        let table = session.table("people").unwrap();
        assert_eq!(ids(&mut session, &table), [1]);
    }
}

#[test]
fn a_session_goes_from_database_to_database() {
    let disk = MemDisk::new();
    let instance = start(&disk);
    ["a", "b"].iter().for_each(|name| with_people(&instance, name));
    let mut session = instance.session("a").unwrap();
    session.begin();
    for (name, id) in [("a", 2), ("b", 2), ("a", 3)] {
        instance.use_database(&mut session, name).unwrap();
        let table = session.table("people").unwrap();
        session.insert(&table, &person(id, "x")).unwrap();
    }
    session.save("point").unwrap();
    for name in ["b", "tempdb", "a"] {
        instance.use_database(&mut session, name).unwrap();
        let table = match session.table("people") {
            Ok(table) => table,
            Err(_) => session.create_table(&people("people")).unwrap(),
        };
        session.insert(&table, &person(9, "x")).unwrap();
    }
    session.rollback_to("point").unwrap();
    session.commit().unwrap();
    for (name, expected) in [("a", &[1, 2, 3][..]), ("b", &[1, 2])] {
        instance.use_database(&mut session, name).unwrap();
        let table = session.table("people").unwrap();
        assert_eq!(ids(&mut session, &table), expected);
    }
    instance.use_database(&mut session, "tempdb").unwrap();
    assert!(session.table("people").is_err(), "its creation was undone");
}

#[test]
fn a_scope_over_databases_fails_as_one_statement() {
    let disk = MemDisk::new();
    let instance = start(&disk);
    ["a", "b"].iter().for_each(|name| with_people(&instance, name));
    let mut session = instance.session("a").unwrap();
    for end in [StatementEnd::Failed, StatementEnd::Done] {
        let scope = session.begin_scope().unwrap();
        for name in ["a", "b"] {
            instance.use_database(&mut session, name).unwrap();
            let table = session.table("people").unwrap();
            session.insert(&table, &person(2, "x")).unwrap();
        }
        session.end_scope(scope, end).unwrap();
        assert!(!session.is_in_transaction());
        let expected = if end == StatementEnd::Done { &[1, 2][..] } else { &[1] };
        for name in ["a", "b"] {
            instance.use_database(&mut session, name).unwrap();
            let table = session.table("people").unwrap();
            assert_eq!(ids(&mut session, &table), expected, "{name} {end:?}");
        }
    }
}

#[test]
fn a_detached_database_is_attached_under_another_name() {
    let disk = MemDisk::new();
    let instance = start(&disk);
    with_people(&instance, "shop");
    let paths = instance.detach("shop", Termination::NoWait).unwrap();
    assert!(matches!(instance.database("shop"), Err(Error::NoDatabase { .. })));
    instance.attach("store", &paths).unwrap();
    let mut session = instance.session("store").unwrap();
    assert_eq!(session.database().name(), "store");
    let table = session.table("people").unwrap();
    assert_eq!(ids(&mut session, &table), [1]);
    drop((session, table));
    stop(&instance);
    drop(instance);
    let paths = extentdb_engine::Paths { log: PathBuf::from("data/shop_log.ldf"), ..paths };
    let alone = extentdb_engine::Database::open(&paths, on(&disk)).unwrap();
    assert_eq!(alone.name(), "store", "the boot page says so");
}

#[test]
fn a_dropped_database_leaves_no_file() {
    let disk = MemDisk::new();
    let instance = start(&disk);
    let before = disk.paths();
    with_people(&instance, "shop");
    assert!(disk.paths().len() > before.len());
    instance.drop_database("shop", Termination::NoWait).unwrap();
    assert_eq!(disk.paths(), before);
    with_people(&instance, "shop");
}

#[test]
fn a_database_that_cannot_be_made_leaves_nothing() {
    let disk = MemDisk::new();
    let instance = start(&disk);
    let before = disk.paths();
    disk.set_capacity(Some(disk.used_bytes() + (1 << 20)));
    assert!(instance.create_database(&user_spec("shop")).is_err());
    assert_eq!(disk.paths(), before);
    disk.set_capacity(None);
    with_people(&instance, "shop");
}

#[test]
fn states_survive_a_restart() {
    let disk = MemDisk::new();
    let instance = start(&disk);
    ["off", "fixed"].iter().for_each(|name| with_people(&instance, name));
    let change = |name, change| {
        instance.change_database(name, change, Termination::NoWait, None).unwrap();
    };
    change("off", DatabaseChange::Offline);
    change("fixed", DatabaseChange::ReadOnly(true));
    assert!(matches!(instance.session("off"), Err(Error::NotInService { .. })));
    stop(&instance);
    drop(instance);

    let instance = start(&disk);
    let off = instance.databases().into_iter().find(|own| own.name == "off").unwrap();
    assert!(matches!(off.state, DatabaseState::Offline));
    let mut session = instance.session("fixed").unwrap();
    let table = session.table("people").unwrap();
    assert_eq!(ids(&mut session, &table), [1]);
    let refused = session.insert(&table, &person(2, "x"));
    assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{refused:?}");
    let refused = session.create_table(&people("more")).map(drop);
    assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{refused:?}");
    drop((session, table));
    let change = |name, change| {
        instance.change_database(name, change, Termination::NoWait, None).unwrap();
    };
    change("fixed", DatabaseChange::ReadOnly(false));
    change("off", DatabaseChange::Online);
    for name in ["off", "fixed"] {
        let mut session = instance.session(name).unwrap();
        let table = session.table("people").unwrap();
        session.insert(&table, &person(2, "x")).unwrap();
    }
}

#[test]
fn a_single_user_is_alone() {
    let disk = MemDisk::new();
    let instance = start(&disk);
    with_people(&instance, "shop");
    let own = instance.session("shop").unwrap();
    let single = DatabaseChange::Access(UserAccess::Single);
    instance.change_database("shop", single, Termination::NoWait, Some(&own)).unwrap();
    assert!(matches!(instance.session("shop"), Err(Error::SingleUser { .. })));
    drop(own);
    let own = instance.session("shop").unwrap();
    let multi = DatabaseChange::Access(UserAccess::Multi);
    instance.change_database("shop", multi, Termination::NoWait, Some(&own)).unwrap();
    instance.session("shop").unwrap();
}

#[test]
fn rollback_immediate_ends_the_sessions_of_others() {
    let disk = MemDisk::new();
    let instance = start(&disk);
    with_people(&instance, "shop");
    let mut other = instance.session("shop").unwrap();
    other.begin();
    let table = other.table("people").unwrap();
    other.insert(&table, &person(2, "x")).unwrap();
    let refused =
        instance.change_database("shop", DatabaseChange::Offline, Termination::NoWait, None);
    assert!(matches!(refused, Err(Error::SessionsOpen { sessions: 1 })), "{refused:?}");
    thread::scope(|scope| {
        let session = scope.spawn(move || {
            // What a server does with the connection of a killed session.
            while !other.handle().is_killed() {
                thread::sleep(Duration::from_millis(1));
            }
            let refused = other.insert(&table, &person(3, "x"));
            assert!(matches!(refused, Err(Error::Killed)));
        });
        let immediate = Termination::RollbackAfter(Duration::ZERO);
        instance.change_database("shop", DatabaseChange::Offline, immediate, None).unwrap();
        session.join().unwrap();
    });
    instance.change_database("shop", DatabaseChange::Online, Termination::Wait, None).unwrap();
    let mut session = instance.session("shop").unwrap();
    let table = session.table("people").unwrap();
    assert_eq!(ids(&mut session, &table), [1]);
}

#[test]
fn a_missing_file_keeps_one_database_from_service_and_no_other() {
    let disk = MemDisk::new();
    let instance = start(&disk);
    ["lost", "kept"].iter().for_each(|name| with_people(&instance, name));
    stop(&instance);
    drop(instance);
    let lost = disk.contents(Path::new("data/lost.mdf")).unwrap();
    disk.remove(Path::new("data/lost.mdf")).unwrap();
    let instance = start(&disk);
    let state = |instance: &Instance, name: &str| {
        instance.databases().into_iter().find(|own| own.name == name).unwrap().state
    };
    assert!(matches!(state(&instance, "lost"), DatabaseState::RecoveryPending(_)));
    assert!(matches!(state(&instance, "kept"), DatabaseState::Online));
    disk.put(Path::new("data/lost.mdf"), lost);
    instance.change_database("lost", DatabaseChange::Online, Termination::Wait, None).unwrap();
    assert!(matches!(state(&instance, "lost"), DatabaseState::Online));
}

#[test]
fn an_interrupted_first_start_is_begun_again() {
    for calls in 0.. {
        let disk = MemDisk::new();
        disk.fail_after(calls * 29);
        let started = Instance::start(options(&disk));
        let is_done = started.is_ok();
        drop(started);
        let crashed = disk.crash(&mut extentdb_base::env::SplitMix64::new(calls));
        let instance = start(&crashed);
        assert_eq!(names(&instance), ["master", "tempdb", "model", "msdb"]);
        if is_done {
            assert!(calls > 5);
            break;
        }
    }
}

#[test]
fn tempdb_is_new_at_every_start_and_waits_for_no_disk() {
    let disk = MemDisk::new();
    let instance = start(&disk);
    let mut session = instance.session("tempdb").unwrap();
    let table = session.create_table(&people("t")).unwrap();
    for id in 0..1000 {
        session.insert(&table, &person(id, "x")).unwrap();
    }
    assert_eq!(ids(&mut session, &table).len(), 1000);
    let tempdb = instance.database("tempdb").unwrap();
    assert_eq!(tempdb.space().files().len(), 2);
    tempdb.checkpoint().unwrap();
    for file in tempdb.space().files() {
        let counters = tempdb.pool().file(file.id()).unwrap().counters();
        assert_eq!((counters.syncs, counters.fua_writes), (0, 0));
    }
    drop((session, table, tempdb));
    stop(&instance);
    drop(instance);
    let instance = start(&disk);
    assert!(instance.session("tempdb").unwrap().table("t").is_err());
}

#[test]
fn a_new_database_costs_four_waits_for_the_disk_at_most() {
    let counting = Arc::new(WaitCounter::default());
    let disk = CountingDisk { disk: MemDisk::new(), waits: counting.clone() };
    let options = InstanceOptions {
        database: extentdb_engine::Options { disk: Arc::new(disk), ..on(&MemDisk::new()) },
        ..options(&MemDisk::new())
    };
    let instance = Instance::start(options).unwrap();
    counting.waits.store(0, Ordering::SeqCst);
    instance.create_database(&user_spec("shop")).unwrap();
    let waits = counting.waits.load(Ordering::SeqCst);
    assert!((1..=4).contains(&waits), "{waits}");
    let mut session = instance.session("shop").unwrap();
    let table = session.create_table(&people("people")).unwrap();
    counting.waits.store(0, Ordering::SeqCst);
    session.insert(&table, &[Datum::Int(1), text("x")]).unwrap();
    assert_eq!(counting.waits.load(Ordering::SeqCst), 1, "a commit is durable");
}

/// Counts waits for the disk; those that overlap are one.
#[derive(Debug, Default)]
struct WaitCounter {
    running: AtomicUsize,
    waits: AtomicUsize,
}

impl WaitCounter {
    fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.running.fetch_add(1, Ordering::SeqCst) == 0 {
            self.waits.fetch_add(1, Ordering::SeqCst);
        }
        // Long enough for others that were begun together to overlap.
        thread::sleep(Duration::from_millis(3));
        let done = work();
        self.running.fetch_sub(1, Ordering::SeqCst);
        done
    }
}

#[derive(Debug)]
struct CountingDisk {
    disk: MemDisk,
    waits: Arc<WaitCounter>,
}

#[derive(Debug)]
struct CountingFile {
    file: Arc<dyn DiskFile>,
    waits: Arc<WaitCounter>,
}

impl CountingDisk {
    fn counted(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(CountingFile { file, waits: self.waits.clone() })
    }
}

impl Disk for CountingDisk {
    fn create(&self, path: &Path) -> Result<Arc<dyn DiskFile>, extentdb_io::Error> {
        let file = self.create_unsynced(path)?;
        self.sync_names(path)?;
        Ok(file)
    }

    fn create_unsynced(&self, path: &Path) -> Result<Arc<dyn DiskFile>, extentdb_io::Error> {
        Ok(self.counted(self.disk.create(path)?))
    }

    fn sync_names(&self, _: &Path) -> Result<(), extentdb_io::Error> {
        self.waits.during(|| Ok(()))
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn DiskFile>, extentdb_io::Error> {
        Ok(self.counted(self.disk.open(path)?))
    }

    fn exists(&self, path: &Path) -> bool {
        self.disk.exists(path)
    }

    fn remove(&self, path: &Path) -> Result<(), extentdb_io::Error> {
        self.waits.during(|| self.disk.remove(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), extentdb_io::Error> {
        self.waits.during(|| self.disk.rename(from, to))
    }
}

impl DiskFile for CountingFile {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, extentdb_io::Error> {
        self.file.read_at(offset, buf)
    }

    fn write_at(
        &self,
        offset: u64,
        parts: &[&[u8]],
        durability: Durability,
    ) -> Result<(), extentdb_io::Error> {
        match durability {
            Durability::Through => {
                self.waits.during(|| self.file.write_at(offset, parts, durability))
            }
            Durability::Deferred => self.file.write_at(offset, parts, durability),
        }
    }

    fn sync(&self) -> Result<(), extentdb_io::Error> {
        self.waits.during(|| self.file.sync())
    }

    fn extend(&self, bytes: u64, fill: Fill) -> Result<(), extentdb_io::Error> {
        self.file.extend(bytes, fill)
    }

    fn counters(&self) -> DiskCounters {
        self.file.counters()
    }
}

#[test]
fn a_deadlock_weighs_a_transaction_in_all_its_databases() {
    let disk = MemDisk::new();
    let instance = start(&disk);
    ["a", "b"].iter().for_each(|name| with_people(&instance, name));
    let mut much = instance.session("b").unwrap();
    let mut little = instance.session("a").unwrap();
    much.begin();
    let of_b = much.table("people").unwrap();
    for id in 100..200 {
        much.insert(&of_b, &person(id, "x")).unwrap();
    }
    instance.use_database(&mut much, "a").unwrap();
    let of_a = little.table("people").unwrap();
    let mut places = rows(&mut little, &of_a);
    let (first, _) = places.remove(0);
    let second = little.insert(&of_a, &person(2, "x")).unwrap();
    little.begin();
    little.set_lock_timeout(Timeout::After(Duration::from_secs(10)));
    // More than the other has in this database.
    for _ in 0..10 {
        little.update(&of_a, &first, &person(1, "little")).unwrap();
    }
    much.update(&of_a, &second, &person(2, "much")).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| much.update(&of_a, &first, &person(1, "much")).map(drop));
        let refused = little.update(&of_a, &second, &person(2, "little"));
        assert!(refused.is_err_and(|error| error.is_deadlock()), "it has less to roll back");
        little.rollback().unwrap();
        waiting.join().unwrap().unwrap();
    });
    much.commit().unwrap();
}
