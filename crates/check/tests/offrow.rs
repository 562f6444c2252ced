//! Forwarded rows and off-row data: the faults of `docs/faults.md`, groups 1, 4 and 5, in built
//! databases and in copies of real files. Every case is checked with sketches and without, by one
//! thread and by several; the findings must be the same.

mod support;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use extentdb_base::{AllocUnitId, PageId, Rid};
use extentdb_catalog::Catalog;
use extentdb_catalog::model::{AllocUnit, AllocUnitKind};
use extentdb_check::{Finding, Options, Report, Verdict};
use extentdb_format::PageBytes;
use extentdb_format::allocation::pfs::Fullness;
use extentdb_format::page::header::FLAG_TORN_BITS;
use extentdb_format::page::{PageHeader, PageRef, PageType, checksum};
use extentdb_format::record::lob::{LobContent, LobRecord};
use extentdb_format::record::{Record, RecordKind};
use extentdb_reader::CheckedPages;
use extentdb_report::to_text;

use support::{Demo, Memory, offset};

/// A database in memory, healthy.
struct Subject {
    memory: Memory,
    catalog: Catalog,
}

/// A complex column of a row: where its bytes are.
#[derive(Clone, Copy, Debug)]
struct Pointer {
    page: u32,
    slot: u16,
    /// Variable column.
    column: u16,
    /// First byte on the page.
    at: usize,
    len: usize,
}

impl Subject {
    fn demo() -> Subject {
        let Demo { memory, catalog } = Demo::with_free_space();
        Subject { memory, catalog }
    }

    fn sample(name: &str) -> Option<Subject> {
        let folder = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")),
            PathBuf::from,
        );
        let Ok(bytes) = std::fs::read(folder.join(name)) else {
            eprintln!("SKIPPED: no samples at {}", folder.display());
            return None;
        };
        let mut memory = Memory::new(bytes);
        put_torn_bits_back(&mut memory);
        let catalog = Catalog::load(&CheckedPages::new(&memory)).unwrap();
        Some(Subject { memory, catalog })
    }

    fn unit(&self, table: &str, kind: AllocUnitKind) -> &AllocUnit {
        let table = self.catalog.tables.values().find(|it| it.name == table).unwrap();
        self.catalog.rowsets[&table.base().unwrap().rowsets[0]].unit(kind).unwrap()
    }

    /// Pages of a type whose header names a unit.
    fn pages(&self, unit: AllocUnitId, kind: PageType) -> Vec<u32> {
        let own = |page: &u32| {
            let stored = self.memory.stored(*page);
            let header = PageHeader::of(&stored);
            header.kind() == kind
                && header.belongs_to(unit)
                && header.page_id() == PageId::new(1, *page)
        };
        (8..self.memory.pages()).filter(own).collect()
    }

    /// Rows of a kind in a heap.
    fn rows(&self, table: &str, kind: RecordKind) -> Vec<Rid> {
        let mut rows = Vec::new();
        for page in self.pages(self.unit(table, AllocUnitKind::InRow).id, PageType::Data) {
            let stored = self.memory.stored(page);
            let of_kind = PageRef::new(&stored)
                .records()
                .filter(|(_, bytes)| RecordKind::of(bytes[0]) == kind);
            rows.extend(of_kind.map(|(slot, _)| Rid::new(PageId::new(1, page), slot)));
        }
        rows
    }

    /// Complex columns of primary rows.
    fn pointers(&self, table: &str) -> Vec<Pointer> {
        let mut pointers = Vec::new();
        for page in self.pages(self.unit(table, AllocUnitKind::InRow).id, PageType::Data) {
            let stored = self.memory.stored(page);
            for (slot, bytes) in PageRef::new(&stored).records() {
                let record = Record::parse_data(bytes);
                if record.kind() != RecordKind::Primary {
                    continue;
                }
                for column in 0..record.var_count() {
                    let value = record.var(column).unwrap();
                    let at = offset(&stored, slot)
                        + (value.bytes.as_ptr() as usize - bytes.as_ptr() as usize);
                    if value.complex {
                        pointers.push(Pointer { page, slot, column, at, len: value.bytes.len() });
                    }
                }
            }
        }
        assert!(!pointers.is_empty());
        pointers
    }

    /// Nodes of a kind.
    fn nodes(&self, table: &str, kind: u16) -> Vec<Rid> {
        let unit = self.unit(table, AllocUnitKind::Lob).id;
        let mut nodes = Vec::new();
        for page in [PageType::TextMix, PageType::TextTree]
            .into_iter()
            .flat_map(|kind| self.pages(unit, kind))
        {
            let stored = self.memory.stored(page);
            let of_kind = PageRef::new(&stored)
                .records()
                .filter(|(_, bytes)| LobRecord::parse(bytes).kind() == kind);
            nodes.extend(of_kind.map(|(slot, _)| Rid::new(PageId::new(1, page), slot)));
        }
        nodes
    }

    /// Damages a copy and checks it in several ways, which must agree.
    fn case(
        &self,
        row: &str,
        expected: &[u32],
        permitted: &[u32],
        fault: impl FnOnce(&mut Memory),
    ) -> Report {
        let mut memory = self.memory.clone();
        fault(&mut memory);
        let report = memory.check_with(&options(2, false));
        judge(row, &report, expected, permitted);
        for (jobs, force_rescan) in [(1, true), (3, false), (2, true)] {
            let other = memory.check_with(&options(jobs, force_rescan));
            assert_eq!(
                other.findings, report.findings,
                "{row}: {jobs} threads, rescan {force_rescan}"
            );
        }
        let physical = memory.check_with(&Options { physical_only: true, ..Options::default() });
        let logical =
            [8925, 8929, 8960, 8961, 8962, 8963, 8964, 8965, 8971, 8972, 8974, 8993, 8994];
        assert!(
            physical.findings.iter().all(|it| !logical.contains(&it.error)),
            "{row}: {}",
            to_text(&physical)
        );
        report
    }
}

