//! Every data file of the samples: tables, rows, schema.

mod program;

use std::collections::BTreeMap;
use std::fs;

use program::{DATABASES, on, sample};
use serde_json::Value;
use sha2::{Digest, Sha256};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Rows of a table as JSON, one per line.
fn rows(file: &str, table: &str) -> Option<Vec<String>> {
    let text = on("export", &sample(file)?, &["--table", table]).expect(0);
    Some(text.lines().map(str::to_owned).collect())
}

#[test]
fn the_known_tables_have_their_known_rows() {
    let cases = [
        (
            "northwind-2008.mdf",
            &[
                ("Customers", 91),
                ("Orders", 830),
                ("Order Details", 2155),
                ("Products", 77),
                ("Employees", 9),
            ][..],
        ),
        (
            "northwind-from-2000.mdf",
            &[("Customers", 91), ("Orders", 830), ("Order Details", 2155), ("Products", 77)],
        ),
        ("pubs-2008.mdf", &[("authors", 23), ("titles", 18), ("sales", 21), ("employee", 43)]),
        ("bookshop-2008r2.mdf", &[("Author", 3), ("Book", 6)]),
        ("crud-2012.mdf", &[("Employee", 4), ("tblDept", 8)]),
        ("northwind-2014.bak", &[("Customers", 0), ("Categories", 2), ("sysdiagrams", 1)]),
        (
            "tsql2012-compressed.bak",
            &[("Nums", 100_000), ("EvenOrders", 415), ("Locations", 66), ("T1", 5)],
        ),
        ("pubs-2012.bak", &[("authors", 26), ("titles", 19), ("sales", 23)]),
    ];
    for (file, counts) in cases {
        let Some(path) = sample(file) else { return };
        let tables = json(&on("tables", &path, &["--json"]).expect(0));
        for (name, count) in counts {
            let table =
                tables.as_array().unwrap().iter().find(|table| table["name"] == *name).unwrap();
            assert_eq!(table["rows"], *count, "{file} {name}");
            assert_eq!(table["schema"], "dbo");
            assert_eq!(rows(file, &format!("dbo.{name}")).unwrap().len(), *count, "{file} {name}");
        }
    }
}

#[test]
fn system_tables_are_listed_only_on_demand() {
    let Some(path) = sample("crud-2012.mdf") else { return };
    let names = |options: &[&str]| -> Vec<String> {
        let tables = json(&on("tables", &path, options).expect(0));
        tables
            .as_array()
            .unwrap()
            .iter()
            .map(|t| format!("{}.{}", t["schema"], t["name"]))
            .collect()
    };
    assert_eq!(names(&["--json"]), ["\"dbo\".\"Employee\"", "\"dbo\".\"tblDept\""]);
    assert!(names(&["--json", "--system"]).contains(&"\"sys\".\"sysschobjs\"".to_owned()));
}

#[test]
fn tables_as_json_has_exactly_the_documented_shape() {
    let Some(path) = sample("northwind-2008.mdf") else { return };
    let tables = json(&on("tables", &path, &["--format", "json"]).expect(0));
    let table =
        tables.as_array().unwrap().iter().find(|table| table["name"] == "Order Details").unwrap();
    let expected = json(
        r#"{"schema":"dbo","name":"Order Details","object_id":325576198,"rows":2155,"data_pages":9,"compression":"NONE",
        "columns":[{"name":"OrderID","type":"int","nullable":false,"identity":false,"computed":false,"collation":null},
        {"name":"ProductID","type":"int","nullable":false,"identity":false,"computed":false,"collation":null},
        {"name":"UnitPrice","type":"money","nullable":false,"identity":false,"computed":false,"collation":null},
        {"name":"Quantity","type":"smallint","nullable":false,"identity":false,"computed":false,"collation":null},
        {"name":"Discount","type":"real","nullable":false,"identity":false,"computed":false,"collation":null}],
        "indexes":[{"name":"PK_Order_Details","index_id":1,"type":"CLUSTERED","unique":true,"primary_key":true,
        "columns":["OrderID","ProductID"],"included":[]}]}"#,
    );
    for key in ["schema", "name", "rows", "compression", "columns"] {
        assert_eq!(table[key], expected[key]);
    }
    assert_eq!(table["indexes"][0], expected["indexes"][0]);
    let keys: Vec<&String> = table.as_object().unwrap().keys().collect();
    assert_eq!(keys, expected.as_object().unwrap().keys().collect::<Vec<_>>());
}

