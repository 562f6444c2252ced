//! The corruption catalog (`docs/faults.md`), groups 1 to 4 and 11, as far as they are physical:
//! one fault each, in a database in memory. The number in a case is the row of the catalog.

mod support;

use std::collections::BTreeSet;

use extentdb_base::PageId;
use extentdb_base::size::PAGE_BYTES;
use extentdb_check::{Options, Verdict};
use extentdb_format::PageBytes;
use extentdb_format::page::{PageHeader, PageMut, PageRef, checksum};
use extentdb_messages::RepairLevel;
use extentdb_report::to_text;
use support::cases::{Cases, flip, numbers, set_bit};
use support::{Demo, Memory, offset};

/// Root, a page between, and a leaf of the clustered index of `sales`.
fn levels_of_sales(demo: &Demo) -> [u32; 3] {
    let tree = demo.path(demo.unit("sales", 1));
    tree.as_slice().try_into().expect("three levels")
}

#[test]
fn rows_1_to_5_bits_that_flip_in_rows_and_indexes() {
    let demo = Demo::new();
    let cases = Cases { demo: &demo };
    let [root, upper, leaf] = levels_of_sales(&demo);
    let index = *demo.path(demo.unit("sales", 2)).last().unwrap();
    let heap = demo.heap_page();

    let report =
        cases.case(1, &[8928, 8939, 8976, 8978], &[], |memory| memory.raw(leaf, flip(200)));
    let io_error = report.findings.iter().find(|it| it.error == 8939).unwrap();
    assert_eq!((io_error.state, io_error.repair), (98, RepairLevel::AllowDataLoss));
    assert!(
        io_error
            .message
            .ends_with("Test (IS_OFF (BUF_IOERR, pBUF->bstat)) failed. Values are 133129 and -4.")
    );
    let derived: Vec<_> =
        report.findings.iter().filter(|it| it.derived_from.is_some()).map(|it| it.error).collect();
    assert_eq!(derived, [8976, 8978], "what follows from the unreadable page is marked");
    assert_eq!(report.repair, RepairLevel::AllowDataLoss);

    cases.case(2, &[8928, 8939], &[], |memory| memory.raw(heap, flip(200)));

    let report =
        cases.case(3, &[8928, 8939, 8976, 8978], &[], |memory| memory.raw(index, flip(200)));
    assert!(report.findings.iter().all(|it| it.location.owner.unwrap().index.0 == 2));
    assert_eq!(report.repair, RepairLevel::Rebuild);

    let report =
        cases.case(4, &[8928, 8939, 8976, 8977, 8978], &[], |memory| memory.raw(upper, flip(200)));
    assert!(
        report.findings.iter().filter(|it| it.error == 8977).all(|it| it.derived_from.is_some())
    );
    cases.case(5, &[8928, 8939, 8977], &[8979], |memory| memory.raw(root, flip(200)));
}

#[test]
fn rows_8_to_14_bits_that_flip_in_maps_and_headers() {
    let demo = Demo::new();
    let cases = Cases { demo: &demo };
    let iam = demo.unit("sales", 1).first_iam.page;
    let report = cases.case(8, &[8946, 7965, 8905], &[8906], |memory| memory.raw(iam, flip(300)));
    assert!(
        report
            .findings
            .iter()
            .any(|it| it.error == 8946 && it.location.page == Some(PageId::new(1, iam)))
    );
    cases.case(9, &[8946, 8998], &[], |memory| memory.raw(1, flip(300)));
    cases.case(10, &[8946, 8998], &[], |memory| memory.raw(2, flip(300)));
    cases.case(11, &[8946, 8998], &[], |memory| memory.raw(3, flip(300)));
    cases.case(12, &[5250], &[], |memory| memory.raw(9, flip(200)));
    cases.case(13, &[5250], &[], |memory| memory.raw(0, flip(200)));
    let first = demo.catalog.boot.first_sys_indexes.page;
    cases.case(14, &[7985], &[], |memory| memory.raw(first, flip(200)));
}

