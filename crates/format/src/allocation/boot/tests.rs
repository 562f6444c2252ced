use extentdb_base::size::SECTOR_BYTES;

use super::*;

fn record(len: u16) -> BootRecord {
    let mut boot = BootRecord::read_fields(&vec![0; usize::from(len)], len).unwrap();
    boot.version = 661;
    boot.status = DatabaseStatus(0x4001_0009);
    boot.name = StoredName::new("pubs").unwrap();
    boot.checkpoint_lsn = Lsn::new(27, 59, 2);
    boot.first_sys_indexes = PageId::new(1, 16);
    boot.engine_build = EngineBuild::new(10, 50, 1600);
    boot.recovery_fork.guid = Guid([9; 16]);
    boot
}

#[test]
fn a_written_boot_page_reads_back() {
    for len in [732, 1444, 1832] {
        let mut boot = record(len);
        boot.alloc_unit_next = (len >= 744).then_some(0x100_0000_001f);
        boot.residue = vec![
            Residue { index: 10, bytes: vec![1, 2] },
            Residue { index: len - 1, bytes: vec![3] },
        ];
        let mut page = [0xee; 8192];
        write_boot(&mut page, PageId::BOOT, &boot, &PageStamp::default());
        let view = BootView::new(&page);
        assert_eq!(view.record(), Some(boot));
        assert_eq!(view.faults(), []);
        let untouched: Vec<usize> = (0..8192).filter(|at| page[*at] == 0xee).collect();
        assert_eq!(untouched, view.undefined().into_iter().flatten().collect::<Vec<_>>());
    }
}

#[test]
fn fields_do_not_overlap() {
    let mut at = RECORD_HEADER_BYTES;
    for field in BootRecord::FIELDS {
        assert!(field.offset >= at, "{} begins inside its predecessor", field.name);
        at = field.offset + field.bytes;
    }
}

#[test]
fn engine_builds_and_status_print_in_words() {
    assert_eq!(EngineBuild(0x0a32_0640).to_string(), "10.50.1600");
    assert_eq!(EngineBuild::new(10, 50, 1600), EngineBuild(0x0a32_0640));
    let status = DatabaseStatus(0x4001_0001 | 0x200_0000);
    assert_eq!(status.to_string(), "autoclose, checksum, cleanly shut down, 0x2000000");
    assert_eq!((status.is_clean(), status.recovery_model()), (true, "FULL"));
    assert_eq!(DatabaseStatus(0x8).recovery_model(), "SIMPLE");
    assert_eq!(DatabaseStatus(0).to_string(), "");
}

#[test]
fn versions_name_their_product() {
    let cases = [
        (611, "SQL Server 2005 (611)"),
        (655, "SQL Server 2008 (655)"),
        (661, "SQL Server 2008 R2 (661)"),
        (706, "SQL Server 2012 (706)"),
        (782, "SQL Server 2014 (782)"),
        (852, "SQL Server 2016 (852)"),
        (869, "SQL Server 2017 (869)"),
        (895, "SQL Server 2019 (preview) (895)"),
        (904, "SQL Server 2019 (904)"),
        (957, "SQL Server 2022 (957)"),
        (998, "SQL Server 2025 (998)"),
        (1200, "unknown, newer than SQL Server 2025 (998) (1200)"),
        (7, "unknown (7)"),
    ];
    for (version, text) in cases {
        assert_eq!(DatabaseVersion(version).to_string(), text);
    }
}

#[test]
fn a_broken_boot_page_is_read_as_far_as_it_goes() {
    let mut page = [0; 8192];
    write_boot(&mut page, PageId::BOOT, &record(1444), &PageStamp::default());
    page[96 + 47] = 0x70; // creation time far beyond the last tick
    page[98..100].copy_from_slice(&9000u16.to_le_bytes());
    page[8190..].copy_from_slice(&3u16.to_le_bytes());
    PageHeader::of_mut(&mut page).page_type = 1;
    let view = BootView::new(&page);
    let faults = view.faults();
    assert_eq!(
        faults,
        [
            BootFault::PageType { found: PageType::Data },
            BootFault::Slot { found: 3 },
            BootFault::RecordLength { found: 9000, limit: 8094 },
            BootFault::Time { field: "created" },
        ]
    );
    assert_eq!(view.record().unwrap().name.to_string(), "pubs");
    assert_eq!(BootRecord::parse(&[0; 731]), None);
}

#[test]
fn what_a_checkpoint_writes_lies_in_the_sector_of_the_page_header() {
    let end_of = |name: &str| {
        let field = BootRecord::FIELDS.iter().find(|field| field.name == name);
        field.map(|field| PAGE_HEADER_BYTES + field.offset + field.bytes).expect(name)
    };
    for name in ["status", "checkpoint_lsn", "checkpoint_lsn_copy", "unknown_384"] {
        assert!(end_of(name) <= SECTOR_BYTES, "{name}");
    }
    assert!(end_of("alloc_unit_next") > SECTOR_BYTES);
}
