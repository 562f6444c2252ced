//! Every map page and fixed page of the sample files is rebuilt from its typed values onto a page
//! filled with 0xEE. What differs must lie where the view says that bytes mean nothing; with those
//! bytes filled in and the page sealed, it must be the original.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use extentdb_base::PageId;
use extentdb_format::PageBytes;
use extentdb_format::allocation::PageStamp;
use extentdb_format::allocation::bitmap::{MapKind, MapView, fixed_page_type, write_map};
use extentdb_format::allocation::boot::{BootView, DatabaseStatus, write_boot};
use extentdb_format::allocation::field::Residue;
use extentdb_format::allocation::file_header::{FileHeaderPage, FileHeaderView, write_file_header};
use extentdb_format::allocation::iam::{IamForm, IamView, write_iam};
use extentdb_format::allocation::pfs::{PfsView, write_pfs};
use extentdb_format::page::checksum::{Protection, restore_torn, seal, seal_torn, verify};
use extentdb_format::page::header::{PageHeader, PageType};

const PAGE: usize = 8192;

/// The sample files with these endings, or none when there are no samples.
fn samples(endings: &[&str]) -> Vec<(String, Vec<u8>)> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples");
    let folder =
        std::env::var_os("EXTENTDB_SAMPLES").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("SKIPPED: no samples in {}", folder.display());
        return Vec::new();
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let wanted = paths
        .filter(|path| path.extension().is_some_and(|e| endings.iter().any(|wanted| e == *wanted)));
    let mut files: Vec<_> = wanted
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read(&path).unwrap(),
            )
        })
        .collect();
    files.sort();
    files
}

fn page(file: &[u8], number: u32) -> PageBytes {
    let at = number as usize * PAGE;
    file[at..at + PAGE].try_into().unwrap()
}

/// What was rebuilt: pages, bytes of unknown meaning, bytes that mean nothing.
#[derive(Default)]
struct Coverage {
    pages: usize,
    residue: usize,
    undefined: usize,
}

/// A page rebuilt from the typed values of `read`, with the size of the residue those hold and the
/// undefined places.
fn rebuild(read: &PageBytes) -> (PageBytes, usize, Vec<Range<usize>>) {
    let mut built = [0xee; PAGE];
    let header = PageHeader::of(read);
    let stamp = PageStamp::of(header);
    let id = header.page_id();
    match header.kind() {
        PageType::FileHeader => {
            let view = FileHeaderView::new(read);
            assert_eq!(view.faults(), []);
            let fields = view.header();
            let boot = view.boot_copy();
            let boot_at = view.boot_offset().map(|at| at as u16);
            let content = FileHeaderPage {
                id,
                header: &fields,
                offset: view.record_offset() as u16,
                boot: boot_at.zip(boot.as_ref()),
            };
            write_file_header(&mut built, &content, &stamp);
            let boot_residue = boot.as_ref().map_or(0, |boot| Residue::count(&boot.residue));
            (built, Residue::count(&fields.residue) + boot_residue, view.undefined())
        }
        PageType::Boot => {
            let view = BootView::new(read);
            assert_eq!(view.faults(), []);
            let record = view.record().unwrap();
            write_boot(&mut built, id, &record, &stamp);
            (built, Residue::count(&record.residue), view.undefined().to_vec())
        }
        PageType::Pfs => {
            let view = PfsView::new(read);
            assert_eq!(view.faults(), []);
            let mut entries = write_pfs(&mut built, id, &stamp);
            for (page, entry) in (view.first_page().page..).zip(view.entries()) {
                entries.set(page, entry);
            }
            (built, 0, vec![view.undefined()])
        }
        PageType::Iam => {
            let view = IamView::new(read);
            assert_eq!(view.faults(), []);
            let mut bitmap = write_iam(&mut built, &view.head(), &stamp);
            for extent in view.bitmap().ones() {
                bitmap.set(extent, true);
            }
            (built, 0, view.undefined().to_vec())
        }
        kind => {
            let map = MapKind::of(kind).unwrap_or_else(|| panic!("{id} is a {kind} page"));
            let view = MapView::new(read, map);
            assert_eq!(view.faults(), []);
            let mut bitmap = write_map(&mut built, id, map, &stamp);
            for (run, value) in view.bitmap().runs(u32::MAX) {
                bitmap.set_range(run, value);
            }
            (built, 0, vec![view.undefined()])
        }
    }
}

/// Rebuilds one page and compares it, before and after it is sealed.
fn check(name: &str, original: &PageBytes, coverage: &mut BTreeMap<PageType, Coverage>) {
    let id = PageHeader::of(original).page_id();
    let protection = verify(original);
    assert!(protection.is_intact(), "{name} {id}: {protection:?}");
    let mut read = *original;
    restore_torn(&mut read);
    let (mut built, residue, undefined) = rebuild(&read);

    let is_undefined =
        |at: usize| (60..64).contains(&at) || undefined.iter().any(|range| range.contains(&at));
    let differing: Vec<usize> =
        (0..PAGE).filter(|at| built[*at] != read[*at] && !is_undefined(*at)).collect();
    assert_eq!(differing, [], "{name} {id}: bytes that differ where they mean something");

    for range in &undefined {
        built[range.clone()].copy_from_slice(&read[range.clone()]);
    }
    match protection {
        Protection::None => {}
        Protection::Checksum { .. } => seal(&mut built),
        Protection::Torn { signature, .. } => seal_torn(&mut built, signature),
    }
    assert!(built == *original, "{name} {id}: the sealed page is not the original");
    let entry = coverage.entry(PageHeader::of(original).kind()).or_default();
    entry.pages += 1;
    entry.residue += residue;
    entry.undefined += undefined.iter().map(Range::len).sum::<usize>();
}

