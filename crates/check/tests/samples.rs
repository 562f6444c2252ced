//! Real files: whatever they contain, they are healthy.

mod support;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use extentdb_base::PageId;
use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, IoChoice, Options, Report, Verdict, run};
use extentdb_format::PageBuf;
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::Record;
use extentdb_reader::{Database, OpenOptions, OpenedFiles, PageSource};
use extentdb_report::to_text;
use support::Memory;

/// The folder with the samples; `None`, loudly, when it is not there.
fn samples() -> Option<PathBuf> {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")),
        PathBuf::from,
    );
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: no samples at {}", folder.display());
    None
}

fn healthy_files() -> Vec<PathBuf> {
    let Some(folder) = samples() else { return Vec::new() };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        let is_database = path.extension().is_some_and(|ext| ext == "mdf" || ext == "bak");
        is_database && !path.to_string_lossy().contains("stripe")
    });
    files.sort();
    files
}

fn check(path: &PathBuf, options: &Options) -> Report {
    let opened = OpenedFiles::open(std::slice::from_ref(path), &OpenOptions::default()).unwrap();
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    let mut report = run(opened.source(), options, &Control::new(&clock, &cancel));
    report.elapsed = Duration::ZERO;
    report
}

#[test]
fn healthy_files_have_no_findings_and_are_covered() {
    for path in healthy_files() {
        let report = check(&path, &Options::default());
        assert_eq!(report.findings, [], "{}\n{}", path.display(), to_text(&report));
        assert_eq!(report.verdict, Verdict::Clean, "{}\n{}", path.display(), to_text(&report));
        let coverage = &report.coverage;
        assert!(coverage.pages_planned > 150 && coverage.pages_checked == coverage.pages_planned);
        assert!(coverage.objects > 20, "{}", to_text(&report));
    }
}

#[test]
fn the_report_does_not_depend_on_threads_chunks_or_the_way_of_reading() {
    let mut rng = SplitMix64::new(11);
    for path in healthy_files() {
        let whole = check(&path, &Options::default());
        for jobs in [1, 2, 7] {
            for io in [IoChoice::Buffered, IoChoice::Direct] {
                let jobs = NonZeroUsize::new(jobs);
                let options = Options {
                    jobs,
                    io,
                    chunk_pages: rng.below(200) as u32,
                    ..Options::default()
                };
                let mut report = check(&path, &options);
                // Gaps between chunks are read or not, as chunks are cut.
                report.bytes = whole.bytes;
                assert_eq!(report, whole, "{} {options:?}", path.display());
            }
        }
    }
}

/// A database of SQL Server 2005; `None`, loudly, when it is not there.
fn northwind_of_2005() -> Option<PathBuf> {
    let path = samples()?.with_file_name("more-samples").join("northwind-2005.bak");
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: no {}", path.display());
    None
}

#[test]
fn a_database_of_2005_is_clean_without_the_tables_that_came_later() {
    let Some(path) = northwind_of_2005() else { return };
    let report = check(&path, &Options { data_purity: true, ..Options::default() });
    assert_eq!(report.findings, [], "{}", to_text(&report));
    assert_eq!(report.verdict, Verdict::Clean, "{}", to_text(&report));
}

#[test]
fn columns_of_2005_are_not_null_in_their_rows_where_the_table_says_so() {
    let Some(path) = northwind_of_2005() else { return };
    let database = Database::open(&[path], &OpenOptions::default()).unwrap();
    let catalog = database.catalog();
    let mut compared = 0;
    for table in catalog.user_tables() {
        let layout = &catalog.rowsets_of(table.base().unwrap()).next().unwrap().layout;
        for column in &table.columns {
            let physical = layout.column(column.id).unwrap();
            assert_eq!(physical.is_not_null(), !column.nullable, "{}.{}", table.name, column.name);
            compared += 1;
        }
    }
    assert!(compared > 80, "{compared}");
}

/// All pages that a backup stores, as a file in memory.
fn in_memory(source: &dyn PageSource) -> Memory {
    let file = &source.files()[0];
    let mut bytes = Vec::new();
    for page in 0..file.pages {
        let mut buf = PageBuf::zeroed();
        if source.read(PageId { file: file.id, page }, &mut buf).is_err() {
            buf = PageBuf::zeroed();
        }
        bytes.extend_from_slice(&buf[..]);
    }
    Memory::new(bytes)
}

#[test]
fn null_in_a_not_null_column_of_a_table_of_2005_is_found() {
    let Some(path) = northwind_of_2005() else { return };
    let database = Database::open(&[path], &OpenOptions::default()).unwrap();
    let catalog = database.catalog();
    let table =
        catalog.user_tables().into_iter().find(|table| table.name == "Order Details").unwrap();
    let rowset = catalog.rowsets_of(table.base().unwrap()).next().unwrap();
    let quantity = table.columns.iter().find(|column| column.name == "Quantity").unwrap();
    let null_bit = usize::from(rowset.layout.column(quantity.id).unwrap().leaf.null_bit);
    let unit = rowset.units[0].id;
    let mut memory = in_memory(database.source());
    let is_leaf = |page: &u32| {
        let stored = memory.stored(*page);
        let header = PageHeader::of(&stored);
        header.kind() == PageType::Data && header.belongs_to(unit) && header.page_id().page == *page
    };
    let page = (8..memory.pages()).find(is_leaf).unwrap();
    let purity = Options { data_purity: true, ..Options::default() };
    assert_eq!(memory.check_with(&purity).findings, []);
    memory.edit(page, |bytes| {
        let at = support::offset(bytes, 3);
        let fixed_end =
            Record::parse_data(PageRef::new(bytes).record_bytes(3).unwrap()).fixed_end();
        bytes[at + fixed_end + 2 + (null_bit - 1) / 8] |= 1 << ((null_bit - 1) % 8);
    });
    let report = memory.check_with(&purity);
    let found: Vec<u32> = report.findings.iter().map(|finding| finding.error).collect();
    assert_eq!(found, [8970], "{}", to_text(&report));
    assert_eq!(report.findings[0].location.page, Some(PageId::new(1, page)));
}
