//! Indexes of texts, changed at random, against many orders at once.
//!
//! The true order of a collation is known in part only. Here are several total orders, each of which could be the true one: they agree
//! wherever a comparison is decided, and differ in the rest (symbols, two accents, where skipped characters stand). What the engine
//! accepts must be right under every one of them: the order of the entries, the way to each from the root, what a seek finds, and that a
//! unique index has no text twice.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use extentdb_base::PageId;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_catalog::PageGetter;
use extentdb_catalog::layout::{Cell, Level, cell};
use extentdb_catalog::model::{AllocUnitKind, Rowset};
use extentdb_engine::{
    Address, ColumnSpec, Database, Error, IndexSpec, Paths, Range, Row, Session, Table, TableSpec,
};
use extentdb_format::PageBuf;
use extentdb_format::page::{PageRef, PageType};
use extentdb_format::record::Record;
use extentdb_io::MemDisk;
use extentdb_reader::{Database as Reader, OpenOptions};
use extentdb_types::{Collation, Datum, SqlType};
use support::*;

/// Where a text lies in an order: its characters, then its accents, then the skipped ones.
type Place = (Vec<u16>, Vec<u8>, Vec<(usize, u16)>);

/// One of the orders that could be the true one.
struct Truth {
    is_word_sort: bool,
    symbols: &'static str,
    accented: &'static str,
    are_ties_turned: bool,
}

impl Truth {
    fn all(is_word_sort: bool) -> [Truth; 3] {
        [("_.-'", "éè", false), ("'.-_", "èé", true), ("-_'.", "éè", true)].map(
            |(symbols, accented, are_ties_turned)| Truth { is_word_sort, symbols, accented, are_ties_turned },
        )
    }

    fn place(&self, text: &str) -> Place {
        let (mut primary, mut accents, mut ties) = (Vec::new(), Vec::new(), Vec::new());
        let rank = |of: &str, it: char| of.chars().position(|other| other == it).unwrap() as u16;
        for it in text.trim_end_matches(' ').chars() {
            let (first, second) = match it {
                '-' | '\'' if self.is_word_sort => {
                    let place = primary.len();
                    let place = if self.are_ties_turned { 100 - place } else { place };
                    ties.push((place, rank(self.symbols, it)));
                    continue;
                }
                ' ' => (1, 0),
                '0'..='9' => (50 + it as u16, 0),
                'a'..='z' | 'A'..='Z' => (200 + it.to_ascii_lowercase() as u16, 0),
                'é' | 'è' => (200 + 'e' as u16, 1 + rank(self.accented, it) as u8),
                _ => (10 + rank(self.symbols, it), 0),
            };
            primary.push(first);
            accents.push(second);
        }
        (primary, accents, ties)
    }
}

/// How a table and its index are made.
#[derive(Clone, Copy, Debug)]
struct Form {
    is_wide: bool,
    is_clustered: bool,
    is_unique: bool,
    is_descending: bool,
}

impl Form {
    fn name_type(self) -> SqlType {
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        match self.is_wide {
            true => SqlType::NVarChar { len: Some(40), collation },
            false => SqlType::VarChar { len: Some(20), collation },
        }
    }

