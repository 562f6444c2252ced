//! The next message of a connection, from the task that reads it to the thread that runs it.
//!
//! Who waits for the next message does so on its thread for a moment ([`Mailbox::take_soon`]): a
//! client that sends one request after the other is answered by one thread, which is woken and
//! nothing more. After that moment it waits as a task ([`Mailbox::take`]) and has no thread.
//!
//! Invariants
//! - One message lies here at most; the reader waits until it is taken.
//! - After the end no message is put; one that lies here is still taken.

use std::time::Duration;

use extentdb_base::sync::{Condvar, Mutex, lock, wait_at_most};
use extentdb_tds::packet::{Message, PacketKind};
use tokio::sync::Notify;

/// What a client sends.
#[derive(Debug)]
pub(crate) enum Incoming {
    Message(Message),
    /// The client gave up while it sent a message.
    Ignored,
}

impl Incoming {
    /// Does the client want the request at hand to end?
    pub(crate) fn is_attention(&self) -> bool {
        matches!(self, Incoming::Message(message) if message.kind == PacketKind::Attention)
    }
}

#[derive(Default)]
struct Content {
    message: Option<Incoming>,
    is_ended: bool,
    /// A thread waits, not a task.
    is_thread_waiting: bool,
}

/// A place for a message.
#[derive(Default)]
pub(crate) struct Mailbox {
    content: Mutex<Content>,
    thread: Condvar,
    /// Told of a message, or the end.
    arrived: Notify,
    /// Told when a message was taken, or nobody takes any more.
    taken: Notify,
    /// Told of the end.
    over: Notify,
}

/// Nobody takes messages any more.
pub(crate) struct Ended;

impl Mailbox {
    /// Puts a message when the one before was taken.
    pub(crate) async fn put(&self, message: Incoming) -> Result<(), Ended> {
        let mut message = Some(message);
        loop {
            {
                let mut content = lock(&self.content);
                if content.is_ended {
                    return Err(Ended);
                }
                if content.message.is_none() {
                    content.message = message.take();
                    self.tell(&content);
                    return Ok(());
                }
            }
            self.taken.notified().await;
        }
    }

    /// No more messages, from either side.
    pub(crate) fn end(&self) {
        let mut content = lock(&self.content);
        content.is_ended = true;
        self.tell(&content);
        self.taken.notify_one();
        self.over.notify_one();
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) {
        while !lock(&self.content).is_ended {
            self.over.notified().await;
        }
    }

    fn tell(&self, content: &Content) {
        if content.is_thread_waiting {
            self.thread.notify_one();
        } else {
            self.arrived.notify_one();
        }
    }

    /// The next message; `None` at the end.
    pub(crate) async fn take(&self) -> Option<Incoming> {
        loop {
            {
                let mut content = lock(&self.content);
                if let Some(message) = content.message.take() {
                    self.taken.notify_one();
                    return Some(message);
                }
                if content.is_ended {
                    return None;
                }
            }
            self.arrived.notified().await;
        }
    }

    /// The next message, when it comes within a moment. Blocks.
    pub(crate) fn take_soon(&self, moment: Duration) -> Option<Incoming> {
        let mut content = lock(&self.content);
        if content.message.is_none() && !content.is_ended {
            content.is_thread_waiting = true;
            content = wait_at_most(&self.thread, content, moment, |content| {
                content.message.is_none() && !content.is_ended
            });
            content.is_thread_waiting = false;
        }
        let message = content.message.take();
        if message.is_some() {
            self.taken.notify_one();
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use extentdb_base::sync::Arc;
    use extentdb_tds::packet::Reset;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn message(byte: u8) -> Incoming {
        Incoming::Message(Message {
            kind: PacketKind::SqlBatch,
            reset: Reset::None,
            spid: 0,
            body: vec![byte],
        })
    }

    fn body(incoming: Option<Incoming>) -> Vec<u8> {
        match incoming {
            Some(Incoming::Message(message)) => message.body,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn messages_come_in_order_to_a_thread_and_to_a_task() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build();
        let runtime = runtime.unwrap();
        let mailbox = Arc::new(Mailbox::default());
        let sending = mailbox.clone();
        let sender = runtime.spawn(async move {
            for byte in 0..200 {
                assert!(sending.put(message(byte)).await.is_ok());
            }
            sending.end();
        });
        for byte in 0..200 {
            let found = match byte % 2 {
                0 => mailbox.take_soon(LONG),
                _ => runtime.block_on(mailbox.take()),
            };
            assert_eq!(body(found), [byte]);
        }
        assert!(mailbox.take_soon(LONG).is_none());
        assert!(runtime.block_on(mailbox.take()).is_none());
        runtime.block_on(sender).unwrap();
        assert!(runtime.block_on(mailbox.put(message(0))).is_err());
    }

    #[test]
    fn a_moment_passes_without_a_message() {
        assert!(Mailbox::default().take_soon(Duration::from_millis(1)).is_none());
    }
}
