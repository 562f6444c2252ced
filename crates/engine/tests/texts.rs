//! Text keys: one total order in all indexes; attached databases refuse new keys of uncertain
//! order, and changes of a table whose index is out of order.

mod support;

use std::ops::{Bound, ControlFlow};
use std::thread;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::size::PAGE_BYTES;
use extentdb_catalog::table::values::RowValues;
use extentdb_engine::{
    Address, ColumnSpec, Database, Error, IndexSpec, Options, Paths, Range, Row, Session, Table,
    TableSpec,
};
use extentdb_format::PageBuf;
use extentdb_format::allocation::field::StoredTime;
use extentdb_format::page::{PageRef, PageType, checksum};
use extentdb_io::MemDisk;
use extentdb_types::{Collation, Datum, SqlType};
use support::*;

/// Texts as real tables have them, in the order of both collations below.
const REAL: [&str; 14] = [
    "030-0074321",
    "1-408-286-2428",
    "172-32-1176",
    "213-46-8915",
    "Alfreds Futterkiste",
    "Ana Trujillo Emparedados y helados",
    "B's Beverages",
    "Chop-suey Chinese",
    "Cooking with Computers: Surreptitious Balance Sheets",
    "de Santis, L.",
    "Fifty Years in Buckingham Palace Kitchens",
    "O'Leary",
    "Simons bistro",
    "Wolski  Zajazd",
];

fn narrow() -> SqlType {
    varchar(100)
}

fn wide() -> SqlType {
    SqlType::NVarChar {
        len: Some(200),
        collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
    }
}

fn value(ty: SqlType, text: &str) -> Datum<'static> {
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    // Code page 1252 has Latin-1 in its places.
    let narrow: Vec<u8> = text.chars().map(|it| it as u32 as u8).collect();
    let is_wide = matches!(ty, SqlType::NVarChar { .. });
    Datum::decode(&ty, if is_wide { &wide } else { &narrow }).unwrap().into_owned()
}

fn row(ty: SqlType, id: i32, name: &str) -> Row {
    vec![Datum::Int(id), value(ty, name)]
}

/// `t (id int, name …)` with index `by_name`.
struct Fixture {
    ty: SqlType,
    disk: MemDisk,
    paths: Paths,
    db: Database,
}

impl Fixture {
    fn new(ty: SqlType, is_clustered: bool, is_unique: bool) -> Fixture {
        let disk = MemDisk::new();
        let spec = spec("texts");
        let db = Database::create(&spec, on(&disk)).unwrap();
        let columns = vec![
            ColumnSpec::new("id", SqlType::Int).not_null(),
            ColumnSpec::new("name", ty).not_null(),
        ];
        let index = IndexSpec { unique: is_unique, ..IndexSpec::new("by_name", &["name"]) };
        let table = TableSpec::heap("t", columns);
        let mut session = db.session();
        if is_clustered {
            session.create_table(&table.clustered(index.clustered())).unwrap();
        } else {
            let table = session.create_table(&table).unwrap();
            session.create_index(&table, &index).unwrap();
        }
        drop(session);
        Fixture { ty, disk, paths: spec.paths(), db }
    }

    /// Every kind of index over texts of both kinds.
    fn all() -> impl Iterator<Item = Fixture> {
        let types = [narrow(), wide()].into_iter();
        types.flat_map(|ty| (0..4).map(move |form| Fixture::new(ty, form & 1 == 1, form & 2 == 2)))
    }

    fn with(self, names: &[&str]) -> Fixture {
        let mut session = self.db.session();
        let table = session.table("t").unwrap();
        for (id, name) in (1..).zip(names) {
            session.insert(&table, &row(self.ty, id, name)).unwrap();
        }
        drop(session);
        self
    }

    fn insert(&self, id: i32, name: &str) -> Result<Address, Error> {
        let mut session = self.db.session();
        let table = session.table("t").unwrap();
        session.insert(&table, &row(self.ty, id, name))
    }

    fn seek(&self, name: &str) -> Result<Vec<i32>, Error> {
        let value = [value(self.ty, name)];
        self.range(&Range::of("by_name", &value))
    }