#[test]
fn every_table_exports_as_many_rows_as_the_catalog_counts() {
    for file in DATABASES {
        let Some(path) = sample(file) else { return };
        for format in ["jsonl", "csv", "sql"] {
            let folder = tempfile::tempdir().unwrap();
            let out = folder.path().to_str().unwrap();
            on(
                "export",
                &path,
                &["--tables", "*", "--out", out, "--format", format, "--jobs", "2"],
            )
            .expect(0);
            let manifest = json(&fs::read_to_string(folder.path().join("_manifest.json")).unwrap());
            assert_eq!(manifest["complete"], true);
            for table in manifest["tables"].as_array().unwrap() {
                assert_eq!(table["rows"], table["catalog_rows"], "{file} {table}");
                let bytes = fs::read(folder.path().join(table["file"].as_str().unwrap())).unwrap();
                let hash: String =
                    Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(table["sha256"], hash, "{file} {table}");
                assert_eq!(table["bytes"], bytes.len());
                if format == "jsonl" {
                    let text = String::from_utf8(bytes).unwrap();
                    assert_eq!(
                        text.lines().map(json).filter(Value::is_object).count(),
                        table["rows"]
                    );
                }
            }
        }
    }
}

#[test]
fn known_rows_come_back_to_the_letter() {
    let cases = [
        (
            "northwind-2008.mdf",
            "dbo.Orders",
            r#"{"OrderID":10248,"CustomerID":"VINET","EmployeeID":5,"OrderDate":"1996-07-04T00:00:00.000","RequiredDate":"1996-08-01T00:00:00.000","ShippedDate":"1996-07-16T00:00:00.000","ShipVia":3,"Freight":"32.3800","ShipName":"Vins et alcools Chevalier","ShipAddress":"59 rue de l'Abbaye","ShipCity":"Reims","ShipRegion":null,"ShipPostalCode":"51100","ShipCountry":"France"}"#,
        ),
        (
            "northwind-from-2000.mdf",
            "[dbo].[Order Details]",
            r#"{"OrderID":10250,"ProductID":51,"UnitPrice":"42.4000","Quantity":35,"Discount":0.15}"#,
        ),
        (
            "northwind-2008.mdf",
            "customers",
            r#"{"CustomerID":"BLONP","CompanyName":"Blondesddsl père et fils","ContactName":"Frédérique Citeaux","ContactTitle":"Marketing Manager","Address":"24, place Kléber","City":"Strasbourg","Region":null,"PostalCode":"67000","Country":"France","Phone":"88.60.15.31","Fax":"88.60.15.32"}"#,
        ),
        (
            "pubs-2008.mdf",
            "dbo.titles",
            r#"{"title_id":"MC3026","title":"The Psychology of Computer Cooking","type":"UNDECIDED   ","pub_id":"0877","price":null,"advance":null,"royalty":null,"ytd_sales":null,"notes":null,"pubdate":"#,
        ),
        (
            "pubs-2008.mdf",
            "dbo.authors",
            r#"{"au_id":"172-32-1176","au_lname":"White","au_fname":"Johnson","phone":"408 496-7223","address":"10932 Bigge Rd.","city":"Menlo Park","state":"CA","zip":"94025","contract":true}"#,
        ),
        (
            "pubs-2008.mdf",
            "discounts",
            r#"{"discounttype":"Initial Customer","stor_id":null,"lowqty":null,"highqty":null,"discount":"10.50"}"#,
        ),
    ];
    for (file, table, row) in cases {
        let Some(rows) = rows(file, table) else { return };
        assert!(
            rows.iter().any(|found| found.starts_with(row)),
            "{file} {table}: {row}\n{}",
            rows.join("\n")
        );
    }
}