/// Pages with torn-page bits become pages without protection, so that their bytes are what they
/// say.
fn put_torn_bits_back(memory: &mut Memory) {
    for page in 0..memory.pages() {
        let stored = memory.stored(page);
        let header = PageHeader::of(&stored);
        if header.flag_bits.get() & FLAG_TORN_BITS != 0 && header.page_id() == PageId::new(1, page)
        {
            memory.raw(page, |bytes| {
                checksum::restore_torn(bytes);
                let header = PageHeader::of_mut(bytes);
                header.flag_bits.set(header.flag_bits.get() & !FLAG_TORN_BITS);
            });
        }
    }
}

fn options(jobs: usize, force_rescan: bool) -> Options {
    Options {
        jobs: NonZeroUsize::new(jobs),
        force_rescan,
        ..Options::default()
    }
}

fn numbers(report: &Report) -> BTreeSet<u32> {
    report.findings.iter().map(|finding| finding.error).collect()
}

fn judge(row: &str, report: &Report, expected: &[u32], permitted: &[u32]) {
    let found = numbers(report);
    let expected: BTreeSet<u32> = expected.iter().copied().collect();
    let allowed: BTreeSet<u32> = expected.iter().chain(permitted).copied().collect();
    let what = || format!("expected {expected:?}, found {found:?}\n{}", to_text(report));
    assert!(found.is_superset(&expected), "{row}: not all; {}", what());
    assert!(found.is_subset(&allowed), "{row}: more; {}", what());
    let verdict = if expected.is_empty() { Verdict::Clean } else { Verdict::Damaged };
    assert_eq!(report.verdict, verdict, "{row}\n{}", to_text(report));
}

fn of(report: &Report, error: u32) -> Vec<&Finding> {
    report.findings.iter().filter(|finding| finding.error == error).collect()
}

/// Changes the bytes of a record.
fn edit(memory: &mut Memory, rid: Rid, change: impl FnOnce(&mut [u8])) {
    memory.edit(rid.page.page, |page| {
        let at = offset(page, rid.slot.0);
        change(&mut page[at..]);
    });
}

/// Changes the bytes of a complex column.
fn edit_pointer(memory: &mut Memory, pointer: Pointer, change: impl FnOnce(&mut [u8])) {
    memory.edit(pointer.page, |page| change(&mut page[pointer.at..pointer.at + pointer.len]));
}

fn stub_target(memory: &Memory, stub: Rid) -> Rid {
    let page = memory.stored(stub.page.page);
    Record::parse_data(PageRef::new(&page).record_bytes(stub.slot.0).unwrap())
        .stub_target()
        .unwrap()
}

