//! A connection of a session as the thread of its requests and everybody else see it.
//!
//! ```text
//! thread   begin ─ runs a request, writes ─ finish ─ reads the next one ─ begin ─ …
//!            │ reader                 ▲ reader, what was read
//!            ▼                        │
//! others   watch: attention, the end of the client;  KILL, shutdown, time limit: interrupt
//! ```
//!
//! Invariants
//! - While a request runs the reader lies here, and its thread has it otherwise: one reads at a
//!   time.
//! - Who watches stops at the first message that is no attention; it waits for its turn.
//! - An attention meets the request that runs. One that comes later is a message like others.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_session::Interrupt;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::reader::{Arrived, MessageReader};
use crate::stream::{ClientStream, Wait};

/// How long a response that the server ends may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A connection of a session.
pub(crate) struct Channel {
    pub(crate) stream: ClientStream,
    state: Mutex<State>,
    /// Told of the end.
    ended: Notify,
    runtime: Handle,
}

#[derive(Default)]
struct State {
    /// The request that runs.
    request: Option<Running>,
    /// How many requests have begun.
    requests: u64,
    is_ended: bool,
}

struct Running {
    /// `None` while its thread reads the rows of a bulk load.
    reader: Option<MessageReader>,
    /// What has arrived and waits for its turn.
    next: Option<Arrived>,
    interrupt: Interrupt,
    /// Nobody has looked at it.
    is_new: bool,
    /// Reads the connection.
    watch: Option<AbortHandle>,
    is_attention: bool,
    is_too_long: bool,
}

/// What became of a request, besides its outcome.
pub(crate) struct Finished {
    pub(crate) reader: MessageReader,
    pub(crate) next: Option<Arrived>,
    pub(crate) is_attention: bool,
    pub(crate) is_ended: bool,
}

impl Channel {
    /// Of a connection whose requests run in this runtime.
    pub(crate) fn new(stream: ClientStream, runtime: Handle) -> Channel {
        Channel {
            stream,
            state: Mutex::default(),
            ended: Notify::new(),
            runtime,
        }
    }

    /// Waits, as a task, for the next message; `None` at the end.
    pub(crate) async fn next(&self, reader: &mut MessageReader) -> Option<Arrived> {
        let socket = self.stream.socket();
        // Only while somebody waits: otherwise each request would wake the thread that polls.
        let readable = when_readable(socket).ok()?;
        loop {
            if lock(&self.state).is_ended {
                return None;
            }
            if let Some(arrived) = reader.take(&self.stream, Wait::No).ok()? {
                return Some(arrived);
            }
            reader.rest();
            tokio::select! {
                ready = readable.readable() => ready.ok()?.clear_ready(),
                () = self.ended.notified() => {}
            }
        }
    }

    /// A request begins; its number. It can be interrupted from here on, and is when the connection
    /// has ended.
    pub(crate) fn begin(&self, reader: Option<MessageReader>, interrupt: Interrupt) -> u64 {
        let mut state = lock(&self.state);
        if state.is_ended {
            interrupt.interrupt();
        }
        state.requests += 1;
        state.request = Some(Running {
            reader,
            next: None,
            interrupt,
            is_new: true,
            watch: None,
            is_attention: false,
            is_too_long: false,
        });
        state.requests
    }

    /// The request is over; `None` when none runs.
    pub(crate) fn finish(&self) -> Option<Finished> {
        let mut state = lock(&self.state);
        let request = state.request.take()?;
        if let Some(watch) = request.watch {
            watch.abort();
        }
        Some(Finished {
            reader: request.reader?,
            next: request.next,
            is_attention: request.is_attention,
            is_ended: state.is_ended,
        })
    }

    /// Others read the connection from now on until the request is over.
    pub(crate) fn lend(&self, reader: MessageReader) {
        if let Some(request) = &mut lock(&self.state).request {
            request.reader = Some(reader);
        }
    }