    fn value(self, text: &str) -> Datum<'static> {
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let bytes = if self.is_wide { wide.as_slice() } else { text.as_bytes() };
        Datum::decode(&self.name_type(), bytes).unwrap().into_owned()
    }

    fn text(self, bytes: &[u8]) -> String {
        match self.is_wide {
            true => {
                let units: Vec<u16> =
                    bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
                String::from_utf16(&units).unwrap()
            }
            false => String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    fn create(self, db: &Database) {
        let mut index = IndexSpec::new("by_name", &["name"]);
        index.keys[0].1 = self.is_descending;
        index.unique = self.is_unique;
        let columns = vec![
            ColumnSpec::new("id", SqlType::Int).not_null(),
            ColumnSpec::new("name", self.name_type()).not_null(),
            ColumnSpec::new("filler", varchar(3000)),
        ];
        let mut session = db.session();
        let table = TableSpec::heap("t", columns);
        if self.is_clustered {
            drop(session.create_table(&table.clustered(index.clustered())).unwrap());
            return;
        }
        let table = session.create_table(&table).unwrap();
        index.included = vec!["filler".to_owned()];
        session.create_index(&table, &index).unwrap();
    }

    /// Texts of a few characters, so that many are close to each other.
    fn any_text(self, rng: &mut SplitMix64) -> String {
        let letters = if self.is_wide { "abABe1 -'_.éè" } else { "abABe1 -'_." };
        let letters: Vec<char> = letters.chars().collect();
        (0..rng.below(6)).map(|_| letters[rng.below(letters.len() as u64) as usize]).collect()
    }
}

/// Rows by id: where they are, and their texts.
type Rows = BTreeMap<i32, (Address, String)>;

struct Life {
    form: Form,
    truths: [Truth; 3],
    rng: SplitMix64,
    next: i32,
    accepted: u64,
    refused: u64,
    found: u64,
    not_found: u64,
}

impl Life {
    fn new(form: Form, seed: u64) -> Life {
        let (truths, rng) = (Truth::all(form.is_wide), SplitMix64::new(seed));
        Life { form, truths, rng, next: 0, accepted: 0, refused: 0, found: 0, not_found: 0 }
    }

    fn step(&mut self, session: &mut Session<'_>, table: &Table, rows: &mut Rows) {
        let text = self.form.any_text(&mut self.rng);
        let any = rows.keys().nth(self.rng.below(rows.len().max(1) as u64) as usize).copied();
        match (self.rng.below(10), any) {
            (0..5, _) | (_, None) => {
                self.next += 1;
                let done = session.insert(table, &self.row(self.next, &text));
                self.settle(rows, self.next, text, done);
            }
            (5..7, Some(id)) => {
                let at = rows[&id].0.clone();
                let row = self.row(id, &text);
                let done = session.update(table, &at, &row);
                self.settle(rows, id, text, done);
            }
            (7, Some(id)) => {
                session.delete(table, &rows.remove(&id).unwrap().0).unwrap();
            }
            (8, _) => self.seek(session, table, rows, &text),
            _ => self.range(session, table, rows, &text),
        }
    }

    fn row(&mut self, id: i32, name: &str) -> Row {
        let filler = "x".repeat(1500 + self.rng.below(1000) as usize);
        vec![Datum::Int(id), self.form.value(name), text(&filler)]
    }

    /// What came of putting a text into a row.
    fn settle(&mut self, rows: &mut Rows, id: i32, text: String, done: Result<Address, Error>) {
        let has_it = |truth: &Truth| {
            let place = truth.place(&text);
            rows.iter().any(|(other, (_, own))| *other != id && truth.place(own) == place)
        };
        match done {
            Ok(at) => {
                let is_twice = self.form.is_unique && self.truths.iter().any(has_it);
                assert!(!is_twice, "'{text}' is there already, under some order");
                rows.insert(id, (at, text));
                self.accepted += 1;
            }
            Err(Error::DuplicateKey { .. }) => assert!(self.truths.iter().all(has_it), "'{text}' is new"),
            Err(Error::Value { what, .. }) => {
                assert!(what.contains("beside"), "{what}");
                self.refused += 1;
            }
            Err(error) => panic!("{text}: {error}"),
        }
    }

    fn seek(&mut self, session: &mut Session<'_>, table: &Table, rows: &Rows, text: &str) {
        let value = [self.form.value(text)];
        let found = ids_in(session, table, &Range::of("by_name", &value));
        self.compare(found, rows, |truth, own| truth.place(own) == truth.place(text));
    }

    fn range(&mut self, session: &mut Session<'_>, table: &Table, rows: &Rows, text: &str) {
        let (low, form) = (self.form.any_text(&mut self.rng), self.form);
        let (from, to) = ([form.value(&low)], [form.value(text)]);
        let (is_open, is_closed) = (self.rng.below(2) == 0, self.rng.below(2) == 0);
        let range = Range {
            from: if is_open { Bound::Excluded(&from) } else { Bound::Included(&from) },
            to: if is_closed { Bound::Included(&to) } else { Bound::Excluded(&to) },
            backward: self.rng.below(2) == 0,
            ..Range::all("by_name")
        };
        let found = ids_in(session, table, &range);
        self.compare(found, rows, |truth, own| {
            let [mut from, mut to] =
                [(&low, own), (&own.to_owned(), text)].map(|(a, b)| truth.place(a).cmp(&truth.place(b)));
            if form.is_descending {
                (from, to) = (from.reverse(), to.reverse());
            }
            (if is_open { from.is_lt() } else { from.is_le() })
                && if is_closed { to.is_le() } else { to.is_lt() }
        });
    }

    fn compare(&mut self, found: Result<Vec<i32>, Error>, rows: &Rows, is_in: impl Fn(&Truth, &str) -> bool) {
        let found: BTreeSet<i32> = match found {
            Ok(found) => found.into_iter().collect(),
            Err(Error::NotSupported { .. }) => {
                self.not_found += 1;
                return;
            }
            Err(error) => panic!("{error}"),
        };
        for truth in &self.truths {
            let expected = rows.iter().filter(|(_, (_, own))| is_in(truth, own)).map(|(id, _)| *id);
            assert_eq!(found, expected.collect());
        }
        self.found += 1;
    }

    /// All entries are there, in an order that is right under every one, both ways.
    fn assert_in_order(&self, session: &mut Session<'_>, table: &Table, rows: &Rows) {
        let mut ids = ids_in(session, table, &Range::all("by_name")).unwrap();
        assert_eq!(ids.len(), rows.len());
        for truth in &self.truths {
            let places = ids.iter().map(|id| truth.place(&rows[id].1));
            let is_sorted = match self.form.is_descending {
                true => places.is_sorted_by(|a, b| a >= b),
                false => places.is_sorted(),
            };
            assert!(is_sorted, "{:?}", ids.iter().map(|id| &rows[id].1).collect::<Vec<_>>());
        }
        ids.reverse();
        assert_eq!(ids, ids_in(session, table, &Range::all("by_name").backward()).unwrap());
    }

    fn live(&mut self, mut disk: MemDisk, db: Database, paths: &Paths) -> (MemDisk, Rows) {
        let (mut db, mut rows) = (db, Rows::new());
        for turn in 0..24 {
            let mut session = db.session();
            let table = session.table("t").unwrap();
            session.begin();
            let mut own = rows.clone();
            (0..25).for_each(|_| self.step(&mut session, &table, &mut own));
            match self.rng.below(4) {
                0 => session.rollback().unwrap(),
                _ => {
                    session.commit().unwrap();
                    rows = own;
                }
            }
            self.assert_in_order(&mut session, &table, &rows);
            if turn % 5 == 4 {
                self.rebuild(&mut session, &table, &mut rows);
            }
            if turn % 6 == 2 {
                self.thin_out(&mut session, &table, &mut rows);
            }
            drop((session, table));
            match turn % 6 {
                // Takes the ghosts away; the separators that were made of them stay.
                2 => db.close().unwrap(),
                5 => {
                    let crashed = disk.crash(&mut self.rng);
                    drop(db);
                    disk = crashed;
                }
                _ => continue,
            }
            db = reopen(&disk, paths);
        }
        db.close().unwrap();
        (disk, rows)
    }

    /// Deletes half of the rows.
    fn thin_out(&mut self, session: &mut Session<'_>, table: &Table, rows: &mut Rows) {
        session.begin();
        let gone: Vec<i32> = rows.keys().copied().filter(|_| self.rng.below(2) == 0).collect();
        for id in gone {
            session.delete(table, &rows.remove(&id).unwrap().0).unwrap();
        }
        session.commit().unwrap();
    }

    fn rebuild(&mut self, session: &mut Session<'_>, table: &Arc<Table>, rows: &mut Rows) {
        match session.rebuild_index(table, "by_name") {
            Ok(()) => self.accepted += 1,
            Err(Error::Value { .. }) => self.refused += 1,
            Err(error) => panic!("{error}"),
        }
        for (at, row) in support::rows(session, table) {
            let Datum::Int(id) = row[0] else { panic!("no id") };
            rows.get_mut(&id).unwrap().0 = at;
        }
    }
}

/// The pages of an index, as somebody else goes through them.
struct Ways<'r> {
    form: Form,
    rowset: &'r Rowset,
    pages: &'r dyn PageGetter,
}

