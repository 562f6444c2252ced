//! What the program does when things are wrong: files, arguments, readers that go away.

mod program;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use extentdb_base::PageId;
use extentdb_base::size::PAGE_BYTES;
use extentdb_catalog::model::AllocUnitKind;
use extentdb_format::page::{PageHeader, PageType};
use extentdb_reader::{Database, OpenOptions};
use program::{command, extentdb, on, sample};

#[test]
fn input_that_is_no_database_is_named_and_exits_1() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let cases = [
        (file("empty.mdf", b""), "the file is empty"),
        (file("notes.txt", b"dear diary, today nothing happened\n"), "it begins as text"),
        (file("zeros.mdf", &[0; 16384]), "it begins with zeros"),
        (file("random.mdf", &[0xa7; 16384]), "its first page is not a file header"),
        (folder.path().join("missing.mdf"), "cannot open"),
        (folder.path().to_path_buf(), "not a file"),
    ];
    for (path, complaint) in cases {
        for verb in ["info", "tables", "schema"] {
            let run = on(verb, &path, &[]);
            assert_eq!(run.stdout, "");
            let said = run.complaint(1);
            assert!(said.starts_with("extentdb: ") && said.lines().count() == 1, "{said}");
            assert!(said.contains(complaint) && said.contains(path.to_str().unwrap()), "{said}");
        }
    }
}

#[test]
fn a_single_stripe_of_two_exits_1() {
    let Some(path) = sample("northwind-stripe-2-of-2.bak") else { return };
    let said = on("tables", &path, &[]).complaint(1);
    assert!(said.starts_with("extentdb: "), "{said}");
}

#[test]
fn a_truncated_file_is_an_answer_not_a_panic() {
    let Some(path) = sample("northwind-2008.mdf") else { return };
    let folder = tempfile::tempdir().unwrap();
    let bytes = fs::read(path).unwrap();
    for pages in [1usize, 2, 9, 10, 40, 150, 300] {
        let cut = folder.path().join("cut.mdf");
        fs::write(&cut, &bytes[..pages * PAGE_BYTES + 100]).unwrap();
        for arguments in [&["info"][..], &["tables"], &["schema"], &["export", "--table", "Orders"]]
        {
            let run = on(arguments[0], &cut, &arguments[1..]);
            assert!((0..=3).contains(&run.code), "{pages} pages: {}", run.stderr);
            assert!(!run.stderr.contains("panicked"), "{pages} pages: {}", run.stderr);
        }
    }
}

/// Flips a byte on one data page of a table, in a copy.
fn damage_a_page(path: &Path, copy: &Path, table: &str) -> PageId {
    let database = Database::open(&[path.to_path_buf()], &OpenOptions::default()).unwrap();
    let catalog = database.catalog();
    let table = catalog.user_tables().into_iter().find(|found| found.name == table).unwrap();
    let rowset = catalog.rowsets_of(table.base().unwrap()).next().unwrap();
    let unit = rowset.unit(AllocUnitKind::InRow).unwrap().id;
    let mut page = extentdb_format::PageBuf::zeroed();
    let pages = database.source().page_count(PageId::BOOT.file);
    let is_of_table = |number: &u32| {
        database.source().read(PageId::new(1, *number), &mut page).unwrap();
        let header = PageHeader::of(&page);
        header.kind() == PageType::Data && header.belongs_to(unit)
    };
    let number = (0..pages).find(is_of_table).unwrap();
    let mut bytes = fs::read(path).unwrap();
    bytes[number as usize * PAGE_BYTES + 300] ^= 1;
    fs::write(copy, bytes).unwrap();
    PageId::new(1, number)
}

