//! CHECK constraints and foreign keys: refused rows, waits between both sides of a key, crashes,
//! and the independent readers.

mod support;

use std::time::Duration;

use extentdb_base::env::SplitMix64;
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Cause, ColumnSpec, Database, Error, IndexSpec, Isolation, Row, Session, Table, TableSpec,
    Timeout,
};
use extentdb_io::MemDisk;
use extentdb_reader::{Database as Reader, OpenOptions};
use extentdb_types::{Datum, SqlType};
use support::*;

/// `orders`: id, customer, amount.
fn orders(name: &str) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("customer", SqlType::Int),
        ColumnSpec::new("amount", SqlType::Int),
    ];
    TableSpec::heap(name, columns)
}

fn order(id: i32, customer: Option<i32>, amount: i32) -> Row {
    vec![Datum::Int(id), customer.map_or(Datum::Null, Datum::Int), Datum::Int(amount)]
}

/// Customers with a primary key, and orders that name them.
struct Shop {
    disk: MemDisk,
    paths: extentdb_engine::Paths,
    db: Database,
}

impl Shop {
    fn open(customers: TableSpec, orders: TableSpec, indexes: &[IndexSpec]) -> Shop {
        let disk = MemDisk::new();
        let spec = spec("shop");
        let db = Database::create(&spec, on(&disk)).unwrap();
        let mut session = db.session();
        let customers = session.create_table(&customers).unwrap();
        if customers.indexes().is_empty() {
            session.create_index(&customers, &IndexSpec::primary_key("pk", &["id"])).unwrap();
        }
        let orders = session.create_table(&orders).unwrap();
        indexes.iter().for_each(|index| session.create_index(&orders, index).unwrap());
        for id in 1..=5 {
            session.insert(&customers, &person(id, "customer")).unwrap();
        }
        session.add_foreign_key(&orders, "fk", &customers, &[("customer", "id")]).unwrap();
        session.add_check(&orders, "ck", "([amount]>=(0))").unwrap();
        drop((session, customers, orders));
        Shop { disk, paths: spec.paths(), db }
    }

    fn tables(&self) -> (Session<'_>, Arc<Table>, Arc<Table>) {
        let session = self.db.session();
        let customers = session.table("customers").unwrap();
        let orders = session.table("orders").unwrap();
        (session, customers, orders)
    }

    fn close(self) {
        self.db.close().unwrap();
        assert_sound_on(&self.disk, &self.paths);
    }
}

/// The same rules over heaps and clustered tables, with and without an index over the column that
/// names.
fn shops() -> Vec<Shop> {
    let key = || IndexSpec::primary_key("pk", &["id"]);
    let clustered = || people("customers").clustered(key());
    let by_customer = IndexSpec::new("by_customer", &["customer"]);
    vec![
        Shop::open(people("customers"), orders("orders"), &[]),
        Shop::open(clustered(), orders("orders"), &[by_customer]),
        Shop::open(
            clustered(),
            orders("orders").clustered(IndexSpec::new("c", &["customer", "id"])),
            &[],
        ),
    ]
}

fn is_refused<T>(done: &Result<T, Error>, constraint: &str) -> bool {
    matches!(done, Err(Error::Constraint { name, .. }) if name == constraint)
}