/// The slot pointer of the first link of a root in the row.
const FIRST_LINK: std::ops::Range<usize> = 16..24;

fn first_target(memory: &Memory, pointer: Pointer) -> Rid {
    let page = memory.stored(pointer.page);
    let bytes = &page[pointer.at..][..pointer.len];
    let range = if pointer.len == 16 { 8..16 } else { FIRST_LINK };
    Rid::from_bytes(bytes[range].try_into().unwrap())
}

#[test]
fn group_4_forwarded_rows() {
    let subject = Subject::demo();
    let stubs = subject.rows("heap", RecordKind::ForwardingStub);
    assert!(stubs.len() > 4, "{}", stubs.len());
    let stub = stubs[1];
    let other = stubs[3];
    let target = stub_target(&subject.memory, stub);
    let others = stub_target(&subject.memory, other);

    let report = subject.case("86", &[8993, 8994], &[], |memory| {
        edit(memory, stub, |row| row[7..9].copy_from_slice(&900u16.to_le_bytes()));
    });
    let lost = of(&report, 8993)[0];
    assert_eq!((lost.location.page, lost.location.slot), (Some(stub.page), Some(stub.slot)));
    let id = lost.location.owner.unwrap().object;
    assert_eq!(
        lost.message,
        format!(
            "Object ID {id}, forwarding row page {}, slot {} points to page {}, slot 900. Did not encounter forwarded row. \
             Possible allocation error.",
            stub.page, stub.slot, target.page
        )
    );
    let orphan = of(&report, 8994)[0];
    assert_eq!(
        (orphan.location.page, orphan.location.slot),
        (Some(target.page), Some(target.slot))
    );

    let report = subject.case("87", &[8972, 8994], &[], |memory| {
        edit(memory, stub, |row| row[1..9].copy_from_slice(&others.to_bytes()));
    });
    assert_eq!((of(&report, 8972).len(), of(&report, 8994).len()), (1, 1));
    assert_eq!(of(&report, 8972)[0].location.slot, Some(stub.slot));

    let back = |memory: &mut Memory, to: Rid| {
        memory.edit(target.page.page, |page| {
            let at = offset(page, target.slot.0);
            let len = Record::parse_data(&page[at..]).len();
            page[at + len - 8..at + len].copy_from_slice(&to.to_bytes());
        });
    };
    let report = subject.case("88", &[8971], &[], |memory| back(memory, Rid::new(stub.page, 700)));
    assert_eq!(of(&report, 8971).len(), 1);
    // Both lead to each other's partner.
    subject.case("88", &[8971], &[], |memory| back(memory, other));

    subject.case("89", &[8994], &[8927, 8952], |memory| edit(memory, stub, |row| row[0] = 0x0c));
    subject
        .case("90", &[8993], &[8951, 8952], |memory| edit(memory, target, |row| row[0] &= !0x0e));
    // A forwarded record that is being deleted may lack its stub, or not.
    subject.case("N7", &[], &[], |memory| edit(memory, target, |row| row[1] |= 1));
}

/// The pointers of the heap whose roots lie in the row and have several links.
fn pointers_of_links(subject: &Subject) -> Vec<Pointer> {
    let mut pointers = subject.pointers("heap");
    pointers.retain(|it| it.len >= 36);
    pointers
}

/// One of them, and the first node that it leads to.
fn value_of_links(subject: &Subject) -> (Pointer, Rid) {
    let pointer = pointers_of_links(subject)[1];
    (pointer, first_target(&subject.memory, pointer))
}