#[test]
fn rows_15_to_18_zeroed_foreign_and_torn_pages() {
    let demo = Demo::new();
    let cases = Cases { demo: &demo };
    let [.., leaf] = levels_of_sales(&demo);
    let heap = demo.heap_page();
    let report = cases
        .case(15, &[8909, 8928, 8976, 8978], &[], |memory| memory.raw(leaf, |page| page.fill(0)));
    let unowned = report.findings.iter().find(|it| it.error == 8909).unwrap();
    assert!(
        unowned.location.owner.is_none() && unowned.message.contains("= (0:0)."),
        "{}",
        unowned.message
    );
    let report = cases.case(15, &[8909, 8928], &[], |memory| memory.raw(heap, |page| page.fill(0)));
    assert_eq!(
        (report.totals.allocation, report.totals.consistency),
        (0, 2),
        "as DBCC counts a zeroed heap page"
    );
    cases.case(17, &[8909, 8928, 8976, 8978], &[], |memory| {
        let other = memory.stored(heap);
        memory.raw(leaf, |page| page.copy_from_slice(&other[..]));
    });
    cases.case(18, &[8928, 8939, 8976, 8978], &[], |memory| {
        let mut old = memory.stored(leaf);
        checksum::seal_torn(&mut old, 1);
        memory.raw(leaf, |page| {
            checksum::seal_torn(page, 2);
            page[PAGE_BYTES - 512..].copy_from_slice(&old[PAGE_BYTES - 512..]);
        });
    });
}

/// What follows from a leaf that cannot be read.
const BAD_LEAF: [u32; 3] = [8928, 8976, 8978];

fn with_bad_leaf(first: u32) -> Vec<u32> {
    [&[first][..], &BAD_LEAF].concat()
}

fn header(change: fn(&mut PageHeader)) -> impl FnOnce(&mut PageBytes) {
    move |page| change(PageHeader::of_mut(page))
}

#[test]
fn rows_21_to_29_type_level_and_owner_of_a_page() {
    let demo = Demo::new();
    let cases = Cases { demo: &demo };
    let [_, upper, leaf] = levels_of_sales(&demo);
    let heap = demo.heap_page();
    let heap_unit = demo.unit("heap", 0).id;
    let tree_unit = demo.unit("sales", 1).id;

    cases.case_at(21, leaf, &with_bad_leaf(8938), header(|h| h.page_type = 2));
    let report = cases.case_at(22, leaf, &with_bad_leaf(8939), header(|h| h.page_type = 0x7f));
    assert_eq!(report.findings.iter().find(|it| it.error == 8939).unwrap().state, 6);
    let report = cases.case_at(23, heap, &[8928, 8939], header(|h| h.header_version = 2));
    assert_eq!(report.findings.iter().find(|it| it.error == 8939).unwrap().state, 5);
    cases.case(24, &[8931, 2531], &[8938], |memory| memory.header(leaf, |h| h.level = 1));
    cases.case(25, &[8931, 2531], &[], |memory| memory.header(upper, |h| h.level = 2));
    cases.case_at(27, leaf, &[2533, 2534, 8976, 8978], |page| {
        let header = PageHeader::of_mut(page);
        header.object_id.set(heap_unit.header_object_id());
        header.index_id.set(heap_unit.header_index_id());
    });
    cases.case_at(28, leaf, &[2533, 8976, 8978], header(|h| h.object_id.set(0x7000)));
    cases.case_at(29, heap, &[2533, 2534], |page| {
        let header = PageHeader::of_mut(page);
        header.object_id.set(tree_unit.header_object_id());
        header.index_id.set(tree_unit.header_index_id());
    });
}