impl Ways<'_> {
    fn page(&self, id: PageId) -> PageBuf {
        let mut page = PageBuf::zeroed();
        self.pages.page(id, &mut page).unwrap();
        page
    }

    fn place(&self, truth: &Truth, record: &Record<'_>, level: Level) -> Place {
        let column = self.rowset.layout.columns.iter().find(|column| column.key_ordinal == 1).unwrap();
        let Ok(Cell::Bytes(bytes)) = cell(record, column, level) else { panic!("no text") };
        truth.place(&self.form.text(&bytes))
    }

    /// Every entry is where its leaf is looked for by separators alone. Says how many pages there are.
    fn verify(&self, truth: &Truth, id: PageId, low: Option<&Place>, high: Option<&Place>) -> usize {
        let page = self.page(id);
        let view = PageRef::new(&page);
        let header = view.header();
        let is_leaf = header.kind() == PageType::Data || (header.level == 0 && !self.form.is_clustered);
        let level = if is_leaf { Level::Leaf } else { Level::Interior };
        let record = |slot| {
            let bytes = view.record_bytes(slot).unwrap();
            let is_data = header.kind() == PageType::Data;
            if is_data {
                Record::parse_data(bytes)
            } else {
                Record::parse_index(bytes, header.fixed_len.get())
            }
        };
        let is_before = |a: &Place, b: &Place| if self.form.is_descending { a > b } else { a < b };
        let mut pages = 1;
        for slot in 0..view.slot_count() {
            if is_leaf {
                let place = self.place(truth, &record(slot), level);
                assert!(low.is_none_or(|low| !is_before(&place, low)), "before its separator");
                assert!(high.is_none_or(|high| is_before(&place, high)), "behind the next separator");
                continue;
            }
            let separator = |slot| self.place(truth, &record(slot), level);
            let from = (slot > 0).then(|| separator(slot));
            let until = (slot + 1 < view.slot_count()).then(|| separator(slot + 1));
            let child = record(slot).child().unwrap();
            pages += self.verify(truth, child, from.as_ref().or(low), until.as_ref().or(high));
        }
        pages
    }
}

