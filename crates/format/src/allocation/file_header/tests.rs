use super::*;
use crate::allocation::boot::{BootView, write_boot};

fn header() -> FileHeader {
    FileHeader {
        column_count: 47,
        binding_id: Some(Guid([1; 16])),
        file_id: Some(1),
        filegroup_id: Some(1),
        size: Some(288),
        max_size: Some(MAX_SIZE_UNLIMITED),
        growth: Some(10),
        perf: Some(0),
        status: Some(STATUS_GROWTH_PERCENT),
        sector_size: Some(4096),
        redo_start_fork: Some(ForkPoint {
            lsn: Lsn::new(1, 2, 3),
            padding: 0,
            guid: Guid([5; 16]),
        }),
        logical_name: Some("pubs".encode_utf16().collect()),
        encryption_key: Some(EncryptionKey([0; 600])),
        ..FileHeader::default()
    }
}

fn page_of(header: &FileHeader) -> [u8; 8192] {
    let mut page = [0xee; 8192];
    let content = FileHeaderPage { id: PageId::new(1, 0), header, offset: 2228, boot: None };
    write_file_header(&mut page, &content, &PageStamp::default());
    page
}

#[test]
fn a_written_file_header_reads_back() {
    let header = header();
    let page = page_of(&header);
    let view = FileHeaderView::new(&page);
    assert_eq!(view.header(), header);
    assert_eq!(view.faults(), []);
    assert_eq!(
        (header.growth(), header.size_limit(), header.name()),
        (Some(Growth::Percent(10)), None, Some("pubs".into()))
    );
    assert!(!header.is_encrypted());
    let untouched: Vec<usize> = (0..8192).filter(|at| page[*at] == 0xee).collect();
    assert_eq!(untouched, view.undefined().into_iter().flatten().collect::<Vec<_>>());
}

#[test]
fn the_short_form_of_2000_ends_with_its_last_column() {
    let mut header = header();
    header.column_count = 23;
    header.redo_start_fork = None;
    header.logical_name = None;
    header.encryption_key = None;
    header.diff_base_guid = Some(Guid([0; 16]));
    let record = header.to_record();
    assert_eq!(
        &record[..14],
        [0x30, 0, 8, 0, 0, 0, 0, 0, 23, 0, 0, 0, 0, 22],
        "22 of 23 columns are stored"
    );
    assert_eq!(FileHeader::parse(&record), (header.clone(), None));
}

#[test]
fn columns_of_unknown_meaning_or_length_are_kept() {
    let mut header = header();
    header.file_id = None;
    header.residue = vec![
        Residue { index: 2, bytes: vec![1, 0, 0] },
        Residue { index: 29, bytes: vec![8; 5] },
        Residue { index: 54, bytes: vec![9] },
    ];
    let page = page_of(&header);
    let view = FileHeaderView::new(&page);
    assert_eq!(view.header(), header);
    assert_eq!(view.faults(), [FileHeaderFault::ColumnLength { index: 2, found: 3 }]);
    assert_eq!(Residue::count(&header.residue), 7);
}

#[test]
fn a_key_or_the_state_of_encryption_is_recognised() {
    let mut header = header();
    header.encryption_state = Some(3);
    assert!(header.is_encrypted());
    header.encryption_state = Some(0);
    let mut key = [0; 600];
    key[599] = 1;
    header.encryption_key = Some(EncryptionKey(key));
    assert!(header.is_encrypted());
}

#[test]
fn log_files_keep_a_copy_of_the_boot_record() {
    let mut boot_page = [0; 8192];
    let blank = BootRecord::parse(&[&[0, 0, 0xdc, 2][..], &[0; 728]].concat()).unwrap();
    let boot = BootRecord { version: 655, ..blank };
    write_boot(&mut boot_page, PageId::BOOT, &boot, &PageStamp::default());
    assert_eq!(BootView::new(&boot_page).record().unwrap().version, 655);
    let header = FileHeader {
        fixed: 2,
        file_id: Some(2),
        filegroup_id: Some(0),
        ..header()
    };
    let mut page = [0xee; 8192];
    let content = FileHeaderPage {
        id: PageId::new(2, 0),
        header: &header,
        offset: 96,
        boot: Some((2685, &boot)),
    };
    write_file_header(&mut page, &content, &PageStamp::default());
    let view = FileHeaderView::new(&page);
    assert_eq!(
        (view.header(), view.boot_copy(), view.boot_offset()),
        (header, Some(boot), Some(2685))
    );
    assert_eq!(view.faults(), []);
    assert_eq!(PageHeader::of(&page).free_offset.get(), 2685 + 732);
    let untouched: Vec<usize> = (0..8192).filter(|at| page[*at] == 0xee).collect();
    assert_eq!(untouched, view.undefined().into_iter().flatten().collect::<Vec<_>>());
}

#[test]
fn a_page_that_is_no_file_header_says_why() {
    let page = [0; 8192];
    let faults = FileHeaderView::new(&page).faults();
    assert!(
        faults.contains(&FileHeaderFault::PageType { found: PageType::Unformatted }),
        "{faults:?}"
    );
    assert!(faults.contains(&FileHeaderFault::Slot { found: 0 }), "{faults:?}");
    assert!(faults.contains(&FileHeaderFault::ColumnCount { found: 0 }), "{faults:?}");
    assert_eq!(FileHeaderView::new(&page).header().file_id, None);
}
