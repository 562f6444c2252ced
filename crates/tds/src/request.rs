//! Requests: what a client sends after the login.
//!
//! | message | body | file |
//! |---|---|---|
//! | batch (1) | ALL_HEADERS, UTF-16 text | `batch` |
//! | RPC (3) | ALL_HEADERS, calls | `rpc`, `parameter`, `tvp` |
//! | attention (6) | nothing | – |
//! | bulk load (7) | COLMETADATA, rows, DONE | `bulk` |
//! | federated token (8) | token | `fed_auth` |
//! | transaction manager (14) | ALL_HEADERS, request | `transaction` |
//!
//! 7.1 has no ALL_HEADERS. Everything borrows from the message body.

mod batch;
mod bulk;
mod fed_auth;
mod headers;
mod parameter;
mod rpc;
mod transaction;
mod tvp;

pub use batch::SqlBatch;
pub use bulk::{BulkDecoder, BulkEvent};
pub use fed_auth::FedAuthToken;
pub use headers::{Headers, TraceActivity, TransactionHeader};
pub use parameter::{Parameter, ParameterFlags, ParameterValue};
pub use rpc::{ProcId, Procedure, RpcCall, RpcFlags, RpcReader, RpcWriter};
pub use transaction::{Isolation, Next, TransactionMessage, TransactionRequest};
pub use tvp::{Tvp, TvpName, TvpOrder, TvpRows, TvpWriter};

#[cfg(test)]
mod tests;