#[test]
fn rows_92_to_94_pointers_and_text_ids() {
    let subject = Subject::demo();
    let (pointer, node) = value_of_links(&subject);
    let row = Rid::new(PageId::new(1, pointer.page), pointer.slot);

    let report = subject.case("92", &[8965, 8964, 8929], &[], |memory| {
        edit_pointer(memory, pointer, |bytes| bytes[22..24].copy_from_slice(&900u16.to_le_bytes()));
    });
    assert_eq!(
        (of(&report, 8965).len(), of(&report, 8964).len(), of(&report, 8929).len()),
        (1, 1, 1)
    );
    let owner = of(&report, 8929)[0];
    assert!(
        owner.message.ends_with(&format!("owned by data record identified by RID = {row}")),
        "{}",
        owner.message
    );
    assert_eq!((owner.location.page, owner.location.slot), (Some(row.page), Some(row.slot)));
    assert!(owner.message.contains("(type In-row data)"), "{}", owner.message);
    assert!(of(&report, 8965)[0].message.contains("(type LOB data)"));
    assert_eq!(of(&report, 8964)[0].location.page, Some(node.page));

    let links = (pointer.len - 12) / 12;
    let report = subject.case("93", &[8961, 8929], &[], |memory| {
        edit_pointer(memory, pointer, |bytes| bytes[9] ^= 0x40);
    });
    assert_eq!((of(&report, 8961).len(), of(&report, 8929).len()), (links, 1));
    assert!(of(&report, 8961).iter().all(|finding| finding.state == 1));

    for byte in [4, 6, 8] {
        let report = subject
            .case("94", &[8961, 8929], &[], |memory| edit(memory, node, |bytes| bytes[byte] ^= 1));
        assert_eq!(
            (of(&report, 8961).len(), of(&report, 8961)[0].location.slot),
            (1, Some(node.slot))
        );
    }
}

#[test]
fn row_95_types_of_nodes() {
    let subject = Subject::demo();
    let (_, node) = value_of_links(&subject);
    let report = subject
        .case("95", &[8962, 8929], &[8961], |memory| edit(memory, node, |bytes| bytes[12] = 9));
    assert!(of(&report, 8962)[0].message.ends_with("has incorrect node type 9."));
    // Kinds of roots that are not followed; what a link leads to, which says how large it is, is no
    // root.
    for kind in [1, 6, 7] {
        let report = subject
            .case("95", &[8962, 8929], &[], |memory| edit(memory, node, |bytes| bytes[12] = kind));
        assert!(
            of(&report, 8962)[0].message.ends_with(&format!("has incorrect node type {kind}."))
        );
        assert_eq!(of(&report, 8929).len(), 1);
    }
    // Bytes of a value read as links: their parts do not end back to back.
    subject.case("95", &[8961, 8929], &[8962, 8974], |memory| {
        edit(memory, node, |bytes| {
            bytes[12] = 2;
            bytes[14..60].fill(0x41);
            bytes[16..20].copy_from_slice(&[3, 0, 0, 0]);
            bytes[20..28].copy_from_slice(&900u64.to_le_bytes());
            bytes[36..44].copy_from_slice(&100u64.to_le_bytes());
        });
    });
    subject.case("95", &[8961, 8929], &[8962, 8965, 8964, 8974], |memory| {
        edit(memory, node, |bytes| bytes[12] = 5)
    });
}

#[test]
fn rows_57_65_and_98_sizes_levels_and_tags() {
    let subject = Subject::demo();
    let (pointer, node) = value_of_links(&subject);
    let report = subject.case("98", &[8961, 8929], &[], |memory| {
        edit_pointer(memory, pointer, |bytes| bytes[12] ^= 1)
    });
    assert_eq!(of(&report, 8961)[0].state, 2);
    // Data hangs below level 0 only.
    let report = subject.case("98", &[8961, 8929], &[], |memory| {
        edit_pointer(memory, pointer, |bytes| bytes[1] = 1)
    });
    assert!(of(&report, 8961).iter().all(|finding| finding.state == 4));
    // The value of a short column is one node: there is no root of several links with tag 2.
    subject.case("65", &[8960, 8964], &[], |memory| {
        edit_pointer(memory, pointer, |bytes| bytes[0] = 2)
    });
    let report = subject.case("57", &[8944, 8928, 8965, 8929], &[], |memory| {
        edit(memory, node, |bytes| bytes[0] |= 0x80)
    });
    assert!(of(&report, 8944)[0].message.contains("reserved bits"));
}

