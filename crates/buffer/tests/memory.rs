//! What databases that share a memory can rely on, one promise per test.

mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use extentdb_base::env::SystemClock;
use extentdb_base::{Lsn, OfflineCause};
use extentdb_buffer::{BufferMemory, DoubleWrite, Error, PoolOptions};
use extentdb_format::double_write::AreaHeader;
use extentdb_io::MemDisk;
use extentdb_telemetry::{Event, Waits};
use support::{Bench, counter, fresh_image, page};

const PAGES: u32 = 40;

fn memory(frames: usize) -> Arc<BufferMemory> {
    BufferMemory::new(frames, Arc::new(Waits::new()), Arc::new(SystemClock::new()))
}

/// A double-write area that makes its file when it is needed.
fn area(disk: &MemDisk, path: &Path) -> DoubleWrite {
    let header = AreaHeader {
        binding_id: Default::default(),
        current_use: Lsn::new(1, 1, 1),
        oldest_use: Lsn::new(1, 1, 1),
        pages_per_segment: 8,
    };
    DoubleWrite::new(Arc::new(disk.clone()), path.to_path_buf(), header, None)
}

/// Fills the frames with pages that are changed and not written.
fn fill_with_changes(bench: &Bench, frames: u32) {
    for number in 0..frames {
        bench.change(number, u64::from(number) + 100);
    }
}

/// Reads `frames` unchanged pages and keeps them all in memory for an instant.
fn occupy(bench: &Bench, frames: u32) {
    let guards: Vec<_> = (0..frames).map(|number| bench.pool.read(page(number)).unwrap()).collect();
    assert!(guards.iter().all(|guard| counter(guard) == 0));
}

fn writes(bench: &Bench) -> usize {
    bench.file.writes.lock().unwrap().len()
}

#[test]
fn equal_page_ids_of_two_databases_are_two_pages() {
    let memory = memory(16);
    let first = Bench::sharing(&memory, PAGES);
    let second = Bench::sharing(&memory, PAGES);
    let logged = first.change(3, 30);
    assert_eq!(second.pool.oldest_dirty(), None, "the change is the other database's");
    second.change(2, 1);
    second.change(3, 31);
    assert_eq!((first.read(3), second.read(3)), (30, 31));

    assert_eq!((first.pool.stats().cached_pages, second.pool.stats().cached_pages), (1, 2));
    assert_eq!((memory.stats().cached_pages, memory.stats().databases), (3, 2));
    assert_eq!((first.pool.dirty_count(), second.pool.dirty_count()), (1, 2));
    assert_eq!(second.pool.write_dirty().unwrap().pages, 2);
    assert_eq!((first.pool.dirty_count(), writes(&first)), (1, 0));
    assert_eq!((first.pool.oldest_dirty(), second.pool.oldest_dirty()), (Some(logged), None));

    first.pool.discard_all();
    assert_eq!((first.read(3), second.read(3)), (0, 31));
}

#[test]
fn a_victim_is_written_by_its_own_log_and_files() {
    let memory = memory(8);
    let first = Bench::sharing(&memory, PAGES);
    let second = Bench::sharing(&memory, PAGES);
    fill_with_changes(&first, 8);
    occupy(&second, 8);
    assert!(writes(&first) > 0 && first.log.flushes.load(Ordering::SeqCst) > 0);
    assert_eq!((writes(&second), second.log.flushes.load(Ordering::SeqCst)), (0, 0));
    assert_eq!(first.pool.dirty_count(), 0);
    let stats = first.pool.stats();
    assert_eq!((stats.page_writes, stats.lazy_writes), (8, 0));
    // Written is not durable.
    assert!(first.pool.oldest_dirty().is_some());
    (0..8).for_each(|number| assert_eq!(first.read(number), u64::from(number) + 100));
}

#[test]
fn a_victim_is_copied_to_the_area_of_its_own_database() {
    let memory = memory(16);
    let disk = MemDisk::new();
    let path = Path::new("first.dw");
    let area = area(&disk, path);
    let options = PoolOptions { double_write: Some(Arc::new(area)), ..PoolOptions::new(0) };
    let first = Bench::in_memory(&memory, options, fresh_image(PAGES), Arc::default());
    let second = Bench::sharing(&memory, PAGES);
    fill_with_changes(&first, 16);
    assert!(disk.contents(path).is_none());
    occupy(&second, 16);
    assert_eq!(first.pool.dirty_count(), 0);
    let copies = disk.contents(path).expect("copies were made");
    assert!(copies.as_chunks::<8192>().0.iter().any(|image| counter(image) == 100));
}

