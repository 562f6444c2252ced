//! Every byte once, in both modes, with any number of consumers; bad reads, short files, early
//! ends.

use std::path::Path;
use std::time::Duration;

use extentdb_base::env::SystemClock;

use super::*;
use crate::error::FileOp;
use crate::file::File;

const SMALL_BUFFERED: ReadMode = ReadMode::Buffered { piece_bytes: 8192 };
const SMALL_DIRECT: ReadMode = ReadMode::Direct { piece_bytes: 8192, depth: 3 };

fn pattern(bytes: usize, seed: u8) -> Vec<u8> {
    (0..bytes).map(|at| (at / 13) as u8 ^ seed).collect()
}

fn scratch_file(dir: &Path, name: &str, bytes: &[u8]) -> File {
    std::fs::write(dir.join(name), bytes).unwrap();
    File::open_read(dir.join(name)).unwrap()
}

/// Reads `chunks` and puts the pieces together again: what was delivered of each source, and how
/// often each byte.
fn collect(
    sources: &[&dyn ReadAt],
    chunks: &[Chunk],
    mode: ReadMode,
    jobs: usize,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let cancel = AtomicBool::new(false);
    let reader = ChunkReader::new(sources, chunks, mode, &cancel);
    let pieces: Vec<(usize, u64, Vec<u8>)> = reader
        .run(jobs, |pieces| {
            let mut taken = Vec::new();
            while let Some(piece) = pieces.next() {
                let data = piece.data.unwrap();
                assert!(data.len() <= piece.bytes);
                assert_eq!(chunks[piece.chunk].file, piece.file);
                assert!(chunks[piece.chunk].range.contains(&piece.offset));
                taken.push((piece.file, piece.offset, data.to_vec()));
            }
            taken
        })
        .concat();

    let mut images: Vec<_> =
        sources.iter().map(|s| (vec![0; s.len() as usize], vec![0; s.len() as usize])).collect();
    let mut delivered = 0;
    for (file, offset, data) in pieces {
        let (bytes, counts) = &mut images[file];
        let at = offset as usize;
        bytes[at..at + data.len()].copy_from_slice(&data);
        counts[at..at + data.len()].iter_mut().for_each(|count| *count += 1);
        delivered += data.len() as u64;
    }
    assert_eq!(reader.bytes_read(), delivered);
    images
}

#[test]
fn every_byte_is_delivered_once_in_both_modes() {
    let dir = tempfile::tempdir().unwrap();
    let first = pattern(300_000, 0);
    let second = pattern(77_777, 0x55);
    let files = [scratch_file(dir.path(), "a", &first), scratch_file(dir.path(), "b", &second)];
    let sources: Vec<&dyn ReadAt> = files.iter().map(|file| file as &dyn ReadAt).collect();
    let chunks = plan(&[vec![0..300_000], vec![0..77_777]], 0, 50_000);

    for mode in [SMALL_BUFFERED, SMALL_DIRECT, ReadMode::BUFFERED, ReadMode::DIRECT] {
        for jobs in [1, 2, 5] {
            let images = collect(&sources, &chunks, mode, jobs);
            for ((bytes, counts), expected) in images.iter().zip([&first, &second]) {
                assert!(bytes == expected, "{mode:?}, {jobs} jobs");
                assert!(counts.iter().all(|count| *count == 1), "{mode:?}, {jobs} jobs");
            }
        }
    }
}

#[test]
fn only_the_chunks_are_read_even_when_they_begin_inside_a_block() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = pattern(60_000, 1);
    let file = scratch_file(dir.path(), "odd", &bytes);
    let wanted = [100..9_000_u64, 20_001..20_002, 40_960..59_999];
    let chunks: Vec<Chunk> =
        wanted.iter().map(|range| Chunk { file: 0, range: range.clone() }).collect();

    for mode in [SMALL_BUFFERED, SMALL_DIRECT] {
        let (image, counts) = collect(&[&file], &chunks, mode, 2).remove(0);
        for (at, count) in counts.iter().enumerate() {
            let inside = wanted.iter().any(|range| range.contains(&(at as u64)));
            assert_eq!(*count, u8::from(inside), "byte {at}, {mode:?}");
            assert!(!inside || image[at] == bytes[at], "byte {at}, {mode:?}");
        }
    }
}

