//! Computed columns, stored and not, indexes over them, and filtered indexes: kept true by every
//! statement, and seen alike by the offline reader and the full check.

mod support;

use extentdb_base::sync::Arc;
use std::ops::ControlFlow;

use extentdb_engine::{
    ColumnSpec, Database, Error, IndexSpec, Range, Row, Session, Table, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};
use support::*;

/// `id int not null, quantity int, price int, total as ([quantity]*[price]) int [persisted]`.
fn orders(is_persisted: bool) -> TableSpec {
    let total = ColumnSpec::computed("total", SqlType::Int, "([quantity]*[price])");
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("quantity", SqlType::Int),
        ColumnSpec::new("price", SqlType::Int),
        if is_persisted { total.persisted() } else { total },
    ];
    TableSpec::heap("orders", columns)
}

fn all_forms() -> Vec<TableSpec> {
    let clustered = |spec: TableSpec| spec.clustered(IndexSpec::primary_key("pk", &["id"]));
    [false, true].into_iter().flat_map(|it| [orders(it), clustered(orders(it))]).collect()
}

fn order(id: i32, quantity: Option<i32>, price: i32) -> Row {
    vec![Datum::Int(id), quantity.map_or(Datum::Null, Datum::Int), Datum::Int(price), Datum::Null]
}

fn computed(id: i32, quantity: Option<i32>, price: i32) -> Row {
    let mut row = order(id, quantity, price);
    row[3] = quantity.map_or(Datum::Null, |quantity| Datum::Int(quantity * price));
    row
}

fn sorted(session: &mut Session, table: &Table) -> Vec<Row> {
    let mut rows: Vec<Row> = rows(session, table).into_iter().map(|(_, row)| row).collect();
    rows.sort_by_key(|row| if let Datum::Int(id) = row[0] { id } else { -1 });
    rows
}