#[test]
fn dirty_frames_of_an_offline_database_are_passed() {
    let memory = memory(8);
    let offline = Bench::sharing(&memory, PAGES);
    let other = Bench::sharing(&memory, PAGES);
    fill_with_changes(&offline, 6);
    offline.pool.outage().begin(OfflineCause::text(None, "for the test"));
    (0..PAGES).for_each(|number| assert_eq!(other.read(number), 0));
    (0..PAGES).for_each(|number| assert!(!other.change(number, 1).is_zero()));
    assert_eq!((writes(&offline), offline.pool.dirty_count()), (0, 6));
    (0..6).for_each(|number| assert_eq!(offline.read(number), u64::from(number) + 100));
    assert!(!other.pool.outage().has_begun());
}

#[test]
fn a_memory_full_of_an_offline_database_has_no_frame() {
    let memory = memory(8);
    let offline = Bench::sharing(&memory, PAGES);
    let other = Bench::sharing(&memory, PAGES);
    fill_with_changes(&offline, 8);
    offline.pool.outage().begin(OfflineCause::text(None, "for the test"));
    assert!(matches!(other.pool.read(page(0)), Err(Error::NoFrame { frames: 8 })));
    assert!(matches!(offline.pool.read(page(20)), Err(Error::Offline(_))), "its own reason");
    drop(offline);
    assert_eq!(other.read(0), 0);
}

#[test]
fn a_write_that_fails_takes_its_own_database_offline_only() {
    let memory = memory(8);
    let failing = Bench::sharing(&memory, PAGES);
    let other = Bench::sharing(&memory, PAGES);
    fill_with_changes(&failing, 7);
    failing.file.fail_writes.store(1, Ordering::SeqCst);
    assert!(memory.sweep(4).pages_written == 0);
    assert!(failing.pool.outage().has_begun() && !other.pool.outage().has_begun());
    (0..PAGES).for_each(|number| assert_eq!(other.read(number), 0));
    let events = failing.events.take();
    assert!(matches!(events[..], [Event::Offline { .. }]), "{events:?}");
    assert!(other.events.take().is_empty());

    // The same when a request of the other database meets the failure.
    let memory = self::memory(8);
    let failing = Bench::sharing(&memory, PAGES);
    let other = Bench::sharing(&memory, PAGES);
    fill_with_changes(&failing, 7);
    failing.log.broken.store(true, Ordering::SeqCst);
    (0..PAGES).for_each(|number| assert_eq!(other.read(number), 0));
    (0..PAGES).for_each(|number| assert!(!other.change(number, 1).is_zero()));
    assert!(!other.pool.outage().has_begun());
}

#[test]
fn a_dropped_pool_frees_its_frames_and_writes_nothing() {
    let memory = memory(8);
    let dropped = Bench::sharing(&memory, PAGES);
    let other = Bench::sharing(&memory, PAGES);
    assert_eq!(other.read(0), 0);
    fill_with_changes(&dropped, 7);
    let file = Arc::clone(&dropped.file);
    drop(dropped);
    let stats = memory.stats();
    assert_eq!((stats.databases, stats.cached_pages, stats.free_frames), (1, 1, 7));
    assert!(file.writes.lock().unwrap().is_empty());
    assert_eq!(Arc::strong_count(&file), 1, "its files are not kept open");
    let guards: Vec<_> = (0..8).map(|number| other.pool.read(page(number)).unwrap()).collect();
    assert_eq!(guards.len(), 8);
}

#[test]
fn a_guard_keeps_its_frame_when_the_pool_is_dropped() {
    let memory = memory(8);
    let dropped = Bench::sharing(&memory, PAGES);
    let other = Bench::sharing(&memory, PAGES);
    dropped.change(1, 77);
    let guard = dropped.pool.read(page(1)).unwrap();
    drop(dropped);
    let mut others: Vec<_> = (0..7).map(|number| other.pool.read(page(number)).unwrap()).collect();
    assert!(matches!(other.pool.read(page(7)), Err(Error::NoFrame { frames: 8 })));
    assert_eq!(counter(&guard), 77);
    drop(guard);
    others.push(other.pool.read(page(7)).unwrap());
    assert_eq!(memory.stats().cached_pages, 8);
    drop(others);
    other.pool.write_dirty().unwrap();
    assert_eq!(writes(&other), 0, "the change of the dropped pool is nobody's");
}

