//! Files and filegroups of a database of a server: ALTER DATABASE … ADD, REMOVE, MODIFY FILE and
//! FILEGROUP, and the power that fails during them.

mod support;

use std::path::PathBuf;

use extentdb_base::env::SplitMix64;
use extentdb_base::sync::Arc;
use extentdb_engine::{
    DataFileSpec, Database, DatabaseFileChange, DatabaseSpec, Error, FileChange, FileGrowth,
    FilegroupChange, FilesRefused, Instance, InstanceOptions, Paths, ReadOnlyFilegroup, TableSpec,
    Termination,
};
use extentdb_io::{Disk, MemDisk};
use support::*;

const MB: u64 = 1 << 20;

fn start(disk: &MemDisk) -> Result<Arc<Instance>, Error> {
    Instance::start(InstanceOptions {
        tempdb_files: 1,
        tempdb_file_bytes: 2 << 20,
        ..InstanceOptions::new("data", on(disk))
    })
}

fn server() -> MemDisk {
    let disk = MemDisk::new();
    let instance = start(&disk).unwrap();
    instance.create_database(&DatabaseSpec::new("a", "data", 2 << 20)).unwrap();
    instance.shutdown(Termination::NoWait).unwrap();
    disk
}

fn add(name: &str, bytes: u64, filegroup: Option<&str>) -> DatabaseFileChange {
    let path = format!("data/{name}.ndf");
    DatabaseFileChange::Add {
        file: DataFileSpec {
            name: Some(name.to_owned()),
            ..DataFileSpec::new(path, bytes)
        },
        filegroup: filegroup.map(str::to_owned),
    }
}

fn group(name: &str, change: FilegroupChange) -> DatabaseFileChange {
    DatabaseFileChange::Filegroup { name: name.to_owned(), change }
}

fn modify(name: &str, change: FileChange) -> DatabaseFileChange {
    DatabaseFileChange::Modify { name: name.to_owned(), change }
}

fn remove(name: &str) -> DatabaseFileChange {
    DatabaseFileChange::Remove { name: name.to_owned() }
}

fn change(instance: &Instance, change: &DatabaseFileChange) -> Result<(), Error> {
    instance.change_files("a", change, None)
}

#[track_caller]
fn assert_refused(found: Result<(), Error>, expected: &FilesRefused) {
    assert!(matches!(&found, Err(Error::Files(why)) if why == expected), "{found:?}");
}

fn files_of_a(instance: &Instance) -> Vec<String> {
    let infos = instance.databases();
    let info = infos.iter().find(|info| info.name == "a").unwrap();
    let mut names: Vec<String> = info.files.iter().map(|file| file.name.clone()).collect();
    names.sort();
    names
}

fn fill(db: &Arc<Database>, table: &str, rows: i32) -> Result<(), Error> {
    let mut session = db.session();
    let table = session.table(table)?;
    (0..rows).try_for_each(|id| session.insert(&table, &person(id, &"f".repeat(3900))).map(drop))
}

fn paths_of(instance: &Instance) -> Paths {
    let infos = instance.databases();
    let info = infos.iter().find(|info| info.name == "a").unwrap();
    let of = |is_log| {
        let files = info.files.iter().filter(move |file| file.is_log == is_log);
        files.map(|file| PathBuf::from(&file.path))
    };
    Paths { data: of(false).collect(), log: of(true).next().unwrap() }
}

#[track_caller]
fn shut_down_and_check(instance: &Instance, disk: &MemDisk) {
    let paths = paths_of(instance);
    instance.shutdown(Termination::NoWait).unwrap();
    assert_sound_on(disk, &paths);
}