#[test]
fn rows_30_to_35_links_between_pages() {
    let demo = Demo::new();
    let cases = Cases { demo: &demo };
    let [_, upper, leaf] = levels_of_sales(&demo);
    let index = *demo.path(demo.unit("sales", 2)).last().unwrap();
    let far = demo.child(upper, 3);
    assert_ne!(far.page, leaf);
    cases.case_at(30, leaf, &[8936, 8935], |page| PageHeader::of_mut(page).prev_bytes = [0; 6]);
    cases.case_at(31, leaf, &[8935, 8936, 8978], |page| {
        PageHeader::of_mut(page).prev_bytes = far.to_bytes()
    });
    cases.case_at(32, leaf, &[8978], |page| PageHeader::of_mut(page).next_bytes = [0; 6]);
    cases.case_at(33, leaf, &[8936, 8978], |page| {
        PageHeader::of_mut(page).next_bytes = far.to_bytes()
    });
    cases.case_at(34, leaf, &[8982, 8978], |page| {
        PageHeader::of_mut(page).next_bytes = PageId::new(1, index).to_bytes();
    });
    for target in
        [PageId::new(1, demo.memory.pages() - 1), PageId::new(1, u32::MAX), PageId::new(7, 1)]
    {
        cases.case_at(35, leaf, &[8981, 8978], |page| {
            PageHeader::of_mut(page).next_bytes = target.to_bytes()
        });
    }
}

#[test]
fn rows_38_to_48_and_81_counters_of_a_page_header() {
    let demo = Demo::new();
    let cases = Cases { demo: &demo };
    let [.., leaf] = levels_of_sales(&demo);
    let index = *demo.path(demo.unit("sales", 2)).last().unwrap();
    let heap = demo.heap_page();
    cases.case_at(
        38,
        leaf,
        &with_bad_leaf(8939),
        header(|h| h.slot_count.set(h.slot_count.get() - 1)),
    );
    cases.case(39, &BAD_LEAF, &[8939, 8941, 8942, 8944], |memory| {
        memory.header(leaf, |h| h.slot_count.set(h.slot_count.get() + 1));
    });
    cases.case_at(40, heap, &[8939, 8928], header(|h| h.free_bytes.set(h.free_bytes.get() + 2)));
    let report = cases.case_at(41, heap, &[8939, 8928], header(|h| h.free_offset.set(40)));
    assert_eq!(report.findings.iter().find(|it| it.error == 8939).unwrap().state, 7);
    cases.case_at(42, heap, &[8943, 8928], header(|h| h.free_offset.set(h.free_offset.get() - 20)));
    cases.case_at(43, leaf, &[8927], header(|h| h.ghost_count.set(1)));
    cases.case_at(
        44,
        leaf,
        &with_bad_leaf(8939),
        header(|h| h.ghost_count.set(h.slot_count.get() + 1)),
    );
    cases.case_at(
        45,
        heap,
        &[8909, 8928],
        header(|h| {
            let page = h.page_id().page + 1;
            h.page_id_bytes = PageId::new(1, page).to_bytes();
        }),
    );
    cases.case_at(48, heap, &[8944, 8928], header(|h| h.fixed_len.set(h.fixed_len.get() + 4)));
    cases.case_at(48, heap, &[8939, 8928], header(|h| h.fixed_len.set(h.fixed_len.get() - 1)));
    // An empty page above the leaves has no records that its length could be too short for.
    cases.case(81, &[2574], &[2531, 8931, 8935, 8936, 8951, 8976, 8977, 8978, 8979], |memory| {
        memory.header(index, |h| {
            h.level = 1;
            h.slot_count.set(0);
            h.free_bytes.set(8096);
            h.fixed_len.set(5);
        });
    });
}

#[test]
fn rows_49_to_51_slots() {
    let demo = Demo::new();
    let cases = Cases { demo: &demo };
    let heap = demo.heap_page();
    cases.case_at(49, heap, &[8941, 8928], |page| PageMut::new(page).set_slot_offset(1, 0x20));
    cases.case_at(50, heap, &[8942, 8928], |page| {
        let first = offset(page, 0) as u16;
        PageMut::new(page).set_slot_offset(1, first);
    });
    cases.case(51, &[8928], &[8942, 8944], |memory| {
        memory.edit(heap, |page| {
            let middle = offset(page, 1) as u16 + 5;
            PageMut::new(page).set_slot_offset(1, middle);
        });
    });
}

