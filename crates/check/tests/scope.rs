//! Runs over a part of the database: one table, one filegroup. What lies outside is neither read
//! nor reported.

mod support;

use extentdb_base::PageId;
use extentdb_base::env::SystemClock;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, Options, Report, ScopeChoice, Verdict, estimate, run};
use extentdb_format::allocation::bitmap::AllocationBitmapMut;
use extentdb_report::{estimate_to_json, estimate_to_text};
use support::{Demo, Memory};

fn table(name: &str) -> Options {
    let scope = ScopeChoice::Table { schema: None, name: name.to_owned() };
    Options { scope, ..Options::default() }
}

fn filegroup(name: &str) -> Options {
    Options {
        scope: ScopeChoice::Filegroup(name.to_owned()),
        ..Options::default()
    }
}

fn numbers(report: &Report) -> Vec<u32> {
    report.findings.iter().map(|finding| finding.error).collect()
}

/// Changes a byte of the first leaf page of a table's index.
fn spoil(demo: &Demo, memory: &mut Memory, name: &str, index: i32) -> u32 {
    let page = *demo.path(demo.unit(name, index)).last().unwrap();
    memory.raw(page, |bytes| bytes[200] ^= 1);
    page
}

#[test]
fn a_healthy_table_is_clean_and_only_its_pages_are_read() {
    let demo = Demo::with_free_space();
    let all = demo.memory.check();
    let mut pages = 0;
    for name in ["sales", "customers", "heap"] {
        let report = demo.memory.check_with(&table(name));
        assert_eq!((report.verdict, numbers(&report)), (Verdict::Clean, vec![]), "{name}");
        assert_eq!(report.objects.len(), 1);
        let whole = all.objects.iter().find(|object| object.name == name).unwrap();
        assert_eq!(&report.objects[0], whole);
        assert_eq!(report.coverage.pages_checked, report.coverage.pages_planned);
        pages += report.coverage.pages_checked;
    }
    assert!(pages < all.coverage.pages_checked, "{pages}");
}

#[test]
fn damage_elsewhere_does_not_concern_a_table() {
    let demo = Demo::with_free_space();
    let mut memory = demo.memory.clone();
    spoil(&demo, &mut memory, "customers", 1);
    // An extent that nobody owns counts as used.
    let last = memory.pages() / 8 - 1;
    memory.edit(2, |page| AllocationBitmapMut::of(page).set(last, false));
    assert_eq!(memory.check().verdict, Verdict::Damaged);
    let sales = memory.check_with(&table("sales"));
    assert_eq!((sales.verdict, numbers(&sales)), (Verdict::Clean, vec![]));
    let customers = memory.check_with(&table("customers"));
    assert_eq!(customers.verdict, Verdict::Damaged);
    let elsewhere = numbers(&customers).contains(&8905);
    assert!(!elsewhere && numbers(&customers).contains(&8928), "{:?}", numbers(&customers));
}

#[test]
fn allocation_damage_in_the_extents_of_a_table_is_its_own() {
    let demo = Demo::with_free_space();
    let mut memory = demo.memory.clone();
    let leaf = *demo.path(demo.unit("sales", 1)).last().unwrap();
    let extent = PageId::new(1, leaf).extent();
    memory.edit(2, |page| AllocationBitmapMut::of(page).set(extent.index, true));
    let sales = memory.check_with(&table("sales"));
    assert!(
        numbers(&sales).contains(&8904) && numbers(&sales).contains(&8913),
        "{:?}",
        numbers(&sales)
    );
    let customers = memory.check_with(&table("customers"));
    assert!(customers.findings.is_empty(), "{:?}", customers.findings);
}

#[test]
fn the_only_filegroup_is_the_whole_database() {
    let demo = Demo::with_free_space();
    let mut memory = demo.memory.clone();
    spoil(&demo, &mut memory, "sales", 1);
    let last = memory.pages() / 8 - 1;
    memory.edit(2, |page| AllocationBitmapMut::of(page).set(last, false));
    let all = memory.check();
    let primary = memory.check_with(&filegroup("PRIMARY"));
    assert_eq!(primary.coverage.pages_checked, all.coverage.pages_checked);
    assert_eq!(numbers(&primary), numbers(&all));
    assert_eq!((primary.command, primary.target.as_deref()), ("CHECKFILEGROUP", Some("PRIMARY")));
    assert_eq!(memory.check_with(&filegroup("1")).findings, primary.findings);
}

