//! Allocation pages, file headers and boot pages with any bytes at all: reading ends, names only
//! places of the page as undefined, and what it reads can be written and is then read the same.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::size::{EXTENTS_PER_GAM, PAGES_PER_PFS};
use extentdb_base::{AllocUnitId, PageId};
use extentdb_format::PageBytes;
use extentdb_format::allocation::PageStamp;
use extentdb_format::allocation::bitmap::{AllocationBitmap, MapKind, MapView, write_map};
use extentdb_format::allocation::boot::{BootRecord, BootView, RECORD_BYTES_MIN, write_boot};
use extentdb_format::allocation::file_header::{
    FileHeader, FileHeaderFault, FileHeaderPage, FileHeaderView, write_file_header,
};
use extentdb_format::allocation::iam::{IamHead, IamView, write_iam};
use extentdb_format::allocation::pfs::{PfsByte, PfsView, write_pfs};

const PAGE: usize = 8192;

fn fill(rng: &mut SplitMix64, bytes: &mut [u8]) {
    for byte in bytes {
        *byte = rng.next_u64() as u8;
    }
}

fn random_page(rng: &mut SplitMix64) -> PageBytes {
    let mut page = [0; PAGE];
    fill(rng, &mut page);
    page
}

/// A sound page of one of the kinds.
fn sound_page(rng: &mut SplitMix64) -> PageBytes {
    let mut page = random_page(rng);
    let stamp = PageStamp::default();
    match rng.below(5) {
        0 => {
            let kind = MapKind::ALL[rng.below(4) as usize];
            write_map(&mut page, PageId::new(1, 2), kind, &stamp).set_range(3..40_000, true);
        }
        1 => {
            let mut head = IamHead::new(
                PageId::new(1, 86),
                AllocUnitId::from_header(77, 256),
                PageId::new(1, 0),
            );
            head.single_pages[1] = PageId::new(1, 90);
            write_iam(&mut page, &head, &stamp).set(12, true);
        }
        2 => write_pfs(&mut page, PageId::new(1, 1), &stamp).set(4, PfsByte(0x44)),
        3 => write_boot(&mut page, PageId::new(1, 9), &boot(rng), &stamp),
        _ => {
            let boot = boot(rng);
            let header = header();
            let content = FileHeaderPage {
                id: PageId::new(2, 0),
                header: &header,
                offset: 96,
                boot: Some((2_000, &boot)),
            };
            write_file_header(&mut page, &content, &stamp);
        }
    }
    page
}

fn boot(rng: &mut SplitMix64) -> BootRecord {
    let len = RECORD_BYTES_MIN + rng.below(1_200) as u16;
    let mut bytes = vec![0; usize::from(len)];
    fill(rng, &mut bytes);
    bytes[2..4].copy_from_slice(&len.to_le_bytes());
    BootRecord::parse(&bytes).unwrap()
}

fn header() -> FileHeader {
    FileHeader {
        column_count: 49,
        file_id: Some(2),
        size: Some(128),
        logical_name: Some("log".encode_utf16().collect()),
        ..FileHeader::default()
    }
}

/// Reads a page in every way.
fn read_all(page: &PageBytes) {
    let mut undefined = Vec::new();
    for kind in MapKind::ALL {
        let view = MapView::new(page, kind);
        let _ = (view.faults(), view.interval());
        undefined.push(view.undefined());
        check_bitmap(view.bitmap());
    }
    let iam = IamView::new(page);
    let _ = (iam.faults(), iam.head(), iam.single_pages().count());
    assert!(iam.extents().count() <= EXTENTS_PER_GAM as usize);
    undefined.extend(iam.undefined());
    let pfs = PfsView::new(page);
    let _ = (pfs.faults(), pfs.first_page());
    undefined.push(pfs.undefined());
    assert!(
        pfs.entries()
            .all(|entry| entry.has_reserved_bits() || !entry.to_string().contains("fullness"))
    );
    let boot = BootView::new(page);
    let _ = boot.faults();
    undefined.extend(boot.undefined());
    if let Some(record) = boot.record() {
        check_boot(&record);
    }
    let file = FileHeaderView::new(page);
    let _ = file.faults();
    undefined.extend(file.undefined());
    if let Some(record) = file.boot_copy() {
        check_boot(&record);
    }
    for range in undefined {
        assert!(range.start <= range.end && range.end <= PAGE, "{range:?}");
    }
}

