//! Catalog views of schema sys over the tables of a shop.

use crate::support::*;

/// Rows of a view in the shop, those whose line has a word.
fn rows(name: &str, columns: &str, word: &str) -> String {
    let instance = server();
    let database = shop(&instance);
    let all = read(&instance, &database, name, columns);
    all.lines().filter(|line| line.contains(word)).map(|line| format!("{line}\n")).collect()
}

/// Ids as texts, by the names of their objects.
fn id_of(instance: &extentdb_engine::Instance, name: &str) -> String {
    let database = instance.database("shop").unwrap();
    let all = read(instance, &database, "sys.all_objects", "name object_id");
    let found = all.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    found.unwrap_or_else(|| panic!("no object {name}")).to_owned()
}

#[test]
fn objects_have_their_types_schemas_and_parents() {
    let instance = server();
    let database = shop(&instance);
    let columns = "name type type_desc schema_id is_ms_shipped";
    let all = read(&instance, &database, "sys.objects", columns);
    for expected in [
        "customers U USER_TABLE 1 0",
        "orders U USER_TABLE 5 0",
        "PK_customers PK PRIMARY_KEY_CONSTRAINT 1 0",
        "UQ_email UQ UNIQUE_CONSTRAINT 1 0",
        "FK_customer F FOREIGN_KEY_CONSTRAINT 5 0",
        "CK_price C CHECK_CONSTRAINT 5 0",
        "DF_state D DEFAULT_CONSTRAINT 5 0",
        "names V VIEW 1 0",
        "clean P SQL_STORED_PROCEDURE 1 0",
        "sysrowsets S SYSTEM_TABLE 4 1",
    ] {
        assert!(all.lines().any(|line| line == expected), "{expected} in\n{all}");
    }
    assert!(!all.contains("dm_exec_sessions"));
    let parents = read(&instance, &database, "sys.objects", "name parent_object_id");
    let expected = format!("CK_price {}", id_of(&instance, "orders"));
    assert!(parents.lines().any(|line| line == expected));
}

#[test]
fn system_views_are_among_all_objects_and_columns() {
    let instance = server();
    let database = shop(&instance);
    let objects = read(&instance, &database, "sys.all_objects", "name type schema_id");
    assert!(objects.lines().any(|line| line == "dm_exec_sessions V 4"));
    assert!(objects.lines().any(|line| line == "KEY_COLUMN_USAGE V 3"));
    let id = id_of(&instance, "filegroups");
    let columns = "object_id name column_id system_type_id user_type_id max_length";
    let all = read(&instance, &database, "sys.all_columns", columns);
    assert!(all.lines().any(|line| line == format!("{id} name 1 231 256 256")));
    assert!(all.lines().any(|line| line == format!("{id} type 3 175 175 2")));
}

#[test]
fn tables_and_views() {
    let tables =
        rows("sys.tables", "name max_column_id_used lob_data_space_id lock_escalation_desc", "");
    assert_eq!(tables, "customers 3 0 TABLE\norders 5 0 TABLE\n");
    assert_eq!(rows("sys.views", "name type with_check_option", ""), "names V 0\n");
    assert_eq!(rows("sys.procedures", "name type_desc", ""), "clean SQL_STORED_PROCEDURE\n");
    let modules = rows("sys.sql_modules", "uses_ansi_nulls is_schema_bound definition", "");
    assert_eq!(
        modules,
        "1 0 create procedure clean as delete dbo.customers\n\
         1 0 create trigger sales.watch on sales.orders after insert, update as return\n\
         1 1 create view names with schemabinding as select name from dbo.customers\n"
    );
}

#[test]
fn columns_have_the_facets_of_their_types() {
    let instance = server();
    let database = shop(&instance);
    let columns = "object_id name column_id system_type_id user_type_id max_length precision \
                   scale collation_name is_nullable is_ansi_padded is_identity is_computed";
    let all = read(&instance, &database, "sys.columns", &columns.replace("  ", " "));
    let orders = id_of(&instance, "orders");
    let customers = id_of(&instance, "customers");
    let names = id_of(&instance, "names");
    let expected = [
        format!("{customers} id 1 56 56 4 10 0 NULL 0 0 1 0"),
        format!("{customers} name 2 231 231 80 0 0 SQL_Latin1_General_CP1_CI_AS 0 1 0 0"),
        format!("{customers} email 3 231 231 200 0 0 SQL_Latin1_General_CP1_CI_AS 1 1 0 0"),
        format!("{orders} price 3 106 106 5 9 2 NULL 1 0 0 0"),
        format!("{orders} twice 5 106 106 9 12 2 NULL 1 0 0 1"),
        format!("{names} name 1 231 231 80 0 0 SQL_Latin1_General_CP1_CI_AS 0 1 0 0"),
    ];
    for expected in expected {
        assert!(all.lines().any(|line| line == expected), "{expected} in\n{all}");
    }
    assert_eq!(
        rows("sys.computed_columns", "name definition is_persisted", ""),
        "twice ([price]*(2)) 0\n"
    );
    let columns = "name seed_value increment_value last_value";
    let identity = rows("sys.identity_columns", columns, "id 10");
    assert_eq!(identity, "id 10 5 NULL\n");
}

