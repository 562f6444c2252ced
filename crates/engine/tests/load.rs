//! Sets of rows inserted by one statement: every shape of table, rollbacks, crashes, and foreign keys
//! whose rows come in any order.

mod support;

use extentdb_base::env::SplitMix64;
use extentdb_base::sync::Arc;
use extentdb_engine::{
    ColumnSpec, Database, Error, IndexSpec, LoadLock, NewRow, Row, RowSource, Session,
    StatementEnd, Table, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};
use support::*;

/// More than a run of sorted rows, and pages beyond the first extent.
const MANY: i32 = 12_345;

fn load(
    session: &mut Session,
    table: &Arc<Table>,
    ids: &[i32],
    lock: LoadLock,
) -> Result<u64, Error> {
    let rows: Vec<Row> =
        ids.iter().map(|id| person(*id, &format!("name {id} {:200}", ""))).collect();
    session.insert_set(table, &mut rows.iter(), lock)
}

/// The numbers below `count`, in another order.
fn mixed(count: i32) -> Vec<i32> {
    (0..count).map(|n| (n * 7919) % count).collect()
}

/// A kind of table.
struct Kind {
    name: &'static str,
    indexes: Vec<IndexSpec>,
}

impl Kind {
    fn create(&self, session: &mut Session, name: &str) -> Arc<Table> {
        let table = session.create_table(&people(name)).unwrap();
        for index in &self.indexes {
            let named = IndexSpec { name: format!("{name}_{}", index.name), ..index.clone() };
            session.create_index(&table, &named).unwrap();
        }
        table
    }

    fn has_unique_index(&self) -> bool {
        self.indexes.iter().any(|index| index.unique)
    }
}

fn kinds() -> [Kind; 5] {
    let key = || IndexSpec::primary_key("pk", &["id"]);
    let by_name = || IndexSpec::new("by_name", &["name"]);
    [
        Kind { name: "heap", indexes: vec![] },
        Kind { name: "heap_index", indexes: vec![key()] },
        Kind { name: "clustered", indexes: vec![key().clustered()] },
        Kind { name: "uniquifiers", indexes: vec![by_name().clustered()] },
        Kind { name: "both", indexes: vec![key().clustered(), by_name()] },
    ]
}

/// A database in memory that must be sound in the end.
struct Shop {
    disk: MemDisk,
    db: Arc<Database>,
}

impl Shop {
    fn create() -> Shop {
        let disk = MemDisk::new();
        let db = Database::create(&spec("load"), on(&disk)).unwrap();
        Shop { disk, db }
    }

    fn close(self) {
        close_and_check(self.db, &self.disk, &spec("load").paths());
    }
}

fn expected(count: i32) -> Vec<i32> {
    (0..count).collect()
}

#[test]
fn a_set_becomes_the_rows_of_every_kind_of_table() {
    let shop = Shop::create();
    let mut session = shop.db.session();
    for kind in kinds() {
        for (name, lock) in [("rows", LoadLock::Rows), ("table", LoadLock::Table)] {
            let table = kind.create(&mut session, &format!("{}_{name}", kind.name));
            assert_eq!(load(&mut session, &table, &mixed(MANY), lock).unwrap(), MANY as u64);
            assert_eq!(ids(&mut session, &table), expected(MANY), "{} {name}", kind.name);
            // A second set finds rows, and is inserted among them.
            let more: Vec<i32> = (MANY..MANY + 500).collect();
            load(&mut session, &table, &more, lock).unwrap();
            assert_eq!(ids(&mut session, &table), expected(MANY + 500), "{} {name}", kind.name);
        }
    }
    drop(session);
    shop.close();
}

#[test]
fn a_table_that_the_transaction_has_created_is_filled_without_locking_it_twice() {
    let shop = Shop::create();
    let mut session = shop.db.session();
    for kind in kinds() {
        session.begin();
        let table = kind.create(&mut session, kind.name);
        load(&mut session, &table, &mixed(2000), LoadLock::Rows).unwrap();
        session.commit().unwrap();
        assert_eq!(ids(&mut session, &table), expected(2000), "{}", kind.name);
    }
    drop(session);
    shop.close();
}

#[test]
fn a_rollback_leaves_the_empty_table_and_its_space() {
    let shop = Shop::create();
    let mut session = shop.db.session();
    for kind in kinds() {
        let table = kind.create(&mut session, kind.name);
        for _ in 0..3 {
            session.begin();
            load(&mut session, &table, &mixed(3000), LoadLock::Table).unwrap();
            session.rollback().unwrap();
            assert_eq!(ids(&mut session, &table), Vec::<i32>::new());
        }
        load(&mut session, &table, &[1, 2, 3], LoadLock::Table).unwrap();
        assert_eq!(ids(&mut session, &table), [1, 2, 3], "{}", kind.name);
    }
    drop(session);
    shop.close();
}