#[test]
fn rows_97_and_100_to_102_targets_of_links() {
    let subject = Subject::demo();
    let (pointer, node) = value_of_links(&subject);
    let free = PageId::new(1, subject.memory.pages() - 1);
    let nowhere =
        [free, PageId::new(255, node.page.page), PageId::new(1, u32::MAX), PageId::new(1, 9)];
    for target in nowhere {
        subject.case("100", &[8965, 8929, 8964], &[], |memory| {
            edit_pointer(memory, pointer, |bytes| {
                bytes[16..22].copy_from_slice(&target.to_bytes())
            });
        });
    }
    subject
        .case("101", &[8965, 8929], &[8927], |memory| edit(memory, node, |bytes| bytes[0] = 0x0c));
    subject.case("102", &[], &[], |memory| edit(memory, node, |bytes| bytes[40] ^= 0xff));

    // Two rows lead to one node: both values are named, and the node without a predecessor.
    let second = pointers_of_links(&subject)[3];
    let report = subject.case("97", &[8961, 8964, 8929], &[8974], |memory| {
        edit_pointer(memory, second, |bytes| bytes[FIRST_LINK].copy_from_slice(&node.to_bytes()));
    });
    assert_eq!(of(&report, 8929).len(), 1, "only the second row's text id is wrong there");
}

#[test]
fn row_99_a_value_that_only_its_row_forgot_is_unreferenced() {
    let subject = Subject::demo();
    let pointer = *subject.pointers("heap").iter().find(|it| it.len >= 36).unwrap();
    let links = (pointer.len - 12) / 12;
    let report = subject.case("99", &[8964], &[8914], |memory| {
        memory.edit(pointer.page, |page| remove_value(page, pointer));
    });
    assert_eq!(of(&report, 8964).len(), links);
    // A ghost still holds its value, whether that is cleaned up already or not.
    subject.case("N7", &[8927], &[8952], |memory| {
        edit(memory, Rid::new(PageId::new(1, pointer.page), pointer.slot), |row| row[0] |= 0x0c);
    });
}

/// Takes a variable column out of its row: it is empty from then on, and those after it move.
fn remove_value(page: &mut PageBytes, pointer: Pointer) {
    let start = offset(page, pointer.slot);
    let record = Record::parse_data(&page[start..]);
    let len = record.len();
    let count = record.var_count();
    let bitmap = usize::from(u16::from_le_bytes([page[start + 2], page[start + 3]]));
    let columns = usize::from(u16::from_le_bytes([page[start + bitmap], page[start + bitmap + 1]]));
    let offsets = start + bitmap + 2 + columns.div_ceil(8) + 2;
    for column in pointer.column..count {
        let at = offsets + 2 * usize::from(column);
        let raw = u16::from_le_bytes([page[at], page[at + 1]]);
        let complex = if column == pointer.column { 0 } else { raw & 0x8000 };
        let end = (raw & 0x7fff) - pointer.len as u16;
        page[at..at + 2].copy_from_slice(&(end | complex).to_le_bytes());
    }
    page.copy_within(pointer.at + pointer.len..start + len, pointer.at);
    let header = PageHeader::of_mut(page);
    header.free_bytes.set(header.free_bytes.get() + pointer.len as u16);
}

#[test]
fn row_65_a_complex_bit_on_a_plain_value_is_no_pointer() {
    let subject = Subject::demo();
    let row = subject.rows("heap", RecordKind::Primary)[3];
    let report = subject.case("65", &[8960], &[], |memory| {
        memory.edit(row.page.page, |page| {
            let start = offset(page, row.slot.0);
            let record = Record::parse_data(&page[start..]);
            let full = (0..record.var_count())
                .find(|at| !record.var(*at).unwrap().bytes.is_empty())
                .unwrap();
            let bitmap = usize::from(u16::from_le_bytes([page[start + 2], page[start + 3]]));
            let columns = usize::from(record.column_count());
            let at = start + bitmap + 2 + columns.div_ceil(8) + 2 + 2 * usize::from(full);
            page[at + 1] |= 0x80;
        });
    });
    let found = of(&report, 8960);
    assert_eq!(
        (found.len(), found[0].location.page, found[0].location.slot),
        (1, Some(row.page), Some(row.slot))
    );
}