fn lives(is_wide: bool) {
    let (mut accepted, mut refused, mut found, mut not_found, mut pages) = (0, 0, 0, 0, 0);
    for seed in 0..8u64 {
        let (is_clustered, is_unique, is_descending) = (seed & 1 == 1, seed & 2 == 2, seed & 4 == 4);
        let form = Form { is_wide, is_clustered, is_unique, is_descending };
        let (disk, spec) = (MemDisk::new(), spec("texts"));
        let db = Database::create(&spec, on(&disk)).unwrap();
        form.create(&db);
        let mut life = Life::new(form, 77 + seed);
        let (disk, rows) = life.live(disk, db, &spec.paths());
        assert!(!rows.is_empty());
        assert_sound_on(&disk, &spec.paths());
        let folder = tempfile::tempdir().unwrap();
        let files = files_of(&disk, &spec.paths(), folder.path());
        let reader = Reader::open(&files, &OpenOptions::default()).unwrap();
        let table = reader.catalog().user_tables()[0];
        let index = table.indexes.iter().find(|index| index.name.as_deref() == Some("by_name")).unwrap();
        let rowset = reader.catalog().rowsets_of(index).next().unwrap();
        let root = rowset.unit(AllocUnitKind::InRow).unwrap().root;
        if is_unique {
            let ways = Ways { form, rowset, pages: &reader.pages() };
            pages += life.truths.iter().map(|truth| ways.verify(truth, root, None, None)).sum::<usize>();
        }
        (accepted, refused) = (accepted + life.accepted, refused + life.refused);
        (found, not_found) = (found + life.found, not_found + life.not_found);
    }
    eprintln!(
        "{accepted} accepted, {refused} refused; {found} ranges read, {not_found} refused; {pages} pages"
    );
    assert!(accepted > 800 && refused > 200, "{accepted} {refused}");
    assert!(found > 200 && not_found > 50 && pages > 100, "{found} {not_found} {pages}");
}

#[test]
fn texts_of_a_sql_sort_order_lie_right_under_every_order_that_could_be_true() {
    lives(false);
}

#[test]
fn texts_of_a_word_sort_lie_right_under_every_order_that_could_be_true() {
    lives(true);
}
