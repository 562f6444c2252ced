//! Read-ahead: the bytes of many files, in pieces, for many threads.
//!
//! ```text
//! plan     file 0 |chunk 0        |chunk 2        |   file 1 |chunk 1        |  runs to read
//! pieces          |p |p |p |p |p ||p |p |p |p |p ||         |p |p |p |p |p ||  for consumers
//!
//! buffered each consumer takes the next chunk and reads it piece by piece into its own small
//!          buffer
//! direct   reader threads  ── pread, O_DIRECT ──▶  ring of filled buffers  ──▶  consumers, in any order
//!                ▲                                                                    │
//!                └──────────────────────────── free buffers ◀─────────────────────────┘
//! ```
//!
//! *Buffered* suits a file in the page cache: the consumer copies a piece into memory that stays in
//! its second-level cache and works on it there; no buffer ever changes threads. *Direct* suits a
//! file that does not: requests of 1 MiB, several of them in progress at any time, past the page
//! cache. [`IoChoice::Auto`] probes the cache.
//!
//! Rules
//! 1. Every byte of every chunk is delivered exactly once, or [`ChunkPieces::next`] ended because
//!    of cancellation.
//! 2. A piece is independent: which thread gets it, and in which order, is not defined. In buffered
//!    mode a consumer happens to see the pieces of a chunk in order; nothing may depend on it.
//! 3. A piece that cannot be read is delivered with its error; one at the end of a truncated file
//!    is delivered short. Reading goes on.
//! 4. Memory is bounded by the mode: one piece per consumer, or the buffers of the ring.
//! 5. Nobody spins. Cancellation is seen at each piece and in every pause of the rate limit.
//!
//! Why threads and not completion queues: a device that answers within 100 µs is saturated by eight
//! requests of 1 MiB, and eight threads that sleep in `pread` cost next to nothing. They work on
//! every file system and every system. A ring of submissions (`io_uring`) pays when requests are
//! small or hundreds are in progress; it can replace the reader threads under this interface when a
//! measurement demands it.

use std::num::NonZeroU64;
use std::ops::Range;

use extentdb_base::env::Clock;
use extentdb_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use extentdb_base::sync::{Mutex, lock, thread};

use crate::buf::{AlignedBuf, BLOCK_BYTES};
use crate::direct::DirectFile;
use crate::error::Error;
use crate::read_at::ReadAt;

mod plan;
mod ring;
mod throttle;

pub use plan::{Chunk, plan};
use ring::{Filled, Ring};
pub use throttle::Throttle;

/// How pieces are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadMode {
    /// Through the page cache, by the consumers themselves.
    Buffered {
        /// Longest piece; best a part of the second-level cache.
        piece_bytes: usize,
    },
    /// Past the page cache, by reader threads. Sources without direct reads are read by the same
    /// threads, buffered.
    Direct {
        /// Length of the longest piece, in bytes.
        piece_bytes: usize,
        /// Concurrent requests: number of reader threads.
        depth: usize,
    },
}

/// The user's choice.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum IoChoice {
    /// Buffered when most of the bytes are in the page cache already, direct otherwise.
    #[default]
    Auto,
    /// Always through the page cache.
    Buffered,
    /// Past the page cache where the file system can.
    Direct,
}

/// A piece of a chunk, borrowed until the next one is requested.
#[derive(Debug)]
pub struct ChunkPiece<'p> {
    /// Which chunk of the plan it belongs to.
    pub chunk: usize,
    /// Index of its source.
    pub file: usize,
    /// Its first byte in that source.
    pub offset: u64,
    /// Length in bytes; `data` is shorter past the end of the file.
    pub bytes: usize,
    /// Bytes read: fewer than `bytes` when the source ends inside the piece.
    pub data: Result<&'p [u8], Error>,
}

