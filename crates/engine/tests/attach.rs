//! Databases that SQL Server made, attached and changed at random: their trees, heaps, uniquifiers
//! and forwarded rows go on as they were, through rollbacks and power cuts. What a table does not
//! allow here it says; it never gets worse.

mod support;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Address, Cause, Database, Error, Options, Paths, Row, Session, Table, Unsupported,
};
use extentdb_io::{Disk, Durability, MemDisk};
use extentdb_types::{Datum, SqlType};
use support::*;

/// Rows of a table by their addresses.
type Rows = BTreeMap<Address, Row>;
/// Tables by name.
type Model = BTreeMap<String, Rows>;

fn sample(name: &str) -> Option<(MemDisk, Paths)> {
    let samples = std::env::var_os("EXTENTDB_SAMPLES").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples"))
    });
    let Ok(bytes) = std::fs::read(samples.join(name)) else {
        eprintln!("SKIPPED: no {name} in {}", samples.display());
        return None;
    };
    let disk = MemDisk::new();
    let data = PathBuf::from("/attached.mdf");
    let file = disk.create(&data).unwrap();
    file.write_at(0, &[&bytes], Durability::Deferred).unwrap();
    file.sync().unwrap();
    Some((
        disk,
        Paths {
            data: vec![data],
            log: Path::new("/attached_log.ldf").to_path_buf(),
        },
    ))
}

fn options(disk: &MemDisk) -> Options {
    Options { frames: 1024, ..Options::on(Arc::new(disk.clone())) }
}

fn read(db: &Database) -> Model {
    let mut session = db.session();
    let mut model = Model::new();
    for table in db.tables() {
        let mut rows = Rows::new();
        let each = &mut |at: Address, row: Row| {
            assert!(rows.insert(at, row).is_none(), "a row twice");
            ControlFlow::Continue(())
        };
        match session.scan(&table, each) {
            Ok(()) => drop(model.insert(format!("{}.{}", table.schema(), table.name()), rows)),
            Err(error @ (Error::NotSupported(_) | Error::Value { .. })) => {
                eprintln!("{} is not read: {error}", table.name())
            }
            Err(error) => panic!("{}: {error}", table.name()),
        }
    }
    model
}

