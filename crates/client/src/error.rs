//! What ends a connection, or keeps it from being made.

use std::io;

use extentdb_tds::token::ServerMessage;
use extentdb_tds::{DecodeError, EncodeError};

/// Why there is no connection any more. What a server says of a statement is an event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing listens there, or the way is closed.
    #[error("cannot connect to {address}")]
    Connect {
        /// Host and port.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// The name has no address.
    #[error("{host} has no address")]
    NoAddress {
        /// As given.
        host: String,
    },
    /// The connection broke.
    #[error("the connection to the server is broken")]
    Broken(#[source] io::Error),
    /// The server ended it.
    #[error("the server ended the connection")]
    Ended,
    /// The server sent what is no TDS.
    #[error("the server sent what cannot be read")]
    Protocol(#[from] DecodeError),
    /// A request cannot be written.
    #[error("the request cannot be written")]
    Request(#[from] EncodeError),
    /// The server has no TLS.
    #[error("the server does not encrypt: a password is not sent in the clear")]
    NotEncrypted,
    /// A certificate that is given cannot be read.
    #[error("the certificates that are given cannot be used: {what}")]
    Certificates {
        /// What is wrong.
        what: String,
    },
    /// TLS fails; the certificate may not be trusted.
    #[error("no encrypted connection to {host}")]
    Tls {
        /// As given.
        host: String,
        /// Why.
        source: io::Error,
    },
    /// The server refuses what the caller cannot go on without.
    #[error("{}", .0.text)]
    Refused(Box<ServerMessage>),
    /// The server has prepared a statement and given no handle.
    #[error("the server has given no handle of a prepared statement")]
    NoHandle,
    /// The server does not take the login.
    #[error("{}", .0.text)]
    Login(Box<ServerMessage>),
}
