#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod arguments;
mod bulk;
mod channel;
mod connections;
mod conversation;
mod error;
mod error_log;
mod files;
mod handshake;
mod ini;
mod init;
mod listener;
mod lockout;
mod login;
mod pulse;
mod random;
mod reader;
mod response;
mod server;
mod settings;
mod stream;
mod time_limit;
mod tls;
mod transport;

pub use error::Error;
pub use error_log::ErrorLog;
pub use listener::RunningServer;
pub use server::{Mounted, start};
pub use settings::{Settings, Warning};
