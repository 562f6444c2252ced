//! The corruption catalog (`docs/faults.md`), group 6: allocation maps, PFS and IAM pages, as far as
//! one file in memory has them. The number in a case is the row of the catalog.

mod support;

use std::collections::BTreeSet;

use extentdb_base::PageId;
use extentdb_check::{Options, Verdict};
use extentdb_format::allocation::PageStamp;
use extentdb_format::allocation::bitmap::{MapKind, MapView};
use extentdb_format::allocation::iam::{IamView, write_iam};
use extentdb_format::allocation::pfs::{PfsByte, PfsView};
use extentdb_report::to_text;
use support::cases::{Cases, flip, numbers, set_bit, set_state};
use support::{Demo, Memory};

#[test]
fn rows_103_to_110_extents_in_gam_sgam_and_iam() {
    let demo = Demo::with_free_space();
    let cases = Cases { demo: &demo };
    let leaf = *demo.path(demo.unit("sales", 1)).last().unwrap();
    let heap_iam = demo.unit("heap", 0).first_iam.page;
    let tree_iam = demo.unit("sales", 1).first_iam.page;
    let free = demo.memory.pages() / 8 - 1;
    let gam = extentdb_format::allocation::bitmap::AllocationBitmap::of;
    assert!(gam(&demo.memory.stored(2)).get(free), "the last extent is free");
    let extent = leaf / 8;

    cases.case(103, &[8904, 8913], &[], |memory| set_bit(memory, heap_iam, free, true));
    cases.case(104, &[8905, 8976, 8978], &[8980, 8977, 8979], |memory| {
        set_bit(memory, tree_iam, extent, false)
    });
    let report = cases
        .case(105, &[8904, 8913, 2533], &[2534], |memory| set_bit(memory, heap_iam, extent, true));
    assert_eq!(report.findings.iter().filter(|it| it.error == 8913).count(), 2);
    cases.case(106, &[8904, 8913], &[], |memory| set_bit(memory, 2, extent, true));
    cases.case(107, &[8905], &[], |memory| set_bit(memory, 2, free, false));
    cases.case(108, &[8903], &[], |memory| set_bit(memory, 3, free, true));
    cases.case(109, &[8904, 8913], &[], |memory| set_bit(memory, 3, extent, true));
    let single = IamView::new(&demo.memory.stored(heap_iam)).single_pages().next();
    if let Some(single) = single {
        let report = cases.case(110, &[8906], &[], |memory| {
            memory.edit(heap_iam, |page| page[142..148].fill(0));
        });
        assert_eq!(report.findings[0].location.page, Some(single));
        let other = IamView::new(&demo.memory.stored(tree_iam)).single_pages().next().unwrap();
        cases.case(110, &[8910, 8906], &[], |memory| {
            memory.edit(heap_iam, |page| page[142..148].copy_from_slice(&other.to_bytes()));
        });
    }
}

#[test]
fn rows_91_and_111_to_115_pages_in_pfs() {
    let demo = Demo::with_free_space();
    let cases = Cases { demo: &demo };
    let leaf = *demo.path(demo.unit("sales", 1)).last().unwrap();
    let heap = demo.heap_page();
    let tree_iam = demo.unit("sales", 1).first_iam.page;
    let free = demo.memory.pages() / 8 - 1;
    cases.case(111, &[8976, 8978], &[2533], |memory| {
        set_state(memory, leaf, |state| state.with_allocated(false))
    });
    cases.case(91, &[8914], &[], |memory| set_state(memory, heap, |state| PfsByte(state.0 & !7)));
    cases.case(114, &[8948], &[], |memory| {
        set_state(memory, leaf, |state| state.with_mixed(!state.is_mixed()))
    });
    cases.case(115, &[8948], &[], |memory| {
        set_state(memory, tree_iam, |state| state.with_iam(false))
    });
    cases.case(115, &[8948], &[], |memory| set_state(memory, leaf, |state| state.with_iam(true)));
    cases.case(115, &[8948], &[], |memory| {
        set_state(memory, tree_iam, |state| state.with_allocated(false))
    });
    cases.case(115, &[8948], &[], |memory| set_state(memory, tree_iam, |_| PfsByte(0)));
    cases.case(113, &[8948], &[8909], |memory| {
        set_state(memory, free * 8, |state| state.with_allocated(true))
    });
}