fn check_bitmap(bitmap: AllocationBitmap<'_>) {
    let ones = bitmap.ones().count();
    assert_eq!(ones, bitmap.count_ones() as usize);
    assert_eq!(ones + bitmap.zeros(u32::MAX).count(), EXTENTS_PER_GAM as usize);
}

/// What was read is read again from what is written.
fn check_boot(record: &BootRecord) {
    let mut bytes = vec![0xee; usize::from(record.len)];
    record.write(&mut bytes);
    assert_eq!(BootRecord::parse(&bytes).as_ref(), Some(record));
    let _ = format!(
        "{} {} {} {}",
        record.name,
        record.status,
        record.database_version(),
        record.engine_build
    );
}

#[test]
fn random_pages_are_read_without_a_panic() {
    let mut rng = SplitMix64::new(20);
    for _ in 0..200 {
        read_all(&random_page(&mut rng));
    }
    for byte in [0, 0xff, 0x01, 0x80] {
        read_all(&[byte; PAGE]);
    }
}

#[test]
fn mutated_pages_are_read_without_a_panic() {
    let mut rng = SplitMix64::new(21);
    for _ in 0..1_000 {
        let mut page = sound_page(&mut rng);
        for _ in 0..1 + rng.below(12) {
            // Header, first record and slots are where damage misleads a reader.
            let at = match rng.below(4) {
                0 => rng.below(96),
                1 => 96 + rng.below(200),
                2 => 8_184 + rng.below(8),
                _ => rng.below(PAGE as u64),
            };
            page[at as usize] = rng.next_u64() as u8;
        }
        read_all(&page);
    }
}

#[test]
fn a_boot_record_of_any_bytes_is_rewritten_byte_for_byte() {
    let mut rng = SplitMix64::new(22);
    for _ in 0..2_000 {
        let len = RECORD_BYTES_MIN + rng.below(7_000) as u16;
        let mut bytes = vec![0; usize::from(len)];
        fill(&mut rng, &mut bytes);
        bytes[2..4].copy_from_slice(&len.to_le_bytes());
        let record = BootRecord::parse(&bytes).unwrap();
        let mut again = vec![0xee; usize::from(record.len)];
        record.write(&mut again);
        assert_eq!(again, bytes);
    }
}

#[test]
fn damage_of_a_file_header_is_named() {
    let mut page = [0; PAGE];
    let header = header();
    let content = FileHeaderPage {
        id: PageId::new(2, 0),
        header: &header,
        offset: 96,
        boot: None,
    };
    write_file_header(&mut page, &content, &PageStamp::default());
    assert_eq!(FileHeaderView::new(&page).faults(), []);
    assert_eq!(FileHeaderView::new(&page).header(), header);

    let other = FileHeaderPage { id: PageId::new(3, 0), ..content };
    write_file_header(&mut page, &other, &PageStamp::default());
    assert_eq!(
        FileHeaderView::new(&page).faults(),
        [FileHeaderFault::FileId { found: 2, expected: 3 }]
    );

    write_file_header(&mut page, &content, &PageStamp::default());
    page[PAGE - 2..].copy_from_slice(&9_000u16.to_le_bytes());
    assert_eq!(FileHeaderView::new(&page).faults(), [FileHeaderFault::Slot { found: 9_000 }]);
    assert_eq!(
        FileHeaderView::new(&page).header(),
        header,
        "right behind the page header it is found all the same"
    );
}

#[test]
fn pfs_entries_are_found_by_page_number_in_every_interval() {
    let mut page = [0; PAGE];
    for first in [0, PAGES_PER_PFS, 7 * PAGES_PER_PFS] {
        let id = PageId::new(1, first.max(1));
        let mut entries = write_pfs(&mut page, id, &PageStamp::default());
        for (state, at) in (0u8..).zip([0, 1, 4_000, PAGES_PER_PFS - 1]) {
            entries.set(first + at, PfsByte(state));
        }
        let view = PfsView::new(&page);
        let found = [0, 1, 4_000, PAGES_PER_PFS - 1].map(|at| view.entry(first + at).0);
        assert_eq!((view.first_page(), found), (PageId::new(1, first), [0, 1, 2, 3]));
    }
}
