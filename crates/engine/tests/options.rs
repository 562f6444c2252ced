//! Options, specifications and names that cannot be are refused before anything is made, by the
//! name of the option.

mod support;

use std::time::Duration;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_engine::{
    ColumnSpec, DataFileSpec, Database, DatabaseSpec, DefaultSpec, Error, FileGrowth, IndexSpec,
    LogGrowth, Options, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_types::SqlType;
use support::*;

const MB: u64 = 1 << 20;

/// The option that a refusal must name, and what makes it invalid.
type Case<T> = (&'static str, fn(&mut T));

/// The option that a refusal names; the text of any other error.
fn refused<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "nothing: it was accepted".to_owned(),
        Err(Error::Invalid(invalid)) => {
            assert!(invalid.to_string().starts_with(invalid.option()), "{invalid}");
            invalid.option().to_owned()
        }
        Err(other) => format!("nothing: {other}"),
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let cases: [Case<Options>; 9] = [
        ("frames", |options| options.frames = 0),
        ("frames", |options| options.frames = 15),
        ("frames", |options| options.frames = 1 << 31),
        ("frames", |options| options.frames = 1 << 40),
        ("frames", |options| options.frames = usize::MAX),
        ("extents_per_turn", |options| options.extents_per_turn = 0),
        ("extents_per_turn", |options| options.extents_per_turn = u32::MAX),
        ("checkpoint_log_bytes", |options| options.checkpoint_log_bytes = Some(0)),
        ("target_recovery", |options| options.target_recovery = Some(Duration::ZERO)),
    ];
    let disk = MemDisk::new();
    let there = spec("there");
    Database::create(&there, on(&disk)).unwrap().close().unwrap();
    for (option, change) in cases {
        let mut options = on(&disk);
        change(&mut options);
        assert_eq!(refused(Database::create(&spec("new"), options.clone())), option);
        assert_eq!(refused(Database::open(&there.paths(), options)), option);
    }
    assert!(spec("new").paths().data.iter().all(|path| !exists(&disk, path)), "nothing was made");
    reopen(&disk, &there.paths()).close().unwrap();
}

#[test]
fn options_at_their_limits_are_taken() {
    let disk = MemDisk::new();
    let options = Options {
        frames: 16,
        extents_per_turn: 64,
        checkpoint_log_bytes: Some(1),
        target_recovery: Some(Duration::MAX),
        ..on(&disk)
    };
    let spec = spec("limits");
    let db = Database::create(&spec, options).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("people")).unwrap();
    (0..100).for_each(|id| {
        session.insert(&table, &person(id, &"p".repeat(3000))).unwrap();
    });
    drop((session, table));
    close_and_check(db, &disk, &spec.paths());
}

/// A specification that is good, to be spoiled: two files, a filegroup with one.
fn good() -> DatabaseSpec {
    let mut spec = spec("good");
    spec.files.push(DataFileSpec::new("good_2.ndf", MB));
    spec.filegroups.push(("SECOND".to_owned(), vec![DataFileSpec::new("good_3.ndf", MB)]));
    spec
}

const SPOILED_NAMES: [Case<DatabaseSpec>; 15] = [
    ("name", |spec| spec.name = String::new()),
    ("name", |spec| spec.name = "n".repeat(101)),
    ("name", |spec| spec.name = "a\0b".to_owned()),
    ("files[0].name", |spec| spec.files[0].name = Some(String::new())),
    ("files[1].name", |spec| spec.files[1].name = Some("n".repeat(129))),
    ("files[1].name", |spec| spec.files[1].name = Some("\0".to_owned())),
    ("files[1].name", |spec| spec.files[1].name = Some("GOOD".to_owned())),
    ("files[1].name", |spec| spec.files[1].name = Some("good_LOG".to_owned())),
    ("filegroups[0].files[0].name", |spec| {
        spec.filegroups[0].1[0].name = Some("good_2".to_owned())
    }),
    ("filegroups[0].name", |spec| spec.filegroups[0].0 = String::new()),
    ("filegroups[0].name", |spec| spec.filegroups[0].0 = "Primary".to_owned()),
    ("filegroups[0].name", |spec| spec.filegroups[0].0 = "g".repeat(129)),
    ("filegroups[1].name", |spec| {
        spec.filegroups.push(("second".to_owned(), vec![DataFileSpec::new("good_4.ndf", MB)]));
    }),
    ("filegroups[1].files", |spec| spec.filegroups.push(("THIRD".to_owned(), Vec::new()))),
    ("files", |spec| spec.files.clear()),
];