#[test]
fn a_file_shorter_than_the_plan_gives_short_and_empty_pieces() {
    let dir = tempfile::tempdir().unwrap();
    let file = scratch_file(dir.path(), "cut", &[3; 10_000]);
    let chunks = [Chunk { file: 0, range: 0..32_768 }];
    let cancel = AtomicBool::new(false);
    for mode in [SMALL_BUFFERED, SMALL_DIRECT] {
        let reader = ChunkReader::new(&[&file], &chunks, mode, &cancel);
        let mut lengths = reader.run(1, |pieces| {
            let mut lengths = Vec::new();
            while let Some(piece) = pieces.next() {
                lengths.push((piece.offset, piece.bytes, piece.data.unwrap().len()));
            }
            lengths
        });
        lengths[0].sort();
        assert_eq!(
            lengths[0],
            [(0, 8192, 8192), (8192, 8192, 1808), (16_384, 8192, 0), (24_576, 8192, 0)]
        );
    }
}

/// A source with one bad place.
struct BadSector(Vec<u8>);

impl ReadAt for BadSector {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        if (offset..offset + buf.len() as u64).contains(&20_000) {
            let source = std::io::Error::from(std::io::ErrorKind::Other);
            return Err(Error::Transfer {
                op: FileOp::Read,
                path: "disk".into(),
                offset,
                bytes: buf.len(),
                source,
            });
        }
        self.0.read_at(offset, buf)
    }

    fn path(&self) -> &Path {
        Path::new("disk")
    }
}

#[test]
fn a_piece_that_cannot_be_read_is_delivered_with_its_error_and_the_others_follow() {
    let source = BadSector(pattern(40_960, 9));
    let chunks = plan(&[vec![0..40_960]], 0, 16_384);
    let cancel = AtomicBool::new(false);
    for mode in [SMALL_BUFFERED, SMALL_DIRECT] {
        let reader = ChunkReader::new(&[&source], &chunks, mode, &cancel);
        let outcomes = reader.run(2, |pieces| {
            let mut outcomes = Vec::new();
            while let Some(piece) = pieces.next() {
                outcomes.push((piece.offset, piece.data.is_ok()));
            }
            outcomes
        });
        let mut outcomes = outcomes.concat();
        outcomes.sort();
        assert_eq!(
            outcomes,
            [(0, true), (8192, true), (16_384, false), (24_576, true), (32_768, true)],
            "{mode:?}"
        );
        assert_eq!(reader.bytes_read(), 4 * 8192);
    }
}

