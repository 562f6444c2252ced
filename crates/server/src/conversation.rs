//! A connection from its login to its end: messages in, responses out.
//!
//! ```text
//!   task ── waits for a message ──▶ thread ── runs the request, writes its response,
//!     ▲                                          reads the next one for a moment
//!     └──────────────────────────────────────────────┘  none came
//! ```
//!
//! Invariants
//! - A request runs on a thread that no other task waits for: it may wait for locks.
//! - A request that runs for more than some milliseconds is watched for an attention.
//! - An attention is answered once, by a response of its own after the one that it cut short.

use std::io;
use std::time::Duration;

use extentdb_base::sync::{Arc, lock};
use extentdb_session::{Connection, Outcome, Output, Request};
use extentdb_tds::packet::{Limits, Message, PACKET_BYTES_MAX, PacketKind, Reset};
use extentdb_tds::token::{Done, DoneKind, DoneStatus, command};
use extentdb_tds::{Protocol, TokenWriter};
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use crate::arguments::{self, Refused, Requests};
use crate::bulk::{self, Arriving, Fault, FirstPart};
use crate::channel::{Channel, Finished};
use crate::connections::{Admission, Registered};
use crate::listener::SharedState;
use crate::reader::{Arrived, MessageReader};
use crate::response::Response;
use crate::stream::Wait;
use crate::time_limit::TimeLimit;
use crate::transport::Transport;

/// Bytes of a request at most.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Message of a request that ran longer than it may; a number of our own.
const TOO_LONG: i32 = 40_003;

/// A connection with a session.
pub(crate) struct Conversation {
    runner: Runner,
    reader: MessageReader,
    /// The session keeps its place in the list of connections as long as this lives.
    registered: Registered,
}

/// Runs the requests of a connection.
struct Runner {
    shared: SharedState,
    protocol: Protocol,
    channel: Arc<Channel>,
    connection: Connection,
    /// `None` while a response has it.
    writer: Option<TokenWriter>,
}

/// What a client has logged in with, and what it got.
pub(crate) struct LoggedIn {
    pub(crate) transport: Transport,
    pub(crate) reader: MessageReader,
    pub(crate) protocol: Protocol,
    pub(crate) admission: Admission,
    pub(crate) connection: Connection,
    pub(crate) writer: TokenWriter,
}

impl Conversation {
    /// Of a client that has logged in. Called by a task.
    pub(crate) fn new(shared: SharedState, client: LoggedIn) -> io::Result<Conversation> {
        let LoggedIn {
            transport,
            mut reader,
            protocol,
            admission,
            connection,
            writer,
        } = client;
        reader.set_limits(Limits {
            packet_bytes_max: PACKET_BYTES_MAX,
            message_bytes_max: MESSAGE_BYTES_MAX,
        });
        let channel = Arc::new(Channel::new(transport.into_stream()?, Handle::current()));
        let id = extentdb_base::SessionId(connection.spid());
        let registered = admission.register(id, channel.clone());
        let runner = Runner { shared, protocol, channel, connection, writer: Some(writer) };
        Ok(Conversation { runner, reader, registered })
    }

    /// Answers messages until the connection ends.
    pub(crate) async fn run(self) {
        let Conversation { mut runner, mut reader, registered } = self;
        let channel = runner.channel.clone();
        while let Some(arrived) = channel.next(&mut reader).await {
            match block_in_place(|| runner.answer_all(arrived, reader)) {
                Some(given_back) => reader = given_back,
                None => break,
            }
        }
        block_in_place(|| {
            channel.stream.end_writing();
            drop(runner);
        });
        drop(registered);
    }
}

impl Runner {
    /// Answers a message and those that follow at once; `None` when the connection is to be closed,
    /// otherwise what reads it. Blocks.
    fn answer_all(&mut self, first: Arrived, reader: MessageReader) -> Option<MessageReader> {
        let shared = self.shared.clone();
        let channel = self.channel.clone();
        let _at_work = shared.pulse.enter(&channel);
        let (mut next, mut reader) = (Some(first), reader);
        while let Some(arrived) = next {
            (next, reader) = self.answer(&arrived, reader)?;
            if next.is_none() {
                next = reader.take(&channel.stream, Wait::Moment).ok()?;
            }
        }
        Some(reader)
    }

    /// Answers a message; what has arrived in the meantime, or `None` when the connection is to be
    /// closed. Blocks.
    fn answer(
        &mut self,
        arrived: &Arrived,
        reader: MessageReader,
    ) -> Option<(Option<Arrived>, MessageReader)> {
        let message = match arrived {
            Arrived::End => return None,
            Arrived::BulkLoad(first) => return self.answer_load(first, reader),
            Arrived::Ignored => return self.tell(DoneStatus::ERROR).then_some((None, reader)),
            Arrived::Message(message) if message.kind == PacketKind::Attention => {
                return self.tell(DoneStatus::ATTENTION).then_some((None, reader));
            }
            Arrived::Message(message) => message,
        };
        self.connection.begin_request();
        let number = self.channel.begin(Some(reader), self.connection.interrupt());
        let outcome = self.run(Asked::Message(message), number);
        self.finish(outcome)
    }

