//! Keys of texts whose order is known in part: what lies right for certain is taken and found, the rest is refused and leaves nothing.

mod support;

use std::ops::{Bound, ControlFlow};
use std::thread;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::size::PAGE_BYTES;
use extentdb_catalog::table::values::RowValues;
use extentdb_engine::{
    Address, ColumnSpec, Database, Error, IndexSpec, Options, Paths, Range, Row, Session, Table, TableSpec,
};
use extentdb_format::PageBuf;
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
    SqlType::NVarChar { len: Some(200), collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS }
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
        let (disk, spec) = (MemDisk::new(), spec("texts"));
        let db = Database::create(&spec, on(&disk)).unwrap();
        let columns =
            vec![ColumnSpec::new("id", SqlType::Int).not_null(), ColumnSpec::new("name", ty).not_null()];
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

/// The refused change names the column and the neighbour.
fn assert_refused<T: std::fmt::Debug>(done: Result<T, Error>, neighbour: &str) {
    let error = done.unwrap_err();
    let is_it = matches!(&error, Error::Value { column, what }
        if column == "name" && what.contains(&format!("beside '{neighbour}'")));
    assert!(is_it, "{error}");
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
            let (value, text) = ([value(fixture.ty, name)], id as usize);
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

#[test]
fn a_text_that_is_not_decided_against_its_neighbour_leaves_nothing() {
    for fixture in Fixture::all() {
        let fixture = fixture.with(&["a_b", "other"]);
        assert_refused(fixture.insert(3, "a.b"), "a_b");
        let mut session = fixture.db.session();
        let table = session.table("t").unwrap();
        session.begin();
        session.insert(&table, &row(fixture.ty, 4, "kept")).unwrap();
        let (at, _) = rows(&mut session, &table).pop().unwrap();
        let refused = row(fixture.ty, 9, "a,b");
        assert_refused(session.insert(&table, &refused), "a_b");
        assert_refused(session.update(&table, &at, &refused), "a_b");
        session.commit().unwrap();
        assert_eq!(ids(&mut session, &table), [1, 2, 4]);
        assert_eq!(table.row_count(), 3);
        drop((session, table));
        let error = fixture.seek("a.b").unwrap_err();
        assert!(matches!(&error, Error::NotSupported { what } if what.contains("'a_b'")), "{error}");
        assert_eq!(fixture.seek("a_b").unwrap(), [1]);
        fixture.close();
    }
}

#[test]
fn a_certain_text_is_refused_beside_one_that_it_is_not_decided_against() {
    let fixture = Fixture::new(narrow(), false, true).with(&["München", "Zwolle"]);
    assert_refused(fixture.insert(3, "Munchet"), "München");
    assert!(matches!(fixture.seek("Munchet"), Err(Error::NotSupported { .. })));
    // What is further away does not matter, and so it is when the other one comes second.
    fixture.insert(4, "Munster").unwrap_err();
    fixture.insert(5, "Nord").unwrap();
    assert_eq!(fixture.seek("Nord").unwrap(), [5]);
    fixture.close();
    let fixture = Fixture::new(narrow(), true, false).with(&["Munchet", "Zwolle"]);
    assert_refused(fixture.insert(3, "München"), "Munchet");
    assert_eq!(fixture.seek("Munchet").unwrap(), [1]);
    fixture.close();
}

#[test]
fn what_comes_to_the_end_of_a_range_while_it_is_read_is_looked_for_behind_that() {
    for first in ["a", "a_1"] {
        let fixture = Fixture::new(narrow(), false, true).with(&[first, "z"]);
        let (mut session, end) = (fixture.db.session(), [value(narrow(), "m_b")]);
        let table = session.table("t").unwrap();
        let range = Range { to: Bound::Included(&end), ..Range::all("by_name") };
        for comes in [None, Some("n"), Some("m.b")] {
            let mut found = 0;
            let each = &mut |_: Address, _: Row| {
                found += 1;
                if let Some(name) = comes {
                    fixture.insert(9, name).unwrap();
                }
                ControlFlow::Continue(())
            };
            let done = session.range(&table, &range, each);
            assert_eq!((done.is_ok(), found), (comes != Some("m.b"), 1), "{done:?}");
        }
        drop((session, table));
        fixture.close();
    }
}

#[test]
fn what_a_word_sort_skips_tells_texts_apart_at_last() {
    for form in 0..4 {
        let fixture =
            Fixture::new(wide(), form & 1 == 1, form & 2 == 2).with(&["co-op", "coop", "coops", "coo"]);
        assert_eq!(fixture.range(&Range::all("by_name")).unwrap(), [4, 2, 1, 3]);
        for (id, name) in (1..).zip(["CO-OP", "Coop", "coops", "coo"]) {
            assert_eq!(fixture.seek(name).unwrap(), [id]);
        }
        // Two hyphens in other places: which comes first is not known.
        assert_refused(fixture.insert(5, "c-oop"), "co-op");
        fixture.close();
    }
}

#[test]
fn texts_that_may_be_the_same_do_not_take_each_others_place() {
    // Without accents the stroke of ø may count or not.
    let ty =
        SqlType::NVarChar { len: Some(40), collation: Collation::from_name("Latin1_General_CI_AI").unwrap() };
    for form in 0..4 {
        let fixture = Fixture::new(ty, form & 1 == 1, form & 2 == 2).with(&["ox", "resume"]);
        let mut session = fixture.db.session();
        let table = session.table("t").unwrap();
        let (at, _) = rows(&mut session, &table).remove(0);
        assert_refused(session.update(&table, &at, &row(ty, 1, "øx")), "ox");
        assert_refused(session.insert(&table, &row(ty, 3, "øx")), "ox");
        session.update(&table, &at, &row(ty, 1, "OX")).unwrap();
        drop((session, table));
        assert!(matches!(fixture.seek("øx"), Err(Error::NotSupported { .. })));
        assert_eq!(fixture.seek("résumé").unwrap(), [2]);
        fixture.close();
    }
}

#[test]
fn an_index_is_made_only_over_texts_that_are_decided() {
    let columns = || vec![ColumnSpec::new("id", SqlType::Int).not_null(), ColumnSpec::new("name", narrow())];
    for clustered in [false, true] {
        let (disk, spec) = (MemDisk::new(), spec("made"));
        let db = Database::create(&spec, on(&disk)).unwrap();
        let mut session = db.session();
        let table = session.create_table(&TableSpec::heap("t", columns())).unwrap();
        for (id, name) in (0..).zip(["a_b", "plain", "a.b"]) {
            session.insert(&table, &row(narrow(), id, name)).unwrap();
        }
        let index = IndexSpec { clustered, ..IndexSpec::new("by_name", &["name"]) };
        let error = session.create_index(&table, &index).unwrap_err();
        assert!(matches!(&error, Error::Value { column, .. } if column == "name"), "{error}");
        assert!(table.indexes().is_empty() && session.table("t").unwrap().heap().is_some());
        let (at, _) = rows(&mut session, &table).pop().unwrap();
        session.delete(&table, &at).unwrap();
        session.create_index(&table, &index).unwrap();
        assert_eq!(ids_in(&mut session, &table, &Range::all("by_name")).unwrap(), [0, 1]);
        assert_refused(session.insert(&table, &row(narrow(), 3, "a.b")), "a_b");
        drop((session, table));
        db.close().unwrap();
        assert_sound_on(&disk, &spec.paths());
    }
}

#[test]
fn a_foreign_key_over_texts_is_followed_where_they_are_decided() {
    let fixture = Fixture::new(narrow(), true, true).with(&["a_b", "O'Leary"]);
    let mut session = fixture.db.session();
    let parent = session.table("t").unwrap();
    let columns = vec![ColumnSpec::new("id", SqlType::Int).not_null(), ColumnSpec::new("name", narrow())];
    let child = session.create_table(&TableSpec::heap("child", columns)).unwrap();
    session.add_foreign_key(&child, "fk", &parent, &[("name", "name")]).unwrap();
    session.insert(&child, &row(narrow(), 1, "o'leary")).unwrap();
    let refused = session.insert(&child, &row(narrow(), 2, "nobody"));
    assert!(matches!(refused, Err(Error::Constraint { .. })));
    // Whether the row that it names is there is not known.
    let open = session.insert(&child, &row(narrow(), 2, "a.b"));
    assert!(matches!(open, Err(Error::NotSupported { .. })));
    let parents = rows(&mut session, &parent);
    let at = |id| parents.iter().find(|(_, row)| row[0] == Datum::Int(id)).unwrap().0.clone();
    assert!(matches!(session.delete(&parent, &at(2)), Err(Error::Constraint { .. })));
    session.delete(&parent, &at(1)).unwrap();
    assert_eq!(ids(&mut session, &child), [1]);
    drop((session, parent, child));
    fixture.close();
}

/// Each of two threads puts texts into the gaps of the other's, and takes some back.
#[test]
fn of_two_who_come_side_by_side_the_later_one_sees_the_other() {
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
            let order = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS.compare_nchar(&a, &b).ordering();
            assert!(order.is_none_or(std::cmp::Ordering::is_le), "{pair:?}");
        }
        drop((session, table));
        fixture.close();
    }
}

