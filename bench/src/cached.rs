//! Reading a file that the page cache holds: the limit of every cached check.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use extentdb_format::page::checksum;

const MIB: usize = 1 << 20;

/// Reads the whole file with `threads` threads of `chunk` bytes pread each and hands every chunk to
/// `visit`.
///
/// # Errors
/// The file cannot be read.
pub fn read_all(
    path: &Path,
    threads: usize,
    chunk: usize,
    visit: impl Fn(&[u8]) + Sync,
) -> std::io::Result<u64> {
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| -> std::io::Result<u64> {
                    let mut buf = vec![0; chunk];
                    let mut total = 0;
                    loop {
                        let offset = next.fetch_add(chunk as u64, Ordering::Relaxed);
                        if offset >= len {
                            return Ok(total);
                        }
                        let n = file.read_at(&mut buf, offset)?;
                        visit(&buf[..n]);
                        total += n as u64;
                    }
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().unwrap_or(Ok(0))).sum::<std::io::Result<u64>>()
    })
}

/// The reference of the targets: 1 MiB pread, nothing done with the bytes.
///
/// # Errors
/// The file cannot be read.
pub fn plain(path: &Path, threads: usize) -> std::io::Result<u64> {
    read_all(path, threads, MIB, |bytes| {
        std::hint::black_box(bytes);
    })
}

/// pread and page checksum, nothing else, in chunks that stay in the cache of a core.
///
/// # Errors
/// The file cannot be read.
pub fn with_checksum(path: &Path, threads: usize) -> std::io::Result<u64> {
    read_all(path, threads, MIB / 4, |bytes| {
        for page in bytes.as_chunks::<8192>().0 {
            std::hint::black_box(checksum::compute(page));
        }
    })
}
