//! System tables against each other: one value changed, and the finding that says so. The rows are
//! changed in place, so the indexes of the system tables may have something to say, too.

mod support;

use extentdb_check::{Report, Verdict};
use extentdb_format::PageBytes;
use extentdb_format::page::{PageHeader, PageMut, PageRef, SlotRule};
use extentdb_report::to_text;
use support::{Demo, Memory, offset};

const SYSRSCOLS: u32 = 3;
const SYSROWSETS: u32 = 5;
const SYSPHFG: u32 = 23;
const SYSPRUFILES: u32 = 24;
const SYSSCHOBJS: u32 = 34;
const SYSCOLPARS: u32 = 41;
const SYSSCALARTYPES: u32 = 50;
const SYSIDXSTATS: u32 = 54;
const SYSISCOLS: u32 = 55;

/// Pages of a system table's clustered index.
fn data_pages(memory: &Memory, table: u32) -> Vec<u32> {
    let is_own = |page: &u32| {
        let stored = memory.stored(*page);
        let header = PageHeader::of(&stored);
        header.object_id.get() == table && header.page_type == 1
    };
    (8..memory.pages()).filter(is_own).collect()
}

/// The first row of a system table that `is_it`, as page and slot.
fn find(memory: &Memory, table: u32, is_it: impl Fn(&[u8]) -> bool) -> (u32, u16) {
    let found = data_pages(memory, table).into_iter().find_map(|page| {
        let stored = memory.stored(page);
        PageRef::new(&stored)
            .records()
            .find(|(_, bytes)| is_it(bytes))
            .map(|(slot, _)| (page, slot))
    });
    found.unwrap_or_else(|| panic!("no such row in table {table}"))
}

struct Case<'d> {
    demo: &'d Demo,
}

impl Case<'_> {
    /// Changes a row; every text is that of a finding.
    #[track_caller]
    fn case(
        &self,
        table: u32,
        is_it: impl Fn(&[u8]) -> bool,
        change: impl FnOnce(&mut [u8]),
        texts: &[&str],
    ) -> Report {
        let mut memory = self.demo.memory.clone();
        let (page, slot) = find(&memory, table, is_it);
        memory.edit(page, |bytes| {
            let at = offset(bytes, slot);
            change(&mut bytes[at..]);
        });
        let report = memory.check();
        for text in texts {
            let says = |message: &str| {
                message.starts_with("Check Catalog Msg 38") && message.contains(text)
            };
            assert!(
                report.findings.iter().any(|it| says(&it.message)),
                "{text}\n{}",
                to_text(&report)
            );
        }
        assert_eq!(report.verdict, Verdict::Damaged);
        report
    }

    fn table(&self, name: &str) -> i32 {
        self.demo.catalog.tables.values().find(|table| table.name == name).unwrap().id.0
    }

    fn rowset(&self, name: &str, index: i32) -> i64 {
        let table = self.demo.catalog.tables.values().find(|table| table.name == name).unwrap();
        table.indexes.iter().find(|it| it.id.0 == index).unwrap().rowsets[0].0
    }
}

