//! Databases that SQL Server made, attached: their catalog is shown as it is. Skipped without
//! samples.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use extentdb_engine::{Database, Options, Paths};
use extentdb_io::{Disk, Durability, MemDisk};
use extentdb_sysview::{Content, Source, views};

use crate::every_view::verify_row;
use crate::support::*;

fn sample(name: &str) -> Option<Arc<Database>> {
    let samples = std::env::var_os("EXTENTDB_SAMPLES").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples"))
    });
    let Ok(bytes) = std::fs::read(samples.join(name)) else {
        eprintln!("SKIPPED: no {name} in {}", samples.display());
        return None;
    };
    let disk = MemDisk::new();
    let data = PathBuf::from("/attached.mdf");
    let file = disk.create(&data).unwrap();
    file.write_at(0, &[&bytes], Durability::Deferred).unwrap();
    file.sync().unwrap();
    drop(file);
    let paths = Paths {
        data: vec![data],
        log: Path::new("/attached_log.ldf").to_path_buf(),
    };
    let options = Options { frames: 1024, ..Options::on(Arc::new(disk)) };
    Some(Database::open(&paths, options).unwrap())
}

#[test]
fn values_are_of_the_types_of_their_columns() {
    let instance = server();
    let samples =
        ["northwind-2008.mdf", "pubs-2008.mdf", "bookshop-2008r2.mdf", "northwind-from-2000.mdf"];
    for database in samples.into_iter().filter_map(sample) {
        let model = database.model().unwrap();
        let source = Source::new(&instance, &database, &model);
        for view in views().filter(|view| view.content() == Content::Filled) {
            let rows = view.call(&source, &[]).unwrap_or_else(|error| panic!("{error}"));
            rows.iter().for_each(|row| verify_row(view, row));
        }
    }
}

/// Some lines of a view in a database, which has so many rows.
fn assert_has(database: &Database, name: &str, columns: &str, count: usize, expected: &[&str]) {
    let all = read(&server(), database, name, columns);
    assert_eq!(all.lines().count(), count, "{name}:\n{all}");
    for expected in expected {
        assert!(all.lines().any(|line| line == *expected), "{expected} in\n{all}");
    }
}

#[test]
fn northwind_is_shown_as_it_was_made() {
    let Some(database) = sample("northwind-2008.mdf") else { return };
    let columns = "name max_column_id_used lob_data_space_id";
    let expected = ["Orders 14 0", "Employees 18 1", "Order Details 5 0"];
    assert_has(&database, "sys.tables", columns, 13, &expected);
    let columns = "name is_not_trusted is_disabled delete_referential_action_desc";
    let expected =
        ["FK_Orders_Customers 1 0 NO_ACTION", "FK_EmployeeTerritories_Employees 0 0 NO_ACTION"];
    assert_has(&database, "sys.foreign_keys", columns, 13, &expected);
    let columns = "name definition is_system_named";
    assert_has(&database, "sys.default_constraints", columns, 9, &["DF_Orders_Freight ((0)) 0"]);
    let columns = "name parameter_id system_type_id max_length is_output";
    assert_has(&database, "sys.parameters", columns, 9, &["@CategoryName 1 231 30 0"]);
    let columns = "SPECIFIC_NAME PARAMETER_MODE DATA_TYPE CHARACTER_MAXIMUM_LENGTH";
    let expected = ["CustOrderHist IN nchar 5"];
    assert_has(&database, "INFORMATION_SCHEMA.PARAMETERS", columns, 9, &expected);
    let columns = "CONSTRAINT_NAME TABLE_NAME COLUMN_NAME";
    let expected = ["CK_Birthdate Employees BirthDate", "PK_Order_Details Order Details OrderID"];
    assert_has(&database, "INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE", columns, 37, &expected);
    let columns = "name type_desc authentication_type_desc owning_principal_id";
    let expected = ["dbo WINDOWS_USER WINDOWS NULL", "db_owner DATABASE_ROLE NONE 1"];
    assert_has(&database, "sys.database_principals", columns, 15, &expected);
}

#[test]
fn alias_types_and_triggers_of_pubs_are_shown() {
    let Some(database) = sample("pubs-2008.mdf") else { return };
    let columns = "name system_type_id user_type_id max_length is_nullable is_user_defined";
    assert_has(&database, "sys.types", columns, 37, &["empid 175 259 9 0 1", "id 167 257 11 0 1"]);
    let columns = "DOMAIN_NAME TABLE_NAME COLUMN_NAME";
    let expected = ["empid employee emp_id"];
    assert_has(&database, "INFORMATION_SCHEMA.COLUMN_DOMAIN_USAGE", columns, 7, &expected);
    assert_has(&database, "sys.triggers", "name type", 1, &["employee_insupd TR"]);
    assert_has(&database, "sys.trigger_events", "type_desc", 2, &["INSERT", "UPDATE"]);
    let columns = "name definition is_system_named";
    let expected = ["DF__authors__phone__00551192 ('UNKNOWN') 1"];
    assert_has(&database, "sys.default_constraints", columns, 9, &expected);
    let columns = "class_desc permission_name grantee_principal_id";
    let expected = ["TYPE REFERENCES 0", "DATABASE CONNECT 5"];
    assert_has(&database, "sys.database_permissions", columns, 5, &expected);
}