    /// Loads rows while they arrive; returns like [`answer`](Self::answer).
    fn answer_load(
        &mut self,
        first: &FirstPart,
        reader: MessageReader,
    ) -> Option<(Option<Arrived>, MessageReader)> {
        self.connection.begin_request();
        let number = self.channel.begin(None, self.connection.interrupt());
        let load = Arriving::new(self.channel.clone(), reader, first, self.protocol);
        let outcome = self.run(Asked::Load(first.reset, Box::new(load)), number);
        self.finish(outcome)
    }

    /// A request is over; returns like [`answer`](Self::answer).
    fn finish(&mut self, outcome: Outcome) -> Option<(Option<Arrived>, MessageReader)> {
        let Finished { reader, next, is_attention, is_ended } = self.channel.finish()?;
        if is_ended || self.connection.is_killed() || outcome == Outcome::Close {
            return None;
        }
        if is_attention && !self.tell(DoneStatus::ATTENTION) {
            return None;
        }
        Some((next, reader))
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
        let sent = self.channel.stream.write_all(writer.ready());
        writer.consume(writer.ready().len());
        sent.is_ok()
    }

    /// Runs what a client has asked for.
    fn run(&mut self, asked: Asked<'_>, number: u64) -> Outcome {
        let Some(writer) = self.writer.take() else { return Outcome::Close };
        let (shared, channel) = (self.shared.clone(), self.channel.clone());
        let name = &shared.server.product().server_name;
        let mut response = Response::begin(writer, self.protocol, name, &channel.stream);
        let reset = asked.reset();
        let is_reset = reset == Reset::None || {
            let keeps = reset == Reset::KeepTransaction;
            self.connection.reset(keeps, &mut response).is_ok()
        };
        let place = bulk::Place::default();
        let requests = asked.requests(&self.protocol, &place);
        let mut outcome = match requests {
            _ if !is_reset => Outcome::Close,
            Ok(requests) => self.run_in_time(&requests, number, &mut response),
            Err(refused) => self.refuse(&refused, &mut response),
        };
        let load = lock(&place).take();
        match load.and_then(Arriving::finish) {
            Some(Fault::Malformed(error)) => {
                outcome = self.refuse(&Refused::Malformed(error), &mut response);
            }
            Some(Fault::Ended) => outcome = Outcome::Close,
            Some(Fault::Ignored) | None => {}
        }
        self.writer = Some(response.end(outcome == Outcome::Interrupted));
        outcome
    }

    /// Runs requests, not longer than they may.
    fn run_in_time(
        &mut self,
        requests: &Requests,
        number: u64,
        response: &mut Response<'_>,
    ) -> Outcome {
        let seconds = self.shared.settings.request_seconds_max;
        let _limit = seconds
            .map(|seconds| TimeLimit::begin(Duration::from_secs(seconds), &self.channel, number));
        let outcome = run_requests(&mut self.connection, requests, response);
        let seconds = seconds.filter(|_| self.channel.is_too_long());
        match (outcome, seconds) {
            (Outcome::Interrupted, Some(seconds)) => {
                refuse(&Refused::TooLong(seconds), response);
                Outcome::Ready
            }
            _ => outcome,
        }
    }

    /// Says why nothing was run. A client that breaks the protocol is not listened to any longer.
    fn refuse(&self, refused: &Refused, response: &mut Response<'_>) -> Outcome {
        refuse(refused, response);
        if !matches!(refused, Refused::Malformed(_)) {
            return Outcome::Ready;
        }
        let text = "A malformed message; the connection ends.";
        self.shared.log.session(self.connection.spid(), text);
        Outcome::Close
    }
}

/// What a client asks for.
enum Asked<'m> {
    Message(&'m Message),
    /// What follows INSERT BULK.
    Load(Reset, Box<Arriving>),
}

impl Asked<'_> {
    fn reset(&self) -> Reset {
        match self {
            Asked::Message(message) => message.reset,
            Asked::Load(reset, _) => *reset,
        }
    }

    /// As requests of a session; what arrives meanwhile lies at the place.
    fn requests(self, protocol: &Protocol, place: &bulk::Place) -> Result<Requests, Refused> {
        match self {
            Asked::Message(message) => requests_of(message, protocol),
            Asked::Load(_, load) => {
                let requests = vec![Request::BulkLoad(load.begin(place)?)];
                Ok(Requests { requests, descriptor: None })
            }
        }
    }
}

fn requests_of(message: &Message, protocol: &Protocol) -> Result<Requests, Refused> {
    match message.kind {
        PacketKind::SqlBatch => arguments::batch(&message.body, protocol),
        PacketKind::Rpc => arguments::calls(&message.body, protocol),
        PacketKind::TransactionManager => arguments::transaction(&message.body, protocol),
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