#[test]
fn group_1_lost_text_pages_and_lost_rows() {
    let subject = Subject::demo();
    let pointer = *subject.pointers("heap").iter().find(|it| it.len >= 36).unwrap();
    let node = first_target(&subject.memory, pointer);
    let text_page = node.page.page;
    let on_page = PageRef::new(&subject.memory.stored(text_page)).records().count();
    let report = subject.case("7", &[8928, 8939, 8965, 8929], &[], |memory| {
        memory.raw(text_page, |page| page[700] ^= 4)
    });
    assert_eq!(of(&report, 8965).len(), on_page);
    assert!(of(&report, 8965).iter().chain(&of(&report, 8929)).all(|finding| {
        finding.derived_from.is_some_and(|cause| (cause.page, cause.error) == (node.page, 8939))
    }));
    subject.case("16", &[8909, 8928, 8965, 8929], &[], |memory| {
        memory.raw(text_page, |page| page.fill(0))
    });

    let report = subject.case("2", &[8928, 8939, 8964], &[8993, 8994], |memory| {
        memory.raw(pointer.page, |page| page[700] ^= 4);
    });
    let cause = PageId::new(1, pointer.page);
    assert!(of(&report, 8964).iter().all(|it| it.derived_from.is_some_and(|it| it.page == cause)));

    let stub = subject.rows("heap", RecordKind::ForwardingStub)[1];
    let target = stub_target(&subject.memory, stub);
    for (page, error) in [(stub.page, 8994), (target.page, 8993)] {
        let report = subject.case("2", &[8928, 8939, error], &[8964, 8993, 8994], |memory| {
            memory.raw(page.page, |page| page[700] ^= 4);
        });
        assert!(
            of(&report, error).iter().all(|it| it.derived_from.is_some_and(|it| it.page == page))
        );
    }
}

#[test]
fn trees_of_text_nodes_in_a_copy_of_a_real_file() {
    let Some(subject) = Subject::sample("pubs-2008.mdf") else { return };
    let inner = subject.nodes("pub_info", 2)[0];
    let stored = subject.memory.stored(inner.page.page);
    let record = LobRecord::parse(PageRef::new(&stored).record_bytes(inner.slot.0).unwrap());
    let LobContent::Links(links) = record.content() else { panic!("an inner node") };
    let children = links.links().collect::<Vec<_>>();
    let id = record.blob_id();
    let root_page = subject.nodes("pub_info", 5)[0].page.page;

    let report = subject.case("6", &[8928, 8939, 8965, 8929], &[], |memory| {
        memory.raw(inner.page.page, |page| page[120] ^= 1);
    });
    assert_eq!((of(&report, 8965).len(), of(&report, 8929).len()), (1, 1), "{}", to_text(&report));
    assert!(
        of(&report, 8929)[0]
            .message
            .contains(&format!("off-row data with ID {id} owned by data record"))
    );
    subject.case("7", &[8928, 8939, 8965, 8929], &[], |memory| {
        memory.raw(root_page, |page| page[8000] ^= 1)
    });

    let report = subject.case("96", &[8963, 8929], &[8938], |memory| {
        memory.header(inner.page.page, |header| header.page_type = 3);
    });
    assert!(
        of(&report, 8963)[0]
            .message
            .ends_with("has type 2. It cannot be placed on a page of type 3.")
    );
    let shared = subject.nodes("pub_info", 3).into_iter().map(|node| node.page.page).find(|page| {
        let stored = subject.memory.stored(*page);
        PageRef::new(&stored).records().count() > 1
    });
    if let Some(shared) = shared {
        subject.case("96", &[8963, 8929], &[8938], |memory| {
            memory.header(shared, |header| header.page_type = 4)
        });
    }

    let entry = |at: usize| 20 + 16 * at;
    let report = subject.case("97", &[8974, 8964, 8929], &[], |memory| {
        let second = children[1].target.to_bytes();
        edit(memory, inner, |bytes| bytes[entry(2) + 8..entry(2) + 16].copy_from_slice(&second));
    });
    assert_eq!(
        (of(&report, 8974).len(), of(&report, 8964).len(), of(&report, 8929).len()),
        (1, 1, 1)
    );
    assert_eq!(of(&report, 8964)[0].location.slot, Some(children[2].target.slot));

    let report = subject
        .case("98", &[8961, 8929], &[], |memory| edit(memory, inner, |bytes| bytes[entry(3)] ^= 1));
    let states: BTreeSet<(u8, Option<PageId>)> =
        of(&report, 8961).iter().map(|it| (it.state, it.location.page)).collect();
    assert!(states.contains(&(2, Some(children[3].target.page))), "{states:?}");
    assert_eq!(of(&report, 8929).len(), 1);

    let report =
        subject.case("98", &[8961, 8929], &[], |memory| edit(memory, inner, |bytes| bytes[18] = 7));
    assert!(
        of(&report, 8961).iter().any(|it| it.state == 4 && it.location.page == Some(inner.page))
    );

    subject.case("94", &[8961, 8929], &[], |memory| edit(memory, inner, |bytes| bytes[7] ^= 1));
    // The links of a node that cannot be read lead anywhere: its children are not called
    // unreferenced.
    subject.case("95", &[8962, 8929], &[8961], |memory| edit(memory, inner, |bytes| bytes[12] = 9));
    let report = subject.case("95", &[8961, 8929], &[], |memory| {
        edit(memory, inner, |bytes| bytes[16..18].copy_from_slice(&500u16.to_le_bytes()));
    });
    assert_eq!(of(&report, 8961)[0].state, 2);
}

