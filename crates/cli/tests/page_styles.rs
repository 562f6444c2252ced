//! `page`: every style, every kind of page, damaged ones too.

mod program;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use extentdb_base::PageId;
use extentdb_base::size::PAGE_BYTES;
use extentdb_catalog::model::AllocUnitKind;
use extentdb_reader::{Database, OpenOptions};
use program::{Run, extentdb, on, sample};
use serde_json::Value;

/// A database of our own: it is there when no sample is.
fn shop(folder: &Path) -> PathBuf {
    let path = folder.join("shop.mdf");
    let made = [
        OsStr::new("make"),
        path.as_os_str(),
        "--shape".as_ref(),
        "demo".as_ref(),
        "--rows".as_ref(),
        "2000".as_ref(),
    ];
    extentdb(made).expect(0);
    path
}

fn page(file: &Path, id: PageId, rest: &[&str]) -> Run {
    let id = format!("{}:{}", id.file, id.page);
    let mut arguments = vec![id.as_str()];
    arguments.extend(rest);
    on("page", file, &arguments)
}

fn json(file: &Path, id: PageId, rest: &[&str]) -> Value {
    let mut arguments = vec!["--json"];
    arguments.extend(rest);
    let run = page(file, id, &arguments);
    assert!(matches!(run.code, 0 | 2), "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

/// First page and root of the base of a table, and root of its first nonclustered index.
fn places(path: &Path, table: &str) -> [PageId; 3] {
    let database = Database::open(&[path.to_path_buf()], &OpenOptions::default()).unwrap();
    let catalog = database.catalog();
    let table = catalog.user_tables().into_iter().find(|found| found.name == table).unwrap();
    let unit =
        |index| catalog.rowsets_of(index).next().unwrap().unit(AllocUnitKind::InRow).unwrap();
    let base = unit(table.base().unwrap());
    let other = unit(table.indexes.iter().find(|index| index.id.0 > 1).unwrap());
    [base.first_page, base.root, other.root]
}

/// Changes a page in a copy of a database.
fn changed(path: &Path, id: PageId, change: impl FnOnce(&mut [u8])) -> PathBuf {
    let mut bytes = fs::read(path).unwrap();
    let start = id.page as usize * PAGE_BYTES;
    change(&mut bytes[start..start + PAGE_BYTES]);
    let copy = path.with_file_name("changed.mdf");
    fs::write(&copy, bytes).unwrap();
    copy
}

#[test]
fn the_header_is_printed_as_dbcc_page_prints_it() {
    let Some(path) = sample("northwind-2008.mdf") else { return };
    let text = page(&path, PageId::new(1, 116), &["--style", "0"]).expect(0);
    let expected = [
        "m_pageId = (1:116)                  m_headerVersion = 1                 m_type = 1\n",
        "m_typeFlagBits = 0x4                m_level = 0                         m_flagBits = 0x200\n",
        "m_objId (AllocUnitId.idObj) = 34    m_indexId (AllocUnitId.idInd) = 1   m_prevPage = (0:0)\n",
        "m_nextPage = (1:114)                pminlen = 44                        m_slotCnt = 97\n",
        "m_freeCnt = 60                      m_freeData = 7938                   m_reservedCnt = 0\n",
        "m_lsn = (48:57:12)                  m_xactReserved = 0                  m_xdesId = (0:0)\n",
        "m_ghostRecCnt = 0                   m_tornBits = -1547827443\n",
        "Metadata: ObjectId = 34             Metadata: Type = In-row data        Metadata: Object = sys.sysschobjs\n",
        "GAM (1:2) = ALLOCATED               SGAM (1:3) = NOT ALLOCATED\n",
        "PFS (1:1) = 0x60 MIXED_EXT ALLOCATED   0_PCT_FULL",
        "ML (1:7) = NOT MIN_LOGGED\n",
    ];
    for line in expected {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("Slot 0"));
}

#[test]
fn every_style_shows_what_it_promises() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path());
    let [first, ..] = places(&path, "customers");
    let slots = page(&path, first, &["--style", "1"]).expect(0);
    assert!(slots.contains("Slot 0 Offset 0x60 Length"), "{slots}");
    assert!(slots.contains("0000:   3000"), "{slots}");
    assert!(slots.contains("OFFSET TABLE:") && slots.ends_with("0 (0x0) - 96 (0x60)\n"), "{slots}");
    let hex = page(&path, first, &["--style", "2"]).expect(0);
    assert!(hex.contains("\nDATA:\n\n0000:   01010") && hex.contains("\n1ff0:   "), "{hex}");
    let rows = page(&path, first, &[]).expect(0);
    assert!(rows.contains("\ncustomer_id = 1\n") && rows.contains("nvarchar(60)"), "{rows}");
    let whole = json(&path, first, &["--style", "2"]);
    assert_eq!(whole["hex"].as_str().unwrap().len(), 2 + 2 * PAGE_BYTES);
}