#[test]
fn rows_on_a_damaged_page_are_told_counted_and_exit_2() {
    let Some(path) = sample("northwind-2008.mdf") else { return };
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("damaged.mdf");
    let page = damage_a_page(&path, &copy, "Orders");
    let run = on("export", &copy, &["--table", "Orders"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains(&page.to_string()) && run.stderr.contains("checksum"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("the catalog says 830"), "{}", run.stderr);
    let rows = run.stdout.lines().count();
    assert!((700..830).contains(&rows), "{rows}");
    on("export", &copy, &["--table", "Orders", "--exit-zero"]).expect(0);
    on("export", &copy, &["--table", "Customers"]).expect(0);
    let out = folder.path().join("out");
    on("export", &copy, &["--out", out.to_str().unwrap()]).complaint(2);
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("_manifest.json")).unwrap()).unwrap();
    let orders = manifest["tables"]
        .as_array()
        .unwrap()
        .iter()
        .find(|table| table["table"] == "Orders")
        .unwrap();
    assert_eq!(
        (orders["rows"].as_u64(), orders["unreadable"].as_u64()),
        (Some(rows as u64), Some(1))
    );
}

#[test]
fn an_output_file_is_the_same_as_stdout_and_never_an_input() {
    let Some(path) = sample("pubs-2008.mdf") else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("authors.jsonl");
    let written =
        on("export", &path, &["--table", "authors", "-o", out.to_str().unwrap()]).expect(0);
    assert_eq!(written, "");
    assert_eq!(
        fs::read_to_string(&out).unwrap(),
        on("export", &path, &["--table", "authors"]).expect(0)
    );
    let copy = folder.path().join("copy.mdf");
    fs::copy(&path, &copy).unwrap();
    let before = fs::read(&copy).unwrap();
    for verb in [&["tables"][..], &["schema"], &["info"], &["export", "--table", "authors"]] {
        let mut options = verb[1..].to_vec();
        options.extend(["-o", copy.to_str().unwrap()]);
        let said = on(verb[0], &copy, &options).complaint(1);
        assert!(said.contains("is an input file"), "{said}");
    }
    assert_eq!(fs::read(&copy).unwrap(), before);
}

#[test]
fn wrong_arguments_exit_1() {
    for arguments in [
        &["tables"][..],
        &["nonsense"],
        &["--nonsense"],
        &["tables", "x", "--jobs", "0"],
        &["export", "x"],
    ] {
        extentdb(arguments).complaint(1);
    }
    let said = extentdb(["recover", "x.mdf"]).complaint(1);
    assert_eq!(said, "extentdb: not supported: recover is a verb of a later version\n");
    extentdb(["--help"]).expect(0);
    let version = extentdb(["--version"]).expect(0);
    assert!(
        version.contains("SQL Server 2005 (611)") && version.contains(std::env::consts::ARCH),
        "{version}"
    );
}

#[test]
fn a_table_that_is_not_there_exits_1_and_says_so() {
    let Some(path) = sample("pubs-2008.mdf") else { return };
    let said = on("export", &path, &["--table", "dbo.nothing"]).complaint(1);
    assert!(said.contains("has no table dbo.nothing"), "{said}");
    let said = on("export", &path, &["--table", "dbo.title*"]).complaint(1);
    assert!(said.contains("dbo.titleauthor, dbo.titles"), "{said}");
    #[cfg(not(feature = "parquet"))]
    {
        let arguments = ["--table", "authors", "--format", "parquet", "--quiet"];
        let said = on("export", &path, &arguments).complaint(1);
        assert_eq!(said, "extentdb: not supported: built without the feature `parquet`\n");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let Some(path) = sample("northwind-2008.mdf") else { return };
    let path = path.to_str().unwrap();
    let mut child = command(["export", path, "--table", "Employees", "--quiet"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 20];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_even_a_write_that_nobody_reads() {
    let Some(path) = sample("northwind-2008.mdf") else { return };
    use rustix::process::Signal;
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut child = command([
            "export".as_ref(),
            path.as_os_str(),
            "--table".as_ref(),
            "Employees".as_ref(),
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
        // The pipe is full once the first bytes are there; it is kept open and not read.
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 20]).unwrap();
        program::signal::send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
}