fn side_by_side(fixture: &Fixture, number: u64) -> usize {
    let (mut rng, mut accepted) = (SplitMix64::new(number), 0);
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
                Err(Error::Value { .. } | Error::DuplicateKey { .. }) => {}
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

/// A database that somebody else made, with an index over `names`.
fn foreign(folder: &std::path::Path, names: &[&str], is_clustered: bool) -> Paths {
    use extentdb_synth::build::{DatabaseBuilder, spec};
    let path = folder.join("texts.mdf");
    let values = (1..).zip(names).map(|(id, name)| {
        let mut row = RowValues::new();
        row.int(id).text(name);
        row
    });
    let columns =
        vec![spec::ColumnSpec::new("id", SqlType::Int), spec::ColumnSpec::new("name", varchar(100))];
    let index = spec::IndexSpec::new("by_name", &["name"]);
    let table = spec::TableSpec::heap("t", columns, values.collect::<Vec<_>>());
    let table = if is_clustered { table.clustered(index) } else { table.index(index) };
    DatabaseBuilder::new("texts").table(table).build(&[&path], &mut |_| {}).unwrap();
    Paths { data: vec![path], log: folder.join("texts_log.ldf") }
}

/// Exchanges two neighbours on the leaf that holds these texts.
fn exchange(paths: &Paths, texts: [&str; 2]) {
    let mut bytes = std::fs::read(&paths.data[0]).unwrap();
    let mut done = 0;
    for page in bytes.chunks_exact_mut(PAGE_BYTES) {
        let mut copy = PageBuf::zeroed();
        copy.copy_from_slice(page);
        let view = PageRef::new(&copy);
        let has = |record: &[u8], text: &str| record.windows(text.len()).any(|at| at == text.as_bytes());
        let slot = |text| (0..view.slot_count()).find(|slot| has(view.row(*slot).unwrap_or_default(), text));
        let is_leaf = [PageType::Data, PageType::Index].contains(&view.header().kind());
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
fn an_index_that_was_there_is_read_before_its_first_use() {
    for (is_clustered, texts, is_known) in [
        (false, ["plain", "plainer"], true),
        (false, ["a_b", "a-c"], true),
        (false, ["a_b", "ab"], true),
        (false, ["a_b", "ab"], false),
        (true, ["a_b", "ab"], true),
        (true, ["a_b", "ab"], false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let paths = foreign(folder.path(), &["0", texts[0], texts[1], "z"], is_clustered);
        if !is_known {
            exchange(&paths, texts);
        }
        let db = Database::open(&paths, Options { frames: 256, ..Options::default() }).unwrap();
        let mut session = db.session();
        let table = session.table("t").unwrap();
        let inserted = session.insert(&table, &person(5, "zz"));
        let sought = ids_in(&mut session, &table, &Range::all("by_name"));
        if is_known {
            inserted.unwrap();
            assert_eq!(sought.unwrap(), [1, 2, 3, 4, 5]);
            assert_refused_or_taken(session.insert(&table, &person(6, "a.d")), texts[0].contains('_'));
        } else {
            let is_refused =
                |error: Error| matches!(error, Error::NotSupported { what } if what.contains("by_name"));
            assert!(is_refused(inserted.unwrap_err()) && is_refused(sought.unwrap_err()));
        }
        drop((session, table));
        db.close().unwrap();
    }
}

fn assert_refused_or_taken(done: Result<Address, Error>, is_refused: bool) {
    match done {
        Ok(_) => assert!(!is_refused),
        Err(Error::Value { .. }) => assert!(is_refused),
        Err(error) => panic!("{error}"),
    }
}