    /// Ends the request that runs.
    pub(crate) fn interrupt(&self) {
        if let Some(request) = &lock(&self.state).request {
            request.interrupt.interrupt();
        }
    }

    /// Is the connection to end, or, where that counts, the request that runs?
    pub(crate) fn must_stop(&self, counts_request: bool) -> bool {
        let state = lock(&self.state);
        let is_too_long = state.request.as_ref().is_none_or(|request| request.is_too_long);
        state.is_ended || counts_request && is_too_long
    }

    /// Has the time of the request that runs ended it?
    pub(crate) fn is_too_long(&self) -> bool {
        lock(&self.state).request.as_ref().is_some_and(|request| request.is_too_long)
    }

    /// The time of a request is over. What the client or the server has ended is not ended by it.
    pub(crate) fn end_time(&self, number: u64) {
        let mut state = lock(&self.state);
        if let Some(request) = state.running(number)
            && !request.is_attention
        {
            request.is_too_long = true;
            request.interrupt.interrupt();
        }
    }

    /// Ends the connection for the server. The client is told why, if it reads.
    pub(crate) fn end(self: &Arc<Self>) {
        {
            let mut state = lock(&self.state);
            state.is_ended = true;
            if let Some(request) = &state.request {
                request.interrupt.interrupt();
            }
        }
        self.ended.notify_one();
        let channel = Arc::downgrade(self);
        self.runtime.spawn(async move {
            tokio::time::sleep(LAST_WORDS).await;
            if let Some(channel) = channel.upgrade() {
                channel.stream.cut();
            }
        });
    }

    /// Looks whether the request that runs has run for a while: then the connection is watched.
    pub(crate) fn look(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        let number = state.requests;
        let Some(request) = state.running(number) else { return };
        let is_seen = !std::mem::take(&mut request.is_new);
        if is_seen && request.watch.is_none() && request.reader.is_some() {
            let watch = self.runtime.spawn(watch(self.clone(), number));
            request.watch = Some(watch.abort_handle());
        }
    }

    /// Reads what has come while a request runs; false when there is nothing more to be read before
    /// it is over.
    fn read_beside(&self, number: u64) -> bool {
        let mut state = lock(&self.state);
        let Some(request) = state.running(number) else { return false };
        let Some(reader) = &mut request.reader else { return false };
        match reader.take(&self.stream, Wait::No) {
            Ok(None) => return true,
            Ok(Some(arrived)) if arrived.is_attention() => {
                request.is_attention = true;
                request.interrupt.interrupt();
            }
            Ok(Some(Arrived::End)) | Err(_) => {
                request.interrupt.interrupt();
                state.is_ended = true;
                self.stream.cut();
            }
            Ok(arrived) => request.next = arrived,
        }
        false
    }
}

impl State {
    /// The request of this number, while it runs and nobody has ended the connection.
    fn running(&mut self, number: u64) -> Option<&mut Running> {
        let is_it = self.requests == number && !self.is_ended;
        self.request.as_mut().filter(|_| is_it)
    }
}

/// Tells a task of bytes in a socket that blocks: what it reads by must not.
fn when_readable<S: AsRawFd + AsFd>(socket: S) -> io::Result<AsyncFd<S>> {
    #[expect(
        deprecated,
        reason = "what has `AsFd` stays open; the new function is unsafe for others"
    )]
    AsyncFd::with_interest(socket, Interest::READABLE)
}

/// Reads a connection while a request of it runs.
async fn watch(channel: Arc<Channel>, number: u64) {
    // A handle of its own: the next wait for this connection may begin before this one is gone.
    let Ok(socket) = channel.stream.handle() else { return };
    let Ok(readable) = when_readable(socket) else { return };
    while channel.read_beside(number) {
        match readable.readable().await {
            Ok(mut ready) => ready.clear_ready(),
            Err(_) => return,
        }
    }
}
