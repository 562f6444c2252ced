//! What the pool promises, one promise per test.

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use extentdb_base::{FileId, Lsn, PageId};
use extentdb_buffer::{Error, PageFault};
use extentdb_format::page::{PageHeader, checksum};
use extentdb_telemetry::{Event, WaitType};
use support::{Bench, FILE, TestLog, change, counter, fresh_image, lsn, page, put, sealed};

#[track_caller]
fn fault_of_image(change: impl FnOnce(&mut [u8])) -> PageFault {
    let mut image = fresh_image(4);
    change(&mut image);
    let bench = Bench::over(8, image, Arc::default());
    let error = bench.pool.read(page(2)).unwrap_err();
    let reads = bench.file.reads.lock().unwrap().len();
    match error {
        Error::BadPage { page: PageId { page: 2, .. }, fault } => {
            assert_eq!(reads, 5, "the first read and four more");
            fault
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_page_that_does_not_add_up_is_refused_with_its_fault() {
    let at = 2 * 8192;
    assert!(matches!(fault_of_image(|image| image[at + 5000] ^= 1), PageFault::Checksum { .. }));
    let other = PageId::new(1, 3);
    assert_eq!(
        fault_of_image(|image| image[at..at + 8192].copy_from_slice(&sealed(other, 0))),
        PageFault::WrongPage { found: other }
    );
    assert_eq!(fault_of_image(|image| image[at..at + 8192].fill(0)), PageFault::Zeroed);
    assert_eq!(
        fault_of_image(|image| image[at..at + 8192].fill(7)),
        PageFault::HeaderVersion { found: 7 }
    );
    let torn = |image: &mut [u8]| {
        let mut bytes = sealed(page(2), 9);
        checksum::seal_torn(&mut bytes, 1);
        bytes[512 * 3 + 511] ^= 3;
        image[at..at + 8192].copy_from_slice(&bytes);
    };
    assert_eq!(fault_of_image(torn), PageFault::Torn { sectors: 1 << 3 });
}

#[test]
fn pages_that_cannot_be_there_are_refused_at_once() {
    let bench = Bench::new(8, 4);
    let beyond = bench.pool.read(page(4)).unwrap_err();
    assert!(matches!(beyond, Error::BadPage { fault: PageFault::BeyondEnd { file_pages: 4 }, .. }));
    assert!(matches!(bench.pool.create(page(4)).unwrap_err(), Error::BadPage { .. }));
    let elsewhere = bench.pool.read(PageId::new(2, 0)).unwrap_err();
    assert!(matches!(elsewhere, Error::NoFile { file: FileId(2) }));
    assert_eq!(bench.file.reads.lock().unwrap().len(), 0);
}

#[test]
fn torn_page_protection_is_taken_off_when_read_and_becomes_a_checksum_when_written() {
    let mut bytes = sealed(page(1), 0x0303_0303);
    checksum::seal_torn(&mut bytes, 2);
    let mut image = fresh_image(2);
    image[8192..].copy_from_slice(&bytes);
    let bench = Bench::over(8, image, Arc::default());
    {
        let guard = bench.pool.read(page(1)).unwrap();
        assert_eq!(counter(&guard).to_le_bytes(), guard[8184..], "the displaced bits are back");
    }
    bench.change(1, 5);
    bench.pool.write_dirty().unwrap();
    let image = bench.durable_image();
    assert_eq!(PageHeader::of(support::page_of(&image, 1)).flag_bits.get() & 0x300, 0x200);
    assert_eq!(bench.durable_counter(1), 5);
}

#[test]
fn a_read_that_succeeds_after_retries_is_reported() {
    let bench = Bench::new(8, 4);
    bench.file.fail_reads.store(1, Ordering::SeqCst);
    bench.file.garble_reads.store(1, Ordering::SeqCst);
    assert_eq!(counter(&bench.pool.read(page(3)).unwrap()), 0);
    assert_eq!(bench.events.take(), [Event::ReadRetry { page: page(3), failures: 2 }]);
    assert_eq!(bench.pool.stats().read_retries, 2);

    bench.file.fail_reads.store(5, Ordering::SeqCst);
    assert!(matches!(bench.pool.read(page(1)).unwrap_err(), Error::Disk { file: FILE, .. }));
    assert_eq!(
        counter(&bench.pool.read(page(1)).unwrap()),
        0,
        "a failed read leaves nothing behind"
    );
}

#[test]
fn neighbours_are_written_together_sorted_with_one_sync() {
    let bench = Bench::new(512, 400);
    // Backwards, with a gap at 350.
    for number in (0..300).rev().chain(351..360) {
        bench.change(number, 7);
    }
    assert_eq!(bench.pool.dirty_count(), 309);
    let stats = bench.pool.write_dirty().unwrap();
    assert_eq!((stats.pages, stats.writes, stats.syncs), (309, 4, 1));
    assert_eq!(*bench.file.writes.lock().unwrap(), [(0, 128), (128, 128), (256, 44), (351, 9)]);
    assert_eq!(bench.file.syncs.load(Ordering::SeqCst), 1);
    assert_eq!((bench.pool.dirty_count(), bench.pool.oldest_dirty()), (0, None));
    assert!((0..300).all(|number| bench.durable_counter(number) == 7));
    let again = bench.pool.write_dirty().unwrap();
    assert_eq!((again.pages, again.writes, again.syncs), (0, 0, 0), "nothing to do, nothing done");
}

#[test]
fn a_created_page_that_was_never_formatted_is_not_a_page() {
    let bench = Bench::new(8, 4);
    bench.change(2, 5);
    bench.pool.write_dirty().unwrap();
    drop(bench.pool.create(page(2)).unwrap());
    assert_eq!(counter(&bench.pool.read(page(2)).unwrap()), 5, "as if it had not been touched");

    let mut guard = bench.pool.create(page(2)).unwrap();
    assert!(guard.iter().all(|byte| *byte == 0));
    let lsn = bench.log.append(page(2), 6);
    put(guard.bytes_mut(), page(2), 6, lsn);
    guard.set_dirty(lsn);
    drop(guard);
    assert_eq!(counter(&bench.pool.read(page(2)).unwrap()), 6);
    // A page whose creation failed after it had changes: zeros, which are no valid page.
    drop(bench.pool.create(page(2)).unwrap());
    bench.pool.write_dirty().unwrap();
    bench.pool.discard_all();
    let error = bench.pool.read(page(2)).unwrap_err();
    assert!(matches!(error, Error::BadPage { fault: PageFault::Zeroed, .. }));
}

#[test]
fn creating_reads_nothing() {
    let mut image = fresh_image(4);
    image[8192..2 * 8192].fill(0xAA);
    let bench = Bench::over(8, image, Arc::default());
    let mut guard = bench.pool.create(page(1)).unwrap();
    let lsn = bench.log.append(page(1), 1);
    put(guard.bytes_mut(), page(1), 1, lsn);
    guard.set_dirty(lsn);
    drop(guard);
    bench.pool.write_dirty().unwrap();
    assert_eq!(bench.file.reads.lock().unwrap().len(), 0);
    assert_eq!(bench.durable_counter(1), 1);
}

#[test]
fn a_small_pool_serves_a_large_file() {
    let bench = Bench::new(8, 200);
    for round in 1..4 {
        for number in 0..200 {
            bench.change(number, round);
        }
    }
    for number in 0..200 {
        assert_eq!(counter(&bench.pool.read(page(number)).unwrap()), 3);
    }
    let stats = bench.pool.stats();
    assert!(stats.evictions >= 3 * 200 && stats.page_writes >= 3 * 200 - 8, "{stats:?}");
    assert!(stats.write_calls < stats.page_writes, "victims are written with their neighbours");
    assert_eq!(stats.cached_pages, 8);
    assert_eq!(bench.pool.oldest_dirty(), Some(lsn(1)), "nothing was synced yet");
    bench.pool.write_dirty().unwrap();
    assert_eq!(bench.pool.oldest_dirty(), None);
    assert!((0..200).all(|number| bench.durable_counter(number) == 3));
}

#[test]
fn fixed_pages_stay_and_a_full_pool_is_an_error() {
    let bench = Bench::new(8, 20);
    let mut guards: Vec<_> = (0..8).map(|number| bench.pool.read(page(number)).unwrap()).collect();
    assert!(matches!(bench.pool.read(page(8)).unwrap_err(), Error::NoFrame { frames: 8 }));
    guards.pop();
    assert_eq!(counter(&bench.pool.read(page(8)).unwrap()), 0);
    let addresses: Vec<*const u8> = guards.iter().map(|guard| guard.as_ptr()).collect();
    (8..20).for_each(|number| drop(bench.pool.read(page(number)).unwrap()));
    assert!(guards.iter().zip(&addresses).all(|(guard, address)| guard.as_ptr() == *address));
    assert!(guards.iter().all(|guard| PageHeader::of(guard).page_id() == guard.id()));
}

#[test]
fn guards_outlive_the_pool() {
    let bench = Bench::new(8, 4);
    bench.change(1, 77);
    let guard = bench.pool.read(page(1)).unwrap();
    drop(bench);
    assert_eq!(counter(&guard), 77);
}

#[test]
fn used_pages_get_a_second_chance() {
    let bench = Bench::new(16, 100);
    drop(bench.pool.read(page(0)).unwrap());
    for number in 1..100 {
        drop(bench.pool.read(page(number)).unwrap());
        drop(bench.pool.read(page(0)).unwrap());
    }
    // The first turn of the hand finds every page used and takes the first; from then on it knows
    // better.
    assert_eq!(bench.pool.stats().page_reads, 101, "the page that is used all the time stays");
}

#[test]
fn a_change_counts_until_its_image_is_durable() {
    let bench = Bench::new(8, 100);
    assert_eq!(bench.pool.oldest_dirty(), None);
    let first = bench.change(1, 1);
    let second = bench.change(2, 1);
    bench.change(1, 2);
    assert_eq!(bench.pool.oldest_dirty(), Some(first));
    // Nothing but dirty pages: one must leave memory, and takes its neighbour along, as many as a
    // quarter of the pool holds. Written, but not durable.
    (3..9).for_each(|number| assert!(!bench.change(number, 1).is_zero()));
    (10..40).for_each(|number| drop(bench.pool.read(page(number)).unwrap()));
    assert_eq!(
        (bench.pool.dirty_count(), bench.file.writes.lock().unwrap().as_slice()),
        (6, &[(1, 2)][..])
    );
    assert_eq!((bench.pool.oldest_dirty(), bench.durable_counter(1)), (Some(first), 0));
    let third = bench.change(3, 1);
    assert!(second < third);
    bench.pool.write_dirty().unwrap();
    assert_eq!((bench.pool.oldest_dirty(), bench.durable_counter(1)), (None, 2));
}

#[test]
fn a_page_changed_while_it_is_written_stays_dirty_by_the_later_change() {
    let bench = Bench::new(8, 10);
    let first = bench.change(1, 1);
    let pool = Arc::clone(&bench.pool);
    let log = Arc::clone(&bench.log);
    *bench.file.on_write.lock().unwrap() = Some(Box::new(move || {
        assert_eq!(pool.oldest_dirty(), Some(first), "in flight is not durable");
        // No latch is held during the write: the page can be changed.
        let second = change(&pool, &log, 1, 2);
        assert_eq!((second, pool.oldest_dirty(), pool.dirty_count()), (lsn(2), Some(first), 1));
    }));
    bench.pool.write_dirty().unwrap();
    assert_eq!(bench.durable_counter(1), 1);
    assert_eq!((bench.pool.oldest_dirty(), bench.pool.dirty_count()), (Some(lsn(2)), 1));
    bench.pool.write_dirty().unwrap();
    assert_eq!((bench.durable_counter(1), bench.pool.oldest_dirty()), (2, None));
}

#[test]
fn changes_without_log_are_written_and_hold_nothing_back() {
    let bench = Bench::new(8, 10);
    let mut guard = bench.pool.write(page(1)).unwrap();
    put(guard.bytes_mut(), page(1), 3, Lsn::ZERO);
    guard.set_dirty(Lsn::ZERO);
    drop(guard);
    assert_eq!((bench.pool.dirty_count(), bench.pool.oldest_dirty()), (1, None));
    bench.pool.write_dirty().unwrap();
    assert_eq!((bench.durable_counter(1), bench.log.flushes.load(Ordering::SeqCst)), (3, 0));
}

#[track_caller]
fn goes_offline(break_it: impl FnOnce(&Bench), expected: impl FnOnce(&Error) -> bool) {
    let bench = Bench::new(8, 10);
    let first = bench.change(1, 1);
    break_it(&bench);
    let error = bench.pool.write_dirty().unwrap_err();
    assert!(expected(&error), "{error}");
    assert!(bench.pool.outage().has_begun());
    let events = bench.events.take();
    assert_eq!(
        events.iter().filter(|event| matches!(event, Event::Offline { .. })).count(),
        1,
        "{events:?}"
    );
    // From here on the device works again; that changes nothing.
    bench.log.broken.store(false, Ordering::SeqCst);
    assert!(matches!(bench.pool.write_dirty(), Err(Error::Offline(_))));
    assert!(matches!(bench.pool.write(page(2)), Err(Error::Offline(_))));
    assert!(matches!(bench.pool.create(page(2)), Err(Error::Offline(_))));
    assert!(matches!(bench.pool.try_write(page(2)), Err(Error::Offline(_))));
    assert_eq!(counter(&bench.pool.read(page(1)).unwrap()), 1, "what is in memory can be read");
    assert_eq!(counter(&bench.pool.read(page(5)).unwrap()), 0);
    assert_eq!(bench.pool.oldest_dirty(), Some(first), "and is not forgotten");
}

#[test]
fn after_a_failed_write_sync_or_log_flush_nothing_is_written_any_more() {
    goes_offline(
        |bench| bench.file.fail_writes.store(1, Ordering::SeqCst),
        |e| matches!(e, Error::Disk { .. }),
    );
    goes_offline(
        |bench| bench.file.fail_syncs.store(1, Ordering::SeqCst),
        |e| matches!(e, Error::Disk { .. }),
    );
    goes_offline(
        |bench| bench.log.broken.store(true, Ordering::SeqCst),
        |e| matches!(e, Error::Log(_)),
    );
}

#[test]
fn a_page_whose_lsn_was_not_announced_is_not_written() {
    let bench = Bench::new(8, 10);
    let first = bench.log.append(page(1), 1);
    let second = bench.log.append(page(1), 2);
    let mut guard = bench.pool.write(page(1)).unwrap();
    put(guard.bytes_mut(), page(1), 2, second);
    guard.set_dirty(first);
    drop(guard);
    let error = bench.pool.write_dirty().unwrap_err();
    let fault = PageFault::AheadOfLog { lsn: second, announced: first };
    assert!(matches!(error, Error::BadPage { fault: found, .. } if found == fault), "{error}");
    assert!(bench.pool.outage().has_begun() && bench.file.writes.lock().unwrap().is_empty());
}

#[test]
fn a_page_that_names_another_is_not_written() {
    let bench = Bench::new(8, 10);
    let lsn = bench.change(1, 1);
    let mut guard = bench.pool.write(page(2)).unwrap();
    put(guard.bytes_mut(), page(3), 1, lsn);
    guard.set_dirty(lsn);
    drop(guard);
    let error = bench.pool.write_dirty().unwrap_err();
    assert!(matches!(error, Error::BadPage { fault: PageFault::WrongPage { .. }, .. }), "{error}");
    assert_eq!((bench.pool.dirty_count(), bench.file.writes.lock().unwrap().len()), (2, 0));
}

#[test]
fn a_panic_amid_a_change_takes_the_pool_offline() {
    let bench = Bench::new(8, 10);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut guard = bench.pool.write(page(1)).unwrap();
        guard.bytes_mut()[200] = 1;
        panic!("half way");
    }));
    assert!(outcome.is_err() && bench.pool.outage().has_begun());
    assert!(bench.pool.read(page(1)).is_ok(), "the latch was given back");
}