/// Ids of the rows that an index has under a key, in its order.
fn found(session: &mut Session, table: &Table, index: &str, key: &[Datum<'static>]) -> Vec<i32> {
    let mut ids = Vec::new();
    session
        .seek(table, index, key, &mut |_, row| {
            ids.push(if let Datum::Int(id) = row[0] { id } else { -1 });
            ControlFlow::Continue(())
        })
        .unwrap();
    ids.sort_unstable();
    ids
}

#[test]
fn computed_column_follows_its_row() {
    for spec in all_forms() {
        let disk = MemDisk::new();
        let db = Database::create(&spec_of(), on(&disk)).unwrap();
        let mut session = db.session();
        let table = session.create_table(&spec).unwrap();
        session.create_index(&table, &IndexSpec::new("by_total", &["total"])).unwrap();
        let mut expected = Vec::new();
        for id in 0..300 {
            let quantity = (id % 7 != 0).then_some(id % 10);
            session.insert(&table, &order(id, quantity, id % 5)).unwrap();
            expected.push(computed(id, quantity, id % 5));
        }
        assert_eq!(sorted(&mut session, &table), expected);
        // What it is computed to be is nobody's to say.
        assert!(matches!(
            session.insert(&table, &computed(1000, Some(2), 3)),
            Err(Error::Value { .. })
        ));
        // A value that there cannot be: the row is refused, as its index has a place for it.
        let failed = session.insert(&table, &order(1000, Some(i32::MAX), 2));
        assert!(matches!(failed, Err(Error::Value { .. })), "{failed:?}");
        for (at, row) in rows(&mut session, &table) {
            let Datum::Int(id) = row[0] else { panic!("no id") };
            if id % 3 == 0 {
                session.update(&table, &at, &order(id, Some(100 + id), 2)).unwrap();
                expected[id as usize] = computed(id, Some(100 + id), 2);
            }
        }
        assert_eq!(sorted(&mut session, &table), expected);
        assert_eq!(found(&mut session, &table, "by_total", &[Datum::Int(2 * (100 + 51))]), [51]);
        assert_eq!(found(&mut session, &table, "by_total", &[Datum::Null]).len(), 28);
        drop((session, table));
        close_and_check(db, &disk, &spec_of().paths());
        let folder = tempfile::tempdir().unwrap();
        let files = files_of(&disk, &spec_of().paths(), folder.path());
        let mut read = rows_by_reader(&files, "orders");
        read.sort_by_key(|row| if let Datum::Int(id) = row[0] { id } else { -1 });
        if spec.columns[3].computed.as_ref().unwrap().persisted {
            assert_eq!(read, expected);
        }
        let db = reopen(&disk, &spec_of().paths());
        let mut session = db.session();
        let table = session.table("orders").unwrap();
        assert_eq!(sorted(&mut session, &table), expected);
        session.insert(&table, &order(5000, Some(7), 7)).unwrap();
        assert_eq!(found(&mut session, &table, "by_total", &[Datum::Int(49)]), [5000]);
        drop((session, table));
        close_and_check(db, &disk, &spec_of().paths());
    }
}

fn spec_of() -> extentdb_engine::DatabaseSpec {
    spec("computed")
}

#[test]
fn computed_columns_are_added_to_tables_with_rows() {
    for is_persisted in [false, true] {
        let disk = MemDisk::new();
        let db = Database::create(&spec_of(), on(&disk)).unwrap();
        let mut session = db.session();
        let table = session.create_table(&people("t")).unwrap();
        session.create_index(&table, &IndexSpec::new("by_name", &["name"])).unwrap();
        for id in 0..100 {
            session.insert(&table, &person(id, &"x".repeat(id as usize))).unwrap();
        }
        let twice = ColumnSpec::computed("twice", SqlType::Int, "([id]*(2))");
        let twice = if is_persisted { twice.persisted() } else { twice };
        session.begin();
        session.add_column(&table, &twice).unwrap();
        session.rollback().unwrap();
        assert_eq!(table.columns().len(), 2);
        session.add_column(&table, &twice).unwrap();
        session.create_index(&table, &IndexSpec::new("by_twice", &["twice"])).unwrap();
        assert_eq!(found(&mut session, &table, "by_twice", &[Datum::Int(84)]), [42]);
        // No column is computed of a computed one, and none goes that another is computed of.
        let of_it = ColumnSpec::computed("more", SqlType::Int, "([twice]+(1))");
        assert!(matches!(session.add_column(&table, &of_it), Err(Error::NotSupported { .. })));
        assert!(matches!(session.drop_column(&table, "id"), Err(Error::Dependent { .. })));
        assert!(matches!(session.drop_column(&table, "twice"), Err(Error::Dependent { .. })));
        session.drop_index(&table, "by_twice").unwrap();
        session.drop_column(&table, "twice").unwrap();
        assert_eq!(table.columns().len(), 2);
        session.add_column(&table, &ColumnSpec::new("twice", SqlType::BigInt)).unwrap();
        assert!(rows(&mut session, &table).iter().all(|(_, row)| row[2] == Datum::Null));
        drop((session, table));
        close_and_check(db, &disk, &spec_of().paths());
    }
}

#[test]
fn index_on_a_computed_column_refuses_values_it_cannot_compute() {
    let disk = MemDisk::new();
    let db = Database::create(&spec_of(), on(&disk)).unwrap();
    let mut session = db.session();
    let spec = TableSpec::heap(
        "t",
        vec![
            ColumnSpec::new("id", SqlType::Int),
            ColumnSpec::computed("share", SqlType::Int, "((100)/[id])"),
            ColumnSpec::computed("half", SqlType::Float, "([id]/CONVERT([float],(2)))"),
        ],
    );
    let table = session.create_table(&spec).unwrap();
    let row = |id| vec![Datum::Int(id), Datum::Null, Datum::Null];
    // Without an index nobody asks for the value: the row is taken, and cannot be read.
    let at = session.insert(&table, &row(0)).unwrap();
    assert!(matches!(
        session.scan(&table, &mut |_, _| ControlFlow::Continue(())),
        Err(Error::Value { .. })
    ));
    let by_share = IndexSpec::new("by_share", &["share"]);
    assert!(matches!(session.create_index(&table, &by_share), Err(Error::Value { .. })));
    session.delete(&table, &at).unwrap();
    session.create_index(&table, &by_share).unwrap();
    assert!(matches!(session.insert(&table, &row(0)), Err(Error::Value { .. })));
    session.insert(&table, &row(3)).unwrap();
    assert_eq!(found(&mut session, &table, "by_share", &[Datum::Int(33)]), [3]);
    let imprecise = IndexSpec::new("by_half", &["half"]);
    assert!(matches!(session.create_index(&table, &imprecise), Err(Error::NotSupported { .. })));
    drop((session, table));
    close_and_check(db, &disk, &spec_of().paths());
}

/// Ids of all rows that an index has.
fn indexed(session: &mut Session, table: &Table, index: &str) -> Vec<i32> {
    let mut ids = Vec::new();
    session
        .range(table, &Range::all(index), &mut |_, row| {
            ids.push(if let Datum::Int(id) = row[0] { id } else { -1 });
            ControlFlow::Continue(())
        })
        .unwrap();
    ids.sort_unstable();
    ids
}

/// A unique index on the names of the young, which are unique among these only.
fn young() -> IndexSpec {
    let filter = Some("([id]<(100))".to_owned());
    IndexSpec { filter, ..IndexSpec::new("young", &["name"]).unique() }
}

/// 200 people, of whom 100 are young, in a table of this kind.
fn with_young(db: &Arc<Database>, spec: &TableSpec) {
    let mut session = db.session();
    let table = session.create_table(spec).unwrap();
    for id in 0..200 {
        session.insert(&table, &person(id, &format!("n{}", id % 150))).unwrap();
    }
    session.create_index(&table, &young()).unwrap();
    assert_eq!(indexed(&mut session, &table, "young"), (0..100).collect::<Vec<_>>());
}

fn forms_of_people() -> [TableSpec; 2] {
    [people("t"), people("t").clustered(IndexSpec::primary_key("pk", &["id"]))]
}

#[test]
fn filtered_index_has_the_rows_of_its_filter() {
    for spec in forms_of_people() {
        let disk = MemDisk::new();
        let db = Database::create(&spec_of(), on(&disk)).unwrap();
        with_young(&db, &spec);
        let mut session = db.session();
        let table = session.table("t").unwrap();
        session.insert(&table, &person(300, "n7")).unwrap();
        let refused = session.insert(&table, &person(-1, "n7"));
        assert!(matches!(refused, Err(Error::DuplicateKey { .. })), "{refused:?}");
        session.insert(&table, &person(-1, "minus")).unwrap();
        for (at, row) in rows(&mut session, &table) {
            match id_of(&row) {
                // Out of it, into it, within it, deleted from it.
                10 => drop(session.update(&table, &at, &person(1010, "n10")).unwrap()),
                199 => drop(session.update(&table, &at, &person(-100, "n199")).unwrap()),
                20 => drop(session.update(&table, &at, &person(20, "other")).unwrap()),
                30 => session.delete(&table, &at).unwrap(),
                _ => {}
            }
        }
        let mut expected = vec![-100, -1];
        expected.extend((0..100).filter(|id| ![10, 30].contains(id)));
        assert_eq!(indexed(&mut session, &table, "young"), expected);
        session.rebuild_index(&table, "young").unwrap();
        if spec.clustered.is_some() {
            session.rebuild_index(&table, "pk").unwrap();
        }
        assert_eq!(indexed(&mut session, &table, "young"), expected);
        drop((session, table));
        close_and_check(db, &disk, &spec_of().paths());
    }
}

#[test]
fn filtered_index_is_kept_over_a_restart() {
    for spec in forms_of_people() {
        let disk = MemDisk::new();
        let db = Database::create(&spec_of(), on(&disk)).unwrap();
        with_young(&db, &spec);
        close_and_check(db, &disk, &spec_of().paths());
        let db = reopen(&disk, &spec_of().paths());
        let mut session = db.session();
        let table = session.table("t").unwrap();
        session.begin();
        session.insert(&table, &person(-5, "five")).unwrap();
        session.rollback().unwrap();
        session.insert(&table, &person(-6, "six")).unwrap();
        session.insert(&table, &person(600, "six")).unwrap();
        let mut expected = vec![-6];
        expected.extend(0..100);
        assert_eq!(indexed(&mut session, &table, "young"), expected);
        session.drop_index(&table, "young").unwrap();
        // A clustered index has all rows.
        let clustered = IndexSpec { clustered: true, ..young() };
        assert!(session.create_index(&table, &clustered).is_err());
        session.drop_table(&table).unwrap();
        drop((session, table));
        close_and_check(db, &disk, &spec_of().paths());
    }
}