#[test]
fn the_options_leave_out_what_they_say() {
    let demo = Demo::new();
    let leaf = *demo.path(demo.unit("sales", 1)).last().unwrap();
    let index = *demo.path(demo.unit("sales", 2)).last().unwrap();
    let mut memory = demo.memory.clone();
    memory.header(leaf, |header| header.ghost_count.set(1));
    memory.raw(index, flip(200));
    assert_eq!(numbers(&memory.check()), BTreeSet::from([8927, 8928, 8939, 8976, 8978]));
    let physical = Options { physical_only: true, ..Options::default() };
    assert_eq!(numbers(&memory.check_with(&physical)), BTreeSet::from([8928, 8939, 8976, 8978]));
    let no_index = Options { no_index: true, ..Options::default() };
    let report = memory.check_with(&no_index);
    assert_eq!(numbers(&report), BTreeSet::from([8927]));
    assert!(report.coverage.not_checked.iter().any(|it| it.why == "NOINDEX was given"));
    assert!(to_text(&report).contains("Warning: NO_INDEX option of CHECKDB being used."));
}

#[test]
fn rows_55_to_64_records() {
    let demo = Demo::new();
    let cases = Cases { demo: &demo };
    let [.., leaf] = levels_of_sales(&demo);
    let bad_leaf = &[8944, 8928, 8976, 8978];
    // The last row of the page, so that what it claims does not reach into another.
    let row = |change: fn(&mut [u8])| {
        move |page: &mut PageBytes| {
            let at = offset(page, 3);
            change(&mut page[at..]);
        }
    };
    cases.case_at(55, leaf, bad_leaf, row(|row| row[0] = row[0] & !0x0e | 0x04));
    cases.case_at(57, leaf, bad_leaf, row(|row| row[0] |= 0x80));
    cases.case_at(
        58,
        leaf,
        bad_leaf,
        row(|row| row[2..4].copy_from_slice(&0x7fffu16.to_le_bytes())),
    );
    let null_bitmap = |row: &[u8]| usize::from(u16::from_le_bytes([row[2], row[3]]));
    cases.case_at(59, leaf, bad_leaf, |page| {
        let at = offset(page, 3);
        let count = at + null_bitmap(&page[at..]);
        page[count] += 1;
    });
    let variable = |page: &PageBytes| {
        let at = offset(page, 3);
        assert_ne!(page[at] & 0x20, 0, "the row has a variable part");
        let count = at + null_bitmap(&page[at..]);
        let columns = usize::from(u16::from_le_bytes([page[count], page[count + 1]]));
        count + 2 + columns.div_ceil(8)
    };
    // The row stores more columns than it says that it has.
    cases.case(59, &[2537], &[8951, 8952], |memory| {
        memory.edit(leaf, |page| {
            let at = offset(page, 3);
            let count = at + null_bitmap(&page[at..]);
            page[count] -= 1;
        });
    });
    cases.case_at(62, leaf, bad_leaf, |page| {
        let at = variable(page) + 2;
        page[at..at + 2].copy_from_slice(&0x1f00u16.to_le_bytes());
    });
    cases.case_at(63, leaf, bad_leaf, |page| {
        let at = variable(page) + 2;
        page[at..at + 2].copy_from_slice(&1u16.to_le_bytes());
    });
    cases.case_at(64, leaf, bad_leaf, |page| {
        let at = variable(page);
        page[at] += 1;
    });
}