const SPOILED_FILES: [Case<DatabaseSpec>; 16] = [
    ("files[1].path", |spec| spec.files[1].path = "good.mdf".into()),
    ("filegroups[0].files[0].path", |spec| spec.filegroups[0].1[0].path = "good_log.ldf".into()),
    ("files[0].path", |spec| spec.files[0].path = "".into()),
    ("files[0].path", |spec| spec.files[0].path = "p".repeat(261).into()),
    ("log.path", |spec| spec.log.path = "".into()),
    ("files[0].bytes", |spec| spec.files[0].bytes = MB),
    ("files[0].bytes", |spec| spec.files[0].bytes = u64::MAX),
    ("files[1].bytes", |spec| spec.files[1].bytes = 0),
    ("files[1].bytes_max", |spec| spec.files[1].bytes_max = Some(MB - 1)),
    ("files[0].growth", |spec| spec.files[0].growth = FileGrowth::Percent(101)),
    ("files[0].growth", |spec| spec.files[0].growth = FileGrowth::Pages(u32::MAX)),
    ("log.bytes", |spec| spec.log.bytes = 8192),
    ("log.bytes", |spec| spec.log.bytes = u64::MAX),
    ("log.bytes_max", |spec| spec.log.bytes_max = Some(MB - 1)),
    ("log.growth", |spec| spec.log.growth = LogGrowth::Percent(u32::MAX)),
    ("filegroups.files", |spec| {
        let file = DataFileSpec::new("many.ndf", MB);
        spec.filegroups[0].1 = vec![file; 32_767];
    }),
];

#[test]
fn invalid_specifications_are_refused() {
    for (option, spoil) in SPOILED_NAMES.into_iter().chain(SPOILED_FILES) {
        let disk = MemDisk::new();
        let mut spec = good();
        spoil(&mut spec);
        assert_eq!(refused(Database::create(&spec, on(&disk))), option, "{spec:?}");
        let paths = spec.paths();
        assert!(paths.data.iter().chain([&paths.log]).all(|path| !exists(&disk, path)), "{option}");
    }
    let disk = MemDisk::new();
    Database::create(&good(), on(&disk)).unwrap().close().unwrap();
    assert_sound_on(&disk, &good().paths());
}

#[test]
fn a_file_that_is_given_twice_is_refused() {
    let disk = MemDisk::new();
    let spec = spec("twice");
    Database::create(&spec, on(&disk)).unwrap().close().unwrap();
    let mut paths = spec.paths();
    disk.put("copy.ndf".as_ref(), disk.contents(&paths.data[0]).unwrap());
    paths.data.push("copy.ndf".into());
    let opened = Database::open(&paths, on(&disk));
    assert!(matches!(opened, Err(Error::WrongFile { .. })), "{opened:?}");
    reopen(&disk, &spec.paths()).close().unwrap();
}

#[test]
fn files_that_cannot_be_added_are_refused() {
    let cases: [Case<DataFileSpec>; 7] = [
        ("name", |file| file.name = Some(String::new())),
        ("name", |file| file.name = Some("n".repeat(129))),
        ("path", |file| file.path = "".into()),
        ("bytes", |file| file.bytes = 8192),
        ("bytes", |file| file.bytes = 1 << 60),
        ("bytes_max", |file| file.bytes_max = Some(8192)),
        ("growth", |file| file.growth = FileGrowth::Percent(1000)),
    ];
    let disk = MemDisk::new();
    let db = Database::create(&spec("added"), on(&disk)).unwrap();
    for (option, spoil) in cases {
        let mut file = DataFileSpec::new("added_2.ndf", MB);
        spoil(&mut file);
        assert_eq!(refused(db.add_file(&file, None)), option, "{file:?}");
    }
    assert!(!exists(&disk, "added_2.ndf".as_ref()));
    db.add_file(&DataFileSpec::new("added_2.ndf", MB), None).unwrap();
}

