//! Text keys under many collations, with crashes: random texts of all planes are inserted, updated
//! and deleted in unique and in other indexes.
//!
//! ```text
//! seed ─▶ a table per collation: heap or clustered, index unique or not
//!      ─▶ transactions over one table each; some are rolled back, the last one is interrupted by a
//!      crash
//!      ─▶ after each recovery: entries in the order of comparisons, bytes as written, every key
//!      found
//!      ─▶ in the end the full check
//! ```
//!
//! The model is a map in the order that `types` compares by. The only refusal that is allowed is
//! that of a duplicate in a unique index, and it must come exactly where the model has an equal
//! key.

mod source;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Address, ColumnSpec, Database, DatabaseSpec, Error, IndexSpec, Options, Range, Row, Session,
    Table, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_types::{Collation, Datum, SqlType};

use crate::property::sound::complaint;
use source::{UNITS_MAX, any_bytes, any_units, varied};

/// Collations by name, and whether their column is nvarchar.
const COLLATIONS: [(&str, bool); 13] = [
    ("Latin1_General_CI_AS", true),
    ("Latin1_General_CI_AS", false),
    ("SQL_Latin1_General_CP1_CI_AS", true),
    ("SQL_Latin1_General_CP1_CI_AS", false),
    ("Latin1_General_BIN2", true),
    ("Latin1_General_BIN", true),
    ("French_CI_AI", true),
    ("Danish_Norwegian_CI_AS", true),
    ("Japanese_CI_AS_KS_WS", true),
    ("Chinese_PRC_CI_AS", true),
    ("Turkish_CI_AS", true),
    ("Hungarian_100_CS_AS", true),
    ("Latin1_General_100_CI_AS_SC", true),
];

/// Statements of a transaction.
const STATEMENTS: u64 = 20;
/// Rows of a table above which more are deleted than inserted.
const ROWS_USUAL: usize = 150;

/// Counts of a run on text keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextReport {
    /// Statements that were done or refused.
    pub operations: u64,
    /// Statements that were refused for a duplicate key.
    pub duplicates: u64,
    /// Crashes that were recovered from.
    pub crashes: u64,
    /// Rows in the end.
    pub rows: u64,
}

/// A text in the order of its collation.
#[derive(Clone, Debug)]
struct TextKey {
    form: TableForm,
    bytes: Vec<u8>,
}

impl Ord for TextKey {
    fn cmp(&self, other: &TextKey) -> Ordering {
        if self.form.is_wide {
            self.form.collation.compare_nchar(&self.bytes, &other.bytes).ordering
        } else {
            self.form.collation.compare_char(&self.bytes, &other.bytes).ordering
        }
    }
}