#[test]
fn rows_that_a_constraint_does_not_allow_are_refused_and_leave_nothing() {
    for shop in shops() {
        let (mut session, customers, orders) = shop.tables();
        let at = session.insert(&orders, &order(1, Some(2), 10)).unwrap();
        session.insert(&orders, &order(2, None, 10)).unwrap();
        session.begin();
        assert!(is_refused(&session.insert(&orders, &order(3, Some(9), 10)), "fk"));
        assert!(is_refused(&session.insert(&orders, &order(3, Some(2), -1)), "ck"));
        assert!(is_refused(&session.update(&orders, &at, &order(1, Some(9), 10)), "fk"));
        assert!(is_refused(&session.update(&orders, &at, &order(1, Some(2), -1)), "ck"));
        // A CHECK that is neither true nor false passes.
        let unknown = vec![Datum::Int(4), Datum::Int(5), Datum::Null];
        session.insert(&orders, &unknown).unwrap();
        session.commit().unwrap();
        assert_eq!(ids(&mut session, &orders), [1, 2, 4]);
        let named =
            rows(&mut session, &customers).into_iter().find(|(_, row)| row[0] == Datum::Int(2));
        let named = named.unwrap().0;
        assert!(is_refused(&session.delete(&customers, &named), "fk"));
        assert!(is_refused(&session.update(&customers, &named, &person(7, "renamed")), "fk"));
        // Other columns of a row that is named may change, and a row that is not named may go.
        let named = session.update(&customers, &named, &person(2, "renamed")).unwrap();
        let at = session.update(&orders, &at, &order(1, Some(3), 11)).unwrap();
        session.delete(&customers, &named).unwrap();
        session.delete(&orders, &at).unwrap();
        assert_eq!(ids(&mut session, &customers), [1, 3, 4, 5]);
        drop((session, customers, orders));
        shop.close();
    }
}

#[test]
fn both_sides_of_a_key_wait_for_each_other() {
    for shop in shops() {
        for isolation in
            [Isolation::ReadUncommitted, Isolation::ReadCommitted, Isolation::Serializable]
        {
            let (mut one, customers, orders) = shop.tables();
            let mut other = shop.db.session();
            one.set_isolation(isolation);
            other.set_isolation(isolation);
            other.set_lock_timeout(Timeout::After(Duration::from_millis(20)));
            let is_locked = |error: Error| error.cause() == Cause::Lock;
            let third =
                rows(&mut one, &customers).into_iter().find(|(_, row)| row[0] == Datum::Int(3));
            let third = third.unwrap().0;
            // The row that is named is about to go, or to come.
            one.begin();
            one.delete(&customers, &third).unwrap();
            assert!(is_locked(other.insert(&orders, &order(10, Some(3), 1)).unwrap_err()));
            one.rollback().unwrap();
            one.begin();
            one.insert(&customers, &person(8, "new")).unwrap();
            assert!(is_locked(other.insert(&orders, &order(10, Some(8), 1)).unwrap_err()));
            one.rollback().unwrap();
            // A row that names it is about to come.
            one.begin();
            one.insert(&orders, &order(10, Some(3), 1)).unwrap();
            assert!(is_locked(other.delete(&customers, &third).unwrap_err()));
            one.rollback().unwrap();
            other.begin();
            other.delete(&customers, &third).unwrap();
            other.rollback().unwrap();
            drop((one, other));
        }
        shop.close();
    }
}

#[test]
fn a_table_may_name_its_own_rows() {
    let disk = MemDisk::new();
    let spec = spec("tree");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    let table = orders("nodes").clustered(IndexSpec::primary_key("pk", &["id"]));
    let table = session.create_table(&table).unwrap();
    session.add_foreign_key(&table, "fk", &table, &[("customer", "id")]).unwrap();
    let root = session.insert(&table, &order(1, Some(1), 0)).unwrap();
    assert!(is_refused(&session.insert(&table, &order(3, Some(2), 0)), "fk"));
    let child = session.insert(&table, &order(2, Some(1), 0)).unwrap();
    assert!(is_refused(&session.delete(&table, &root), "fk"));
    session.delete(&table, &child).unwrap();
    session.delete(&table, &root).unwrap();
    session.drop_table(&table).unwrap();
    drop((session, table));
    db.close().unwrap();
    assert_sound_on(&disk, &spec.paths());
}

