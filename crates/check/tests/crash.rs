//! Copies of crashed databases, with their log and without, and backups under
//! load (N10: the same log and pages, from which a container takes nothing away).

mod support;

use std::collections::BTreeSet;
use std::path::PathBuf;

use extentdb_base::env::SystemClock;
use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_base::{AllocUnitId, PageId};
use extentdb_catalog::Catalog;
use extentdb_catalog::model::ObjectType;
use extentdb_check::{Control, LogUse, Options, Report, Verdict, run};
use extentdb_faults::crash::{Crash, CrashOptions, crash};
use extentdb_format::allocation::pfs::{Fullness, PfsMut, PfsView};
use extentdb_format::page::{PageHeader, PageRef, PageType, checksum};
use extentdb_format::{PageBuf, PageBytes};
use extentdb_reader::recover::{RecoverError, RecoverOptions, recover};
use extentdb_reader::{
    CheckedPages, OpenOptions, OpenedFiles, PageSource, Recovered, Recovery, RecoverySummary,
};
use extentdb_report::to_text;
use extentdb_template::{MakeOptions, Size, make};

/// No findings.
const NONE: [u32; 0] = [];

/// A folder with the files of a database.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The bytes of a sound database.
    fn make(&self, shape: &str, rows: u64) -> Vec<u8> {
        let path = self.path("sound.mdf");
        let options = MakeOptions { shape: shape.to_owned(), size: Size::Rows(rows), seed: 7 };
        make(&options, &[&path], &mut |_| {}).expect("a database");
        std::fs::read(path).expect("its bytes")
    }

    fn write(&self, crash: &Crash) -> [PathBuf; 2] {
        let paths = [self.path("copy.mdf"), self.path("copy_log.ldf")];
        std::fs::write(&paths[0], &crash.data).expect("a data file");
        std::fs::write(&paths[1], &crash.log).expect("a log file");
        paths
    }
}

fn open(paths: &[PathBuf]) -> OpenedFiles {
    OpenedFiles::open(paths, &OpenOptions::default()).expect("files of a database")
}

fn check(source: &dyn PageSource, log: LogUse) -> Report {
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    run(source, &Options { log, ..Options::default() }, &Control::new(&clock, &cancel))
}

fn check_with_log(opened: &OpenedFiles) -> (Report, RecoverySummary) {
    match recover(opened, &RecoverOptions::default()).expect("memory enough") {
        Recovery::Redone(recovered) => {
            let Recovered { source, summary } = *recovered;
            (check(&source, LogUse::Redone(Arc::new(summary.clone()))), summary)
        }
        Recovery::NotNeeded => panic!("not closed cleanly"),
        Recovery::WithoutLog { why } => panic!("{why:?}"),
    }
}

fn numbers(report: &Report) -> Vec<u32> {
    report.findings.iter().map(|finding| finding.error).collect()
}

fn notes(report: &Report, number: u32) -> Vec<&str> {
    report
        .notes
        .iter()
        .filter(|note| note.error == number)
        .map(|note| note.message.as_str())
        .collect()
}

fn page_of(source: &dyn PageSource, id: PageId) -> PageBuf {
    let mut page = PageBuf::zeroed();
    source.read(id, &mut page).expect("a page");
    assert!(checksum::verify(&page).is_intact(), "{id}");
    checksum::restore_torn(&mut page);
    page
}

/// What two pages must have in common whatever their rows' places are.
fn content(page: &PageBytes) -> (Vec<Vec<u8>>, [u32; 6]) {
    let view = PageRef::new(page);
    let header = view.header();
    let rows = match header.kind().holds_records() {
        true => {
            (0..view.slot_count()).map(|slot| view.row(slot).expect("a row").to_vec()).collect()
        }
        // The last bytes of a map page, before its slots, mean nothing.
        false => vec![page[96..8182].to_vec()],
    };
    let numbers = [
        header.page_type.into(),
        header.level.into(),
        header.free_bytes.get().into(),
        header.ghost_count.get().into(),
        header.prev().page,
        header.next().page,
    ];
    (rows, numbers)
}