#[test]
fn text_pointers_in_copies_of_real_files() {
    let subjects = ["northwind-2008.mdf", "northwind-from-2000.mdf"];
    for subject in subjects.into_iter().filter_map(Subject::sample) {
        let pointers = subject.pointers("Employees");
        let pointer = pointers[2];
        let other = pointers[5];
        let node = first_target(&subject.memory, pointer);
        for byte in [0, 2, 7] {
            subject.case("93", &[8961, 8929], &[], |memory| {
                edit_pointer(memory, pointer, |bytes| bytes[byte] ^= 0x80)
            });
        }
        let report = subject.case("92", &[8965, 8964, 8929], &[], |memory| {
            edit_pointer(memory, pointer, |bytes| {
                bytes[14..16].copy_from_slice(&900u16.to_le_bytes())
            });
        });
        assert_eq!(of(&report, 8964)[0].location.page, Some(node.page));
        let others = first_target(&subject.memory, other);
        subject.case("97", &[8961, 8964, 8929], &[], |memory| {
            edit_pointer(memory, pointer, |bytes| bytes[8..16].copy_from_slice(&others.to_bytes()));
        });
        // The same pointer twice.
        let page = subject.memory.stored(other.page);
        let twice = page[other.at..other.at + other.len].to_vec();
        subject.case("97", &[8974, 8964, 8929], &[], |memory| {
            edit_pointer(memory, pointer, |bytes| bytes.copy_from_slice(&twice));
        });
        // A root that becomes data, and one that claims more than it holds; what hung on it is not
        // called unreferenced.
        for (at, value) in [(12, 3u16), (16, 20_000)] {
            let report = subject.case("95", &[8961, 8929], &[8964], |memory| {
                edit(memory, node, |bytes| bytes[at..at + 2].copy_from_slice(&value.to_le_bytes()));
            });
            assert_eq!(of(&report, 8961)[0].state, if at == 12 { 4 } else { 2 });
        }
        // A root of a kind that is not followed.
        subject.case("95", &[], &[], |memory| edit(memory, node, |bytes| bytes[12] = 6));
        // A node of another table.
        let foreign = first_target(&subject.memory, subject.pointers("Categories")[0]);
        let report = subject.case("8925", &[8925, 8964, 8929], &[], |memory| {
            edit_pointer(memory, pointer, |bytes| {
                bytes[8..16].copy_from_slice(&foreign.to_bytes())
            });
        });
        let linkage = of(&report, 8925)[0];
        assert_eq!(
            (linkage.location.page, linkage.location.slot.unwrap().0),
            (Some(PageId::new(1, pointer.page)), pointer.slot)
        );
        assert!(linkage.related.contains(&foreign.page));
        // A page that is no text page.
        subject.case("100", &[8965, 8964, 8929], &[], |memory| {
            let row = PageId::new(1, pointer.page).to_bytes();
            edit_pointer(memory, pointer, |bytes| bytes[8..14].copy_from_slice(&row));
        });
        // A pointer to nothing is an empty value.
        subject.case("99", &[8964], &[], |memory| {
            edit_pointer(memory, pointer, |bytes| bytes[8..16].fill(0))
        });
    }
}

#[test]
fn a_unit_with_a_broken_iam_chain_is_not_judged() {
    let subject = Subject::demo();
    let iam = subject.unit("heap", AllocUnitKind::Lob).first_iam.page;
    let mut memory = subject.memory.clone();
    memory.raw(iam, |page| page[500] ^= 1);
    let report = memory.check();
    assert!(
        numbers(&report).is_disjoint(&BTreeSet::from([8964, 8965, 8929])),
        "{}",
        to_text(&report)
    );
    let left_out =
        report.coverage.not_checked.iter().find(|it| it.what.starts_with("off-row data"));
    assert_eq!(left_out.map(|it| it.why.as_str()), Some("not all pages of its units are known"));
}