#[test]
fn a_pool_is_dropped_after_the_write_that_another_database_began() {
    let memory = memory(8);
    let dropped = Bench::sharing(&memory, PAGES);
    let other = Bench::sharing(&memory, PAGES);
    fill_with_changes(&dropped, 8);
    let began = Arc::new(AtomicBool::new(false));
    let ended = Arc::new(AtomicBool::new(false));
    let begins = Arc::clone(&began);
    let ends = Arc::clone(&ended);
    *dropped.file.on_write.lock().unwrap() = Some(Box::new(move || {
        begins.store(true, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(30));
        ends.store(true, Ordering::SeqCst);
    }));
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(other.read(0), 0));
        while !began.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        drop(dropped);
        assert!(ended.load(Ordering::SeqCst), "the write was under way");
    });
    assert_eq!(memory.stats().cached_pages, 1);
}

#[test]
fn an_ephemeral_page_is_written_to_free_its_frame_only() {
    let memory = memory(8);
    let ephemeral = Bench::ephemeral(&memory, PAGES);
    let logged = Bench::sharing(&memory, PAGES);
    fill_with_changes(&ephemeral, 4);
    assert_eq!((ephemeral.pool.dirty_count(), ephemeral.pool.oldest_dirty()), (4, None));
    assert_eq!(ephemeral.pool.write_dirty().unwrap().pages, 0);
    let mut guard = ephemeral.pool.write(page(0)).unwrap();
    ephemeral.pool.write_through(&mut guard).unwrap();
    drop(guard);
    assert_eq!((ephemeral.pool.dirty_count(), writes(&ephemeral)), (4, 0));

    // Others need the frames.
    occupy(&logged, 8);
    assert_eq!(ephemeral.pool.stats().page_writes, 4);
    (0..4).for_each(|number| assert_eq!(ephemeral.read(number), u64::from(number) + 100));
    fill_with_changes(&ephemeral, PAGES);
    memory.sweep(4);
    assert!(ephemeral.pool.stats().lazy_writes > 0);
    assert_eq!(ephemeral.log.flushes.load(Ordering::SeqCst), 0, "it waits for no log");
    assert_eq!(ephemeral.file.syncs.load(Ordering::SeqCst), 0);
    assert_eq!(ephemeral.pool.oldest_dirty(), None);
}

#[test]
fn an_ephemeral_database_keeps_no_copies() {
    let memory = memory(8);
    let disk = MemDisk::new();
    let path = Path::new("temp.dw");
    let area = area(&disk, path);
    let options = PoolOptions {
        double_write: Some(Arc::new(area)),
        durability: extentdb_buffer::Durability::Ephemeral,
        ..PoolOptions::new(0)
    };
    let bench = Bench::in_memory(&memory, options, fresh_image(PAGES), Arc::default());
    fill_with_changes(&bench, PAGES);
    assert!(bench.pool.stats().page_writes > 0);
    assert!(disk.contents(path).is_none());
}

#[test]
fn numbers_are_used_again() {
    let memory = memory(4);
    let kept = Bench::sharing(&memory, 2);
    kept.change(1, 5);
    for _ in 0..2 * 32_767 / 100 {
        let pools: Vec<Bench> = (0..100).map(|_| Bench::sharing(&memory, 2)).collect();
        assert_eq!(pools[99].read(1), 0, "a page of a dropped pool is found");
        pools[99].change(1, 9);
    }
    assert_eq!((kept.read(1), memory.stats().databases), (5, 1));
}

#[test]
fn one_sweep_frees_frames_for_all() {
    let memory = memory(32);
    let first = Bench::sharing(&memory, PAGES);
    let second = Bench::sharing(&memory, PAGES);
    fill_with_changes(&first, 16);
    fill_with_changes(&second, 16);
    let sweep = memory.sweep(16);
    assert_eq!((sweep.freed, sweep.free_frames), (16, 16));
    let lazy_writes = first.pool.stats().lazy_writes + second.pool.stats().lazy_writes;
    assert_eq!(lazy_writes, sweep.pages_written);
    assert!(sweep.pages_written >= 16);
    assert_eq!(memory.stats().cached_pages, 16);
}