#[test]
fn a_crashed_copy_with_its_log_is_the_database_again() {
    for (shape, rows) in [("demo", 20_000), ("heap", 5_000), ("sales", 4_000)] {
        let folder = Folder::new();
        let sound = folder.make(shape, rows);
        for seed in 0..4 {
            let options =
                CrashOptions { seed, pages: 80, may_choose: &|_| true, leave_open: false };
            let crash = crash(&sound, &options).expect("a crash");
            let opened = open(&folder.write(&crash));
            let Ok(Recovery::Redone(recovered)) = recover(&opened, &RecoverOptions::default())
            else {
                panic!("{shape} {seed} is not redone")
            };
            let Recovered { source, summary } = *recovered;
            assert_eq!(summary.stopped, [], "{shape} {seed}");
            assert_eq!((summary.unfinished.len(), &summary.ends_early), (0, &None));
            assert_eq!((summary.checkpoint, summary.end_lsn), (crash.checkpoint, crash.end));
            assert!(
                summary.pages_changed > 40 && summary.changes > 60,
                "{shape} {seed}: {summary:?}"
            );
            for (id, history) in &crash.pages {
                let at = id.page as usize * 8192;
                let mut target = PageBuf::from(sound[at..].first_chunk().expect("a page"));
                checksum::restore_torn(&mut target);
                assert!(
                    content(&page_of(&source, *id)) == content(&target),
                    "{shape} {seed} {id} {history}"
                );
            }
            let report = check(&source, LogUse::Redone(Arc::new(summary)));
            assert_eq!(numbers(&report), NONE, "{shape} {seed}");
            assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.coverage.not_checked);
            assert_eq!(notes(&report, 59025).len(), 1);
        }
    }
}

/// Has PFS call some pages of a heap empty that are not. Of most of them it would be a form that
/// this program does not know.
fn forget_fullness(sound: &mut [u8]) -> u64 {
    const EVERY: u32 = 10;
    let is_heap_page = |page: &PageBytes| {
        let header = PageHeader::of(page);
        header.kind() == PageType::Data
            && header.index_id.get() == 256
            && header.slot_count.get() > 0
    };
    let mut pfs = PageBuf::from(sound[8192..].first_chunk().expect("the PFS page"));
    let mut forgotten = 0;
    for (number, page) in (0u32..).zip(sound.as_chunks::<8192>().0) {
        let state = PfsView::new(&pfs).entry(number);
        let is_full = state.is_allocated() && state.fullness() > Some(Fullness::Empty);
        if number.is_multiple_of(EVERY) && is_full && is_heap_page(page) {
            PfsMut::of(&mut pfs).set(number, state.with_fullness(Fullness::Empty));
            forgotten += 1;
        }
    }
    checksum::seal(&mut pfs);
    sound[8192..16_384].copy_from_slice(&pfs[..]);
    forgotten
}

/// A server recounts such things after its restart, and logs not all of them.
#[test]
fn fullness_that_is_old_after_recovery_is_one_counted_note() {
    let folder = Folder::new();
    let mut sound = folder.make("heap", 5_000);
    let forgotten = forget_fullness(&mut sound);
    assert!(forgotten > 10, "{forgotten}");
    let path = folder.path("closed.mdf");
    std::fs::write(&path, &sound).expect("a data file");
    let closed = check(open(&[path]).source(), LogUse::None);
    assert!(numbers(&closed).contains(&8914), "a database that was closed cleanly is judged");
    let options = CrashOptions { seed: 1, pages: 80, may_choose: &|_| true, leave_open: false };
    let crash = crash(&sound, &options).expect("a crash");
    let (report, summary) = check_with_log(&open(&folder.write(&crash)));
    assert!(summary.changes > 0);
    assert_eq!(numbers(&report), NONE, "{}", to_text(&report));
    assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.coverage.not_checked);
    let [note] = notes(&report, 59040)[..] else { panic!("{:?}", report.notes) };
    let count: u64 = note.split(' ').next().and_then(|count| count.parse().ok()).expect("a number");
    assert!(count > 0 && count <= forgotten, "{note}");
}

/// A restart recounts what its log changed, and nothing else.
#[test]
fn fullness_of_objects_that_the_log_does_not_name_stays_damage() {
    let folder = Folder::new();
    let mut sound = folder.make("heap", 5_000);
    let units = user_units(&sound);
    assert!(forget_fullness(&mut sound) > 10);
    let of_system_tables = |header: &PageHeader| {
        header.kind().holds_records() && !units.contains(&header.alloc_unit())
    };
    let options = CrashOptions {
        seed: 1,
        pages: 20,
        may_choose: &of_system_tables,
        leave_open: false,
    };
    let crash = crash(&sound, &options).expect("a crash");
    let (report, summary) = check_with_log(&open(&folder.write(&crash)));
    assert!(summary.changes > 0);
    assert!(numbers(&report).contains(&8914), "{}", to_text(&report));
}