#[test]
fn rollback_undoes_added_and_dropped_constraints() {
    for shop in shops() {
        let (mut session, customers, orders) = shop.tables();
        session.insert(&orders, &order(1, Some(1), 5)).unwrap();
        // What is there must obey.
        assert!(is_refused(&session.add_check(&orders, "more", "([amount]>(5))"), "more"));
        session.begin();
        session.drop_constraint(&orders, "fk").unwrap();
        session.drop_constraint(&orders, "ck").unwrap();
        session.insert(&orders, &order(2, Some(99), -5)).unwrap();
        assert!(is_refused(
            &session.add_foreign_key(&orders, "fk2", &customers, &[("customer", "id")]),
            "fk2"
        ));
        session.rollback().unwrap();
        assert!(is_refused(&session.insert(&orders, &order(2, Some(99), 5)), "fk"));
        assert!(is_refused(&session.insert(&orders, &order(2, Some(1), -5)), "ck"));
        // The table that is named, and its key, stay as long as the key leads there.
        assert!(session.drop_table(&customers).is_err());
        assert!(session.truncate_table(&customers).is_err());
        assert!(session.drop_constraint(&customers, "pk").is_err());
        assert!(matches!(
            session.add_check(&orders, "FK", "([id]>(0))"),
            Err(Error::Exists { .. })
        ));
        assert!(matches!(
            session.add_check(&orders, "odd", "(dbo.f([id])>(0))"),
            Err(Error::NotSupported { .. })
        ));
        session.drop_table(&orders).unwrap();
        session.truncate_table(&customers).unwrap();
        session.drop_table(&customers).unwrap();
        drop((session, customers, orders));
        shop.close();
    }
}

#[test]
fn a_restart_knows_them_and_so_does_the_offline_reader() {
    for shop in shops() {
        let (mut session, customers, orders) = shop.tables();
        session.insert(&orders, &order(1, Some(1), 5)).unwrap();
        session.begin();
        session.drop_constraint(&orders, "fk").unwrap();
        session.add_check(&orders, "ck2", "([amount]<(100) OR [id]=(7))").unwrap();
        session.insert(&orders, &order(2, Some(77), 5)).unwrap();
        shop.db.log().flush_all().unwrap();
        let disk = shop.disk.crash(&mut SplitMix64::new(3));
        session.rollback().unwrap();
        session.add_check(&orders, "ck2", "([amount]<(100) OR [id]=(7))").unwrap();
        drop((session, customers, orders));
        let crashed = reopen(&disk, &shop.paths);
        for db in [&crashed, &shop.db] {
            let mut session = db.session();
            let customers = session.table("customers").unwrap();
            let orders = session.table("orders").unwrap();
            assert_eq!(ids(&mut session, &orders), [1]);
            assert!(is_refused(&session.insert(&orders, &order(2, Some(77), 5)), "fk"));
            assert!(is_refused(&session.insert(&orders, &order(2, Some(1), -5)), "ck"));
            let first = rows(&mut session, &customers).remove(0).0;
            assert!(is_refused(&session.delete(&customers, &first), "fk"));
        }
        crashed.close().unwrap();
        assert_sound_on(&disk, &shop.paths);
        let disk = shop.disk.clone();
        let paths = shop.paths.clone();
        shop.close();
        let db = reopen(&disk, &paths);
        let mut session = db.session();
        let orders = session.table("orders").unwrap();
        assert!(is_refused(&session.insert(&orders, &order(3, Some(1), 100)), "ck2"));
        session.insert(&orders, &order(7, Some(1), 100)).unwrap();
        drop((session, orders));
        db.close().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let files = files_of(&disk, &paths, folder.path());
        let reader = Reader::open(&files, &OpenOptions::default()).unwrap();
        let catalog = reader.catalog();
        let checks: Vec<_> = catalog
            .checks
            .iter()
            .map(|check| (&*check.object.name, check.definition.as_deref()))
            .collect();
        assert_eq!(
            checks,
            [("ck", Some("([amount]>=(0))")), ("ck2", Some("([amount]<(100) OR [id]=(7))"))]
        );
        assert_eq!(catalog.foreign_keys.len(), 1);
        assert_eq!(catalog.foreign_keys[0].columns, [(2, 1)]);
    }
}
