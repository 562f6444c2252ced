//! A connection from its login to its end: messages in, responses out.
//!
//! ```text
//! async task   reads messages ──▶ worker thread runs the request, blocks where it must
//!              writes parts   ◀── channel ◀── Response
//!              attention, KILL, shutdown, end ──▶ Interrupt
//! ```
//!
//! Invariants
//! - A request runs on a thread of its own and waits for locks there; no task waits with it.
//! - While a request runs the connection is read, so that an attention is seen.
//! - An attention is answered once, by a response of its own after the one that it cut short.

use std::io;

use extentdb_session::{Connection, Outcome, Output, Request};
use extentdb_tds::packet::{Limits, Message, PACKET_BYTES_MAX, PacketKind, Reset};
use extentdb_tds::token::{Done, DoneKind, DoneStatus, command};
use extentdb_tds::{Protocol, TokenWriter};
use tokio::io::{AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::mpsc;

use crate::arguments::{self, Refused, Requests};
use crate::connections::Registered;
use crate::listener::{Shared, SharedState, ended};
use crate::reader::{Arrived, MessageReader};
use crate::response::Response;
use crate::transport::Transport;

/// Parts of a response that wait to be sent.
const PARTS: usize = 4;
/// Bytes of a request at most.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// What a worker needs to run a request, and gives back.
struct Work {
    connection: Connection,
    writer: TokenWriter,
}

struct Finished {
    work: Work,
    outcome: Outcome,
}

/// A connection with a session.
pub(crate) struct Conversation {
    shared: SharedState,
    protocol: Protocol,
    reader: MessageReader,
    input: ReadHalf<Transport>,
    output: WriteHalf<Transport>,
    registered: Registered,
    /// What came while the message before was running.
    queued: Option<Incoming>,
}

/// What a client sends.
enum Incoming {
    Message(Message),
    /// The client gave up while it sent a message.
    Ignored,
}

/// What happens while a request runs.
#[derive(Default)]
struct Watch {
    is_attention: bool,
    is_ended: bool,
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
        let (input, output) = split(transport);
        Conversation {
            shared,
            protocol,
            reader,
            input,
            output,
            registered,
            queued: None,
        }
    }

    /// Answers messages until the connection ends.
    pub(crate) async fn run(
        &mut self,
        connection: Connection,
        writer: TokenWriter,
    ) -> io::Result<()> {
        let mut work = Work { connection, writer };
        while let Some(incoming) = self.next_message().await? {
            let message = match incoming {
                Incoming::Message(message) => message,
                Incoming::Ignored => {
                    work = self.tell(work, DoneStatus::ERROR).await?;
                    continue;
                }
            };
            if message.kind == PacketKind::Attention {
                work = self.tell(work, DoneStatus::ATTENTION).await?;
                continue;
            }
            let Some(next) = self.answer(work, message).await? else { break };
            work = next;
        }
        // Clients take a connection that ends without a word for an error of the network.
        let _ = self.output.shutdown().await;
        Ok(())
    }

    async fn next_message(&mut self) -> io::Result<Option<Incoming>> {
        if let Some(incoming) = self.queued.take() {
            return Ok(Some(incoming));
        }
        let mut shutdown = self.shared.shutdown.subscribe();
        loop {
            let arrived = tokio::select! {
                arrived = self.reader.next(&mut self.input) => arrived?,
                () = self.registered.close.notified() => return Ok(None),
                () = ended(&mut shutdown) => return Ok(None),
            };
            match arrived {
                Arrived::Message(message) => return Ok(Some(Incoming::Message(message))),
                Arrived::Ignored => return Ok(Some(Incoming::Ignored)),
                Arrived::End => return Ok(None),
            }
        }
    }

    /// A response that is its end alone: of an attention after its response, and of a message that
    /// is to be ignored.
    async fn tell(&mut self, mut work: Work, status: DoneStatus) -> io::Result<Work> {
        work.writer.begin();
        work.writer.done(Done {
            kind: DoneKind::Statement,
            status,
            command: command::NONE,
            rows: 0,
        });
        work.writer.end();
        let mut bytes = Vec::new();
        work.writer.packets().take_ready(&mut bytes);
        self.output.write_all(&bytes).await?;
        self.output.flush().await?;
        Ok(work)
    }

    /// Runs the request of a message; `None` when the connection is to be closed.
    async fn answer(&mut self, work: Work, message: Message) -> io::Result<Option<Work>> {
        let (sender, mut parts) = mpsc::channel(PARTS);
        work.connection.begin_request();
        let interrupt = work.connection.interrupt();
        let protocol = self.protocol;
        let shared = self.shared.clone();
        let mut worker = tokio::task::spawn_blocking(move || {
            run_message(work, &message, protocol, &shared, sender)
        });
        let mut watch = Watch::default();
        let mut shutdown = self.shared.shutdown.subscribe();
        let finished = loop {
            let takes_input = !watch.is_ended && self.queued.is_none();
            tokio::select! {
                part = parts.recv() => match part {
                    Some(part) => {
                        let sent = self.output.write_all(&part).await;
                        if sent.is_err() {
                            parts.close();
                            interrupt.interrupt();
                            watch.is_ended = true;
                        }
                    }
                    None => break (&mut worker).await,
                },
                arrived = self.reader.next(&mut self.input), if takes_input => match arrived {
                    Ok(Arrived::Message(message)) if message.kind == PacketKind::Attention => {
                        watch.is_attention = true;
                        interrupt.interrupt();
                    }
                    Ok(Arrived::Message(message)) => {
                        self.queued = Some(Incoming::Message(message));
                    }
                    Ok(Arrived::Ignored) => self.queued = Some(Incoming::Ignored),
                    Ok(Arrived::End) | Err(_) => {
                        watch.is_ended = true;
                        interrupt.interrupt();
                    }
                },
                () = self.registered.close.notified() => interrupt.interrupt(),
                () = ended(&mut shutdown), if !watch.is_ended => {
                    watch.is_ended = true;
                    interrupt.interrupt();
                }
            }
        };
        self.output.flush().await?;
        let finished = finished.map_err(io::Error::other)?;
        let is_killed = finished.work.connection.is_killed();
        if watch.is_ended || is_killed || finished.outcome == Outcome::Close {
            return Ok(None);
        }
        if watch.is_attention {
            return self.tell(finished.work, DoneStatus::ATTENTION).await.map(Some);
        }
        Ok(Some(finished.work))
    }
}

