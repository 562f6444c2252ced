//! Why a server does not start.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is not what it can be.
    #[error("{name}: {what}")]
    Setting {
        /// Name of the setting, as it was given.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// A file cannot be read or written.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The databases cannot be opened.
    #[error(transparent)]
    Engine(#[from] extentdb_engine::Error),
    /// No certificate could be made.
    #[error("no certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A certificate or key cannot be used.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// An initial script failed.
    #[error("{}, line {line}: message {number}: {text}", path.display())]
    Script {
        /// The script.
        path: PathBuf,
        /// Line of the batch's statement.
        line: u32,
        /// Number of the message.
        number: i32,
        /// Its text.
        text: String,
    },
    /// The thread pool cannot be made.
    #[error("threads")]
    Threads(#[source] std::io::Error),
}
