use extentdb_base::FileId;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_faults::crash::{Crash, CrashOptions, crash};
use extentdb_format::log::block::checksum;
use extentdb_template::{MakeOptions, Size, make};

use super::*;
use crate::source::MemoryFile;

fn crashed() -> Crash {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sound.mdf");
    let options = MakeOptions { shape: "heap".to_owned(), size: Size::Rows(500), seed: 5 };
    make(&options, &[&path], &mut |_| {}).unwrap();
    let choice = CrashOptions { seed: 2, pages: 60, may_choose: &|_| true, leave_open: true };
    crash(&std::fs::read(path).unwrap(), &choice).unwrap()
}

fn redo_all<'s>(
    source: &'s MemoryFile,
    log: &[u8],
    checkpoint: Lsn,
) -> Result<Recovery<'s>, RecoverError> {
    let reader = LogReader::open(log).unwrap();
    let boot = boot_record(source);
    recover_with(
        source,
        &reader,
        checkpoint,
        boot.as_ref(),
        &RecoverOptions { overlay_bytes: 1 << 24, until: None },
    )
}

/// Changes bytes of records and makes the blocks good again, so that it is the records that are
/// wrong.
fn spoil(log: &mut [u8], rng: &mut SplitMix64) {
    let mut at = 0x4000;
    while at + 0x30 < log.len() {
        let size = usize::from(u16::from_le_bytes([log[at + 6], log[at + 7]]));
        let used = usize::from(u16::from_le_bytes([log[at + 4], log[at + 5]]));
        if size < 512 || at + size > log.len() || used < 0x40 {
            return;
        }
        for _ in 0..rng.below(4) {
            let offset = at + 0x28 + rng.below(used as u64 - 0x28) as usize;
            // The first byte of a sector is its stamp.
            if !offset.is_multiple_of(512) {
                log[offset] =
                    if rng.below(2) == 0 { rng.next_u64() as u8 } else { log[offset] ^ 1 };
            }
        }
        checksum::seal(&mut log[at..at + size]);
        at += size;
    }
}

#[test]
fn nonsense_records_stop_their_page_only() {
    let crash = crashed();
    let source = MemoryFile::new(FileId(1), crash.data.clone());
    let mut rng = SplitMix64::new(11);
    let mut stopped = 0;
    let mut changed = 0;
    for _ in 0..150 {
        let mut log = crash.log.clone();
        spoil(&mut log, &mut rng);
        if let Ok(Recovery::Redone(recovered)) = redo_all(&source, &log, crash.checkpoint) {
            stopped += recovered.summary.stopped.len();
            changed += recovered.summary.changes;
            let named = recovered.summary.stopped.iter().all(|page| !page.why.is_empty());
            assert!(named && recovered.source.overlaid_count() <= 2048);
        }
    }
    assert!(stopped > 50 && changed > 1000, "{stopped} stopped, {changed} changed");
}

#[test]
fn random_bytes_are_no_log() {
    let crash = crashed();
    let source = MemoryFile::new(FileId(1), crash.data.clone());
    let mut rng = SplitMix64::new(3);
    for round in 0..60 {
        let mut log = crash.log.clone();
        let start = 0x2000 * (round % 3);
        log[start..].iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
        match redo_all(&source, &log, crash.checkpoint) {
            Ok(Recovery::WithoutLog { why }) => assert!(why.is_some()),
            Ok(_) => panic!("the log is gone"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_stopped_page_is_redone_from_its_next_format_record() {
    let crash = crashed();
    let mut data = crash.data.clone();
    // Every page that is made from nothing lies there damaged.
    let written: Vec<PageId> = crash
        .pages
        .iter()
        .filter(|(_, history)| *history == "never written")
        .map(|(id, _)| *id)
        .collect();
    assert!(written.len() > 5);
    for id in &written {
        let at = id.page as usize * 8192;
        data[at..at + 8192].fill(0xdb);
    }
    let source = MemoryFile::new(FileId(1), data);
    let Ok(Recovery::Redone(recovered)) = redo_all(&source, &crash.log, crash.checkpoint) else {
        panic!("redone")
    };
    assert_eq!(recovered.summary.stopped, []);
    for id in written {
        let mut page = PageBuf::zeroed();
        recovered.source.read(id, &mut page).unwrap();
        assert!(check(id, &mut page).is_ok(), "{id}");
    }
}