#[test]
fn a_duplicate_key_refuses_the_whole_set() {
    let shop = Shop::create();
    let mut session = shop.db.session();
    for kind in kinds().into_iter().filter(Kind::has_unique_index) {
        let table = kind.create(&mut session, kind.name);
        for lock in [LoadLock::Rows, LoadLock::Table] {
            let refused = load(&mut session, &table, &[5, 6, 5], lock);
            assert!(matches!(refused, Err(Error::DuplicateKey { .. })), "{refused:?}");
            assert_eq!(ids(&mut session, &table), Vec::<i32>::new(), "{}", kind.name);
        }
    }
    drop(session);
    shop.close();
}

/// Rows that end with an error.
struct Broken(Vec<Row>, usize);

impl RowSource for Broken {
    fn next_row(&mut self, row: &mut NewRow<'_>) -> Result<bool, Error> {
        self.1 += 1;
        let values = self.0.get(self.1 - 1).ok_or(Error::Cancelled)?;
        values.iter().try_for_each(|value| row.push(value))?;
        Ok(true)
    }
}

#[test]
fn an_error_of_the_source_undoes_the_set() {
    let shop = Shop::create();
    let mut session = shop.db.session();
    for kind in kinds() {
        let table = kind.create(&mut session, kind.name);
        session.begin();
        for lock in [LoadLock::Rows, LoadLock::Table] {
            let mut rows = Broken((0..2500).map(|id| person(id, "x")).collect(), 0);
            assert!(session.insert_set(&table, &mut rows, lock).is_err());
            assert_eq!(ids(&mut session, &table), Vec::<i32>::new(), "{}", kind.name);
        }
        session.commit().unwrap();
    }
    drop(session);
    shop.close();
}

fn delete(session: &mut Session, table: &Table, is_one: &dyn Fn(i32) -> bool) {
    for (at, row) in rows(session, table) {
        if is_one(id_of(&row)) {
            session.delete(table, &at).unwrap();
        }
    }
}

/// Rows of a set lie on pages with rows that others have put there, or delete.
#[test]
fn a_set_that_comes_to_other_rows_is_undone_alone() {
    let shop = Shop::create();
    let mut session = shop.db.session();
    for kind in kinds() {
        for (name, lock) in [("rows", LoadLock::Rows), ("table", LoadLock::Table)] {
            let table = kind.create(&mut session, &format!("{}_{name}", kind.name));
            load(&mut session, &table, &expected(100), lock).unwrap();
            session.begin();
            delete(&mut session, &table, &|id| id == 99);
            load(&mut session, &table, &(100..700).collect::<Vec<i32>>(), lock).unwrap();
            delete(&mut session, &table, &|id| id % 3 == 0);
            load(&mut session, &table, &(700..900).collect::<Vec<i32>>(), lock).unwrap();
            session.rollback().unwrap();
            assert_eq!(ids(&mut session, &table), expected(100), "{} {name}", kind.name);
            load(&mut session, &table, &[100], lock).unwrap();
            assert_eq!(ids(&mut session, &table), expected(101), "{} {name}", kind.name);
        }
    }
    drop(session);
    shop.close();
}

/// The power fails at every call of the disk during a load, its commit and a checkpoint.
#[test]
fn after_a_power_cut_all_rows_are_there_or_none() {
    for before in [0, 30] {
        let mut found = Vec::new();
        for kind in kinds() {
            for lock in [LoadLock::Rows, LoadLock::Table] {
                found.extend((0..).map_while(|cut| load_and_cut(&kind, lock, before, cut)));
            }
        }
        let (none, all) = (before as usize, before as usize + 400);
        assert!(found.iter().all(|rows| [none, all].contains(rows)), "{found:?}");
        assert!(found.contains(&none) && found.contains(&all), "{found:?}");
    }
}