#[test]
fn read_ahead_reads_neighbours_at_once_and_leaves_what_is_there() {
    let bench = Bench::new(256, 100);
    bench.change(12, 9);
    drop(bench.pool.read(page(16)).unwrap());
    bench.file.reads.lock().unwrap().clear();
    bench.pool.read_ahead(page(10), 8);
    assert_eq!(*bench.file.reads.lock().unwrap(), [(10, 2), (13, 3), (17, 1)]);
    bench.pool.read_ahead(page(90), 64);
    bench.pool.read_ahead(page(200), 8);
    bench.pool.read_ahead(PageId::new(9, 0), 8);
    assert_eq!(bench.file.reads.lock().unwrap()[3..], [(90, 10)], "up to the end of the file");
    bench.file.reads.lock().unwrap().clear();
    for number in (10..18).chain(90..100) {
        assert_eq!(
            counter(&bench.pool.read(page(number)).unwrap()),
            if number == 12 { 9 } else { 0 }
        );
    }
    assert_eq!(bench.file.reads.lock().unwrap().len(), 0);
    assert_eq!(bench.pool.stats().read_ahead_pages, 16);
}

#[test]
fn read_ahead_keeps_quiet_about_bad_pages_and_their_reader_does_not() {
    let mut image = fresh_image(20);
    image[5 * 8192 + 999] ^= 1;
    let bench = Bench::over(64, image, Arc::default());
    bench.pool.read_ahead(page(0), 16);
    assert_eq!(bench.pool.stats().read_ahead_pages, 15);
    assert!(matches!(bench.pool.read(page(5)).unwrap_err(), Error::BadPage { .. }));
    bench.file.fail_reads.store(1, Ordering::SeqCst);
    bench.pool.read_ahead(page(16), 4);
    assert_eq!(counter(&bench.pool.read(page(17)).unwrap()), 0);
}

