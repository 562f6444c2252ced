//! NOLOCK: what others change while it reads is 601 or an older value, never damage.

mod support;

use std::ops::ControlFlow;

use extentdb_base::sync::Arc;
use extentdb_engine::{
    ColumnSpec, Database, Error, IndexSpec, Range, ReadHints, Session, Table, TableHint, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_types::{Collation, Datum, SqlType};
use support::*;

const MAX: SqlType = SqlType::VarChar { len: None, collation: Collation(0x3400_d008) };
const BYTES: usize = 60_000;

fn long(letter: u8) -> Datum<'static> {
    Datum::decode(&MAX, &vec![letter; BYTES]).unwrap().into_owned()
}

fn create(session: &mut Session) -> Arc<Table> {
    let columns = vec![ColumnSpec::new("id", SqlType::Int).not_null(), ColumnSpec::new("v", MAX)];
    let spec = TableSpec::heap("t", columns).clustered(IndexSpec::new("pk", &["id"]).unique());
    let table = session.create_table(&spec).unwrap();
    session.create_index(&table, &IndexSpec::new("ix", &["id"])).unwrap();
    for id in 0..6 {
        session.insert(&table, &[Datum::Int(id), long(b'a')]).unwrap();
    }
    table
}

/// Deletes a row, and fills the pages of its value with others.
fn overwrite(writer: &mut Session, table: &Table, id: i32) {
    let found = rows(writer, table);
    let at = found.into_iter().find(|(_, row)| id_of(row) == id).unwrap().0;
    writer.delete(table, &at).unwrap();
    for new in 0..3 {
        writer.insert(table, &[Datum::Int(100 * (id + 1) + new), long(b'b')]).unwrap();
    }
}

#[test]
fn a_value_that_is_freed_under_a_reader_without_locks_is_data_movement() {
    for index in ["pk", "ix"] {
        let disk = MemDisk::new();
        let db = Database::create(&spec("nolock"), on(&disk)).unwrap();
        let mut session = db.session();
        let mut writer = db.session();
        let table = create(&mut session);
        let hints = ReadHints::of(&[TableHint::NoLock]).unwrap();
        let mut moved = 0;
        for id in 0..4 {
            let key = [Datum::Int(id)];
            let range = Range { hints, ..Range::of(index, &key) };
            let read = session.visit(&table, &range, &mut |row| {
                overwrite(&mut writer, &table, id);
                assert_eq!(row.value(1)?, long(b'a'));
                Ok(ControlFlow::Continue(()))
            });
            match read {
                Ok(()) => {}
                Err(Error::DataMovement { table }) => {
                    assert_eq!(table, "t");
                    moved += 1;
                }
                Err(error) => panic!("{error:?}"),
            }
        }
        assert!(moved > 0, "{index}: no value was overwritten");
        drop((session, writer, table));
        db.close().unwrap();
        assert_sound_on(&disk, &spec("nolock").paths());
    }
}