/// The rows that are there afterwards, some of them from before; `None` when the power has not
/// failed.
fn load_and_cut(kind: &Kind, lock: LoadLock, before: i32, cut: u64) -> Option<usize> {
    let Shop { disk, db } = Shop::create();
    let mut session = db.session();
    let table = kind.create(&mut session, "t");
    load(&mut session, &table, &(1000..1000 + before).collect::<Vec<i32>>(), lock).unwrap();
    db.checkpoint().unwrap();
    disk.fail_after(cut);
    let is_acknowledged = load(&mut session, &table, &mixed(400), lock).is_ok();
    let is_over = db.checkpoint().is_ok();
    drop((session, table, db));
    let disk = disk.crash(&mut SplitMix64::new(cut));
    let db = reopen(&disk, &spec("load").paths());
    let mut session = db.session();
    let table = session.table("t").unwrap();
    let found = ids(&mut session, &table).len();
    let all = 400 + before as usize;
    assert!(found == all || !is_acknowledged, "{} {lock:?} cut {cut}: {found}", kind.name);
    drop((session, table));
    Shop { disk, db }.close();
    (!is_over).then_some(found)
}

/// `id`, and the row of the same table that it names.
fn tree(session: &mut Session) -> Arc<Table> {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("parent", SqlType::Int),
    ];
    let table = session.create_table(&TableSpec::heap("tree", columns)).unwrap();
    session.create_index(&table, &IndexSpec::primary_key("pk", &["id"]).clustered()).unwrap();
    session.add_foreign_key(&table, "fk", &table, &[("parent", "id")]).unwrap();
    table
}

fn node(id: i32, parent: Option<i32>) -> Row {
    vec![Datum::Int(id), parent.map_or(Datum::Null, Datum::Int)]
}

#[test]
fn rows_of_a_set_reference_each_other_in_any_order() {
    let shop = Shop::create();
    let mut session = shop.db.session();
    let table = tree(&mut session);
    let rows = [node(1, Some(2)), node(2, Some(3)), node(3, None)];
    session.insert_set(&table, &mut rows.iter(), LoadLock::Rows).unwrap();
    let orphan = [node(4, Some(5)), node(6, Some(7)), node(5, None)];
    let refused = session.insert_set(&table, &mut orphan.iter(), LoadLock::Rows);
    assert!(matches!(refused, Err(Error::Constraint { .. })), "{refused:?}");
    assert_eq!(ids(&mut session, &table), [1, 2, 3]);
    drop((session, table));
    shop.close();
}

#[test]
fn a_statement_deletes_a_tree_from_its_root() {
    let shop = Shop::create();
    let mut session = shop.db.session();
    let table = tree(&mut session);
    let rows = [node(1, None), node(2, Some(1)), node(3, Some(2)), node(4, None), node(5, Some(4))];
    session.insert_set(&table, &mut rows.iter(), LoadLock::Table).unwrap();
    let all = support::rows(&mut session, &table);
    let at = |id: i32| all.iter().find(|(_, row)| id_of(row) == id).unwrap().0.clone();

    // By itself, the root is referenced.
    assert!(matches!(session.delete(&table, &at(1)), Err(Error::Constraint { .. })));

    // One row of the set keeps another alive: all of it is undone.
    let scope = session.begin_scope().unwrap();
    for id in [1, 2, 4] {
        session.delete(&table, &at(id)).unwrap();
    }
    let refused = session.end_scope(scope, StatementEnd::Done);
    assert!(matches!(refused, Err(Error::Constraint { .. })), "{refused:?}");
    assert_eq!(ids(&mut session, &table), [1, 2, 3, 4, 5]);

    let scope = session.begin_scope().unwrap();
    for id in [1, 2, 3] {
        session.delete(&table, &at(id)).unwrap();
    }
    session.end_scope(scope, StatementEnd::Done).unwrap();
    assert_eq!(ids(&mut session, &table), [4, 5]);

    // A key that another row of the set gets is referenced rightly.
    let scope = session.begin_scope().unwrap();
    session.delete(&table, &at(4)).unwrap();
    session.insert(&table, &node(4, Some(5))).unwrap();
    session.end_scope(scope, StatementEnd::Done).unwrap();
    assert_eq!(ids(&mut session, &table), [4, 5]);
    drop((session, table, all));
    shop.close();
}

#[test]
fn checks_of_a_failed_part_of_a_statement_are_forgotten() {
    let shop = Shop::create();
    let mut session = shop.db.session();
    let table = tree(&mut session);
    session.insert(&table, &node(1, None)).unwrap();
    let scope = session.begin_scope().unwrap();
    // The second row is a duplicate, so that the first, an orphan, goes with it.
    let rows = [node(7, Some(99)), node(1, None)];
    assert!(session.insert_set(&table, &mut rows.iter(), LoadLock::Rows).is_err());
    session.insert(&table, &node(2, Some(1))).unwrap();
    session.end_scope(scope, StatementEnd::Done).unwrap();
    assert_eq!(ids(&mut session, &table), [1, 2]);
    drop((session, table));
    shop.close();
}