/// The allocation units of user tables.
fn user_units(sound: &[u8]) -> BTreeSet<AllocUnitId> {
    let memory = support::Memory::new(sound.to_vec());
    let catalog = Catalog::load(&CheckedPages::new(&memory)).expect("a catalog");
    let tables = catalog.tables.values().filter(|table| table.kind == ObjectType::USER_TABLE);
    let indexes = tables.flat_map(|table| &table.indexes);
    let rowsets = indexes.flat_map(|index| &index.rowsets).filter_map(|id| catalog.rowsets.get(id));
    rowsets.flat_map(|rowset| &rowset.units).map(|unit| unit.id).collect()
}

#[test]
fn without_its_log_a_crashed_copy_is_incomplete_and_not_damaged() {
    let folder = Folder::new();
    let sound = folder.make("demo", 20_000);
    let units = user_units(&sound);
    let of_user_tables =
        |header: &PageHeader| header.kind().holds_records() && units.contains(&header.alloc_unit());
    let mut in_flight = 0;
    for seed in 0..6 {
        let options = CrashOptions {
            seed,
            pages: 30,
            may_choose: &of_user_tables,
            leave_open: false,
        };
        let mut crash = crash(&sound, &options).expect("a crash");
        // All other pages of the tables reached the disk after the checkpoint.
        let kept: BTreeSet<u32> = crash.pages.iter().map(|(id, _)| id.page).collect();
        for (number, page) in (0..).zip(crash.data.as_chunks_mut().0) {
            if of_user_tables(PageHeader::of(page)) && !kept.contains(&number) {
                PageHeader::of_mut(page).lsn_bytes = crash.end.to_bytes();
                checksum::seal(page);
            }
        }
        let [data, _] = folder.write(&crash);
        let opened = open(&[data]);
        assert!(matches!(
            recover(&opened, &RecoverOptions::default()),
            Ok(Recovery::WithoutLog { why: None })
        ));
        let report = check(opened.source(), LogUse::None);
        // A page that was never written, while the maps know it, is damage as long as nothing newer
        // says otherwise. So are keys that no server would have left: these histories take any row
        // for another.
        let odd = |page: PageId| {
            let mut kinds = crash.pages.iter().filter(|(id, _)| *id == page).map(|(_, kind)| *kind);
            kinds.any(|kind| kind == "other bytes" || kind == "row too many")
        };
        let unexplained: Vec<_> = report
            .findings
            .iter()
            .filter(|finding| ![8909, 8928].contains(&finding.error))
            .filter(|finding| !finding.location.page.is_some_and(odd))
            .collect();
        assert!(unexplained.is_empty(), "{seed}: {unexplained:#?}");
        in_flight += notes(&report, 59026).len();
        assert_eq!(notes(&report, 59009).len(), 1);
        let is_doubtful = report.findings.is_empty() && !notes(&report, 59026).is_empty();
        assert!(!is_doubtful || report.verdict == Verdict::Incomplete);
    }
    assert!(in_flight > 20, "{in_flight}");
}

#[test]
fn a_page_that_was_never_written_is_in_flight_when_its_maps_are_newer() {
    let folder = Folder::new();
    let sound = folder.make("demo", 20_000);
    let units = user_units(&sound);
    let of_user_tables =
        |header: &PageHeader| header.kind().holds_records() && units.contains(&header.alloc_unit());
    for seed in 0..4 {
        let may = |header: &PageHeader| of_user_tables(header) && header.kind() == PageType::Index;
        let options = CrashOptions { seed, pages: 10, may_choose: &may, leave_open: false };
        let first = crash(&sound, &options).expect("a crash");
        // The PFS page reached the disk after the checkpoint.
        let mut data = first.data.clone();
        let pfs: &mut PageBytes = data[8192..].first_chunk_mut().expect("a PFS page");
        PageHeader::of_mut(pfs).lsn_bytes = extentdb_base::Lsn::new(u32::MAX, 1, 1).to_bytes();
        checksum::seal(pfs);
        let path = folder.path("pfs.mdf");
        std::fs::write(&path, &data).expect("a data file");
        let report = check(open(&[path]).source(), LogUse::None);
        assert_eq!(numbers(&report), NONE, "{seed}: {:#?}", report.findings);
        assert_ne!(report.verdict, Verdict::Damaged);
    }
}

