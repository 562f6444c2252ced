//! A connection from its login to its end: messages in, responses out.
//!
//! ```text
//! listener task  reads messages ──▶ Mailbox ──▶ runner task: runs the request in place, and
//!                attention, KILL,                writes its response; blocks where it must
//!                shutdown, end ──▶ Running: interrupts   (its thread gives its other tasks away)
//! ```
//!
//! Invariants
//! - A request runs on a thread that no other task waits for: it may wait for locks.
//! - While a request runs the connection is read, so that an attention is seen.
//! - An attention is answered once, by a response of its own after the one that it cut short.
//! - The request that an attention meets is the one that was begun last: it is interrupted even
//!   when its thread has not come to it yet.

use std::io;
use std::time::Duration;

use extentdb_base::sync::{Arc, lock};
use extentdb_session::{Connection, Outcome, Output, Request};
use extentdb_tds::packet::{Limits, Message, PACKET_BYTES_MAX, PacketKind, Reset};
use extentdb_tds::token::{Done, DoneKind, DoneStatus, command};
use extentdb_tds::{Protocol, TokenWriter};
use tokio::io::{AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::arguments::{self, Refused, Requests};
use crate::connections::Registered;
use crate::listener::{SharedState, ended};
use crate::mailbox::{Incoming, Mailbox};
use crate::reader::{Arrived, MessageReader};
use crate::response::Response;
use crate::running::SharedRunning;
use crate::time_limit::TimeLimit;
use crate::transport::Transport;

/// Bytes of a request at most.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// How long a thread waits for the next request of its client before it does something else.
const MOMENT: Duration = Duration::from_millis(5);
/// How long a response that the server ends may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Message of a request that ran longer than it may; a number of our own.
const TOO_LONG: i32 = 40_003;

/// A connection with a session.
pub(crate) struct Conversation {
    shared: SharedState,
    protocol: Protocol,
    reader: MessageReader,
    transport: Transport,
    registered: Registered,
}

/// Who ends a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Client,
    /// KILL, or the end of the server.
    Server,
}

/// Reads a connection to its end.
struct Listener {
    reader: MessageReader,
    input: ReadHalf<Transport>,
    registered: Registered,
    running: SharedRunning,
    mailbox: Arc<Mailbox>,
    /// Becomes true when nobody reads responses any more.
    gone: watch::Sender<bool>,
    shutdown: watch::Receiver<bool>,
}

impl Listener {
    /// Until the client, the server or the runner ends the connection. The session keeps its place
    /// in the list of connections as long as what this returns lives.
    async fn listen(mut self) -> Registered {
        let end = loop {
            let arrived = tokio::select! {
                arrived = self.reader.next(&mut self.input) => arrived,
                () = self.registered.close.notified() => break End::Server,
                () = ended(&mut self.shutdown) => break End::Server,
                () = self.mailbox.ended() => break End::Client,
            };
            let incoming = match arrived {
                Ok(Arrived::Message(message)) => Incoming::Message(message),
                Ok(Arrived::Ignored) => Incoming::Ignored,
                Ok(Arrived::End) | Err(_) => break End::Client,
            };
            if incoming.is_attention() && self.is_met() {
                continue;
            }
            lock(&self.running).messages += 1;
            if !self.hand_on(incoming).await {
                break End::Server;
            }
        };
        {
            let mut running = lock(&self.running);
            running.is_ended = true;
            running.interrupt();
        }
        self.mailbox.end();
        if end == End::Server {
            // The client is told why, if it reads.
            let _ = timeout(LAST_WORDS, self.gone.closed()).await;
        }
        self.gone.send_replace(true);
        self.registered
    }

    /// Does an attention meet a request? It is interrupted then.
    fn is_met(&self) -> bool {
        let mut running = lock(&self.running);
        let is_met = running.messages > 0;
        if is_met {
            running.is_attention = true;
            running.interrupt();
        }
        is_met
    }

    /// Waits for the runner, not longer than the session lives.
    async fn hand_on(&mut self, incoming: Incoming) -> bool {
        tokio::select! {
            put = self.mailbox.put(incoming) => put.is_ok(),
            () = self.registered.close.notified() => false,
            () = ended(&mut self.shutdown) => false,
        }
    }
}

