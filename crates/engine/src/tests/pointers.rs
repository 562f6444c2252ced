//! A system transaction that was interrupted has changed a pointer of a unit; meanwhile the row
//! that has it moves.

use extentdb_base::sync::Arc;
use extentdb_base::{AllocUnitId, PageId};
use extentdb_catalog::model::AllocUnitKind;
use extentdb_catalog::table::UnitDefinition;
use extentdb_catalog::table::describe::{UnitAnchor, unit_row};
use extentdb_io::MemDisk;
use extentdb_types::SqlType;

use crate::{ColumnSpec, Database, DatabaseSpec, Options, TableSpec};

fn spec(name: &str) -> TableSpec {
    TableSpec::heap(name, vec![ColumnSpec::new("id", SqlType::Int)])
}

#[test]
fn the_pointer_of_the_unit_gets_its_old_value_and_no_other() {
    let options = Options::on(Arc::new(MemDisk::new()));
    let db = Database::create(&DatabaseSpec::new("moved", "", 4 << 20), options).unwrap();
    let mut session = db.session();
    let [before, table] = ["a", "b"].map(|name| session.create_table(&spec(name)).unwrap());
    let row = |table: &crate::Table| {
        db.catalog.unit_of_row(table.unit().id()).unwrap().unwrap().pointers()
    };
    let own = row(&table);
    let other = row(&before);
    let mut tx = db.transactions.begin(extentdb_txn::TransactionKind::System, "CutOff");
    db.space.set_root(&mut tx, &table.unit(), PageId::new(1, 77)).unwrap();
    assert_ne!(row(&table), own);
    // A row is inserted before it, which makes it the next one on its page.
    session.begin();
    let unit = UnitDefinition {
        kind: AllocUnitKind::InRow,
        id: AllocUnitId(table.unit().id().0 - 1),
    };
    let between = unit_row(table.unit().hobt(), 1, unit, &UnitAnchor::default());
    let rows = db.catalog.system("sysallocunits").unwrap();
    session.in_transaction("INSERT", |context| rows.insert(context.tx()?, &between)).unwrap();
    extentdb_change::roll_back_system(&*db.space, tx).unwrap();
    assert_eq!((row(&table), row(&before)), (own, other));
    let between = db.catalog.unit_of_row(unit.id).unwrap().unwrap().pointers();
    assert_eq!(between, extentdb_space::Unit::new(&description(unit.id)).pointers());
    session.rollback().unwrap();
}

fn description(id: AllocUnitId) -> extentdb_space::UnitDescription {
    let none = PageId::NONE;
    let group = 1;
    let counts = extentdb_space::UnitCounts::default();
    let hobt = extentdb_base::HobtId(0);
    extentdb_space::UnitDescription {
        id,
        hobt,
        group,
        first: none,
        root: none,
        first_iam: none,
        counts,
    }
}