#[test]
fn real_damage_of_a_crashed_copy_is_damage_with_and_without_log() {
    let folder = Folder::new();
    let sound = folder.make("demo", 20_000);
    let units = user_units(&sound);
    let of_user_tables =
        |header: &PageHeader| header.kind().holds_records() && units.contains(&header.alloc_unit());
    let options = CrashOptions {
        seed: 1,
        pages: 30,
        may_choose: &of_user_tables,
        leave_open: false,
    };
    let mut crash = crash(&sound, &options).expect("a crash");
    let victim = (200..).map(|page| PageId::new(1, page)).find(|id| {
        let page: &PageBytes = crash.data[id.page as usize * 8192..].first_chunk().expect("a page");
        of_user_tables(PageHeader::of(page)) && crash.pages.iter().all(|(changed, _)| changed != id)
    });
    let victim = victim.expect("a page nobody changed");
    crash.data[victim.page as usize * 8192 + 1000] ^= 0x55;
    let paths = folder.write(&crash);
    let (with_log, _) = check_with_log(&open(&paths));
    let without = check(open(&paths[..1]).source(), LogUse::None);
    for report in [with_log, without] {
        assert_eq!(report.verdict, Verdict::Damaged);
        let named = report.findings.iter().filter(|finding| finding.location.page == Some(victim));
        assert!(named.map(|finding| finding.error).any(|error| error == 8939 || error == 8928));
    }
}

#[test]
fn changes_of_an_open_transaction_are_named_and_undone() {
    let folder = Folder::new();
    let sound = folder.make("demo", 20_000);
    let units = user_units(&sound);
    let of_user_tables =
        |header: &PageHeader| header.kind().holds_records() && units.contains(&header.alloc_unit());
    let options = CrashOptions {
        seed: 3,
        pages: 20,
        may_choose: &of_user_tables,
        leave_open: true,
    };
    let crash = crash(&sound, &options).expect("a crash");
    let open_page = crash.open_page.expect("a leaf with a neighbour");
    let (report, summary) = check_with_log(&open(&folder.write(&crash)));
    assert_eq!(summary.unfinished.len(), 1);
    assert!(summary.unfinished[0].pages.contains(&open_page));
    assert_eq!(numbers(&report), NONE, "{:#?}", report.findings);
    assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.coverage.not_checked);
    assert_eq!(summary.unfinished[0].not_undone, None);
    let [open] = notes(&report, 59027)[..] else { panic!("one transaction") };
    assert!(
        open.contains("'work'") && open.contains("1 changes") && open.contains("undone in memory"),
        "{open}"
    );
    // The same broken link without a transaction that explains it is damage.
    let undone = check(&wrong_link(&sound, open_page), LogUse::None);
    assert_eq!(undone.verdict, Verdict::Damaged);
}

/// The sound database with a leaf that has lost its neighbour.
fn wrong_link(sound: &[u8], id: PageId) -> support::Memory {
    let mut memory = support::Memory::new(sound.to_vec());
    memory.header(id.page, |header| header.next_bytes = [0; 6]);
    memory
}