#[test]
fn both_northwinds_hold_the_same_rows() {
    for table in ["Orders", "Order Details", "Products", "Categories", "Employees", "Suppliers"] {
        let Some(new) = rows("northwind-2008.mdf", table) else { return };
        let Some(old) = rows("northwind-from-2000.mdf", table) else { return };
        assert_eq!(new.len(), old.len());
        let same = new.iter().zip(&old).filter(|(a, b)| a == b).count();
        // The files were used by different people: a handful of rows was edited.
        assert!(same * 10 >= new.len() * 9, "{table}: {same} of {} rows are equal", new.len());
    }
}

#[test]
fn long_values_come_back_whole() {
    let Some(rows) = rows("northwind-2008.mdf", "Categories") else { return };
    for row in rows {
        let row = json(&row);
        let picture = row["Picture"].as_str().unwrap();
        // An OLE package of a bitmap: 78 bytes of wrapping, then the bitmap, which states its
        // length.
        assert!(picture.starts_with("0x151C2F00"), "{}", &picture[..40]);
        assert_eq!(picture.len(), 2 + 2 * 10746);
        assert!(row["Description"].as_str().unwrap().len() > 5);
    }
}

#[test]
fn csv_keeps_null_and_quotes_apart() {
    let Some(path) = sample("northwind-2008.mdf") else { return };
    let text = on("export", &path, &["--table", "Suppliers", "--format", "csv"]).expect(0);
    assert!(
        text.starts_with("SupplierID,CompanyName,ContactName,ContactTitle,Address,City,Region,")
    );
    assert!(text.contains("\r\n2,New Orleans Cajun Delights,Shelley Burke,Order Administrator,P.O. Box 78934,New Orleans,LA,70117,USA,"));
    assert!(text.contains("\r\n1,Exotic Liquids,Charlotte Cooper,Purchasing Manager,49 Gilbert St.,London,,EC1 4SD,UK,(171) 555-2222,,\r\n"));
}

#[test]
fn sql_turns_identity_insert_on_and_off() {
    let Some(path) = sample("northwind-2008.mdf") else { return };
    let text = on("export", &path, &["--table", "Shippers", "--format", "sql"]).expect(0);
    let expected = "SET IDENTITY_INSERT [dbo].[Shippers] ON;\nGO\n\
        INSERT INTO [dbo].[Shippers] ([ShipperID], [CompanyName], [Phone]) VALUES (1, N'Speedy Express', N'(503) 555-9831');\n\
        INSERT INTO [dbo].[Shippers] ([ShipperID], [CompanyName], [Phone]) VALUES (2, N'United Package', N'(503) 555-3199');\n\
        INSERT INTO [dbo].[Shippers] ([ShipperID], [CompanyName], [Phone]) VALUES (3, N'Federal Shipping', N'(503) 555-9931');\n\
        GO\nSET IDENTITY_INSERT [dbo].[Shippers] OFF;\nGO\n";
    assert_eq!(text, expected);
}