#[test]
fn rows_77_to_81_child_pointers() {
    let demo = Demo::new();
    let cases = Cases { demo: &demo };
    let [root, upper, _] = levels_of_sales(&demo);
    cases.case(77, &[8937, 8977], &[8935], |memory| {
        let next = demo.child(upper, 5);
        set_child(memory, upper, 4, next);
    });
    cases.case(78, &[8977], &[8926, 8976, 8980], |memory| {
        set_child(memory, upper, 4, PageId::new(1, demo.heap_page()));
    });
    cases.case(79, &[8977], &[8976, 8980], |memory| {
        let free = PageId::new(1, memory.pages() - 1);
        set_child(memory, upper, 4, free);
    });
    cases.case(80, &[8935], &[8933, 8934], |memory| {
        let left = demo.child(upper, 4);
        let right = demo.child(upper, 5);
        set_child(memory, upper, 4, right);
        set_child(memory, upper, 5, left);
    });
    cases.case(81, &[2574, 8977], &[], |memory| {
        memory.edit(upper, |page| {
            let header = PageHeader::of_mut(page);
            header.slot_count.set(0);
            header.free_bytes.set(8096);
            header.free_offset.set(96);
        });
    });
    cases.case(24, &[8931], &[2531, 8977, 8979], |memory| {
        memory.header(root, |header| header.level = 9)
    });
}

fn set_child(memory: &mut Memory, page: u32, slot: u16, child: PageId) {
    memory.edit(page, |bytes| {
        let pminlen = usize::from(PageHeader::of(bytes).fixed_len.get());
        let at = offset(bytes, slot) + pminlen - 6;
        bytes[at..at + 6].copy_from_slice(&child.to_bytes());
    });
}

/// Two neighbouring leaves of one parent that point at each other only: a cycle beside the chain.
#[test]
fn row_37_a_symmetric_cycle_apart_from_the_chain_is_found_by_its_parents() {
    let demo = Demo::new();
    let cases = Cases { demo: &demo };
    let upper = demo.path(demo.unit("sales", 1))[1];
    let last = PageRef::new(&demo.memory.stored(upper)).slot_count() - 1;
    let first = demo.child(upper, 0);
    let end = demo.child(upper, last);
    let before = demo.header(first.page).prev();
    let after = demo.header(end.page).next();
    assert!(!before.is_none() && !after.is_none());
    cases.case(37, &[8935], &[8978, 8936], |memory| {
        memory.header(first.page, |header| header.prev_bytes = end.to_bytes());
        memory.header(end.page, |header| header.next_bytes = first.to_bytes());
        memory.header(before.page, |header| header.next_bytes = after.to_bytes());
        memory.header(after.page, |header| header.prev_bytes = before.to_bytes());
    });
}

/// The last rows of the leaf pages of a system table, at most so many: page and slot.
fn system_rows(demo: &Demo, object: u32, count: usize) -> Vec<(u32, u16)> {
    let pages = (8..demo.memory.pages()).filter(|page| {
        let header = demo.header(*page);
        header.object_id.get() == object && header.page_type == 1
    });
    let rows = pages.flat_map(|page| {
        (0..demo.header(page).slot_count.get()).rev().map(move |slot| (page, slot))
    });
    rows.take(count).collect()
}

/// Columns of fixed length are never NULL in real system tables when they must not be; several rows
/// that say otherwise are those of a version that is not known.
#[test]
fn row_60_a_row_of_the_catalog_lacks_a_column() {
    const SYSCOLPARS: u32 = 41;
    /// The null bit of `length`, which no index holds.
    const LENGTH: usize = 7;
    let demo = Demo::small();
    let cases = Cases { demo: &demo };
    let set_null = |memory: &mut Memory, (page, slot): (u32, u16)| {
        memory.edit(page, |bytes| {
            let at = offset(bytes, slot);
            let bitmap = at + usize::from(u16::from_le_bytes([bytes[at + 2], bytes[at + 3]])) + 2;
            bytes[bitmap + (LENGTH - 1) / 8] |= 1 << ((LENGTH - 1) % 8);
        });
    };
    let rows = system_rows(&demo, SYSCOLPARS, 8);
    let report = cases.case(60, &[8970], &[], |memory| set_null(memory, rows[0]));
    assert_eq!(report.findings[0].location.page, Some(PageId::new(1, rows[0].0)));
    assert!(report.findings[0].message.contains("'length'"), "{}", report.findings[0].message);
    cases.case(60, &[], &[], |memory| rows.iter().for_each(|row| set_null(memory, *row)));
}