fn int(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn long(bytes: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

#[test]
fn an_index_and_its_rowset_name_each_other() {
    let demo = Demo::small();
    let cases = Case { demo: &demo };
    let sales = Case { demo: &demo }.table("sales");
    let is_index = |bytes: &[u8]| int(bytes, 4) == sales && int(bytes, 8) == 2;
    let other = cases.rowset("sales", 2) + (9999 << 16);
    cases.case(
        SYSIDXSTATS,
        is_index,
        |row| row[31..39].copy_from_slice(&other.to_le_bytes()),
        &[&format!(
            "Attribute (partition_id={other}) of row (object_id={sales},index_id=2) in sys.indexes does not have a matching row \
             (partition_id={other}) in sys.partitions."
        )],
    );
    cases.case(
        SYSIDXSTATS,
        is_index,
        |row| row[31..39].fill(0),
        &[&format!(
            "The attribute (rowset) is required but is missing for row (object_id={sales},index_id=2) in sys.indexes."
        )],
    );
    let rowset = cases.rowset("sales", 2);
    let is_rowset = |bytes: &[u8]| long(bytes, 4) == rowset;
    let heap = cases.table("heap");
    cases.case(
        SYSROWSETS,
        is_rowset,
        |row| row[13..17].copy_from_slice(&heap.to_le_bytes()),
        &[&format!(
            "Row (object_id={sales},index_id=2) in sys.indexes does not have a matching row"
        )],
    );
}

#[test]
fn a_missing_rowset_orphans_its_units() {
    let demo = Demo::small();
    let cases = Case { demo: &demo };
    let rowset = cases.rowset("sales", 2);
    let report = cases.case(
        SYSROWSETS,
        |bytes| long(bytes, 4) == rowset,
        // Still in the order of the keys: otherwise the table itself is damaged, and nothing
        // follows from it.
        |row| row[4..12].copy_from_slice(&(rowset + 1).to_le_bytes()),
        &[&format!("Attribute (container_id={rowset})")],
    );
    let is_unread = |what: &str| what.contains("could not be read in full");
    assert!(
        !report.coverage.not_checked.iter().any(|it| is_unread(&it.why)),
        "{}",
        to_text(&report)
    );
}

#[test]
fn partitions_are_numbered_and_rows_have_the_form_that_is_named() {
    let demo = Demo::small();
    let cases = Case { demo: &demo };
    let rowset = cases.rowset("sales", 1);
    let is_rowset = |bytes: &[u8]| long(bytes, 4) == rowset;
    for number in [0u8, 2] {
        let text = format!(
            "The attribute (partition_number={number}) of row (partition_id={rowset}) in sys.partitions"
        );
        cases.case(SYSROWSETS, is_rowset, |row| row[21] = number, &[&text]);
    }
    for (level, name) in [(1u8, "ROW"), (2, "PAGE")] {
        let text =
            format!("The attribute (data_compression_desc={name}) of row (partition_id={rowset})");
        cases.case(SYSROWSETS, is_rowset, |row| row[39] = level, &[&text]);
    }
}

#[test]
fn columns_and_their_positions_refer_to_each_other() {
    let demo = Demo::small();
    let cases = Case { demo: &demo };
    let sales = Case { demo: &demo }.table("sales");
    let base = cases.rowset("sales", 1);
    let index = cases.rowset("sales", 2);
    let place = |rowset: i64, column: i32| {
        move |bytes: &[u8]| long(bytes, 4) == rowset && int(bytes, 12) == column
    };
    cases.case(
        SYSRSCOLS,
        place(base, 1),
        |row| row[12] = 77,
        &[
            &format!("Row (object_id={sales},column_id=1) in sys.columns does not have a matching row"),
            &format!(
                "Row (partition_id={base},partition_column_id=77) in sys.system_internals_partition_columns"
            ),
        ],
    );
    cases.case(
        SYSRSCOLS,
        place(index, 1),
        |row| row[12] = 77,
        &[&format!("Row (object_id={sales},index_id=2,index_column_id=1) in sys.index_columns")],
    );
    let last = demo.catalog.rowsets[&extentdb_base::HobtId(index)].layout.columns.len() as i32;
    cases.case(
        SYSRSCOLS,
        place(index, last),
        |row| row[12] = 77,
        &[
            &format!("matching row (partition_id={index},partition_column_id={last})"),
            &format!("Row (partition_id={index},partition_column_id=77)"),
        ],
    );
    let columns = &demo.catalog.tables[&extentdb_base::ObjectId(sales)].columns;
    let lost = columns.last().unwrap().id;
    cases.case(
        SYSCOLPARS,
        |bytes| int(bytes, 4) == sales && int(bytes, 10) == lost,
        |row| row[10] = 99,
        &[&format!("matching row (object_id={sales},column_id={lost}) in sys.columns")],
    );
}

#[test]
fn types_and_positions_of_columns_are_legal() {
    let demo = Demo::small();
    let cases = Case { demo: &demo };
    let sales = Case { demo: &demo }.table("sales");
    let base = cases.rowset("sales", 1);
    let place = |bytes: &[u8]| long(bytes, 4) == base && int(bytes, 12) == 1;
    let row = format!("of row (partition_id={base},partition_column_id=1)");
    let report = |text: &str, change: &dyn Fn(&mut [u8])| {
        cases.case(SYSRSCOLS, place, change, &[&format!("The attribute ({text}) {row}")]);
    };
    report("system_type_id=36", &|row| row[28] = 36);
    report("leaf_offset=9000", &|row| row[44..46].copy_from_slice(&9000i16.to_le_bytes()));
    report("leaf_offset=-1", &|row| row[44..46].copy_from_slice(&(-1i16).to_le_bytes()));
    report("leaf_offset=2", &|row| row[44..46].copy_from_slice(&2i16.to_le_bytes()));
    // Nobody dropped a column that could have left a gap before the last one of an index.
    let index = cases.rowset("sales", 2);
    let last = |bytes: &[u8]| long(bytes, 4) == index && int(bytes, 12) == 3;
    let text = format!("(leaf_offset=14) of row (partition_id={index},partition_column_id=3)");
    cases.case(SYSRSCOLS, last, |row| row[44..46].copy_from_slice(&14i16.to_le_bytes()), &[&text]);
    let column = |bytes: &[u8]| int(bytes, 4) == sales && int(bytes, 10) == 1;
    let text = format!("(system_type_id=3) of row (object_id={sales},column_id=1) in sys.columns");
    cases.case(SYSCOLPARS, column, |row| row[14] = 3, &[&text]);
    let text = "does not have a matching row (user_type_id=56) in sys.types.";
    cases.case(SYSSCALARTYPES, |bytes| int(bytes, 4) == 56, |row| row[4] = 53, &[text]);
}

#[test]
fn columns_of_system_tables_have_no_gaps_either() {
    /// The rowset of sysobjvalues, whose last variable column is `imageval`.
    const ROWSET: i64 = 1 << 48 | 60 << 16;
    let demo = Demo::small();
    let imageval = |bytes: &[u8]| long(bytes, 4) == ROWSET && int(bytes, 12) == 6;
    let text = format!(
        "The attribute (leaf_offset=-3) of row (partition_id={ROWSET},partition_column_id=6) in sys.system_internals_partition_columns"
    );
    Case { demo: &demo }.case(
        SYSRSCOLS,
        imageval,
        |row| row[44..46].copy_from_slice(&(-3i16).to_le_bytes()),
        &[&text],
    );
}

#[test]
fn an_index_without_a_key_is_none() {
    let demo = Demo::small();
    let cases = Case { demo: &demo };
    let sales = Case { demo: &demo }.table("sales");
    for index in [1, 2] {
        // The row is one of statistics now.
        cases.case(
            SYSISCOLS,
            |bytes| int(bytes, 4) == sales && int(bytes, 8) == index && bytes[24] == 1,
            |row| row[16] = 1,
            &[&format!(
                "matching row (object_id={sales},index_id={index},key_ordinal=1) in sys.index_columns"
            )],
        );
    }
}

#[test]
fn files_and_filegroups_name_each_other() {
    let demo = Demo::small();
    let cases = Case { demo: &demo };
    let text = "Attribute (data_space_id=1) of row (file_id=1) in sys.database_files does not have a matching row";
    let report = cases.case(SYSPHFG, |bytes| int(bytes, 8) == 1, |row| row[8] = 7, &[text]);
    assert!(
        report.findings.iter().all(|it| it.error != 8932),
        "the filegroup is listed: {}",
        to_text(&report)
    );
    let text = "Row (data_space_id=1) in sys.filegroups does not have a matching row (data_space_id=1) in sys.database_files.";
    let report = cases.case(SYSPRUFILES, |bytes| int(bytes, 8) == 1, |row| row[12] = 7, &[text]);
    assert!(report.findings.iter().all(|it| it.error != 8932), "{}", to_text(&report));
}

/// The table of all objects without a row: nothing has a name any more.
#[test]
fn a_catalog_without_objects_is_reported() {
    let demo = Demo::small();
    let mut memory = demo.memory.clone();
    for page in data_pages(&memory, SYSSCHOBJS) {
        memory.edit(page, |bytes: &mut PageBytes| {
            while PageRef::new(bytes).slot_count() > 0 {
                let last = PageRef::new(bytes).slot_count() - 1;
                PageMut::new(bytes).remove_row(last, SlotRule::Dense).unwrap();
            }
        });
    }
    let report = memory.check();
    assert!(report.findings.iter().any(|it| it.error == 8930), "{}", to_text(&report));
}

/// A row whose columns cannot be read: something is found, and what was not compared for it is
/// listed.
#[test]
fn a_system_table_that_cannot_be_read_is_no_sound_one() {
    let demo = Demo::small();
    let cases = Case { demo: &demo };
    let report = cases.case(
        SYSSCALARTYPES,
        |bytes| int(bytes, 4) == 56,
        |row| {
            // The id is NULL, by the bitmap after the fixed part.
            let bitmap = usize::from(u16::from_le_bytes([row[2], row[3]])) + 2;
            row[bitmap] |= 1;
        },
        &[],
    );
    assert!(!report.findings.is_empty());
    let unread = report.coverage.not_checked.iter().find(|it| it.why.contains("sysscalartypes"));
    assert!(unread.is_some_and(|it| it.was_asked_for), "{}", to_text(&report));
}

/// Indexes that are only thought of have no pages and need none; statistics have no rowset.
#[test]
fn a_hypothetical_index_needs_nothing() {
    let demo = Demo::small();
    let cases = Case { demo: &demo };
    let sales = Case { demo: &demo }.table("sales");
    let mut memory = cases.demo.memory.clone();
    let (page, slot) =
        find(&memory, SYSIDXSTATS, |bytes| int(bytes, 4) == sales && int(bytes, 8) == 2);
    memory.edit(page, |bytes| {
        let at = offset(bytes, slot);
        bytes[at + 13] |= 1;
        bytes[at + 31..at + 39].fill(0);
    });
    let report = memory.check();
    assert!(report.findings.iter().all(|it| it.error != 8992), "{}", to_text(&report));
}