    fn range(&self, range: &Range<'_>) -> Result<Vec<i32>, Error> {
        let mut session = self.db.session();
        let table = session.table("t").unwrap();
        ids_in(&mut session, &table, range)
    }

    fn close(self) {
        self.db.close().unwrap();
        assert_sound_on(&self.disk, &self.paths);
    }
}

#[test]
fn texts_of_real_tables_are_taken_and_found() {
    for fixture in Fixture::all() {
        let mut order: Vec<usize> = (0..REAL.len()).collect();
        let mut rng = SplitMix64::new(5);
        (1..order.len()).rev().for_each(|at| order.swap(at, rng.below(at as u64 + 1) as usize));
        for at in order {
            fixture.insert(at as i32, REAL[at]).unwrap();
        }
        let everything: Vec<i32> = (0..REAL.len() as i32).collect();
        let fixture = Fixture {
            db: {
                drop(fixture.db);
                reopen(&fixture.disk, &fixture.paths)
            },
            ..fixture
        };
        for (id, name) in (0..).zip(REAL) {
            assert_eq!(fixture.seek(name).unwrap(), [id], "{name}");
            let value = [value(fixture.ty, name)];
            let text = id as usize;
            let from = Range { from: Bound::Excluded(&value), ..Range::all("by_name") };
            assert_eq!(fixture.range(&from).unwrap(), everything[text + 1..]);
            let to = Range { to: Bound::Included(&value), ..Range::all("by_name") };
            let mut back = fixture.range(&to.backward()).unwrap();
            back.reverse();
            assert_eq!(back, everything[..=text]);
        }
        let mut session = fixture.db.session();
        let table = session.table("t").unwrap();
        session.rebuild_index(&table, "by_name").unwrap();
        assert_eq!(ids_in(&mut session, &table, &Range::all("by_name")).unwrap(), everything);
        drop((session, table));
        fixture.close();
    }
}

/// UTF-16 of texts that a key must take: all planes, unpaired surrogates, U+0000, and what
/// comparisons skip.
fn odd_texts() -> Vec<Vec<u16>> {
    let texts = [
        "",
        "a",
        "a\0",
        "\0a",
        "a-b",
        "ab",
        "a'b",
        "a_b",
        "a.b",
        "é",
        "e\u{301}",
        "e\u{302}\u{323}",
        "日本",
        "日",
        "ｶ",
        "か",
    ];
    let more = [
        "\u{10000}",
        "😀",
        "\u{10ffff}",
        "\u{e000}",
        "\u{378}",
        "ß",
        "ss",
        "æ",
        "中国",
        "\u{200d}",
        "ij",
        "ﬁ",
    ];
    let mut texts: Vec<Vec<u16>> =
        texts.iter().chain(&more).map(|text| text.encode_utf16().collect()).collect();
    texts.extend([
        vec![0xd800],
        vec![0xdfff],
        vec![0x61, 0xd83d],
        vec![0xdc00, 0xd800],
        vec![0xffff],
    ]);
    texts
}

fn of_units(ty: SqlType, units: &[u16]) -> Datum<'static> {
    let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    Datum::decode(&ty, &bytes).unwrap().into_owned()
}