#[test]
fn names_of_new_objects_are_verified() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("names"), on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("people")).unwrap();
    for name in ["", "\0", &"n".repeat(129)] {
        let default = ColumnSpec { default: Some(DefaultSpec::new(name, "((0))")), ..number() };
        let clustered = people("t").clustered(IndexSpec::new(name, &["id"]));
        assert_eq!(refused(session.create_schema(name)), "schema");
        assert_eq!(refused(session.create_table(&people(name))), "table");
        assert_eq!(refused(session.create_table(&clustered)), "index");
        assert_eq!(refused(session.create_table(&TableSpec::heap("t", vec![default]))), "default");
        assert_eq!(
            refused(session.add_column(&table, &ColumnSpec::new(name, SqlType::Int))),
            "column"
        );
        assert_eq!(refused(session.create_index(&table, &IndexSpec::new(name, &["id"]))), "index");
        assert_eq!(refused(session.add_check(&table, name, "([id]>=(0))")), "constraint");
        assert_eq!(
            refused(session.add_default(&table, "id", &DefaultSpec::new(name, "((0))"))),
            "constraint"
        );
        assert_eq!(
            refused(session.add_foreign_key(&table, name, &table, &[("id", "id")])),
            "constraint"
        );
    }
    drop((session, table));
    close_and_check(db, &disk, &spec("names").paths());
}

fn number() -> ColumnSpec {
    ColumnSpec::new("number", SqlType::Int)
}

/// Whatever a name of an object is taken by, the statement says so, and changes nothing.
#[test]
fn taken_names_are_refused() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("taken"), on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("people")).unwrap();
    session.add_check(&table, "positive", "([id]>=(0))").unwrap();
    let with_default =
        |name: &str| ColumnSpec { default: Some(DefaultSpec::new(name, "((0))")), ..number() };
    let twice =
        vec![with_default("twice"), ColumnSpec { name: "n".into(), ..with_default("TWICE") }];
    let made = [
        session.create_table(&people("POSITIVE")),
        session.create_table(&TableSpec::heap("t", vec![with_default("people")])),
        session.create_table(&TableSpec::heap("t", vec![with_default("T")])),
        session.create_table(&TableSpec::heap("t", twice)),
    ];
    for result in made {
        assert!(matches!(result, Err(Error::Exists { .. })), "{result:?}");
    }
    let taken = session.add_column(&table, &with_default("positive"));
    assert!(matches!(taken, Err(Error::Exists { .. })), "{taken:?}");
    session.create_table(&people("t")).unwrap();
    drop((session, table));
    close_and_check(db, &disk, &spec("taken").paths());
}

const TEXTS: [&str; 9] = ["", "a", "A", "PRIMARY", "\0", "a.b", "fuzz", "\u{1f9c0}", "a log"];

fn any_text(rng: &mut SplitMix64) -> String {
    TEXTS[rng.below(TEXTS.len() as u64) as usize].repeat([1, 1, 1, 40][rng.below(4) as usize])
}

fn any_bytes(rng: &mut SplitMix64) -> u64 {
    [0, 1, 8191, 128 << 10, MB, 2 * MB, 3 * MB + 1, u64::MAX][rng.below(8) as usize]
}

fn any_file(rng: &mut SplitMix64) -> DataFileSpec {
    let maximum = |rng: &mut SplitMix64| (rng.below(3) == 0).then(|| any_bytes(rng));
    DataFileSpec {
        name: (rng.below(3) == 0).then(|| any_text(rng)),
        growth: [FileGrowth::Pages(0), FileGrowth::Pages(u32::MAX), FileGrowth::Percent(7)]
            [rng.below(3) as usize],
        bytes_max: maximum(rng),
        ..DataFileSpec::new(any_text(rng), any_bytes(rng))
    }
}

/// A good specification with a few parts replaced by any others: it is refused, or a database comes
/// of it.
#[test]
fn no_specification_aborts_or_is_an_internal_error() {
    let mut made = 0;
    let mut invalid = 0;
    for seed in 0..400 {
        let mut rng = SplitMix64::new(seed);
        let disk = MemDisk::new();
        let mut spec = good();
        for _ in 0..1 + rng.below(2) {
            match rng.below(6) {
                0 => spec.name = any_text(&mut rng),
                1 => spec.files.push(any_file(&mut rng)),
                2 => spec.filegroups.push((any_text(&mut rng), vec![any_file(&mut rng)])),
                3 => spec.log.bytes = any_bytes(&mut rng),
                4 => spec.log.bytes_max = Some(any_bytes(&mut rng)),
                _ => spec.files[0].bytes_max = Some(any_bytes(&mut rng)),
            }
        }
        match Database::create(&spec, on(&disk)) {
            Ok(db) => {
                made += 1;
                close_and_check(db, &disk, &spec.paths());
            }
            Err(Error::Invalid(_)) => invalid += 1,
            Err(other) => panic!("seed {seed}: {other:?} for {spec:?}"),
        }
    }
    assert!(made > 20 && invalid > 100, "{made} made, {invalid} refused");
}