#[test]
fn added_filegroup_holds_tables_and_is_there_after_a_restart() {
    let disk = server();
    let instance = start(&disk).unwrap();
    change(&instance, &group("ARCHIVE", FilegroupChange::Add)).unwrap();
    assert_refused(
        change(&instance, &group("archive", FilegroupChange::Add)),
        &FilesRefused::FilegroupTaken { name: "archive".to_owned() },
    );
    assert_refused(
        change(&instance, &group("ARCHIVE", FilegroupChange::Default)),
        &FilesRefused::EmptyFilegroup { name: "ARCHIVE".to_owned() },
    );
    change(&instance, &add("one", MB, Some("ARCHIVE"))).unwrap();
    change(&instance, &add("two", MB, Some("ARCHIVE"))).unwrap();
    change(&instance, &group("ARCHIVE", FilegroupChange::AutogrowAllFiles(true))).unwrap();
    change(&instance, &group("ARCHIVE", FilegroupChange::Rename("OLD".to_owned()))).unwrap();
    change(&instance, &group("OLD", FilegroupChange::Default)).unwrap();
    let db = instance.database("a").unwrap();
    db.session().create_table(&people("people")).unwrap();
    fill(&db, "people", 600).unwrap();
    let pages = |db: &Database| -> Vec<u32> {
        db.space().files().iter().filter(|it| it.group() == 2).map(|it| it.pages()).collect()
    };
    // A file of a pair may just be growing after the other one.
    let are_equal = |pages: &[u32]| matches!(pages, [one, two] if one == two && *one > 128);
    let grow_together = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        are_equal(&pages(&db))
    });
    assert!(grow_together, "{:?}", pages(&db));
    drop(db);
    shut_down_and_check(&instance, &disk);
    let instance = start(&disk).unwrap();
    let db = instance.database("a").unwrap();
    assert_eq!(db.session().table("people").unwrap().row_count(), 600);
    assert_eq!(db.autogrow_all_files().unwrap(), [2]);
    let second = TableSpec { filegroup: Some("old".to_owned()), ..people("second") };
    db.session().create_table(&second).unwrap();
    fill(&db, "second", 300).unwrap();
    let [one, two] = pages(&db)[..] else { panic!("two files") };
    assert_eq!(one, two);
    drop(db);
    shut_down_and_check(&instance, &disk);
}

#[test]
fn modified_file_keeps_its_settings() {
    let disk = server();
    let instance = start(&disk).unwrap();
    change(&instance, &add("one", MB, None)).unwrap();
    let larger = FileChange {
        name: Some("a longer name".to_owned()),
        bytes: Some(4 * MB),
        bytes_max: Some(Some(8 * MB)),
        growth: Some(FileGrowth::Percent(20)),
    };
    change(&instance, &modify("one", larger)).unwrap();
    let same = FileChange { bytes: Some(4 * MB), ..FileChange::default() };
    assert_refused(change(&instance, &modify("a longer name", same)), &FilesRefused::NotLarger);
    let above = FileChange { bytes: Some(9 * MB), ..FileChange::default() };
    assert_refused(change(&instance, &modify("a longer name", above)), &FilesRefused::AboveMaximum);
    let growth = FileChange {
        growth: Some(FileGrowth::Pages(2048)),
        ..FileChange::default()
    };
    assert_refused(
        change(&instance, &modify("a longer name", growth)),
        &FilesRefused::GrowthAboveMaximum { name: "a longer name".to_owned() },
    );
    let taken = FileChange { name: Some("a".to_owned()), ..FileChange::default() };
    assert_refused(
        change(&instance, &modify("a longer name", taken)),
        &FilesRefused::NameTaken { name: "a".to_owned() },
    );
    shut_down_and_check(&instance, &disk);
    let instance = start(&disk).unwrap();
    assert_eq!(files_of_a(&instance), ["a", "a longer name", "a_log"]);
    let db = instance.database("a").unwrap();
    let file = db.space().files().into_iter().find(|file| file.id().0 == 3).unwrap();
    let found = file.description();
    assert_eq!(
        (found.name.as_str(), found.growth, found.pages_max, file.pages()),
        ("a longer name", FileGrowth::Percent(20), Some(1024), 512)
    );
}

