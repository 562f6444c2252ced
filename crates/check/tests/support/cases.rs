//! One fault in a database in memory, and the numbers of the messages that name it.

use std::collections::BTreeSet;

use extentdb_base::PageId;
use extentdb_check::{Report, Verdict};
use extentdb_format::PageBytes;
use extentdb_format::allocation::bitmap::AllocationBitmapMut;
use extentdb_format::allocation::pfs::{PfsByte, PfsMut, PfsView};

use super::{Demo, Memory};

pub fn numbers(report: &Report) -> BTreeSet<u32> {
    report.findings.iter().map(|finding| finding.error).collect()
}

pub struct Cases<'d> {
    pub demo: &'d Demo,
}

impl Cases<'_> {
    /// Makes a fault and compares the numbers: all of `expected`, and besides them only
    /// `permitted`.
    #[track_caller]
    pub fn case(
        &self,
        row: u32,
        expected: &[u32],
        permitted: &[u32],
        fault: impl FnOnce(&mut Memory),
    ) -> Report {
        let mut memory = self.demo.memory.clone();
        fault(&mut memory);
        let report = memory.check();
        let found = numbers(&report);
        let expected: BTreeSet<u32> = expected.iter().copied().collect();
        let allowed: BTreeSet<u32> = expected.iter().chain(permitted).copied().collect();
        let text: Vec<String> = report
            .findings
            .iter()
            .take(12)
            .map(|it| format!("{} {:?} {}", it.error, it.location.page, it.message))
            .collect();
        assert!(
            found.is_superset(&expected),
            "row {row}: {expected:?} not all in {found:?}\n{}",
            text.join("\n")
        );
        assert!(
            found.is_subset(&allowed),
            "row {row}: {found:?} is more than {allowed:?}\n{}",
            text.join("\n")
        );
        if !expected.is_empty() {
            assert_eq!(report.verdict, Verdict::Damaged, "row {row}");
        }
        report
    }

    /// The same, and every finding is about this page or names it.
    #[track_caller]
    pub fn case_at(
        &self,
        row: u32,
        page: u32,
        expected: &[u32],
        fault: impl FnOnce(&mut PageBytes),
    ) -> Report {
        let report = self.case(row, expected, &[], |memory| memory.edit(page, fault));
        let page = PageId::new(1, page);
        for finding in &report.findings {
            let names = finding.location.page == Some(page) || finding.related.contains(&page);
            assert!(names, "row {row}: {finding:?}");
        }
        report
    }
}

pub fn flip(at: usize) -> impl FnOnce(&mut PageBytes) {
    move |page| page[at] ^= 0x10
}

pub fn set_state(memory: &mut Memory, page: u32, change: impl FnOnce(PfsByte) -> PfsByte) {
    let pfs = PageId::new(1, page).pfs_page().page;
    memory.edit(pfs, |bytes| {
        let state = PfsView::new(bytes).entry(page);
        PfsMut::of(bytes).set(page, change(state));
    });
}

pub fn set_bit(memory: &mut Memory, map: u32, extent: u32, value: bool) {
    memory.edit(map, |bytes| AllocationBitmapMut::of(bytes).set(extent, value));
}
