#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

pub mod api_cursor;
pub mod app_lock;
pub mod cause;
pub mod compiled_texts;
pub mod connection;
pub mod cursor;
pub mod data_type;
pub mod engine_error;
pub mod engine_session;
pub mod facts;
pub mod format_message;
pub mod frame;
pub mod function;
pub mod hooks;
pub mod identities;
pub mod login;
pub mod message;
pub mod notes;
pub mod objects;
pub mod options;
pub mod other_rows;
pub mod output;
pub mod password;
pub mod pending_load;
pub mod prepared;
pub mod product;
pub mod query;
pub mod request;
pub mod run_trigger;
pub mod scalar;
pub mod security;
pub mod server;
pub mod session_context;
pub mod step;
pub mod stop;
mod temporary_table;
pub mod transaction;
pub mod trigger;
pub mod variable;
pub mod variant;
mod work_memory;

pub use cause::{Cause, DefinitionCause, Effect};
pub use connection::{Connection, Interrupt, Outcome};
pub use hooks::{Hooks, NoHooks, ShutdownMode};
pub use message::Message;
pub use options::{IdentityInsert, SetOptions};
pub use output::{
    ColumnInfo, ColumnOrigin, Discard, Done, Environment, Gone, Origins, Output, OutputValue,
    Scope, StatementCode,
};
pub use password::{PasswordHash, PasswordWeakness, verify_strength};
pub use pending_load::BulkRows;
pub use product::Product;
pub use request::{
    Argument, Isolation, ProcedureCall, ProcedureName, Request, TableArgument, TableRows,
    TransactionRequest,
};
pub use server::Server;
pub use work_memory::MemoryLimits;
