//! The kernel's ring: io_uring under a safe call. The only module of this crate with `unsafe`.
//!
//! ```text
//! requests ─▶ submission queue ─▶ one io_uring_enter: hand over all, wait for all ─▶ completion queue ─▶ completions
//! ```
//!
//! Why it is safe: the kernel uses file and memory of a request until its completion. Requests
//! borrow both, and [`run`] returns only when each request that was handed over has a completion.
//! When the call itself is refused, requests in progress are waited for by polling the completion
//! queue, which needs no call; what was never handed over stays in the submission queue of a ring
//! that is then dead: nobody calls it again, so the kernel never sees it. Nothing in between
//! unwinds.
//!
//! [`run`]: Ring::run
#![expect(unsafe_code, reason = "the kernel is given addresses")]

use std::fs;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, squeue, types};
use rustix::event::Timespec;
use rustix::io::{Errno, ReadWriteFlags};

use super::{Completion, DEPTH, MAX_PARTS, Request, Ring};

/// A ring of the kernel, used by one thread at a time.
pub(super) struct KernelRing {
    ring: IoUring,
    /// Why the kernel does not take calls any more.
    death: Option<io::Error>,
}

impl KernelRing {
    /// A ring that has been tried: a filter of system calls may allow to make one and not to use
    /// it.
    pub(super) fn open() -> io::Result<KernelRing> {
        // Completions need not interrupt us: we wait for them. Kernels before 5.19 do not know the
        // flag.
        let built = IoUring::builder().setup_coop_taskrun().build(DEPTH as u32);
        let ring = built.or_else(|_| IoUring::builder().build(DEPTH as u32))?;
        if !ring.params().is_feature_nodrop() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "a kernel before 5.5"));
        }
        let mut ring = KernelRing { ring, death: None };
        let mut outcome = Completions::of(1);
        // SAFETY: the entry names no memory and no file.
        unsafe { ring.hand_over(&[opcode::Nop::new().build().user_data(0)], &mut outcome) };
        match (ring.death.take(), outcome.results[0]) {
            (Some(error), _) => Err(error),
            (None, Some(0)) => Ok(ring),
            (None, _) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "the ring does not answer"))
            }
        }
    }

    /// Hands all entries over and waits until none is under way. At most [`DEPTH`], numbered from 0
    /// in `user_data`.
    ///
    /// # Safety
    /// Files and memory named by the entries live until this returns.
    unsafe fn hand_over(&mut self, entries: &[squeue::Entry], outcome: &mut Completions) {
        let mut pushed = 0;
        for entry in entries {
            // SAFETY: the loop below returns only when every entry that the kernel took has ended;
            // until then, says the caller, all that it names is there. Nothing in it unwinds: it
            // neither indexes nor allocates.
            if unsafe { self.ring.submission().push(entry) }.is_err() {
                break;
            }
            pushed += 1;
        }
        let mut ended = 0;
        while ended < pushed {
            let call = self.ring.submit_and_wait(pushed - ended);
            ended += self.collect(&mut outcome.results);
            let handed = pushed - self.ring.submission().len();
            outcome.note_cut(handed);
            match call {
                Err(error) if error.raw_os_error() != Some(Errno::INTR.raw_os_error()) => {
                    if ended == handed {
                        self.death = Some(error);
                        return;
                    }
                    rest();
                }
                _ => {}
            }
        }
    }

    /// Takes the completions that are there; returns their number.
    fn collect(&mut self, results: &mut [Option<i32>]) -> usize {
        let mut count = 0;
        for entry in self.ring.completion() {
            if let Some(result) = results.get_mut(entry.user_data() as usize) {
                *result = Some(entry.result());
                count += 1;
            }
        }
        count
    }
}

impl Ring for KernelRing {
    fn run(&mut self, requests: &[Request<'_>]) -> Vec<Completion> {
        assert!(requests.len() <= DEPTH, "more requests than the ring has room for");
        let mut outcome = Completions::of(requests.len());
        let entries: Vec<squeue::Entry> =
            requests.iter().zip(0..).map(|(request, number)| entry(request, number)).collect();
        if self.death.is_none() {
            // SAFETY: the requests borrow files and memory for longer than this call.
            unsafe { self.hand_over(&entries, &mut outcome) };
        }
        outcome.completions(requests)
    }

    fn is_dead(&self) -> bool {
        self.death.is_some()
    }
}

impl std::fmt::Debug for KernelRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelRing").field("death", &self.death).finish_non_exhaustive()
    }
}

