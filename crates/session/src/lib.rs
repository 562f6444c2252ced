#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod bulk_load;
mod cause;
mod connection;
mod data_type;
mod engine_error;
mod engine_session;
mod facts;
mod flow;
mod format_message;
mod frame;
mod function;
mod hooks;
mod identities;
pub mod login;
mod message;
mod notes;
mod objects;
pub mod offline;
mod options;
mod output;
mod password;
mod pending_load;
mod prepared;
mod procedure;
mod product;
mod query;
mod request;
mod run;
mod scalar;
mod server;
mod session_context;
mod statement;
mod step;
mod stop;
mod transaction;
mod variant;

pub use cause::{Cause, DefinitionCause, Effect};
pub use connection::{Connection, Interrupt, Outcome};
pub use hooks::{Hooks, NoHooks, ShutdownMode};
pub use message::Message;
pub use options::{IdentityInsert, SetOptions};
pub use output::{
    ColumnInfo, Discard, Done, Environment, Gone, Output, OutputValue, Scope, StatementCode,
};
pub use password::{PasswordHash, PasswordWeakness, verify_strength};
pub use pending_load::BulkRows;
pub use product::Product;
pub use request::{Argument, Isolation, ProcedureCall, ProcedureName, Request, TransactionRequest};
pub use server::Server;