#[test]
fn every_text_is_a_key_and_lies_in_the_order_of_comparisons() {
    for name in [
        "Latin1_General_CI_AS",
        "Latin1_General_BIN",
        "Latin1_General_BIN2",
        "Japanese_CI_AS_KS_WS",
    ] {
        let collation = Collation::from_name(name).unwrap();
        let ty = SqlType::NVarChar { len: Some(40), collation };
        for form in 0..4 {
            let fixture = Fixture::new(ty, form & 1 == 1, form & 2 == 2);
            let compare = |a: &[u16], b: &[u16]| {
                let [a, b] = [a, b].map(|units| {
                    units.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<u8>>()
                });
                collation.compare_nchar(&a, &b).ordering
            };
            let mut kept: Vec<(i32, Vec<u16>)> = Vec::new();
            let mut session = fixture.db.session();
            let table = session.table("t").unwrap();
            for (id, units) in (0..).zip(odd_texts()) {
                let is_there = kept.iter().any(|(_, other)| compare(other, &units).is_eq());
                match session.insert(&table, &[Datum::Int(id), of_units(ty, &units)]) {
                    Ok(_) => kept.push((id, units)),
                    Err(Error::DuplicateKey { .. }) => {
                        assert!(is_there && form & 2 == 2, "{units:x?}")
                    }
                    Err(error) => panic!("{units:x?}: {error}"),
                }
            }
            kept.sort_by(|a, b| compare(&a.1, &b.1));
            let found = ids_in(&mut session, &table, &Range::all("by_name")).unwrap();
            let texts = |ids: &[i32]| -> Vec<Vec<u16>> {
                ids.iter().map(|id| odd_texts()[*id as usize].clone()).collect()
            };
            let order = texts(&found);
            assert!(order.is_sorted_by(|a, b| compare(a, b).is_le()), "{name}: {order:x?}");
            assert_eq!(found.len(), kept.len());
            for (id, units) in &kept {
                let value = [of_units(ty, units)];
                assert!(
                    ids_in(&mut session, &table, &Range::of("by_name", &value))
                        .unwrap()
                        .contains(id)
                );
            }
            drop((session, table));
            fixture.close();
        }
    }
}

#[test]
fn tables_are_named_in_any_script() {
    let disk = MemDisk::new();
    let spec = spec("names");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let names = ["a_b", "a-b", "ab", "a'b", "日本", "日", "😀", "Ünder", "under", "\u{e000}", "fi"];
    for name in names {
        db.session().create_table(&people(name)).unwrap();
    }
    // Names that are equal under the collation of the database are one name.
    let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
    for name in ["FI", "Under", "ﬁ"] {
        let is_equal = names.iter().any(|other| {
            let [a, b] = [name, *other].map(value_bytes);
            collation.compare_nchar(&a, &b).ordering.is_eq()
        });
        let done = db.session().create_table(&people(name));
        assert_eq!(matches!(done, Err(Error::Exists { .. })), is_equal, "{name}");
        if let Ok(table) = done {
            db.session().drop_table(&table).unwrap();
        }
    }
    drop(db);
    let db = reopen(&disk, &spec.paths());
    for name in names {
        let mut session = db.session();
        let table = session.table(name).unwrap();
        session.insert(&table, &person(1, name)).unwrap();
        assert!(matches!(session.create_table(&people(name)), Err(Error::Exists { .. })), "{name}");
        drop(table);
        let table = session.table(name).unwrap();
        session.drop_table(&table).unwrap();
    }
    close_and_check(db, &disk, &spec.paths());
}

#[test]
fn an_equal_key_takes_the_bytes_of_an_update() {
    for fixture in Fixture::all() {
        let fixture = fixture.with(&["co-op", "coop"]);
        let mut session = fixture.db.session();
        let table = session.table("t").unwrap();
        let (at, _) = rows(&mut session, &table)
            .into_iter()
            .find(|(_, row)| row[0] == Datum::Int(1))
            .unwrap();
        session.update(&table, &at, &row(fixture.ty, 1, "CO-OP")).unwrap();
        assert_eq!(names(&mut session, &table).iter().filter(|name| *name == "CO-OP").count(), 1);
        drop((session, table));
        assert_eq!(fixture.seek("co-op").unwrap(), [1]);
        fixture.close();
    }
}

#[test]
fn an_index_is_made_over_texts_of_any_kind() {
    let columns =
        || vec![ColumnSpec::new("id", SqlType::Int).not_null(), ColumnSpec::new("name", wide())];
    for clustered in [false, true] {
        let disk = MemDisk::new();
        let spec = spec("made");
        let db = Database::create(&spec, on(&disk)).unwrap();
        let mut session = db.session();
        let table = session.create_table(&TableSpec::heap("t", columns())).unwrap();
        for (id, units) in (0..).zip(odd_texts()) {
            session.insert(&table, &[Datum::Int(id), of_units(wide(), &units)]).unwrap();
        }
        let index = IndexSpec { clustered, ..IndexSpec::new("by_name", &["name"]) };
        session.create_index(&table, &index).unwrap();
        let found = ids_in(&mut session, &table, &Range::all("by_name")).unwrap();
        assert_eq!(found.len(), odd_texts().len());
        drop((session, table));
        close_and_check(db, &disk, &spec.paths());
    }
}