#[test]
fn read_ahead_takes_a_quarter_of_the_pool_and_writes_nothing() {
    let bench = Bench::new(32, 200);
    (0..32).for_each(|number| assert!(!bench.change(number, 1).is_zero()));
    bench.pool.read_ahead(page(100), 64);
    assert_eq!((bench.pool.dirty_count(), bench.pool.stats().read_ahead_pages), (32, 0));
    bench.pool.write_dirty().unwrap();
    bench.pool.read_ahead(page(100), 64);
    assert_eq!(bench.pool.stats().read_ahead_pages, 8);
}

#[test]
fn the_lazy_writer_frees_frames_before_they_are_wanted() {
    let bench = Bench::new(64, 200);
    (0..64).for_each(|number| assert!(!bench.change(number, 1).is_zero()));
    let stalls = bench.pool.stats().free_list_stalls;
    let sweep = bench.pool.sweep(10).unwrap();
    assert_eq!((sweep.freed, sweep.free_frames), (10, 10));
    assert!(sweep.pages_written >= 10, "{sweep:?}");
    (100..110).for_each(|number| drop(bench.pool.read(page(number)).unwrap()));
    let stats = bench.pool.stats();
    assert_eq!((stats.free_list_stalls, stats.lazy_writes), (stalls, sweep.pages_written));
    assert_eq!(bench.pool.sweep(1000).unwrap().free_frames, 32, "never more than half");
    let guards: Vec<_> = (0..32).map(|number| bench.pool.read(page(number)).unwrap()).collect();
    let idle = bench.pool.sweep(32).unwrap();
    assert_eq!(
        idle.free_frames as usize + guards.len() + bench.pool.stats().cached_pages as usize - 32,
        64
    );
}