#[test]
fn schema_says_what_the_scripts_of_the_samples_said() {
    let cases = [
        (
            "pubs-2008.mdf",
            &[
                "CREATE TYPE [dbo].[empid] FROM char(9) NOT NULL;\nGO\n",
                "CREATE TABLE [dbo].[jobs] (\n    [job_id] smallint IDENTITY(1,1) NOT NULL,\n    [job_desc] varchar(50) NOT NULL \
                 CONSTRAINT [DF__jobs__job_desc__1BFD2C07] DEFAULT ('New Position - title not formalized yet'),\n",
                "    CONSTRAINT [PK_emp_id] PRIMARY KEY NONCLUSTERED ([emp_id] ASC)\n);\nGO\n",
                "CREATE CLUSTERED INDEX [employee_ind] ON [dbo].[employee] ([lname] ASC, [fname] ASC, [minit] ASC);\nGO\n",
                "ALTER TABLE [dbo].[jobs] WITH CHECK ADD CONSTRAINT [CK__jobs__min_lvl__1CF15040] CHECK ([min_lvl]>=(10));\nGO\n",
                "CREATE VIEW titleview\n",
                "CREATE TRIGGER employee_insupd\n",
            ][..],
        ),
        (
            "northwind-2008.mdf",
            &[
                "CREATE TABLE [dbo].[Order Details] (\n    [OrderID] int NOT NULL,\n    [ProductID] int NOT NULL,\n    [UnitPrice] money \
                 NOT NULL CONSTRAINT [DF_Order_Details_UnitPrice] DEFAULT ((0)),\n",
                "    CONSTRAINT [PK_Order_Details] PRIMARY KEY CLUSTERED ([OrderID] ASC, [ProductID] ASC)\n);\nGO\n",
                "ALTER TABLE [dbo].[Orders] WITH NOCHECK ADD CONSTRAINT [FK_Orders_Customers] FOREIGN KEY ([CustomerID]) \
                 REFERENCES [dbo].[Customers] ([CustomerID]);\nGO\n",
            ],
        ),
    ];
    for (file, snippets) in cases {
        let Some(path) = sample(file) else { return };
        let text = on("schema", &path, &[]).expect(0).replace("\r\n", "\n");
        for snippet in snippets {
            assert!(text.contains(snippet), "{file}: not in the script: {snippet}");
        }
        assert!(!text.contains("-- not decoded"));
    }
}

#[test]
fn schema_comments_on_what_it_cannot_say_and_counts_it() {
    let Some(path) = sample("tsql2012-compressed.bak") else { return };
    let run = on("schema", &path, &[]);
    assert_eq!((run.code, run.stdout.matches("-- not decoded: ").count()), (0, 4));
    assert!(run.stderr.contains("4 things could not be decoded"), "{}", run.stderr);
    // A system-versioned table: its period columns have bits of their own.
    assert!(run.stdout.contains(
        "-- not decoded: status bits 0x10002000 of column [sysstart]\nCREATE TABLE [dbo].["
    ));
    assert!(
        run.stdout
            .contains("-- not decoded: sequence [SequenceIdInsert].[MasterSequenceId] (type SO)")
    );
    assert!(run.stdout.contains("CREATE SCHEMA [HR];\nGO\n"));
}

#[test]
fn schema_names_things_before_it_uses_them() {
    for file in DATABASES {
        let Some(path) = sample(file) else { return };
        let script = json(&on("schema", &path, &["--json"]).expect(0));
        let kinds: Vec<&str> =
            script.as_array().unwrap().iter().map(|s| s["kind"].as_str().unwrap()).collect();
        let position = |kind: &str| kinds.iter().position(|found| *found == kind);
        let last = |kind: &str| kinds.iter().rposition(|found| *found == kind);
        for (before, after) in
            [("TYPE", "TABLE"), ("TABLE", "FOREIGN KEY"), ("TABLE", "VIEW"), ("TABLE", "PROCEDURE")]
        {
            if let (Some(before), Some(after)) = (last(before), position(after)) {
                assert!(before < after, "{file}: {kinds:?}");
            }
        }
    }
}

#[test]
fn schema_of_one_table_is_only_that_table() {
    let Some(path) = sample("pubs-2008.mdf") else { return };
    let text = on("schema", &path, &["--table", "employee"]).expect(0);
    assert_eq!(text.matches("CREATE TABLE").count(), 1);
    assert_eq!(text.matches("CREATE TRIGGER").count(), 1);
    assert_eq!(text.matches("FOREIGN KEY").count(), 2);
}

