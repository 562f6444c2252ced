//! Files of earlier versions, kept in `fixtures/`: they always open, recover, check clean and have
//! their rows.
//!
//! ```text
//! pack    file: name (length, bytes), length, then until that many bytes are there:
//!           number of bytes as they are, those bytes; number of bytes to repeat, how far back they begin
//! number  seven bits in each byte, the lowest first; the top bit says that another byte follows
//! ```
//!
//! `cargo test -p extentdb-engine --test fixtures -- --ignored` writes new ones, under the version
//! of this day: those that are there are never written again.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use extentdb_base::env::SplitMix64;
use extentdb_engine::{
    ColumnSpec, DataFileSpec, Database, DatabaseSpec, Error, Paths, Row, Session, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};
use support::*;

/// Versions that wrote files.
const VERSIONS: [&str; 1] = ["0.1"];
const PEOPLE: i32 = 120;

fn path(version: &str, kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../fixtures/engine-{version}-{kind}.pack"))
}

fn fixture_spec() -> DatabaseSpec {
    let mut spec = DatabaseSpec::new("kept", "", 2 << 20);
    spec.filegroups.push(("ARCHIVE".to_owned(), vec![DataFileSpec::new("kept_2.ndf", 1 << 20)]));
    spec.log.bytes = 512 << 10;
    spec
}

fn archive() -> TableSpec {
    let columns = vec![
        ColumnSpec::new("id", SqlType::BigInt).not_null(),
        ColumnSpec::new("flag", SqlType::Bit),
        ColumnSpec::new("code", SqlType::Binary { len: 3 }).not_null(),
        ColumnSpec::new("name", varchar(200)),
    ];
    TableSpec {
        filegroup: Some("ARCHIVE".to_owned()),
        ..TableSpec::heap("archive", columns)
    }
}

fn archived(id: i64) -> Row {
    let code =
        Datum::decode(&SqlType::Binary { len: 3 }, &id.to_le_bytes()[..3]).unwrap().into_owned();
    let flag = if id % 3 == 0 { Datum::Null } else { Datum::Bit(id % 3 == 1) };
    vec![Datum::BigInt(id), flag, code, text(&"archive ".repeat(id as usize % 5))]
}

fn named(id: i32) -> Row {
    person(id, &format!("person {id} ").repeat(1 + id as usize % 9))
}

/// Longer than its page has room for: the row moves.
fn renamed(id: i32) -> Row {
    person(id, &format!("a longer name {id} ").repeat(60))
}

/// What the closed database holds: every tenth row has moved, every seventh is gone.
fn people_kept() -> BTreeMap<i32, Row> {
    let row = |id: i32| if id % 10 == 0 { renamed(id) } else { named(id) };
    (1..=PEOPLE).filter(|id| id % 7 != 0).map(|id| (id, row(id))).collect()
}

/// What was committed before the power went: 13 and 26 have moved, 5 is gone, twenty more have
/// come.
fn people_after_crash() -> BTreeMap<i32, Row> {
    let mut rows = people_kept();
    rows.extend([13, 26].map(|id| (id, renamed(id))));
    rows.remove(&5);
    rows.extend((1001..=1020).map(|id| (id, named(id))));
    rows
}

fn assert_rows(db: &Database, people: &BTreeMap<i32, Row>) {
    let mut session = db.session();
    let table = session.table("people").unwrap();
    let found: BTreeMap<i32, Row> =
        rows(&mut session, &table).into_iter().map(|(_, row)| (id_of(&row), row)).collect();
    assert_eq!(&found, people);
    assert_eq!(table.row_count(), people.len() as i64);
    let table = session.table("archive").unwrap();
    let found: Vec<Row> = rows(&mut session, &table).into_iter().map(|(_, row)| row).collect();
    assert_eq!(found, (0..40).map(archived).collect::<Vec<_>>());
}

/// Opens, looks, closes, checks; and once more.
fn assert_kept(disk: &MemDisk, paths: &Paths, people: &BTreeMap<i32, Row>) {
    for _ in 0..2 {
        let db = reopen(disk, paths);
        assert_rows(&db, people);
        db.close().unwrap();
        assert_sound_on(disk, paths);
    }
}

#[test]
fn a_database_that_an_earlier_version_closed_opens() {
    for version in VERSIONS {
        let packed = std::fs::read(path(version, "closed")).unwrap();
        let disk = unpack(&packed);
        let paths = fixture_spec().paths();
        assert_sound_on(&disk, &paths);
        assert_kept(&disk, &paths, &people_kept());
        // Its log is not needed.
        let disk = unpack(&packed);
        extentdb_io::Disk::remove(&disk, &paths.log).unwrap();
        assert_kept(&disk, &paths, &people_kept());
    }
}

#[test]
fn a_database_that_an_earlier_version_left_in_a_crash_recovers() {
    for version in VERSIONS {
        let packed = std::fs::read(path(version, "crashed")).unwrap();
        let disk = unpack(&packed);
        let paths = fixture_spec().paths();
        let db = reopen(&disk, &paths);
        let recovered = db.recovered();
        assert!(recovered.redone > 20 && recovered.undone == 1, "{recovered:?}");
        assert_rows(&db, &people_after_crash());
        db.close().unwrap();
        assert_kept(&disk, &paths, &people_after_crash());
        // Without its log it must not open.
        let disk = unpack(&packed);
        extentdb_io::Disk::remove(&disk, &paths.log).unwrap();
        assert!(matches!(Database::open(&paths, on(&disk)), Err(Error::LogMissing)));
    }
}

