//! CHECK constraints and foreign keys after a crash, and as the offline reader reads them. What they
//! refuse, and which sessions wait: `scripts/constraints`.

mod support;

use extentdb_base::env::SplitMix64;
use extentdb_base::sync::Arc;
use extentdb_engine::{ColumnSpec, Database, Error, IndexSpec, Row, Session, Table, TableSpec};
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
fn restart_and_offline_reader_know_checks_and_foreign_keys() {
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