#[test]
fn only_an_empty_file_is_removed() {
    let disk = server();
    let instance = start(&disk).unwrap();
    let db = instance.database("a").unwrap();
    change(&instance, &group("G", FilegroupChange::Add)).unwrap();
    change(&instance, &add("one", MB, Some("G"))).unwrap();
    let spec = TableSpec { filegroup: Some("G".to_owned()), ..people("people") };
    let mut session = db.session();
    session.create_table(&spec).unwrap();
    fill(&db, "people", 100).unwrap();
    let full = FilesRefused::NotEmpty { what: "file", name: "one".to_owned() };
    assert_refused(change(&instance, &remove("one")), &full);
    fill(&db, "people", 10).unwrap();
    assert_refused(change(&instance, &remove("a")), &FilesRefused::PrimaryFile);
    assert_refused(change(&instance, &remove("a_log")), &FilesRefused::PrimaryFile);
    let none = FilesRefused::NoFile { name: "none".to_owned() };
    assert_refused(change(&instance, &remove("none")), &none);
    let used = FilesRefused::NotEmpty { what: "filegroup", name: "G".to_owned() };
    assert_refused(change(&instance, &group("G", FilegroupChange::Remove)), &used);
    let table = session.table("people").unwrap();
    session.drop_table(&table).unwrap();
    change(&instance, &remove("one")).unwrap();
    assert!(!disk.exists("data/one.ndf".as_ref()));
    change(&instance, &group("G", FilegroupChange::Remove)).unwrap();
    // The name, the path and the number of the group are free again.
    change(&instance, &group("G", FilegroupChange::Add)).unwrap();
    change(&instance, &add("one", MB, Some("G"))).unwrap();
    session.create_table(&spec).unwrap();
    fill(&db, "people", 100).unwrap();
    drop((session, db));
    shut_down_and_check(&instance, &disk);
    assert_eq!(files_of_a(&start(&disk).unwrap()), ["a", "a_log", "one"]);
}

type DatabaseStep = Box<dyn Fn(&Instance) -> Result<(), Error>>;

/// What is done to the database, one after another.
fn steps() -> Vec<DatabaseStep> {
    let table = || TableSpec { filegroup: Some("G".to_owned()), ..people("people") };
    vec![
        Box::new(|it| change(it, &group("G", FilegroupChange::Add))),
        Box::new(|it| change(it, &add("one", MB, Some("G")))),
        Box::new(move |it| it.session("a")?.create_table(&table()).map(drop)),
        Box::new(|it| fill(&it.database("a")?, "people", 60)),
        Box::new(|it| {
            let settings = FileChange {
                name: Some("two".to_owned()),
                bytes: Some(2 * MB),
                ..FileChange::default()
            };
            change(it, &modify("one", settings))
        }),
        Box::new(|it| {
            let mut session = it.session("a")?;
            let table = session.table("people")?;
            session.drop_table(&table)
        }),
        Box::new(|it| change(it, &remove("two"))),
        Box::new(|it| change(it, &group("G", FilegroupChange::Remove))),
    ]
}

/// The files after so many steps.
fn files_after(steps: usize) -> Vec<&'static str> {
    match steps {
        0 | 1 => vec!["a", "a_log"],
        2..=4 => vec!["a", "a_log", "one"],
        5 | 6 => vec!["a", "a_log", "two"],
        _ => vec!["a", "a_log"],
    }
}

#[test]
fn crash_at_any_call_leaves_each_change_of_files_done_or_not() {
    let unit_of = |path: &std::path::Path| {
        if path.extension().is_some_and(|e| e == "ldf") { 512 } else { 8192 }
    };
    let pristine = server();
    let steps = steps();
    for calls in 0.. {
        let disk = pristine.copy();
        let instance = start(&disk).unwrap();
        disk.fail_after(calls);
        let done = steps.iter().take_while(|step| step(&instance).is_ok()).count();
        drop(instance);
        let crashed = disk.crash_by(&mut SplitMix64::new(calls), &unit_of);
        let instance = start(&crashed).unwrap();
        let found = files_of_a(&instance);
        assert!(
            found == files_after(done) || found == files_after(done + 1),
            "call {calls}, {done} steps: {found:?}"
        );
        let db = instance.database("a").unwrap_or_else(|error| panic!("call {calls}: {error:?}"));
        db.session().create_table(&people("later")).unwrap();
        fill(&db, "later", 20).unwrap();
        drop(db);
        shut_down_and_check(&instance, &crashed);
        if done == steps.len() {
            break;
        }
    }
}