#[test]
fn rows_are_the_rows_that_export_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path());
    let [first, ..] = places(&path, "customers");
    let shown = json(&path, first, &[]);
    let exported = on("export", &path, &["--table", "customers"]).expect(0);
    let records = shown["records"].as_array().unwrap();
    assert!(records.len() > 10);
    for (record, row) in records.iter().zip(exported.lines()) {
        let row: Value = serde_json::from_str(row).unwrap();
        for column in record["columns"].as_array().unwrap() {
            assert_eq!(column["value"], row[column["name"].as_str().unwrap()], "{record}");
        }
    }
}

#[test]
fn index_pages_are_tables_of_keys_and_children() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path());
    let [_, root, index] = places(&path, "sales");
    let text = page(&path, root, &[]).expect(0);
    assert!(
        text.contains("FileId  PageId  Row  Level  ChildFileId  ChildPageId  sale_id (key)"),
        "{text}"
    );
    let root = json(&path, root, &[]);
    let child = root["records"][1]["child"].as_str().unwrap().parse().unwrap();
    let leaf = json(&path, child, &[]);
    assert_eq!(leaf["page_type"], "data");
    assert_eq!(
        leaf["records"][0]["columns"][0]["value"],
        root["records"][1]["columns"][0]["value"]
    );
    let index = page(&path, index, &[]).expect(0);
    assert!(index.contains("customer_id (key)") && index.contains("sale_id (key)"), "{index}");
    let heap = json(&path, places(&path, "heap")[2], &[]);
    let names = heap["records"][0]["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].clone());
    assert!(names.collect::<Vec<_>>().contains(&"id".into()));
}

#[test]
fn maps_boot_page_and_file_header_are_decoded() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path());
    let text = |number| page(&path, PageId::new(1, number), &[]).expect(0);
    assert!(text(0).contains("\nFile Header Data\n") && text(0).contains("\nFileId = 1\n"));
    let pfs = text(1);
    assert!(
        pfs.contains("\nPFS: Page Alloc Status\n\n(1:0) - (1:3) = ALLOCATED 100_PCT_FULL\n"),
        "{pfs}"
    );
    assert!(pfs.contains("ALLOCATED 0_PCT_FULL IAM Page Mixed Ext\n"), "{pfs}");
    let gam = text(2);
    assert!(gam.contains("\nGAM: Extent Alloc Status\n\n(1:0) - (1:"), "{gam}");
    assert!(text(9).contains("\ndbi_version = 661\n") && text(9).contains("\ndbi_dbname = demo\n"));
    let boot = json(&path, PageId::new(1, 9), &[]);
    assert_eq!(boot["fields"]["dbi_version"], 661);
}

#[test]
fn iam_pages_name_their_single_pages_and_extents() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path());
    let database = Database::open(std::slice::from_ref(&path), &OpenOptions::default()).unwrap();
    let iam = database.catalog().units.values().find(|unit| unit.pages_data > 20).unwrap();
    let text = page(&path, iam.first_iam, &[]).expect(0);
    assert!(text.contains("\nIAM: Header\n\nsequenceNumber = 0"), "{text}");
    assert!(text.contains(&format!("AllocUnitId = {}", iam.id)), "{text}");
    assert!(text.contains("IAM: Extent Alloc Status") && text.contains(" = ALLOCATED\n"), "{text}");
}