#[test]
fn indexes_and_their_columns() {
    let columns = "name index_id type_desc is_unique is_primary_key is_unique_constraint \
                   has_filter filter_definition allow_row_locks";
    let instance = server();
    let database = shop(&instance);
    let all = read(&instance, &database, "sys.indexes", columns);
    for expected in [
        "PK_customers 1 CLUSTERED 1 1 0 0 NULL 1",
        "UQ_email 2 NONCLUSTERED 1 0 1 0 NULL 1",
        "NULL 0 HEAP 0 0 0 0 NULL 1",
        "PK_orders 2 NONCLUSTERED 1 1 0 0 NULL 1",
        "IX_customer 3 NONCLUSTERED 0 0 0 1 ([customer]>(5)) 1",
    ] {
        assert!(all.lines().any(|line| line == expected), "{expected} in\n{all}");
    }
    let orders = id_of(&instance, "orders");
    let columns = "object_id index_id index_column_id column_id key_ordinal is_included_column";
    let all = read(&instance, &database, "sys.index_columns", columns);
    let own: Vec<&str> = all.lines().filter(|line| line.starts_with(&orders)).collect();
    let expected = [
        format!("{orders} 2 1 1 1 0"),
        format!("{orders} 3 1 2 1 0"),
        format!("{orders} 3 2 3 0 1"),
    ];
    assert_eq!(own, expected);
}

#[test]
fn constraints_have_their_columns_and_expressions() {
    let keys = rows("sys.key_constraints", "name type unique_index_id is_system_named", "");
    assert_eq!(keys, "PK_customers PK 1 0\nPK_orders PK 2 0\nUQ_email UQ 2 0\n");
    let columns = "name key_index_id is_disabled is_not_trusted delete_referential_action_desc \
                   update_referential_action";
    assert_eq!(rows("sys.foreign_keys", columns, ""), "FK_customer 1 0 0 CASCADE 0\n");
    let columns = "constraint_column_id parent_column_id referenced_column_id";
    assert_eq!(rows("sys.foreign_key_columns", columns, ""), "1 2 1\n");
    let columns = "name definition parent_column_id is_disabled";
    assert_eq!(rows("sys.check_constraints", columns, ""), "CK_price ([price]>(0)) 3 0\n");
    let columns = "name definition parent_column_id";
    assert_eq!(rows("sys.default_constraints", columns, ""), "DF_state (N'new') 4\n");
    // What the program keeps of the action of the key is no property of users.
    assert_eq!(rows("sys.extended_properties", "name", ""), "");
}

#[test]
fn types_and_schemas() {
    let columns = "name system_type_id user_type_id max_length precision scale is_nullable";
    let types = rows("sys.types", columns, "");
    for expected in [
        "int 56 56 4 10 0 1",
        "decimal 106 106 17 38 38 1",
        "sysname 231 256 256 0 0 0",
        "geometry 240 129 -1 0 0 1",
        "timestamp 189 189 8 0 0 0",
    ] {
        assert!(types.lines().any(|line| line == expected), "{expected} in\n{types}");
    }
    let schemas = rows("sys.schemas", "name schema_id principal_id", "");
    for expected in ["dbo 1 1", "guest 2 2", "INFORMATION_SCHEMA 3 3", "sys 4 4", "sales 5 1"] {
        assert!(schemas.lines().any(|line| line == expected), "{expected} in\n{schemas}");
    }
}