#[test]
fn info_names_version_files_and_pages() {
    let expected: BTreeMap<&str, (&str, u64)> = BTreeMap::from([
        ("bookshop-2008r2.mdf", ("SQL Server 2008 R2 (661)", 384)),
        ("crud-2012.mdf", ("SQL Server 2012 (706)", 392)),
        ("northwind-2014.bak", ("SQL Server 2014 (782)", 536)),
        ("pubs-2012.bak", ("SQL Server 2012 (706)", 520)),
        ("tsql2012-compressed.bak", ("SQL Server 2016 (852)", 1032)),
        ("northwind-2008.mdf", ("SQL Server 2008 (655)", 416)),
        ("northwind-from-2000.mdf", ("SQL Server 2008 (655)", 464)),
        ("pubs-2008.mdf", ("SQL Server 2008 (655)", 288)),
    ]);
    for (file, (version, pages)) in expected {
        let Some(path) = sample(file) else { return };
        let info = json(&on("info", &path, &["--json"]).expect(0));
        assert_eq!(info["database"]["version"], version, "{file}");
        assert_eq!(info["pages"]["total"], pages, "{file}");
        assert_eq!(info["page_protection"]["failed"], 0, "{file}");
        assert_eq!(info["files"][0]["id"], 1);
        assert_eq!(info["page_types"]["boot"], 1);
        assert!(on("info", &path, &["--no-pages"]).expect(0).contains(version));
    }
}

#[test]
fn info_of_a_backup_lists_sets_and_files_as_restore_does() {
    let Some(path) = sample("tsql2012-compressed.bak") else { return };
    let info = json(&on("info", &path, &["--json", "--headeronly"]).expect(0));
    let set = &info["backup_sets"][0];
    assert_eq!((&set["DatabaseName"], &set["DatabaseVersion"]), (&"TSQL2012".into(), &852.into()));
    assert_eq!((&set["Compressed"], &set["Position"]), (&true.into(), &1.into()));
    assert_eq!(set["FirstLSN"], "163000000030400037");
    assert!(info.get("database").is_none());
    let info = json(&on("info", &path, &["--json", "--filelistonly"]).expect(0));
    let types: Vec<&str> = info["backup_files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["Type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["D", "L"]);
    let Some(stripe) = sample("northwind-stripe-2-of-2.bak") else { return };
    let run = on("info", &stripe, &["--json"]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("family 1 of media set"), "{}", run.stderr);
    assert_eq!(json(&run.stdout)["backup_media"][0]["missing_families"], serde_json::json!([1]));
}

#[test]
fn info_of_a_log_counts_its_vlfs() {
    let Some(path) = sample("northwind-2008_log.ldf") else { return };
    let info = json(&on("info", &path, &["--json"]).expect(0));
    assert_eq!(info["logs"][0]["vlfs"], 2);
    assert_eq!(info["logs"][0]["newest_sequence"], 50);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_reads_back_with_the_rows_of_the_table() {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Decimal128Type, Int32Type, TimestampMicrosecondType};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    let Some(path) = sample("northwind-2008.mdf") else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    on("export", &path, &["--tables", "dbo.*", "--out", out, "--format", "parquet"]).expect(0);
    let manifest = json(&fs::read_to_string(folder.path().join("_manifest.json")).unwrap());
    for table in manifest["tables"].as_array().unwrap() {
        let file = fs::File::open(folder.path().join(table["file"].as_str().unwrap())).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        let rows: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(table["rows"], rows, "{table}");
    }
    let file = fs::File::open(folder.path().join("dbo.Orders.parquet")).unwrap();
    let batch = ParquetRecordBatchReaderBuilder::try_new(file)
        .unwrap()
        .build()
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let column = |name: &str| batch.column_by_name(name).unwrap();
    assert_eq!(column("OrderID").as_primitive::<Int32Type>().value(0), 10248);
    assert_eq!(column("CustomerID").as_string::<i32>().value(0), "VINET");
    assert_eq!(column("Freight").as_primitive::<Decimal128Type>().value(0), 323_800);
    // 1996-07-04 is day 9681.
    assert_eq!(
        column("OrderDate").as_primitive::<TimestampMicrosecondType>().value(0),
        9681 * 86_400_000_000
    );
    assert!(column("ShipRegion").is_null(0));
}
