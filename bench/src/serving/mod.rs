//! Servers over their own protocols: each is a process of its own, which clients of ours talk to
//! over a loopback socket, a thread for each.
//!
//! ```text
//! server     what every side can do         load       clients at the same time
//! ours       extentdb serve, TDS            postgres   PostgreSQL, its protocol in wire
//! table      rows as text, in both forms    tpch       rows and queries in both dialects
//! readers    readers beside writers
//! in_process the same statements without a socket
//! ```
//!
//! Rules
//! - Both sides have the same rows, keys and indexes; commits are durable on both.
//! - Statements are prepared once for each connection; a client waits for every answer.
//! - The login of ours is encrypted, requests and rows are clear on both sides.

pub mod in_process;
pub mod load;
pub mod ours;
pub mod postgres;
mod process;
pub mod readers;
pub mod server;
#[path = "../../../crates/session/tests/tpch/table.rs"]
pub mod table;
pub mod tpch;
mod wire;

pub use server::{Server, Session, Work};
