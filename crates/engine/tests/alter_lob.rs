//! ALTER COLUMN to (max) types, from them, and from text, ntext and image.

mod support;

use extentdb_base::sync::Arc;
use extentdb_engine::{
    ColumnSpec, Database, Error, IndexSpec, Nullability, Session, Table, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_types::{Collation, Datum, SqlType};
use support::*;

const COLLATION: Collation = Collation(0x3400_d008);

fn chars(len: Option<u16>) -> SqlType {
    SqlType::VarChar { len, collation: COLLATION }
}

fn wide(len: Option<u16>) -> SqlType {
    SqlType::NVarChar { len, collation: COLLATION }
}

/// The value of a row: NULL, empty, short, or of about `long` bytes.
fn value(ty: &SqlType, id: i32, long: usize) -> Datum<'static> {
    let len = match id % 4 {
        0 => return Datum::Null,
        1 => 0,
        2 => 2 * (id as usize % 20),
        _ => long - 2 * (id as usize % 10),
    };
    let bytes = (0..len).map(|at| if at % 2 == 0 { b'a' + (id % 26) as u8 } else { 0 });
    let bytes: Vec<u8> = match ty {
        SqlType::NVarChar { .. } | SqlType::NText { .. } => bytes.collect(),
        _ => bytes.map(|byte| byte.max(b'x')).collect(),
    };
    Datum::decode(ty, &bytes).unwrap().into_owned()
}

fn create(session: &mut Session, ty: SqlType, is_clustered: bool) -> Arc<Table> {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("v", ty),
        ColumnSpec::new("tail", varchar(50)),
    ];
    let spec = TableSpec::heap("t", columns);
    let key = IndexSpec::new("pk", &["id"]).unique();
    let spec = if is_clustered { spec.clustered(key) } else { spec };
    session.create_table(&spec).unwrap()
}

/// Changes the type of a column over 40 rows, whose values stay, and changes rows after that.
fn assert_altered(from: SqlType, to: SqlType, long: usize) {
    for is_clustered in [false, true] {
        let what = format!("{from} to {to}");
        let disk = MemDisk::new();
        let db = Database::create(&spec("alter"), on(&disk)).unwrap();
        let mut session = db.session();
        let table = create(&mut session, from, is_clustered);
        for id in 0..40 {
            let row = vec![Datum::Int(id), value(&from, id, long), text("tail")];
            session.insert(&table, &row).unwrap();
        }
        // Rolled back it is as before.
        session.begin();
        session.alter_column(&table, "v", to, Nullability::Nullable).unwrap();
        session.rollback().unwrap();
        assert_eq!(table.columns()[1].1, from, "{what}");
        session.alter_column(&table, "v", to, Nullability::Nullable).unwrap();
        assert_eq!(table.columns()[1].1, to, "{what}");
        let mut found = rows(&mut session, &table);
        found.sort_by_key(|(_, row)| id_of(row));
        for (id, (_, row)) in (0..).zip(&found) {
            assert_eq!(row[1], value(&to, id, long), "{what}, row {id}");
            assert_eq!(row[2], text("tail"));
        }
        for (at, row) in found.iter().filter(|(_, row)| id_of(row) % 3 == 0) {
            let mut row = row.clone();
            row[1] = value(&to, id_of(&row) + 1, long);
            session.update(&table, at, &row).unwrap();
        }
        let mut expected: Vec<_> =
            rows(&mut session, &table).into_iter().map(|(_, row)| row).collect();
        drop((session, table));
        db.close().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let files = files_of(&disk, &spec("alter").paths(), folder.path());
        assert_sound(&files);
        let mut by_reader = rows_by_reader(&files, "t");
        expected.sort_by_key(id_of);
        by_reader.sort_by_key(id_of);
        assert_eq!(by_reader, expected, "{what}");
    }
}

#[test]
fn texts_become_max_values_and_back() {
    assert_altered(chars(Some(7000)), chars(None), 6_900);
    assert_altered(chars(None), chars(Some(8000)), 7_990);
    assert_altered(wide(Some(8000)), wide(None), 7_000);
    assert_altered(SqlType::VarBinary { len: None }, SqlType::VarBinary { len: Some(5000) }, 4_000);
}

#[test]
fn long_values_of_old_types_become_max_values() {
    assert_altered(SqlType::Text { collation: COLLATION }, chars(None), 60_000);
    assert_altered(SqlType::NText { collation: COLLATION }, wide(None), 30_000);
    assert_altered(SqlType::Image, SqlType::VarBinary { len: None }, 100_000);
    assert_altered(SqlType::VarBinary { len: None }, SqlType::Image, 20_000);
}

#[test]
fn a_value_that_does_not_fit_refuses_the_change() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("alter"), on(&disk)).unwrap();
    let mut session = db.session();
    let table = create(&mut session, chars(None), true);
    for (id, len) in [(1, 10), (2, 20_000)] {
        let value = Datum::decode(&chars(None), &vec![b'x'; len]).unwrap().into_owned();
        session.insert(&table, &[Datum::Int(id), value, Datum::Null]).unwrap();
    }
    let refused = session.alter_column(&table, "v", chars(Some(8000)), Nullability::Nullable);
    assert!(matches!(refused, Err(Error::Value { .. })), "{refused:?}");
    let refused = session.alter_column(&table, "v", SqlType::Xml, Nullability::Nullable);
    assert!(matches!(refused, Err(Error::NotSupported(_))), "{refused:?}");
    let null = session.alter_column(&table, "tail", chars(None), Nullability::NotNull);
    assert!(matches!(null, Err(Error::Value { .. })), "{null:?}");
    assert_eq!(table.columns()[1].1, chars(None));
    assert_eq!(rows(&mut session, &table).len(), 2);
    drop((session, table));
    db.close().unwrap();
    assert_sound_on(&disk, &spec("alter").paths());
}