#[test]
fn noindex_and_table_go_together() {
    let demo = Demo::with_free_space();
    let mut memory = demo.memory.clone();
    spoil(&demo, &mut memory, "sales", 2);
    assert_eq!(memory.check_with(&table("sales")).verdict, Verdict::Damaged);
    let without = memory.check_with(&Options { no_index: true, ..table("sales") });
    assert_eq!((without.verdict, numbers(&without)), (Verdict::Clean, vec![]));
    let reasons: Vec<&str> =
        without.coverage.not_checked.iter().map(|it| it.why.as_str()).collect();
    assert!(reasons.contains(&"NOINDEX was given"), "{reasons:?}");
    assert!(reasons.iter().any(|why| why.starts_with("they do not belong to")), "{reasons:?}");
}

#[test]
fn a_table_that_does_not_exist_is_refused_and_nothing_is_read() {
    let demo = Demo::with_free_space();
    let report = demo.memory.check_with(&table("no such table"));
    let refused = report.refused.unwrap();
    assert_eq!((refused.error, report.bytes, report.verdict), (2501, 0, Verdict::Incomplete));
    assert_eq!(
        refused.message,
        "Cannot find a table or object with the name \"no such table\". Check the system catalog."
    );
}

#[test]
fn without_a_catalog_a_table_cannot_be_called_clean() {
    let mut memory = Demo::with_free_space().memory;
    memory.raw(9, |page| page.fill(0));
    let report = memory.check_with(&table("sales"));
    assert_eq!((report.verdict, numbers(&report)), (Verdict::Damaged, vec![5250]));
    assert_eq!(report.coverage.pages_checked, 0);
}

#[test]
fn map_and_timeline_are_collected_on_request() {
    let demo = Demo::with_free_space();
    let mut memory = demo.memory.clone();
    let page = spoil(&demo, &mut memory, "sales", 1);
    let plain = memory.check();
    assert_eq!((&plain.map, plain.timeline.len()), (&None, 0));
    let report = memory.check_with(&Options { map: true, timeline: true, ..Options::default() });
    let map = report.map.as_ref().unwrap();
    assert_eq!((map.extents_per_cell, map.files.len()), (1, 1));
    let file = &map.files[0];
    let mut next = 0;
    for run in &file.runs {
        assert_eq!(run.first, next);
        next += run.count;
    }
    assert_eq!((next, file.extents), (memory.pages() / 8, memory.pages() / 8));
    assert!(
        file.faults.iter().any(|fault| fault.first == page / 8 && fault.root >= 1),
        "{:?}",
        file.faults
    );
    let last = report.timeline.last().unwrap();
    assert_eq!((last.pages, last.bytes), (report.coverage.pages_checked, report.bytes));
    assert_eq!(report.findings, plain.findings);
}

#[test]
fn an_estimate_reads_no_data_and_adds_up() {
    let demo = Demo::with_free_space();
    let mut memory = demo.memory.clone();
    spoil(&demo, &mut memory, "sales", 1);
    let estimate = estimate(&memory, &Options::default());
    assert_eq!(estimate.pages, memory.check().coverage.pages_planned);
    assert!(estimate.memory.iter().all(|(_, bytes)| *bytes > 0), "{:?}", estimate.memory);
    let text = estimate_to_text(&estimate);
    let zero = "Estimated TEMPDB space (in KB) needed for CHECKALLOC on database demo = 0.\n\
                Estimated TEMPDB space (in KB) needed for CHECKTABLES on database demo = 0.\n";
    assert!(text.starts_with(zero), "{text}");
    assert_eq!(estimate_to_json(&estimate)["memory_bytes"], estimate.memory_bytes());
}

#[test]
fn a_limited_report_does_not_depend_on_the_number_of_workers() {
    let demo = Demo::with_free_space();
    let mut memory = demo.memory.clone();
    spoil(&demo, &mut memory, "sales", 1);
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    let findings = |jobs| {
        let options = Options { jobs: std::num::NonZeroUsize::new(jobs), ..table("sales") };
        run(&memory, &options, &Control::new(&clock, &cancel)).findings
    };
    let one = findings(1);
    assert!(!one.is_empty());
    assert_eq!((findings(2), findings(7)), (one.clone(), one));
}
