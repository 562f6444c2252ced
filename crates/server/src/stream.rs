//! The bytes of a connection after its login, for the thread that runs its requests.
//!
//! ```text
//! handshake, login   tokio   Transport ──▶ ClientStream   std   requests
//! ```
//!
//! A thread reads the request and writes the response by system calls of its own: no other thread
//! takes part, which halves the time of a short request.
//!
//! Invariants
//! - The socket blocks; a read gives up after [`MOMENT`], or at once when it is asked to.
//! - One thread writes. Nobody waits for the socket with TLS locked, except in a read.
//! - What is decrypted and not taken yet is seen by the next read before it asks the socket.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use extentdb_base::sync::{Mutex, lock};
use rustix::net::{RecvFlags, recv};
use rustls::ServerConnection;

/// How long a thread waits for the next request of its client before it does something else.
const MOMENT: Duration = Duration::from_millis(5);
/// Clear bytes that are encrypted at a time: a record of TLS.
const RECORD_BYTES: usize = 16 * 1024;

/// Does a read wait?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// For a moment.
    Moment,
    No,
}

/// A connected socket, and the TLS inside of it.
#[derive(Debug)]
pub(crate) struct ClientStream {
    socket: TcpStream,
    tls: Option<Mutex<Box<ServerConnection>>>,
}

impl ClientStream {
    /// Over a socket that the handshake is done with.
    pub(crate) fn new(
        socket: TcpStream,
        tls: Option<Box<ServerConnection>>,
    ) -> io::Result<ClientStream> {
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(MOMENT))?;
        Ok(ClientStream { socket, tls: tls.map(Mutex::new) })
    }

    /// Reads into `buffer`; 0 at the end of the connection.
    ///
    /// # Errors
    /// `WouldBlock` when nothing came; what the network or TLS says.
    pub(crate) fn read(&self, buffer: &mut [u8], wait: Wait) -> io::Result<usize> {
        let mut socket = Receiver { socket: &self.socket, wait };
        let Some(tls) = &self.tls else { return socket.read(buffer) };
        let mut tls = lock(tls);
        loop {
            match tls.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Many clients end without the word that TLS wants.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            if tls.read_tls(&mut socket)? == 0 {
                return Ok(0);
            }
            tls.process_new_packets().map_err(io::Error::other)?;
        }
    }

    /// Writes all of it, however long the client takes.
    pub(crate) fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let Some(tls) = &self.tls else { return (&self.socket).write_all(bytes) };
        let mut encrypted = Vec::with_capacity(bytes.len() + bytes.len() / 8 + 64);
        for record in bytes.chunks(RECORD_BYTES) {
            let mut tls = lock(tls);
            tls.writer().write_all(record)?;
            take_encrypted(&mut tls, &mut encrypted)?;
        }
        (&self.socket).write_all(&encrypted)
    }

    /// Says that nothing more is written. Clients take a connection that ends without a word for an
    /// error of the network.
    pub(crate) fn end_writing(&self) {
        if let Some(tls) = &self.tls {
            let mut encrypted = Vec::new();
            let mut tls = lock(tls);
            tls.send_close_notify();
            let taken = take_encrypted(&mut tls, &mut encrypted);
            drop(tls);
            // The other side may have gone already.
            let _ = taken.and_then(|()| (&self.socket).write_all(&encrypted));
        }
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Ends both directions: who reads or writes is told so.
    pub(crate) fn cut(&self) {
        // It fails when it has ended already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// The socket, to wait for bytes.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Another handle of the socket, to wait for bytes.
    pub(crate) fn handle(&self) -> io::Result<OwnedFd> {
        self.socket.try_clone().map(OwnedFd::from)
    }
}

fn take_encrypted(tls: &mut ServerConnection, into: &mut Vec<u8>) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(into)?;
    }
    Ok(())
}

/// The receiving side of a socket that blocks.
struct Receiver<'s> {
    socket: &'s TcpStream,
    wait: Wait,
}

impl Read for Receiver<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let flags = match self.wait {
            Wait::Moment => RecvFlags::empty(),
            Wait::No => RecvFlags::DONTWAIT,
        };
        loop {
            match recv(self.socket, &mut *buffer, flags) {
                Ok((count, _)) => return Ok(count),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn pair() -> (ClientStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (ClientStream::new(listener.accept().unwrap().0, None).unwrap(), client)
    }

    #[test]
    fn a_read_waits_for_a_moment_at_most() {
        let (stream, mut client) = pair();
        let mut buffer = [0; 8];
        for wait in [Wait::Moment, Wait::No] {
            let error = stream.read(&mut buffer, wait).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        }
        client.write_all(b"abc").unwrap();
        while stream.read(&mut buffer, Wait::Moment).ok() != Some(3) {}
        assert_eq!(&buffer[..3], b"abc");
        drop(client);
        while stream.read(&mut buffer, Wait::Moment).ok() != Some(0) {}
    }

    #[test]
    fn a_write_that_waits_for_the_client_ends_when_the_stream_is_cut() {
        let (stream, client) = pair();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| stream.write_all(&vec![0; 64 << 20]));
            std::thread::sleep(Duration::from_millis(20));
            stream.cut();
            assert!(writer.join().unwrap().is_err());
        });
        drop(client);
    }
}