#[test]
fn packed_fixture_unpacks_to_the_same_bytes() {
    let disk = MemDisk::new();
    let mut noise = SplitMix64::new(1);
    let random = |rng: &mut SplitMix64| extentdb_base::env::Rng::next_u64(rng).to_le_bytes();
    let bytes: Vec<u8> = (0..1000).flat_map(|_| random(&mut noise)).collect();
    let contents =
        [bytes.clone(), vec![0; 100_000], [&bytes[..], &[7; 300], &bytes[..]].concat(), Vec::new()];
    for (at, contents) in contents.iter().enumerate() {
        disk.put(Path::new(&at.to_string()), contents.clone());
    }
    let names: Vec<PathBuf> = (0..contents.len()).map(|at| at.to_string().into()).collect();
    let packed = pack(&disk, &names);
    assert!(packed.len() < 20_000, "{}", packed.len());
    let back = unpack(&packed);
    for (name, contents) in names.iter().zip(contents) {
        assert!(back.contents(name) == Some(contents), "{name:?}");
    }
}

#[test]
#[ignore = "writes files for versions to come"]
fn write_fixtures() {
    let version = VERSIONS[VERSIONS.len() - 1];
    let disk = MemDisk::new();
    let spec = fixture_spec();
    let db = Database::create(&spec, on(&disk)).unwrap();
    make_rows(&mut db.session());
    db.close().unwrap();
    write_new(&path(version, "closed"), &pack_of(&disk, &spec));
    let db = reopen(&disk, &spec.paths());
    let mut committing = db.session();
    let mut unfinished = db.session();
    let table = committing.table("people").unwrap();
    let places: BTreeMap<i32, _> =
        rows(&mut committing, &table).into_iter().map(|(at, row)| (id_of(&row), at)).collect();
    unfinished.begin();
    unfinished.update(&table, &places[&1], &renamed(1)).unwrap();
    unfinished.delete(&table, &places[&20]).unwrap();
    committing.update(&table, &places[&13], &renamed(13)).unwrap();
    db.checkpoint().unwrap();
    committing.update(&table, &places[&26], &renamed(26)).unwrap();
    committing.delete(&table, &places[&5]).unwrap();
    for id in 1001..=1020 {
        committing.insert(&table, &named(id)).unwrap();
    }
    unfinished.insert(&table, &named(2000)).unwrap();
    db.log().flush_all().unwrap();
    // The files as they are on disk when the process is gone: not its memory.
    write_new(&path(version, "crashed"), &pack_of(&disk, &spec));
}

fn make_rows(session: &mut Session<'_>) {
    let table = session.create_table(&people("people")).unwrap();
    let places: Vec<_> =
        (1..=PEOPLE).map(|id| (id, session.insert(&table, &named(id)).unwrap())).collect();
    for (id, at) in places {
        match id {
            _ if id % 7 == 0 => session.delete(&table, &at).unwrap(),
            _ if id % 10 == 0 => drop(session.update(&table, &at, &renamed(id)).unwrap()),
            _ => {}
        }
    }
    let table = session.create_table(&archive()).unwrap();
    for id in 0..40 {
        session.insert(&table, &archived(id)).unwrap();
    }
}

fn write_new(path: &Path, bytes: &[u8]) {
    assert!(!path.exists(), "{} is kept as it is", path.display());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn pack_of(disk: &MemDisk, spec: &DatabaseSpec) -> Vec<u8> {
    let paths = spec.paths();
    let files: Vec<PathBuf> = paths.data.iter().cloned().chain([paths.log]).collect();
    pack(disk, &files)
}

fn pack(disk: &MemDisk, files: &[PathBuf]) -> Vec<u8> {
    let mut out = Vec::new();
    for path in files {
        let name = path.to_str().unwrap();
        let bytes = disk.contents(path).unwrap();
        put_number(&mut out, name.len());
        out.extend(name.as_bytes());
        put_number(&mut out, bytes.len());
        pack_bytes(&bytes, &mut out);
    }
    out
}

/// Bytes as they are, and repetitions of what came before: the latest place of the same six bytes.
fn pack_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    const LEAST: usize = 6;
    let mut places: std::collections::HashMap<&[u8], usize> = Default::default();
    let mut at = 0;
    let mut plain = 0;
    while at < bytes.len() {
        let known = bytes.get(at..at + LEAST).and_then(|next| places.insert(next, at));
        let Some(from) = known else {
            at += 1;
            continue;
        };
        let same = bytes[at..].iter().zip(&bytes[from..]).take_while(|(a, b)| a == b).count();
        put_number(out, at - plain);
        out.extend(&bytes[plain..at]);
        put_number(out, same);
        put_number(out, at - from);
        for inner in at + 1..(at + same).min(at + 200) {
            if let Some(next) = bytes.get(inner..inner + LEAST) {
                places.insert(next, inner);
            }
        }
        at += same;
        plain = at;
    }
    if plain < bytes.len() {
        put_number(out, bytes.len() - plain);
        out.extend(&bytes[plain..]);
    }
}

fn put_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn unpack(mut packed: &[u8]) -> MemDisk {
    let disk = MemDisk::new();
    while !packed.is_empty() {
        let len = number(&mut packed);
        let (name, rest) = packed.split_at(len);
        packed = rest;
        let len = number(&mut packed);
        let mut bytes: Vec<u8> = Vec::with_capacity(len);
        while bytes.len() < len {
            let plain = number(&mut packed);
            let (own, rest) = packed.split_at(plain);
            bytes.extend(own);
            packed = rest;
            if bytes.len() < len {
                let same = number(&mut packed);
                let back = number(&mut packed);
                (0..same).for_each(|_| bytes.push(bytes[bytes.len() - back]));
            }
        }
        disk.put(Path::new(std::str::from_utf8(name).unwrap()), bytes);
    }
    disk
}

fn number(packed: &mut &[u8]) -> usize {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = packed.split_first().unwrap();
        *packed = rest;
        number |= usize::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    number
}