/// Runs the requests of a message. Blocks.
fn run_message(
    work: Work,
    message: &Message,
    protocol: Protocol,
    shared: &Shared,
    sender: mpsc::Sender<Vec<u8>>,
) -> Finished {
    let Work { mut connection, writer } = work;
    let name = &shared.server.product().server_name;
    let mut response = Response::begin(writer, protocol, name, sender);
    let mut outcome = Outcome::Ready;
    if message.reset != Reset::None {
        let keeps = message.reset == Reset::KeepTransaction;
        if connection.reset(keeps, &mut response).is_err() {
            outcome = Outcome::Close;
        }
    }
    let requests = match message.kind {
        PacketKind::SqlBatch => arguments::batch(&message.body, &protocol),
        PacketKind::Rpc => arguments::calls(&message.body, &protocol),
        PacketKind::TransactionManager => arguments::transaction(&message.body, &protocol),
        PacketKind::BulkLoad => arguments::bulk_load(&message.body, &protocol),
        _ => Err(Refused::NotSupported("this kind of message")),
    };
    match requests {
        Ok(requests) if outcome == Outcome::Ready => {
            outcome = run_requests(&mut connection, &requests, &mut response);
        }
        Ok(_) => {}
        Err(refused) => {
            let is_malformed = matches!(refused, Refused::Malformed(_));
            refuse(&refused, &mut response);
            if is_malformed {
                shared.log.session(connection.spid(), "A malformed message; the connection ends.");
                outcome = Outcome::Close;
            }
        }
    }
    let writer = response.end(outcome == Outcome::Interrupted);
    Finished { work: Work { connection, writer }, outcome }
}

fn run_requests(
    connection: &mut Connection,
    requests: &Requests,
    response: &mut Response,
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

fn refuse(refused: &Refused, response: &mut Response) {
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
