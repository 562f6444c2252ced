//! Tables with values off their rows: dropped, truncated, rebuilt and altered, and each of that
//! rolled back.

mod support;

use extentdb_base::env::SplitMix64;
use extentdb_base::sync::Arc;
use extentdb_engine::{ColumnSpec, Database, Error, IndexSpec, Session, Table, TableSpec, Value};
use extentdb_io::MemDisk;
use extentdb_types::{Collation, Datum, SqlType};
use support::lobs::*;
use support::*;

const COLLATION: Collation = Collation(0x3400_d008);

struct Fixture {
    disk: MemDisk,
    db: Arc<Database>,
    work: Workload,
}

impl Fixture {
    fn new(form: Form) -> Fixture {
        let disk = MemDisk::new();
        let db = Database::create(&spec("lobs"), on(&disk)).unwrap();
        let mut session = db.session();
        let table = create(&mut session, "t", form);
        let mut work = Workload::new(7, 100_000);
        for _ in 0..8 {
            work.ended_transaction(&mut session, &table).unwrap();
        }
        drop((session, table));
        Fixture { disk, db, work }
    }

    /// More changes, then the files are closed, checked and read.
    fn finish(mut self, what: &str) {
        self.work.assert_rows(&self.db, "t", what);
        let mut session = self.db.session();
        let table = session.table("t").unwrap();
        for _ in 0..8 {
            self.work.ended_transaction(&mut session, &table).unwrap();
        }
        drop((session, table));
        self.work.assert_rows(&self.db, "t", what);
        self.db.close().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let files = files_of(&self.disk, &spec("lobs").paths(), folder.path());
        assert_sound(&files);
        assert_same(&self.work.model, &found_by_reader(&files, "t"), what);
    }

    /// The power fails and the database recovers.
    fn crash(mut self, what: &str) -> Fixture {
        let disk = self.disk.crash(&mut SplitMix64::new(3));
        self.db = reopen(&disk, &spec("lobs").paths());
        self.disk = disk;
        self.work.assert_rows(&self.db, "t", what);
        self
    }
}

/// What DDL is done, by a name.
type Ddl = fn(&mut Session, &Arc<Table>) -> Result<(), Error>;

fn rebuild(session: &mut Session, table: &Arc<Table>) -> Result<(), Error> {
    session.rebuild_index(table, "pk")
}

fn cluster(session: &mut Session, table: &Arc<Table>) -> Result<(), Error> {
    session.create_index(table, &IndexSpec::new("pk", &["id"]).clustered())
}

fn uncluster(session: &mut Session, table: &Arc<Table>) -> Result<(), Error> {
    session.drop_index(table, "pk")
}

fn add_column(session: &mut Session, table: &Arc<Table>) -> Result<(), Error> {
    let mut column = ColumnSpec::new("more", SqlType::Int).not_null();
    column.default = Some(extentdb_engine::DefaultSpec::new("df", "((7))"));
    session.add_column(table, &column)
}

#[test]
fn rows_move_with_their_values_and_back() {
    let steps: [(&str, Form, Ddl); 5] = [
        ("rebuild", Form::Clustered, rebuild),
        ("rebuild", Form::Uniquified, rebuild),
        ("cluster", Form::Indexed, cluster),
        ("uncluster", Form::Uniquified, uncluster),
        ("add", Form::Heap, add_column),
    ];
    for (name, form, ddl) in steps {
        let what = format!("{name} of {form:?}");
        if name != "add" {
            let fixture = Fixture::new(form);
            let mut session = fixture.db.session();
            let table = session.table("t").unwrap();
            ddl(&mut session, &table).unwrap();
            drop((session, table));
            fixture.finish(&what);
        }
        let mut fixture = Fixture::new(form);
        let mut session = fixture.db.session();
        let table = session.table("t").unwrap();
        session.begin();
        ddl(&mut session, &table).unwrap();
        session.rollback().unwrap();
        drop((session, table));
        fixture.work.assert_rows(&fixture.db, "t", &what);
        fixture.finish(&format!("{what}, rolled back"));

        let fixture = Fixture::new(form);
        let mut session = fixture.db.session();
        let table = session.table("t").unwrap();
        session.begin();
        ddl(&mut session, &table).unwrap();
        fixture.db.checkpoint().unwrap();
        std::mem::forget((session, table));
        fixture.crash(&what).finish(&format!("{what}, interrupted"));
    }
}

#[test]
fn changes_before_a_rebuild_are_rolled_back_with_it() {
    for form in [Form::Clustered, Form::Uniquified] {
        let mut fixture = Fixture::new(form);
        let model = fixture.work.model.clone();
        let mut session = fixture.db.session();
        let table = session.table("t").unwrap();
        session.begin();
        fixture.work.transaction(&mut session, &table).unwrap();
        rebuild(&mut session, &table).unwrap();
        let (_, places) = found(&mut session, &table);
        fixture.work.places = places;
        fixture.work.transaction(&mut session, &table).unwrap();
        session.rollback().unwrap();
        fixture.work.model = model;
        drop((session, table));
        fixture.finish("rolled back");
    }
}

#[test]
fn a_truncated_table_is_empty_or_as_before() {
    for form in FORMS {
        for is_kept in [false, true] {
            let mut fixture = Fixture::new(form);
            let mut session = fixture.db.session();
            let table = session.table("t").unwrap();
            session.begin();
            session.truncate_table(&table).unwrap();
            if is_kept {
                session.rollback().unwrap();
            } else {
                session.commit().unwrap();
                fixture.work.model.clear();
                fixture.work.places.clear();
            }
            drop((session, table));
            fixture.finish("truncated");
        }
    }
}