/// Reads the chunks of a plan for any number of consumers.
pub struct ChunkReader<'a> {
    sources: Vec<Source<'a>>,
    chunks: &'a [Chunk],
    mode: ReadMode,
    throttle: Option<Throttle<'a>>,
    cancel: &'a AtomicBool,
    bytes_read: AtomicU64,
}

struct Source<'a> {
    buffered: &'a dyn ReadAt,
    direct: Option<DirectFile>,
}

impl ReadMode {
    /// Buffered with pieces of 256 KiB.
    pub const BUFFERED: ReadMode = ReadMode::Buffered { piece_bytes: 256 << 10 };
    /// Direct with eight requests of 1 MiB.
    pub const DIRECT: ReadMode = ReadMode::Direct { piece_bytes: 1 << 20, depth: 8 };

    /// Most bytes of the buffers for `consumers` consumers.
    pub fn buffer_bytes(self, jobs: usize) -> u64 {
        let (buffers, bytes) = match self {
            ReadMode::Buffered { .. } => (jobs, self.piece_bytes()),
            ReadMode::Direct { depth, .. } => {
                (ring_buffers(depth, jobs), self.piece_bytes() + 2 * BLOCK_BYTES)
            }
        };
        buffers as u64 * bytes as u64
    }

    fn piece_bytes(self) -> usize {
        match self {
            ReadMode::Buffered { piece_bytes } | ReadMode::Direct { piece_bytes, .. } => {
                piece_bytes.max(1)
            }
        }
    }
}

/// One buffer per concurrent request, one per consumer, and as many again waiting between them.
fn ring_buffers(depth: usize, jobs: usize) -> usize {
    2 * depth.max(1) + jobs
}

impl IoChoice {
    /// The mode for these sources. A source that cannot tell whether it is in memory counts as if
    /// it were: as systems without direct reads require.
    pub fn resolve(self, sources: &[&dyn ReadAt]) -> ReadMode {
        match self {
            IoChoice::Buffered => ReadMode::BUFFERED,
            IoChoice::Direct => ReadMode::DIRECT,
            IoChoice::Auto => {
                let all: f64 = sources.iter().map(|source| source.len() as f64).sum();
                let cached: f64 = sources
                    .iter()
                    .map(|source| source.len() as f64 * source.cached_fraction().unwrap_or(1.0))
                    .sum();
                if cached * 2.0 >= all { ReadMode::BUFFERED } else { ReadMode::DIRECT }
            }
        }
    }
}

impl<'a> ChunkReader<'a> {
    /// A reader of `chunks`, which name their source by its index in `sources`.
    ///
    /// # Panics
    /// When a chunk names a source that is not there.
    pub fn new(
        sources: &[&'a dyn ReadAt],
        chunks: &'a [Chunk],
        mode: ReadMode,
        cancel: &'a AtomicBool,
    ) -> Self {
        assert!(
            chunks.iter().all(|chunk| chunk.file < sources.len()),
            "a chunk names one of the sources"
        );
        let open = |source: &&'a dyn ReadAt| Source {
            buffered: *source,
            direct: if matches!(mode, ReadMode::Direct { .. }) {
                source.try_direct()
            } else {
                None
            },
        };
        let sources = sources.iter().map(open).collect();
        ChunkReader {
            sources,
            chunks,
            mode,
            throttle: None,
            cancel,
            bytes_read: AtomicU64::new(0),
        }
    }

    /// The same reader, held to `bytes_per_second` by `clock`.
    pub fn with_max_rate(mut self, bytes_per_second: NonZeroU64, clock: &'a dyn Clock) -> Self {
        self.throttle = Some(Throttle::new(bytes_per_second, clock));
        self
    }