#[test]
fn a_damaged_log_is_used_up_to_the_damage_and_a_foreign_one_not_at_all() {
    let folder = Folder::new();
    let sound = folder.make("demo", 20_000);
    let units = user_units(&sound);
    let of_user_tables =
        |header: &PageHeader| header.kind().holds_records() && units.contains(&header.alloc_unit());
    let options = CrashOptions {
        seed: 5,
        pages: 60,
        may_choose: &of_user_tables,
        leave_open: false,
    };
    let crash = crash(&sound, &options).expect("a crash");
    let log_bytes = crash.log.len();
    let [data, log] = folder.write(&crash);
    let mut kept = 0;
    for at in (0x4000 + 0x30..log_bytes).step_by(7000) {
        let mut damaged = crash.log.clone();
        damaged[at] ^= 0x21;
        std::fs::write(&log, &damaged).expect("a log");
        let opened = open(&[data.clone(), log.clone()]);
        match recover(&opened, &RecoverOptions::default()).expect("memory enough") {
            Recovery::Redone(recovered) => {
                let Recovered { source, summary } = *recovered;
                kept += summary.changes;
                let why = summary.ends_early.clone();
                let report = check(&source, LogUse::Redone(Arc::new(summary)));
                assert_eq!(
                    notes(&report, 59029).len(),
                    usize::from(why.is_some()),
                    "{at:#x} {why:?}"
                );
                assert_eq!(report.verdict == Verdict::Clean, why.is_none(), "{at:#x} {why:?}");
            }
            Recovery::WithoutLog { why } => {
                assert!(why.expect("a reason").contains("checkpoint"), "{at:#x}")
            }
            Recovery::NotNeeded => panic!("not closed cleanly"),
        }
    }
    assert!(kept > 100, "{kept}");
    let other = extentdb_faults::crash::crash(&sound, &CrashOptions { seed: 6, ..options })
        .expect("another crash");
    let mut sequence = other.log.clone();
    sequence[0x2004] ^= 0x40;
    std::fs::write(&log, &sequence).expect("a log");
    let opened = open(&[data, log]);
    let foreign = recover(&opened, &RecoverOptions::default()).expect("memory enough");
    assert!(matches!(foreign, Recovery::WithoutLog { why: Some(why) } if why.contains("another")));
}

#[test]
fn memory_for_changed_pages_is_bounded() {
    let folder = Folder::new();
    let sound = folder.make("demo", 20_000);
    let units = user_units(&sound);
    let of_user_tables =
        |header: &PageHeader| header.kind().holds_records() && units.contains(&header.alloc_unit());
    let options = CrashOptions {
        seed: 5,
        pages: 60,
        may_choose: &of_user_tables,
        leave_open: false,
    };
    let opened = open(&folder.write(&crash(&sound, &options).expect("a crash")));
    let Err(error) = recover(&opened, &RecoverOptions { overlay_bytes: 20 * 8192, until: None })
    else {
        panic!("20 pages are not enough")
    };
    assert!(matches!(error, RecoverError::OverlayFull { pages: 20, .. }), "{error}");
}

#[test]
fn databases_that_were_closed_cleanly_do_not_need_their_log() {
    let folder = Folder::new();
    let sound = folder.make("demo", 5_000);
    let path = folder.path("clean.mdf");
    std::fs::write(&path, &sound).expect("a data file");
    let opened = open(&[path]);
    assert!(matches!(recover(&opened, &RecoverOptions::default()), Ok(Recovery::NotNeeded)));
}

#[test]
fn real_backups_and_databases_are_recovered_without_a_stop() {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")),
        PathBuf::from,
    );
    if !folder.is_dir() {
        eprintln!("SKIPPED: no samples in {}", folder.display());
        return;
    }
    for name in ["northwind-2014.bak", "pubs-2012.bak", "tsql2012-compressed.bak"] {
        let opened = open(&[folder.join(name)]);
        match recover(&opened, &RecoverOptions::default()).expect("memory enough") {
            Recovery::Redone(recovered) => {
                let Recovered { source, summary } = *recovered;
                println!("{name}: {summary:?}");
                assert_eq!(
                    (summary.unfinished.len(), &summary.stopped[..]),
                    (0, &[][..]),
                    "{name}"
                );
                assert!(summary.records > 0 && summary.ends_early.is_none(), "{name}");
                let report = check(&source, LogUse::Redone(Arc::new(summary)));
                assert_eq!(numbers(&report), NONE, "{name}");
                assert_eq!(report.verdict, Verdict::Clean, "{name}");
            }
            Recovery::NotNeeded => panic!("{name}: a backup always has a log to look at"),
            Recovery::WithoutLog { why } => panic!("{name}: {why:?}"),
        }
    }
    for name in ["northwind-2008", "pubs-2008", "northwind-from-2000", "crud-2012"] {
        let opened =
            open(&[folder.join(format!("{name}.mdf")), folder.join(format!("{name}_log.ldf"))]);
        assert!(
            matches!(recover(&opened, &RecoverOptions::default()), Ok(Recovery::NotNeeded)),
            "{name}"
        );
    }
}