/// Runs the requests of a connection.
struct Runner {
    shared: SharedState,
    protocol: Protocol,
    output: Sink,
    running: SharedRunning,
    connection: Connection,
    /// `None` while a response has it.
    writer: Option<TokenWriter>,
}

/// Where responses go.
pub(crate) struct Sink {
    output: WriteHalf<Transport>,
    gone: watch::Receiver<bool>,
}

impl Sink {
    /// Sends a part of a response from the thread that runs the request. It waits while the client
    /// does not read, so that memory does not grow with a result.
    pub(crate) fn send(&mut self, part: &[u8]) -> io::Result<()> {
        Handle::current().block_on(async {
            tokio::select! {
                biased;
                sent = self.output.write_all(part) => sent,
                () = ended(&mut self.gone) => Err(io::ErrorKind::ConnectionAborted.into()),
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Handle::current().block_on(self.output.flush())
    }
}

impl Conversation {
    pub(crate) fn new(
        shared: SharedState,
        protocol: Protocol,
        mut reader: MessageReader,
        transport: Transport,
        registered: Registered,
    ) -> Conversation {
        reader.set_limits(Limits {
            packet_bytes_max: PACKET_BYTES_MAX,
            message_bytes_max: MESSAGE_BYTES_MAX,
        });
        Conversation { shared, protocol, reader, transport, registered }
    }

    /// Answers messages until the connection ends.
    pub(crate) async fn run(self, connection: Connection, writer: TokenWriter) {
        let (input, output) = split(self.transport);
        let mailbox = Arc::new(Mailbox::default());
        let (gone, is_gone) = watch::channel(false);
        let running = SharedRunning::default();
        let shutdown = self.shared.shutdown.subscribe();
        let mut runner = Runner {
            shared: self.shared,
            protocol: self.protocol,
            output: Sink { output, gone: is_gone },
            running: running.clone(),
            connection,
            writer: Some(writer),
        };
        let listener = Listener {
            reader: self.reader,
            input,
            registered: self.registered,
            running,
            mailbox: mailbox.clone(),
            gone,
            shutdown,
        };
        let listening = tokio::spawn(listener.listen());
        while let Some(incoming) = mailbox.take().await {
            if !tokio::task::block_in_place(|| runner.answer_all(incoming, &mailbox)) {
                break;
            }
        }
        mailbox.end();
        // Clients take a connection that ends without a word for an error of the network.
        let _ = runner.output.output.shutdown().await;
        drop(runner);
        drop(listening.await);
    }
}

impl Runner {
    /// Answers a message and those that follow at once; false when the connection is to be closed.
    /// Blocks.
    fn answer_all(&mut self, first: Incoming, mailbox: &Mailbox) -> bool {
        let mut next = Some(first);
        while let Some(incoming) = next {
            if !self.answer(&incoming) {
                return false;
            }
            next = mailbox.take_soon(MOMENT);
        }
        true
    }

    /// Answers a message; false when the connection is to be closed. Blocks.
    fn answer(&mut self, incoming: &Incoming) -> bool {
        let message = match incoming {
            Incoming::Ignored => {
                lock(&self.running).messages -= 1;
                return self.tell(DoneStatus::ERROR);
            }
            Incoming::Message(message) if message.kind == PacketKind::Attention => {
                lock(&self.running).messages -= 1;
                return self.tell(DoneStatus::ATTENTION);
            }
            Incoming::Message(message) => message,
        };
        self.begin();
        let outcome = self.run_message(message);
        let (is_attention, is_ended) = self.end();
        if is_ended || self.connection.is_killed() || outcome == Outcome::Close {
            return false;
        }
        if is_attention {
            return self.tell(DoneStatus::ATTENTION);
        }
        self.output.flush().is_ok()
    }

    /// From here on the request can be interrupted; it is when that was wanted before.
    fn begin(&self) {
        let mut running = lock(&self.running);
        self.connection.begin_request();
        running.interrupt = Some(self.connection.interrupt());
        if running.is_attention || running.is_ended {
            running.interrupt();
        }
    }

    /// The request is over: did an attention come, and did the connection end?
    fn end(&self) -> (bool, bool) {
        let mut running = lock(&self.running);
        running.messages -= 1;
        running.interrupt = None;
        (std::mem::take(&mut running.is_attention), running.is_ended)
    }

    /// A response that is its end alone: of an attention after its response, and of a message that
    /// is to be ignored.
    fn tell(&mut self, status: DoneStatus) -> bool {
        let Some(writer) = &mut self.writer else { return false };
        writer.begin();
        writer.done(Done {
            kind: DoneKind::Statement,
            status,
            command: command::NONE,
            rows: 0,
        });
        writer.end();
        let sent = self.output.send(writer.ready());
        writer.consume(writer.ready().len());
        sent.and_then(|()| self.output.flush()).is_ok()
    }

    /// Runs the requests of a message.
    fn run_message(&mut self, message: &Message) -> Outcome {
        let Some(writer) = self.writer.take() else { return Outcome::Close };
        let name = &self.shared.server.product().server_name;
        let mut response = Response::begin(writer, self.protocol, name, &mut self.output);
        let connection = &mut self.connection;
        let mut outcome = Outcome::Ready;
        if message.reset != Reset::None {
            let keeps = message.reset == Reset::KeepTransaction;
            if connection.reset(keeps, &mut response).is_err() {
                outcome = Outcome::Close;
            }
        }
        match requests_of(message, &self.protocol) {
            Ok(requests) if outcome == Outcome::Ready => {
                let limit = self.shared.settings.request_seconds_max.map(Duration::from_secs);
                let limit = limit.map(|limit| TimeLimit::begin(limit, &self.running));
                outcome = run_requests(connection, &requests, &mut response);
                if outcome == Outcome::Interrupted
                    && let Some(limit) = limit.filter(TimeLimit::is_over)
                {
                    refuse(&Refused::TooLong(limit.seconds()), &mut response);
                    outcome = Outcome::Ready;
                }
            }
            Ok(_) => {}
            Err(refused) => {
                let is_malformed = matches!(refused, Refused::Malformed(_));
                refuse(&refused, &mut response);
                if is_malformed {
                    let text = "A malformed message; the connection ends.";
                    self.shared.log.session(connection.spid(), text);
                    outcome = Outcome::Close;
                }
            }
        }
        self.writer = Some(response.end(outcome == Outcome::Interrupted));
        outcome
    }
}

fn requests_of(message: &Message, protocol: &Protocol) -> Result<Requests, Refused> {
    match message.kind {
        PacketKind::SqlBatch => arguments::batch(&message.body, protocol),
        PacketKind::Rpc => arguments::calls(&message.body, protocol),
        PacketKind::TransactionManager => arguments::transaction(&message.body, protocol),
        PacketKind::BulkLoad => arguments::bulk_load(&message.body, protocol),
        _ => Err(Refused::NotSupported("this kind of message")),
    }
}

fn run_requests(
    connection: &mut Connection,
    requests: &Requests,
    response: &mut Response<'_>,
) -> Outcome {
    for request in &requests.requests {
        let has_no_metadata = matches!(request, Request::Procedure(call) if call.has_no_metadata);
        response.set_no_metadata(has_no_metadata);
        let outcome = extentdb_session::run(connection, request, requests.descriptor, response);
        if outcome != Outcome::Ready {
            return outcome;
        }
    }
    Outcome::Ready
}

fn refuse(refused: &Refused, response: &mut Response<'_>) {
    let (number, severity, text) = match refused {
        // The product's number for a request that breaks the protocol.
        Refused::Malformed(error) => {
            (8_009, 16, format!("The incoming tabular data stream is incorrect: {error}."))
        }
        Refused::Value { position, name, type_name } => (
            8_023,
            16,
            format!(
                "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol \
                 stream is incorrect. Parameter {position} (\"{name}\"): The supplied value is not \
                 a valid instance of data type {type_name}. Check the source data for invalid \
                 values. An example of an invalid value is data of numeric type with scale greater \
                 than precision."
            ),
        ),
        Refused::TooLong(seconds) => (
            TOO_LONG,
            16,
            format!("The request was ended: it ran for more than {seconds} seconds."),
        ),
        Refused::NotSupported(what) => (40_517, 16, format!("not supported: {what}.")),
    };
    let message = extentdb_session::Message {
        number,
        severity,
        state: 1,
        procedure: String::new(),
        line: 1,
        text,
    };
    let _ = response.message(&message, false);
    let _ = response.done(extentdb_session::Done {
        scope: extentdb_session::Scope::Batch,
        code: extentdb_session::StatementCode::Other,
        count: None,
        is_error: true,
        in_transaction: false,
    });
}
