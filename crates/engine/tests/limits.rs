//! The limits of tables: 1,024 columns, rows of 8,060 bytes, keys of 900 bytes.

mod support;

use extentdb_base::sync::Arc;
use extentdb_engine::{ColumnSpec, Database, Error, IndexSpec, Row, Session, Table, TableSpec};
use extentdb_io::MemDisk;
use extentdb_types::{Collation, Datum, SqlType};
use support::*;

const COLUMNS_MAX: usize = 1024;
const KEY_BYTES_MAX: usize = 900;
const ROW_BYTES_MAX: usize = 8060;

fn created() -> (MemDisk, Arc<Database>, Session) {
    let disk = MemDisk::new();
    let db = Database::create(&spec("limits"), on(&disk)).unwrap();
    let session = db.session();
    (disk, db, session)
}

fn int_columns(count: usize) -> Vec<ColumnSpec> {
    let column = |number| ColumnSpec::new(&format!("c{number}"), SqlType::Int);
    let mut columns: Vec<_> = (0..count).map(column).collect();
    // A few of other kinds between them.
    for (at, ty) in [(7, SqlType::Bit), (500, varchar(30)), (900, SqlType::Bit)] {
        if at < count {
            columns[at].ty = ty;
        }
    }
    columns
}

fn wide_row(id: i32) -> Row {
    let value = |at: usize| match at {
        0 => Datum::Int(id),
        7 | 900 => Datum::Bit((id as usize + at).is_multiple_of(2)),
        500 => text(&format!("text {id}")),
        at if (at + id as usize).is_multiple_of(5) => Datum::Null,
        at => Datum::Int(id * at as i32),
    };
    (0..COLUMNS_MAX).map(value).collect()
}

#[test]
fn a_table_of_1024_columns_is_written_and_read() {
    for is_clustered in [false, true] {
        let (disk, db, mut session) = created();
        let spec_of = TableSpec::heap("t", int_columns(COLUMNS_MAX));
        let key = IndexSpec::new("pk", &["c0"]);
        let spec_of = if is_clustered { spec_of.clustered(key) } else { spec_of };
        let table = session.create_table(&spec_of).unwrap();
        for id in 0..20 {
            session.insert(&table, &wide_row(id)).unwrap();
        }
        for (at, row) in rows(&mut session, &table).iter().step_by(2) {
            let mut changed = wide_row(id_of(row) + 1);
            changed[0] = row[0].clone();
            session.update(&table, at, &changed).unwrap();
        }
        let mut expected: Vec<Row> =
            rows(&mut session, &table).into_iter().map(|(_, row)| row).collect();
        let more = session.add_column(&table, &ColumnSpec::new("more", SqlType::Int));
        assert!(more.is_err(), "{more:?}");
        drop((session, table));
        db.close().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let files = files_of(&disk, &spec("limits").paths(), folder.path());
        assert_sound(&files);
        let mut by_reader = rows_by_reader(&files, "t");
        expected.sort_by_key(id_of);
        by_reader.sort_by_key(id_of);
        assert_eq!(by_reader, expected);
        for (id, row) in (0..).zip(&expected) {
            let is_of = if id % 2 == 0 { id + 1 } else { id };
            assert_eq!(row[1..], wide_row(is_of)[1..]);
        }
    }
}

#[test]
fn the_1025th_column_is_refused() {
    let (_, _, mut session) = created();
    let refused = session.create_table(&TableSpec::heap("t", int_columns(COLUMNS_MAX + 1)));
    assert!(matches!(refused, Err(Error::NotSupported(_))), "{refused:?}");
    assert!(session.table("t").is_err());
}

fn bytes(len: usize) -> Datum<'static> {
    Datum::Binary(vec![7; len].into())
}