/// Row versioning adds 14 bytes to fragments; whether their length counts them is not published, so
/// that either may be.
#[test]
fn row_n7_versioned_fragments_are_healthy() {
    let subject = Subject::demo();
    let unit = subject.unit("heap", AllocUnitKind::Lob).id;
    let mut cases = 0;
    for page in subject.pages(unit, PageType::TextMix) {
        let stored = subject.memory.stored(page);
        let header = PageHeader::of(&stored);
        let free = header.free_bytes.get();
        let (slot, bytes) = PageRef::new(&stored).records().last().unwrap();
        let len = LobRecord::parse(bytes).len();
        let is_last = offset(&stored, slot) + len == usize::from(header.free_offset.get());
        if !is_last
            || free < 14
            || Fullness::of_free_bytes(free) != Fullness::of_free_bytes(free - 14)
        {
            continue;
        }
        cases += 1;
        for is_counted in [true, false] {
            let report = subject.case("N7", &[], &[], |memory| {
                memory.edit(page, |bytes| {
                    let at = offset(bytes, slot);
                    bytes[at] |= 0x40;
                    let stored_len = len + if is_counted { 14 } else { 0 };
                    bytes[at + 2..at + 4].copy_from_slice(&(stored_len as u16).to_le_bytes());
                    let header = PageHeader::of_mut(bytes);
                    header.free_bytes.set(free - 14);
                    header.free_offset.set(header.free_offset.get() + 14);
                });
            });
            assert_eq!(report.verdict, Verdict::Clean);
        }
        if cases == 3 {
            return;
        }
    }
    assert!(cases > 0);
}

/// A row of another table leads here, and nothing is missing there: only a look at all tables finds
/// it.
#[test]
fn a_reference_from_a_table_without_faults_is_found() {
    let Some(subject) = Subject::sample("northwind-2008.mdf") else { return };
    let small: BTreeSet<Rid> = subject.nodes("Categories", 0).into_iter().collect();
    let Some(pointer) = subject
        .pointers("Categories")
        .into_iter()
        .find(|it| small.contains(&first_target(&subject.memory, *it)))
    else {
        panic!("no small root");
    };
    let lost = first_target(&subject.memory, pointer);
    let wrong = first_target(&subject.memory, subject.pointers("Employees")[0]);
    let report = subject.case("8925", &[8925, 8929], &[8914], |memory| {
        edit_pointer(memory, pointer, |bytes| bytes[8..16].copy_from_slice(&wrong.to_bytes()));
        memory.edit(lost.page.page, |page| {
            let entry = 8190 - 2 * usize::from(lost.slot.0);
            page[entry..entry + 2].fill(0);
            let header = PageHeader::of_mut(page);
            header.free_bytes.set(header.free_bytes.get() + 84);
        });
    });
    assert_eq!(of(&report, 8929)[0].location.page, Some(PageId::new(1, pointer.page)));
}

/// Without its log, a file that was in use says nothing certain about what changed after the last
/// checkpoint.
#[test]
fn what_may_be_in_flight_is_noted_and_not_reported() {
    let subject = Subject::demo();
    let pointer = subject.pointers("heap")[0];
    let fault = |memory: &mut Memory| {
        edit_pointer(memory, pointer, |bytes| bytes[22..24].copy_from_slice(&900u16.to_le_bytes()));
    };
    let open = |memory: &mut Memory| memory.edit(9, |page| page[96 + 36 + 3] &= !0x40);
    let report = subject.case("92", &[8965, 8964, 8929], &[], |memory| {
        fault(memory);
        open(memory);
    });
    assert!(report.notes.iter().any(|note| note.error == 59009), "the file was not closed");

    let mut memory = subject.memory.clone();
    fault(&mut memory);
    open(&mut memory);
    memory.header(pointer.page, |header| header.lsn_bytes = [0xff, 0xff, 0, 0, 1, 0, 0, 0, 1, 0]);
    let report = memory.check();
    assert_eq!(report.findings, [], "{}", to_text(&report));
    assert_eq!(report.verdict, Verdict::Incomplete);
    assert!(report.notes.iter().any(|note| note.error == 59023), "{}", to_text(&report));
}