#[test]
fn text_pages_of_a_real_file_show_parts_and_nodes() {
    let Some(path) = sample("northwind-2008.mdf") else { return };
    let database = Database::open(std::slice::from_ref(&path), &OpenOptions::default()).unwrap();
    let lob = database
        .catalog()
        .units
        .values()
        .find(|unit| unit.kind == AllocUnitKind::Lob && unit.pages_used > 5);
    let first = lob.unwrap().first_page;
    let text = page(&path, first, &[]).expect(0);
    assert!(text.contains("Blob row at: Page "), "{text}");
    let shown = json(&path, first, &[]);
    assert!(
        shown["lob"]
            .as_array()
            .unwrap()
            .iter()
            .all(|record| record["blob_id"].as_u64().unwrap() > 0)
    );
}

#[test]
fn pages_of_real_files_show_no_faults() {
    let Some(path) = sample("northwind-2008.mdf") else { return };
    for number in (0..416).step_by(9) {
        let shown = json(&path, PageId::new(1, number), &[]);
        if shown["is_allocated"] == true {
            assert_eq!(shown["faults"], Value::Array(Vec::new()), "page {number}");
        }
    }
}

#[test]
fn a_page_of_a_backup_is_the_page_of_the_database() {
    let Some(path) = sample("pubs-2012.bak") else { return };
    let boot = json(&path, PageId::BOOT, &[]);
    assert_eq!(boot["fields"]["dbi_version"], 706);
}

#[test]
fn a_damaged_page_is_shown_with_its_faults_and_exits_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path());
    let [first, ..] = places(&path, "customers");
    let copy = changed(&path, first, |page| page[200] ^= 0x10);
    let run = page(&copy, first, &[]);
    assert!(run.stdout.contains("INVALID") && run.stdout.contains("checksum: "), "{}", run.stdout);
    assert!(run.stdout.contains("customer_id = 1\n"), "what can be read is shown");
    run.expect(2);
    let shown = json(&copy, first, &[]);
    assert_eq!(shown["protection"]["is_intact"], false);
    assert_eq!(page(&copy, first, &["--exit-zero"]).code, 0);
}

#[test]
fn no_bytes_on_a_page_make_it_unprintable() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path());
    let [first, root, _] = places(&path, "sales");
    for (id, seed) in [
        (first, 1u32),
        (root, 2),
        (PageId::new(1, 1), 3),
        (PageId::BOOT, 4),
        (PageId::new(1, 2), 5),
    ] {
        for step in [13usize, 57, 301] {
            let copy = changed(&path, id, |page| {
                let mut random = seed;
                page.iter_mut().skip(2).step_by(step).for_each(|byte| {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    *byte = (random >> 24) as u8;
                });
            });
            for style in ["0", "1", "2", "3"] {
                let run = page(&copy, id, &["--style", style]);
                assert_eq!(run.code, 2, "page {id}, style {style}: {}", run.stderr);
                assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
                json(&copy, id, &["--style", style]);
            }
        }
    }
}

#[test]
fn without_a_catalog_names_are_missing_and_bytes_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path());
    let [first, ..] = places(&path, "customers");
    let copy = changed(&path, PageId::BOOT, |page| page.fill(0));
    let run = page(&copy, first, &[]);
    assert!(run.stderr.contains("the catalog cannot be read, names are missing"), "{}", run.stderr);
    assert!(
        run.stdout.contains("Slot 0 Offset 0x60") && run.stdout.contains("0000:   3000"),
        "{}",
        run.stdout
    );
    run.expect(0);
}

#[test]
fn a_page_that_is_not_there_exits_1_and_says_what_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path());
    let cases = [
        ("1:4000000", "is past the end of"),
        ("2:1", "file 2 of the database is not here; given: 1"),
        ("orders", "a page is written as 1:272"),
    ];
    for (id, words) in cases {
        let run = on("page", &path, &[id]);
        assert!(run.stderr.contains(words), "{}", run.stderr);
        assert_eq!((run.stdout.as_str(), run.code), ("", 1));
    }
}
