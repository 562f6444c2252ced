//! The real files: what they hold is known to the page.

use super::*;
use extentdb_base::size::{PAGE_BYTES, PAGES_PER_EXTENT};
use extentdb_base::{Lsn, PageId};
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::AllocationBitmap;
use extentdb_format::page::checksum::{self, Protection};

pub(super) fn sample(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")),
        PathBuf::from,
    );
    let bytes = std::fs::read(folder.join(name)).ok();
    if bytes.is_none() {
        eprintln!("SKIPPED: no samples: {name} not found in {}", folder.display());
    }
    bytes
}

/// Pages by their protection: intact checksums, torn-page signatures, none, zero pages, wrong ones.
#[derive(Debug, Default, PartialEq, Eq)]
struct Pages {
    checksums: usize,
    signatures: usize,
    unprotected: usize,
    wrong: usize,
}

fn count_pages(set: &BackupSet) -> Pages {
    let mut pages = Pages::default();
    for extent in set.stored_extents(FileId(1)) {
        let bytes = read(set, extent).unwrap();
        for (page, id) in bytes.chunks(PAGE_BYTES).zip(extent.pages()) {
            let page: &[u8; PAGE_BYTES] = page.try_into().unwrap();
            let mut alone = PageBuf::zeroed();
            set.read_page(id, &mut alone).unwrap();
            assert!(alone[..] == page[..], "{id}: a page read alone is the page of its extent");
            match checksum::verify(page) {
                protection if !protection.is_intact() => pages.wrong += 1,
                Protection::Checksum { .. } => pages.checksums += 1,
                Protection::Torn { .. } => pages.signatures += 1,
                _ => pages.unprotected += 1,
            }
        }
    }
    pages
}

/// The extents that the GAM of a file says are allocated.
fn gam(set: &BackupSet) -> Vec<u32> {
    let mut page = PageBuf::zeroed();
    set.read_page(PageId::new(1, 2), &mut page).unwrap();
    checksum::restore_torn(&mut page);
    AllocationBitmap::of(&page).zeros(u32::MAX).collect()
}

#[test]
fn whole_backups_hold_exactly_the_allocated_extents() {
    for (name, extents, version, first, last) in [
        ("northwind-2014.bak", 44, 782, (0x2B, 0x1B5, 0x25), (0x2B, 0x1C6, 1)),
        ("pubs-2012.bak", 49, 706, (0x86, 0x1A8, 0x6F), (0x86, 0x1E8, 1)),
        ("tsql2012-compressed.bak", 114, 852, (0xA3, 0x130, 0x25), (0xA3, 0x150, 1)),
    ] {
        let Some(bytes) = sample(name) else { return };
        let set = only_set(bytes).unwrap();
        assert!(set.findings().is_empty(), "{name}: {:?}", texts(set.findings()));
        let header = set.header();
        assert_eq!(header.database_version, version, "{name}");
        assert_eq!(header.first_lsn, Lsn::new(first.0, first.1, first.2), "{name}");
        assert_eq!(header.last_lsn, Lsn::new(last.0, last.1, last.2), "{name}");
        assert_eq!(header.checkpoint_lsn, header.first_lsn, "{name}");
        assert_eq!(header.kind.description(), "DATABASE");
        assert_eq!(indexes(&set, 1).len(), extents, "{name}");
        assert_eq!(indexes(&set, 1), gam(&set), "{name}: the extents are those of the GAM");
        assert_eq!(set.repeated_images(), 0);
        let pages = count_pages(&set);
        println!("{name}: {} pages, {pages:?}", extents * PAGES_PER_EXTENT as usize);
        assert_eq!(pages.wrong, 0, "{name}");
        assert!(pages.checksums > 200, "{name}: {pages:?}");
    }
}

#[test]
fn header_values_are_those_of_the_server() {
    let Some(bytes) = sample("pubs-2012.bak") else { return };
    let media = media(vec![bytes]).unwrap();
    assert_eq!(media.family().software_name, "Microsoft SQL Server");
    assert_eq!((media.family().families, media.family().missing), (1, vec![]));
    let [header] = &media.sets()[..] else { panic!("one set") };
    assert_eq!(header.database_name, "pubs");
    assert_eq!(header.backup_name, "pubs-Full Database Backup");
    assert_eq!(header.software_version, (11, 0, 2100));
    assert_eq!((header.software_vendor_id, header.flags.0), (4608, 512));
    assert_eq!(header.backup_start_date.to_string(), "2024-05-05T19:15:01");
    assert_eq!(header.backup_finish_date, Some(header.backup_start_date));
    assert!(!header.is_compressed && !header.is_copy_only);
    let files = media.files(1);
    let listed: Vec<_> = files
        .iter()
        .map(|file| (file.id.0, &*file.logical_name, file.size, &*file.filegroup_name))
        .collect();
    assert_eq!(listed, [(1, "pubs", 4_259_840, "PRIMARY"), (2, "pubs_log", 1_064_960, "")]);
    assert!(files[0].physical_name.ends_with("\\DATA\\pubs.mdf"));
    assert_eq!(files[0].backup_pages, 392);
}