#[test]
fn moved_file_is_opened_at_its_new_path() {
    let disk = server();
    let instance = start(&disk).unwrap();
    change(&instance, &add("one", MB, None)).unwrap();
    let moved = DatabaseFileChange::Move { name: "one".to_owned(), path: "data/moved.ndf".into() };
    change(&instance, &moved).unwrap();
    instance.shutdown(Termination::NoWait).unwrap();
    disk.rename("data/one.ndf".as_ref(), "data/moved.ndf".as_ref()).unwrap();
    let instance = start(&disk).unwrap();
    assert!(instance.database("a").is_ok());
    shut_down_and_check(&instance, &disk);
}

#[test]
fn read_only_filegroup_stays_read_only_over_a_crash_and_takes_changes_again() {
    let disk = server();
    let instance = start(&disk).unwrap();
    change(&instance, &group("OLD", FilegroupChange::Add)).unwrap();
    assert_refused(
        change(&instance, &group("OLD", FilegroupChange::ReadOnly(true))),
        &FilesRefused::EmptyFilegroup { name: "OLD".to_owned() },
    );
    change(&instance, &add("one", MB, Some("OLD"))).unwrap();
    let db = instance.database("a").unwrap();
    let old = TableSpec { filegroup: Some("old".to_owned()), ..people("people") };
    db.session().create_table(&old).unwrap();
    fill(&db, "people", 40).unwrap();
    // Rows whose transaction is open: it is waited for, or the change is refused.
    let mut open = db.session();
    open.begin();
    let people_table = open.table("people").unwrap();
    open.insert(&people_table, &person(1000, "undone")).unwrap();
    std::thread::scope(|scope| {
        let close =
            scope.spawn(|| change(&instance, &group("OLD", FilegroupChange::ReadOnly(true))));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!close.is_finished(), "it does not wait");
        open.rollback().unwrap();
        close.join().unwrap().unwrap();
    });
    drop((open, people_table));
    let refused = |db: &Arc<Database>| {
        let error = fill(db, "people", 1).unwrap_err();
        assert!(
            matches!(error, Error::ReadOnlyFilegroup(ReadOnlyFilegroup::Change { .. })),
            "{error:?}"
        );
        assert_eq!(db.read_only_filegroups(), [2]);
        assert_eq!(db.session().table("people").unwrap().row_count(), 40);
    };
    refused(&db);
    drop(db);
    // The power fails: what is synced is there again.
    let crashed = disk.crash(&mut SplitMix64::new(1));
    instance.shutdown(Termination::NoWait).unwrap();
    let instance = start(&crashed).unwrap();
    let db = instance.database("a").unwrap();
    refused(&db);
    change(&instance, &group("OLD", FilegroupChange::ReadOnly(false))).unwrap();
    fill(&db, "people", 100).unwrap();
    assert_eq!(db.session().table("people").unwrap().row_count(), 140);
    drop(db);
    shut_down_and_check(&instance, &crashed);
}

#[test]
fn rows_for_a_filegroup_without_files_are_refused_by_its_name() {
    let disk = server();
    let instance = start(&disk).unwrap();
    change(&instance, &group("EMPTY", FilegroupChange::Add)).unwrap();
    let db = instance.database("a").unwrap();
    let spec = TableSpec { filegroup: Some("empty".to_owned()), ..people("people") };
    db.session().create_table(&spec).unwrap();
    let refused = fill(&db, "people", 1);
    assert!(
        matches!(&refused, Err(Error::EmptyFilegroup { name }) if name == "EMPTY"),
        "{refused:?}"
    );
    change(&instance, &add("one", MB, Some("EMPTY"))).unwrap();
    fill(&db, "people", 30).unwrap();
    drop(db);
    shut_down_and_check(&instance, &disk);
}
