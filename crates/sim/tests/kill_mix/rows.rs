//! The database of both processes: its tables, and what each session has in them.

use extentdb_base::sync::Arc;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use extentdb_engine::{
    Address, ColumnSpec, Database, DatabaseSpec, Error, IndexSpec, Options, Row, Session, Table,
    TableSpec,
};
use extentdb_types::{Collation, Datum, SqlType};

use crate::plan::{IDS_APART, Part, Parts, SESSIONS, SHARED, Values};

/// Pages in memory: far fewer than the tables have.
const FRAMES: usize = 96;

/// Where the rows of a session are, by table and id.
pub(crate) type Addresses = BTreeMap<(String, i32), Address>;

/// What a session has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    pub(crate) parts: Parts,
    pub(crate) addresses: Addresses,
}

pub(crate) fn spec(folder: &Path) -> DatabaseSpec {
    DatabaseSpec::new("mix", folder, 4 << 20)
}

pub(crate) fn options() -> Options {
    Options {
        frames: FRAMES,
        checkpoint_log_bytes: Some(256 << 10),
        ..Options::default()
    }
}

fn text_type() -> SqlType {
    SqlType::VarChar { len: Some(4000), collation: Collation(0x3400_d008) }
}

pub(crate) fn table_spec(name: &str, is_clustered: bool) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("version", SqlType::BigInt).not_null(),
        ColumnSpec::new("text", text_type()),
    ];
    let heap = TableSpec::heap(name, columns);
    if is_clustered { heap.clustered(IndexSpec::new("c", &["id"]).unique()) } else { heap }
}

pub(crate) fn index_spec(name: &str) -> IndexSpec {
    match name {
        "by_text" => IndexSpec {
            included: vec!["text".to_owned()],
            ..IndexSpec::new(name, &["id"])
        },
        _ => IndexSpec::new(name, &["version", "id"]),
    }
}

pub(crate) fn row(id: i32, values: Values) -> Row {
    let text = vec![letter(values.version); values.len];
    vec![
        Datum::Int(id),
        Datum::BigInt(values.version),
        Datum::decode(&text_type(), &text).unwrap().into_owned(),
    ]
}

fn letter(version: i64) -> u8 {
    b'a' + (version % 26) as u8
}

/// The id and the values of a row that was read.
fn values_of(table: &str, row: &Row) -> (i32, Values) {
    match row.as_slice() {
        [Datum::Int(id), Datum::BigInt(version), Datum::Char(text)] => {
            let is_right = text.bytes.iter().all(|byte| *byte == letter(*version));
            assert!(is_right, "row {id} of {table} mixes values of two versions");
            (*id, Values { version: *version, len: text.bytes.len() })
        }
        other => panic!("{table} has the row {other:?}"),
    }
}

/// The shared tables.
pub(crate) fn create(folder: &Path) {
    let db = Database::create(&spec(folder), options()).unwrap();
    let mut session = db.session();
    for name in SHARED {
        let table = session.create_table(&table_spec(name, name == "tree")).unwrap();
        if name == "wide" {
            session.create_index(&table, &index_spec("by_version")).unwrap();
            session.create_index(&table, &index_spec("by_text")).unwrap();
        }
    }
    drop(session);
    db.close().unwrap();
}

/// What each session has. Every index must lead to all rows of its table.
pub(crate) fn read(db: &Arc<Database>) -> Result<Vec<Own>, Error> {
    let mut owns = vec![Own::default(); SESSIONS as usize];
    let mut session = db.session();
    for table in db.tables() {
        let name = table.name().to_owned();
        let is_shared = SHARED.contains(&name.as_str());
        let found = scan(&mut session, &table)?;
        verify_indexes(&mut session, &table, &found)?;
        if !is_shared {
            let own = &mut owns[owner_of(&name)];
            let made = table.indexes().into_iter().filter(|index| index != "c").collect();
            own.parts.insert(name.clone(), Part { indexes: made, ..Part::default() });
        }
        for (id, (at, values)) in found {
            let number = if is_shared { (id / IDS_APART) as usize } else { owner_of(&name) };
            let own = &mut owns[number];
            own.parts.entry(name.clone()).or_default().rows.insert(id, values);
            own.addresses.insert((name.clone(), id), at);
        }
    }
    Ok(owns)
}

fn owner_of(table: &str) -> usize {
    let number = table.strip_prefix("own").and_then(|rest| rest.split_once('_'));
    number
        .and_then(|(session, _)| session.parse().ok())
        .unwrap_or_else(|| panic!("a table {table}"))
}

type Found = BTreeMap<i32, (Address, Values)>;

fn scan(session: &mut Session, table: &Table) -> Result<Found, Error> {
    let mut found = Found::new();
    session.scan(table, &mut |at, row| {
        let (id, values) = values_of(table.name(), &row);
        assert!(found.insert(id, (at, values)).is_none(), "{} has row {id} twice", table.name());
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn verify_indexes(session: &mut Session, table: &Table, found: &Found) -> Result<(), Error> {
    for index in table.indexes() {
        let mut by_index = BTreeMap::new();
        session.seek(table, &index, &[], &mut |_, row| {
            let (id, values) = values_of(table.name(), &row);
            by_index.insert(id, values);
            ControlFlow::Continue(())
        })?;
        let is_whole = by_index.iter().eq(found.iter().map(|(id, (_, values))| (id, values)));
        assert!(is_whole, "index {index} of {} leads to other rows", table.name());
    }
    Ok(())
}