#[test]
fn partitions_count_the_rows_that_there_are() {
    let instance = server();
    let database = shop(&instance);
    let mut session = instance.session("shop").unwrap();
    let table = session.table("customers").unwrap();
    for id in 0..3 {
        let name = extentdb_types::NText::from_text("x");
        let email = extentdb_types::NText::from_text(&format!("{id}@x"));
        let row = [
            extentdb_types::Datum::Int(id),
            extentdb_types::Datum::NChar(name),
            extentdb_types::Datum::NChar(email),
        ];
        session.insert(&table, &row).unwrap();
    }
    let id = id_of(&instance, "customers");
    let columns = "object_id index_id partition_number rows data_compression_desc";
    let all = read(&instance, &database, "sys.partitions", columns);
    let own: Vec<&str> = all.lines().filter(|line| line.starts_with(&id)).collect();
    assert_eq!(own, [format!("{id} 1 1 3 NONE"), format!("{id} 2 1 3 NONE")]);
    let columns = "object_id index_id in_row_data_page_count row_count";
    let all = read(&instance, &database, "sys.dm_db_partition_stats", columns);
    assert!(all.lines().any(|line| line == format!("{id} 1 1 3")), "{all}");
}

#[test]
fn databases_and_files() {
    let columns = "name database_id state_desc user_access_desc recovery_model_desc \
                   page_verify_option_desc collation_name compatibility_level";
    let all = rows("sys.databases", columns, "");
    let names: Vec<&str> = all.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["master", "model", "msdb", "shop", "tempdb"]);
    let expected = "shop 5 ONLINE MULTI_USER SIMPLE CHECKSUM SQL_Latin1_General_CP1_CI_AS 100";
    assert!(all.lines().any(|line| line == expected), "{all}");
    let columns = "file_id type_desc data_space_id name state_desc size is_percent_growth";
    let files = rows("sys.database_files", columns, "");
    assert!(files.starts_with("1 ROWS 1 shop ONLINE 2048 "), "{files}");
    assert!(files.lines().any(|line| line.starts_with("2 LOG 0 ")), "{files}");
    let all = rows("sys.dm_db_file_space_usage", "file_id total_page_count", "");
    assert_eq!(all, "1 2048\n");
    let all = rows("sys.master_files", "database_id name physical_name", "/data/shop");
    assert_eq!(all.lines().count(), 2, "{all}");
    assert_eq!(
        rows("sys.filegroups", "name data_space_id type is_default", ""),
        "PRIMARY 1 FG 1\n"
    );
}

#[test]
fn principals_and_permissions() {
    let columns = "name principal_id type_desc default_schema_name is_fixed_role \
                   authentication_type_desc";
    let all = rows("sys.database_principals", columns, "");
    for expected in [
        "public 0 DATABASE_ROLE NULL 0 NONE",
        "dbo 1 SQL_USER dbo 0 INSTANCE",
        "guest 2 SQL_USER guest 0 NONE",
        "db_owner 16384 DATABASE_ROLE NULL 1 NONE",
    ] {
        assert!(all.lines().any(|line| line == expected), "{expected} in\n{all}");
    }
    let members = rows("sys.database_role_members", "role_principal_id member_principal_id", "");
    assert_eq!(members, "16384 1\n");
    let columns = "class_desc major_id grantee_principal_id permission_name state_desc";
    let all = rows("sys.database_permissions", columns, "CONNECT");
    assert_eq!(all, "DATABASE 0 1 CONNECT GRANT\n");
    let all = rows("sys.server_principals", "name principal_id type is_fixed_role", "");
    for expected in ["sa 1 S 0", "public 2 R 0", "sysadmin 3 R 1"] {
        assert!(all.lines().any(|line| line == expected), "{expected} in\n{all}");
    }
    assert_eq!(
        rows("sys.server_role_members", "role_principal_id member_principal_id", ""),
        "3 1\n"
    );
}

#[test]
fn triggers_and_their_events() {
    let columns = "name parent_class_desc type is_disabled is_instead_of_trigger";
    assert_eq!(rows("sys.triggers", columns, ""), "watch OBJECT_OR_COLUMN TR 0 0\n");
    assert_eq!(rows("sys.trigger_events", "type type_desc", ""), "1 INSERT\n2 UPDATE\n");
}

#[test]
fn statistics_of_indexes() {
    let stats = rows("sys.stats", "name stats_id auto_created user_created has_filter", "");
    assert!(stats.lines().any(|line| line == "PK_customers 1 0 0 0"), "{stats}");
    assert!(stats.lines().any(|line| line == "IX_customer 3 0 0 1"), "{stats}");
}

#[test]
fn configurations_have_their_defaults() {
    let columns = "configuration_id name value minimum maximum value_in_use is_dynamic";
    let all = rows("sys.configurations", columns, "nested");
    assert_eq!(all, "115 nested triggers 1 0 1 1 1\n");
    let severities = rows("sys.messages", "message_id language_id severity", "8939 ");
    assert_eq!(severities, "8939 1033 16\n");
}