#[test]
fn a_foreign_key_finds_texts_that_are_equal_under_the_collation() {
    let fixture = Fixture::new(narrow(), true, true).with(&["a_b", "O'Leary"]);
    let mut session = fixture.db.session();
    let parent = session.table("t").unwrap();
    let columns =
        vec![ColumnSpec::new("id", SqlType::Int).not_null(), ColumnSpec::new("name", narrow())];
    let child = session.create_table(&TableSpec::heap("child", columns)).unwrap();
    session.add_foreign_key(&child, "fk", &parent, &[("name", "name")]).unwrap();
    session.insert(&child, &row(narrow(), 1, "o'leary")).unwrap();
    for absent in ["nobody", "a.b"] {
        let refused = session.insert(&child, &row(narrow(), 2, absent));
        assert!(matches!(refused, Err(Error::Constraint { .. })));
    }
    let parents = rows(&mut session, &parent);
    let at = |id| parents.iter().find(|(_, row)| row[0] == Datum::Int(id)).unwrap().0.clone();
    assert!(matches!(session.delete(&parent, &at(2)), Err(Error::Constraint { .. })));
    session.delete(&parent, &at(1)).unwrap();
    assert_eq!(ids(&mut session, &child), [1]);
    drop((session, parent, child));
    fixture.close();
}

/// Each of two threads inserts texts between those of the other, and rolls some of them back.
#[test]
fn inserts_of_two_threads_into_the_same_gaps_stay_in_order() {
    for form in 0..4 {
        let fixture = Fixture::new(wide(), form & 1 == 1, form & 2 == 2).with(&["m"]);
        let accepted = thread::scope(|scope| {
            let work = |number: u64| {
                let fixture = &fixture;
                move || side_by_side(fixture, number)
            };
            let threads = [scope.spawn(work(1)), scope.spawn(work(2))];
            threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
        });
        let mut session = fixture.db.session();
        let table = session.table("t").unwrap();
        let names = names(&mut session, &table);
        assert_eq!(names.len(), accepted + 1);
        for pair in names.windows(2) {
            let [a, b] = [&pair[0], &pair[1]].map(|it| value_bytes(it));
            let order = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS.compare_nchar(&a, &b).ordering;
            assert!(order.is_le(), "{pair:?}");
        }
        drop((session, table));
        fixture.close();
    }
}

fn side_by_side(fixture: &Fixture, number: u64) -> usize {
    let mut rng = SplitMix64::new(number);
    let mut accepted = 0;
    let mut session = fixture.db.session();
    let table = session.table("t").unwrap();
    for turn in 0..150 {
        session.begin();
        let mut own = 0;
        for _ in 0..3 {
            let name: String = (0..1 + rng.below(4))
                .map(|_| *b"ab-_."[..].get(rng.below(5) as usize).unwrap() as char)
                .collect();
            let id = (number * 1000 + turn) as i32;
            match session.insert(&table, &row(fixture.ty, id, &name)) {
                Ok(_) => own += 1,
                Err(Error::DuplicateKey { .. }) => {}
                Err(error) if error.is_deadlock() => break,
                Err(error) => panic!("{name}: {error}"),
            }
        }
        if session.is_doomed() || rng.below(3) == 0 {
            session.rollback().unwrap();
        } else {
            session.commit().unwrap();
            accepted += own;
        }
    }
    accepted
}

