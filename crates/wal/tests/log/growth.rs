//! VLFs: growth, reuse, layout of the file.

use extentdb_base::Lsn;
use extentdb_format::allocation::file_header::{FileHeaderView, Growth as StoredGrowth};
use extentdb_format::log::{LogReader, VlfMap};
use extentdb_format::{PageBuf, page::checksum};
use extentdb_io::MemDisk;
use extentdb_wal::{Error, Growth, LogSpec};

use crate::harness::*;

fn facts(disk: &MemDisk) -> Vec<(u32, u8, u32, u64)> {
    let map = VlfMap::read(&contents(disk)).unwrap();
    let fact = |vlf: &extentdb_format::log::Vlf| {
        (vlf.header.sequence, vlf.header.parity, vlf.header.uses, vlf.header.size)
    };
    map.vlfs().iter().map(fact).collect()
}

#[test]
fn a_new_log_is_what_a_reader_expects() {
    let disk = MemDisk::new();
    let wanted = LogSpec {
        max_bytes: Some(8 << 20),
        growth: Growth::Percent(10),
        ..spec(1_000_000, Growth::None)
    };
    let log = create(&disk, &wanted);
    assert!(log.last().is_zero() && log.durable().is_zero());
    assert_eq!(log.next(), Lsn::new(FIRST, 16, 1));
    let bytes = contents(&disk);
    assert_eq!((bytes.len(), assert_sound(&bytes)), (1_007_616, 0));
    assert_eq!(facts(&disk), [(FIRST, 0x40, 1, 0x50000), (0, 0, 0, 0x50000), (0, 0, 0, 0x54000)]);
    let mut page = PageBuf::zeroed();
    page.copy_from_slice(&bytes[..8192]);
    assert!(checksum::verify(&page).is_intact());
    let header = FileHeaderView::new(&page).header();
    assert_eq!((header.file_id, header.filegroup_id, header.size), (Some(2), Some(0), Some(123)));
    assert_eq!(
        (header.growth(), header.size_limit()),
        (Some(StoredGrowth::Percent(10)), Some(1024))
    );
    assert_eq!((header.name().as_deref(), header.sector_size), (Some("lab_log"), Some(512)));
}

#[test]
fn the_log_goes_round_two_vlfs_with_parity_and_numbers_in_turn() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::None));
    let mut seen = std::collections::BTreeSet::new();
    for serial in 0..400 {
        let lsn = append(&log, serial, 5960).unwrap();
        log.flush(lsn).unwrap();
        log.truncate(lsn).unwrap();
        seen.insert(facts(&disk).iter().map(|fact| (fact.0, fact.1)).collect::<Vec<_>>());
    }
    let first = |n: u32| (FIRST + n, if (n / 2).is_multiple_of(2) { 0x40 } else { 0x80 });
    let expected: Vec<Vec<(u32, u8)>> =
        (1..10)
            .map(|n| {
                if n % 2 == 1 { vec![first(n - 1), first(n)] } else { vec![first(n), first(n - 1)] }
            })
            .collect();
    let mut expected: std::collections::BTreeSet<_> = expected.into_iter().collect();
    expected.insert(vec![(FIRST, 0x40), (0, 0)]);
    assert_eq!(seen, expected);
    assert_eq!(log.stats().growths, 0);
    assert_sound(&contents(&disk));
    // 40 blocks of 6144 fill a VLF of 240 KiB exactly: nothing is left for fillers.
    assert_eq!((log.stats().fillers, log.stats().vlfs_taken), (0, 9));
}

#[test]
fn what_does_not_fit_in_the_rest_of_a_vlf_is_preceded_by_a_filler() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::None));
    for serial in 0..5 {
        append(&log, serial, 55_000).unwrap();
    }
    let last = log.flush_all().unwrap();
    assert_eq!((last, log.stats().fillers), (Lsn::new(FIRST + 1, 16, 2), 1));
    let reader = LogReader::open(contents(&disk)).unwrap();
    let fillers: Vec<_> = reader
        .chain()
        .filter_map(|item| match item.unwrap() {
            extentdb_format::log::ChainItem::Block(block) if block.buf.view().is_filler() => {
                Some(block)
            }
            _ => None,
        })
        .collect();
    let [filler] = fillers.as_slice() else { panic!("{fillers:?}") };
    assert_eq!(
        (filler.lsn.vlf, filler.file_offset + filler.buf.as_bytes().len() as u64),
        (FIRST, 0x40000)
    );
    assert_eq!(assert_sound(&contents(&disk)), 5);
}

#[test]
fn an_active_log_is_never_overwritten_but_grows_by_its_rule_to_its_limit() {
    let disk = MemDisk::new();
    let limited = LogSpec { max_bytes: Some(1 << 20), ..spec(SMALL, Growth::Pages(32)) };
    let log = create(&disk, &limited);
    let mut serial = 0;
    let error = loop {
        match append(&log, serial, 7000) {
            Ok(lsn) => log.flush(lsn).unwrap(),
            Err(error) => break error,
        }
        serial += 1;
    };
    assert!(matches!(error, Error::Full { growth: None, .. }));
    assert_eq!((log.stats().growths, contents(&disk).len()), (2, 1 << 20));
    let sizes: Vec<u64> = facts(&disk).iter().map(|fact| fact.3).collect();
    assert_eq!(sizes, [0x3e000, 0x3e000, 0x42000, 0x40000]);
    let map = VlfMap::read(&contents(&disk)).unwrap();
    let create_lsns: Vec<u32> = map.vlfs().iter().map(|vlf| vlf.header.create_lsn.vlf).collect();
    assert_eq!(create_lsns[..2], [0, 0]);
    assert!(create_lsns[2] >= FIRST && create_lsns[3] > FIRST, "{create_lsns:?}");
    assert_eq!(assert_sound(&contents(&disk)), u64::from(serial));
    assert_eq!(records(&log, Lsn::new(FIRST, 16, 1)).len(), serial as usize);
    drop(log);
    let log = open(&disk, Lsn::ZERO).unwrap();
    assert_eq!(records(&log, log.minimum()).len(), serial as usize);
    assert!(append(&log, serial, 7000).is_err(), "limit and growth are read from the file");
}

#[test]
fn blocks_keep_to_the_sectors_of_the_device() {
    let disk = MemDisk::new();
    let log = create(&disk, &LogSpec { sector_bytes: 4096, ..spec(SMALL, Growth::None) });
    for serial in 0..10 {
        let lsn = append(&log, serial, 10 + 900 * serial as usize).unwrap();
        log.flush(lsn).unwrap();
        assert_eq!(lsn.block % 8, 0);
    }
    assert_sound(&contents(&disk));
    drop(log);
    let log = open(&disk, Lsn::ZERO).unwrap();
    assert_eq!(append(&log, 1, 1).unwrap().block % 8, 0);
}

#[test]
fn an_empty_log_opens_and_an_old_beginning_is_found() {
    let disk = MemDisk::new();
    drop(create(&disk, &spec(SMALL, Growth::None)));
    for from in [Lsn::ZERO, Lsn::new(FIRST, 16, 1)] {
        let log = open(&disk, from).unwrap();
        assert_eq!((log.next(), log.last()), (Lsn::new(FIRST, 16, 1), Lsn::ZERO));
    }
    let log = open(&disk, Lsn::ZERO).unwrap();
    let lsn = append(&log, 1, 1).unwrap();
    log.flush(lsn).unwrap();
    drop(log);
    // The first record of a block is its durable mark.
    assert_eq!(open(&disk, Lsn::ZERO).unwrap().minimum(), Lsn { slot: 1, ..lsn });
}