#[test]
fn try_write_does_not_wait_for_others() {
    let bench = Bench::new(8, 10);
    let reader = bench.pool.read(page(1)).unwrap();
    assert!(bench.pool.try_write(page(1)).unwrap().is_none());
    drop(reader);
    assert!(bench.pool.try_write(page(1)).unwrap().is_some());
    let guard = bench.pool.try_write(page(2)).unwrap().unwrap().downgrade();
    assert!(bench.pool.try_write(page(2)).unwrap().is_none());
    assert_eq!(counter(&guard), counter(&bench.pool.read(page(2)).unwrap()));
}

#[test]
fn a_waiter_for_a_page_being_read_waits_for_io() {
    let bench = Bench::new(8, 10);
    let waits = Arc::clone(&bench.options.waits);
    let io_waits = move || waits.totals(WaitType::PageIoLatchSh).waiting_tasks_count;
    let seen = io_waits.clone();
    *bench.file.on_read.lock().unwrap() = Some(Box::new(move || {
        while seen() == 0 {
            std::thread::yield_now();
        }
    }));
    std::thread::scope(|scope| {
        let read = || assert_eq!(counter(&bench.pool.read(page(1)).unwrap()), 0);
        scope.spawn(read);
        scope.spawn(read);
    });
    assert_eq!((io_waits(), bench.pool.stats().page_reads), (1, 1));
    assert_eq!(bench.options.waits.totals(WaitType::PageLatchSh).waiting_tasks_count, 0);
}