#[test]
fn a_rebuilt_table_is_truncated() {
    let mut fixture = Fixture::new(Form::Clustered);
    let mut session = fixture.db.session();
    let table = session.table("t").unwrap();
    rebuild(&mut session, &table).unwrap();
    session.truncate_table(&table).unwrap();
    fixture.work.model.clear();
    fixture.work.places.clear();
    drop((session, table));
    fixture.finish("rebuilt and truncated");
}

#[test]
fn a_dropped_table_frees_its_values_or_keeps_them() {
    for form in FORMS {
        let fixture = Fixture::new(form);
        let mut session = fixture.db.session();
        let table = session.table("t").unwrap();
        session.begin();
        session.drop_table(&table).unwrap();
        session.rollback().unwrap();
        drop((session, table));
        fixture.finish("kept");

        let mut fixture = Fixture::new(form);
        let mut session = fixture.db.session();
        let table = session.table("t").unwrap();
        session.begin();
        // Pages that are empty at the commit belong to nobody any more.
        for _ in 0..3 {
            fixture.work.transaction(&mut session, &table).unwrap();
        }
        session.drop_table(&table).unwrap();
        session.commit().unwrap();
        drop((session, table));
        close_and_check(fixture.db, &fixture.disk, &spec("lobs").paths());
    }
}

#[test]
fn a_table_made_and_rolled_back_leaves_nothing() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("lobs"), on(&disk)).unwrap();
    for form in FORMS {
        let mut session = db.session();
        session.begin();
        let table = create(&mut session, "t", form);
        let mut work = Workload::new(1, 60_000);
        for _ in 0..10 {
            work.statement(&mut session, &table).unwrap();
        }
        session.rollback().unwrap();
        assert!(session.table("t").is_err());
    }
    close_and_check(db, &disk, &spec("lobs").paths());
}

#[test]
fn a_column_of_a_lob_type_is_added_and_dropped() {
    for is_clustered in [false, true] {
        let disk = MemDisk::new();
        let db = Database::create(&spec("lobs"), on(&disk)).unwrap();
        let mut session = db.session();
        let spec_of = TableSpec::heap("t", vec![ColumnSpec::new("id", SqlType::Int).not_null()]);
        let key = IndexSpec::new("pk", &["id"]).unique();
        let spec_of = if is_clustered { spec_of.clustered(key) } else { spec_of };
        let table = session.create_table(&spec_of).unwrap();
        for id in 0..10 {
            session.insert(&table, &[Datum::Int(id)]).unwrap();
        }
        let ty = SqlType::NVarChar { len: None, collation: COLLATION };
        session.add_column(&table, &ColumnSpec::new("text", ty)).unwrap();
        session.add_column(&table, &ColumnSpec::new("version", SqlType::RowVersion)).unwrap();
        let long = "x\0".repeat(50_000);
        for id in 10..20 {
            let value = Datum::decode(&ty, long.as_bytes()).unwrap();
            session.insert(&table, &[Datum::Int(id), value, Datum::Null]).unwrap();
        }
        let versions: Vec<u64> = rows(&mut session, &table)
            .iter()
            .map(|(_, row)| if let Datum::RowVersion(version) = row[2] { version } else { 0 })
            .collect();
        assert!(versions.iter().all(|version| *version > 2000), "{versions:?}");
        session.drop_column(&table, "text").unwrap();
        // Rows keep the tree of the dropped column until they change, or are rewritten.
        let found = rows(&mut session, &table);
        session.delete(&table, &found[12].0).unwrap();
        let values = vec![Value::Datum(Datum::Int(100)), Value::Unchanged];
        session.update_values(&table, &found[13].0, values).unwrap();
        drop((session, table));
        db.close().unwrap();
        assert_sound_on(&disk, &spec("lobs").paths());
        let db = reopen(&disk, &spec("lobs").paths());
        let mut session = db.session();
        let table = session.table("t").unwrap();
        assert_eq!(rows(&mut session, &table).len(), 19);
        if is_clustered {
            session.rebuild_index(&table, "pk").unwrap();
        }
        assert_eq!(rows(&mut session, &table).len(), 19);
        drop((session, table));
        close_and_check(db, &disk, &spec("lobs").paths());
    }
}

#[test]
fn text_in_row_keeps_short_texts_in_their_rows() {
    for form in [Form::Heap, Form::Clustered] {
        let mut fixture = Fixture::new(form);
        let mut session = fixture.db.session();
        let table = session.table("t").unwrap();
        assert!(session.set_text_in_row(&table, 7).is_err());
        session.set_text_in_row(&table, 1000).unwrap();
        for _ in 0..8 {
            fixture.work.ended_transaction(&mut session, &table).unwrap();
        }
        if form == Form::Clustered {
            rebuild(&mut session, &table).unwrap();
        }
        drop((session, table));
        fixture.work.assert_rows(&fixture.db, "t", "text in row");
        fixture.db.close().unwrap();
        assert_sound_on(&fixture.disk, &spec("lobs").paths());
        fixture.db = reopen(&fixture.disk, &spec("lobs").paths());
        fixture.finish("text in row, reopened");
    }
}