#[test]
fn the_log_begins_with_the_block_of_first_lsn() {
    for name in ["northwind-2014.bak", "pubs-2012.bak", "tsql2012-compressed.bak"] {
        let Some(bytes) = sample(name) else { return };
        let set = only_set(bytes).unwrap();
        let parts: Vec<_> = set.log().iter().filter(|part| !part.carried.is_empty()).collect();
        let [part] = parts[..] else { panic!("{name}: one VLF carries log") };
        assert!(part.is_complete());
        let header = set.header();
        assert_eq!(part.vlf.sequence.get(), header.first_lsn.vlf);
        let block_at = part.vlf.offset.get() + 512 * u64::from(header.first_lsn.block);
        assert_eq!(part.carried.start, block_at, "{name}");
        // The LSN in the block's header, sector stamp in its first byte.
        let mut block = [0; 32];
        assert_eq!(set.read_log(part, block_at, &mut block).unwrap(), 32);
        assert_eq!(block[0] & 0x10, 0x10, "{name}: first sector of a block");
        let lsn: [u8; 10] = block[12..22].try_into().unwrap();
        assert_eq!(Lsn::from_bytes(lsn), Lsn { slot: 1, ..header.first_lsn }, "{name}");
        // LastLSN is exclusive: the carried range ends there.
        assert_eq!(
            part.carried.end,
            part.vlf.offset.get() + 512 * u64::from(header.last_lsn.block)
        );
        let mut beyond = [0; 8];
        assert_eq!(set.read_log(part, part.carried.end, &mut beyond).unwrap(), 0);
    }
}

#[test]
fn a_stripe_alone_names_the_missing_one() {
    let Some(bytes) = sample("northwind-stripe-2-of-2.bak") else { return };
    let media = media(vec![bytes]).unwrap();
    let family = media.family();
    assert_eq!((family.families, family.given, family.missing), (2, vec![2], vec![1]));
    let error = media.open_set(None, &SetOptions::default()).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the backup is striped over 2 files: family 1 of media set 931BC1C4-79B5-4B69-90FC-466A4853F56B is missing"
    );
    let options = SetOptions { allow_missing_stripes: true, ..SetOptions::default() };
    let set = media.open_set(None, &options).unwrap();
    assert_eq!(indexes(&set, 1).len(), 27);
    assert_eq!(8 * 27, 216);
    assert_eq!(set.files()[0].backup_pages, 432);
    assert_eq!(count_pages(&set).wrong, 0);
    // The log lies in the missing stripe, too: that is the same fact.
    assert_eq!(texts(set.findings()), ["family 1 of 2 is not given"]);
    assert_eq!(set.missing_families(), [1]);
    assert!(!set.is_stored(extent(1, 0)) || !set.is_stored(PageId::BOOT.extent()));
}

#[test]
fn pages_run_across_extents_as_one_read() {
    for name in ["northwind-2014.bak", "tsql2012-compressed.bak"] {
        let Some(bytes) = sample(name) else { return };
        let set = only_set(bytes).unwrap();
        let stored = indexes(&set, 1);
        let run = stored.iter().zip(0..).take_while(|(index, n)| *index == n).count() as u32;
        assert!(run >= 3, "{name}: the first {run} extents follow each other");
        for (first, pages) in [(0, 8 * run), (3, 8 * run - 3), (5, 1), (7, 2), (8, 8), (9, 14)] {
            let mut all = vec![0xEE; pages as usize * PAGE_BYTES];
            set.read_pages(PageId::new(1, first), &mut all).unwrap();
            for (n, bytes) in (first..).zip(all.chunks(PAGE_BYTES)) {
                let mut page = PageBuf::zeroed();
                set.read_page(PageId::new(1, n), &mut page).unwrap();
                assert!(page[..] == bytes[..], "{name}: page {n} of a run of {pages} from {first}");
            }
        }
        let beyond = set.files()[0].pages();
        let error = set.read_pages(PageId::new(1, beyond + 8), &mut [0; PAGE_BYTES]).unwrap_err();
        assert!(matches!(error, ReadError::NotStored { .. }));
    }
}