#[test]
fn rows_105_and_116_to_123_iam_pages() {
    let demo = Demo::with_free_space();
    let cases = Cases { demo: &demo };
    let leaf = *demo.path(demo.unit("sales", 1)).last().unwrap();
    let heap_iam = demo.unit("heap", 0).first_iam.page;
    let tree_iam = demo.unit("sales", 1).first_iam.page;
    let free = demo.memory.pages() / 8 - 1;
    // Nobody can own the pages at the beginning of a file.
    let report = cases.case(105, &[2533], &[], |memory| set_bit(memory, tree_iam, 0, true));
    assert_eq!(report.findings.len(), 8);
    cases.case(105, &[2533], &[8906, 8976, 8978, 8980], |memory| {
        memory.edit(tree_iam, |page| page[184..190].copy_from_slice(&PageId::new(1, 2).to_bytes()));
    });
    cases.case(116, &[2575], &[], |memory| {
        memory.header(tree_iam, |header| header.next_bytes = PageId::new(1, free * 8).to_bytes());
    });
    cases.case(121, &[2579], &[], |memory| {
        set_bit(memory, tree_iam, memory.pages() / 8 + 100, true)
    });
    cases.case(122, &[8959, 8969], &[], |memory| {
        memory.header(tree_iam, |header| header.next_bytes = PageId::new(1, heap_iam).to_bytes());
    });
    cases.case(116, &[2575], &[], |memory| {
        memory.header(tree_iam, |header| header.next_bytes = PageId::new(1, leaf).to_bytes());
    });
    cases.case(116, &[8968, 7965], &[], |memory| {
        memory.header(tree_iam, |header| header.next_bytes = PageId::new(9, 1).to_bytes());
    });
    cases.case(117, &[2576], &[], |memory| {
        memory.header(tree_iam, |header| header.prev_bytes = PageId::new(1, heap_iam).to_bytes());
    });
    cases.case(123, &[8946, 7965, 8905], &[8906], |memory| {
        memory.header(tree_iam, |header| header.page_type = 1)
    });
}

#[test]
fn rows_19_and_23_files_that_end_early_or_have_another_header() {
    let demo = Demo::with_free_space();
    let cases = Cases { demo: &demo };
    cases.case(23, &[5250], &[], |memory| memory.header(0, |header| header.header_version = 7));
    let cut = demo.heap_page() / 8 * 8;
    cases.case(
        19,
        &[8928, 8939],
        &[2579, 8968, 8976, 8977, 8978, 8979, 8980, 8981, 8998, 8964, 8994],
        |memory| {
            memory.truncate(cut);
        },
    );
}

/// Whichever unit has an extent, and wherever it lies: SGAM cannot call it mixed.
#[test]
fn row_109_no_dedicated_extent_is_mixed() {
    let demo = Demo::small();
    let mut dedicated = Vec::new();
    for unit in demo.catalog.units.values().filter(|unit| !unit.first_iam.is_none()) {
        let extents =
            IamView::new(&demo.memory.stored(unit.first_iam.page)).extents().collect::<Vec<_>>();
        dedicated.extend(extents.into_iter().map(|extent| extent.index));
    }
    assert!(dedicated.len() > 5, "{dedicated:?}");
    for extent in dedicated {
        let mut memory = demo.memory.clone();
        set_bit(&mut memory, 3, extent, true);
        let report = memory.check_with(&Options { physical_only: true, ..Options::default() });
        assert_eq!(
            numbers(&report),
            BTreeSet::from([8904, 8913]),
            "extent {extent}\n{}",
            to_text(&report)
        );
    }
}

/// Pages that no allocation finds are lost, not damaged: a note names them, and the verdict stays.
#[test]
fn free_pages_of_a_mixed_extent_without_its_sgam_bit_are_noted() {
    let demo = Demo::small();
    let mixed: Vec<u32> = {
        let map = demo.memory.stored(3);
        MapView::new(&map, MapKind::Sgam).bitmap().ones().collect()
    };
    let pfs = demo.memory.stored(1);
    // One without any page in use would be nobody's: 8905.
    let is_used = |extent: &u32| PfsView::new(&pfs).entry(extent * 8).is_allocated();
    let mixed: Vec<u32> = mixed.into_iter().filter(is_used).collect();
    assert!(!mixed.is_empty());
    for extent in mixed {
        let mut memory = demo.memory.clone();
        set_bit(&mut memory, 3, extent, false);
        let report = memory.check_with(&Options::default());
        assert_eq!(
            (report.findings.len(), report.verdict),
            (0, Verdict::Clean),
            "{}",
            to_text(&report)
        );
        let notes: Vec<_> = report.notes.iter().filter(|note| note.error == 59031).collect();
        let [note] = notes[..] else { panic!("extent {extent}: {notes:?}") };
        assert_eq!(note.location.page, Some(PageId::new(1, extent * 8)));
        assert!(note.message.contains(&format!("(1:{})", extent * 8 + 7)), "{}", note.message);
    }
}