/// Completions arrive without a call of the ring, too: the kernel only needs to be entered now and
/// then.
fn rest() {
    let millisecond = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    // A refusal has entered the kernel as well.
    let _ = rustix::event::poll(&mut [], Some(&millisecond));
}

/// A request as the kernel reads it.
fn entry(request: &Request<'_>, number: u64) -> squeue::Entry {
    let file = |handle: &fs::File| types::Fd(handle.as_raw_fd());
    let entry = match *request {
        Request::Write { handle, parts, offset, through, linked } => {
            debug_assert!(
                parts.len() <= MAX_PARTS && i64::try_from(offset).is_ok(),
                "the caller has looked"
            );
            let flags = if through { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
            let link = if linked { squeue::Flags::IO_LINK } else { squeue::Flags::empty() };
            // An `IoSlice` is the system's `iovec`: guaranteed by the standard library.
            opcode::Writev::new(file(handle), parts.as_ptr().cast(), parts.len() as u32)
                .offset(offset)
                .rw_flags(flags.bits() as i32)
                .build()
                .flags(link)
        }
        Request::Flush { handle } => {
            opcode::Fsync::new(file(handle)).flags(types::FsyncFlags::DATASYNC).build()
        }
    };
    entry.user_data(number)
}

/// What the kernel said to each entry.
struct Completions {
    results: Vec<Option<i32>>,
    /// Those that were handed over by another call than the one before them.
    begins_call: Vec<bool>,
}

impl Completions {
    fn of(count: usize) -> Self {
        Completions { results: vec![None; count], begins_call: vec![false; count] }
    }

    /// The kernel took the first `handed` entries so far; the next one waits for another call.
    fn note_cut(&mut self, handed: usize) {
        if let Some(begins) = self.begins_call.get_mut(handed) {
            *begins = true;
        }
    }

    fn completions(&self, requests: &[Request<'_>]) -> Vec<Completion> {
        let is_linked = |number: usize| {
            let before = number.checked_sub(1).and_then(|number| requests.get(number));
            matches!(before, Some(Request::Write { linked: true, .. }))
        };
        (0..requests.len())
            .map(|number| {
                // A chain that was handed over in two pieces is none: its second part did not wait
                // for the first.
                let is_early = self.begins_call[number] && is_linked(number);
                completion(&requests[number], self.results[number], is_early)
            })
            .collect()
    }
}

/// Reads a result as the kernel means it: bytes, or an error number below zero.
fn completion(request: &Request<'_>, result: Option<i32>, is_early: bool) -> Completion {
    let Some(result) = result else { return Completion::NotRun };
    match usize::try_from(result) {
        Ok(_) if is_early => Completion::NotRun,
        Ok(bytes) => Completion::Done(bytes),
        Err(_) => {
            let errno = Errno::from_raw_os_error(result.saturating_neg());
            // Plain calls repeat an interrupted call, too. A write that returns EAGAIN has written
            // nothing.
            let is_to_be_repeated = errno == Errno::CANCELED
                || errno == Errno::INTR
                || errno == Errno::AGAIN && matches!(request, Request::Write { .. });
            if is_to_be_repeated { Completion::NotRun } else { Completion::Failed(errno.into()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch() -> fs::File {
        tempfile::tempfile().unwrap()
    }

    fn write<'a>(
        handle: &'a fs::File,
        parts: &'a [io::IoSlice<'a>],
        offset: u64,
        linked: bool,
    ) -> Request<'a> {
        Request::Write { handle, parts, offset, through: false, linked }
    }

    /// A ring, unless this machine has none.
    fn ring() -> Option<KernelRing> {
        KernelRing::open().inspect_err(|error| eprintln!("SKIPPED: no io_uring here: {error}")).ok()
    }

    #[test]
    fn errors_that_mean_nothing_happened_differ_from_refusals() {
        let file = scratch();
        let write = write(&file, &[], 0, false);
        let flush = Request::Flush { handle: &file };
        let said = |request: &Request<'_>, result, early| {
            format!("{:?}", completion(request, result, early))
        };
        let minus = |errno: Errno| Some(-errno.raw_os_error());
        assert_eq!(said(&write, Some(512), false), "Done(512)");
        assert_eq!(said(&write, None, false), "NotRun");
        assert_eq!(said(&flush, Some(0), true), "NotRun");
        for errno in [Errno::CANCELED, Errno::INTR, Errno::AGAIN] {
            assert_eq!(said(&write, minus(errno), false), "NotRun");
        }
        assert_eq!(said(&flush, minus(Errno::CANCELED), false), "NotRun");
        for (request, errno) in
            [(&flush, Errno::AGAIN), (&flush, Errno::IO), (&write, Errno::NOSPC)]
        {
            let Completion::Failed(error) = completion(request, minus(errno), true) else {
                panic!("{errno:?}")
            };
            assert_eq!(error.raw_os_error(), Some(errno.raw_os_error()));
        }
    }

    #[test]
    fn a_chain_that_was_handed_over_in_two_calls_counts_as_not_flushed() {
        let file = scratch();
        let chain = [write(&file, &[], 0, true), Request::Flush { handle: &file }];
        let mut outcome = Completions::of(2);
        outcome.results = vec![Some(512), Some(0)];
        outcome.note_cut(2);
        assert!(matches!(
            outcome.completions(&chain)[..],
            [Completion::Done(512), Completion::Done(0)]
        ));
        outcome.note_cut(1);
        assert!(matches!(
            outcome.completions(&chain)[..],
            [Completion::Done(512), Completion::NotRun]
        ));
        // Requests that are not linked may be submitted in several calls.
        let loose = [write(&file, &[], 0, false), write(&file, &[], 0, false)];
        outcome.results = vec![Some(512), Some(512)];
        assert!(matches!(
            outcome.completions(&loose)[..],
            [Completion::Done(512), Completion::Done(512)]
        ));
    }

    #[test]
    fn a_full_ring_writes_every_request_at_its_offset_again_and_again() {
        let Some(mut ring) = ring() else { return };
        let file = scratch();
        for round in 0..3_u8 {
            let bytes: Vec<Vec<u8>> =
                (0..DEPTH).map(|number| vec![number as u8 ^ round; 100]).collect();
            let parts: Vec<[io::IoSlice<'_>; 2]> = bytes
                .iter()
                .map(|bytes| bytes.split_at(30))
                .map(|(a, b)| [a, b].map(io::IoSlice::new))
                .collect();
            let requests: Vec<Request<'_>> = parts
                .iter()
                .zip(0..)
                .map(|(parts, number)| write(&file, parts, number * 100, false))
                .collect();
            let ended = ring.run(&requests);
            assert!(ended.iter().all(|ended| matches!(ended, Completion::Done(100))), "{ended:?}");
            let mut found = vec![0; DEPTH * 100];
            crate::platform::read_at(&file, &mut found, 0).unwrap();
            assert_eq!(found, bytes.concat());
        }
        assert!(!ring.is_dead());
    }

    #[test]
    fn a_refused_write_cancels_its_flush_and_the_ring_lives_on() {
        let Some(mut ring) = ring() else { return };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, [0; 512]).unwrap();
        let reader = fs::File::open(&path).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let parts = [io::IoSlice::new(&[7; 512])];
        let ended =
            ring.run(&[write(&reader, &parts, 0, true), Request::Flush { handle: &reader }]);
        assert!(matches!(&ended[..], [Completion::Failed(_), Completion::NotRun]), "{ended:?}");
        let ended = ring.run(&[write(&file, &parts, 0, true), Request::Flush { handle: &file }]);
        assert!(matches!(&ended[..], [Completion::Done(512), Completion::Done(0)]), "{ended:?}");
        assert_eq!(fs::read(&path).unwrap(), [7; 512]);
    }

    #[test]
    fn a_ring_that_died_runs_nothing() {
        let Some(mut ring) = ring() else { return };
        ring.death = Some(io::Error::other("filtered"));
        let file = scratch();
        assert!(ring.is_dead());
        assert!(matches!(ring.run(&[Request::Flush { handle: &file }])[..], [Completion::NotRun]));
    }
}