/// A text with another character somewhere, letters and digits as well as what stands between
/// words.
fn changed_text(rng: &mut SplitMix64, value: &Datum<'static>, ty: SqlType) -> Datum<'static> {
    const CHARACTERS: &[u8] = b"aZ09 -'.,&_\xe9";
    let mut bytes = Vec::new();
    value.encode(&ty, &mut bytes).unwrap();
    let width = if matches!(value, Datum::NChar(_)) { 2 } else { 1 };
    let at = rng.below((bytes.len() / width).max(1) as u64) as usize * width;
    let character = CHARACTERS[rng.below(CHARACTERS.len() as u64) as usize];
    if let Some(place) = bytes.get_mut(at..at + width) {
        place.fill(0);
        place[0] = character;
    }
    Datum::decode(&ty, &bytes).unwrap().into_owned()
}

/// A value like another one.
fn changed(rng: &mut SplitMix64, value: &Datum<'static>, ty: SqlType) -> Datum<'static> {
    if matches!(value, Datum::Char(_) | Datum::NChar(_)) {
        return changed_text(rng, value, ty);
    }
    let bits = rng.next_u64();
    match value {
        Datum::Int(_) => Datum::Int((bits % 100_000) as i32),
        Datum::SmallInt(_) => Datum::SmallInt((bits % 10_000) as i16),
        Datum::TinyInt(_) => Datum::TinyInt(bits as u8),
        Datum::BigInt(_) => Datum::BigInt((bits % 1_000_000) as i64),
        Datum::Bit(_) => Datum::Bit(bits & 1 == 1),
        Datum::Float(_) => Datum::Float((bits % 1000) as f64),
        Datum::Real(_) => Datum::Real((bits % 1000) as f32),
        other => other.clone(),
    }
}

/// A row made of the values of two others and new numbers.
fn any_row(rng: &mut SplitMix64, table: &Table, rows: &Rows) -> Option<Row> {
    let mut nth = || rows.values().nth(rng.below(rows.len() as u64) as usize);
    let one = nth()?.clone();
    let other = nth()?.clone();
    let mix = |((a, b), (_, ty)): ((Datum<'static>, Datum<'static>), (String, SqlType))| match rng
        .below(4)
    {
        0 => changed(rng, &a, ty),
        1 => b,
        _ => a,
    };
    Some(one.into_iter().zip(other).zip(table.columns()).map(mix).collect())
}

struct Attached {
    rng: SplitMix64,
    /// Tables by name and why they are only read.
    refused: BTreeMap<String, String>,
    /// How often each was changed.
    changed: BTreeMap<String, u64>,
    refusals: u64,
    /// Those of them for a character whose weight is not certain.
    uncertain_keys: u64,
}

impl Attached {
    /// One statement; the model follows when it succeeds.
    fn step(&mut self, session: &mut Session<'_>, model: &mut Model) {
        let chosen = self.rng.below(model.len() as u64) as usize;
        let Some((name, rows)) =
            model.iter_mut().nth(chosen).filter(|(name, _)| !self.refused.contains_key(*name))
        else {
            return;
        };
        let table = session.table(name).unwrap();
        let at = rows.keys().nth(self.rng.below(rows.len().max(1) as u64) as usize).cloned();
        let done = match (self.rng.below(10), at) {
            (0..4, _) | (_, None) => self.insert(session, &table, rows),
            (4..8, Some(at)) => self.update(session, &table, rows, &at),
            (_, Some(at)) if rows.len() > 5 => {
                session.delete(&table, &at).map(|()| drop(rows.remove(&at)))
            }
            _ => Ok(()),
        };
        match done {
            Ok(()) => *self.changed.entry(name.clone()).or_default() += 1,
            Err(Error::NotSupported(Unsupported::ReadOnlyTable { why, .. })) => {
                self.refused.insert(name.clone(), why);
            }
            Err(Error::UncertainKey { .. }) => {
                self.refusals += 1;
                self.uncertain_keys += 1;
            }
            Err(
                Error::Value { .. }
                | Error::NotSupported { .. }
                | Error::Constraint { .. }
                | Error::DuplicateKey { .. },
            ) => self.refusals += 1,
            Err(Error::Rowset(extentdb_rowset::Error::RowTooLong { .. })) => self.refusals += 1,
            Err(error) => panic!("{name}: {error:?}"),
        }
    }

    fn insert(
        &mut self,
        session: &mut Session<'_>,
        table: &Table,
        rows: &mut Rows,
    ) -> Result<(), Error> {
        let Some(row) = any_row(&mut self.rng, table, rows) else { return Ok(()) };
        let at = session.insert(table, &row)?;
        assert!(rows.insert(at, row).is_none());
        Ok(())
    }

    fn update(
        &mut self,
        session: &mut Session<'_>,
        table: &Table,
        rows: &mut Rows,
        at: &Address,
    ) -> Result<(), Error> {
        let Some(row) = any_row(&mut self.rng, table, rows) else { return Ok(()) };
        let now = session.update(table, at, &row)?;
        rows.remove(at);
        assert!(rows.insert(now, row).is_none());
        Ok(())
    }

    /// Transactions until so many statements have been tried; some are rolled back.
    fn work(&mut self, db: &Database, model: &mut Model, steps: u64) {
        let mut session = db.session();
        for _ in 0..steps / 20 {
            let mut own = model.clone();
            session.begin();
            (0..20).for_each(|_| self.step(&mut session, &mut own));
            match self.rng.below(5) {
                0 => session.rollback().unwrap(),
                _ => {
                    session.commit().unwrap();
                    *model = own;
                }
            }
        }
        // What is interrupted.
        session.begin();
        let mut own = model.clone();
        (0..20).for_each(|_| self.step(&mut session, &mut own));
        std::mem::forget(session);
    }
}

/// Rows that the engine reads differently from the model.
fn assert_same(db: &Database, model: &Model) {
    let found = read(db);
    for (name, rows) in model {
        let found = &found[name];
        let missing = rows.keys().find(|at| !found.contains_key(*at));
        let extra = found.keys().find(|at| !rows.contains_key(*at));
        assert_eq!(
            (missing, extra),
            (None, None),
            "{name}: {} rows, {} found",
            rows.len(),
            found.len()
        );
        assert!(rows == found, "{name}: values differ");
        let table = db.session().table(name).unwrap();
        assert_eq!(table.row_count(), rows.len() as i64, "{name} counts other rows than it has");
    }
}

/// `texts` are the tables with texts in their keys that must take changes.
fn attach(name: &str, texts: &[&str]) {
    let Some((mut disk, paths)) = sample(name) else { return };
    let steps: u64 =
        std::env::var("EXTENTDB_ATTACH_STEPS").ok().and_then(|it| it.parse().ok()).unwrap_or(3000);
    let mut db = Database::open(&paths, options(&disk)).unwrap();
    let mut model = read(&db);
    let tables = model.len();
    let refused = BTreeMap::new();
    let changed = BTreeMap::new();
    let rng = SplitMix64::new(99);
    let mut attached = Attached { rng, refused, changed, refusals: 0, uncertain_keys: 0 };
    const CRASHES: u64 = 5;
    for crash in 0..CRASHES {
        attached.work(&db, &mut model, steps / CRASHES);
        if crash % 2 == 0 {
            db.checkpoint().unwrap();
        }
        let crashed = disk.crash(&mut attached.rng);
        drop(db);
        disk = crashed;
        db = Database::open(&paths, options(&disk)).unwrap();
        assert_same(&db, &model);
    }
    close_and_check(db, &disk, &paths);
    for (table, why) in &attached.refused {
        eprintln!("{name}: {table}: {why}");
    }
    let changes: u64 = attached.changed.values().sum();
    let refusals = attached.refusals;
    let open = attached.uncertain_keys;
    eprintln!(
        "{name}: {tables} tables, {changes} changes, {refusals} refused, {open} of them for an uncertain character"
    );
    eprintln!("{name}: {:?}", attached.changed);
    for table in texts {
        assert!(
            attached.changed.get(*table).is_some_and(|changes| *changes > 5),
            "{table} takes no changes"
        );
    }
    assert!(changes > steps / 8, "{changes} changes, {refusals} refused");
}

#[test]
fn database_of_2008_r2_is_changed_and_checks_clean() {
    attach("bookshop-2008r2.mdf", &[]);
}

#[test]
fn northwind_of_2008_is_changed_and_checks_clean() {
    attach(
        "northwind-2008.mdf",
        &["dbo.Customers", "dbo.Orders", "dbo.Products", "dbo.Territories"],
    );
}

#[test]
fn pubs_of_2008_is_changed_and_checks_clean() {
    attach(
        "pubs-2008.mdf",
        &[
            "dbo.authors",
            "dbo.titles",
            "dbo.titleauthor",
            "dbo.stores",
            "dbo.sales",
            "dbo.publishers",
        ],
    );
}

#[test]
fn database_created_by_2000_is_changed_and_checks_clean() {
    attach(
        "northwind-from-2000.mdf",
        &["dbo.Customers", "dbo.Orders", "dbo.Products", "dbo.Territories"],
    );
}

#[test]
fn newer_databases_are_not_written() {
    let Some((disk, paths)) = sample("crud-2012.mdf") else { return };
    let refused = Database::open(&paths, options(&disk)).unwrap_err();
    assert!(matches!(refused, Error::Version { found: 706, .. }), "{refused}");
    assert_eq!(refused.cause(), Cause::Other);
}