/// A second IAM page for a unit, on a page of its own: the chain of two that no small database has.
fn add_iam_page(memory: &mut Memory, first: u32, interval: PageId) -> u32 {
    let extent = memory.pages() / 8 - 1;
    let second = extent * 8;
    set_bit(memory, 2, extent, false);
    set_bit(memory, 3, extent, true);
    set_state(memory, second, |_| PfsByte(0x70));
    memory.header(first, |header| header.next_bytes = PageId::new(1, second).to_bytes());
    let mut head = IamView::new(&memory.stored(first)).head();
    head.id = PageId::new(1, second);
    (head.sequence, head.interval) = (1, interval);
    (head.prev, head.next) = (PageId::new(1, first), PageId::NONE);
    head.single_pages = [PageId::NONE; 8];
    memory.edit(second, |page| {
        write_iam(page, &head, &PageStamp::default());
    });
    second
}

#[test]
fn rows_116_to_123_chains_of_several_iam_pages() {
    let demo = Demo::with_free_space();
    let cases = Cases { demo: &demo };
    let first = demo.unit("sales", 1).first_iam.page;
    let heap_iam = demo.unit("heap", 0).first_iam.page;
    let leaf = *demo.path(demo.unit("sales", 1)).last().unwrap();
    let own = PageId::new(1, 0);
    let next = PageId::new(1, 511_232);
    let bytes = |page: u32| PageId::new(1, page).to_bytes();

    cases.case(0, &[], &[], |memory| {
        add_iam_page(memory, first, next);
    });
    cases.case(116, &[2575, 2576], &[], |memory| {
        add_iam_page(memory, first, next);
        memory.header(first, |header| header.next_bytes = bytes(leaf));
    });
    cases.case(117, &[8969], &[], |memory| {
        let second = add_iam_page(memory, first, next);
        memory.header(second, |header| header.prev_bytes = bytes(heap_iam));
    });
    cases.case(118, &[2577], &[], |memory| {
        let second = add_iam_page(memory, first, next);
        memory.edit(second, |page| page[100] = 7);
    });
    cases.case(118, &[2577], &[], |memory| memory.edit(first, |page| page[100] = 1));
    cases.case(119, &[8947], &[], |memory| {
        add_iam_page(memory, first, own);
    });
    cases.case(121, &[2579], &[], |memory| {
        let second = add_iam_page(memory, first, next);
        set_bit(memory, second, 3, true);
    });
    // The chain leads back to its head.
    cases.case(116, &[8969], &[], |memory| {
        let second = add_iam_page(memory, first, next);
        memory.header(second, |header| header.next_bytes = bytes(first));
    });
    cases.case(123, &[8946, 7965], &[], |memory| {
        let second = add_iam_page(memory, first, next);
        memory.raw(second, flip(300));
    });
}

#[test]
fn iam_pages_of_an_interval_past_the_file_lose_what_they_list() {
    let demo = Demo::with_free_space();
    let cases = Cases { demo: &demo };
    let heap_iam = demo.unit("heap", 0).first_iam.page;
    let next = PageId::new(1, 511_232);
    let at_interval = |memory: &mut Memory, iam: u32, interval: PageId| {
        memory.edit(iam, |page| page[136..142].copy_from_slice(&interval.to_bytes()));
    };
    let small = demo.unit("customers", 1).first_iam.page;
    // What the page listed has no owner any more.
    let lost = [2579, 8905, 8906, 8976, 8977, 8978, 8979, 8980, 8981];
    cases.case(0, &[8968], &lost, |memory| at_interval(memory, small, next));
    cases.case(0, &[8946, 7965], &lost, |memory| at_interval(memory, small, PageId::new(1, 8)));
    let report = cases.case(
        0,
        &[],
        &[&lost[..], &[8993, 8994, 8951, 8952, 8964, 8965, 8929]].concat(),
        |memory| {
            at_interval(memory, small, next);
            at_interval(memory, heap_iam, next);
        },
    );
    assert!(report.findings.iter().all(|it| it.error != 8968), "{}", to_text(&report));
}