/// Rows of `sysallocunits`, changed in place.
fn edit_unit_row(demo: &Demo, memory: &mut Memory, id: i64, change: impl Fn(&mut [u8])) {
    let mut page = demo.catalog.boot.first_sys_indexes;
    while !page.is_none() {
        let stored = memory.stored(page.page);
        let view = PageRef::new(&stored);
        let is_row = |bytes: &[u8]| bytes[4..12] == id.to_le_bytes();
        if let Some((slot, _)) = view.records().find(|(_, bytes)| is_row(bytes)) {
            return memory.edit(page.page, |bytes| {
                let at = offset(bytes, slot);
                change(&mut bytes[at..]);
            });
        }
        page = view.header().next();
    }
    panic!("no unit {id}");
}

/// A disabled index has no pages that could be wrong; who reads the report should know that nothing
/// was checked.
#[test]
fn a_disabled_index_is_named_and_is_no_damage() {
    let demo = Demo::small();
    let mut memory = demo.memory.clone();
    let table = demo.catalog.tables.values().find(|table| table.name == "sales").unwrap();
    let key = [table.id.0.to_le_bytes(), 2i32.to_le_bytes()].concat();
    let is_row = |bytes: &[u8]| bytes[4..12] == key[..];
    let place = (0..memory.pages()).find_map(|page| {
        let stored = memory.stored(page);
        let header = PageHeader::of(&stored);
        let is_it = header.object_id.get() == 54 && header.page_type == 1;
        let found = PageRef::new(&stored).records().find(|(_, bytes)| is_it && is_row(bytes))?;
        Some((page, found.0))
    });
    let (page, slot) = place.unwrap();
    memory.edit(page, |bytes| bytes[offset(bytes, slot) + 12] |= 0x80);
    let report = memory.check();
    assert_eq!(report.findings, [], "{}", to_text(&report));
    let notes: Vec<&str> =
        report.notes.iter().filter(|it| it.error == 2546).map(|it| it.message.as_str()).collect();
    let name = table.indexes.iter().find(|index| index.id.0 == 2).unwrap().name.clone().unwrap();
    assert_eq!(
        notes,
        [format!(
            "Index '{name}' on table 'sales' is marked as disabled. Rebuild the index to bring it online."
        )]
    );
}

/// What every new database has, in the order of DBCC's report.
#[test]
fn service_broker_is_counted() {
    let demo = Demo::small();
    let report = demo.memory.check();
    let new = [(9675, 14), (9676, 6), (9667, 3), (9668, 3), (9669, 0), (9674, 0), (9670, 0)];
    assert_eq!(report.broker_counts, new);
    assert!(
        to_text(&report)
            .contains("Service Broker Msg 9675, Level 10, State 1: Message Types analyzed: 14.")
    );
    let physical = demo.memory.check_with(&Options { physical_only: true, ..Options::default() });
    assert_eq!(physical.broker_counts, []);
}

/// The report says that FILESTREAM and conversations were not checked.
#[test]
fn what_lies_outside_the_files_is_listed() {
    let report = Demo::small().memory.check();
    let lists = |what: &str| report.coverage.not_checked.iter().any(|it| it.what.contains(what));
    assert!(
        lists("FILESTREAM") && lists("8997") && lists("5228"),
        "{:?}",
        report.coverage.not_checked
    );
}

#[test]
fn rows_82_83_and_124_the_catalog_points_to_a_wrong_page() {
    let demo = Demo::with_free_space();
    let cases = Cases { demo: &demo };
    let unit = demo.unit("sales", 1);
    let leaf = *demo.path(unit).last().unwrap();
    cases.case(82, &[8979], &[8977, 8931], |memory| {
        edit_unit_row(&demo, memory, unit.id.0, |row| {
            row[33..39].copy_from_slice(&PageId::new(1, leaf).to_bytes())
        });
    });
    cases.case(83, &[2576, 8905], &[2534, 8906, 8980], |memory| {
        edit_unit_row(&demo, memory, unit.id.0, |row| row[39..45].fill(0));
    });
    cases.case(124, &[2508], &[], |memory| {
        edit_unit_row(&demo, memory, unit.id.0, |row| row[45..53].fill(0xff));
    });
    cases.case(120, &[8996], &[8932], |memory| {
        edit_unit_row(&demo, memory, unit.id.0, |row| row[25] = 3);
    });
}