fn value_bytes(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// The texts in the order of the index.
fn names(session: &mut Session<'_>, table: &Table) -> Vec<String> {
    let mut found = Vec::new();
    let each = &mut |_: Address, row: Row| {
        let mut text = String::new();
        extentdb_types::plain::write_plain(&row[1], &mut text).unwrap();
        found.push(text);
        ControlFlow::Continue(())
    };
    session.range(table, &Range::all("by_name"), each).unwrap();
    found
}

/// A database of another product, with an index over `names`, which are in the order of the index.
fn attached(folder: &std::path::Path, names: &[&str], ty: SqlType, is_clustered: bool) -> Paths {
    use extentdb_template::{ColumnSpec, DatabaseBuilder, IndexSpec, TableSpec};
    let path = folder.join("texts.mdf");
    let is_wide = matches!(ty, SqlType::NVarChar { .. });
    let values = (1..).zip(names).map(|(id, name)| {
        let mut row = RowValues::new();
        row.int(id);
        if is_wide {
            row.ntext(name)
        } else {
            row.text(name)
        };
        row
    });
    let columns = vec![ColumnSpec::new("id", SqlType::Int), ColumnSpec::new("name", ty)];
    let index = IndexSpec::new("names", &["name"]);
    let table = TableSpec::heap("t", columns, values.collect::<Vec<_>>());
    let table = if is_clustered { table.clustered(index) } else { table.index(index) };
    let created = StoredTime { ticks: 12 * 3600 * 300 + 1, days: 40_542 };
    let builder = DatabaseBuilder::new("texts").table(table).created(created);
    builder.build(&[&path], &mut |_| {}).unwrap();
    Paths { data: vec![path], log: folder.join("texts_log.ldf") }
}

fn open(paths: &Paths) -> Database {
    Database::open(paths, Options { frames: 256, ..Options::default() }).unwrap()
}

/// Exchanges two neighbours on the leaf that holds these texts.
fn exchange(paths: &Paths, leaves: PageType, texts: [&str; 2]) {
    let mut bytes = std::fs::read(&paths.data[0]).unwrap();
    let mut done = 0;
    for page in bytes.chunks_exact_mut(PAGE_BYTES) {
        let mut copy = PageBuf::zeroed();
        copy.copy_from_slice(page);
        let view = PageRef::new(&copy);
        let has =
            |record: &[u8], text: &str| record.windows(text.len()).any(|at| at == text.as_bytes());
        let slot = |text| {
            (0..view.slot_count()).find(|slot| has(view.row(*slot).unwrap_or_default(), text))
        };
        let is_leaf = view.header().kind() == leaves;
        let (Some(a), Some(b), true) = (slot(texts[0]), slot(texts[1]), is_leaf) else { continue };
        let at = |slot: u16| PAGE_BYTES - 2 * (usize::from(slot) + 1);
        (0..2).for_each(|byte| copy.swap(at(a) + byte, at(b) + byte));
        checksum::seal(&mut copy);
        page.copy_from_slice(&copy[..]);
        done += 1;
    }
    assert!(done > 0);
    std::fs::write(&paths.data[0], bytes).unwrap();
}

#[test]
fn a_table_is_read_but_not_changed_while_an_index_is_out_of_order() {
    for is_clustered in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let paths =
            attached(folder.path(), &["0", "plain", "plainer", "z"], narrow(), is_clustered);
        let leaves = if is_clustered { PageType::Data } else { PageType::Index };
        exchange(&paths, leaves, ["plain", "plainer"]);
        let db = open(&paths);
        let mut session = db.session();
        let table = session.table("t").unwrap();
        let there = rows(&mut session, &table);
        let all_ids = |session: &mut Session<'_>| {
            let mut all = ids(session, &table);
            all.sort_unstable();
            all
        };
        assert_eq!(all_ids(&mut session), [1, 2, 3, 4]);
        let is_named = |error: Error| {
            matches!(&error, Error::KeysOutOfOrder { table, index, first, second }
                if table.ends_with('t') && index == "names"
                    && first.starts_with("plainer") && second.starts_with("plain"))
        };
        assert!(is_named(session.insert(&table, &person(5, "zz")).unwrap_err()));
        for (at, row) in &there {
            assert_eq!(session.get(&table, at).unwrap().as_ref(), Some(row));
            assert!(is_named(session.delete(&table, at).unwrap_err()));
            assert!(is_named(session.update(&table, at, &person(9, "new")).unwrap_err()));
            let range = Range {
                from: Bound::Included(&row[1..]),
                to: Bound::Included(&row[1..]),
                ..Range::all("names")
            };
            assert_eq!(ids_in(&mut session, &table, &range).unwrap().len(), 1);
        }
        assert_eq!(ids_in(&mut session, &table, &Range::all("names")).unwrap(), [1, 2, 3, 4]);
        assert_eq!(
            ids_in(&mut session, &table, &Range::all("names").backward()).unwrap(),
            [4, 3, 2, 1]
        );
        assert_eq!(all_ids(&mut session), [1, 2, 3, 4], "nothing was changed");
        session.rebuild_index(&table, "names").unwrap();
        session.insert(&table, &person(5, "plaine")).unwrap();
        assert_eq!(ids_in(&mut session, &table, &Range::all("names")).unwrap(), [1, 2, 5, 3, 4]);
        drop((session, table));
        db.close().unwrap();
        assert_sound(&paths.data);
    }
}