    /// Bytes delivered so far. May be called at any time, by any thread.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Runs `consume` on `jobs` threads, each with its own [`ChunkPieces`], until all of them
    /// return; their results, in no order that means anything.
    ///
    /// # Panics
    /// When a consumer panics.
    pub fn run<R: Send>(
        &self,
        jobs: usize,
        consume: impl Fn(&mut ChunkPieces<'_>) -> R + Sync,
    ) -> Vec<R> {
        let jobs = jobs.max(1);
        let cursor = Cursor::default();
        let ring = match self.mode {
            ReadMode::Buffered { .. } => None,
            ReadMode::Direct { piece_bytes, depth } => {
                let buffers = ring_buffers(depth, jobs);
                // A piece that begins inside a block reads that block, too, and so at its end.
                Some(Ring::new(depth.max(1), jobs, buffers, piece_bytes.max(1) + 2 * BLOCK_BYTES))
            }
        };
        thread::scope(|scope| {
            for _ in 0..ring.as_ref().map_or(0, Ring::depth) {
                scope.spawn(|| self.fill_ring(ring.as_ref(), &cursor));
            }
            let consumer = || {
                let mut pieces = ChunkPieces {
                    reader: self,
                    source: PieceSource::new(self, ring.as_ref(), &cursor),
                };
                consume(&mut pieces)
            };
            let consumers: Vec<_> = (0..jobs).map(|_| scope.spawn(consumer)).collect();
            let join = |consumer: thread::ScopedJoinHandle<'_, R>| match consumer.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            consumers.into_iter().map(join).collect()
        })
    }

    /// What a reader thread does: take a free buffer, fill it, hand it on.
    fn fill_ring(&self, ring: Option<&Ring>, cursor: &Cursor) {
        let Some(ring) = ring else { return };
        let _leaving = ring.reader_guard();
        while let Some(mut buf) = ring.take_free(self.cancel) {
            let Some(request) = cursor.next_piece(self.chunks, self.mode.piece_bytes()) else {
                return;
            };
            if !self.may_read(request.bytes) {
                return;
            }
            let data = self.read_direct(&request, &mut buf);
            ring.put_filled(Filled { request, buf, data });
        }
    }

    /// Waits for the rate limit; false when the run was cancelled.
    fn may_read(&self, bytes: usize) -> bool {
        match &self.throttle {
            Some(throttle) => throttle.wait(bytes as u64, self.cancel),
            None => !self.is_cancelled(),
        }
    }

    /// Reads a piece into `buf`, directly where possible; returns the range of its bytes in `buf`.
    fn read_direct(&self, request: &Request, buf: &mut AlignedBuf) -> Result<Range<usize>, Error> {
        let source = &self.sources[request.file];
        if let Some(direct) = &source.direct {
            let head = (request.offset % BLOCK_BYTES as u64) as usize;
            let bytes = (head + request.bytes).next_multiple_of(BLOCK_BYTES);
            // An error may concern one sector of many: the buffered read below determines how many
            // bytes are good.
            if let Ok(read) = direct.read_at(request.offset - head as u64, buf, bytes) {
                let end = read.min(head + request.bytes);
                return Ok(head.min(end)..end);
            }
        }
        self.read_buffered(request, buf).map(|read| 0..read)
    }

    fn read_buffered(&self, request: &Request, buf: &mut AlignedBuf) -> Result<usize, Error> {
        self.sources[request.file].buffered.read_at(request.offset, &mut buf[..request.bytes])
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// A piece that is to be read.
#[derive(Clone, Debug)]
struct Request {
    chunk: usize,
    file: usize,
    offset: u64,
    bytes: usize,
}

/// The first byte of the plan that is not assigned yet.
#[derive(Default)]
struct Cursor(Mutex<Position>);

#[derive(Clone, Copy, Default)]
struct Position {
    chunk: usize,
    /// Bytes of that chunk already taken.
    taken: u64,
}

impl Cursor {
    /// Takes the next piece of the plan.
    fn next_piece(&self, chunks: &[Chunk], piece_bytes: usize) -> Option<Request> {
        let mut at = lock(&self.0);
        loop {
            let request = at.cut(chunks, piece_bytes);
            if request.is_some() || at.chunk >= chunks.len() {
                return request;
            }
            *at = Position { chunk: at.chunk + 1, taken: 0 };
        }
    }

    /// Takes the next chunk as a whole.
    fn next_chunk(&self, chunks: &[Chunk]) -> Option<Position> {
        let mut at = lock(&self.0);
        let taken = Position { chunk: at.chunk, taken: 0 };
        (at.chunk < chunks.len()).then(|| {
            at.chunk += 1;
            taken
        })
    }
}

impl Position {
    /// Cuts the next piece off the current chunk; `None` at its end.
    fn cut(&mut self, chunks: &[Chunk], piece_bytes: usize) -> Option<Request> {
        let chunk = chunks.get(self.chunk)?;
        let offset = chunk.range.start + self.taken;
        let rest = chunk.range.end.saturating_sub(offset);
        if rest == 0 {
            return None;
        }
        let bytes = rest.min(piece_bytes as u64);
        self.taken += bytes;
        Some(Request {
            chunk: self.chunk,
            file: chunk.file,
            offset,
            bytes: bytes as usize,
        })
    }
}

/// The pieces one consumer gets.
pub struct ChunkPieces<'r> {
    reader: &'r ChunkReader<'r>,
    source: PieceSource<'r>,
}

enum PieceSource<'r> {
    /// Own buffer, own chunk.
    Buffered { cursor: &'r Cursor, chunk: Option<Position>, buf: AlignedBuf },
    /// Buffers of the ring; `held` is the one whose bytes are borrowed by the caller.
    Ring { ring: &'r Ring, held: Option<Filled>, _leaving: ring::ConsumerGuard<'r> },
}

impl<'r> PieceSource<'r> {
    fn new(reader: &ChunkReader<'_>, ring: Option<&'r Ring>, cursor: &'r Cursor) -> Self {
        match ring {
            Some(ring) => PieceSource::Ring { ring, held: None, _leaving: ring.consumer_guard() },
            None => {
                let buf = AlignedBuf::zeroed(reader.mode.piece_bytes());
                PieceSource::Buffered { cursor, chunk: None, buf }
            }
        }
    }
}

impl ChunkPieces<'_> {
    /// The next piece; `None` when all are taken or the run was cancelled. The previous one is
    /// released.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend its own buffer")]
    pub fn next(&mut self) -> Option<ChunkPiece<'_>> {
        let reader = self.reader;
        let (request, data) = match &mut self.source {
            PieceSource::Buffered { cursor, chunk, buf } => {
                let request = next_buffered(reader, cursor, chunk)?;
                let read = reader.read_buffered(&request, buf);
                (request, read.map(|read| &buf[..read]))
            }
            PieceSource::Ring { ring, held, .. } => {
                if let Some(used) = held.take() {
                    ring.give_back(used.buf);
                }
                let filled = held.insert(ring.take_filled(reader.cancel)?);
                let data = std::mem::replace(&mut filled.data, Ok(0..0));
                (filled.request.clone(), data.map(|range| &filled.buf[range]))
            }
        };
        let Request { chunk, file, offset, bytes } = request;
        reader
            .bytes_read
            .fetch_add(data.as_ref().map_or(0, |data| data.len() as u64), Ordering::Relaxed);
        Some(ChunkPiece { chunk, file, offset, bytes, data })
    }
}

/// The next piece of the consumer's own chunk, or the first of the next chunk.
fn next_buffered(
    reader: &ChunkReader<'_>,
    cursor: &Cursor,
    chunk: &mut Option<Position>,
) -> Option<Request> {
    loop {
        if let Some(position) = chunk
            && let Some(request) = position.cut(reader.chunks, reader.mode.piece_bytes())
        {
            return reader.may_read(request.bytes).then_some(request);
        }
        *chunk = Some(cursor.next_chunk(reader.chunks)?);
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of one range is meant")]
mod tests;