/// The IAM pages that PFS marks as allocated.
fn iam_pages(file: &[u8]) -> Vec<u32> {
    let first = page(file, 1);
    let mut pfs = first;
    restore_torn(&mut pfs);
    let view = PfsView::new(&pfs);
    (0..(file.len() / PAGE) as u32)
        .filter(|n| view.entry(*n).is_allocated() && view.entry(*n).is_iam())
        .collect()
}

#[test]
fn system_pages_are_rebuilt_from_typed_values() {
    let mut coverage = BTreeMap::new();
    for (name, file) in samples(&["mdf", "ndf"]) {
        let fixed = (0..(file.len() / PAGE) as u32)
            .filter(|n| fixed_page_type(PageId::new(1, *n)).is_some());
        for number in fixed.chain(iam_pages(&file)) {
            check(&name, &page(&file, number), &mut coverage);
        }
    }
    for (name, file) in samples(&["ldf"]) {
        check(&name, &page(&file, 0), &mut coverage);
    }
    for (kind, Coverage { pages, residue, undefined }) in &coverage {
        eprintln!(
            "{kind}: {pages} pages rebuilt, {} bytes undefined per page, {residue} bytes of residue",
            undefined / pages
        );
        assert!(*residue <= 16 * pages, "{kind}: residue is an exception, not the rule");
    }
}

#[test]
fn fixed_pages_hold_what_their_place_says() {
    for (name, file) in samples(&["mdf"]) {
        for number in 0..(file.len() / PAGE) as u32 {
            if let Some(kind) = fixed_page_type(PageId::new(1, number)) {
                assert_eq!(
                    PageHeader::of(&page(&file, number)).kind(),
                    kind,
                    "{name} page {number}"
                );
            }
        }
        assert_eq!(IamView::new(&page(&file, 12)).form(), IamForm::SysFiles, "{name}");
        let others: Vec<u32> =
            iam_pages(&file).into_iter().filter(|number| *number != 12).collect();
        assert!(
            others.iter().all(|n| IamView::new(&page(&file, *n)).form() == IamForm::Usual),
            "{name}"
        );
    }
}

#[test]
fn boot_pages_and_file_headers_agree_with_each_other() {
    for (name, file) in samples(&["mdf"]) {
        let mut boot = page(&file, 9);
        restore_torn(&mut boot);
        let record = BootView::new(&boot).record().unwrap();
        let mut first = page(&file, 0);
        restore_torn(&mut first);
        let header = FileHeaderView::new(&first).header();
        eprintln!(
            "{name}: {} on {}, created {}, status {}, file {:?} of {:?} pages",
            record.name,
            record.database_version(),
            record.created.value().unwrap(),
            record.status,
            header.name(),
            header.size,
        );
        assert!(record.database_version().product().is_some(), "{name}");
        let is_torn = PageHeader::of(&page(&file, 9)).flag_bits.get() & 0x100 != 0;
        assert_eq!(record.status.has(DatabaseStatus::TORN_PAGE_DETECTION), is_torn, "{name}");
        assert_eq!(record.status.has(DatabaseStatus::CHECKSUM), !is_torn, "{name}");
        assert!(
            record.first_sys_indexes.file.0 == 1 && !record.first_sys_indexes.is_none(),
            "{name}"
        );
        assert_eq!(
            (header.file_id, header.filegroup_id, header.perf),
            (Some(1), Some(1), Some(0)),
            "{name}"
        );
        assert!(matches!(header.sector_size, Some(512 | 4096)), "{name}");
        assert!(!header.is_encrypted(), "{name}");
    }
}

#[test]
fn maps_of_real_files_keep_their_rules() {
    for (name, file) in samples(&["mdf"]) {
        let extents = (file.len() / PAGE / 8) as u32;
        let map = |kind: MapKind| {
            let mut map = page(&file, kind.page_of(PageId::new(1, 0)).page);
            restore_torn(&mut map);
            map
        };
        let gam_page = map(MapKind::Gam);
        let sgam_page = map(MapKind::Sgam);
        let gam = MapView::new(&gam_page, MapKind::Gam).bitmap();
        let sgam = MapView::new(&sgam_page, MapKind::Sgam).bitmap();
        assert!(!gam.get(0) && !sgam.get(0), "{name}: extent 0 is neither free nor mixed");
        assert_eq!(gam.find(extents, false), None, "{name}: behind the file everything is free");
        assert!(sgam.ones().all(|extent| !gam.get(extent)), "{name}: no extent is free and mixed");
        let mut owned = vec![0u8; extents as usize];
        for number in iam_pages(&file) {
            let mut iam = page(&file, number);
            restore_torn(&mut iam);
            for extent in IamView::new(&iam).extents() {
                owned[extent.index as usize] += 1;
                assert!(!gam.get(extent.index), "{name}: {number} owns a free extent");
            }
        }
        assert!(owned.iter().all(|owners| *owners <= 1), "{name}: an extent with two owners");
    }
}