/// A character of uncertain weight under the collation of [`wide`], if there is one.
fn uncertain() -> Option<char> {
    let is_uncertain = |it: &char| {
        let text: Vec<u8> = it.to_string().encode_utf16().flat_map(u16::to_le_bytes).collect();
        Collation::SQL_LATIN1_GENERAL_CP1_CI_AS.uncertain_nchar(&text).is_some()
    };
    let found = ['\u{378}', '\u{e000}', '\u{10ffff}', '\u{4e00}', '\u{3400}']
        .into_iter()
        .find(is_uncertain);
    if found.is_none() {
        eprintln!("skipped: no character is uncertain under the collation");
    }
    found
}

#[test]
fn an_attached_database_refuses_new_keys_of_uncertain_order_only() {
    let Some(character) = uncertain() else { return };
    for is_clustered in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let old = format!("{character}z");
        let paths = attached(folder.path(), &["a", "b", &old], wide(), is_clustered);
        let db = open(&paths);
        let mut session = db.session();
        let table = session.table("t").unwrap();
        session.insert(&table, &row(wide(), 4, "certain")).unwrap();
        let assert_refused = |done: Result<Address, Error>| {
            let error = done.unwrap_err();
            let is_it = matches!(&error, Error::UncertainKey { index, character: found, .. }
                if index == "names" && found.code_point == u32::from(character));
            assert!(is_it, "{error}");
            assert!(
                error.to_string().contains(&format!("U+{:04X}", u32::from(character))),
                "{error}"
            );
        };
        let new = format!("a{character}");
        assert_refused(session.insert(&table, &row(wide(), 5, &new)));
        let find = |session: &mut Session<'_>, id: i32| {
            let found = rows(session, &table).into_iter().find(|(_, row)| row[0] == Datum::Int(id));
            found.unwrap().0
        };
        let at = find(&mut session, 1);
        assert_refused(session.update(&table, &at, &row(wide(), 1, &new)));
        // The key stays as it is, whatever is in it.
        let at = find(&mut session, 3);
        let at = session.update(&table, &at, &row(wide(), 30, &old)).unwrap();
        let value = [value(wide(), &old)];
        assert_eq!(ids_in(&mut session, &table, &Range::of("names", &value)).unwrap(), [30]);
        session.delete(&table, &at).unwrap();
        let name = format!("t{character}");
        assert!(matches!(session.create_table(&people(&name)), Err(Error::UncertainKey { .. })));
        drop((session, table));
        db.close().unwrap();
        assert_sound(&paths.data);
    }
}

#[test]
fn a_database_made_here_takes_what_an_attached_one_refuses() {
    let Some(character) = uncertain() else { return };
    let fixture = Fixture::new(wide(), false, true).with(&["a", "b"]);
    let Fixture { ty, disk, paths, db } = fixture;
    db.close().unwrap();
    let db = reopen(&disk, &paths);
    let fixture = Fixture { ty, disk, paths, db };
    let new = format!("a{character}");
    fixture.insert(3, &new).unwrap();
    assert!(matches!(fixture.insert(4, &new), Err(Error::DuplicateKey { .. })));
    assert_eq!(fixture.seek(&new).unwrap(), [3]);
    fixture.close();
}
