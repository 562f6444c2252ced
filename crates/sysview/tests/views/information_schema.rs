//! INFORMATION_SCHEMA over the tables of a shop.

use crate::support::*;

fn rows(name: &str, columns: &str) -> String {
    let instance = server();
    let database = shop(&instance);
    read(&instance, &database, &format!("INFORMATION_SCHEMA.{name}"), columns)
}

#[test]
fn tables_views_and_schemata() {
    let tables = rows("TABLES", "TABLE_CATALOG TABLE_SCHEMA TABLE_NAME TABLE_TYPE");
    assert_eq!(
        tables,
        "shop dbo customers BASE TABLE\nshop dbo names VIEW\nshop sales orders BASE TABLE\n"
    );
    let views = rows("VIEWS", "TABLE_NAME CHECK_OPTION IS_UPDATABLE VIEW_DEFINITION");
    let text = "create view names with schemabinding as select name from dbo.customers";
    assert_eq!(views, format!("names NONE NO {text}\n"));
    let schemata =
        rows("SCHEMATA", "CATALOG_NAME SCHEMA_NAME SCHEMA_OWNER DEFAULT_CHARACTER_SET_NAME");
    assert!(schemata.lines().any(|line| line == "shop sales dbo iso_1"), "{schemata}");
    assert!(schemata.lines().any(|line| line == "shop sys sys iso_1"), "{schemata}");
}

#[test]
fn columns_describe_their_types() {
    let columns = "TABLE_NAME COLUMN_NAME ORDINAL_POSITION COLUMN_DEFAULT IS_NULLABLE DATA_TYPE \
                   CHARACTER_MAXIMUM_LENGTH CHARACTER_OCTET_LENGTH NUMERIC_PRECISION \
                   NUMERIC_PRECISION_RADIX NUMERIC_SCALE CHARACTER_SET_NAME";
    assert_eq!(
        rows("COLUMNS", columns),
        "customers email 3 NULL YES nvarchar 100 200 NULL NULL NULL UNICODE\n\
         customers id 1 NULL NO int NULL NULL 10 10 0 NULL\n\
         customers name 2 NULL NO nvarchar 40 80 NULL NULL NULL UNICODE\n\
         names name 1 NULL NO nvarchar 40 80 NULL NULL NULL UNICODE\n\
         orders customer 2 NULL YES int NULL NULL 10 10 0 NULL\n\
         orders id 1 NULL NO int NULL NULL 10 10 0 NULL\n\
         orders price 3 NULL YES decimal NULL NULL 9 10 2 NULL\n\
         orders state 4 (N'new') NO nvarchar 10 20 NULL NULL NULL UNICODE\n\
         orders twice 5 NULL YES decimal NULL NULL 12 10 2 NULL\n"
    );
}

#[test]
fn constraints_and_their_columns() {
    let all =
        rows("TABLE_CONSTRAINTS", "CONSTRAINT_SCHEMA CONSTRAINT_NAME TABLE_NAME CONSTRAINT_TYPE");
    assert_eq!(
        all,
        "dbo PK_customers customers PRIMARY KEY\n\
         dbo UQ_email customers UNIQUE\n\
         sales CK_price orders CHECK\n\
         sales FK_customer orders FOREIGN KEY\n\
         sales PK_orders orders PRIMARY KEY\n"
    );
    let keys = rows("KEY_COLUMN_USAGE", "CONSTRAINT_NAME TABLE_NAME COLUMN_NAME ORDINAL_POSITION");
    assert_eq!(
        keys,
        "FK_customer orders customer 1\nPK_customers customers id 1\nPK_orders orders id 1\n\
         UQ_email customers email 1\n"
    );
    let used = rows("CONSTRAINT_COLUMN_USAGE", "CONSTRAINT_NAME TABLE_NAME COLUMN_NAME");
    assert!(used.lines().any(|line| line == "CK_price orders price"), "{used}");
    assert!(used.lines().any(|line| line == "FK_customer orders customer"), "{used}");
    let columns = "CONSTRAINT_NAME UNIQUE_CONSTRAINT_SCHEMA UNIQUE_CONSTRAINT_NAME MATCH_OPTION \
                   UPDATE_RULE DELETE_RULE";
    assert_eq!(
        rows("REFERENTIAL_CONSTRAINTS", columns),
        "FK_customer dbo PK_customers SIMPLE NO ACTION CASCADE\n"
    );
    assert_eq!(
        rows("CHECK_CONSTRAINTS", "CONSTRAINT_NAME CHECK_CLAUSE"),
        "CK_price ([price]>(0))\n"
    );
}

#[test]
fn routines() {
    let columns = "ROUTINE_SCHEMA ROUTINE_NAME ROUTINE_TYPE DATA_TYPE SQL_DATA_ACCESS \
                   MAX_DYNAMIC_RESULT_SETS";
    assert_eq!(rows("ROUTINES", columns), "dbo clean PROCEDURE NULL MODIFIES -1\n");
    assert_eq!(rows("SEQUENCES", "SEQUENCE_NAME"), "");
    assert_eq!(rows("DOMAINS", "DOMAIN_NAME"), "");
}