#[test]
fn a_change_that_is_logged_but_not_announced_yet_is_waited_for() {
    let bench = Bench::new(8, 10);
    let mut guard = bench.pool.write(page(1)).unwrap();
    let lsn = bench.log.append(page(1), 1);
    std::thread::scope(|scope| {
        let asker = scope.spawn(|| bench.pool.oldest_dirty());
        while bench.options.waits.totals(WaitType::PageLatchSh).waiting_tasks_count == 0 {
            std::thread::yield_now();
        }
        put(guard.bytes_mut(), page(1), 1, lsn);
        guard.set_dirty(lsn);
        drop(guard);
        assert_eq!(asker.join().unwrap(), Some(lsn));
    });
}

#[test]
fn after_a_crash_nothing_is_remembered() {
    let bench = Bench::new(8, 10);
    bench.change(1, 1);
    bench.pool.write_dirty().unwrap();
    bench.change(1, 2);
    bench.change(2, 2);
    bench.pool.discard_all();
    assert_eq!((bench.pool.dirty_count(), bench.pool.oldest_dirty()), (0, None));
    assert_eq!(counter(&bench.pool.read(page(1)).unwrap()), 1);
    assert_eq!(counter(&bench.pool.read(page(2)).unwrap()), 0);
}

#[test]
fn a_test_log_refuses_what_it_never_had() {
    use extentdb_buffer::WriteAhead;
    let log = TestLog::default();
    log.append(page(1), 1);
    assert!(log.flush_to(lsn(1)).is_ok());
    assert!(
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| log.flush_to(lsn(2)))).is_err()
    );
}
