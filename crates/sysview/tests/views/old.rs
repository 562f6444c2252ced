//! Compatibility views over the tables of a shop.

use crate::support::*;

fn rows(name: &str, columns: &str) -> String {
    let instance = server();
    let database = shop(&instance);
    read(&instance, &database, &format!("dbo.{name}"), columns)
}

fn assert_has(all: &str, expected: &[&str]) {
    for expected in expected {
        assert!(all.lines().any(|line| line == *expected), "{expected} in\n{all}");
    }
}

#[test]
fn sysobjects_and_syscolumns() {
    let objects = rows("sysobjects", "name xtype uid type sysstat category");
    let expected = [
        "customers U 1 U 3 0",
        "PK_customers PK 1 K 0 0",
        "names V 1 V 2 0",
        "sysrowsets S 4 S 1 2",
    ];
    assert_has(&objects, &expected);
    assert!(!objects.contains("dm_exec_sessions"));
    let columns = "name xtype xusertype length type usertype prec scale status colstat isnullable";
    let expected = [
        "price 106 106 5 106 24 9 2 8 0 1",
        "email 231 231 200 39 0 100 NULL 8 0 1",
        "customer 56 56 4 38 7 10 0 8 0 1",
        "twice 106 106 9 106 24 12 2 8 4 1",
    ];
    assert_has(&rows("syscolumns", columns), &expected);
}

#[test]
fn sysindexes_and_keys() {
    let indexes = rows("sysindexes", "name indid status keycnt groupid");
    assert_has(
        &indexes,
        &["PK_customers 1 2066 1 1", "UQ_email 2 4098 1 1", "IX_customer 3 0 1 1"],
    );
    assert_has(&rows("sysindexkeys", "indid colid keyno"), &["1 1 1"]);
    assert_eq!(rows("sysforeignkeys", "fkey rkey keyno"), "2 1 1\n");
}

#[test]
fn sysusers_systypes_and_sysdatabases() {
    assert_has(
        &rows("sysusers", "uid name gid hasdbaccess islogin issqlrole"),
        &["1 dbo 0 1 1 0", "0 public 0 0 0 1", "16384 db_owner 16384 0 0 1"],
    );
    assert_has(
        &rows("systypes", "name xtype usertype prec scale allownulls variable"),
        &["int 56 7 10 0 1 0", "sysname 231 18 128 NULL 0 1", "varchar 167 2 8000 NULL 1 1"],
    );
    let columns = "name dbid status cmptlevel version filename";
    assert_has(&rows("sysdatabases", columns), &["shop 5 65544 100 661 /data/shop.mdf"]);
}

#[test]
fn sysreferences_have_a_column_for_each_pair() {
    let columns = "rkeyindid keycnt fkey1 rkey1 fkey2 fkey16";
    assert_eq!(rows("sysreferences", columns), "1 1 2 1 0 0\n");
}

#[test]
fn syscomments_have_the_texts_of_all_that_has_one() {
    assert_has(
        &rows("syscomments", "number colid text"),
        &[
            "1 1 create procedure clean as delete dbo.customers",
            "0 1 ([price]>(0))",
            "0 1 (N'new')",
            "5 1 ([price]*(2))",
        ],
    );
}