impl PartialOrd for TextKey {
    fn partial_cmp(&self, other: &TextKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for TextKey {
    fn eq(&self, other: &TextKey) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for TextKey {}

/// How a table and its index are made.
#[derive(Clone, Copy, Debug)]
struct TableForm {
    number: usize,
    collation: Collation,
    is_wide: bool,
    is_clustered: bool,
    is_unique: bool,
}

/// A row: where it is, and its text.
#[derive(Clone, Debug)]
struct KnownRow {
    at: Address,
    text: Vec<u8>,
}

/// Rows of a table by key and id.
type Rows = BTreeMap<TextKey, BTreeMap<i32, KnownRow>>;

impl TableForm {
    fn table(self) -> String {
        format!("t{}", self.number)
    }

    fn ty(self) -> SqlType {
        let len = Some(UNITS_MAX as u16);
        let collation = self.collation;
        if self.is_wide {
            SqlType::NVarChar { len: len.map(|units| 2 * units), collation }
        } else {
            SqlType::VarChar { len, collation }
        }
    }

    fn key(self, bytes: &[u8]) -> TextKey {
        TextKey { form: self, bytes: bytes.to_vec() }
    }

    fn any_text(self, rng: &mut SplitMix64) -> Vec<u8> {
        if self.is_wide {
            any_units(rng).into_iter().flat_map(u16::to_le_bytes).collect()
        } else {
            any_bytes(rng)
        }
    }

    fn value(self, text: &[u8]) -> Result<Datum<'static>, String> {
        Datum::decode(&self.ty(), text).map(Datum::into_owned).map_err(|error| format!("{error:?}"))
    }

    fn create(self, db: &Database) -> Result<(), Error> {
        let columns = vec![
            ColumnSpec::new("id", SqlType::Int).not_null(),
            ColumnSpec::new("name", self.ty()).not_null(),
            ColumnSpec::new("filler", SqlType::Binary { len: 200 }),
        ];
        let index = IndexSpec {
            unique: self.is_unique,
            ..IndexSpec::new("by_name", &["name"])
        };
        let table = TableSpec::heap(&self.table(), columns);
        let mut session = db.session();
        if self.is_clustered {
            session.create_table(&table.clustered(index.clustered()))?;
        } else {
            let table = session.create_table(&table)?;
            session.create_index(&table, &index)?;
        }
        Ok(())
    }
}

/// Runs `operations` statements with `crashes` crashes between them.
///
/// # Errors
/// The first property that does not hold.
pub fn run_texts(seed: u64, operations: u64, crashes: u64) -> Result<TextReport, String> {
    let disk = MemDisk::new();
    let spec = DatabaseSpec::new("texts", "", 4 << 20);
    let paths = spec.paths();
    let db = Database::create(&spec, options(&disk)).map_err(shown)?;
    let mut rng = SplitMix64::new(seed);
    let mut run = TextRun {
        rng: SplitMix64::new(rng.next_u64()),
        forms: Vec::new(),
        rows: Vec::new(),
        report: TextReport::default(),
        next: 0,
    };
    for (number, (name, is_wide)) in COLLATIONS.into_iter().enumerate() {
        let collation = Collation::from_name(name).ok_or_else(|| format!("no collation {name}"))?;
        let is_clustered = rng.below(2) == 0;
        let is_unique = rng.below(2) == 0;
        let form = TableForm { number, collation, is_wide, is_clustered, is_unique };
        form.create(&db).map_err(shown)?;
        run.forms.push(form);
        run.rows.push(Rows::new());
    }
    let mut disk = disk;
    let mut db = db;
    for crash in 0..crashes {
        run.work(&db, operations / crashes)?;
        if crash % 2 == 0 {
            db.checkpoint().map_err(shown)?;
        }
        let crashed = disk.crash(&mut rng);
        drop(db);
        disk = crashed;
        db = Database::open(&paths, options(&disk)).map_err(shown)?;
        run.report.crashes += 1;
        run.verify(&db)?;
    }
    db.close().map_err(shown)?;
    if let Some(complaint) = complaint(&disk, &paths) {
        return Err(complaint);
    }
    run.report.rows =
        run.rows.iter().flat_map(|rows| rows.values()).map(|same| same.len() as u64).sum();
    Ok(run.report)
}

fn options(disk: &MemDisk) -> Options {
    Options { frames: 256, ..Options::on(Arc::new(disk.clone())) }
}

fn shown(error: Error) -> String {
    format!("{error}")
}

struct TextRun {
    rng: SplitMix64,
    forms: Vec<TableForm>,
    rows: Vec<Rows>,
    report: TextReport,
    /// The next id.
    next: i32,
}

impl TextRun {
    /// Transactions of `operations` statements in total, then one that the crash interrupts.
    fn work(&mut self, db: &Database, operations: u64) -> Result<(), String> {
        let mut session = db.session();
        for _ in 0..operations / STATEMENTS {
            let form = self.any_form();
            let before = self.rows[form.number].clone();
            self.transaction(&mut session, form)?;
            if self.rng.below(5) == 0 {
                session.rollback().map_err(shown)?;
                self.rows[form.number] = before;
            } else {
                session.commit().map_err(shown)?;
            }
        }
        let form = self.any_form();
        let before = self.rows[form.number].clone();
        self.transaction(&mut session, form)?;
        self.rows[form.number] = before;
        std::mem::forget(session);
        Ok(())
    }

    fn any_form(&mut self) -> TableForm {
        self.forms[self.rng.below(self.forms.len() as u64) as usize]
    }

    fn transaction(&mut self, session: &mut Session<'_>, form: TableForm) -> Result<(), String> {
        let table = session.table(&form.table()).map_err(shown)?;
        session.begin();
        for _ in 0..STATEMENTS {
            self.report.operations += 1;
            let count: usize = self.rows[form.number].values().map(BTreeMap::len).sum();
            match self.rng.below(10) {
                0..=3 if count < 2 * ROWS_USUAL => self.insert(session, &table, form)?,
                4..=6 => self.update(session, &table, form)?,
                7 if count < ROWS_USUAL => self.insert(session, &table, form)?,
                7 | 8 => self.delete(session, &table, form)?,
                _ => self.seek(session, &table, form)?,
            }
        }
        Ok(())
    }

    /// A new text, or one that may be equal to a text of the table.
    fn any_text(&mut self, form: TableForm) -> Vec<u8> {
        match self.any_row(form) {
            Some((_, known)) if self.rng.below(4) == 0 => {
                varied(&mut self.rng, &known.text, form.is_wide)
            }
            _ => form.any_text(&mut self.rng),
        }
    }

    fn any_row(&mut self, form: TableForm) -> Option<(i32, KnownRow)> {
        let rows = &self.rows[form.number];
        let at = self.rng.below(rows.len().max(1) as u64) as usize;
        let same = rows.values().nth(at)?;
        let at = self.rng.below(same.len().max(1) as u64) as usize;
        same.iter().nth(at).map(|(id, known)| (*id, known.clone()))
    }

    fn row(&self, form: TableForm, id: i32, text: &[u8]) -> Result<Row, String> {
        Ok(vec![Datum::Int(id), form.value(text)?, Datum::Null])
    }

    fn insert(
        &mut self,
        session: &mut Session<'_>,
        table: &Table,
        form: TableForm,
    ) -> Result<(), String> {
        let id = self.next;
        let text = self.any_text(form);
        self.next += 1;
        let is_there = self.rows[form.number].contains_key(&form.key(&text));
        let done = session.insert(table, &self.row(form, id, &text)?);
        let Some(at) = self.done_unless_duplicate(form, is_there, done, &text)? else {
            return Ok(());
        };
        self.add(form, id, KnownRow { at, text });
        Ok(())
    }

    fn update(
        &mut self,
        session: &mut Session<'_>,
        table: &Table,
        form: TableForm,
    ) -> Result<(), String> {
        let Some((id, old)) = self.any_row(form) else { return Ok(()) };
        let text = match self.rng.below(3) {
            0 => varied(&mut self.rng, &old.text, form.is_wide),
            _ => self.any_text(form),
        };
        let is_there = form.key(&text) != form.key(&old.text)
            && self.rows[form.number].contains_key(&form.key(&text));
        let done = session.update(table, &old.at, &self.row(form, id, &text)?);
        let Some(at) = self.done_unless_duplicate(form, is_there, done, &text)? else {
            return Ok(());
        };
        self.remove(form, id, &old);
        self.add(form, id, KnownRow { at, text });
        Ok(())
    }

    fn delete(
        &mut self,
        session: &mut Session<'_>,
        table: &Table,
        form: TableForm,
    ) -> Result<(), String> {
        let Some((id, old)) = self.any_row(form) else { return Ok(()) };
        session.delete(table, &old.at).map_err(shown)?;
        self.remove(form, id, &old);
        Ok(())
    }

    fn seek(
        &mut self,
        session: &mut Session<'_>,
        table: &Table,
        form: TableForm,
    ) -> Result<(), String> {
        let text = self.any_text(form);
        let value = [form.value(&text)?];
        let mut found: Vec<i32> = read(session, table, &Range::of("by_name", &value))?
            .into_iter()
            .map(|row| row.0)
            .collect();
        found.sort_unstable();
        let same = self.rows[form.number].get(&form.key(&text));
        let expected: Vec<i32> = same.into_iter().flat_map(BTreeMap::keys).copied().collect();
        if found == expected {
            Ok(())
        } else {
            Err(format!("{form:?}: a seek for {text:x?} finds {found:?}, not {expected:?}"))
        }
    }

    /// The result of a statement, `None` for a duplicate that the model expects.
    fn done_unless_duplicate<T>(
        &mut self,
        form: TableForm,
        is_there: bool,
        done: Result<T, Error>,
        text: &[u8],
    ) -> Result<Option<T>, String> {
        match done {
            Ok(_) if form.is_unique && is_there => {
                Err(format!("{form:?}: {text:x?} is taken twice"))
            }
            Ok(done) => Ok(Some(done)),
            Err(Error::DuplicateKey { .. }) if form.is_unique && is_there => {
                self.report.duplicates += 1;
                Ok(None)
            }
            Err(error) => Err(format!("{form:?}: {text:x?} is refused: {error}")),
        }
    }

    fn add(&mut self, form: TableForm, id: i32, known: KnownRow) {
        self.rows[form.number].entry(form.key(&known.text)).or_default().insert(id, known);
    }

    fn remove(&mut self, form: TableForm, id: i32, old: &KnownRow) {
        let key = form.key(&old.text);
        let rows = &mut self.rows[form.number];
        if let Some(same) = rows.get_mut(&key) {
            same.remove(&id);
            if same.is_empty() {
                rows.remove(&key);
            }
        }
    }

    /// The entries of all tables lie in the order of the model and have its bytes.
    fn verify(&self, db: &Database) -> Result<(), String> {
        let mut session = db.session();
        for form in &self.forms {
            let table = session.table(&form.table()).map_err(shown)?;
            let found = read(&mut session, &table, &Range::all("by_name"))?;
            let is_rising = found.is_sorted_by(|a, b| form.key(&a.1) <= form.key(&b.1));
            let mut by_key = BTreeMap::<TextKey, BTreeMap<i32, Vec<u8>>>::new();
            for (id, text) in found {
                by_key.entry(form.key(&text)).or_default().insert(id, text);
            }
            let texts = |same: &BTreeMap<i32, KnownRow>| -> BTreeMap<i32, Vec<u8>> {
                same.iter().map(|(id, known)| (*id, known.text.clone())).collect()
            };
            let is_same = by_key.values().cloned().eq(self.rows[form.number].values().map(texts));
            if !is_rising || !is_same {
                return Err(format!("{form:?}: rising {is_rising}, rows as expected {is_same}"));
            }
        }
        Ok(())
    }
}

/// Ids and texts of a range, in its order.
fn read(
    session: &mut Session<'_>,
    table: &Table,
    range: &Range<'_>,
) -> Result<Vec<(i32, Vec<u8>)>, String> {
    let mut found = Vec::new();
    let each = &mut |_: Address, row: Row| {
        let text = match &row[1] {
            Datum::Char(text) => text.bytes.to_vec(),
            Datum::NChar(text) => text.bytes.to_vec(),
            _ => Vec::new(),
        };
        if let Datum::Int(id) = row[0] {
            found.push((id, text));
        }
        ControlFlow::Continue(())
    };
    session.range(table, range, each).map_err(shown)?;
    Ok(found)
}