#[test]
fn cancellation_ends_a_run_in_both_modes() {
    let source = pattern(4 << 20, 2);
    let chunks = plan(&[vec![0..4 << 20]], 0, 64 << 10);
    for mode in [SMALL_BUFFERED, SMALL_DIRECT] {
        let cancel = AtomicBool::new(false);
        let reader = ChunkReader::new(&[&source], &chunks, mode, &cancel);
        let counts = reader.run(2, |pieces| {
            let mut count = 0;
            while pieces.next().is_some() {
                count += 1;
                cancel.store(count == 3 || cancel.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            count
        });
        assert!(counts.iter().sum::<usize>() < 512, "{mode:?}: {counts:?}");
        assert!(reader.bytes_read() < 4 << 20);
    }
}

#[test]
fn cancellation_interrupts_a_rate_limit_of_hours() {
    let source = pattern(1 << 20, 2);
    let chunks = plan(&[vec![0..1 << 20]], 0, 64 << 10);
    let clock = SystemClock::new();
    for mode in [SMALL_BUFFERED, SMALL_DIRECT] {
        let cancel = AtomicBool::new(false);
        let reader = ChunkReader::new(&[&source], &chunks, mode, &cancel);
        let reader = reader.with_max_rate(NonZeroU64::MIN, &clock);
        thread::scope(|scope| {
            let run = scope.spawn(|| reader.run(2, |pieces| while pieces.next().is_some() {}));
            thread::sleep(Duration::from_millis(30));
            cancel.store(true, Ordering::Relaxed);
            run.join().unwrap();
        });
        assert!(reader.bytes_read() <= 8192, "one request is free, the next is due in hours");
    }
}

#[test]
fn the_rate_limit_holds() {
    let source = pattern(256 << 10, 2);
    let chunks = plan(&[vec![0..256 << 10]], 0, 64 << 10);
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    let begin = clock.monotonic();
    let reader = ChunkReader::new(&[&source], &chunks, SMALL_BUFFERED, &cancel);
    let reader = reader.with_max_rate(NonZeroU64::new(1 << 20).unwrap(), &clock);
    reader.run(3, |pieces| while pieces.next().is_some() {});
    // All but the first piece wait: 248 KiB at 1 MiB per second, less the tenth of a second that
    // may be caught up.
    assert!(clock.monotonic() - begin >= Duration::from_millis(140));
    assert_eq!(reader.bytes_read(), 256 << 10);
}

#[test]
fn a_consumer_that_leaves_early_stops_the_readers() {
    let source = pattern(4 << 20, 2);
    let chunks = plan(&[vec![0..4 << 20]], 0, 64 << 10);
    let cancel = AtomicBool::new(false);
    let reader = ChunkReader::new(&[&source], &chunks, SMALL_DIRECT, &cancel);
    let seen = reader.run(2, |pieces| pieces.next().is_some());
    assert_eq!(seen, [true, true]);
}

#[test]
fn a_consumer_that_panics_takes_the_run_with_it_instead_of_hanging_it() {
    let source = pattern(1 << 20, 2);
    let chunks = plan(&[vec![0..1 << 20]], 0, 64 << 10);
    for mode in [SMALL_BUFFERED, SMALL_DIRECT] {
        let cancel = AtomicBool::new(false);
        let reader = ChunkReader::new(&[&source], &chunks, mode, &cancel);
        let run = || {
            reader
                .run(2, |pieces| while pieces.next().is_some_and(|piece| piece.offset < 100_000) {})
        };
        run();
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            reader.run(2, |pieces| assert!(pieces.next().is_none(), "a consumer gives up"));
        }));
        assert!(failed.is_err());
    }
}

#[test]
fn an_empty_plan_ends_at_once() {
    let cancel = AtomicBool::new(false);
    let source = Vec::new();
    for mode in [SMALL_BUFFERED, SMALL_DIRECT] {
        let reader = ChunkReader::new(&[&source], &[], mode, &cancel);
        assert_eq!(reader.run(2, |pieces| pieces.next().is_none()), [true, true]);
    }
}

#[test]
fn auto_reads_from_memory_what_is_there() {
    let cached = pattern(100, 0);
    assert_eq!(
        IoChoice::Auto.resolve(&[&cached]),
        ReadMode::BUFFERED,
        "memory does not say, so it counts as cached"
    );
    assert_eq!(IoChoice::Direct.resolve(&[&cached]), ReadMode::DIRECT);
    assert_eq!(IoChoice::Buffered.resolve(&[&cached]), ReadMode::BUFFERED);

    struct Cold(u64);
    impl ReadAt for Cold {
        fn len(&self) -> u64 {
            self.0
        }
        fn read_at(&self, _offset: u64, _buf: &mut [u8]) -> Result<usize, Error> {
            Ok(0)
        }
        fn path(&self) -> &Path {
            Path::new("cold")
        }
        fn cached_fraction(&self) -> Option<f64> {
            Some(0.1)
        }
    }
    assert_eq!(
        IoChoice::Auto.resolve(&[&Cold(1000), &cached]),
        ReadMode::DIRECT,
        "most bytes are on the device"
    );
    assert_eq!(
        IoChoice::Auto.resolve(&[&Cold(50), &cached]),
        ReadMode::BUFFERED,
        "most bytes are in memory"
    );
}