#[test]
fn a_row_that_is_too_long_says_how_long_it_is() {
    let (disk, db, mut session) = created();
    // Fixed columns of 8,000 bytes, and short variable ones that no pointer would make shorter.
    let mut columns = vec![ColumnSpec::new("fixed", SqlType::Binary { len: 8000 })];
    let column = |number| ColumnSpec::new(&format!("v{number}"), varchar(20));
    columns.extend((0..4).map(column));
    let table = session.create_table(&TableSpec::heap("t", columns)).unwrap();
    let row = |len: usize| -> Row {
        let mut row = vec![bytes(8000)];
        row.extend((0..4).map(|_| text(&"x".repeat(len))));
        row
    };
    session.insert(&table, &row(9)).unwrap();
    let refused = session.insert(&table, &row(20)).unwrap_err();
    let Error::Rowset(extentdb_rowset_error) = refused else { panic!("{refused:?}") };
    let message = extentdb_rowset_error.to_string();
    // 4 + 8000 + 2 + 1 (bitmap) + 2 + 4 * 2 + 80 bytes.
    assert!(message.contains("8097") && message.contains(&ROW_BYTES_MAX.to_string()), "{message}");
    assert_eq!(rows(&mut session, &table).len(), 1);
    drop((session, table));
    db.close().unwrap();
    assert_sound_on(&disk, &spec("limits").paths());
}

/// A table with a variable column, an index over it, and one row in it.
fn keyed(session: &mut Session, index: &IndexSpec) -> Result<Arc<Table>, Error> {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("k", SqlType::VarBinary { len: Some(2000) }),
    ];
    let table = session.create_table(&TableSpec::heap(&format!("t_{}", index.name), columns))?;
    session.insert(&table, &[Datum::Int(0), bytes(3)])?;
    session.create_index(&table, index)?;
    Ok(table)
}

#[test]
fn keys_take_900_bytes_and_not_one_more() {
    let (disk, db, mut session) = created();
    let indexes = [IndexSpec::new("nc", &["k"]), IndexSpec::new("cl", &["k"]).clustered()];
    for index in indexes {
        let table = keyed(&mut session, &index).unwrap();
        session.insert(&table, &[Datum::Int(1), bytes(KEY_BYTES_MAX)]).unwrap();
        for len in [KEY_BYTES_MAX + 1, 1700] {
            let refused = session.insert(&table, &[Datum::Int(2), bytes(len)]).unwrap_err();
            let message = refused.to_string();
            assert!(message.contains(&len.to_string()), "{message}");
            assert!(message.contains(&KEY_BYTES_MAX.to_string()), "{message}");
        }
        assert_eq!(rows(&mut session, &table).len(), 2);
    }
    db_close(db, session, &disk);
}

#[test]
fn a_fixed_key_of_more_than_900_bytes_is_refused_when_its_index_is_created() {
    let (disk, db, mut session) = created();
    let columns = vec![
        ColumnSpec::new("a", SqlType::Binary { len: 900 }),
        ColumnSpec::new("b", SqlType::Binary { len: 901 }),
        ColumnSpec::new("c", SqlType::TinyInt),
    ];
    let table = session.create_table(&TableSpec::heap("t", columns)).unwrap();
    session.insert(&table, &[bytes(900), bytes(901), Datum::TinyInt(1)]).unwrap();
    session.create_index(&table, &IndexSpec::new("fits", &["a"])).unwrap();
    for keys in [&["b"][..], &["a", "c"]] {
        let refused = session.create_index(&table, &IndexSpec::new("long", keys)).unwrap_err();
        assert!(refused.to_string().contains("901"), "{refused}");
    }
    drop(table);
    db_close(db, session, &disk);
}

#[test]
fn an_index_includes_no_values_of_lob_types() {
    let (disk, db, mut session) = created();
    let collation = Collation(0x3400_d008);
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("max", SqlType::VarChar { len: None, collation }),
        ColumnSpec::new("old", SqlType::Text { collation }),
        ColumnSpec::new("xml", SqlType::Xml),
    ];
    let table = session.create_table(&TableSpec::heap("t", columns)).unwrap();
    for column in ["max", "old", "xml"] {
        let included = vec![column.to_owned()];
        let index = IndexSpec { included, ..IndexSpec::new("ix", &["id"]) };
        let refused = session.create_index(&table, &index);
        let Err(Error::NotSupported(why)) = refused else { panic!("{refused:?}") };
        assert!(why.to_string().contains(column), "{why}");
        let refused = session.create_index(&table, &IndexSpec::new("ix", &[column]));
        assert!(matches!(refused, Err(Error::NotSupported(_))), "{refused:?}");
    }
    drop(table);
    db_close(db, session, &disk);
}

fn db_close(db: Arc<Database>, session: Session, disk: &MemDisk) {
    drop(session);
    db.close().unwrap();
    assert_sound_on(disk, &spec("limits").paths());
}
