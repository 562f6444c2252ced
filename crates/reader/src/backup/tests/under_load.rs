//! A backup whose pages are older than its end: the log that it carries completes them.

use extentdb_base::size::PAGE_BYTES;
use extentdb_faults::crash::{Crash, CrashOptions, crash};
use extentdb_format::PageBytes;
use extentdb_format::page::{PageHeader, PageRef, checksum};
use extentdb_template::{MakeOptions, Size, make};

use super::builder::{LogSpec, MediaSpec, SetSpec};
use super::*;
use crate::recover::{RecoverOptions, recover};
use crate::{OpenOptions, OpenedFiles, PageSource, Recovered, Recovery};

/// Where the blocks of a log with one VLF begin.
const BLOCKS_AT: u64 = 0x4000;

/// A full backup of the data file and the log that a crash left.
fn backup_of(crash: &Crash) -> SetSpec {
    let extents: Vec<Vec<u8>> = crash.data.chunks(EXTENT_BYTES).map(<[u8]>::to_vec).collect();
    let log = LogSpec {
        sequence: crash.checkpoint.vlf,
        vlf_offset: 0x2000,
        vlf_bytes: crash.log.len() as u64 - 0x2000,
        first: BLOCKS_AT,
        bytes: crash.log[BLOCKS_AT as usize..].to_vec(),
        is_here: true,
        parity: [0x40, 0],
    };
    let full = SetSpec::full(1, extents.len() as u32, extents);
    SetSpec { logs: vec![log], checkpoint: crash.checkpoint, ..full }
}

fn rows(page: &PageBytes) -> Vec<&[u8]> {
    let view = PageRef::new(page);
    (0..view.slot_count()).filter_map(|slot| view.row(slot).ok()).collect()
}

#[test]
fn a_backup_taken_under_load_is_completed_by_the_log_it_carries() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sound.mdf");
    let options = MakeOptions { shape: "demo".to_owned(), size: Size::Rows(3000), seed: 5 };
    make(&options, &[&path], &mut |_| {}).unwrap();
    let sound = std::fs::read(&path).unwrap();
    let choice = CrashOptions { seed: 9, pages: 60, may_choose: &|_| true, leave_open: false };
    let crash = crash(&sound, &choice).unwrap();
    let media = MediaSpec::of(vec![backup_of(&crash)]);
    for bytes in [media.build(), media.clone().packed().build()] {
        let path = folder.path().join("load.bak");
        std::fs::write(&path, bytes).unwrap();
        let opened = OpenedFiles::open(&[path], &OpenOptions::default()).unwrap();
        let Ok(Recovery::Redone(recovered)) = recover(&opened, &RecoverOptions::default()) else {
            panic!("the backup carries its log")
        };
        let Recovered { source, summary } = *recovered;
        assert_eq!((&summary.stopped[..], summary.unfinished.len()), (&[][..], 0));
        assert_eq!((summary.checkpoint, &summary.ends_early), (crash.checkpoint, &None));
        assert!(summary.pages_changed > 20, "{summary:?}");
        for (id, history) in &crash.pages {
            let mut page = Box::new([0; PAGE_BYTES]);
            source.read(*id, &mut page).unwrap();
            assert!(checksum::verify(&page).is_intact(), "{id}");
            checksum::restore_torn(&mut page);
            let mut target = Box::new(
                *sound[id.page as usize * PAGE_BYTES..].first_chunk::<PAGE_BYTES>().unwrap(),
            );
            checksum::restore_torn(&mut target);
            assert!(rows(&page) == rows(&target), "{id} {history}");
            let links =
                |page: &PageBytes| (PageHeader::of(page).prev(), PageHeader::of(page).next());
            assert_eq!(links(&page), links(&target), "{id} {history}");
        }
    }
}

#[test]
fn a_backup_without_its_log_reports_it() {
    let folder = tempfile::tempdir().unwrap();
    let extents = [0, 1].map(|index| builder::formatted(1, index, 3)).to_vec();
    let path = folder.path().join("nolog.bak");
    std::fs::write(&path, MediaSpec::of(vec![SetSpec::full(1, 2, extents)]).build()).unwrap();
    let opened = OpenedFiles::open(&[path], &OpenOptions::default()).unwrap();
    let recovery = recover(&opened, &RecoverOptions::default());
    let Ok(Recovery::WithoutLog { why: Some(why) }) = recovery else { panic!("no log") };
    assert_eq!(why, "the backup carries no log");
}