#[test]
fn rows_155_to_158_primitive_checks_of_the_system_tables() {
    let demo = Demo::new();
    let cases = Cases { demo: &demo };
    let first = demo.catalog.boot.first_sys_indexes.page;
    let second = demo.header(first).next();
    assert!(!second.is_none(), "sysallocunits has two leaf pages");
    let second = second.page;
    let only = |number: u32, fault: &dyn Fn(&mut Memory)| {
        let report = cases.case(155, &[number], &[], fault);
        assert!(
            report.coverage.not_checked.iter().any(|it| it.was_asked_for),
            "{}",
            to_text(&report)
        );
        assert_eq!(
            report.coverage.pages_checked, report.coverage.pages_planned,
            "every page is audited all the same"
        );
    };
    only(7984, &|memory| memory.header(first, |header| header.page_type = 2));
    only(7986, &|memory| memory.header(second, |header| header.object_id.set(41)));
    only(7987, &|memory| {
        memory.header(second, |header| header.prev_bytes = PageId::new(1, 9).to_bytes())
    });
    only(7988, &|memory| {
        memory.header(second, |header| header.next_bytes = PageId::new(1, first).to_bytes());
    });
    only(7985, &|memory| memory.raw(second, flip(400)));
}

#[test]
fn row_47_a_changed_page_without_its_diff_bit_is_reported_once() {
    let demo = Demo::with_free_space();
    let leaf = *demo.path(demo.unit("sales", 1)).last().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, fault: &dyn Fn(&mut Memory)| {
        let mut memory = demo.memory.clone();
        // A full backup long ago: every page is newer.
        memory.edit(9, |page| {
            page[96 + 336..96 + 346].copy_from_slice(&[1, 0, 0, 0, 1, 0, 0, 0, 1, 0])
        });
        fault(&mut memory);
        let path = folder.path().join(name);
        let bytes: Vec<u8> =
            (0..memory.pages()).flat_map(|page| memory.stored(page).to_vec()).collect();
        std::fs::write(&path, bytes).unwrap();
        let opened = extentdb_reader::OpenedFiles::open(&[path], &Default::default()).unwrap();
        let clock = extentdb_base::env::SystemClock::new();
        let cancel = extentdb_base::sync::atomic::AtomicBool::new(false);
        let control = extentdb_check::Control::new(&clock, &cancel);
        extentdb_check::run(opened.source(), &Options::default(), &control)
    };
    assert_eq!(numbers(&check("clean.mdf", &|_| {})), BTreeSet::new());
    let report = check("missed.mdf", &|memory| {
        set_bit(memory, 6, leaf / 8, false);
        set_bit(memory, 6, leaf / 8 + 1, false);
    });
    assert_eq!(report.findings.len(), 1, "{}", to_text(&report));
    let found = &report.findings[0];
    assert_eq!((found.error, found.location.page.unwrap().extent().index), (2515, leaf / 8));
}

#[test]
fn group_11_garbage_in_unallocated_pages_is_not_read() {
    let demo = Demo::with_free_space();
    let cases = Cases { demo: &demo };
    let leaf = *demo.path(demo.unit("sales", 1)).last().unwrap();
    let free = demo.memory.pages() - 3;
    let report = cases.case(0, &[], &[], |memory| {
        memory.raw(free, |page| page.fill(0xa7));
        memory.edit(leaf, |page| {
            let view = PageRef::new(page);
            let range = usize::from(view.header().free_offset.get())..view.slot_array_start();
            page[range].fill(0xa7);
        });
    });
    assert_eq!(report.verdict, Verdict::Clean);
}
