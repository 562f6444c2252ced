//! A heap requests row locks in the middle of a change: a refusal reaches the session as what it
//! is.

use std::time::Duration;

use extentdb_base::XactId;
use extentdb_base::sync::Arc;
use extentdb_format::page::PageRef;
use extentdb_format::record::Record;
use extentdb_io::MemDisk;
use extentdb_txn::lock::{LockError, LockMode, LockRequest, Resource, Timeout};
use extentdb_types::{Datum, SqlType};

use crate::{ColumnSpec, Database, DatabaseSpec, Error, Options, TableSpec};

fn bytes(len: usize) -> [Datum<'static>; 1] {
    [Datum::Binary(vec![7; len].into())]
}

#[test]
fn a_lock_timeout_on_a_forwarded_record_is_a_lock_timeout() {
    let options = Options::on(Arc::new(MemDisk::new()));
    let db = Database::create(&DatabaseSpec::new("forwarded", "", 4 << 20), options).unwrap();
    let mut session = db.session();
    let column = ColumnSpec::new("data", SqlType::VarBinary { len: Some(8000) });
    let table = session.create_table(&TableSpec::heap("t", vec![column])).unwrap();
    let row = session.insert(&table, &bytes(4000)).unwrap();
    session.insert(&table, &bytes(4000)).unwrap();
    session.update(&table, &row, &bytes(6000)).unwrap();
    let home = row.rid().unwrap();
    let page = db.pool.read(home.page).unwrap();
    let stub = PageRef::new(&page).row(home.slot.0).unwrap();
    let moved = Record::parse_data(stub).stub_target().unwrap();
    drop(page);

    let reader = XactId { high: 1, low: 1 };
    let read = LockRequest::new(reader, Resource::Rid(moved), LockMode::S);
    db.locks.acquire(read).unwrap();
    session.set_lock_timeout(Timeout::After(Duration::from_millis(20)));
    let refused = session.delete(&table, &row).unwrap_err();
    let Error::Lock(LockError::Timeout { resource, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(resource, Resource::Rid(moved));

    db.locks.release(reader, Resource::Rid(moved));
    session.delete(&table, &row).unwrap();
    assert!(session.get(&table, &row).unwrap().is_none());
}
